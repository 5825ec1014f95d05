"""The unit of work: one agent in one world from one seed.

A trial is data. Its `digest` names everything that fixes the bits of its result, so results can be
stored, found again and made on any machine.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from gim._base.arguments import fraction, whole
from gim._base.limits import SEED, STEPS
from gim_lab.trials.code import Code, code_of
from gim_lab.trials.spec import agent_in_full, agent_spec, task_in_full, task_spec

FORMAT = 3  # of a result: part of the digest, so that older results are not taken for new ones

REWARDS = ("learn", "known")


@dataclass(frozen=True)
class Trial:
    """One agent in one world from one seed.

    Specs are brought to normal form (`gim:m=40` is `gim`), and an agent's spec is checked at once.

    Args:
        task: the spec of a world, such as ``synthetic:rank=2,seed=3``; see `gim.envs.worlds`.
        agent: the spec of an agent, such as ``rmax:m=20``.
        episodes: how many to play.
        seed: fixes every bit of the run (the seed of a random task is part of its spec).
        epsilon: with a share of |V*|, sample complexity is measured as well; that costs time.
        rewards: ``learn``, or ``known``: the agent is told what the world pays, see `gim.run`.

    Example:
        >>> Trial("riverswim:length=6", "gim:m=40,rho=0.5", episodes=100, seed=3).id
        'riverswim/gim-rho=0.5/100/3'
    """

    task: str
    agent: str
    episodes: int
    seed: int
    epsilon: float | None = None
    rewards: str = "learn"

    def __post_init__(self) -> None:
        for name, low, high in (("episodes", 1, STEPS), ("seed", 0, SEED)):
            object.__setattr__(self, name, whole(name, getattr(self, name), low, high))
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", fraction("epsilon", self.epsilon, of="V*"))
        if self.rewards not in REWARDS:
            raise ValueError(f"rewards = {self.rewards!r}: give one of {', '.join(REWARDS)}")
        object.__setattr__(self, "task", task_spec(self.task))
        object.__setattr__(self, "agent", agent_spec(self.agent))

    @property
    def id(self) -> str:
        """Readable and unique: task, agent, episodes and seed, and what else is measured."""
        parts = [self.task, self.agent, self.episodes, self.seed]
        if self.epsilon is not None:
            parts.append(f"epsilon={self.epsilon:g}")
        if self.rewards != "learn":
            parts.append(f"rewards={self.rewards}")
        return "/".join(str(part).replace("/", "-").replace(":", "-") for part in parts)

    @property
    def key(self) -> str:
        """32 hex digits of what is asked.

        Agent and task count with all their parameters, so that another default is another trial,
        and a saved MDP counts by its content.
        """
        facts = vars(self) | {"format": FORMAT}
        if self.rewards == "learn":  # as results were kept before there was a choice
            del facts["rewards"]
        facts |= {"agent": agent_in_full(self.agent), "task": task_in_full(self.task)}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]

    @property
    def code(self) -> Code:
        """The code that answers, and the versions of what computes."""
        return code_of(self.agent, self.task)

    @property
    def digest(self) -> str:
        """All that fixes the bits: what is asked, and the code that answers."""
        return f"{self.key}-{self.code.digest}"
