"""All pictures, in one look that is safe for the colour-blind (Okabe and Ito's colours, cividis).

Each function returns a matplotlib `Figure`; save it with ``figure.savefig("name.png")``. Needs the
extra `plot`: ``pip install "gim[plot]"``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gim.agent import Agent
from gim.mdp import TabularMDP
from gim.model.matrices import dynamic_matrices
from gim.run import prepare

F = TypeVar("F", bound=Callable[..., Any])

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MAP = "cividis"
LOOK: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "figure.constrained_layout.use": True,
    "savefig.dpi": 160,
}
FEW_LABELS = 12  # of an axis, up to which each is named
ARROWS = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}


def looks(draw: F) -> F:
    """Draw in our look, whatever the user's own settings are."""

    @functools.wraps(draw)
    def drawn(*args: Any, **kwargs: Any) -> Any:
        try:
            from matplotlib import rc_context
        except ImportError:
            raise ImportError('pictures need matplotlib: pip install "gim[plot]"') from None
        with rc_context(LOOK):
            return _literally(draw(*args, **kwargs))

    return drawn  # type: ignore[return-value]


def _literally(made: Any) -> Any:
    """Show labels as they are: a dollar in a name is no formula."""
    from matplotlib.text import Text

    for text in made.findobj(Text):
        if "$" in text.get_text():
            text.set_parse_math(False)
    return made


def figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    """An empty figure and its axes [rows, columns]."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height))
    return made, made.subplots(rows, columns, squeeze=False)


def name_of(mdp: TabularMDP) -> str:
    """The name of a task, short enough for a title."""
    return mdp.name if len(mdp.name) <= 40 else mdp.name.split(":")[0]


@looks
def knownness(
    agent: Agent, mdp: TabularMDP, episodes: int = 2000, seed: int = 0, frames: int = 6
) -> Any:
    """The known-ness mask P^K over time, as an agent explores (states down, actions across)."""
    run = prepare(agent, mdp, episodes, seed)
    if not hasattr(run.memory, "known"):
        raise ValueError(f"{agent} keeps no known-ness mask: take one such as gim.GIM()")
    while not run.finished and run.explored_at is None:
        run.pause_at(run.steps + 1 + run.steps // 8)
    last = run.steps
    run = prepare(agent, mdp, episodes, seed)
    made, axes = figure(1.1 + 1.2 * frames, 0.9 + 0.12 * mdp.S, 1, frames)
    for frame, axis in enumerate(axes[0], start=1):
        run.pause_at(max(1, last * frame // frames))
        known = run.memory.known
        shade = np.where(known.mask, 1.0, 0.75 * run.memory.belief.counts.n / known.m[0])
        picture = axis.imshow(shade, cmap=MAP, vmin=0, vmax=1, aspect="auto")
        axis.set_title(f"step {run.steps:,}\n{known.mask.mean():.0%} known")
        axis.set_xlabel("action")
        axis.set_xticks([])
        axis.set_yticks([])
    axes[0, 0].set_ylabel("state")
    bar = made.colorbar(picture, ax=axes[0, -1], ticks=[0, 0.75, 1])
    bar.ax.set_yticklabels(["never met", "nearly", "known"])
    return made


@looks
def completion(model: Any, truth: TabularMDP, s: int | None = None) -> Any:
    """A dynamic matrix, side by side: true, what was known of it, learned, and the error.

    Args:
        model: a `LearnedModel`, as `run.model` gives.
        truth: the true MDP.
        s: transitions to this state; None: rewards.
    """
    k = truth.S if s is None else s
    true = dynamic_matrices(truth.transitions, truth.rewards)[k]
    made_up = dynamic_matrices(model.transitions, model.rewards)[k]
    known = np.where(model.known, made_up, np.nan)
    error = np.abs(made_up - true)
    titles = ("true", "known", "learned", "error")
    figure_, axes = figure(8.4, 0.8 + 0.13 * truth.S, 1, 4)
    low, high = float(true.min()), float(true.max())
    for axis, title, matrix in zip(axes[0], titles, (true, known, made_up, error), strict=True):
        limits = (0, max(high - low, 1e-12)) if title == "error" else (low, high)
        picture = axis.imshow(matrix, cmap=MAP, vmin=limits[0], vmax=limits[1], aspect="auto")
        axis.set_facecolor("#DDDDDD")
        axis.set_title(title if title != "error" else f"error (mean {error.mean():.3f})")
        axis.set_xlabel("action")
        axis.set_xticks([])
        axis.set_yticks([])
        figure_.colorbar(picture, ax=axis, shrink=0.8)
    axes[0, 0].set_ylabel("state")
    what = "r(s, a)" if s is None else f"p({truth.state_label(s)} | s, a)"
    figure_.suptitle(f"{name_of(truth)}: {what}", fontweight="bold", fontsize=10)
    return figure_


@looks
def singular_values(mdp: TabularMDP) -> Any:
    """The singular values of the S+1 dynamic matrices, each over its largest."""
    matrices = dynamic_matrices(mdp.transitions, mdp.rewards)
    values = np.linalg.svd(matrices, compute_uv=False)
    made, axes = figure(4.6, 3.0)
    axis = axes[0, 0]
    ranks = np.arange(1, values.shape[1] + 1)
    for k, row in enumerate(values):
        if row[0] > 0:
            style = {"color": COLOURS[1], "lw": 2, "zorder": 3} if k == mdp.S else {}
            style = {"color": COLOURS[0], "lw": 0.8, "alpha": 0.5} | style
            axis.plot(ranks, np.maximum(row / row[0], 1e-17), marker="o", ms=2.5, **style)
    axis.plot([], [], color=COLOURS[0], label="transitions, one line per next state")
    axis.plot([], [], color=COLOURS[1], lw=2, label="rewards")
    axis.set_yscale("log")
    axis.set_ylim(1e-6, 2)
    axis.set_xticks(ranks if ranks.size <= 12 else ranks[:: ranks.size // 10])
    axis.set_xlabel("index")
    axis.set_ylabel("singular value / largest")
    axis.set_title(f"{name_of(mdp)}: singular values")
    axis.legend(frameon=False, fontsize=8)
    return made


@looks
def grid(
    mdp: TabularMDP, policy: NDArray[Any] | None = None, value: NDArray[Any] | None = None
) -> Any:
    """Value and policy on a grid world, with arrows.

    Args:
        mdp: a task made by `gridworld`, or FrozenLake or CliffWalking as `from_gymnasium` reads
            them (the cells are kept in `mdp.info`).
        policy: actions [S] or [H, S] (the first step is shown); None: the optimal one.
        value: [S]; None: the value of the policy over the horizon.
    """
    cells = mdp.info.get("layout", {}).get("cells")
    if cells is None or {*map(str, mdp.action_labels or ())} != {*ARROWS}:
        raise ValueError(f"{mdp.name} is no grid: give a task of gridworld")
    policy = mdp.plan().policy if policy is None else np.asarray(policy)
    value = mdp.value(policy)[0] if value is None else np.asarray(value)
    first = policy if policy.ndim == 1 else policy[0]
    places = np.array(cells)
    rows, columns = places.max(axis=0) + 1
    made, axes = figure(1.2 + 0.62 * columns, 0.7 + 0.62 * rows)
    axis = axes[0, 0]
    shades = np.full((rows, columns), np.nan)
    shades[places[:, 0], places[:, 1]] = value
    picture = axis.imshow(shades, cmap=MAP)
    axis.set_facecolor("#333333")
    middle = np.nanmean([np.nanmin(shades), np.nanmax(shades)])
    for s, (row, column) in enumerate(places):
        colour = "black" if value[s] > middle else "white"
        if mdp.terminal[s]:
            axis.text(column, row, "end", ha="center", va="center", color=colour, fontsize=8)
            continue
        dx, dy = ARROWS[mdp.action_label(int(first[s]))]
        tail, head = (column - 0.3 * dx, row + 0.3 * dy), (column + 0.3 * dx, row - 0.3 * dy)
        arrow = {"arrowstyle": "-|>", "color": colour, "lw": 1.4}
        axis.annotate("", xy=head, xytext=tail, arrowprops=arrow)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.set_title(f"{name_of(mdp)}: value and policy")
    made.colorbar(picture, ax=axis, label="expected reward to come", shrink=0.8)
    return made


@looks
def graph(mdp: TabularMDP) -> Any:
    """An MDP as a graph: circles are states, arrows are actions with probability and reward.

    States stand where the task's layout puts them, or on a circle. Good for a dozen states.
    """
    cells = mdp.info.get("layout", {}).get("cells")
    if cells is not None:
        at = np.array([(2.2 * column, -2.0 * row) for row, column in cells])
    else:
        turn = 2 * np.pi * np.arange(mdp.S) / mdp.S
        at = 0.45 * mdp.S * np.stack([np.sin(turn), np.cos(turn)], axis=1)
    wide, high = np.ptp(at, axis=0) + 2.4
    made, axes = figure(max(4.0, 0.95 * wide), max(2.6, 0.95 * high))
    axis = axes[0, 0]
    for s, a in np.argwhere(mdp.available & ~mdp.terminal[:, None]):
        row = mdp.rows()[[s * mdp.A + a]].tocoo()
        for t, p in zip(row.coords[1], row.data, strict=True):
            _arrow(axis, at, int(s), int(t), int(a), _label(mdp, int(s), int(a), int(t), float(p)))
    for s, (x, y) in enumerate(at):
        double = {"linewidth": 3} if mdp.terminal[s] else {"linewidth": 1.2}
        axis.scatter(x, y, s=820, facecolor="white", edgecolor="black", zorder=3, **double)
        name = mdp.state_labels[s] if mdp.state_labels else str(s)  # short, to fit the circle
        axis.text(x, y, name, ha="center", va="center", zorder=4, fontsize=7)
    for a in range(mdp.A):
        colour = COLOURS[a % len(COLOURS)]
        axis.plot([], [], color=colour, lw=1.5, label=mdp.action_label(a))
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.01), ncol=mdp.A, frameon=False)
    axis.set_xlim(at[:, 0].min() - 1.2, at[:, 0].max() + 1.2)
    axis.set_ylim(at[:, 1].min() - 1.2, at[:, 1].max() + 1.2)
    axis.set_aspect("equal")
    axis.axis("off")
    axis.set_title(name_of(mdp))
    return made


@looks
def rates(visits: Any, errors: dict[str, Any], title: str) -> Any:
    """Errors against visits, both on log scales, beside the slope -1/2 of the bounds."""
    made, axes = figure(4.8, 3.2)
    axis, m = axes[0, 0], np.asarray(visits, float)
    for (name, values), colour in zip(errors.items(), COLOURS, strict=False):
        axis.plot(m, values, marker="o", ms=4, color=colour, label=name)
    top = max(float(np.max(values)) for values in errors.values())
    axis.plot(m, 1.3 * top * np.sqrt(m[0] / m), "k:", lw=1.2, label="proportional to 1/√m")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("visits of each known pair, m")
    axis.set_ylabel("root mean square error")
    axis.set_title(title)
    axis.legend(frameon=False, fontsize=8)
    return made


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


def _label(mdp: TabularMDP, s: int, a: int, t: int, p: float) -> str:
    paid = mdp.rewards_next if mdp.rewards_next is not None else None
    if paid is None:
        r = float(mdp.rewards[s, a])
    else:
        r = float(paid[s * mdp.A + a, t] if mdp.sparse else paid[s, a, t])
    return (f"{p:.2g}" if p < 1 else "") + (f"  r={r:,.6g}" if r else "")


def _arrow(axis: Any, at: NDArray[Any], s: int, t: int, a: int, text: str) -> None:
    """A curved arrow from s to t, or a loop at s; each action has its own bend."""
    colour = COLOURS[a % len(COLOURS)]
    style = {"arrowstyle": "-|>", "color": colour, "lw": 1.1, "shrinkA": 15, "shrinkB": 15}
    words = {"fontsize": 6.5, "color": colour, "ha": "center", "va": "center", "zorder": 5}
    words["bbox"] = {"facecolor": "white", "edgecolor": "none", "pad": 0.4, "alpha": 0.8}
    x, y = at[s]
    if s == t:  # loops leave at an angle of their own
        angle = np.pi * (0.5 + (-0.25, 0.25, -1.25, 1.25)[a % 4])
        out = np.array([np.cos(angle), np.sin(angle)])
        side = np.array([-out[1], out[0]])
        tail, head = at[s] + 0.4 * out + 0.12 * side, at[s] + 0.4 * out - 0.12 * side
        style |= {"shrinkA": 0, "shrinkB": 0, "connectionstyle": "arc3,rad=-2.2"}
        axis.annotate("", xy=head, xytext=tail, arrowprops=style)
        axis.text(*(at[s] + 0.95 * out), text, **words)
        return
    bend = 0.14 + 0.1 * a
    style["connectionstyle"] = f"arc3,rad={bend}"
    axis.annotate("", xy=at[t], xytext=(x, y), arrowprops=style)
    way = at[t] - at[s]
    normal = np.array([way[1], -way[0]])
    axis.text(*(at[s] + 0.5 * way + 0.5 * bend * normal), text, **words)
