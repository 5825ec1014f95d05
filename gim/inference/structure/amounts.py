"""What actions add, where nobody says so, and edges that lead home.

Five names of actions do not say that the third is the second once more; the changes that they make
do. What each action adds to a variable is the whole number under which, with that taken off, all
actions change it alike: the numbers that make the changes that are left most predictable, in each
place by the other variables. Whether it is worth anything is for held-out pairs to say.
"""

from __future__ import annotations

import numpy as np

from gim.inference.structure.moves import Home, Values
from gim.inference.structure.triples import Floats, Ints, Triples

FEW = 5.0  # visits that a pair counts for at the most, about
MOST_ACTIONS = 16
MOST_CELLS = 1 << 16  # places times changes
ROUNDS = 4  # through all actions
OFTEN = 0.1  # of the pairs must lead to a home


def amounts_of(triples: Triples, variable: int, home: Ints | None = None) -> tuple[int, ...] | None:
    """What each action adds to a variable, [A]; None if that cannot be told.

    Args:
        triples: what was counted.
        variable: an ordinal one.
        home: [S] states where moves end that went beyond an edge: they say nothing.
    """
    A, last = triples.A, int(triples.codes[:, variable].max(initial=0))
    others = tuple(v for v in range(triples.k) if v != variable)
    place = triples.states_by(others)
    C, E = int(place.max(initial=0)) + 1, 4 * last + 1
    if not 2 < A <= MOST_ACTIONS or last < 2 or C * E > MOST_CELLS:
        return None
    s, a = np.divmod(triples.pair, A)
    x, there = triples.codes[s, variable], triples.codes[triples.indices, variable]
    inside = (there > 0) & (there < last)  # what ends at an edge may have been stopped there
    if home is not None:
        inside &= ~np.isin(triples.indices, home)
    weight = triples.counts / (1.0 + triples.n.ravel()[triples.pair] / FEW)
    cell = (a * C + place[s]) * E + there - x + 2 * last
    table = np.bincount(cell[inside], weight[inside], A * C * E).reshape(A, C, E)
    seen = table.sum(axis=(1, 2))
    order = np.argsort(-seen, kind="stable")
    amounts = np.zeros(A, np.int64)
    for _ in range(ROUNDS):
        before = amounts.copy()
        for each in order[1:].tolist():
            rest = sum(_less(table[b], amounts[b]) for b in range(A) if b != each)
            offers = [_order(rest + _less(table[each], d)) for d in range(-last, last + 1)]
            amounts[each] = int(np.argmax(offers)) - last if seen[each] else 0
        if (amounts == before).all():
            break
    amounts -= int(np.median(amounts))
    return tuple(amounts.tolist())


def _less(table: Floats, amount: int) -> Floats:
    """Changes [places, changes] less an amount."""
    return np.roll(table, -amount, axis=1)


def _order(table: Floats) -> float:
    """How predictable changes are in each place: the log-likelihood by their own shares."""
    total = np.maximum(table.sum(axis=1, keepdims=True), 1e-300)
    return float((table * np.log(np.maximum(table, 1e-300) / total)).sum())


def home_of(triples: Triples, variables: tuple[int, ...], values: Values) -> Home | None:
    """The edge of a block beyond which moves may lead to one value; None if there is none.

    The value is that to which most pairs lead from afar, the edge the one to which they are
    nearest.
    """
    s, there = triples.pair // triples.A, values.of_state[triples.indices]
    codes = values.codes / np.maximum(values.sizes - 1, 1)
    far = ((codes[there] - codes[values.of_state[s]]) ** 2).sum(axis=1)
    seen, first = np.unique(np.column_stack([there, triples.pair]), axis=0, return_index=True)
    drawn = np.bincount(seen[:, 0], far[first], len(values.codes))
    home = int(drawn.argmax()) if drawn.size else 0
    lead = np.isin(triples.met, seen[seen[:, 0] == home, 1])
    if not OFTEN * lead.size < lead.sum() < lead.size:
        return None
    near, best = 0.0, None
    for place, v in enumerate(variables):
        x = triples.codes[triples.met // triples.A, v].astype(np.float64)
        if not triples.ordinal[v] or not x.std():
            continue
        gap = float(x[lead].mean() - x[~lead].mean()) / float(x.std())
        edge = values.codes[home, place] == (values.sizes[place] - 1 if gap > 0 else 0)
        if abs(gap) > near and not edge:  # where it is the edge itself, that is to be clipped
            near, best = abs(gap), Home(place, gap > 0, home)
    return best
