"""The tasks, one a file; importing this package registers them all with Gymnasium."""

from gim.envs.base import make, task, tasks
from gim.mdp.gymnasium_env import TabularEnv

__all__ = ["TabularEnv", "make", "task", "tasks"]

tasks.find()  # imports every file of this package, as Gymnasium must know the ids in advance
