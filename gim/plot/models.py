"""Pictures of models: dynamic matrices, singular values, what was known when."""

from __future__ import annotations

from typing import Any

import numpy as np

from gim.mdp.tabular import TabularMDP
from gim.model.matrices import dynamic_matrices
from gim.plot.look import COLOURS, INK, MAP, VEIL, figure, folded, looks, name_of
from gim.runs.agent import Agent
from gim.runs.run import prepare


@looks
def knownness(
    agent: Agent, mdp: TabularMDP, episodes: int = 2000, seed: int = 0, frames: int = 6
) -> Any:
    """The known-ness mask P^K over time, as an agent explores (states down, actions across)."""
    run = prepare(agent, mdp, episodes, seed)
    if run.agent.known(run.memory) is None:
        raise ValueError(f"{agent} keeps no known-ness mask: take one such as gim.GIM()")
    while not run.finished and run.explored_at is None:
        run.pause_at(run.steps + 1 + run.steps // 8)
    last = run.steps
    run = prepare(agent, mdp, episodes, seed)
    made, axes = figure(1.1 + 1.2 * frames, 0.9 + 0.12 * mdp.S, 1, frames)
    for frame, axis in enumerate(axes[0], start=1):
        run.pause_at(max(1, last * frame // frames))
        known, belief = run.agent.known(run.memory), run.agent.belief(run.memory)
        assert known is not None
        assert belief is not None
        shade = np.where(known.mask, 1.0, 0.75 * belief.counts.n / known.m[0])
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
        axis.set_facecolor(VEIL)
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
def rates(visits: Any, errors: dict[str, Any], title: str) -> Any:
    """Errors against visits, both on log scales, beside the slope -1/2 of the bounds."""
    made, axes = figure(4.8, 3.2)
    axis, m = axes[0, 0], np.asarray(visits, float)
    for (name, values), colour in zip(errors.items(), COLOURS, strict=False):
        axis.plot(m, values, marker="o", ms=4, color=colour, label=name)
    top = max(float(np.max(values)) for values in errors.values())
    axis.plot(
        m, 1.3 * top * np.sqrt(m[0] / m), ":", color=INK, lw=1.2, label="proportional to 1/√m"
    )
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("visits of each known pair, m")
    axis.set_ylabel("root mean square error")
    axis.set_title(folded(title, 44))
    axis.legend(frameon=False, fontsize=8)
    return made
