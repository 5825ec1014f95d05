"""Slow, literal twins of the agents that know of structure: lists of samples, dictionaries, loops.

As in `naive_optimism` a twin is given the experience of the agent, and must find best what it did.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

import numpy as np

from gim.agents.factors import parts_of
from gim.mdp.sampling import GO_ON, TERMINATED
from tests.naive_optimism import ModelBased


class Heaven(ModelBased):
    """Backward induction on a model {pair: (rewards, {next: p}, what is unknown)}."""

    def start(self):
        super().start()
        self.known, self.seen_to_end = set(), set()
        made_of = self.task.variables
        self.x = {s: made_of.codes[s].tolist() if made_of else [s] for s in self.S}
        self.sizes = made_of.sizes if made_of else [self.task.S]
        self.ordinal = made_of.ordinal if made_of else [False]
        self.stale = True

    def rewards_known(self):
        return getattr(self.agent, "rewards", "learn") == "known"

    def plan(self, model, ends):
        truth = self.task.truth
        self.terminal = {s for s in self.S if truth.terminal[s]} if self.rewards_known() else ends

        def value(h, s, a, v):
            r, P, unknown = model[s, a]
            r = truth.rewards[s, a] if self.rewards_known() else r + unknown * self.high
            return r + unknown * self.most(h + 1) + sum(p * v[t] for t, p in P.items())

        self.induct(value)
        self.known = {x for x in model if model[x][2] == 0 or x[0] in self.terminal}
        self.stale = False


class Factored(Heaven):
    """Factored R-MAX and Met-Rmax: the guesses are the agent's, all else is done here."""

    def start(self):
        super().start()
        self.k = len(self.sizes)
        self.parts = parts_of(self.k, self.agent.rewards)
        self.m, self.epsilon, self.trials = self.agent.limits()
        self.guesses = defaultdict(list)  # by action and part: (inputs, samples by context)
        for a, part, inputs in self.agent.guesses(self.task, self.parts):
            self.guesses[a, part].append((inputs, defaultdict(list)))
        self.dropped, self.fights = set(), defaultdict(lambda: [0, 0.0])
        width = self.task.reward_range[1] - self.task.reward_range[0]
        self.unit = {part: width if part == self.k + 1 else 1.0 for part in range(self.parts)}

    def samples(self, a, part, x, y):
        """Those of each guess in play in the context of these values, by guess."""
        given = [*x, *y]
        return {
            g: seen[tuple(given[i] for i in inputs)]
            for g, (inputs, seen) in enumerate(self.guesses[a, part])
            if (a, part, g) not in self.dropped
        }

    def says(self, part, samples):
        """A distribution over the values, or a mean: a list of numbers."""
        if part >= self.k:
            return [sum(samples) / len(samples)]
        return [samples.count(v) / len(samples) for v in range(self.sizes[part])]

    def prediction(self, a, part, x, y):
        found = self.samples(a, part, x, y)
        if any(len(samples) < self.m for samples in found.values()):
            return None
        said = [self.says(part, samples) for samples in found.values()]
        for column in zip(*said, strict=True):
            if max(column) - min(column) > self.epsilon * self.unit[part]:
                return None
        return said[0]

    def learn(self, s, h, a, r, t, end):
        if (s, a) in self.known:
            return end != GO_ON and self.stale
        if end == TERMINATED and t not in self.seen_to_end:
            self.seen_to_end.add(t)
            self.stale = True
        x, y = self.x[s], self.x[t]
        for part in range(self.parts):
            z = y[part] if part < self.k else r if part > self.k else float(end == TERMINATED)
            found = self.samples(a, part, x, y)
            silent = [samples for samples in found.values() if len(samples) < self.m]
            for samples in silent:
                samples.append(z)
                self.stale |= len(samples) == self.m
            if not silent and self.prediction(a, part, x, y) is None:
                self.compare(a, part, found, z)
        foreseen = all(self.prediction(a, part, x, y) is not None for part in range(self.parts))
        return self.stale and (end != GO_ON or foreseen)

    def compare(self, a, part, found, z):
        unit = self.unit[part]
        truth = [z / unit] if part >= self.k else [float(v == z) for v in range(self.sizes[part])]
        said = {g: [p / unit for p in self.says(part, found[g])] for g in found}
        error = {g: sum((p - q) ** 2 for p, q in zip(said[g], truth, strict=True)) for g in said}
        for one, two in itertools.combinations(found, 2):
            if {(a, part, one), (a, part, two)} & self.dropped:
                continue
            gap = max(abs(p - q) for p, q in zip(said[one], said[two], strict=True))
            if gap >= self.epsilon / 2:
                fight = self.fights[a, part, one, two]
                fight[0] += 1
                fight[1] += error[one] - error[two]
                if fight[0] >= self.trials:
                    self.dropped.add((a, part, one if fight[1] > 0 else two))
                    self.stale = True

    def step(self, s, a, y=(), p=1.0):
        """All (p, next state or None for unknown, reward, end) of a pair, value by value."""
        if len(y) < self.k:
            said = self.prediction(a, len(y), self.x[s], y)
            if said is None:
                return [(p, None, 0.0, False)]
            ways = [(v, q) for v, q in enumerate(said) if q > 0]
            return [way for v, q in ways for way in self.step(s, a, (*y, v), p * q)]
        t = next((t for t in self.S if tuple(self.x[t]) == y), "nowhere")
        if t == "nowhere" or self.rewards_known():
            return [(p, t, 0.0, False)]
        over, pays = (self.prediction(a, self.k + i, self.x[s], y) for i in (0, 1))
        if over is None or pays is None:
            return [(p, None, 0.0, False)]
        return [(p, t, pays[0], over[0] > 0.5)]

    def think(self):
        if not self.stale:
            return
        model, ends = {}, set(self.seen_to_end)
        for s in self.S:
            for a in self.actions[s]:
                if s in self.seen_to_end:
                    model[s, a] = (0.0, {}, 0.0)
                    continue
                ways = [way for way in self.step(s, a) if way[1] != "nowhere"]
                mass = sum(p for p, *_ in ways)
                P, r, unknown = Counter(), 0.0, 0.0 if mass > 0 else 1.0
                for p, t, paid, over in ways:
                    if t is None:
                        unknown += p / mass
                    else:
                        P[t] += p / mass
                        r += p / mass * paid
                        ends |= {t} if over else set()
                model[s, a] = (r, P, unknown)
        self.plan(model, ends)


