"""`gim.series`: many worlds of one family, one after the other or in turns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from gim._base.arguments import whole
from gim._base.limits import SEED
from gim._base.own import own
from gim._base.terminal import table
from gim.belief.family.by_family import by_family, rows_of_counted
from gim.belief.family.family import Family, learned
from gim.belief.family.units import Rows, Space, joined
from gim.envs.worlds import World, world_of
from gim.runs.agent import Agent, agents
from gim.runs.priors_given import family_in
from gim.runs.run import prepare
from gim.runs.runs import Run

FEW = 40  # worlds that a search for a rule looks at
AGAIN = 1.3  # worlds over those at the last search, to search again


class Series(Sequence[Run]):
    """What `gim.series` has played: a run for each world, and the family that they showed.

    Attributes:
        family: what the worlds have in common; None if nothing was carried.

    Example:
        >>> import gim
        >>> played = gim.series("psrl", [gim.make("riverswim")] * 2, 3)
        >>> len(played), len(played.returns[1]), type(played[0]).__name__
        (2, 3, 'Run')
    """

    def __init__(self, runs: list[Run], family: Family | None) -> None:
        self._runs, self.family = runs, family

    @overload
    def __getitem__(self, k: int) -> Run: ...
    @overload
    def __getitem__(self, k: slice) -> list[Run]: ...
    def __getitem__(self, k: int | slice) -> Run | list[Run]:
        return self._runs[k]

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def returns(self) -> list[NDArray[np.float64]]:
        """Rewards of the episodes of each world."""
        return [run.returns for run in self._runs]

    @property
    def scores(self) -> NDArray[np.float64]:
        """Mean return over the optimum of each world, [worlds]."""
        return np.array([run.score for run in self._runs])

    def table(self) -> str:
        """A line for each world: what its first and all of its episodes returned."""
        rows = [
            [k, float(run.returns[:5].mean()), float(run.returns.mean())]
            for k, run in enumerate(self._runs)
        ]
        return table(rows, ["world", "first 5", "all episodes"])

    def __repr__(self) -> str:
        said = "" if self.family is None else f", {self.family!r}"
        return f"<Series of {len(self)} worlds{said}>"


def series(
    agent: Agent | str,
    worlds: Iterable[World],
    episodes: int,
    seed: int = 0,
    *,
    carry: bool = True,
    prior: Family | str | Path | None = None,
    interleave: bool = False,
) -> Series:
    """Let an agent learn in many worlds that may be of one family.

    What a world has shown is carried on: the family of all before it says where pairs of the next
    lead and what they pay, as far as that was borne out by worlds left out. If they are no family,
    each is learned alone.

    Args:
        agent: one that learns a model, as in `gim.run`: analogist, ucbvi, psrl, rlsvi, rmax, gim.
        worlds: with the same states and actions, as in `gim.run`.
        episodes: in each.
        seed: fixes every bit.
        carry: whether anything is carried on; False plays each world alone.
        prior: a family to begin with, or a file of one.
        interleave: play an episode in each world in turn, instead of one world after the other.

    Example:
        >>> import gim
        >>> worlds = [gim.make("gridworld:height=3,width=3")] * 3
        >>> played = gim.series("analogist", worlds, episodes=4)
        >>> len(played), played.returns[2].shape
        (3, (4,))
    """
    if isinstance(agent, str) and ":" in agent:
        agent = own(agent, agents)
    made: Agent = agents.make(agent)
    if not isinstance(made, Agent):
        raise ValueError(f'{agent!r} is not an agent: give gim.Analogist(), or "analogist"')
    episodes, seed = whole("episodes", episodes, 1), whole("seed", seed, 0, SEED)
    if carry or prior is not None:
        made.inferring(by_family(None))  # complain now, not after the first world
    family = family_in(prior)
    if prior is not None and family is None:
        kind = type(prior).__name__
        raise ValueError(f"prior= is a {kind}: give a gim.Family, or a file of one")
    given = [world_of(world, None, imports=True) for world in worlds]
    if not given:
        raise ValueError("a series needs at least one world")
    numbers = np.random.SeedSequence(seed).generate_state(len(given)).tolist()
    growing = Growing(family if carry or family is not None else None)
    runs: list[Run] = []
    if interleave:
        return in_turns(made, given, episodes, numbers, growing, carry)
    for world, number in zip(given, numbers, strict=True):
        run = prepare(with_family(made, growing.family), world, episodes, number).go()
        runs.append(run)
        if carry:
            growing.add(space_of(run), rows_of_run(run), len(runs) - 1)
    return Series(runs, growing.family if carry or prior is not None else None)


def in_turns(
    agent: Agent,
    worlds: list[Any],
    episodes: int,
    numbers: list[int],
    growing: Growing,
    carry: bool,
) -> Series:
    """An episode in each world in turn; the family is sought again as the rounds double."""
    runs = [
        prepare(with_family(agent, growing.family), world, episodes, number)
        for world, number in zip(worlds, numbers, strict=True)
    ]
    start, due = growing.family, 1
    for played in range(1, episodes + 1):
        for run in runs:
            while run.returns.size < played:
                run.pause_at(run.steps + 1)
        if carry and start is None and played >= due and played < episodes:
            due = 2 * played
            rows = [rows_of_run(run) for run in runs]
            for k, run in enumerate(runs):  # by the others: its own rows count there once
                others = Growing(None)
                for j, each in enumerate(rows):
                    if j != k:
                        others.keep(space_of(runs[j]), each, j)
                others.seek()
                run.agent = with_family(run.agent, others.family)
                restart(run)
    if carry:
        for k, run in enumerate(runs):
            growing.keep(space_of(run), rows_of_run(run), k)
        growing.seek()
    return Series(runs, growing.family)


def restart(run: Run) -> None:
    """Infer anew when the agent thinks next."""
    belief = run.agent.belief(run.memory)
    if belief is not None:
        belief.infer_at[0] = belief.visits[0]


def with_family(agent: Agent, family: Family | None) -> Agent:
    """The agent, inferring by the family if there is one that holds."""
    if family is None or not family.speaks:
        return agent
    return agent.inferring(by_family(family, agent.inference()))


def rows_of_run(run: Run) -> Rows:
    """What a run has seen."""
    belief = run.agent.belief(run.memory)
    if belief is None:
        raise ValueError(f"{run.agent} counts no transitions: it cannot learn a family")
    return rows_of_counted(belief.counts)


def space_of(run: Run) -> Space:
    """What its world is made of."""
    belief, task = run.agent.belief(run.memory), run.task
    terminal = None if belief is None else belief.terminal
    return Space(task.available, task.variables, task.action_variables, terminal)


class Growing:
    """A family that grows world by world: now and then it is sought anew."""

    def __init__(self, family: Family | None) -> None:
        self.family = family
        self.spaces: list[Space] = []
        self.rows: list[Rows] = []
        self.names: list[Any] = []
        self.due = 0.0
        if family is not None:
            self.spaces = [family.space]
            self.rows, self.names = [family.rows], list(family.units)
            self.due = max(AGAIN * len(family), len(family) + 1)

    def keep(self, space: Space, rows: Rows, name: Any) -> None:
        """One world more, without a look at it."""
        first = self.spaces[0] if self.spaces else space
        if (space.S, space.A) != (first.S, first.A):
            raise ValueError(
                f"a world has {space.S} states and {space.A} actions, those before it {first.S} "
                f"and {first.A}: a family has the same states and actions"
            )
        self.spaces.append(space)
        self.rows.append(rows._replace(unit=np.full_like(rows.unit, len(self.names))))
        self.names.append(name)

    def add(self, space: Space, rows: Rows, name: Any) -> None:
        """One world more."""
        self.keep(space, rows, name)
        if self.family is None or len(self.names) >= self.due:
            self.seek()
            self.due = max(AGAIN * len(self.names), len(self.names) + 1)
        else:
            self.family = self.family.grown(rows, name)

    def seek(self) -> None:
        """The rule, and how worlds differ, from some of them at the most."""
        first = self.spaces[0]
        available = np.any([space.available for space in self.spaces], axis=0)
        terminal = np.any([space.terminal for space in self.spaces], axis=0)
        space = Space(available, first.variables, first.action_variables, terminal)
        some = np.unique(np.linspace(0, len(self.names) - 1, FEW).astype(np.int64))
        rows = joined(self.rows)
        if len(some) < len(self.names):
            rows = rows.of(np.isin(rows.unit, some))
            rows = rows._replace(unit=np.searchsorted(some, rows.unit))
        self.family = learned(space, rows, [self.names[k] for k in some.tolist()])
