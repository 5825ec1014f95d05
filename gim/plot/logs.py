"""A picture of a log: what it covers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gim.plot.look import COLOURS, MAP, figure, looks

FEW_LABELS = 12  # of an axis, up to which each is named


@looks
def visits(log: Any) -> Any:
    """What a `gim.Log` covers: visits of all pairs, states down and actions across; returns."""
    made, axes = figure(8.0, 4.0, columns=2)
    n = log.counts.n.astype(float)
    image = axes[0, 0].imshow(np.where(n > 0, n, np.nan), MAP, norm="log", aspect="auto")
    axes[0, 0].set(title="visits of pairs", xlabel="action", ylabel="state")
    if log.A <= FEW_LABELS:
        axes[0, 0].set_xticks(range(log.A), [f"{a}"[:20] for a in log.actions], rotation=30)
    if log.S <= FEW_LABELS:
        axes[0, 0].set_yticks(range(log.S), [f"{s}"[:20] for s in log.states])
    made.colorbar(image, ax=axes[0, 0])
    axes[0, 1].hist(log.returns, bins="auto" if np.ptp(log.returns) else 1, color=COLOURS[0])
    axes[0, 1].set(title="returns of episodes", xlabel="return", ylabel="episodes")
    return made
