"""A block of variables, fitted: the chances of its outcomes in every context."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gim.inference.structure.em import Posterior, Stack, fit, stacked
from gim.inference.structure.explanations import Chain, Explained, Level, Move
from gim.inference.structure.moves import land, start_of
from gim.inference.structure.triples import Floats, Ints
from gim.jit import entry, hot

THOROUGH, LITTLE = 100, 0.001  # iterations of the last fit, and nats that one must bring
LONGEST = 256  # outcomes of a context that are kept, the likeliest
LEAST = 1e-4  # chance of an outcome that is kept
MOSTLY = 0.5  # of all chances must be kept, or nothing is said
ROUNDING = 1e-12


class Form(NamedTuple):
    """The structure of a block: how it moves, what its contexts look at, how far they shrink."""

    move: Move
    chain: Chain = ((),)
    kappa: tuple[float, ...] = (1.0,)
    most: float = 20.0  # visits that a pair counts for at the most


class Lists(NamedTuple):
    """Outcomes and their chances (or counts), list after list."""

    start: Ints  # [lists + 1]
    outcome: Ints
    chance: Floats


class Block:
    """The outcomes of a block in each context of its chain, from the counts of `data`.

    Contexts are numbered through, level after level.
    """

    def __init__(self, data: Explained, form: Form) -> None:
        self.data, self.form = data, form
        self.levels: list[Level] = [data.level(features) for features in form.chain]
        self.first: Ints = np.cumsum([0] + [len(level.keys) for level in self.levels])
        self.stack: Stack = stacked(data, form.chain, form.most)
        kappa = np.array(form.kappa)
        self.posterior: Posterior = fit(data, self.stack, kappa, None, THOROUGH, LITTLE)
        self.kappa: Floats = np.repeat(kappa, np.diff(self.first))  # [contexts]
        self.parent: Ints = np.full(self.first[-1], -1)  # [contexts] one level up
        self.parent[self.stack.context[:, 1:]] = self.stack.context[:, :-1]
        self.counted = counted(self.levels, data.many, self.posterior.mass, self.stack.n)
        before = data.chances
        self.lists = Lists(*back_off(*self.counted, self.parent, self.stack.n, self.kappa, before))

    def find(self, pairs: Ints, apart: bool = False) -> tuple[Ints, Ints]:
        """The finest level that has counts for each pair, and its context there; -1: none has.

        Args:
            pairs: s*A + a.
            apart: counts of the pair itself do not count.
        """
        depth, context = np.full(len(pairs), -1), np.full(len(pairs), -1)
        own = self.data.triples.n.ravel()[pairs] > 0 if apart else np.zeros(len(pairs), bool)
        for i, (features, level) in enumerate(zip(self.form.chain, self.levels, strict=True)):
            if not len(level.keys):
                break
            keys = self.data.triples.context(features, pairs)
            place = np.minimum(np.searchsorted(level.keys, keys), len(level.keys) - 1)
            met = (level.keys[place] == keys) & (level.pairs[place] > own)
            depth[met], context[met] = i, place[met] + self.first[i]
        return depth, context

    def distribution(self, pairs: Ints, apart: bool = False) -> tuple[Ints, Ints, Floats]:
        """The value of the block after each pair: starts [pairs + 1], values and chances."""
        context = self.find(pairs, apart)[1]
        if not apart:
            return self.landing(pairs, context, self.lists)
        lists = self._without(pairs, context)
        return self.landing(pairs, np.where(context >= 0, np.arange(len(pairs)), -1), lists)

    def landing(self, pairs: Ints, which: Ints, lists: Lists) -> tuple[Ints, Ints, Floats]:
        """Where the outcomes of a list lead each pair; -1: no list."""
        data, move, values = self.data, self.data.move, self.data.values
        begin = start_of(data.triples, move.variables, move.shifts, values, pairs)
        lead = *data.outcomes[:3], values.codes, values.sizes, values.table
        return landed(*begin, which, *lists, *lead)

    def _without(self, pairs: Ints, context: Ints) -> Lists:
        """The list of each pair without its own counts."""
        data = self.data
        slot = np.minimum(np.searchsorted(data.pairs, pairs), max(len(data.pairs) - 1, 0))
        if len(data.pairs):
            slot[data.pairs[slot] != pairs] = -1
        shares = data.first, data.begin, data.outcome, self.posterior.share
        return Lists(*back_off_apart(
            *self.counted, self.parent, self.stack.n, self.kappa, data.chances,
            context, slot, *shares, *self.stack.weights,
        ))  # fmt: skip


def counted(levels: list[Level], many: int, mass: Floats, n: Floats) -> Lists:
    """Outcomes counted in each context, without those that are too rare to matter."""
    context = np.concatenate([level.cells // many for level in levels])
    first = np.cumsum([0] + [len(level.keys) for level in levels])
    context += np.repeat(first[:-1], [len(level.cells) for level in levels])
    kept = mass >= 0.25 * LEAST * n[context]
    start = np.searchsorted(context[kept], np.arange(first[-1] + 1))
    outcome = np.concatenate([level.cells % many for level in levels])
    return Lists(start, outcome[kept], mass[kept])


@hot
def keep_likely(pi: Any, taken: Any, size: int) -> int:
    """Bring the outcomes that are likely enough to the front; how many they are."""
    kept = 0
    for i in range(size):
        if pi[taken[i]] >= LEAST:
            taken[i], taken[kept] = taken[kept], taken[i]
            kept += 1
    return kept


@entry
def back_off(
    start: Any, outcome: Any, mass: Any, parent: Any, n: Any, kappa: Any, before: Any
) -> Any:
    """The list of each context: its own counts and kappa times its parent's list."""
    many = before.size
    starts, place = np.zeros(n.size + 1, np.int64), 0
    outcomes, chances = np.empty(64, np.int64), np.empty(64)
    pi, taken = np.zeros(many), np.empty(many, np.int64)
    for c in range(n.size):
        size, rest = 0, n[c] + kappa[c]
        if parent[c] >= 0:
            for i in range(starts[parent[c]], starts[parent[c] + 1]):
                pi[outcomes[i]] = kappa[c] * chances[i] / rest
                taken[size] = outcomes[i]
                size += 1
        for i in range(start[c], start[c + 1]):
            o = outcome[i]
            if pi[o] == 0.0:
                taken[size] = o
                size += 1
                if parent[c] < 0:
                    pi[o] = kappa[c] * before[o] / rest
            pi[o] += mass[i] / rest
        kept = keep_likely(pi, taken, size)
        if kept > LONGEST:
            order = np.argsort(-pi[taken[:kept]])
            taken[:kept] = taken[:kept][order]
            kept = LONGEST
        total = 0.0
        for i in range(kept):
            total += pi[taken[i]]
        if place + kept > outcomes.size:
            outcomes, chances = longer(outcomes, chances, place, 2 * (place + kept))
        if total >= MOSTLY:
            for i in range(kept):
                outcomes[place], chances[place] = taken[i], pi[taken[i]] / total
                place += 1
        starts[c + 1] = place
        for i in range(size):
            pi[taken[i]] = 0.0
    return starts, outcomes[:place].copy(), chances[:place].copy()


