"""Slow, obvious twins of the compiled parts of structured inference."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import numpy as np

from gim.analogy.structure.moves import CLIP, HOME, SIDES, STAY, WRAP


def target(data, p, o):
    """The value where outcome o leads the pair in place p."""
    values = {tuple(code): v for v, code in enumerate(data.values.codes.tolist())}
    if o >= data.changes:
        return o - data.changes
    code = []
    for i, size in enumerate(data.values.sizes.tolist()):
        add, edge = int(data.outcomes.add[o, i]), data.outcomes.edge[o]
        at = add if data.outcomes.fixed[o, i] else int(data.start.base[p, i]) + add
        if edge >= HOME:
            value, side = divmod(int(edge) - HOME, SIDES)
            if not 0 <= at < size and side == 2 * i + (at > 0):
                return value
        if edge == CLIP or edge >= HOME:
            at = min(max(at, 0), size - 1)
        if edge == WRAP:
            at %= size
        code.append(at)
    return values.get(tuple(code), int(data.start.own[p]))


def explanations(data):
    """Of each observation, the outcomes that lead to it."""
    return [
        [o for o in range(data.changes) if target(data, p, o) == v] + [data.changes + v]
        for p, v in zip(data.slot.tolist(), data.target.tolist(), strict=True)
    ]


def chances(data, without):
    """Of outcomes before anything is known: by the observations that look like them."""
    alike, explained = [0.1] * data.many, explanations(data)
    for i, (p, v) in enumerate(zip(data.slot.tolist(), data.target.tolist(), strict=True)):
        if data.fold[p] == without:
            continue
        alike[data.changes + v] += v != data.start.own[p]
        for o in explained[i][:-1]:
            add, fixed = data.outcomes.add[o], data.outcomes.fixed[o]
            plain = np.where(fixed, add, data.start.base[p] + add).tolist()
            inside = plain == data.values.codes[v].tolist()
            kind = min(int(data.outcomes.edge[o]), HOME)
            looks = {STAY: 1.0, CLIP: 0.25, WRAP: 0.5, HOME: 0.25}
            if fixed.any() and v == data.start.own[p]:
                continue  # what stays was not set
            alike[o] += looks[kind] if inside else kind == WRAP
    change, value = alike[: data.changes], alike[data.changes :]
    return [0.9 * x / sum(change) for x in change] + [0.1 * x / sum(value) for x in value]


class EM:
    """Expectation-maximisation over dictionaries, each pair judged without itself."""

    def __init__(self, data, chain, kappa, most, without=None):
        triples = data.triples
        self.data, self.kappa, self.levels = data, kappa, range(len(chain))
        pairs = data.pairs.tolist()
        self.n = [0.0 if data.fold[p] == without else n / (1 + n / most)
                  for p, n in enumerate(data.seen.visits.tolist())]  # fmt: skip
        self.context = [
            [tuple(self._feature(triples, f, pair) for f in features) for features in chain]
            for pair in pairs
        ]
        self.outcomes = explanations(data)
        self.base = chances(data, without)
        self.weight = [
            w * self.n[p] / data.seen.visits[p]
            for p, w in zip(data.slot, data.seen.weight, strict=True)
        ]
        self.share = []
        for outcomes in self.outcomes:
            base = [self.base[o] for o in outcomes]
            self.share.append([b / sum(base) for b in base])

    @staticmethod
    def _feature(triples, f, pair):
        return int(triples.context((f,), np.array([pair]))[0])

    def step(self):
        """Held-out chances of observations; then new shares."""
        mass, visits = defaultdict(float), defaultdict(float)
        for p, contexts in enumerate(self.context):
            for level in self.levels:
                visits[level, contexts[level]] += self.n[p]
        for i, p in enumerate(self.data.slot):
            for o, share in zip(self.outcomes[i], self.share[i], strict=True):
                for level in self.levels:
                    mass[level, self.context[p][level], o] += share * self.weight[i]
        held, fresh = [], []
        for i, p in enumerate(self.data.slot):
            chances, counts = [], []
            for o, share in zip(self.outcomes[i], self.share[i], strict=True):
                chance = self.base[o]
                for level in self.levels:
                    context, kappa = self.context[p][level], self.kappa[level]
                    own = share * self.weight[i]
                    x = max(mass[level, context, o] - own, 0.0) + kappa * chance
                    chance = x / (max(visits[level, context] - self.n[p], 0.0) + kappa)
                chances.append(chance)
                counts.append(x * x / (x + 0.5))  # exp(digamma(x)), about
            held.append(sum(chances))
            fresh.append([count / sum(counts) for count in counts])
        self.share = fresh
        return held


def product(world, values, chances):
    """Chances of states by their tuples, from those of each variable on its own."""
    found = {}
    for picked in itertools.product(*[range(len(v)) for v in values]):
        state = tuple(values[b][i] for b, i in enumerate(picked))
        if state in world:
            found[state] = math.prod(chances[b][i] for b, i in enumerate(picked))
    total = sum(found.values())
    return {state: p / total for state, p in found.items()}


def type_step(prior, mass, n, share, kappa):
    """One step of EM over types: chances of types, of observations, of pairs; counts."""
    data, K = prior.data, len(share)
    state_of = [int(pair) // data.triples.A for pair in data.pairs]
    q = [[0.0] * len(data.slot) for _ in range(K)]
    for k, i in itertools.product(range(K), range(len(data.slot))):
        a = prior.context[data.slot[i]]
        total = sum(
            mass[k][prior.cell[e]] + kappa * prior.chance[e]
            for e in range(data.begin[i], data.begin[i + 1])
        )
        q[k][i] = total / (n[k][a] + kappa)
    by_pair = [[0.0] * len(data.pairs) for _ in range(K)]
    for k, i in itertools.product(range(K), range(len(data.slot))):
        by_pair[k][data.slot[i]] += prior.weights.of[i] * math.log(q[k][i])
    gamma = {}
    for s in dict.fromkeys(state_of):
        logs = [
            math.log(share[k]) + sum(by_pair[k][p] for p, t in enumerate(state_of) if t == s)
            for k in range(K)
        ]
        top = max(logs)
        parts = [math.exp(x - top) for x in logs]
        gamma[s] = [x / sum(parts) for x in parts]
    new_mass, new_n = (
        [[0.0] * len(mass[0]) for _ in range(K)],
        [[0.0] * len(n[0]) for _ in range(K)],
    )
    held = [sum(gamma[state_of[data.slot[i]]][k] * q[k][i] for k in range(K))
            for i in range(len(data.slot))]  # fmt: skip
    for p, s in enumerate(state_of):
        for k in range(K):
            new_n[k][prior.context[p]] += gamma[s][k] * prior.weights.visits[p]
    for k, i in itertools.product(range(K), range(len(data.slot))):
        p = data.slot[i]
        total = q[k][i] * (n[k][prior.context[p]] + kappa)
        for e in range(data.begin[i], data.begin[i + 1]):
            part = (mass[k][prior.cell[e]] + kappa * prior.chance[e]) / total
            new_mass[k][prior.cell[e]] += gamma[state_of[p]][k] * prior.weights.of[i] * part
    return list(gamma.values()), held, new_mass, new_n
