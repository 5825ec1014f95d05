"""Types of states, learned from what their actions do.

A relocatable action model (Leffler, Littman and Edmunds, 2007) says that an action does the same in
all states of a type: it slides on ice and steps elsewhere. There the types are given; here each
state has one of K types that is not seen, and pi(o | a, type) backs off to pi(o | a). A state's own
few visits choose its type, which then speaks for the actions not yet tried there. Types are added
one at a time, each begun by a state that the others explain badly, while held-out pairs gain.
"""

from __future__ import annotations

import math
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gim._compile.jit import hot, seldom
from gim.analogy.structure.block import (
    Block,
    Form,
    Lists,
    back_off,
    counted,
    drawn_below,
    lent,
)
from gim.analogy.structure.blocks import SEARCHED
from gim.analogy.structure.em import Stack, chances, fit
from gim.analogy.structure.explanations import Explained, Folds, Move, Weights
from gim.analogy.structure.search import MARGIN, Z, logs
from gim.analogy.structure.triples import OFTEN, Floats, Ints, Triples, summed

# -- expectation-maximisation over types of states and explanations, compiled


class Observed(NamedTuple):
    """What was counted, state by state, and what may explain it."""

    states: Ints  # [Z + 1] where the pairs of each state begin
    first: Ints  # [P + 1] where the observations of each pair begin
    begin: Ints  # [I + 1] where the explanations of each observation begin
    weight: Floats  # [I] of each observation
    visits: Floats  # [P] of each pair
    context: Ints  # [P] of each pair: its action
    cell: Ints  # [E] of each explanation: its action and outcome
    chance: Floats  # [E] of each explanation, anywhere


def settle(
    seen: Observed, mass: Any, n: Any, share: Any, kappa: float, iterations: int, enough: float
) -> Any:
    """EM from these counts and shares: those that follow, chances of types, of observations."""
    gamma, held = np.empty((seen.states.size - 1, share.size)), np.empty(seen.weight.size)
    one, other, share = (
        (mass.copy(), n.copy()),
        (np.empty(mass.shape), np.empty(n.shape)),
        share.copy(),
    )
    steps = _settle(seen, one, other, share, kappa, iterations, enough, gamma, held)
    mass, n = other if steps % 2 else one
    return mass, n, share, gamma, held


@seldom(lambda seen, one, other, share, *_: 5 * share.size * seen.chance.size, by_views=True)
def _settle(
    seen: Observed,
    one: Any,
    other: Any,
    share: Any,
    kappa: float,
    iterations: int,
    enough: float,
    gamma: Any,
    held: Any,
) -> int:
    """EM, each step from one (mass, n) into the other; the number of steps.

    What allocates takes long to compile, so that it gets all it works in.
    """
    states, weight, K, before = seen.states, seen.weight, len(share), -np.inf
    (mass, n), (old_mass, old_n) = one, other
    for i in range(iterations):
        old_mass, mass, old_n, n = mass, old_mass, n, old_n
        step(seen, old_mass, old_n, share, kappa, gamma, held, mass, n)
        likelihood = 0.0
        for j in range(len(weight)):
            likelihood += weight[j] * math.log(held[j])
        for k in range(K):
            share[k] = 1.0
            for z in range(len(states) - 1):
                share[k] += gamma[z, k]
            share[k] /= len(states) - 1 + K
        if likelihood < before + enough:
            return i + 1
        before = likelihood
    return iterations


@hot
def explained(seen: Observed, i: int, c: int, k: int, mass: Any, n: Any, kappa: float) -> float:
    """The chance of an observation in a context, if its state is of type k."""
    begin, cell, chance, total = seen.begin, seen.cell, seen.chance, 0.0
    for e in range(begin[i], begin[i + 1]):
        total += mass[k, cell[e]] + kappa * chance[e]
    return total / (n[k, c] + kappa)


