"""A block of variables, fitted: the chances of its outcomes in every context."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gim.inference.structure.em import Posterior, Stack, fit, stacked
from gim.inference.structure.explanations import Explained, Level, Move
from gim.inference.structure.moves import land, start_of
from gim.inference.structure.triples import Floats, Ints
from gim.jit import entry

THOROUGH = 100  # iterations of the last fit
LONGEST = 256  # outcomes of a context that are kept, the likeliest
ROUNDING = 1e-12
LEAST = 1e-4  # chance of an outcome that is kept

Chain = tuple[tuple[int, ...], ...]  # sets of features, each within the next; the first is empty


class Form(NamedTuple):
    """The structure of a block: how it moves, what its contexts look at, how far they shrink."""

    move: Move
    chain: Chain = ((),)
    kappa: tuple[float, ...] = (1.0,)
    most: float = 20.0  # visits that a pair counts for at the most


class Lists(NamedTuple):
    """Outcomes and their chances, list after list."""

    start: Ints  # [lists + 1]
    outcome: Ints
    chance: Floats


class Block:
    """The outcomes of a block in each context of its chain, from the counts of `data`."""

    def __init__(self, data: Explained, form: Form, share: Floats | None = None) -> None:
        self.data, self.form = data, form
        self.levels: list[Level] = [data.level(features) for features in form.chain]
        self.stack: Stack = stacked(data, form.chain, form.most)
        self.kappa: Floats = np.array(form.kappa)
        self.posterior: Posterior = fit(data, self.stack, self.kappa, share, THOROUGH, 0.001)
        self.lists: list[Lists] = []
        base, cells, contexts = self._base_list(), 0, 0
        for depth, level in enumerate(self.levels):
            mass = self.posterior.mass[cells : cells + len(level.cells)]
            n = self.stack.n[contexts : contexts + len(level.keys)]
            parent = self._parents(depth)
            above = base if depth == 0 else self.lists[-1]
            self.lists.append(
                Lists(*back_off(*above, parent, _starts(level, data.many), level.cells % data.many,
                                mass, n, self.kappa[depth], data.many))
            )  # fmt: skip
            cells, contexts = cells + len(level.cells), contexts + len(level.keys)

    def find(self, pairs: Ints, apart: bool = False) -> tuple[Ints, Ints]:
        """The finest level that has counts for each pair, and its context there; -1: none has.

        Args:
            pairs: s*A + a.
            apart: counts of the pair itself do not count.
        """
        depth = np.full(len(pairs), -1)
        context = np.full(len(pairs), -1)
        own = np.zeros(len(pairs), bool) if not apart else self.data.triples.n.ravel()[pairs] > 0
        for i, (features, level) in enumerate(zip(self.form.chain, self.levels, strict=True)):
            if not len(level.keys):
                break
            keys = self.data.triples.context(features, pairs)[0]
            place = np.minimum(np.searchsorted(level.keys, keys), len(level.keys) - 1)
            met = (level.keys[place] == keys) & (level.pairs[place] > own)
            depth[met], context[met] = i, place[met]
        return depth, context

    def distribution(self, pairs: Ints, apart: bool = False) -> tuple[Ints, Ints, Floats]:
        """The value of the block after each pair: starts [pairs + 1], values and chances."""
        data = self.data
        depth, context = self.find(pairs, apart)
        if apart:
            lists, which = self._without(pairs), np.where(depth >= 0, np.arange(len(pairs)), -1)
        else:
            sizes = np.cumsum([0] + [len(each.start) - 1 for each in self.lists])
            lists, which = _joined(self.lists), np.where(depth >= 0, sizes[depth] + context, -1)
        move, values = data.move, data.values
        begin = start_of(data.triples, move.variables, move.shifts, values, pairs)
        return landed(
            *begin, which, *lists, *data.outcomes[:3], *values[0::2], values.table
        )  # fmt: skip

    def _parents(self, depth: int) -> Ints:
        """The context one level up of each context, [C]."""
        level = self.levels[depth]
        found = np.zeros(len(level.keys), np.int64)
        if depth:
            found[level.context] = self.levels[depth - 1].context
        return found

    def _base_list(self) -> Lists:
        """The base measure over changes; that of going to a value never seen is left out."""
        many = self.data.changes
        return Lists(np.array([0, many]), np.arange(many), self.data.chances[:many])

    def _without(self, pairs: Ints) -> Lists:
        """The list of each pair without its own counts."""
        data = self.data
        slot = np.minimum(np.searchsorted(data.pairs, pairs), max(len(data.pairs) - 1, 0))
        if len(data.pairs):
            slot[data.pairs[slot] != pairs] = -1
        context = np.full((len(self.levels), len(pairs)), -1)
        begin, outcome = [np.zeros(1, np.int64)], []
        contexts = cells = 0
        for i, (features, level) in enumerate(zip(self.form.chain, self.levels, strict=True)):
            keys = data.triples.context(features, pairs)[0]
            place = np.minimum(np.searchsorted(level.keys, keys), max(len(level.keys) - 1, 0))
            met = level.keys[place] == keys if len(level.keys) else np.zeros(len(pairs), bool)
            context[i, met] = place[met] + contexts
            begin.append(_starts(level, data.many)[1:] + cells)
            outcome.append(level.cells % data.many)
            contexts, cells = contexts + len(level.keys), cells + len(level.cells)
        root = self.lists[0].outcome
        before = data.chances[root]
        return Lists(*apart(
            slot, context, np.concatenate(begin), np.concatenate(outcome), self.posterior.mass,
            self.stack.n, self.kappa, root, before, data.first, data.begin, data.outcome,
            self.posterior.share, *self.stack.weights, data.many,
        ))  # fmt: skip


def _starts(level: Level, many: int) -> Ints:
    return np.searchsorted(level.cells // many, np.arange(len(level.keys) + 1))


def _joined(lists: list[Lists]) -> Lists:
    ends = np.cumsum([0] + [len(each.outcome) for each in lists])
    starts = [each.start[:-1] + end for each, end in zip(lists, ends, strict=False)]
    return Lists(
        np.append(np.concatenate(starts), ends[-1]),
        np.concatenate([each.outcome for each in lists]),
        np.concatenate([each.chance for each in lists]),
    )


@entry
def back_off(
    start: Any,
    outcome: Any,
    chance: Any,
    parent: Any,
    begin: Any,
    cell: Any,
    mass: Any,
    n: Any,
    kappa: float,
    many: int,
) -> Any:
    """The list of each context: its own counts and kappa times its parent's list."""
    C = n.size
    starts, place = np.zeros(C + 1, np.int64), 0
    room = 64
    outcomes, chances = np.empty(room, np.int64), np.empty(room)
    pi, taken = np.zeros(many), np.empty(many, np.int64)
    for c in range(C):
        size = 0
        for i in range(start[parent[c]], start[parent[c] + 1]):
            pi[outcome[i]] = kappa * chance[i] / (n[c] + kappa)
            taken[size] = outcome[i]
            size += 1
        for i in range(begin[c], begin[c + 1]):
            o = cell[i]
            if pi[o] == 0.0:
                taken[size] = o
                size += 1
            pi[o] += mass[i] / (n[c] + kappa)
        kept = 0
        for i in range(size):
            if pi[taken[i]] >= LEAST:
                taken[i], taken[kept] = taken[kept], taken[i]
                kept += 1
        if kept > LONGEST:
            order = np.argsort(-pi[taken[:kept]])
            taken[:kept] = taken[:kept][order]
            kept = LONGEST
        total = 0.0
        for i in range(kept):
            total += pi[taken[i]]
        if place + kept > outcomes.size:
            room = 2 * (place + kept)
            more, longer = np.empty(room, np.int64), np.empty(room)
            more[:place], longer[:place] = outcomes[:place], chances[:place]
            outcomes, chances = more, longer
        if total >= 0.5:
            for i in range(kept):
                outcomes[place], chances[place] = taken[i], pi[taken[i]] / total
                place += 1
        starts[c + 1] = place
        for i in range(size):
            pi[taken[i]] = 0.0
    return starts, outcomes[:place].copy(), chances[:place].copy()


