"""The agents, one algorithm a file; the registry `gim.agents.agents` finds them.

Imports runs and what is below. Begin with `q_learning.py`, then `ucbvi.py`. What it takes to write
an agent is exported here.
"""

from typing import TYPE_CHECKING

from gim._base.lazy import lazy

if TYPE_CHECKING:
    from gim._base.params import OneOf, Within
    from gim._compile.jit import entry, hot, rare
    from gim._compile.memory import SAME, VISITS, Limits
    from gim.mdp.sampling import pick
    from gim.model.task import Mind, Task
    from gim.runs.agent import CUT, GO_ON, GROW, TERMINATED, THINK, Agent, agents
else:
    __getattr__, __dir__ = lazy(__name__)

__all__ = [
    "CUT",
    "GO_ON",
    "GROW",
    "SAME",
    "TERMINATED",
    "THINK",
    "VISITS",
    "Agent",
    "Limits",
    "Mind",
    "OneOf",
    "Task",
    "Within",
    "agents",
    "entry",
    "hot",
    "pick",
    "rare",
]
