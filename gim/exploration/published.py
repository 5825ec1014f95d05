"""The walk of the code that the authors published, which is not quite Algorithm 1.

In a state that is not rho-known the search for the most tried unknown action starts from a random
action, which may be known already and then stays. In a rho-known state an action is scored by how
often the same action is unknown where it leads, not by whether that state is not rho-known; that
search starts from a random action too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gim.exploration.balanced import observe
from gim.exploration.base import Choices, Exploration, new_choices
from gim.jit import hot
from gim.model.counts import Counts, Known, seen
from gim.sampling import pick


@hot
def score(counts: Any, known: Any, s: int, a: int) -> float:
    """Share of the visits of (s, a) that led to an s' where a is unknown."""
    if counts.n[s, a] == 0:
        return 0.0
    hits = 0.0
    for t in range(counts.n.shape[0]):
        if not known.mask[t, a]:
            hits += seen(counts, s, a, t)
    return hits / counts.n[s, a]


@hot
def choose(walk: Any, counts: Any, known: Any, s: int, rng: Any) -> Any:
    """The published variant of Algorithm 1."""
    u, beta = rng.random(), walk.beta[0]
    if u < beta:
        return pick(walk.actions, walk.n_actions, s, u / beta)
    best = pick(walk.actions, walk.n_actions, s, rng.random())
    for i in range(walk.n_actions[s]):
        a = walk.actions[s, i]
        if not known.rho_known[s]:
            better = not known.mask[s, a] and counts.n[s, a] > counts.n[s, best]
        else:
            better = score(counts, known, s, a) > score(counts, known, s, best)
        if better:
            best = a
    return best


@dataclass(frozen=True)
class Published(Exploration):
    """The authors' variant of curious walking, for comparison."""

    choose = staticmethod(choose)
    observe = staticmethod(observe)

    def start(self, counts: Counts, known: Known, beta: float, rng: np.random.Generator) -> Choices:
        """List the actions."""
        return new_choices(known.available, beta, rng)