@entry
def longer(outcomes: Any, chances: Any, used: int, room: int) -> Any:
    """The same with more room."""
    more, further = np.empty(room, np.int64), np.empty(room)
    more[:used], further[:used] = outcomes[:used], chances[:used]
    return more, further


@entry
def back_off_apart(
    start: Any,
    outcome: Any,
    mass: Any,
    parent: Any,
    n: Any,
    kappa: Any,
    before: Any,
    context: Any,
    slot: Any,
    first: Any,
    begin: Any,
    explained: Any,
    share: Any,
    weight: Any,
    visits: Any,
) -> Any:
    """As `back_off`, for pairs: what a pair has counted itself is taken out of its contexts."""
    many = before.size
    starts, place = np.zeros(slot.size + 1, np.int64), 0
    outcomes, chances = np.empty(64, np.int64), np.empty(64)
    pi, own = np.zeros(many), np.zeros(many)
    is_taken, taken = np.zeros(many, np.bool_), np.empty(many, np.int64)
    path = np.empty(64, np.int64)
    for p in range(slot.size):
        size, mine, depth, c = 0, 0.0, 0, context[p]
        while c >= 0:
            path[depth] = c
            depth, c = depth + 1, parent[c]
        if slot[p] >= 0:
            mine = visits[slot[p]]
            for i in range(first[slot[p]], first[slot[p] + 1]):
                for e in range(begin[i], begin[i + 1]):
                    own[explained[e]] = share[e] * weight[i]
        for level in range(depth - 1, -1, -1):
            c = path[level]
            if n[c] - mine <= ROUNDING * n[c]:
                break
            rest = n[c] - mine + kappa[c]
            for i in range(size):
                pi[taken[i]] *= kappa[c] / rest
            for i in range(start[c], start[c + 1]):
                o = outcome[i]
                if not is_taken[o]:
                    is_taken[o] = True
                    taken[size] = o
                    size += 1
                    if level == depth - 1:
                        pi[o] = kappa[c] * before[o] / rest
                pi[o] += max(mass[i] - own[o], 0.0) / rest
        for i in range(size):
            is_taken[taken[i]] = False
        kept, total = keep_likely(pi, taken, size), 0.0
        for i in range(kept):
            total += pi[taken[i]]
        if place + kept > outcomes.size:
            outcomes, chances = longer(outcomes, chances, place, 2 * (place + kept))
        if total >= MOSTLY:
            for i in range(kept):
                outcomes[place], chances[place] = taken[i], pi[taken[i]] / total
                place += 1
        starts[p + 1] = place
        for i in range(size):
            pi[taken[i]] = 0.0
        if slot[p] >= 0:
            for e in range(begin[first[slot[p]]], begin[first[slot[p] + 1]]):
                own[explained[e]] = 0.0
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