class Relocatable(Heaven):
    """Types are found by comparing states in pairs."""

    def start(self):
        super().start()
        self.type = {}
        for s in self.S:
            same = (o for o in range(s) if self.alike(s, o))
            self.type[s] = next(same, s) if self.task.variables else s
        self.steps = defaultdict(list)  # by type and action: (s, r, t)

    def change(self, s, t):
        return tuple(
            y - x if ordinal else None if x == y else y
            for x, y, ordinal in zip(self.x[s], self.x[t], self.ordinal, strict=True)
        )

    def alike(self, s, o):
        truth, described = self.task.truth.to_dense(), []
        for state in (s, o):
            what = [bool(truth.terminal[state])]
            for a in self.A:
                P = truth.transitions[state, a]
                ways = {
                    (*self.change(state, t), bool(truth.terminal[t])): P[t].round(9)
                    for t in self.S
                    if P[t] > 0
                }
                paid = 0.0 if self.rewards_known() else truth.rewards[state, a].round(9)
                what.append((bool(truth.available[state, a]), paid, ways))
            described.append(what)
        return described[0] == described[1]

    def learn(self, s, h, a, r, t, end):
        steps = self.steps[self.type[s], a]
        if len(steps) >= self.agent.m:
            return False
        if end == TERMINATED and t not in self.seen_to_end:
            self.seen_to_end.add(t)
            self.stale = True
        steps.append((s, r, t))
        self.stale |= len(steps) == self.agent.m
        return self.stale

    def think(self):
        model, ends = {}, set(self.seen_to_end)
        for s, a in [(o, b) for o in self.S for b in self.actions[o]]:
            steps = self.steps[self.type[s], a]
            if len(steps) < self.agent.m:
                model[s, a] = (0.0, {}, 1.0)
                continue
            P = Counter()
            for o, _, t in steps:
                for to in self.S:  # the state to which the same change leads from here
                    wanted = [
                        x + d if ordinal else x if d is None else d
                        for x, d, ordinal in zip(
                            self.x[s], self.change(o, t), self.ordinal, strict=True
                        )
                    ]
                    if self.x[to] == wanted:
                        P[to] += 1
                        ends |= {to} if t in self.seen_to_end else set()
            total = sum(P.values())
            r = sum(paid for _, paid, _ in steps) / len(steps)
            P = {t: n / total for t, n in P.items()}
            model[s, a] = (r, P, 0.0) if total else (r, {}, 1.0)
        self.plan(model, ends)


class MORMax(Heaven):
    def start(self):
        super().start()
        self.fresh, self.model = defaultdict(list), {}
        self.tried, self.pending = {}, None
        self.drop = self.agent.drop * (self.high - self.low) * self.H

    def learn(self, s, h, a, r, t, end):
        if end == TERMINATED and t not in self.seen_to_end:
            self.seen_to_end.add(t)
            self.stale = True
        x = s, a
        self.fresh[x].append((r, t))
        if len(self.fresh[x]) == self.agent.m:
            if x not in self.model or self.tried[x] - self.q[0][x] > self.drop:
                self.pending = x
            else:
                self.fresh[x] = []
        return self.stale or self.pending is not None

    def planned(self, samples):
        model = {}
        for x in ((s, a) for s in self.S for a in self.actions[s]):
            model[x] = (0.0, {}, 1.0)
            if x in samples:
                paid, to = zip(*samples[x], strict=True)
                P = {t: to.count(t) / len(to) for t in set(to)}
                model[x] = (sum(paid) / len(paid), P, 0.0)
        self.plan(model, set(self.seen_to_end))

    def think(self):
        if self.stale:
            self.planned(self.model)
        if self.pending is None:
            return
        x, before = self.pending, self.q
        self.planned(self.model | {x: self.fresh[x]})
        if self.q[0][x] <= before[0][x] + 1e-9:
            self.model[x] = self.fresh[x]
        else:
            self.q = before
        self.tried[x], self.fresh[x], self.pending = self.q[0][x], [], None


def explained(model, truth):
    """Largest difference in L1 between the rows of a model and of the truth, where supported."""
    rows = np.abs(model.to_dense().transitions - truth.to_dense().transitions).sum(axis=2)
    return float(rows[model.supported & truth.available & ~truth.terminal[:, None]].max())
