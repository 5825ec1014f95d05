"""What follows from a belief in the memory: for agents that count, whatever they plan by.

Such an agent keeps a `belief` in its memory, and as a rule a `policy` [H, S]; it calls `observe` in
`learn` and `inferred_when_due` in `think` (`gim.belief.knowledge`)::

    @dataclass(frozen=True)
    class MyAgent(Counting, Agent): ...

How memory grows, and what the agent says of itself, is then settled; it may say more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim.analogy.base import Inference
from gim.belief.knowledge import Knowledge, believed_model, with_room
from gim.model.learned import LearnedModel
from gim.model.rewards import LEARNED_RANGE
from gim.model.task import Mind, Task


class Counting:
    """Has counted and inferred what the `belief` of its memory says."""

    m: Any = 1  # visits that make a pair known
    infer: Any = None  # what predicts pairs from others
    r_min: Any = None  # the least r(s,a), if it is told
    r_max: Any = None  # the largest

    def grow(self, memory: Any) -> Any:
        """Make room for more triples."""
        return memory._replace(belief=with_room(memory.belief))

    def policy(self, memory: Any) -> NDArray[np.int64] | None:
        """The policy in force [H, S]."""
        policy: NDArray[np.int64] = memory.policy.copy()
        return policy

    def belief(self, memory: Any) -> Knowledge:
        """What was seen and inferred."""
        belief: Knowledge = memory.belief
        return belief

    def reward_limits(self) -> tuple[float | None, float | None]:
        """The least and the largest r(s,a) that it was told."""
        return self.r_min, self.r_max

    def inference(self) -> Inference | None:
        """What predicts pairs from others."""
        inference: Inference | None = self.infer
        return inference

    def model(self, memory: Any, task: Task) -> LearnedModel:
        """What was counted and inferred."""
        return believed_model(memory.belief, task, self.m)


def note_learned_range(mind: Mind, *given: float | None) -> None:
    """Say before the first plan that the range of rewards is learned, if nobody gives it."""
    if mind.plans == 0 and mind.task.reward_range is None and None in given:
        mind.note(LEARNED_RANGE)


def note_explored(mind: Mind, belief: Knowledge, known: NDArray[np.bool_]) -> None:
    """Note the episode in which exploration ended: all is known of every state that was met.

    Where another state is met later it has not ended after all. `known` is [S], or [S, A] with True
    for actions that do not exist.
    """
    met = belief.counts.n.any(axis=1)
    if not (met.any() and known[met].all()):
        mind.explored_at = None
    elif mind.explored_at is None:
        mind.explored_at = mind.episode
