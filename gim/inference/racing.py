"""Who is worth all folds: candidates far behind after one fold are judged no further."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MARGIN = 2.0  # standard errors behind the leader that rule a candidate out
FINALISTS = 6  # at the most


def finalists(errors: Mapping[str, Floats], weights: Floats) -> list[str]:
    """The names of candidates that may still be the best, the leader first.

    All were judged on the same pairs, so it is their differences that count: pairs that are hard
    for all say nothing about who is better.

    Args:
        errors: each candidate's squared error at each judge of the first fold, [K].
        weights: of the judges in a mean, [K].

    Example:
        >>> judged = {"bad": np.array([3.0, 5.0, 4.0]), "good": np.array([1.0, 2.5, 2.0])}
        >>> finalists(judged, np.ones(3))
        ['good']
    """
    share = weights / weights.sum()
    ranked = sorted(errors, key=lambda name: float(share @ errors[name]))
    return [
        name for name in ranked[:FINALISTS] if not _behind(errors[name], errors[ranked[0]], share)
    ]


def _behind(errors: Floats, leader: Floats, share: Floats) -> bool:
    difference = errors - leader
    mean = float(share @ difference)
    return mean > MARGIN * float(np.sqrt(share**2 @ (difference - mean) ** 2))
