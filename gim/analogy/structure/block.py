"""A block of variables, fitted: the chances of its outcomes in every context."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gim._compile.jit import seldom
from gim.analogy.structure.em import Posterior, Stack, fit
from gim.analogy.structure.explanations import Chain, Explained, Level, Move
from gim.analogy.structure.moves import landed, longer, start_of
from gim.analogy.structure.triples import MOST, Floats, Ints

THOROUGH = 100  # limit: iterations of the last fit
LITTLE = 0.0002  # limit: by how much shares must move in it
LONGEST = 256  # limit: outcomes of a context that are kept, the likeliest
LEAST = 1e-4  # limit: chance of an outcome that is kept
TINY = 1e-300  # in place of 0
MOSTLY = 0.5  # of all chances must be kept, or nothing is said


class Form(NamedTuple):
    """The structure of a block: how it moves, what its contexts look at, how far they shrink."""

    move: Move
    chain: Chain = ((),)
    kappa: tuple[float, ...] = (1.0,)
    most: float = MOST  # visits that a pair counts for at the most


class Lists(NamedTuple):
    """Outcomes and their chances (or counts), list after list."""

    start: Ints  # [lists + 1]
    outcome: Ints
    chance: Floats


class Block:
    """The outcomes of a block in each context of its chain, from the counts of `data`.

    Contexts are numbered through, level after level. Pairs of the fold `without` do not count.
    """

    luck: np.random.Generator | None = None  # what draws contexts never met, if chances were drawn

    def __init__(self, data: Explained, form: Form, without: int | None = None) -> None:
        self.data, self.form = data, form
        self.levels: list[Level] = [data.level(features) for features in form.chain]
        self.first: Ints = np.cumsum([0] + [len(level.keys) for level in self.levels])
        self.stack: Stack = Stack(data, form.chain, form.most, without)
        kappa = np.array(form.kappa)
        self.posterior: Posterior = fit(data, self.stack, kappa, THOROUGH, LITTLE)
        self.kappa: Floats = np.repeat(kappa, np.diff(self.first))  # [contexts]
        self.parent: Ints = np.full(self.first[-1], -1)  # [contexts] one level up
        self.parent[self.stack.context[:, 1:]] = self.stack.context[:, :-1]
        self.counted = counted(self.levels, data.many, self.posterior.mass, self.stack.n)
        self.before = data.chances(without)
        self.lists = Lists(
            *back_off(*self.counted, self.parent, self.stack.n, self.kappa, self.before)
        )

    @cached_property
    def rests_on(self) -> Floats:
        """Visits behind the chances of each context: its own, and what coarser ones lend it.

        The base measure is worth one visit.
        """
        behind = self.stack.n.copy()
        for level in range(len(self.levels)):
            here = slice(self.first[level], self.first[level + 1])
            above = behind[self.parent[here]] if level else np.ones(len(behind[here]))
            behind[here] += lent(above, self.kappa[here])
        return behind

    def visits_behind(self, pairs: Ints) -> Floats:
        """Visits behind what is said of each pair; one never met in a finer context borrows."""
        depth, context = self.find(pairs)
        found = np.where(context >= 0, self.rests_on[context], 1.0)
        for level, kappa in enumerate(self.form.kappa):
            found = np.where(level > depth, lent(found, kappa), found)
        return found

    def find(self, pairs: Ints) -> tuple[Ints, Ints]:
        """The finest level that has counts for each pair, and its context there; -1: none has."""
        depth, context = np.full(len(pairs), -1), np.full(len(pairs), -1)
        for i, (features, level) in enumerate(zip(self.form.chain, self.levels, strict=True)):
            if not len(level.keys):
                break
            keys = self.data.triples.context(features, pairs)
            place = np.minimum(np.searchsorted(level.keys, keys), len(level.keys) - 1)
            met = (level.keys[place] == keys) & (self.stack.n[place + self.first[i]] > 0)
            depth[met], context[met] = i, place[met] + self.first[i]
        return depth, context

    @cached_property
    def behind(self) -> Ints:
        """Pairs that were met in each context."""
        counts = self.stack.weights.visits > 0
        return np.bincount(self.stack.context[counts].ravel(), minlength=self.first[-1])

    def distribution(self, pairs: Ints) -> tuple[Ints, Ints, Floats]:
        """The value of the block after each pair: starts [pairs + 1], values and chances."""
        depth, context = self.find(pairs)
        if self.luck is None:
            return self.landing(pairs, context, self.lists)
        return self.landing(pairs, *self._unmet(pairs, depth, context, self.luck))

    def drawn(self, rng: np.random.Generator) -> Block:
        """The same block with chances drawn: of the coarsest contexts first, then below them.

        theta_c ~ Dirichlet(E_c + kappa theta_parent), where the mean has pi_parent.
        """
        found = copy(self)
        chance: Floats = np.zeros(len(self.lists.chance))
        total = self.stack.n + self.kappa
        for level in range(len(self.levels)):
            begin, end = self.first[level], self.first[level + 1]
            here = slice(self.lists.start[begin], self.lists.start[end])
            part = Lists(
                self.lists.start[begin : end + 1] - self.lists.start[begin],
                self.lists.outcome[here],
                self.lists.chance[here],
            )
            above = self.parent[begin:end] if level else np.full(end - begin, -1)
            chance[here] = drawn_below(
                part,
                total[begin:end],
                self.kappa[begin:end],
                above,
                self.lists,
                self._replaced(chance),
                self.data.many,
                rng,
            )
        found.lists, found.luck = self._replaced(chance), rng
        return found

    def _replaced(self, chance: Floats) -> Lists:
        return self.lists._replace(chance=chance)

    def _unmet(
        self, pairs: Ints, depth: Ints, context: Ints, rng: np.random.Generator
    ) -> tuple[Ints, Lists]:
        """Lists for pairs whose finer contexts were never met: as far from the coarser as usual."""
        last = len(self.form.chain) - 1
        few = np.flatnonzero((context >= 0) & (depth < last))
        if not few.size:
            return context, self.lists
        finest = self.data.triples.context(self.form.chain[last], pairs[few])
        many = int(finest.max()) + 1
        key, of = np.unique(context[few] * many + finest, return_inverse=True)
        missed = np.cumsum(1.0 / np.array(self.form.kappa)[::-1])[::-1]  # of each level and below
        above, level = key // many, np.zeros(key.size, np.int64)
        level[of.ravel()] = depth[few]
        sizes = np.diff(self.lists.start)[above]
        row = np.repeat(np.arange(key.size), sizes)
        at = np.arange(row.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        at += self.lists.start[above][row]
        weight = rng.standard_gamma(
            np.maximum(self.lists.chance[at] / missed[level + 1][row], TINY)
        )
        total = np.bincount(row, weight, key.size)[row]
        chance = np.where(total > 0, weight / np.maximum(total, TINY), self.lists.chance[at])
        found = context.copy()
        found[few] = len(self.lists.start) - 1 + of.ravel()
        return found, Lists(
            np.append(self.lists.start, self.lists.start[-1] + np.cumsum(sizes)),
            np.append(self.lists.outcome, self.lists.outcome[at]),
            np.append(self.lists.chance, chance),
        )

    def landing(self, pairs: Ints, which: Ints, lists: Lists) -> tuple[Ints, Ints, Floats]:
        """Where the outcomes of a list lead each pair; -1: no list."""
        data, move, values = self.data, self.data.move, self.data.values
        begin = start_of(data.triples, move.variables, move.shifts, values, pairs)
        lead = *data.outcomes, values.codes, values.sizes, values.table
        return landed(*begin, which, *lists, *lead)


def lent(above: Any, kappa: Any) -> Any:
    """Visits that a context has from one above it, itself worth `above`, by shrinkage kappa.

    The share that shrinks to it is as uncertain as it is itself, and as the two differ: variances
    of 1/above and 1/kappa add up.
    """
    return kappa * above / (kappa + above)


def drawn_below(
    lists: Lists,
    total: Floats,
    kappa: Floats,
    parent: Ints,
    above: Lists,
    drawn: Lists,
    many: int,
    rng: np.random.Generator,
) -> Floats:
    """Chances of lists drawn around those drawn one level up.

    Args:
        lists: their posterior means.
        total: [lists] visits behind each, kappa included.
        kappa: [lists] how many of these its parent lends.
        parent: [lists] the list above it; -1: none.
        above, drawn: the lists above, as they are on average and as they were drawn.
        many: how many outcomes there are.
        rng: the one source of randomness.
    """
    of = np.repeat(np.arange(len(total)), np.diff(lists.start))
    alpha = lists.chance * total[of]
    below = parent[of] >= 0
    if below.any():
        keys = np.repeat(np.arange(len(above.start) - 1), np.diff(above.start)) * many
        keys += above.outcome
        order = np.argsort(keys, kind="stable")
        wanted = parent[of[below]] * many + lists.outcome[below]
        place = np.minimum(np.searchsorted(keys[order], wanted), keys.size - 1)
        there, at = keys[order][place] == wanted, order[place]
        more = np.where(there, drawn.chance[at] - above.chance[at], 0.0) * kappa[of[below]]
        lent_too = np.where(there, drawn.chance[at], 0.0) * kappa[of[below]]
        alpha[below] = np.maximum(alpha[below] + more, lent_too)
    weight = rng.standard_gamma(np.maximum(alpha, TINY))
    sums = np.bincount(of, weight, len(total))[of]
    return np.where(sums > 0, weight / np.maximum(sums, TINY), lists.chance)


def counted(levels: list[Level], many: int, mass: Floats, n: Floats) -> Lists:
    """Outcomes counted in each context, without those that are too rare to matter."""
    context = np.concatenate([level.cells // many for level in levels])
    first = np.cumsum([0] + [len(level.keys) for level in levels])
    context += np.repeat(first[:-1], [len(level.cells) for level in levels])
    kept = mass >= 0.25 * LEAST * n[context]
    start = np.searchsorted(context[kept], np.arange(first[-1] + 1))
    outcome = np.concatenate([level.cells % many for level in levels])
    return Lists(start, outcome[kept], mass[kept])


@seldom(lambda start, outcome, mass, parent, n, kappa, before: n.size * before.size + mass.size)
def back_off(
    start: Any, outcome: Any, mass: Any, parent: Any, n: Any, kappa: Any, before: Any
) -> Any:
    """The list of each context: its own counts and kappa times its parent's list."""
    starts, place = np.zeros(n.size + 1, np.int64), 0
    outcomes, chances = np.empty(64, np.int64), np.empty(64)
    pi, taken = np.zeros(before.size), np.empty(before.size, np.int64)
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
        least, kept, total = 0.5 * LEAST, LONGEST + 1, 0.0
        while kept > LONGEST:  # the likeliest, about
            least, kept, total = 2 * least, 0, 0.0
            for i in range(size):
                if pi[taken[i]] >= least:
                    kept += 1
                    total += pi[taken[i]]
        if place + kept > outcomes.size:
            outcomes, chances = longer(outcomes, chances, 2 * (place + kept))
        for i in range(size):
            o = taken[i]
            if total >= MOSTLY and pi[o] >= least:
                outcomes[place], chances[place] = o, pi[o] / total
                place += 1
            pi[o] = 0.0
        starts[c + 1] = place
    outcomes, chances = longer(outcomes, chances, place)
    return starts, outcomes, chances
