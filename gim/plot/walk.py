"""A moving picture: what is known, and what is concluded from it, while an agent walks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim._base import files
from gim.mdp.tabular import TabularMDP
from gim.model.matrices import dynamic_matrices
from gim.plot.look import MAP, figure, looks, name_of
from gim.runs.agent import Agent
from gim.runs.run import prepare
from gim.runs.runs import Run

MOST_NAMED = 6  # actions whose names fit below a table
CLEAR = 31  # the colour of a film that is none
SHADES = 0.9  # the darkest shade of a pair that was met, but not often enough to be known


@looks
def walk(
    agent: Agent,
    mdp: TabularMDP,
    path: str | Path | None = None,
    *,
    s: int = 0,
    episodes: int = 200,
    frames: int = 24,
    seed: int = 0,
    seconds: float = 6.0,
) -> Any:
    """Known-ness, completion and error growing while an agent walks, as a GIF.

    Each frame has three tables of states (down) and actions (across): which pairs are known (or, by
    an agent that keeps no mask of them, were met); p(s|.,.), the transitions to one state as the
    agent has learned and completed them by then; and how far they are off. Frames lie closer
    together at the start, where more happens.

    Args:
        agent: one with a model, such as ``gim.Analogist()`` or ``gim.GIM(m=5)``.
        mdp: a world small enough to be looked at.
        path: where to save the film, ``walk.gif``; None: it is not saved.
        s: the state whose dynamic matrix is shown.
        episodes: that are played.
        frames: of the film.
        seed: of the run.
        seconds: that the film lasts.

    Returns:
        The last frame, a matplotlib `Figure`.
    """
    if frames < 2:
        raise ValueError(f"frames = {frames}: a film has at least 2")
    if not 0 <= s < mdp.S:
        raise ValueError(f"s = {s}: {mdp.name} has the states 0 to {mdp.S - 1}")
    if path is not None:
        path = Path(path)
        if path.suffix != ".gif":
            raise ValueError(f"{path}: the name of the film must end in .gif")
        files.check_target(path)
    run = prepare(agent, mdp, episodes, seed)
    true = dynamic_matrices(mdp.transitions, mdp.rewards)[s]
    made, axes = figure(7.6, 1.4 + 0.12 * mdp.S, 1, 3)
    pictures = [
        axis.imshow(np.zeros_like(true), cmap=MAP, vmin=0, vmax=1, aspect="auto")
        for axis in axes[0]
    ]
    named = range(mdp.A) if mdp.A <= MOST_NAMED else []
    for axis in axes[0]:
        axis.set_xticks(named, [str(mdp.action_label(a)) for a in named], fontsize=7)
        axis.set(xlabel="action", yticks=[])
    made.colorbar(pictures[2], ax=axes[0, 2], shrink=0.8, label="probability")
    axes[0, 0].set_ylabel("state")
    shots, what = [], "met" if run.agent.known(run.memory) is None else "known"
    for stop in _stops(episodes * mdp.horizon, frames):
        run.pause_at(stop)
        known, learned = _known(run), _learned(run, s)
        error = np.abs(learned - true)
        for picture, shown in zip(pictures, (known, learned, error), strict=True):
            picture.set_data(shown)
        axes[0, 0].set_title(f"{what}: {(known >= 1).mean():.0%}")
        axes[0, 1].set_title(f"learned p({mdp.state_label(s)} | s, a)")
        axes[0, 2].set_title(f"error: {error.mean():.3f}")
        made.suptitle(f"{name_of(mdp)}, {run.agent}: step {run.steps:,}", fontsize=9)
        if path is not None:
            shots.append(_pixels(made))
        if run.finished:
            break
    if path is not None:
        _save(shots, Path(path), seconds)
    return made


def _stops(steps: int, frames: int) -> list[int]:
    """Steps at which to look, from the first to the last, each so many times later."""
    return sorted({round(x) for x in np.geomspace(1, steps, frames).tolist()})


def _known(run: Run) -> NDArray[np.float64]:
    """[S, A] 1 for what is known: by the agent's mask if it keeps one, else what was ever met."""
    belief = run.agent.belief(run.memory)
    if belief is None:
        raise ValueError(f"{run.agent} counts no transitions: take one such as gim.Analogist()")
    n = belief.counts.n
    known = run.agent.known(run.memory)
    if known is None:
        return np.minimum(np.asarray(n, float), 1.0)
    return np.where(known.mask, 1.0, np.minimum(SHADES, n / known.m[0]))


def _learned(run: Run, s: int) -> NDArray[np.float64]:
    """[S, A] p(s | ., .) as it stands."""
    model = run.model
    if model is None:
        raise ValueError(f"{run.agent} learns no model: take one such as gim.Analogist()")
    return np.asarray(dynamic_matrices(model.transitions, model.rewards)[s])


def _pixels(made: Any) -> Any:
    """A frame as an image of few colours, the last of which is none: it shows the page."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    canvas: Any = FigureCanvasAgg(made)  # its methods have no types
    canvas.draw()
    drawn = np.asarray(canvas.buffer_rgba())
    shades = Image.fromarray(drawn).convert("RGB").quantize(CLEAR, dither=Image.Dither.NONE)
    frame = Image.fromarray(np.where(drawn[..., 3] < 128, CLEAR, np.asarray(shades)).astype("u1"))
    frame.putpalette([*(shades.getpalette() or [])[: 3 * CLEAR], 0, 0, 0])
    return frame


def _save(shots: list[Any], path: Path, seconds: float) -> None:
    """All frames in one file that plays again and again, with a rest at the end."""
    each = max(20, round(1000 * seconds / len(shots)))
    lasts = [each] * (len(shots) - 1) + [each + 1500]
    with files.replacing(path) as file:
        shots[0].save(
            file,
            "GIF",
            save_all=True,
            append_images=shots[1:],
            duration=lasts,
            loop=0,
            transparency=CLEAR,
            disposal=2,  # a frame is wiped before the next, which has holes
        )
