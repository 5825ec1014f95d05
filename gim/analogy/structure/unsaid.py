"""What moves may do that nobody says: what actions add, and edges that lead to one value.

"Hold" may be "drift" less one: then the changes of both are alike but for that, and what one did
tells of the other. Beyond an edge moves may lead to one value from wherever they come, as over a
waterfall. Data suggest both here; held-out pairs decide (`gim.analogy.structure.search`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gim.analogy.structure.moves import Home, Values
from gim.analogy.structure.triples import OFTEN, Floats, Ints, Triples

CELLS = 1 << 16  # limit: actions times places times changes of which what actions add is read


def homes_of(triples: Triples, variables: tuple[int, ...], values: Values) -> list[Home]:
    """Edges of a block beyond which moves may lead to the value that most is drawn to from afar.

    A pair draws by the square of how far it is from there. An edge on which the value lies itself
    is none of them: there moves are clipped.
    """
    s, there = triples.pair // triples.A, values.of_state[triples.indices]
    codes = values.codes / np.maximum(values.sizes - 1, 1)
    far = ((codes[there] - codes[values.of_state[s]]) ** 2).sum(axis=1)
    drawn = np.bincount(there, far, len(values.codes))
    value = int(drawn.argmax()) if drawn.any() else -1
    return [
        Home(place, upper, value)
        for place, v in enumerate(variables)
        for upper in (False, True)
        if value >= 0 and triples.ordinal[v]
        if values.codes[value, place] != upper * (values.sizes[place] - 1)
    ]


def amounts_of(triples: Triples, variable: int, home: Ints | None = None) -> tuple[int, ...] | None:
    """What each action adds to a variable, [A]; None if that cannot be told.

    Less what actions add, changes at a place are the most predictable: from the mean change of
    each on, by one action after the other, until none is better another way. The action in the
    middle adds 0.

    Args:
        triples: what was counted.
        variable: an ordinal one.
        home: [S] states where moves end that went beyond an edge: they say nothing.
    """
    A, last = triples.A, int(triples.codes[:, variable].max(initial=0))
    place = triples.states_by(tuple(v for v in range(triples.k) if v != variable))
    far = 2 * last
    C, E = int(place.max(initial=0)) + 1, 2 * far + 1
    if A <= 2 or last < 2 or A * C * E > CELLS:
        return None
    s, a = np.divmod(triples.pair, A)
    x, there = triples.codes[s, variable], triples.codes[triples.indices, variable]
    inside = (there > 0) & (there < last)  # what ends at an edge may have been stopped there
    if home is not None:
        inside &= ~np.isin(triples.indices, home)
    weight = triples.counts / (1.0 + triples.n.ravel()[triples.pair] / OFTEN)
    cell = (a * C + place[s]) * E + there - x + far
    table = np.bincount(cell[inside], weight[inside], A * C * E).reshape(A, C, E)
    seen = table.sum(axis=(1, 2))
    mean = np.bincount(a[inside], ((there - x) * weight)[inside], A) / np.maximum(seen, 1e-300)
    amounts = np.rint(np.where(seen > 0, mean, 0.0)).astype(np.int64)
    total = np.sum([_less(table[each], amounts[each]) for each in range(A)], axis=0)
    for _ in range(A):  # passes through all of them; mostly two are enough
        before = amounts.copy()
        for each in np.argsort(-seen, kind="stable")[1:].tolist():
            rest = total - _less(table[each], amounts[each])
            offers = [_order(rest + _less(table[each], d)) for d in range(-last, last + 1)]
            amounts[each] = int(np.argmax(offers)) - last if seen[each] else 0
            total = rest + _less(table[each], amounts[each])
        if (amounts == before).all():
            break
    return tuple((amounts - int(np.median(amounts))).tolist())


def _less(table: Floats, amount: Any) -> Floats:
    """Changes [places, changes] less an amount."""
    return np.roll(table, -amount, axis=1)


def _order(table: Floats) -> float:
    """How predictable changes are in each place: the log-likelihood by their own shares."""
    total = np.maximum(table.sum(axis=1, keepdims=True), 1e-300)
    return float((table * np.log(np.maximum(table, 1e-300) / total)).sum())
