"""Uniform random walking: the control for every other walk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gim._compile.jit import hot
from gim.mdp.sampling import pick
from gim.model.counts import Counts, Known
from gim.paper.walks.balanced import observe
from gim.paper.walks.base import Choices, Exploration, new_choices


@hot
def choose(walk: Any, counts: Any, known: Any, s: int, rng: Any) -> Any:
    """Any available action."""
    return pick(walk.actions, walk.n_actions, s, rng.random())


@dataclass(frozen=True)
class Uniform(Exploration):
    """Any available action, with equal probability."""

    choose = staticmethod(choose)
    observe = staticmethod(observe)

    def start(self, counts: Counts, known: Known, beta: float, rng: np.random.Generator) -> Choices:
        """List the actions."""
        return new_choices(known.available, beta, rng)
