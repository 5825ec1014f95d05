"""`gim.evaluate`: play a policy, and say what it earns, with an interval.

`gim.planning.evaluate` and `mdp.policy_return` compute that exactly where the table is known; this
plays, and so works wherever `gim.run` does. The policy is played as an agent that learns nothing,
by the same loops and from the same random streams: a seed gives the returns that it gives a run of
an agent that plays the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from gim._base.arguments import whole
from gim._compile.jit import hot
from gim.belief.intervals import mean_interval
from gim.belief.shares import percent
from gim.envs.worlds import World, world_of
from gim.mdp.distribution import ranges
from gim.mdp.gymnasium_table import limit_of
from gim.mdp.names import Names
from gim.mdp.naming import Built, names_of
from gim.mdp.policy import Policy
from gim.mdp.policy.alignment import GivenPolicy, Place, as_array, fit, known_in
from gim.mdp.tabular import TabularMDP
from gim.model.loading import load_saved
from gim.model.task import Task
from gim.planning.checks import checked_policy
from gim.runs.agent import GO_ON, Agent, agents
from gim.runs.gymnasium_task import reward_range_of
from gim.runs.run import prepare
from gim.runs.runs import Run

UNKNOWN = -1  # in place of an action: the policy says nothing of this state
MOST_LOOKED_AT = 1 << 27  # outcomes and steps, up to which the range of returns is worked out

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a policy earned.

    Attributes:
        mean: of the returns.
        lower, upper: where the expected return lies, with the share of `gim.belief.shares`; NaN
            where too little was seen to say (`gim.belief.intervals`).
        returns: [episodes] what each episode earned.
        note: what the interval rests on, or why there is none.
    """

    mean: float
    lower: float
    upper: float
    returns: Floats
    note: str

    def __repr__(self) -> str:
        many = f"{self.returns.size:,} episode{'s' if self.returns.size > 1 else ''}"
        return f"<Evaluation of {many}: {self.mean:.6g}, {self.interval}>"

    @property
    def interval(self) -> str:
        """The interval as text."""
        if np.isnan(self.lower):
            return "no interval"
        return f"{percent()} interval {self.lower:.6g} to {self.upper:.6g}"


def evaluate(
    policy: GivenPolicy | str | Path,
    world: World,
    episodes: int = 1000,
    seed: int = 0,
    horizon: int | None = None,
    average: bool = False,
) -> Evaluation:
    """Play a policy in a world.

    Args:
        policy: a `Policy`, or the path of one; states and actions are matched with the world's by
            name (`gim.mdp.policy.alignment`). Or an array, which goes by position, or a function or
            a mapping of states to actions.
        world: whatever `gim.run` takes.
        episodes: how many to play.
        seed: fixes every bit.
        horizon: H for an environment that has no time limit of its own, or another one; None: its
            own, else the steps that the policy is made for.
        average: by step: returns over H. The first steps count as well, so that this differs from
            the average without end by up to 1 / H times how far the policy's bias is spread: let
            the horizon be long. `mdp.value(policy, average=True)` is exact.

    Example:
        >>> import gim
        >>> policy = gim.run("optimal", "riverswim", episodes=1).best_policy()
        >>> found = gim.evaluate(policy, "riverswim", episodes=500)
        >>> found.lower < gim.make("riverswim").optimal_return() < found.upper
        True
    """
    if isinstance(policy, (str, Path)):
        policy = load_saved(policy, "policy")
    if horizon is not None:
        horizon = whole("horizon", horizon, 1)
    built = world_of(world, horizon, imports=True)
    if horizon is None and isinstance(policy, Policy) and isinstance(built, gymnasium.Env):
        horizon = policy.horizon if limit_of(built) is None else None
    try:
        run = prepare(Following(policy, built), built, episodes, seed, horizon)
        ends = _ends(run)
        returns = _played(run, policy)
    finally:
        if built is not world and not isinstance(built, TabularMDP):
            built.close()
    if average:
        H = run.task.H
        returns, ends = returns / H, None if ends is None else (ends[0] / H, ends[1] / H)
    lower, upper, note = mean_interval(returns, ends)
    return Evaluation(float(returns.mean()), lower, upper, returns, note)


def _played(run: Run, policy: Any) -> Floats:
    try:
        run.go()
    except ValueError:
        s = int(run.clock.s[0])
        if not run.memory.unknown[s]:
            raise
        states = run.agent.names(run.task)[0]  # type: ignore[attr-defined]
        raise ValueError(
            f"episode {run.returns.size} came to state {states[s]!r}, of which the policy says "
            f"nothing, as of {int(run.memory.unknown.sum()):,} of the {len(states):,} states"
        ) from None
    return run.returns.copy()


