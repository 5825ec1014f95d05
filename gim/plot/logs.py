"""Pictures of logs: what one covers, and how units differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from gim.belief.family.family import Family
from gim.belief.family.words import kinds_of, measures
from gim.plot.look import COLOURS, MAP, figure, folded, looks

NAMED = 60  # units, up to which each is named
FEW_LABELS = 12  # of an axis, up to which each is named
LABEL = 24  # letters of a line of one


@looks
def visits(log: Any) -> Any:
    """What a `gim.Log` covers: visits of all pairs, states down and actions across; returns."""
    made, axes = figure(8.0, 4.0, columns=2)
    n = log.counts.n.astype(float)
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import MaxNLocator

    shades = LogNorm(1, max(2.0, n.max()))  # a visit is the least there is
    image = axes[0, 0].imshow(np.where(n > 0, n, np.nan), MAP, norm=shades, aspect="auto")
    axes[0, 0].set(title="visits of pairs", xlabel="action", ylabel="state")
    if log.A <= FEW_LABELS:
        axes[0, 0].set_xticks(range(log.A), [folded(a, LABEL) for a in log.actions], rotation=30)
    if log.S <= FEW_LABELS:
        axes[0, 0].set_yticks(range(log.S), [folded(s, LABEL) for s in log.states])
    made.colorbar(image, ax=axes[0, 0], format="{x:,.0f}").ax.minorticks_off()
    axes[0, 1].hist(log.returns, bins="auto" if np.ptp(log.returns) else 1, color=COLOURS[0])
    axes[0, 1].set(title="returns of episodes", xlabel="return", ylabel="episodes")
    axes[0, 1].yaxis.set_major_locator(MaxNLocator(integer=True))
    return made


@looks
def family(of: Any) -> Any:
    """How units differ: what is believed of each, with the interval of nine in ten, sorted.

    Units of one kind have one colour.

    Args:
        of: a `gim.Family`, or what has one (`gim.learn` of a log of units, `gim.series`).
    """
    given: Family = of if isinstance(of, Family) else of.family
    found = measures(given)[::-1]
    if not found:
        raise ValueError("units of this family differ in nothing that has a name")
    kind, many = kinds_of(given, 0)
    order = np.argsort(found[0].value, kind="stable")
    tall = max(0.9 + 0.15 * min(len(order), NAMED), 2.0)
    made, axes = figure(1.3 + 1.9 * len(found), tall, columns=len(found))
    for axis, each in zip(axes[0], found, strict=True):
        for j in range(many):
            at = np.flatnonzero(kind[order] == j)
            low, high = (end[order[at]] for end in each.ends)
            axis.hlines(at, low, high, COLOURS[j % len(COLOURS)], lw=1.2)
            axis.plot(each.value[order[at]], at, "o", ms=3.5, color=COLOURS[j % len(COLOURS)])
        axis.set(title=folded(each.what, LABEL), ylim=(-0.8, len(order) - 0.2), yticks=[])
        axis.locator_params(axis="x", nbins=4)
    if len(order) <= NAMED:
        names = [folded(given.units[k], LABEL) for k in order]
        axes[0, 0].set_yticks(range(len(order)), names, fontsize=7)
    else:
        axes[0, 0].set_ylabel("units")
    return made
