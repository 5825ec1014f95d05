"""A picture of a log: what it covers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gim.plot.look import COLOURS, MAP, figure, folded, looks

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
