"""Latent outcomes by expectation-maximisation, in contexts that back off to coarser ones.

The chance of outcome o in a context c of level l is a shrunken share of what was counted there,

    pi_c(o) = (E_c(o) + kappa_l pi_parent(o)) / (n_c + kappa_l),

down to a base measure below the root. What was counted, E_c(o), is not seen: an observation (a pair
reached a value) may have several explanations, and each takes its share of the observation in
proportion to pi (Dempster, Laird and Rubin, 1977). The shares of a pair are judged *without* the
pair itself: what it has put into its contexts is taken out before pi is formed. So a pair cannot
talk itself into an explanation, and the chance that the others give to what it did is at hand for
every pair at once: the held-out likelihood of leaving out one pair costs no more than one pass.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gim.inference.structure.explanations import Explained, Weights
from gim.inference.structure.triples import Floats, Ints
from gim.jit import entry

ITERATIONS = 50  # at the most
ENOUGH = 0.05  # nats that an iteration must bring


class Posterior(NamedTuple):
    """What EM found."""

    share: Floats  # [E] of each explanation in its observation
    mass: Floats  # [cells of all levels] E_c(o), level after level
    held: Floats  # [I] chance of each observation by all pairs but its own


class Stack(NamedTuple):
    """The levels of a chain of contexts, numbered through, and what counts count there."""

    context: Ints  # [L, P]
    cell: Ints  # [L, E]
    n: Floats  # [contexts of all levels] visits
    cells: int  # of all levels
    weights: Weights


def stacked(
    data: Explained, chain: tuple[tuple[int, ...], ...], most: float, without: int | None = None
) -> Stack:
    """The levels of a chain one after the other; no pair counts for more than `most` visits.

    Pairs of the fold `without` do not count.
    """
    levels, weights = [data.level(features) for features in chain], data.weights(most, without)
    contexts = np.cumsum([0] + [len(level.keys) for level in levels])
    cells = np.cumsum([0] + [len(level.cells) for level in levels])
    return Stack(
        np.array([level.context + start for level, start in zip(levels, contexts, strict=False)]),
        np.array([level.cell + start for level, start in zip(levels, cells, strict=False)]),
        np.concatenate(
            [np.bincount(level.context, weights.visits, len(level.keys)) for level in levels]
        ),
        int(cells[-1]),
        weights,
    )


def fit(
    data: Explained,
    stack: Stack,
    kappa: Floats,
    share: Floats | None = None,
    iterations: int = ITERATIONS,
    enough: float = ENOUGH,
) -> Posterior:
    """EM from the shares given, or from those of the base measure."""
    if share is None:
        share = data.base / np.bincount(data.of, data.base, len(data.slot))[data.of]
    single = len(share) == len(data.slot)  # one explanation each: nothing is latent
    mass = count(stack.cell, data.begin, stack.weights.of, share, stack.cells)
    before = -np.inf
    for _ in range(0 if single else iterations):
        held, share = judge(data, stack, kappa, share, mass)
        mass = count(stack.cell, data.begin, stack.weights.of, share, stack.cells)
        likelihood = float(stack.weights.of @ np.log(held))
        if likelihood < before + enough:
            break
        before = likelihood
    return Posterior(share, mass, judge(data, stack, kappa, share, mass)[0])


def judge(
    data: Explained, stack: Stack, kappa: Floats, share: Floats, mass: Floats
) -> tuple[Floats, Floats]:
    """Held-out chances of observations [I], and the shares [E] that follow."""
    return without_own(
        data.first, data.begin, *stack.weights, data.base,
        stack.context, stack.cell, stack.n, kappa, share, mass,
    )  # fmt: skip


@entry
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
    share: Any,
    mass: Any,
) -> Any:
    """The chance of each observation without its own pair [I], and shares by it [E]."""
    held, fresh = np.zeros(weight.size), np.empty(share.size)
    L = kappa.size
    for p in range(visits.size):
        for i in range(first[p], first[p + 1]):
            total = 0.0
            for e in range(begin[i], begin[i + 1]):
                own, chance = share[e] * weight[i], base[e]
                for level in range(L):
                    others = max(mass[cell[level, e]] - own, 0.0)
                    rest = max(n[context[level, p]] - visits[p], 0.0) + kappa[level]
                    chance = (others + kappa[level] * chance) / rest
                fresh[e] = chance
                total += chance
            held[i] = total
            for e in range(begin[i], begin[i + 1]):
                fresh[e] /= total
    return held, fresh


@entry
def count(cell: Any, begin: Any, weight: Any, share: Any, cells: int) -> Any:
    """E_c(o) of all levels, [cells]."""
    mass = np.zeros(cells)
    for i in range(weight.size):
        for e in range(begin[i], begin[i + 1]):
            for level in range(cell.shape[0]):
                mass[cell[level, e]] += share[e] * weight[i]
    return mass