@entry
def landed(
    base: Any,
    own: Any,
    which: Any,
    start: Any,
    outcome: Any,
    chance: Any,
    add: Any,
    fixed: Any,
    edge: Any,
    codes: Any,
    sizes: Any,
    table: Any,
) -> Any:
    """Values that each pair may reach, and their chances: starts [pairs + 1], values, chances."""
    P = which.size
    starts, room = np.zeros(P + 1, np.int64), 0
    for p in range(P):
        if which[p] >= 0:
            room += start[which[p] + 1] - start[which[p]]
    values, chances, place = np.empty(room, np.int64), np.empty(room), 0
    sum_at = np.full(codes.shape[0], -1)
    for p in range(P):
        begin = place
        if which[p] >= 0:
            for i in range(start[which[p]], start[which[p] + 1]):
                v = land(base, p, add, fixed, outcome[i], edge, codes, sizes, table, own[p])
                if sum_at[v] < begin:
                    sum_at[v] = place
                    values[place], chances[place] = v, 0.0
                    place += 1
                chances[sum_at[v]] += chance[i]
        starts[p + 1] = place
    return starts, values[:place].copy(), chances[:place].copy()


@entry
def apart(
    slot: Any,
    context: Any,
    begin: Any,
    cell: Any,
    mass: Any,
    n: Any,
    kappa: Any,
    root: Any,
    before: Any,
    first: Any,
    explained: Any,
    outcome: Any,
    share: Any,
    weight: Any,
    visits: Any,
    many: int,
) -> Any:
    """As `back_off`, for pairs instead of contexts: what a pair has counted itself is taken out."""
    P, L = slot.size, kappa.size
    starts, place, room = np.zeros(P + 1, np.int64), 0, 64
    outcomes, chances = np.empty(room, np.int64), np.empty(room)
    pi, own = np.zeros(many), np.zeros(many)
    is_taken, taken = np.zeros(many, np.bool_), np.empty(many, np.int64)
    for p in range(P):
        size, mine = 0, 0.0
        if slot[p] >= 0:
            mine = visits[slot[p]]
            for i in range(first[slot[p]], first[slot[p] + 1]):
                for e in range(explained[i], explained[i + 1]):
                    own[outcome[e]] = share[e] * weight[i]
        for i in range(root.size):
            pi[root[i]] = before[i]
            is_taken[root[i]] = True
            taken[size] = root[i]
            size += 1
        for level in range(L):
            c = context[level, p]
            if c < 0 or n[c] - mine <= ROUNDING * n[c]:
                break
            rest = n[c] - mine + kappa[level]
            for i in range(size):
                pi[taken[i]] *= kappa[level] / rest
            for i in range(begin[c], begin[c + 1]):
                o = cell[i]
                if not is_taken[o]:
                    if level == 0:  # too rare in all that was seen
                        continue
                    is_taken[o] = True
                    taken[size] = o
                    size += 1
                pi[o] += max(mass[i] - own[o], 0.0) / rest
        total, kept = 0.0, 0
        for i in range(size):
            if pi[taken[i]] >= LEAST:
                taken[i], taken[kept] = taken[kept], taken[i]
                total += pi[taken[kept]]
                kept += 1
        if place + kept > outcomes.size:
            room = 2 * (place + kept)
            more, longer = np.empty(room, np.int64), np.empty(room)
            more[:place], longer[:place] = outcomes[:place], chances[:place]
            outcomes, chances = more, longer
        if total >= 0.5:
            for i in range(kept):
                outcomes[place], chances[place] = taken[i], pi[taken[i]] / total
                place += 1
        starts[p + 1] = place
        for i in range(size):
            pi[taken[i]], is_taken[taken[i]] = 0.0, False
        if slot[p] >= 0:
            for i in range(first[slot[p]], first[slot[p] + 1]):
                for e in range(explained[i], explained[i + 1]):
                    own[outcome[e]] = 0.0
    return starts, outcomes[:place].copy(), chances[:place].copy()
