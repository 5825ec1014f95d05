"""Latent outcomes by expectation-maximisation, in contexts that back off to coarser ones.

The chance of outcome o in a context c of level l is a shrunken share of what was counted there,

    pi_c(o) = (E_c(o) + kappa_l pi_parent(o)) / (n_c + kappa_l),

down to a base measure below the root. What was counted, E_c(o), is not seen: an observation (a pair
reached a value) may have several explanations, and each takes its share of the observation in
proportion to pi (Dempster, Laird and Rubin, 1977). The shares of a pair are judged *without* the
pair itself: what it has put into its contexts is taken out before pi is formed, so that no pair can
talk itself into an explanation. Pairs that count for nothing are thereby judged by all others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gim.inference.structure.explanations import Chain, Explained, Weights
from gim.inference.structure.triples import Floats, Ints, summed
from gim.jit import seldom

ITERATIONS = 50  # at the most
ENOUGH = 0.05  # nats that an iteration must bring
PER_VISIT = 1e-5  # or so many for each visit, if that is more


class Posterior(NamedTuple):
    """What EM found."""

    share: Floats  # [E] of each explanation in its observation
    mass: Floats  # [cells] E_c(o)


class Stack(NamedTuple):
    """The levels of a chain of contexts, numbered through, and what counts count there."""

    context: Ints  # [P, L]
    cell: Ints  # [E, L]
    n: Floats  # [contexts] visits
    cells: int
    weights: Weights
    base: Floats  # [E] chance of each explanation before anything is known of contexts


def stacked(data: Explained, chain: Chain, most: float, without: int | None = None) -> Stack:
    """The levels of a chain one after the other; no pair counts for more than `most` visits.

    Pairs of the fold `without` do not count.
    """
    levels, weights = [data.level(features) for features in chain], data.weights(most, without)
    contexts = np.cumsum([0] + [len(level.keys) for level in levels])
    cells = np.cumsum([0] + [len(level.cells) for level in levels])
    context = np.column_stack([level.context for level in levels]) + contexts[:-1]
    cell = np.column_stack([level.cell for level in levels]) + cells[:-1]
    n = [np.bincount(level.context, weights.visits, len(level.keys)) for level in levels]
    base = data.chances(without)[data.outcome]
    return Stack(context, cell, np.concatenate(n), int(cells[-1]), weights, base)


def fit(
    data: Explained,
    stack: Stack,
    kappa: Floats,
    share: Floats | None = None,
    iterations: int = ITERATIONS,
    enough: float | None = None,
) -> Posterior:
    """EM from the shares given, or from those of the base measure."""
    if share is None:
        share = stack.base / summed(data.of, stack.base, len(data.slot))[data.of]
    weight = stack.weights.of
    mass = count(stack.cell, data.begin, weight, share, stack.cells)
    if len(share) == len(data.slot):  # one explanation each: nothing is latent
        return Posterior(share, mass)
    enough = max(ENOUGH if enough is None else enough, PER_VISIT * float(weight.sum()))
    before = -np.inf
    for _ in range(iterations):
        held, share = judge(data, stack, kappa, kappa[-1:], share, mass)
        mass = count(stack.cell, data.begin, weight, share, stack.cells)
        likelihood = float(weight @ np.log(held[0]))
        if likelihood < before + enough:
            break
        before = likelihood
    return Posterior(share, mass)


def judge(
    data: Explained, stack: Stack, kappa: Floats, last: Floats, share: Floats, mass: Floats
) -> tuple[Floats, Floats]:
    """Chances of observations by all pairs but their own, and the shares [E] that follow.

    Args:
        data, stack, share, mass: as above.
        kappa: [L] shrinkage of each level.
        last: [Q] shrinkages of the last level, each tried in turn: held is [Q, I].
    """
    return without_own(
        data.first, data.begin, *stack.weights, stack.base, stack.context, stack.cell, stack.n,
        kappa, last, share, mass,
    )  # fmt: skip


@seldom(lambda first, begin, weight, visits, base, context, cell, *_: 4 * cell.size)
def without_own(
    first: Any,
    begin: Any,
    weight: Any,
    visits: Any,
    base: Any,
    context: Any,
    cell: Any,
    n: Any,
    kappa: Any,
    last: Any,
    share: Any,
    mass: Any,
) -> Any:
    """The chance of each observation without its own pair [Q, I], and shares by the first [E]."""
    held, fresh = np.zeros((last.size, weight.size)), np.empty(share.size)
    L = kappa.size - 1
    for p in range(visits.size):
        rest = max(n[context[p, L]] - visits[p], 0.0)
        for i in range(first[p], first[p + 1]):
            for e in range(begin[i], begin[i + 1]):
                own, chance = share[e] * weight[i], base[e]
                for level in range(L):
                    others = max(mass[cell[e, level]] - own, 0.0) + kappa[level] * chance
                    chance = others / (max(n[context[p, level]] - visits[p], 0.0) + kappa[level])
                others = max(mass[cell[e, L]] - own, 0.0)
                for k in range(last.size):
                    held[k, i] += (others + last[k] * chance) / (rest + last[k])
                fresh[e] = (others + last[0] * chance) / (rest + last[0])
            for e in range(begin[i], begin[i + 1]):
                fresh[e] /= held[0, i]
    return held, fresh


@seldom(lambda cell, *_: cell.size)
def count(cell: Any, begin: Any, weight: Any, share: Any, cells: int) -> Any:
    """E_c(o) of all levels, [cells]."""
    mass = np.zeros(cells)
    for i in range(weight.size):
        for e in range(begin[i], begin[i + 1]):
            for level in range(cell.shape[1]):
                mass[cell[e, level]] += share[e] * weight[i]
    return mass
