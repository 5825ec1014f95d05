"""What an agent is: two compiled functions, one Python method, and a memory of arrays.

The loop calls ``act`` and ``learn`` at every step, compiled. When ``learn`` returns THINK the loop
comes back to Python, ``think`` completes and plans with any library, and the loop goes on where it
stopped. The same three serve the compiled loop on a `TabularMDP` and the stepwise loop on any
Gymnasium environment.

To add an agent, write one file in `gim/agents`::

    class Memory(NamedTuple):            # arrays only, each with its shape
        q: NDArray[np.float64]           # [S, A]

    @hot
    def act(memory, s, h, rng): ...      # -> action

    @hot
    def learn(memory, s, h, a, r, t, end, rng): ...   # -> GO_ON, or THINK and GROW added up

    @dataclass(frozen=True)
    class MyAgent(Agent):                # registered as `my_agent`
        alpha: Annotated[float, Within(0, 1), "step size"] = 0.1
        examples = ("", "alpha=0.5")     # settings for the conformance kit; "" is the defaults
        act = staticmethod(act)
        learn = staticmethod(learn)
        def start(self, task, rng): return Memory(...)

The registry finds it, as it does one in a package of your own (docs/extending.md);
`gim.testing.check_agent` checks it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gim._base.registry import Registered, Registry
from gim.analogy.base import Inference
from gim.belief.knowledge import Knowledge
from gim.mdp.sampling import CUT, GO_ON, TERMINATED
from gim.model.counts import Known
from gim.model.learned import LearnedModel
from gim.model.task import Mind, Task

__all__ = ["CUT", "GO_ON", "GROW", "TERMINATED", "THINK", "Agent", "Mind", "Task", "agents"]

THINK = 1  # what `learn` returns to be woken
GROW = 2  # what `learn` returns when a table in its memory is full

agents = Registry("agent", "gim.agents")


@dataclass(frozen=True)
class Agent(Registered, registry=agents):
    """Base of all agents: the fields are the hyper-parameters, all else is in the memory."""

    assumes_structure: ClassVar[bool] = False  # elsewhere it may learn a wrong model
    notices: ClassVar[bool] = False  # whether it looks for changes itself (`gim.belief.noticing`)
    act: ClassVar[Callable[..., int]]  # (memory, s, h, rng) -> a
    learn: ClassVar[Callable[..., int]]  # (memory, s, h, a, r, t, end, rng) -> THINK + GROW

    def start(self, task: Task, rng: np.random.Generator) -> Any:
        """Make the memory: a NamedTuple of arrays (or of such NamedTuples)."""
        raise TypeError(f"{type(self).__name__} must define start(task, rng)")

    def think(self, memory: Any, mind: Mind) -> Any:
        """Think before the first step and whenever woken; return a new memory, or None."""

    def grow(self, memory: Any) -> Any:
        """Return a memory with more room, after `learn` said GROW."""
        raise TypeError(f"{type(self).__name__}.learn returned GROW, but it has no grow(memory)")

    def belief(self, memory: Any) -> Knowledge | None:
        """What was seen and inferred (`gim.belief.knowledge`), where the agent counts."""
        return None

    def known(self, memory: Any) -> Known | None:
        """Which pairs are known, where the agent tells them from others by their visits."""
        return None

    def inference(self) -> Inference | None:
        """What predicts pairs from others, where anything does."""
        return None

    def inferring(self, inference: Inference) -> Agent:
        """The same agent with another inference; an error where it infers nothing."""
        if "infer" not in {each.name for each in fields(self)}:
            raise ValueError(
                f"{self} infers nothing, so that a family would change nothing: give an agent that "
                "takes infer=, such as analogist"
            )
        return replace(self, infer=inference)  # type: ignore[call-arg]

    def reward_limits(self) -> tuple[float | None, float | None]:
        """The least and the largest r(s,a) that it was told; None: as the task has it."""
        return None, None

    def judges_priors(self) -> bool:
        """Whether it judges what was learned elsewhere before it trusts it."""
        inference = self.inference()
        return inference is not None and inference.reuses

    def policy(self, memory: Any) -> NDArray[Any] | None:
        """The policy in force: actions [S] or [H, S], or probabilities [S, A] or [H, S, A]."""
        return None

    def greedy(self, memory: Any, task: Task) -> NDArray[Any] | None:
        """The policy to deploy of an agent that learns no model, in the forms of `policy`.

        For one that learns values it is the greedy policy. By default it is the policy in force.
        """
        return self.policy(memory)

    def model(self, memory: Any, task: Task) -> LearnedModel | None:
        """The model learned so far, where the agent learns one."""
        return None