@hot
def step(
    seen: Observed,
    mass: Any,
    n: Any,
    share: Any,
    kappa: float,
    gamma: Any,
    held: Any,
    new_mass: Any,
    new_n: Any,
) -> None:
    """One step of EM: chances of types, of observations, and the counts that follow."""
    states, first, begin, weight = seen.states, seen.first, seen.begin, seen.weight
    visits, context, cell, chance = seen.visits, seen.context, seen.cell, seen.chance
    K = len(share)
    for k in range(K):
        for c in range(mass.shape[1]):
            new_mass[k, c] = 0.0
        for c in range(n.shape[1]):
            new_n[k, c] = 0.0
    for z in range(len(states) - 1):
        for k in range(K):
            gamma[z, k] = math.log(share[k])
            for p in range(states[z], states[z + 1]):
                for i in range(first[p], first[p + 1]):
                    at = explained(seen, i, context[p], k, mass, n, kappa)
                    gamma[z, k] += weight[i] * math.log(at)
        most, total = -np.inf, 0.0
        for k in range(K):
            most = max(most, gamma[z, k])
        for k in range(K):
            gamma[z, k] = math.exp(gamma[z, k] - most)
            total += gamma[z, k]
        for k in range(K):
            gamma[z, k] /= total
        for p in range(states[z], states[z + 1]):
            for k in range(K):
                new_n[k, context[p]] += gamma[z, k] * visits[p]
            for i in range(first[p], first[p + 1]):
                held[i] = 0.0
                for k in range(K):
                    at = explained(seen, i, context[p], k, mass, n, kappa)
                    held[i] += gamma[z, k] * at
                    scale = gamma[z, k] * weight[i] / (at * (n[k, context[p]] + kappa))
                    for e in range(begin[i], begin[i + 1]):
                        new_mass[k, cell[e]] += scale * (mass[k, cell[e]] + kappa * chance[e])


# --


MOST_TYPES = 6  # limit: of states
UNLIKELY = 1e-3  # limit: chance of a type that is left out
SEEDS = 2  # limit: states that a new type is begun with, each in turn
ITERATIONS = 30  # limit: of EM
ENOUGH = 0.05  # limit: nats that an iteration must bring
PER_VISIT = 1e-5  # limit: or so many for each visit, if that is more
KAPPA = 1.0  # visits that an action's outcomes in all states are worth in a type


class Mixture(NamedTuple):
    """States of K types."""

    mass: Floats  # [K, cells] outcomes counted by type and action
    n: Floats  # [K, actions] visits
    share: Floats  # [K] of the states
    gamma: Floats  # [states that were left, K] chances of their types
    held: Floats  # [I] chance of each observation, by the types that the counts give its state


