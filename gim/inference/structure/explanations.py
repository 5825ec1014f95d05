"""All that may explain what was counted: the outcomes by which each target may be reached."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gim.inference.structure.moves import (
    CLIP,
    FREE,
    HOME,
    Outcomes,
    Shift,
    Start,
    Values,
    coordinate,
    land,
    looks,
    outcomes_of,
    start_of,
    values_of,
)
from gim.inference.structure.triples import Floats, Ints, Triples, summed
from gim.jit import rare, seldom

FOLDS, MANY_FOLDS, FEW_PAIRS = 4, 8, 100  # parts in which pairs are held out; more if few
UNSEEN = 0.1  # observations that every outcome has before anything is seen
CHANGES = 0.9  # share of the base measure on changes; the rest is on going to a value


Chain = tuple[tuple[int, ...], ...]  # sets of features, each within the next; the first is empty


class Move(NamedTuple):
    """How a block of variables moves."""

    variables: tuple[int, ...]
    shifts: tuple[Shift, ...] = ()  # what actions add first: the after-state
    edge: int = CLIP  # what becomes of moves beyond edges that are not blocked

    @property
    def found(self) -> bool:
        """Whether what actions add was found, not known."""
        return any(isinstance(amount, tuple) for _, amount, _ in self.shifts)


class Weights(NamedTuple):
    """What counts count: the visits of a pair, less and less as they become many."""

    of: Floats  # [I] observations
    visits: Floats  # [P] pairs


class Level(NamedTuple):
    """One level of contexts: where each pair and each explanation is counted."""

    context: Ints  # [P] of each pair that was met
    cell: Ints  # [E] of each explanation: its context and outcome
    keys: Ints  # [C] what each context is called; rising
    cells: Ints  # [M] context * outcomes + outcome of each cell; rising


class Explained:
    """What was counted of a block, and the explanations of each count.

    Observations are (pair, value reached); those of a pair are together, as are the explanations of
    an observation. An outcome explains at most one observation of a pair.
    """

    def __init__(self, triples: Triples, move: Move) -> None:
        self.triples, self.move = triples, move
        self.values: Values = values_of(triples, move.variables)
        self.pairs = triples.met
        self.start: Start = start_of(triples, move.variables, move.shifts, self.values, self.pairs)
        V = len(self.values.codes)
        slot = np.searchsorted(self.pairs, triples.pair)
        kept = triples.counts > 0
        key = slot[kept] * V + self.values.of_state[triples.indices[kept]]
        unique, where = np.unique(key, return_inverse=True)
        self.slot, self.target = np.divmod(unique, V)  # [I] pair (by its place) and value
        self.of_triple = where.ravel()  # [triples with counts] the observation that each is part of
        self.weight: Floats = summed(where.ravel(), triples.counts[kept], len(unique))
        self.first = np.searchsorted(self.slot, np.arange(len(self.pairs) + 1))  # [P + 1]
        self.visits: Floats = triples.n.ravel()[self.pairs]  # [P]
        codes = self.values.codes
        self.outcomes: Outcomes = outcomes_of(
            self.start.base[self.slot],
            codes[self.target],
            triples.ordinal[list(move.variables)],
            self.values.sizes,
            move.edge,
            near=move.found or move.edge != CLIP,
        )
        self.begin, self.outcome = explain(
            *self.start, self.slot, self.target, *self.outcomes, *self.values[0::2],
            self.values.table,
        )  # fmt: skip
        self._levels: dict[tuple[int, ...], Level] = {}
        self._weights: dict[tuple[float, int | None], Weights] = {}
        self._chances: dict[int | None, Floats] = {}
        order = np.random.default_rng(len(self.pairs)).permutation(len(self.pairs))
        self.folds = MANY_FOLDS if len(self.pairs) < FEW_PAIRS else FOLDS
        self.fold: Ints = order % self.folds  # [P] in which each pair is held out

    @property
    def changes(self) -> int:
        """Changes that are told apart."""
        return len(self.outcomes.add)

    @property
    def many(self) -> int:
        """Outcomes in all: changes and values."""
        return self.changes + len(self.values.codes)

    @cached_property
    def of(self) -> Ints:
        """The observation of each explanation, [E]."""
        return np.repeat(np.arange(len(self.slot)), np.diff(self.begin))

    def slot_of(self, pairs: Ints) -> Ints:
        """The place of each pair among those that were met; -1 if it was not."""
        if not len(self.pairs):
            return np.full(len(pairs), -1)
        slot = np.minimum(np.searchsorted(self.pairs, pairs), len(self.pairs) - 1)
        return np.where(self.pairs[slot] == pairs, slot, -1)

    @cached_property
    def alike(self) -> Floats:
        """How much each observation looks like each of its explanations, [E].

        What stays as it is does not look as if it were set, or went to a value: things persist.
        """
        stays = (self.target == self.start.own[self.slot])[self.of]
        found = np.where(stays, 0.0, 1.0)
        change = self.outcome < self.changes
        i, o = self.of[change], self.outcome[change]
        ends = self.start.base[self.slot[i]], self.values.codes[self.target[i]]
        found[change] = looks(self.outcomes, o, *ends)
        found[change] *= ~(stays[change] & self.outcomes.fixed[o].any(axis=1))
        return found

    def chances(self, without: int | None = None) -> Floats:
        """Of each outcome before anything is known of contexts, [O + V].

        In proportion to the observations that look like it; most is change, the rest is values.
        """
        if without not in self._chances:
            kept = 1.0 if without is None else self.fold[self.slot[self.of]] != without
            alike = summed(self.outcome, self.alike * kept, self.many) + UNSEEN
            change, value = np.split(alike, [self.changes])
            share = CHANGES if self.changes else 0.0
            parts = share * change / max(change.sum(), UNSEEN), (1 - share) * value / value.sum()
            self._chances[without] = np.concatenate(parts)
        return self._chances[without]

    def weights(self, most: float, without: int | None = None) -> Weights:
        """Counts such that no pair counts for more than `most` visits: N / (1 + n / most).

        Where pairs differ, one that was met a thousand times must not speak for all others. Pairs
        of the fold `without` count for nothing.
        """
        if (most, without) not in self._weights:
            less = 1.0 + self.visits / most
            kept = np.ones(len(less)) if without is None else (self.fold != without) * 1.0
            self._weights[most, without] = Weights(
                self.weight * (kept / less)[self.slot], self.visits * kept / less
            )
        return self._weights[most, without]

    def level(self, features: tuple[int, ...]) -> Level:
        """Contexts by these features."""
        if features not in self._levels:
            keys, at = np.unique(self.triples.context(features, self.pairs), return_inverse=True)
            context = at.ravel().astype(np.int64)
            cells, cell = np.unique(
                context[self.slot[self.of]] * self.many + self.outcome, return_inverse=True
            )
            self._levels[features] = Level(context, cell.ravel().astype(np.int64), keys, cells)
        return self._levels[features]


@rare
def leads(
    base: Any,
    own: Any,
    p: int,
    v: int,
    add: Any,
    fixed: Any,
    o: int,
    edge: Any,
    codes: Any,
    sizes: Any,
    table: Any,
) -> bool:
    """Whether change o leads from base p to value v."""
    reached = True
    for j in range(sizes.size):
        if coordinate(base, p, add, fixed, o, j, sizes[j], edge[o]) != codes[v, j]:
            reached = False
            break
    if not reached and (own[p] == v or edge[o] >= HOME):  # blocked, or gone home
        there = land(base, p, add, fixed, o, edge, codes, sizes, table, FREE)
        reached = there == v or (there == FREE and own[p] == v)
    return reached


@seldom(lambda base, own, slot, target, add, *_: 4 * slot.size * add.size)
def explain(
    base: Any,
    own: Any,
    slot: Any,
    target: Any,
    add: Any,
    fixed: Any,
    edge: Any,
    codes: Any,
    sizes: Any,
    table: Any,
) -> Any:
    """Begins [I + 1] of the explanations of each observation, and their outcomes [E]."""
    changes = add.shape[0]
    begin, outcome = np.zeros(slot.size + 1, np.int64), np.empty(0, np.int64)
    for filled in range(2):  # count, then fill
        E = 0
        for i in range(slot.size):
            p, v = slot[i], target[i]
            for o in range(changes):
                if leads(base, own, p, v, add, fixed, o, edge, codes, sizes, table):
                    if filled:
                        outcome[E] = o
                    E += 1
            if filled:
                outcome[E] = changes + v
            E += 1
            begin[i + 1] = E
        if not filled:
            outcome = np.empty(E, np.int64)
    return begin, outcome
