"""Which variables change together: blocks of them, found by held-out likelihood.

Every variable begins as a block of its own, with its own parents: a dynamic Bayesian network (Dean
and Kanazawa, 1989). Two blocks become one where their changes are explained better together, as
those of row and column are where a step goes along one of the two. Only blocks are tried together
whose errors are correlated.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from gim.analogy.structure.block import Block, Form
from gim.analogy.structure.explanations import Explained
from gim.analogy.structure.product import Product
from gim.analogy.structure.search import MARGIN, contexts, logs, moved
from gim.analogy.structure.triples import OFTEN, Floats, Triples, summed

SEARCHED = 20_000  # triples that a search looks at, about
WHOLE = 3  # limit: variables up to which all of them as one block are tried in any case
ALIKE = 4.0  # standard errors of a correlation that is none by chance


class Part(NamedTuple):
    """A block in the search."""

    block: Block
    held: Floats  # [triples] chance of its part of each triple, by the other pairs
    errors: Floats  # [2 for each variable, triples] of its changes, by the other pairs

    @property
    def variables(self) -> tuple[int, ...]:
        """Of the block."""
        return self.block.form.move.variables


def by_variables(triples: Triples, form: tuple[Form, ...] | None = None) -> Product:
    """Find the structure of the variables, or take that of `form`, and fit it to all counts."""
    forms = search(triples.thinned(SEARCHED))[0] if form is None else form
    return Product(triples, [Block(Explained(triples, each.move), each) for each in forms])


def by_numbers(triples: Triples) -> Product:
    """The same where nothing is known of what states are made of: their numbers are coordinates.

    A queue or a stock is its own number. Whoever numbers cells does so row by row: the commonest
    step beyond the next number leads to another row, and numbers are rows and columns of that size
    if held-out pairs are likelier by them.
    """
    far = np.abs(triples.pair // triples.A - triples.indices)
    columns = int(np.bincount(far * (far > 1), triples.counts * (far > 1), 1).argmax())
    forms, plain = search(triples.thinned(SEARCHED))
    if columns:
        cells = triples.with_codes(np.column_stack(np.divmod(np.arange(triples.S), columns)))
        other, better = search(cells.thinned(SEARCHED))
        gain = better - plain
        if gain.sum() > MARGIN + np.sqrt(gain @ gain):
            found = by_variables(cells, other)
            found.read = True
            return found
    return by_variables(triples, forms)


def search(triples: Triples) -> tuple[tuple[Form, ...], Floats]:
    """The blocks and their forms that explain held-out pairs best; log-likelihoods by pair."""
    parts = [part_of(triples, (v,)) for v in range(triples.k)]
    best = total(triples, parts)
    if 1 < triples.k <= WHOLE:
        whole = [part_of(triples, tuple(range(triples.k)))]
        if (score := total(triples, whole)).sum() > best.sum():
            parts, best = whole, score
    tried: dict[tuple[int, ...], Part] = {}
    while len(parts) > 1:
        offers = []
        for one, other in combinations(parts, 2):
            if correlation(triples, one, other) < ALIKE:
                continue
            variables = tuple(sorted(one.variables + other.variables))
            if variables not in tried:
                tried[variables] = part_of(triples, variables)
            rest = [part for part in parts if part is not one and part is not other]
            offers.append([*rest, tried[variables]])
        scores = [total(triples, offer) for offer in offers]
        if max((score.sum() for score in scores), default=-np.inf) < best.sum() + MARGIN:
            break
        which = int(np.argmax([score.sum() for score in scores]))
        best, parts = scores[which], offers[which]
    return tuple(part.block.form for part in parts), best


def part_of(triples: Triples, variables: tuple[int, ...]) -> Part:
    """The best form of a block."""
    data, found = moved(triples, variables)
    found = contexts(data, found)
    block = Block(data, found.form)
    kept = triples.counts > 0
    slot = np.searchsorted(data.pairs, triples.pair[kept])
    start, value, chance = block.distribution(data.pairs)
    of = np.repeat(np.arange(len(data.pairs)), np.diff(start))
    own = data.values.of_state[data.pairs // triples.A]
    now = data.values.of_state[triples.indices[kept]]
    stays = summed(of, chance * (value == own[of]), len(own))
    errors = []
    for code in data.values.codes.T:
        mean = summed(of, chance * code[value], len(own))
        errors += [code[now] - mean[slot], (code[now] == code[own[slot]]) - stays[slot]]
    return Part(block, found.held[data.seen.of_triple], np.array(errors))


def correlation(triples: Triples, one: Part, other: Part) -> float:
    """The largest correlation of errors of two blocks, in standard errors."""
    weight = weights(triples)
    spread = [np.sqrt(np.maximum(part.errors**2 @ weight, 1e-12)) for part in (one, other)]
    cross = (one.errors * weight) @ other.errors.T / np.outer(*spread)
    return float(np.abs(cross).max() * np.sqrt(weight.sum()))


def total(triples: Triples, parts: list[Part]) -> Floats:
    """Log-likelihoods by pair [S*A] of blocks together."""
    held = np.prod([part.held for part in parts], axis=0)
    pair = triples.pair[triples.counts > 0]
    return logs(held, weights(triples), pair, triples.n.size, triples.S)


def weights(triples: Triples) -> Floats:
    """Of the triples that have counts."""
    kept = triples.counts > 0
    n = triples.n.ravel()[triples.pair[kept]]
    return triples.counts[kept] / (1.0 + n / OFTEN)