class Typed:
    """Types of states, fitted.

    Args:
        data: what was counted.
        types: how many there are.
        without: a fold whose pairs do not count.
    """

    read = False  # see `Product`

    def __init__(self, data: Explained, types: int, without: int | None = None) -> None:
        self.data, self.types, self.triples = data, types, data.triples
        self.folds = Folds(data, lambda fold: Typed(data, types, fold))
        self.block = Block(data, by_action(data), without)
        self.blocks = [self.block]
        self.prior = prepared(data, by_action(data), without)
        self.mixture = mixed(self.prior, types)
        self.lists = [self._lists(k) for k in range(types)]

    @property
    def form(self) -> int:
        """The structure, which may be fitted to other counts."""
        return self.types

    def rows(self, pairs: Ints, apart: bool = False) -> Any:
        """Predicted next states of pairs s*A + a: CSR [pairs, S]; an empty row says nothing.

        Args:
            pairs: s*A + a of those asked for.
            apart: by fits that have not seen them.
        """
        pairs = np.asarray(pairs, np.int64)
        if apart:
            return self.folds.rows(self, pairs)
        S, gamma = self.triples.S, self.chances(pairs)
        depth, context = self.block.find(pairs)
        state_of = np.empty(S, np.int64)
        state_of[self.data.values.of_state] = np.arange(S)
        total = sparse.csr_array((len(pairs), S))
        for k in range(self.types):
            which = np.where((depth == 1) & (gamma[:, k] > 0), context, -1)
            start, value, chance = self.block.landing(pairs, which, self.lists[k])
            chance *= np.repeat(gamma[:, k], np.diff(start))
            total = total + sparse.csr_array((chance, state_of[value], start), (len(pairs), S))
        sums = np.asarray(total.sum(axis=1)).ravel()
        total.data /= np.repeat(np.maximum(sums, 1e-300), np.diff(total.indptr))
        return total

    def levels(self, pairs: Ints, apart: bool = False) -> Ints:
        """0 where the state was left by some action, 1 where its type is anyone's guess."""
        pairs = np.asarray(pairs, np.int64)
        if apart:
            return self.folds.gathered(self, "levels", pairs).astype(np.int64)
        left = summed(self.data.pairs // self.triples.A, self.prior.weights.visits, self.triples.S)
        return (left[pairs // self.triples.A] <= 0).astype(np.int64)

    def visits_behind(self, pairs: Ints, apart: bool = False) -> Floats:
        """Visits behind each prediction: variances of the types that its state may be of add up."""
        pairs = np.asarray(pairs, np.int64)
        if apart:
            return self.folds.gathered(self, "visits_behind", pairs)
        depth, context = self.block.find(pairs)
        action = np.where(depth == 1, context - self.block.first[1], 0)
        anywhere = lent(self.block.visits_behind(pairs), KAPPA)
        n = np.where(depth == 1, self.mixture.n[:, action], 0.0)
        return np.asarray(1.0 / (self.chances(pairs) / (n.T + anywhere[:, None])).sum(axis=1))

    def chances(self, pairs: Ints) -> Floats:
        """Of the types of the states of pairs, [pairs, K]."""
        states, s = self.prior.states, pairs // self.triples.A
        gamma = np.tile(self.mixture.share, (len(pairs), 1))
        if len(states):
            z = np.minimum(np.searchsorted(states, s), len(states) - 1)
            gamma[states[z] == s] = self.mixture.gamma[z[states[z] == s]]
        gamma[gamma < UNLIKELY] = 0.0
        return gamma / gamma.sum(axis=1, keepdims=True)

    def drawn(self, rng: np.random.Generator) -> Typed:
        """The same with the type of each state drawn, and what actions do in each type."""
        found, S, block = copy(self), self.triples.S, self.block
        chances = np.cumsum(self.chances(np.arange(S) * self.triples.A), axis=1)
        kind = (rng.random((S, 1)) > chances[:, :-1]).sum(axis=1)
        found.prior = self.prior._replace(states=np.arange(S))
        found.mixture = self.mixture._replace(gamma=np.eye(self.types)[kind])
        anywhere = block.drawn(rng)
        begin = block.first[1]
        for k, lists in enumerate(self.lists):
            at, n, chance = lists.start[begin], self.mixture.n[k], lists.chance.copy()
            part = Lists(lists.start[begin:] - at, lists.outcome[at:], lists.chance[at:])
            given = n + KAPPA, np.full(n.size, KAPPA), np.arange(n.size) + begin
            around = block.lists, anywhere.lists, self.data.many
            chance[at:] = drawn_below(part, *given, *around, rng)
            found.lists = [*found.lists[:k], lists._replace(chance=chance), *found.lists[k + 1 :]]
        return found

    def _lists(self, k: int) -> Lists:
        """Outcomes of a type, by action: below what the action does anywhere."""
        block, actions = self.block, self.mixture.n.shape[1]
        n = np.append(block.stack.n, self.mixture.n[k])
        mass = np.append(block.posterior.mass, self.mixture.mass[k])
        kappa = np.append(block.kappa, np.full(actions, KAPPA))
        parent = np.append(block.parent, np.arange(actions) + block.first[1])
        counts = counted([*block.levels, block.levels[1]], self.data.many, mass, n)
        lists = Lists(*back_off(*counts, parent, n, kappa, block.before))
        start = np.append(np.zeros(block.first[1], np.int64), lists.start[block.first[2] :])
        return lists._replace(start=start)  # so that those of a type are found by action


def by_types(triples: Triples, form: int | None = None) -> Typed:
    """Find how many types there are, or take `form`, and fit them to all counts."""
    data = Explained(triples, Move(tuple(range(triples.k))))
    return Typed(data, search(triples.thinned(SEARCHED, by_state=True)) if form is None else form)


def by_action(data: Explained) -> Form:
    """Contexts are actions."""
    return Form(data.move, ((), (data.triples.k,)), (KAPPA, KAPPA))


def search(triples: Triples) -> int:
    """How many types held-out pairs ask for."""
    data = Explained(triples, Move(tuple(range(triples.k))))
    form = by_action(data)
    priors = [prepared(data, form, fold) for fold in range(data.folds)]
    weight, V = data.weights(OFTEN).of, len(data.values.codes)
    best, found = None, [mixed(prior, 1) for prior in priors]
    for types in range(1, MOST_TYPES + 1):
        held = np.zeros(len(data.slot))
        for fold, mixture in enumerate(found):
            here = data.fold[data.slot] == fold
            held[here] = mixture.held[here]
        new = logs(held, weight, data.slot, len(data.pairs), V)
        gain = new if best is None else new - best
        if best is not None and gain.sum() <= MARGIN + Z * np.sqrt(gain @ gain):
            return types - 1
        best = new
        found = [another(prior, mixture) for prior, mixture in zip(priors, found, strict=True)]
    return MOST_TYPES


class Data(NamedTuple):
    """Counts of states, and what actions do anywhere."""

    data: Explained
    weights: Weights
    states: Ints  # [Z] those that were left
    first: Ints  # [Z + 1] the pairs of each
    context: Ints  # [P] the action of each pair
    cell: Ints  # [E] action and outcome of each explanation
    chance: Floats  # [E] of each explanation in all states


def prepared(data: Explained, form: Form, without: int | None = None) -> Data:
    """Fit outcomes by action alone, without a fold."""
    stack, kappa = Stack(data, form.chain, form.most, without), np.array(form.kappa)
    posterior = fit(data, stack, kappa)
    level = data.level((data.triples.k,))
    states, first = np.unique(data.pairs // data.triples.A, return_index=True)
    return Data(
        data,
        stack.weights,
        states,
        np.append(first, len(data.pairs)),
        level.context,
        level.cell,
        chances(data, stack, kappa, posterior),
    )


def mixed(prior: Data, types: int) -> Mixture:
    """States of so many types, added one at a time."""
    cells, actions = int(prior.cell.max(initial=-1)) + 1, int(prior.context.max(initial=-1)) + 1
    found = settled(prior, np.zeros((1, cells)), np.zeros((1, actions)), np.ones(1))
    for _ in range(1, types):
        found = another(prior, found)
    return found


def another(prior: Data, found: Mixture) -> Mixture:
    """One type more, begun with the state that gains most."""
    offers = [_split(prior, found, seed) for seed in _seeds(prior, found)]
    return max(offers, key=_fits(prior), default=found)


def _fits(prior: Data) -> Any:
    """How well a mixture explains what was counted."""
    return lambda mixture: float(prior.weights.of @ np.log(mixture.held))


def _seeds(prior: Data, found: Mixture) -> Ints:
    """States that are explained worst."""
    of = np.searchsorted(prior.states, prior.data.pairs // prior.data.triples.A)
    surprise = -prior.weights.of * np.log(found.held)
    return np.argsort(-summed(of[prior.data.slot], surprise, len(prior.states)), kind="stable")[
        :SEEDS
    ]


def _split(prior: Data, found: Mixture, seed: int) -> Mixture:
    """One type more, begun with what one state did."""
    pairs = np.arange(prior.first[seed], prior.first[seed + 1])
    mine = np.isin(prior.data.slot[prior.data.of], pairs)
    total = summed(prior.data.of, prior.chance, len(prior.data.slot))
    weight = mine * prior.weights.of[prior.data.of] * prior.chance / total[prior.data.of]
    mass = summed(prior.cell, weight, found.mass.shape[1])
    n = summed(prior.context[pairs], prior.weights.visits[pairs], found.n.shape[1])
    share = np.append(found.share * len(prior.states), 1.0)
    return settled(
        prior, np.vstack([found.mass, mass]), np.vstack([found.n, n]), share / share.sum()
    )


def settled(prior: Data, mass: Floats, n: Floats, share: Floats) -> Mixture:
    """EM over types and explanations."""
    data, weights = prior.data, prior.weights
    enough = max(ENOUGH, PER_VISIT * float(weights.of.sum()))
    seen = Observed(
        prior.first,
        data.first,
        data.begin,
        weights.of,
        weights.visits,
        prior.context,
        prior.cell,
        prior.chance,
    )
    return Mixture(*settle(seen, mass, n, share, KAPPA, ITERATIONS, enough))
