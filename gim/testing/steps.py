"""The steps of a run, counted apart from the agent, against what its belief says of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from gim.model.counts import dense, transitions
from gim.runs.runs import Run


class Step(NamedTuple):
    """One step as the world made it."""

    r: float
    t: int
    ended: bool  # whether the world ended the episode in t
    news: bool  # whether none had ended there before


class Watched(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment of numbered states that keeps its steps by pair, in the order they came."""

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        self.first: tuple[int, int] | None = None  # the pair played first
        self.steps: dict[tuple[int, int], list[Step]] = {}
        self.ends: set[int] = set()

    def reset(self, **options: Any) -> Any:
        """Note where an episode starts."""
        self.s, info = self.env.reset(**options)
        return self.s, info

    def step(self, action: Any) -> Any:
        """Note a step."""
        pair = int(self.s), int(action)
        found = self.env.step(action)
        self.s, r, ended = found[:3]
        t = int(self.s)
        self.first = self.first or pair
        step = Step(float(r), t, bool(ended), bool(ended) and t not in self.ends)
        self.steps.setdefault(pair, []).append(step)
        self.ends |= {t} if ended else set()
        return found


def check_belief(run: Run, world: Watched) -> None:
    """Check that a belief counts what was seen, and nothing else.

    An agent may stop counting a pair, or all of them. So for each pair its counts are those of its
    first visits, as many as they say, to which may be added later ones that showed a new end; and
    the first step of the run is among them.
    """
    place = f"{run.agent} on {run.mdp}"
    belief, model = run.agent.belief(run.memory), run.model
    if belief is None:
        return
    counts = belief.counts
    assert world.first is None or counts.n[world.first] > 0, (
        f"{place}: the belief has no visit of {world.first}, the first pair that was played"
    )
    N, ends = dense(transitions(counts), counts.n.shape), set()
    for s, a in np.ndindex(counts.n.shape):
        steps = world.steps.get((s, a), [])
        kept = _kept(steps, N[s, a])
        assert kept is not None, (
            f"{place}: the belief has n(s'|{s},{a}) = {N[s, a]}: not the first of the "
            f"{len(steps)} visits that were made"
        )
        assert len(kept) == counts.n[s, a], (
            f"{place}: the belief has n[{s}, {a}] = {counts.n[s, a]}, by next state {len(kept)}"
        )
        for name, power in (("R", 1), ("R2", 2)):
            paid, found = sum(step.r**power for step in kept), getattr(counts, name)[s, a]
            assert np.isclose(found, paid), (
                f"{place}: the belief has {name}[{s}, {a}] = {found}, its visits add up to {paid}"
            )
        ends |= {step.t for step in kept if step.ended}
    terminal = set(np.flatnonzero(belief.terminal).tolist())
    assert ends <= terminal <= world.ends, (
        f"{place}: the belief takes {sorted(terminal)} to be terminal; episodes were seen to end "
        f"in {sorted(world.ends)}, by visits that it counts in {sorted(ends)}"
    )
    assert belief.visits[0] == counts.n.sum(), (
        f"{place}: the belief has {belief.visits[0]} visits in all, by pair {counts.n.sum()}"
    )
    assert model is None or np.array_equal(model.visits, counts.n), (
        f"{place}: model.visits are not those of the belief"
    )


def _kept(steps: list[Step], row: NDArray[np.float64]) -> list[Step] | None:
    """The visits of a pair that come to these counts by next state [S]; None: no such are."""
    for first in range(min(len(steps), int(row.sum())), -1, -1):
        rest = row - _by_next(steps[:first], row.size)
        more = [step for step in steps[first:] if step.news and rest[step.t] > 0]
        if np.array_equal(_by_next(more, row.size), rest):
            return steps[:first] + more
    return None


def _by_next(steps: list[Step], S: int) -> NDArray[np.int64]:
    return np.bincount([step.t for step in steps], minlength=S)
