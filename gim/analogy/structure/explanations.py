"""All that may explain what was counted: the outcomes by which each target may be reached."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gim._compile.jit import rare, seldom
from gim.analogy.structure.moves import (
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
    resized,
    start_of,
    values_of,
)
from gim.analogy.structure.triples import FOLDS, Floats, Ints, Triples, placed, summed

# -- what a structure says of pairs by counts that have not seen them: fitted again without each
# fold


class Folds:
    """The fits without each fold, made when they are asked for.

    Args:
        data: whose pairs are in folds.
        refit: gives the fit without a fold.
    """

    def __init__(self, data: Explained, refit: Callable[[int], Any]) -> None:
        self.data, self.refit = data, refit
        self.fits: dict[int, Any] = {}

    def rows(self, whole: Any, pairs: Ints) -> Any:
        """Rows of pairs, each by the fit that has not seen it; by the whole if none has."""
        parts = self._parts(whole, pairs)
        order = np.argsort(np.concatenate([at for at, _ in parts]), kind="stable")
        rows = [fit.rows(pairs[at]) for at, fit in parts]
        return sparse.csr_array(sparse.vstack(rows, format="csr")[order])

    def gathered(self, whole: Any, what: str, pairs: Ints) -> Floats:
        """The same for a number of each pair, such as `levels`."""
        found = np.zeros(len(pairs))
        for at, fit in self._parts(whole, pairs):
            found[at] = getattr(fit, what)(pairs[at])
        return found

    def _parts(self, whole: Any, pairs: Ints) -> list[tuple[Ints, Any]]:
        """Places of the pairs of each fold (-1: never met), and who speaks of them."""
        slot = self.data.slot_of(pairs)
        fold = np.where(slot >= 0, self.data.fold[slot] if len(self.data.fold) else -1, -1)
        found = [(np.flatnonzero(fold == -1), whole)]
        for each in np.unique(fold[fold >= 0]).tolist():
            if each not in self.fits:
                self.fits[each] = self.refit(each)
            found.append((np.flatnonzero(fold == each), self.fits[each]))
        return found


# --


# -- what was counted of a block of variables, whatever explains it: all moves of a block share it


MORE, FEW = 8, 100  # parts where pairs are so few; with four queues lose 12 nats, wet chicken 7


class Weights(NamedTuple):
    """What counts count: the visits of a pair, less and less as they become many."""

    of: Floats  # [I] observations
    visits: Floats  # [P] pairs


class Observations:
    """Pairs that were met and the values that they reached; those of a pair are together."""

    def __init__(self, triples: Triples, variables: tuple[int, ...]) -> None:
        self.triples = triples
        self.values: Values = values_of(triples, variables)
        self.pairs = triples.met
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
        order = np.random.default_rng(len(self.pairs)).permutation(len(self.pairs))
        order = order[placed(triples.colours.pair[self.pairs])]
        self.folds = MORE if len(self.pairs) < FEW else FOLDS
        self.fold: Ints = order % self.folds  # [P] in which each pair is held out
        self._contexts: dict[tuple[int, ...], tuple[Ints, Ints]] = {}
        self._weights: dict[tuple[float, int | None], Weights] = {}

    def slot_of(self, pairs: Ints) -> Ints:
        """The place of each pair among those that were met; -1 if it was not."""
        if not len(self.pairs):
            return np.full(len(pairs), -1)
        slot = np.minimum(np.searchsorted(self.pairs, pairs), len(self.pairs) - 1)
        return np.where(self.pairs[slot] == pairs, slot, -1)

    def contexts(self, features: tuple[int, ...]) -> tuple[Ints, Ints]:
        """What contexts by these features are called [C], rising, and that of each pair [P]."""
        if features not in self._contexts:
            keys, at = np.unique(self.triples.context(features, self.pairs), return_inverse=True)
            self._contexts[features] = keys, at.ravel().astype(np.int64)
        return self._contexts[features]

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


# --


UNSEEN = 0.1  # observations that every outcome has before anything is seen
CHANGES = 0.9  # share of the base measure on changes; the rest is on going to a value
WIDE = 16  # limit: keys that there may be for each that is met, up to which a table sorts them


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


class Level(NamedTuple):
    """One level of contexts: where each pair and each explanation is counted."""

    context: Ints  # [P] of each pair that was met
    cell: Ints  # [E] of each explanation: its context and outcome
    keys: Ints  # [C] what each context is called; rising
    cells: Ints  # [M] context * outcomes + outcome of each cell; rising


class Explained:
    """What was counted of a block, and the explanations of each count under a move.

    The explanations of an observation are together. An outcome explains at most one observation of
    a pair.

    Args:
        triples: what was counted.
        move: how the block may move.
        seen: the observations, where another move of the block has made them already.
    """

    def __init__(self, triples: Triples, move: Move, seen: Observations | None = None) -> None:
        self.seen = seen = Observations(triples, move.variables) if seen is None else seen
        self.triples, self.move, self.values, self.pairs = triples, move, seen.values, seen.pairs
        self.slot, self.target, self.first = seen.slot, seen.target, seen.first
        self.fold, self.folds, self.weights = seen.fold, seen.folds, seen.weights
        self.slot_of = seen.slot_of
        self.start: Start = start_of(triples, move.variables, move.shifts, self.values, self.pairs)
        self.outcomes: Outcomes = outcomes_of(
            self.start.base[self.slot],
            self.values.codes[self.target],
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

    def under(self, move: Move) -> Explained:
        """The same observations under another move of the block."""
        return Explained(self.triples, move, self.seen)

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
        out = 0.0 if without is None else self._alike[without]
        return self._measure(self._alike.sum(axis=0) - out)

    @cached_property
    def bases(self) -> Floats:
        """The chance of each explanation by `chances` without each fold, [folds, E]."""
        without = self._measure(self._alike.sum(axis=0) - self._alike)
        return np.ascontiguousarray(without[:, self.outcome])

    @cached_property
    def _alike(self) -> Floats:
        """Observations that look like each outcome, by the fold of their pair; [folds, O + V]."""
        cell = self.fold[self.slot[self.of]] * self.many + self.outcome
        return summed(cell, self.alike, self.folds * self.many).reshape(self.folds, self.many)

    def _measure(self, alike: Floats) -> Floats:
        """Chances [..., O + V] in proportion to what looks like each outcome."""
        change, value = np.split(alike + UNSEEN, [self.changes], axis=-1)
        share = CHANGES if self.changes else 0.0
        changes = share * change / np.maximum(change.sum(axis=-1, keepdims=True), UNSEEN)
        values = (1 - share) * value / value.sum(axis=-1, keepdims=True)
        return np.concatenate([changes, values], axis=-1)

    def level(self, features: tuple[int, ...]) -> Level:
        """Contexts by these features."""
        if features not in self._levels:
            keys, context = self.seen.contexts(features)
            cells, cell = distinct(
                context[self.slot[self.of]] * self.many + self.outcome, len(keys) * self.many
            )
            self._levels[features] = Level(context, cell, keys, cells)
        return self._levels[features]


def distinct(keys: Ints, many: int) -> tuple[Ints, Ints]:
    """The different keys below `many`, rising, and the place of each key among them."""
    if many > WIDE * len(keys):
        found, place = np.unique(keys, return_inverse=True)
        return found, place.ravel().astype(np.int64)
    met = np.zeros(many, bool)
    met[keys] = True
    return np.flatnonzero(met), (np.cumsum(met) - 1)[keys]


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


@seldom(lambda base, own, slot, target, add, *_: slot.size * add.size)
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
    changes, E = add.shape[0], 0
    begin, outcome = np.zeros(slot.size + 1, np.int64), np.empty(8 * slot.size + changes, np.int64)
    for i in range(slot.size):
        p, v = slot[i], target[i]
        if E + changes >= outcome.size:
            outcome = resized(outcome, 2 * outcome.size + changes)
        for o in range(changes):
            c = coordinate(base, p, add, fixed, o, 0, sizes[0], edge[o])
            if c != codes[v, 0] and own[p] != v and edge[o] < HOME:
                continue  # most changes lead elsewhere, and a call takes longer than to see that
            if leads(base, own, p, v, add, fixed, o, edge, codes, sizes, table):
                outcome[E] = o
                E += 1
        outcome[E] = changes + v
        E += 1
        begin[i + 1] = E
    return begin, resized(outcome, E)
