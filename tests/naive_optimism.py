"""Slow, literal twins of the optimistic agents, straight from the publications.

Optimistic values tie exactly where all is unknown, and rounding then decides. So a twin is given
the experience of the agent (`replayed`), and must come to the same values from it.
"""

from __future__ import annotations

import math

import numpy as np

from gim.mdp.sampling import CUT, GO_ON, TERMINATED
from gim.runs.loop import streams
from gim.runs.run import prepare, task_of
from tests import naive_agents


def replayed(twin, agent, mdp, episodes, seed):
    """The run of an agent, and its twin after the same experience."""
    env, steps = mdp.to_gymnasium(), []
    reset, advance = env.reset, env.step

    def noting_reset(**options):
        noting_reset.s, info = reset(**options)
        return noting_reset.s, info

    def noting_step(a):
        t, r, terminated, cut, info = advance(a)
        end = TERMINATED if terminated else CUT if cut else GO_ON
        steps.append((int(noting_reset.s), int(a), float(r), int(t), end))
        noting_reset.s = t
        return t, r, terminated, cut, info

    env.reset, env.step = noting_reset, noting_step
    run = prepare(agent, env, episodes, seed).go()
    random = streams(seed)
    mind, h = twin(agent, task_of(mdp), random.agent, random.thinking), 0
    mind.think()
    for s, a, r, t, end in steps:
        mind.check(s, h, a)
        if mind.learn(s, h, a, r, t, end):
            mind.think()
        h = h + 1 if end == GO_ON else 0
    return run, mind


class ModelBased(naive_agents.ModelBased):
    """As there, with the values of every step kept in `q` [H, S, A]."""

    def start(self):
        super().start()
        self.plans = 0

    def check(self, s, h, a):
        """What the agent did is best, up to rounding."""
        row = self.q[h, s]
        assert row[a] >= row.max() - 1e-9 * max(1.0, abs(row.max()))

    def induct(self, value):
        self.plans += 1
        self.q = np.full((self.H, self.task.S, self.task.A), -np.inf)

        def noted(h, s, a, v):
            self.q[h, s, a] = value(h, s, a, v)
            return self.q[h, s, a]

        for s in self.terminal:
            self.q[:, s, self.actions[s]] = 0.0
        super().induct(noted)


def best_row(p, v, width):
    """The distribution within an L1 distance of p, {state: probability}, that is best for v.

    Figure 2 of Auer, Jaksch and Ortner (2009): add to the best, take from the worst.
    """
    order = sorted(p, key=lambda t: -v[t])
    new = dict(p)
    new[order[0]] = min(1.0, p[order[0]] + width / 2)
    last = len(order) - 1
    while sum(new.values()) > 1 + 1e-15 and last > 0:
        others = sum(new[t] for t in order if t != order[last])
        new[order[last]] = max(0.0, 1 - others)
        last -= 1
    return new


class Intervals(ModelBased):
    """What MBIE and UCRL2 share: `widths(n)` gives those of rewards and rows."""

    def think(self):
        self.before = dict(self.n)
        self.at = max(self.T, 1)
        self.induct(self.value)

    def value(self, h, s, a, v):
        n = self.n[s, a]
        if n == 0:
            return self.most(h)
        of_reward, of_row = self.widths(n)
        r = min(self.high, self.R[s, a] / n + of_reward * (self.high - self.low))
        p = best_row({t: self.N[s, a, t] / n for t in self.S}, v, of_row)
        return min(self.most(h), r + sum(p[t] * v[t] for t in self.S))


class MBIE(Intervals):
    def widths(self, n):
        S, A, scale = self.task.S, self.task.A, self.agent.scale
        d = self.agent.delta / (2 * S * A * self.at)
        of_reward = math.sqrt(math.log(2 / d) / (2 * n))
        of_row = math.sqrt(2 * (math.log(2**S - 2) - math.log(d)) / n)
        return scale * of_reward, scale * of_row


class UCRL2(Intervals):
    def learn(self, s, h, a, r, t, end):
        self.count(s, a, r, t, end)
        before = self.before.get((s, a), 0)
        return self.n[s, a] - before >= max(1, before)

    def widths(self, n):
        S, A, scale = self.task.S, self.task.A, self.agent.scale
        of_reward = math.sqrt(7 * math.log(2 * S * A * self.at / self.agent.delta) / (2 * n))
        of_row = math.sqrt(14 * S * math.log(2 * A * self.at / self.agent.delta) / n)
        return scale * of_reward, scale * of_row


