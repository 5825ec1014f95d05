"""Expectation-maximisation over types of states and explanations, compiled.

What an action does in a state of type k backs off to what it does anywhere: the chance of an
explanation e is (mass[k, e] + kappa chance[e]) / (n[k] + kappa) in the context of its pair. States
take their types in proportion to how likely these make all that was counted there.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gim.inference.structure.triples import Floats, Ints
from gim.jit import hot, seldom


class Observed(NamedTuple):
    """What was counted, state by state, and what may explain it."""

    states: Ints  # [Z + 1] where the pairs of each state begin
    first: Ints  # [P + 1] where the observations of each pair begin
    begin: Ints  # [I + 1] where the explanations of each observation begin
    weight: Floats  # [I] of each observation
    visits: Floats  # [P] of each pair
    context: Ints  # [P] of each pair: its action
    cell: Ints  # [E] of each explanation: its action and outcome
    chance: Floats  # [E] of each explanation, anywhere


def settle(
    seen: Observed, mass: Any, n: Any, share: Any, kappa: float, iterations: int, enough: float
) -> Any:
    """EM from these counts and shares: those that follow, chances of types, of observations."""
    gamma, held = np.empty((seen.states.size - 1, share.size)), np.empty(seen.weight.size)
    one, other, share = (
        (mass.copy(), n.copy()),
        (np.empty(mass.shape), np.empty(n.shape)),
        share.copy(),
    )
    steps = _settle(seen, one, other, share, kappa, iterations, enough, gamma, held)
    mass, n = other if steps % 2 else one
    return mass, n, share, gamma, held


@seldom(lambda seen, one, other, share, *_: 5 * share.size * seen.chance.size, by_views=True)
def _settle(
    seen: Observed,
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
    states, weight, K, before = seen.states, seen.weight, len(share), -np.inf
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
def explained(seen: Observed, i: int, c: int, k: int, mass: Any, n: Any, kappa: float) -> float:
    """The chance of an observation in a context, if its state is of type k."""
    begin, cell, chance, total = seen.begin, seen.cell, seen.chance, 0.0
    for e in range(begin[i], begin[i + 1]):
        total += mass[k, cell[e]] + kappa * chance[e]
    return total / (n[k, c] + kappa)


@hot
def step(
    seen: Observed,
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
    states, first, begin, weight = seen.states, seen.first, seen.begin, seen.weight
    visits, context, cell, chance = seen.visits, seen.context, seen.cell, seen.chance
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
