"""Counts of another world with the same variables, as if they had been made in this one.

North moves one row up in a hall of 8 x 8 as in one of 16 x 16: changes of variables do not depend
on the size of a world. A pair is carried over to the states of this world that have the same
variables if everything that may happen there leads to the same values in both worlds, so that what
is blocked by an edge or a wall of the one is never taken for what happens in the other.

The result is for structures to be fitted to, not for a belief: nothing of it was seen here.
"""

from __future__ import annotations

import numpy as np

from gim.analogy.structure.explanations import Explained, Move
from gim.analogy.structure.moves import FREE, Values, leading, standing, values_of
from gim.analogy.structure.triples import Floats, Ints, Mask, Triples, summed

FREQUENT = 0.01  # share of what was seen that a change must have to matter


def relocated(old: Triples, new: Triples, weight: float = 1.0) -> Triples:
    """The counts of `new` and those of `old` that mean the same there, by values of variables.

    Args:
        old: counts of another world, whose states have the same variables in the same order, and
            which has the same actions.
        new: those of this one.
        weight: what an old count is worth.
    """
    if old.k != new.k or old.A != new.A or (old.ordinal != new.ordinal).any():
        raise ValueError(
            f"{old.k} variables and {old.A} actions are not the {new.k} and {new.A} of this world: "
            "carry counts over between worlds with the same variables and actions only"
        )
    variables = tuple(range(new.k))
    there, here = values_of(old, variables), values_of(new, variables)
    state_of = np.empty(new.S, np.int64)
    state_of[here.of_state] = np.arange(new.S)
    found = located(here, old.codes)  # [S of old] the value of each state here, FREE if none
    same = _means_the_same(old, there, here, found)
    s, a = np.divmod(old.pair, old.A)
    kept = same[old.pair] & (found[old.indices] != FREE) & (old.counts > 0)
    pair = state_of[found[s[kept]]] * new.A + a[kept]
    t = state_of[found[old.indices[kept]]]
    return _joined(new, pair, t, old, kept, weight)


def located(values: Values, codes: Ints) -> Ints:
    """The value that has each of these codes [n, b]; FREE where none has."""
    none = len(values.codes)
    found = standing(np.ascontiguousarray(codes), np.full(len(codes), none), values)
    return np.where(found < none, found, FREE)


def _means_the_same(old: Triples, there: Values, here: Values, found: Ints) -> Mask:
    """Old pairs [S*A] whose frequent changes lead to the same values in both worlds."""
    data = Explained(old, Move(tuple(range(old.k))))
    chance = summed(data.outcome, data.alike, data.many)[: data.changes]
    often = np.flatnonzero(chance > FREQUENT * max(float(chance.sum()), 1e-300))
    states = np.flatnonzero(found != FREE)
    base, same = np.ascontiguousarray(old.codes[states]), found != FREE
    for o in often.tolist():
        one = there.codes[leading(base, there.of_state[states], data.outcomes, o, there)]
        other = here.codes[leading(base, found[states], data.outcomes, o, here)]
        same[states[(one != other).any(axis=1)]] = False
    return np.repeat(same, old.A)


def _joined(new: Triples, pair: Ints, t: Ints, old: Triples, kept: Mask, weight: float) -> Triples:
    """Counts of both, as those of `new`."""
    key = np.concatenate([new.pair * new.S + new.indices, pair * new.S + t])
    unique, where = np.unique(key, return_inverse=True)

    def total(of_new: Floats | None, of_old: Floats | None) -> Floats | None:
        if of_new is None or of_old is None:
            return None
        both = np.concatenate([of_new, weight * of_old[kept]])
        return summed(where.ravel(), both, len(unique))

    counts = total(new.counts, old.counts)
    assert counts is not None
    pairs, indices = np.divmod(unique, new.S)
    return Triples(
        np.searchsorted(pairs, np.arange(new.S * new.A + 1)),
        indices,
        counts,
        new.available,
        new.codes if new.named else None,
        new.ordinal,
        new.action_codes,
        new.action_ordinal,
        total(new.R, old.R),
        total(new.R2, old.R2),
        new.terminal,
        new.pays,
    )
