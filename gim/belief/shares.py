"""With what probability a statement holds, everywhere: one share, and what follows from it.

Certificates, the value of a policy from a log, and what a policy earned when it was played all hold
with this share, in Python, on the command line and on pages. The intervals of an experiment's means
are another matter (`gim_lab.experiments.statistics.LEVEL`) and say theirs where they stand.
"""

from __future__ import annotations

SHARE = 0.9
TAILS = (1 - SHARE) / 2, (1 + SHARE) / 2  # the quantiles between which this share lies


def percent(share: float = SHARE) -> str:
    """A share as it is printed, with three digits.

    Example:
        >>> percent(), percent(0.12345)
        ('90 %', '12.3 %')
    """
    return f"{100 * share:.3g} %"
