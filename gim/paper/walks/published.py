"""The walk of the code that the authors published, which is not quite Algorithm 1.

Both searches start from a random action. In a state that is not rho-known that action may be known
already, and then it stays; of actions tried equally often the one known in fewer states is taken.
In a rho-known state an action is scored by how often the same action is unknown where it leads, not
by whether that state is not rho-known. A pair is known at m samples; one more is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gim._compile.jit import hot
from gim.mdp.sampling import pick
from gim.model.counts import Counts, Known, seen
from gim.paper.walks.balanced import observe
from gim.paper.walks.base import Exploration, Options, at_random, new_options


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
def visits(counts: Any, known: Any, s: int, a: int) -> int:
    """n(s,a), which is not counted beyond m + 1."""
    return min(counts.n[s, a], known.m[0] + 1)


@hot
def rarer(known: Any, a: int, b: int) -> bool:
    """Whether action a is known in fewer states than b."""
    more = 0
    for s in range(known.mask.shape[0]):
        more += int(known.mask[s, b]) - int(known.mask[s, a])
    return more > 0


@hot
def choose(walk: Any, counts: Any, known: Any, s: int, rng: Any) -> Any:
    """The published variant of Algorithm 1."""
    u = rng.random()
    if u < walk.beta[0]:
        return at_random(walk, s, u)
    best = pick(walk.actions, walk.n_actions, s, rng.random())
    for i in range(walk.n_actions[s]):
        a = walk.actions[s, i]
        if known.rho_known[s]:
            better = score(counts, known, s, a) > score(counts, known, s, best)
        else:
            more = visits(counts, known, s, a) - visits(counts, known, s, best)
            better = (more > 0 and not known.mask[s, a]) or (more == 0 and rarer(known, a, best))
        if better:
            best = a
    return best


@dataclass(frozen=True)
class Published(Exploration):
    """The authors' variant of curious walking, for comparison."""

    choose = staticmethod(choose)
    observe = staticmethod(observe)

    def start(self, counts: Counts, known: Known, beta: float, rng: np.random.Generator) -> Options:
        """List the actions."""
        return new_options(known.available, beta)
