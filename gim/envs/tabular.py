"""Any registered task as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

from gim.envs.base import tasks
from gim.mdp.gymnasium_env import TabularEnv


class TaskEnv(TabularEnv):
    """A registered task, made by Gymnasium: `gymnasium.make("gim/RiverSwim-v0", length=10)`."""

    def __init__(self, task: str, render_mode: str | None = None, **params: Any) -> None:
        super().__init__(tasks.make(task, **params), render_mode)
