"""Expectation-maximisation over types of states and explanations, compiled.

What an action does in a state of type k backs off to what it does anywhere: the chance of an
explanation e is (mass[k, e] + kappa chance[e]) / (n[k] + kappa) in the context of its pair. States
take their types in proportion to how likely these make all that was counted there.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gim.jit import hot, seldom


def settle(
    seen: Any, mass: Any, n: Any, share: Any, kappa: float, iterations: int, enough: float
) -> Any:
    """EM from these counts and shares: those that follow, chances of types, of observations.

    `seen` is (states, first, begin, weight, visits, context, cell, chance) of `state_types.Data`.
    """
    gamma, held = np.empty((seen[0].size - 1, share.size)), np.empty(seen[3].size)
    one, other, share = (
        (mass.copy(), n.copy()),
        (np.empty(mass.shape), np.empty(n.shape)),
        share.copy(),
    )
    steps = _settle(seen, one, other, share, kappa, iterations, enough, gamma, held)
    mass, n = other if steps % 2 else one
    return mass, n, share, gamma, held


@seldom(lambda seen, one, other, share, *_: 5 * share.size * seen[-1].size, by_views=True)
def _settle(
    seen: Any,
    one: Any,
    other: Any,
    share: Any,
    kappa: float,
    iterations: int,
    enough: float,
    gamma: Any,
    held: Any,
) -> int:
    """EM, each step from one (mass, n) into the other; the number of steps.

    What allocates takes long to compile, so that it gets all it works in.
    """
    states, weight, K, before = seen[0], seen[3], len(share), -np.inf
    (mass, n), (old_mass, old_n) = one, other
    for i in range(iterations):
        old_mass, mass, old_n, n = mass, old_mass, n, old_n
        step(seen, old_mass, old_n, share, kappa, gamma, held, mass, n)
        likelihood = 0.0
        for j in range(len(weight)):
            likelihood += weight[j] * math.log(held[j])
        for k in range(K):
            share[k] = 1.0
            for z in range(len(states) - 1):
                share[k] += gamma[z, k]
            share[k] /= len(states) - 1 + K
        if likelihood < before + enough:
            return i + 1
        before = likelihood
    return iterations


@hot
def explained(seen: Any, i: int, c: int, k: int, mass: Any, n: Any, kappa: float) -> float:
    """The chance of an observation in a context, if its state is of type k."""
    begin, cell, chance, total = seen[2], seen[6], seen[7], 0.0
    for e in range(begin[i], begin[i + 1]):
        total += mass[k, cell[e]] + kappa * chance[e]
    return total / (n[k, c] + kappa)


@hot
def step(
    seen: Any,
    mass: Any,
    n: Any,
    share: Any,
    kappa: float,
    gamma: Any,
    held: Any,
    new_mass: Any,
    new_n: Any,
) -> None:
    """One step of EM: chances of types, of observations, and the counts that follow."""
    states, first, begin, weight, visits, context, cell, chance = seen
    K = len(share)
    for k in range(K):
        for c in range(mass.shape[1]):
            new_mass[k, c] = 0.0
        for c in range(n.shape[1]):
            new_n[k, c] = 0.0
    for z in range(len(states) - 1):
        for k in range(K):
            gamma[z, k] = math.log(share[k])
            for p in range(states[z], states[z + 1]):
                for i in range(first[p], first[p + 1]):
                    at = explained(seen, i, context[p], k, mass, n, kappa)
                    gamma[z, k] += weight[i] * math.log(at)
        most, total = -np.inf, 0.0
        for k in range(K):
            most = max(most, gamma[z, k])
        for k in range(K):
            gamma[z, k] = math.exp(gamma[z, k] - most)
            total += gamma[z, k]
        for k in range(K):
            gamma[z, k] /= total
        for p in range(states[z], states[z + 1]):
            for k in range(K):
                new_n[k, context[p]] += gamma[z, k] * visits[p]
            for i in range(first[p], first[p + 1]):
                held[i] = 0.0
                for k in range(K):
                    at = explained(seen, i, context[p], k, mass, n, kappa)
                    held[i] += gamma[z, k] * at
                    scale = gamma[z, k] * weight[i] / (at * (n[k, context[p]] + kappa))
                    for e in range(begin[i], begin[i + 1]):
                        new_mass[k, cell[e]] += scale * (mass[k, cell[e]] + kappa * chance[e])
