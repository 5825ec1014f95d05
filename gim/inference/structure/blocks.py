"""Which variables change together: blocks of them, found by held-out likelihood.

Every variable begins as a block of its own, with its own parents: a dynamic Bayesian network (Dean
and Kanazawa, 1989). Two blocks become one where their changes are explained better together, as
those of row and column are where a step goes along one of the two; and all variables as one block
are tried besides.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from gim.inference.structure.block import Block, Form
from gim.inference.structure.em import fit, stacked
from gim.inference.structure.explanations import Explained
from gim.inference.structure.product import Product
from gim.inference.structure.search import FEW, MARGIN, Found, contexts, logs, moved
from gim.inference.structure.triples import Floats, Triples

SEARCHED = 100_000  # triples that a search looks at; more are thinned out by pairs


class Part(NamedTuple):
    """A block in the search."""

    data: Explained
    found: Found
    held: Floats  # [triples] chance of its part of each triple, by the other pairs


def fitted(triples: Triples, form: tuple[Form, ...] | None = None) -> Product:
    """Find the structure, or take that of `form`, and fit it to all counts."""
    forms = search(thinned(triples)) if form is None else form
    return Product(triples, [Block(Explained(triples, each.move), each) for each in forms])


def thinned(triples: Triples) -> Triples:
    """At most so many triples as a search looks at, whole pairs."""
    if len(triples.counts) <= SEARCHED:
        return triples
    keep = SEARCHED / len(triples.counts)
    drop = np.random.default_rng(len(triples.counts)).random(triples.n.shape) >= keep
    return triples.without(drop)


def search(triples: Triples) -> tuple[Form, ...]:
    """The blocks and their forms that explain held-out pairs best."""
    parts = [part_of(triples, (v,)) for v in range(triples.k)]
    best = total(triples, parts)
    if triples.k > 1:
        whole = [part_of(triples, tuple(range(triples.k)))]
        joint = total(triples, whole)
        parts, best = merged(triples, parts, best) if triples.k > 2 else (parts, best)
        if joint >= best:
            parts = whole
    return tuple(part.found.form for part in parts)


def merged(triples: Triples, parts: list[Part], best: float) -> tuple[list[Part], float]:
    """Join two blocks at a time while it pays."""
    tried: dict[tuple[int, ...], Part] = {}
    while len(parts) > 2:
        offers = []
        for one, other in combinations(range(len(parts)), 2):
            both = parts[one].data.move.variables + parts[other].data.move.variables
            variables = tuple(sorted(both))
            if variables not in tried:
                tried[variables] = part_of(triples, variables)
            rest = [part for i, part in enumerate(parts) if i not in (one, other)]
            offers.append([*rest, tried[variables]])
        scores = [total(triples, offer) for offer in offers]
        if max(scores) < best + MARGIN:
            break
        best, parts = max(scores), offers[int(np.argmax(scores))]
    return parts, best


def part_of(triples: Triples, variables: tuple[int, ...]) -> Part:
    """The best form of a block."""
    data, found = moved(triples, variables)
    found = contexts(data, found)
    stack = stacked(data, found.form.chain, found.form.most)
    posterior = fit(data, stack, np.array(found.form.kappa), found.share)
    return Part(data, found, posterior.held[data.of_triple])


def total(triples: Triples, parts: list[Part]) -> float:
    """The score of blocks together."""
    held = np.prod([part.held for part in parts], axis=0)
    kept = triples.counts > 0
    n = triples.n.ravel()[triples.pair[kept]]
    weight = triples.counts[kept] / (1.0 + n / FEW)
    return float(logs(held, weight, triples.pair[kept], triples.n.size, triples.S).sum())
