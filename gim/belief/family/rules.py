"""Rules that a family may follow: where a latent outcome leads, s' = T(p, o), and its context.

A rule is one of changes (the outcome adds to ordinal variables and sets nominal ones, from the
state or from the after-state, in which an amount that the action names was added) or of values (the
outcome is the next state itself: "pair by pair"). A row says only which outcomes may have been:
demand beyond the stock is censored, a blocked move may have been any that is blocked. Where the
action adds an amount, that may come to nothing: then the outcome has two parts, whether it comes
and what happens besides.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gim.analogy.structure.moves import (
    CLIP,
    STAY,
    WRAP,
    Outcomes,
    Shift,
    Values,
    leading,
    start_of,
    values_of,
)
from gim.analogy.structure.triples import Triples
from gim.belief.family.units import Bools, Ints, Rows, Space

MOST = 64  # limit: changes that are told apart
MOST_LAND = 1 << 24  # pairs times outcomes
EDGES = {CLIP: "stopped at edges", STAY: "blocked at edges", WRAP: "round the edges"}


class Rule(NamedTuple):
    """What a family may follow."""

    features: tuple[int, ...] = ()  # of the context, as `Triples` numbers them
    shift: Shift | None = None  # what the action adds first
    edge: int = CLIP  # what becomes of changes beyond an edge
    values: bool = False  # whether outcomes are next states, not changes
    fails: bool = False  # whether what the action adds may not come
    by_state: bool = False  # whether each state of a unit has its own distribution


class Table:
    """A rule in a space, with the changes that the rows show.

    Attributes:
        land: [P, O] where each outcome leads.
        context: [P] of each pair, from 0.
        parts: [F, O] the outcome of each part.
        sizes: [F] outcomes of each part.
        base: [P, k] after-states, as codes; [2, P, k] with and without the amount if it may fail.
    """

    def __init__(self, rule: Rule, space: Space, rows: Rows, known: Outcomes | None = None) -> None:
        self.rule, self.space = rule, space
        triples = space.bare
        variables = tuple(range(triples.k))
        pairs = np.arange(space.S * space.A)
        self.values: Values = values_of(triples, variables)
        shifts = () if rule.shift is None else (rule.shift,)
        ways = (shifts, ()) if rule.fails else (shifts,)
        starts = [start_of(triples, variables, each, self.values, pairs) for each in ways]
        self.base = np.stack([start.base for start in starts])  # [ways, P, k]
        state = np.empty(len(self.values.codes), np.int64)
        state[self.values.of_state] = np.arange(space.S)
        # the state that an after-state is, or the state itself where there is none
        self.standing = state[np.stack([start.own for start in starts])]  # [ways, P]
        names, self.context = np.unique(triples.context(rule.features, pairs), return_inverse=True)
        self.contexts = len(names)
        if rule.values:
            self.outcomes = None
            self.land = np.broadcast_to(np.arange(space.S), (len(pairs), space.S))
            self.sizes: tuple[int, ...] = (space.S,)
        else:
            self.outcomes = changes_of(triples, rule.edge, starts[0].base, rows, self.values)
            if known is not None:
                self.outcomes = known
            land = [
                state[leading(start.base, start.own, self.outcomes, o, self.values)]
                for start in starts
                for o in range(len(self.outcomes.add))
            ]
            self.land = np.column_stack(land)
            changes = len(self.outcomes.add)
            self.sizes = (2, changes) if rule.fails else (changes,)
        # [O, k] what each outcome adds; None for values
        self.moves = None if self.outcomes is None else np.tile(self.outcomes.add, (len(ways), 1))
        self.parts: Ints = np.stack(np.unravel_index(np.arange(self.land.shape[1]), self.sizes))

    @property
    def O(self) -> int:  # noqa: E743 - the number of outcomes
        """Outcomes in all."""
        return int(self.land.shape[1])

    @cached_property
    def context_of_part(self) -> Ints:
        """[F, contexts] whether what the action adds comes is the same everywhere."""
        own = np.arange(self.contexts)
        return np.stack([np.zeros_like(own), own]) if self.rule.fails else own[None]


def changes_of(triples: Triples, edge: int, base: Ints, rows: Rows, values: Values) -> Outcomes:
    """The changes from after-states to next states that rows show, the most frequent first.

    Of one ordinal variable those between the least and the largest are there as well.
    """
    start, target = base[rows.pair], triples.codes[rows.next]
    add = target - start
    if edge == WRAP:
        half = values.sizes // 2
        add = np.where(triples.ordinal, (add + half) % values.sizes - half, add)
    fixed = (add != 0) & ~triples.ordinal
    both = np.column_stack([np.where(fixed, target, add), fixed])
    seen, at = np.unique(both, axis=0, return_inverse=True)
    often: Any = np.bincount(at.ravel(), rows.n, len(seen))
    if triples.k == 1 and triples.ordinal[0] and len(seen):
        low, high = int(seen[:, 0].min()), int(seen[:, 0].max())
        if high - low < MOST:
            seen = np.column_stack([np.arange(low, high + 1), np.zeros(high + 1 - low, np.int64)])
            often = np.zeros(len(seen), np.int64)
    kept = seen[np.argsort(-often, kind="stable")[:MOST]]
    k = triples.k
    return Outcomes(
        np.ascontiguousarray(kept[:, :k]),
        np.ascontiguousarray(kept[:, k:].astype(bool)),
        np.full(len(kept), edge),
    )


def shifts_of(triples: Triples) -> list[Shift]:
    """Amounts that actions may add to a variable."""
    return [
        (v, j, sign)
        for v in np.flatnonzero(triples.ordinal).tolist()
        for j in np.flatnonzero(triples.action_ordinal).tolist()
        for sign in (1, -1)
        if triples.codes[:, v].max(initial=0) > 1 and triples.action_codes[:, j].max(initial=0) > 0
    ]


def movements(space: Space) -> list[Rule]:
    """Ways to move, without a context: every shift and every edge."""
    triples = space.bare
    found = [Rule(edge=edge) for edge in (CLIP, STAY, WRAP)]
    for shift in shifts_of(triples):
        found += [Rule(shift=shift, edge=edge) for edge in (CLIP, STAY, WRAP)]
    return found


def contexts(space: Space) -> list[tuple[int, ...]]:
    """What a context may look at: nothing, the action, a variable, both, all of the state, all."""
    k = space.bare.k
    singles = [(v,) for v in range(k)] if k > 1 else []
    mixed = [(v, k) for v in range(k)] if k > 1 else []
    whole = tuple(range(k))
    return [(), (k,), *singles, *mixed, whole, (*whole, k)]


def fits(rule: Rule, space: Space) -> bool:
    """Whether its table is not too large."""
    pairs = space.S * space.A
    return pairs * (space.S if rule.values else MOST) <= MOST_LAND


def lands(table: Table, rows: Rows) -> Bools:
    """[I, O] whether each outcome explains each entry."""
    return np.asarray(table.land[rows.pair] == rows.next[:, None])
