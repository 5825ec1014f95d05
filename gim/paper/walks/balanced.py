"""Balanced wandering (Kearns and Singh, 2002), the walk of E3 and RMax: the least tried first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gim._compile.jit import hot
from gim.mdp.sampling import pick
from gim.model.counts import Counts, Known
from gim.paper.walks.base import NOTHING, Choices, Exploration, new_choices


@hot
def choose(walk: Any, counts: Any, known: Any, s: int, rng: Any) -> Any:
    """argmin n(s,a); with probability beta any action."""
    beta = walk.beta[0]
    if beta > 0:
        u = rng.random()
        if u < beta:
            return pick(walk.actions, walk.n_actions, s, u / beta)
    return least_tried(walk, counts, s)


@hot
def observe(walk: Any, counts: Any, known: Any, s: int, a: int, t: int, news: int) -> int:
    """Nothing to keep."""
    return NOTHING


@hot
def least_tried(choices: Any, counts: Any, s: int) -> int:
    """argmin n(s,a) over the actions of a state; the lower rank wins a tie."""
    best = choices.actions[s, 0]
    for i in range(1, choices.n_actions[s]):
        a = choices.actions[s, i]
        less = counts.n[s, best] - counts.n[s, a]
        if less > 0 or (less == 0 and choices.rank[s, a] < choices.rank[s, best]):
            best = a
    return best


@dataclass(frozen=True)
class Balanced(Exploration):
    """The action tried least in the current state; it never looks where that leads."""

    choose = staticmethod(choose)
    observe = staticmethod(observe)

    def start(self, counts: Counts, known: Known, beta: float, rng: np.random.Generator) -> Choices:
        """List the actions and draw the order of ties."""
        return new_choices(known.available, beta, rng)