class Memory(NamedTuple):
    """A policy, at every step (R = H) or the same at all (R = 1)."""

    actions: NDArray[np.int64]  # [R, S], or [0, 0] of one that draws
    bounds: Floats  # [R, S, A] its chances, added up; or [0, 0, 0]
    unknown: NDArray[np.bool_]  # [S] where it says nothing


@hot
def act(memory: Any, s: int, h: int, rng: Any) -> Any:
    """Follow the policy."""
    if memory.unknown[s]:
        return UNKNOWN
    if memory.actions.size > 0:
        return memory.actions[h if len(memory.actions) > 1 else 0, s]
    k, last = (h if len(memory.bounds) > 1 else 0), memory.bounds.shape[2] - 1
    u, a = rng.random() * memory.bounds[k, s, last], 0
    while a < last and memory.bounds[k, s, a] <= u:
        a += 1
    return a


@hot
def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Learn nothing."""
    return GO_ON


@dataclass(frozen=True)
class Following(Agent, registry=agents):  # named so, it has no name of its own among the agents
    """Plays a policy."""

    given: Any
    world: Built

    act = staticmethod(act)
    learn = staticmethod(learn)

    def start(self, task: Task, rng: np.random.Generator) -> Memory:
        """The policy in the world's numbers, checked."""
        place = self._place(task)
        known = known_in(self.given, place) if isinstance(self.given, Policy) else None
        array = np.asarray(as_array(self.given, place))
        unknown = np.zeros(task.S, bool) if known is None else ~known
        if unknown.any():  # what stands there is made up, and need not be possible
            at = np.flatnonzero(unknown)
            array = array.copy()
            if array.dtype.kind == "f":
                array[..., at, :] = np.eye(task.A)[place.spare[at]]
            else:
                array[..., at] = place.spare[at]
        sizes: Any = SimpleNamespace(S=task.S, A=task.A, available=task.available)
        array = checked_policy(sizes, array, task.H)
        if array.dtype.kind == "f":
            bounds = np.cumsum(array, axis=-1)
            steps = bounds if array.ndim == 3 else bounds[None]
            return Memory(np.zeros((0, 0), np.int64), np.ascontiguousarray(steps), unknown)
        steps = np.atleast_2d(array).astype(np.int64)
        return Memory(np.ascontiguousarray(steps), np.zeros((0, 0, 0)), unknown)

    def names(self, task: Task) -> tuple[Names, Names]:
        """What states and actions are called, by the policy and the world alike."""
        place = self._place(task)
        return place.states, place.actions

    def _place(self, task: Task) -> Place:
        """The world as the policy must fit it.

        Of a world with a table all states count to which an episode can come. Nobody knows which
        those are where it is stepped: then a policy that says of which states it knows nothing, as
        one from a log does, is taken at its word.
        """
        table, spare = task.truth, task.available.argmax(axis=1)
        acts = np.ones(task.S, bool)
        if table is not None:
            acts = ~table.terminal & table.reachable()
        place = Place("world", *names_of(self.world), acts, spare, task.H)
        if not isinstance(self.given, Policy):
            return place
        known = known_in(self.given, place)
        if table is None:
            told = self.given.seen is not None and known.any()
            return place._replace(acts=known) if told else place
        by_table = Place("world", *table.names(), acts, spare, task.H)  # of an environment's
        return max((place, by_table), key=partial(fit, self.given))


def _ends(run: Run) -> tuple[float, float] | None:
    """The least and the largest return that there can be; None where that is not known."""
    mdp, H = run.world, run.task.H
    if not isinstance(mdp, TabularMDP):
        if (told := reward_range_of(mdp)) is None:
            return None
        low, high = told  # an episode has a step at the least, and may end at any
        return min(low, low * H), max(high, high * H)
    if mdp.noise is not None:
        return None
    paid = mdp.rewards if mdp.rewards_next is None else mdp.rewards_next
    if mdp.rows().nnz * H > MOST_LOOKED_AT:
        least, most = min(float(paid.min()), 0.0), max(float(paid.max()), 0.0)
        return least * H, most * H
    return _support(mdp, run.memory)


def _support(mdp: TabularMDP, memory: Memory) -> tuple[float, float]:
    """The least and the largest return of an episode under a policy."""

    def plays(h: int) -> NDArray[np.bool_]:
        if memory.actions.size:
            played = memory.actions[h % len(memory.actions)]
            return np.equal.outer(played, np.arange(mdp.A)).ravel()
        bounds = memory.bounds[h % len(memory.bounds)]
        return (np.diff(bounds, axis=1, prepend=0.0) > 0).ravel()

    low, high, _ = ranges(mdp, mdp.paid(), plays)
    return float(low[-1]), float(high[-1])
