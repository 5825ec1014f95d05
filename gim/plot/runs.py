"""Pictures of runs: learning curves with regret, and what was learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from gim._base.averages import equal_groups, size_for
from gim.analogy.structure import Rule
from gim.analogy.structure.rule import phrase
from gim.plot.look import COLOURS, FAINT, INK, figure, folded, legend_below, looks
from gim.runs.runs import Run, Runs

POINTS = 60  # of a curve
DASHES = ("-", (0, (5, 2)), (0, (1, 1.4)))
MOST_RULES, MOST_OUTCOMES = 6, 8
WIDE = 32  # letters of a line beside or above bars
LEAST = 5  # runs that have an interval
BAND = 0.2  # of its colour


@looks
def curves(runs: Run | Runs | Mapping[str, Run | Runs], share: float = 0.95) -> Any:
    """Learning curves: return by episode and regret so far, a line per agent.

    Regret, what was lost so far against the exact optimum, is shown where the world has a table: it
    tells apart agents whose returns lie on each other. A point of the returns is the mean of some
    episodes, as many at every point. From five runs on there is a band, which the legend names:
    fewer say next to nothing of a next one.

    Args:
        runs: a run, several of one agent (`gim.run(..., seeds=range(10))`), or a mapping of names
            to either.
        share: of the intervals around means over seeds (Student's t).
    """
    named = runs if isinstance(runs, Mapping) else {_agent(runs): runs}
    groups = {
        name: [group] if isinstance(group, Run) else list(group) for name, group in named.items()
    }
    first = next(iter(groups.values()))[0]
    exact = all(run.mdp is not None for group in groups.values() for run in group)
    size = size_for(max(run.returns.size for group in groups.values() for run in group), POINTS)
    made, axes = figure(8.4 if exact else 4.6, 3.2, 1, 2 if exact else 1)
    for i, (name, group) in enumerate(groups.items()):
        style = {"color": COLOURS[i % len(COLOURS)], "ls": DASHES[i // len(COLOURS) % len(DASHES)]}
        returns = np.stack([run.returns for run in group])
        parts = equal_groups(returns.shape[1], size)
        means, at = returns[:, parts].mean(axis=2), parts.mean(axis=1) + 1
        _band(axes[0, 0], at, means, share, name, style)
        if exact:
            best = np.array([[run.mdp.optimal_return()] for run in group if run.mdp is not None])
            ends = parts[:, -1]
            _band(
                axes[0, 1], ends + 1, np.cumsum(best - returns, axis=1)[:, ends], share, name, style
            )
    mean = f", mean of {size}" if size > 1 else ""
    axes[0, 0].set(title=f"return of an episode{mean}", xlabel="episode", ylabel="return")
    if exact and first.mdp is not None:
        axes[0, 0].axhline(first.mdp.optimal_return(), color=INK, lw=0.9, ls="--")
        axes[0, 0].axhline(first.mdp.random_return(), color=FAINT, lw=0.9, ls=":")
        axes[0, 1].set(title="regret so far", xlabel="episode", ylabel="regret")
        axes[0, 0].plot([], [], color=INK, lw=0.9, ls="--", label="optimum")
        axes[0, 0].plot([], [], color=FAINT, lw=0.9, ls=":", label="random policy")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    banded = any(len(group) >= LEAST for group in groups.values())
    named_band = f"bands: {100 * share:g} % interval of the mean (Student's t)"
    legend_below(made, handles, labels, named_band if banded else None)
    return made


@looks
def analogies(run: Run | list[Rule]) -> Any:
    """What was learned, drawn: for each rule what may happen, and how often."""
    rules = (run.analogies() if isinstance(run, Run) else run)[:MOST_RULES]
    if not rules:
        raise ValueError("nothing was learned that rules could say: play more episodes")
    across = min(len(rules), 2)
    rows = -(-len(rules) // across)
    made, axes = figure(4.2 * across, 0.6 + 1.7 * rows, rows, across)
    for axis, rule in zip(axes.flat, rules, strict=False):
        shown = rule.outcomes[:MOST_OUTCOMES]
        axis.barh(
            [folded(phrase(change), WIDE) for change, _ in shown],
            [p for _, p in shown],
            color=COLOURS[0],
        )
        axis.invert_yaxis()
        axis.set_xlim(0, 1)
        axis.set_title(folded(f"{rule.action}{f' where {rule.where}' if rule.where else ''}", WIDE))
    for axis in axes.flat[len(rules) :]:
        axis.set_visible(False)
    made.supxlabel("probability", fontsize=9)
    return made


def _agent(runs: Run | Runs) -> str:
    return str(runs.agent if isinstance(runs, Run) else runs[0].agent)


def _band(
    axis: Any, x: NDArray[Any], runs: NDArray[Any], share: float, name: str, style: dict[str, Any]
) -> None:
    mean = runs.mean(axis=0)
    axis.plot(x, mean, label=name, lw=1.4, **style)
    if len(runs) >= LEAST:
        error = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
        spread = stdtrit(len(runs) - 1, 0.5 + share / 2) * error  # Student's t
        axis.fill_between(x, mean - spread, mean + spread, color=style["color"], alpha=BAND, lw=0)