class UBEV(ModelBased):
    def think(self):
        self.induct(self.value)

    def learn(self, s, h, a, r, t, end):
        self.count(s, a, r, t, end)
        return end != GO_ON

    def value(self, h, s, a, v):
        n, w = self.n[s, a], self.high - self.low
        if n == 0:
            return self.most(h)
        pairs = self.task.S * self.task.A
        log = math.log(27 * pairs * self.H / self.agent.delta)
        phi = self.agent.scale * math.sqrt((2 * math.log(math.log(max(math.e, n))) + log) / n)
        r = min(self.high, self.R[s, a] / n + w * phi)
        future = min(max(v.values()), self.expect(s, a, v) + w * (self.H - h - 1) * phi)
        return min(self.most(h), r + future)


class ORLC(ModelBased):
    def start(self):
        super().start()
        self.certificates = []

    def learn(self, s, h, a, r, t, end):
        if h == 0:
            self.certificates.append(self.q[0, s].max() - self.lower[0][s])
        self.count(s, a, r, t, end)
        return end != GO_ON

    def phi(self, n):
        S, A = self.task.S, self.task.A
        log = math.log(26 * S * A * (self.H + 1 + S) / self.agent.delta)
        lil = 1.4 * math.log(math.log(max(math.e, 2 * n)))
        return self.agent.scale * min(1, math.sqrt(0.52 / n * (lil + log)))

    def think(self):
        self.lower = {self.H: dict.fromkeys(self.S, 0.0)}
        self.below = {}
        self.induct(self.value)
        self.lower_step(0)

    def lower_step(self, h):
        """The lower values of step h, once its greedy actions are known."""
        self.lower[h] = {
            s: 0.0 if s in self.terminal else self.below[h, s, self.policy[h, s]] for s in self.S
        }

    def value(self, h, s, a, v):
        if h + 1 not in self.lower:
            self.lower_step(h + 1)
        least, w, n = min(self.low, 0) * (self.H - h), self.high - self.low, self.n[s, a]
        if n == 0:
            self.below[h, s, a] = least
            return self.most(h)
        up, down = self.expect(s, a, v), self.expect(s, a, self.lower[h + 1])
        sigma = math.sqrt(self.expect(s, a, {t: (v[t] - up) ** 2 for t in self.S}))
        r, phi = self.R[s, a] / n, self.phi(n)
        psi = (w + math.sqrt(12) * sigma) * phi
        psi += 45 * self.task.S * self.H**2 * w * phi**2
        psi += (up - down) / self.H
        self.below[h, s, a] = max(least, r + down - psi)
        return min(self.most(h), r + up + psi)


class E3(ModelBased):
    def start(self):
        super().start()
        rank = self.rng.permuted(np.tile(np.arange(self.task.A), (self.task.S, 1)), axis=1)
        self.rank = {(s, a): rank[s, a] for s in self.S for a in self.A}
        self.exploring = None  # or whether it does, in known states

    def known(self, s):
        return s in self.terminal or all(self.n[s, a] >= self.agent.m for a in self.actions[s])

    def check(self, s, h, a):
        if not self.known(s):
            self.exploring = None
            few = min(self.actions[s], key=lambda b: self.order(s, b))
            assert a == few
            return
        if self.exploring is None:
            self.exploring = self.escape[h, s].max() > self.agent.epsilon
        row = (self.escape if self.exploring else self.inside)[h, s]
        assert row[a] >= row.max() - 1e-9

    def order(self, s, a):
        """Balanced wandering over the actions that are not known yet."""
        return self.n[s, a] >= self.agent.m, self.n[s, a], self.rank[s, a]

    def learn(self, s, h, a, r, t, end):
        before = {x for x in self.S if self.known(x)}
        self.count(s, a, r, t, end)
        new = {x for x in self.S if self.known(x)} != before
        if new or end != GO_ON:
            self.exploring = None
        return new

    def think(self):
        self.induct(self.way_out)
        self.escape, self.plans = self.q, self.plans - 1
        self.induct(self.paid)
        self.inside = self.q

    def way_out(self, h, s, a, v):
        if h == self.H - 1 or not self.known(s):  # nothing can be tried after the last step
            return 0.0
        n = self.n[s, a]
        return sum(self.N[s, a, t] / n * (v[t] if self.known(t) else 1.0) for t in self.S)

    def paid(self, h, s, a, v):
        if not self.known(s):
            return min(self.low, 0) * (self.H - h)
        return self.R[s, a] / self.n[s, a] + self.expect(s, a, v)
