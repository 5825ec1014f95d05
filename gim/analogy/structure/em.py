"""Latent outcomes by expectation-maximisation, in contexts that back off to coarser ones.

The chance of outcome o in a context c of level l is a shrunken share of what was counted there,

    pi_c(o) = (E_c(o) + kappa_l pi_parent(o)) / (n_c + kappa_l),

down to a base measure below the root. What was counted, E_c(o), is not seen: an observation (a pair
reached a value) may have several explanations, and each takes its share of the observation in
proportion to pi (Dempster, Laird and Rubin, 1977). The shares of a pair are judged *without* the
pair itself: what it has put into its contexts is taken out before pi is formed, so that no pair can
talk itself into an explanation. Pairs that count for nothing are thereby judged by all others.

Shares are variational (Beal, 2003): in proportion to exp(digamma(x)), x the visits behind an
explanation, not to x. One outcome that explains all that was met thereby wins over several of which
each explains a part, where the likelihood is as high for any mixture of them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gim._compile.jit import hot, seldom
from gim.analogy.structure.explanations import Chain, Explained, Weights
from gim.analogy.structure.triples import Floats, Ints

ITERATIONS = 50  # limit: of EM
ENOUGH = 0.002  # limit: by which the sum of squared shares must move, for each visit
NONE = np.array([-1])  # no fold is left out


class Observed(NamedTuple):
    """What was counted, pair by pair, and where its explanations are counted."""

    first: Ints  # [P + 1] where the observations of each pair begin
    begin: Ints  # [I + 1] where the explanations of each observation begin
    weight: Floats  # [I] of each observation
    visits: Floats  # [P] of each pair
    context: Ints  # [P, L] of each pair, by level
    cell: Ints  # [E, L] of each explanation, by level: its context and outcome


class Room(NamedTuple):
    """What EM fills, and works in."""

    share: Floats  # [folds, E] of each explanation in its observation, by fits without a fold
    held: Floats  # [Q, I] chances of observations that were left out; zeros
    n: Floats  # [contexts] visits
    mass: Floats  # [cells] E_c(o)
    scale: Floats  # [L] 1 / (n_c + kappa) of the contexts of a pair


class Posterior(NamedTuple):
    """What EM found."""

    share: Floats  # [E] of each explanation in its observation
    mass: Floats  # [cells] E_c(o)


class Stack:
    """The levels of a chain of contexts, numbered through, and what counts count there.

    Args:
        data: what was counted.
        chain: features of the contexts of each level.
        most: visits that a pair counts for at the most.
        without: a fold whose pairs do not count.
    """

    def __init__(
        self, data: Explained, chain: Chain, most: float, without: int | None = None
    ) -> None:
        self.data, self.without = data, without
        self.weights: Weights = data.weights(most, without)
        levels = [data.level(features) for features in chain]
        self.context: Ints = np.empty((len(data.pairs), len(levels)), np.int64)  # [P, L]
        self.cell: Ints = np.empty((len(data.outcome), len(levels)), np.int64)  # [E, L]
        self.contexts = self.cells = 0
        for i, level in enumerate(levels):
            np.add(level.context, self.contexts, out=self.context[:, i])
            np.add(level.cell, self.cells, out=self.cell[:, i])
            self.contexts += len(level.keys)
            self.cells += len(level.cells)

    @cached_property
    def n(self) -> Floats:
        """Visits of each context, [contexts]."""
        visits = np.repeat(self.weights.visits, self.context.shape[1])
        return np.bincount(self.context.ravel(), visits, self.contexts).astype(np.float64)

    @cached_property
    def base(self) -> Floats:
        """Chance of each explanation before anything is known of contexts, [E]."""
        return self.data.chances(self.without)[self.data.outcome]


def fit(
    data: Explained,
    stack: Stack,
    kappa: Floats,
    iterations: int = ITERATIONS,
    enough: float = ENOUGH,
) -> Posterior:
    """EM from the shares of the base measure."""
    base = stack.base[None]
    _, share, mass = _run(data, stack, NONE, base, kappa, kappa[:0], base, iterations, enough)
    return Posterior(share[0], mass)


def held_out(
    data: Explained,
    stack: Stack,
    kappa: Floats,
    last: Floats,
    shares: Floats | None = None,
    iterations: int = ITERATIONS,
    folds: int | None = None,
) -> tuple[Floats, Floats]:
    """Chances of observations by fits without their fold, and the shares of each fit.

    Args:
        data: what was counted.
        stack: a chain of contexts, with the counts of all folds.
        kappa: [L] shrinkage of each level in the fits.
        last: [Q] shrinkages of the last level by which chances are said, each in turn.
        shares: [folds, E] to go on from; those of the base measure if None.
        iterations: at the most.
        folds: the first so many only; all if None.

    Returns:
        [Q, I], 0 for folds that were left out, and [folds, E].
    """
    out = np.arange(data.folds if folds is None else folds)
    base = data.bases[: len(out)]
    start = base if shares is None else shares[: len(out)]
    return _run(data, stack, out, base, kappa, last, start, iterations, ENOUGH)[:2]


def _run(
    data: Explained,
    stack: Stack,
    out: Ints,
    base: Floats,
    kappa: Floats,
    last: Floats,
    start: Floats,
    iterations: int,
    enough: float,
) -> Any:
    latent = len(data.of) > len(data.slot)  # else each observation has one explanation
    of, visits = stack.weights
    seen = Observed(data.first, data.begin, of, visits, stack.context, stack.cell)
    given = base, start, kappa, last, iterations * latent, enough
    return em(out, data.fold, seen, stack.contexts, stack.cells, *given)


def chances(data: Explained, stack: Stack, kappa: Floats, found: Posterior) -> Floats:
    """Chance of each explanation by all pairs but its own, [E]."""
    pair = data.slot[data.of]
    own, chance = found.share * stack.weights.of[data.of], stack.base
    for level, shrinkage in enumerate(kappa):
        mass = np.maximum(found.mass[stack.cell[:, level]] - own, 0.0)
        n = np.maximum(stack.n[stack.context[:, level]] - stack.weights.visits, 0.0)
        chance = (mass + shrinkage * chance) / (n[pair] + shrinkage)
    return chance


@hot
def shrink(n: Any, context: Any, p: int, own: float, kappa: Any, scale: Any) -> None:
    """1 / (n_c + kappa) of the contexts of a pair, less its own visits."""
    for level in range(len(kappa)):
        scale[level] = 1.0 / (max(n[context[p, level]] - own, 0.0) + kappa[level])


@hot
def above(e: int, own: float, chance: float, cell: Any, kappa: Any, scale: Any, mass: Any) -> float:
    """The chance of an explanation by all levels but the last, less what its own pair counts."""
    for level in range(len(kappa) - 1):
        others = max(mass[cell[e, level]] - own, 0.0)
        chance = (others + kappa[level] * chance) * scale[level]
    return chance


@hot
def normalise(begin: Any, i: int, start: Any, share: Any, f: int) -> None:
    """Shares of the explanations of an observation."""
    total = 0.0
    for e in range(begin[i], begin[i + 1]):
        total += start[f, e]
    for e in range(begin[i], begin[i + 1]):
        share[f, e] = start[f, e] / total


@hot
def explain(
    seen: Observed, i: int, base: Any, kappa: Any, scale: Any, mass: Any, share: Any, f: int
) -> float:
    """The expectation: new shares of an observation; the sum of their squares."""
    begin, weight, cell = seen.begin, seen.weight, seen.cell
    L, squares = len(kappa) - 1, 0.0
    for e in range(begin[i], begin[i + 1]):
        own = share[f, e] * weight[i]
        chance = above(e, own, base[f, e], cell, kappa, scale, mass)
        x = max(mass[cell[e, L]] - own, 0.0) + kappa[L] * chance
        share[f, e] = x * x / (x + 0.5)  # exp(digamma(x)), about
    normalise(begin, i, share, share, f)
    for e in range(begin[i], begin[i + 1]):
        squares += share[f, e] * share[f, e]
    return squares


@hot
def count(seen: Observed, fold: Any, out: int, share: Any, f: int, mass: Any) -> None:
    """The maximisation: E_c(o) of all levels, [cells], without the pairs of a fold."""
    first, begin, weight, cell = seen.first, seen.begin, seen.weight, seen.cell
    for c in range(len(mass)):
        mass[c] = 0.0
    for p in range(len(fold)):
        if fold[p] != out:
            for i in range(first[p], first[p + 1]):
                for e in range(begin[i], begin[i + 1]):
                    x = share[f, e] * weight[i]
                    for level in range(cell.shape[1]):
                        mass[cell[e, level]] += x


@hot
def judge(
    seen: Observed,
    i: int,
    base: Any,
    f: int,
    kappa: Any,
    last: Any,
    scale: Any,
    rest: float,
    mass: Any,
    held: Any,
) -> None:
    """The chance of an observation that was left out, by each shrinkage of the last level."""
    begin, cell = seen.begin, seen.cell
    for e in range(begin[i], begin[i + 1]):
        chance = above(e, 0.0, base[f, e], cell, kappa, scale, mass)
        for k in range(len(last)):
            others = mass[cell[e, len(kappa) - 1]] + last[k] * chance
            held[k, i] += others / (rest + last[k])


def em(
    out: Any,
    fold: Any,
    seen: Observed,
    contexts: int,
    cells: int,
    base: Any,
    start: Any,
    kappa: Any,
    last: Any,
    iterations: int,
    enough: float,
) -> Any:
    """Fits without the pairs of each fold in `out`, from the shares `start`, up to a factor.

    Returns chances of the observations of these folds [Q, I], shares [folds, E], and the counts of
    the last fit [cells].
    """
    room = Room(
        share=np.empty(start.shape),
        held=np.zeros((last.size, seen.weight.size)),
        n=np.empty(contexts),
        mass=np.empty(cells),
        scale=np.empty(kappa.size),
    )
    _em(out, fold, seen, base, start, kappa, last, iterations, enough, room)
    return room.held, room.share, room.mass


@seldom(lambda out, fold, seen, *_: 3 * out.size * seen.cell.size, by_views=True)
def _em(
    out: Any,
    fold: Any,
    seen: Observed,
    base: Any,
    start: Any,
    kappa: Any,
    last: Any,
    iterations: int,
    enough: float,
    room: Room,
) -> None:
    """`em`, with room for what it returns and works in: what allocates takes long to compile."""
    first, begin, weight = seen.first, seen.begin, seen.weight
    visits, context = seen.visits, seen.context
    share, held, n, mass, scale = room.share, room.held, room.n, room.mass, room.scale
    for f in range(len(out)):
        total, before = 0.0, 0.0
        for c in range(len(n)):
            n[c] = 0.0
        for p in range(len(fold)):
            if fold[p] != out[f]:
                total += visits[p]
                for level in range(len(kappa)):
                    n[context[p, level]] += visits[p]
        for i in range(len(weight)):
            normalise(begin, i, start, share, f)
        count(seen, fold, out[f], share, f, mass)
        for _ in range(iterations):
            squares = 0.0
            for p in range(len(fold)):
                if fold[p] != out[f]:
                    shrink(n, context, p, visits[p], kappa, scale)
                    for i in range(first[p], first[p + 1]):
                        squares += weight[i] * explain(seen, i, base, kappa, scale, mass, share, f)
            count(seen, fold, out[f], share, f, mass)
            if abs(squares - before) < enough * total:
                break
            before = squares
        for p in range(len(fold)):
            if fold[p] == out[f]:
                shrink(n, context, p, 0.0, kappa, scale)
                rest = n[context[p, len(kappa) - 1]]
                for i in range(first[p], first[p + 1]):
                    judge(seen, i, base, f, kappa, last, scale, rest, mass, held)
