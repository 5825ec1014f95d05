"""The tasks, one a file, and worlds by name.

Imports mdp and what is below, and no run. Begin with `base.py`, then `riverswim.py`. What it takes
to write a task is exported here.
"""

from typing import TYPE_CHECKING

from gim._base.lazy import lazy

if TYPE_CHECKING:
    from gim._base.params import OneOf, Within
    from gim.envs.base import make, task, tasks
    from gim.mdp.gymnasium_env import TabularEnv
else:
    __getattr__, __dir__ = lazy(__name__)

__all__ = ["OneOf", "TabularEnv", "Within", "make", "task", "tasks"]
