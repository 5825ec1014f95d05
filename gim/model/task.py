"""What an agent is told of a world, and the record that it keeps while it thinks."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim._compile.jit import compiled_for
from gim.mdp.tabular import TabularMDP
from gim.mdp.variables import Variables
from gim.model.learned import LearnedModel
from gim.model.rewards import KnownRewards


@dataclass(frozen=True)
class Task:
    """What an agent is told before its first step; where episodes begin is counted as they do."""

    S: int
    A: int
    H: int
    available: NDArray[np.bool_]  # [S, A]
    reward_range: tuple[float, float] | None  # of r(s, a); None where the world does not say
    discount: float | None = None
    truth: TabularMDP | None = None  # only for agents that are allowed to know, such as Optimal
    priors: tuple[LearnedModel, ...] = ()  # what was learned elsewhere, to start from
    variables: Variables | None = None  # what states are made of, where it is known
    action_variables: Variables | None = None  # the same for actions
    rewards: KnownRewards | None = None  # where they are known; None: to be learned
    starts: NDArray[np.int64] | None = None  # [S] episodes begun there so far; None: truth.start


class Timed:
    """See `Mind.timed`; quicker than a generator, since some agents think every few steps."""

    __slots__ = ("before", "compiled", "phase", "seconds")

    def __init__(self, seconds: dict[str, float], phase: str) -> None:
        self.seconds, self.phase = seconds, phase

    def __enter__(self) -> None:
        self.before, self.compiled = time.thread_time(), compiled_for()

    def __exit__(self, *problem: object) -> None:
        spent, seconds = time.thread_time() - self.before, self.seconds
        if compiled := compiled_for() - self.compiled:
            seconds["compiling"] += compiled
        seconds[self.phase] += spent - compiled


@dataclass
class Mind:
    """What thinking may use, and the record that it keeps."""

    task: Task
    rng: np.random.Generator  # the stream of thinking
    episode: int = 0  # the episode in which the agent thinks
    step: int = 0  # the step that it takes next; 0: that of a new episode
    plans: int = 0  # dynamic-programming operations for the policy
    walk_plans: int = 0  # those that only steered exploration
    explored_at: int | None = None  # the episode in which exploration ended
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    notes: list[str] = field(default_factory=list)  # warnings, in the order they came
    kept: dict[str, Any] = field(default_factory=dict)  # what would be computed anew else
    changes: list[Any] = field(default_factory=list)  # of the world (`gim.belief.change.Change`)
    trail: Any = None  # the latest episodes (`gim.runs.loop.Trail`), where a run keeps them
    names: Any = None  # with it: a function without arguments, the names of states and of actions

    def timed(self, phase: str) -> Timed:
        """Count the processor time spent inside under this name in `run.seconds`.

        What was compiled meanwhile counts as compiling.
        """
        return Timed(self.seconds, phase)

    def note(self, text: str) -> None:
        """Keep a warning for the user; `gim.run` shows each once."""
        self.notes.append(text)
