"""Without variables: the numbering itself as coordinates.

Whoever numbers cells does it row by row, so that s // m and s % m are row and column for some m; a
queue or a stock is its own number. Every divisor of S is tried for m, by moves of the whole state;
the two that look best are searched in full, and must be better than the bare number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gim.analogy.structure.block import Block, Form
from gim.analogy.structure.blocks import SEARCHED, search
from gim.analogy.structure.explanations import Explained, Move
from gim.analogy.structure.product import Product
from gim.analogy.structure.search import MARGIN, Found, by_action
from gim.analogy.structure.triples import Ints, Triples

SCREENED = 10_000  # triples by which divisors are compared
FINALISTS = 2


class Numbering(NamedTuple):
    """How numbers are read: the columns of a row (0: as they are), and the structure then."""

    columns: int
    forms: tuple[Form, ...]


def coordinates(S: int, columns: int) -> Ints:
    """[S, 1 or 2]: the number, or row and column of it."""
    s = np.arange(S)
    return s[:, None] if columns == 0 else np.column_stack(np.divmod(s, columns))


def divisors(S: int) -> list[int]:
    """Of S, without 1 and S, rising."""
    small = [m for m in range(2, int(np.sqrt(S)) + 1) if S % m == 0]
    return sorted({*small, *(S // m for m in small)})


class Numbered(Product):
    """A structure of coordinates that were read off the numbers of states."""

    def __init__(self, triples: Triples, numbering: Numbering) -> None:
        seen = triples.with_codes(coordinates(triples.S, numbering.columns))
        super().__init__(seen, [Block(Explained(seen, f.move), f) for f in numbering.forms])
        self.numbering = numbering
        self.read = numbering.columns > 0

    @property
    def form(self) -> Numbering:  # type: ignore[override]
        """The structure, which may be fitted to other counts."""
        return self.numbering


def by_numbers(triples: Triples, form: Numbering | None = None) -> Numbered:
    """Find how states are numbered, or take that of `form`, and fit the structure to all counts."""
    return Numbered(triples, read(triples) if form is None else form)


def read(triples: Triples) -> Numbering:
    """How states are numbered, by held-out pairs."""
    few, many = triples.thinned(SCREENED), triples.thinned(SEARCHED)
    tried = {m: _screened(few, coordinates(triples.S, m)) for m in (0, *divisors(triples.S))}
    mixed = np.random.default_rng(0).permutation(triples.S)[:, None]
    if not max(tried.values(), key=lambda each: each.score).beats(_screened(few, mixed)):
        return Numbering(0, (tried[0].form,))  # no more order than in numbers that were drawn
    leading = sorted(divisors(triples.S), key=lambda m: -tried[m].score)[:FINALISTS]
    found = {m: search(many.with_codes(coordinates(triples.S, m))) for m in (0, *leading)}
    best = max(leading, key=lambda m: found[m][1].sum(), default=0)
    gain = found[best][1] - found[0][1]
    columns = best if gain.sum() > MARGIN + np.sqrt(gain @ gain) else 0
    return Numbering(columns, found[columns][0])


def _screened(triples: Triples, codes: Ints) -> Found:
    """Moves of the whole state, by action alone."""
    seen = triples.with_codes(codes)
    data = Explained(seen, Move(tuple(range(seen.k))))
    return by_action(data, Form(data.move))
