"""Slow, literal twins of the agents: dictionaries and loops, straight from the publications.

A twin draws from the same streams in the same order, so it must make the same choices, step by
step. `play` drives it; `recorded` gives what the real agent did.
"""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np

from gim._compile.jit import plain
from gim.agents.psrl import gamma
from gim.mdp.sampling import CUT, GO_ON, TERMINATED, begin, noisy_step, step
from gim.runs.loop import streams
from gim.runs.run import prepare, task_of


def play(twin, agent, mdp, episodes, seed):
    """What a twin did: states and actions [steps, 2], returns of episodes, and the twin."""
    random, start = streams(seed), plain(begin)
    draw = plain(step if mdp.noise is None else noisy_step)
    mind = twin(agent, task_of(mdp), random.agent, random.thinking)
    moves, returns = [], []
    mind.think()
    for _ in range(episodes):
        s, total = start(mdp.world, random.world), 0.0
        for h in range(mdp.horizon):
            a = mind.act(s, h)
            t, r, end = draw(mdp.world, s, a, random.world)
            if end == GO_ON and h + 1 == mdp.horizon:
                end = CUT
            moves.append((s, a))
            total += r
            if mind.learn(s, h, a, r, t, end):
                mind.think()
            s = t
            if end != GO_ON:
                break
        returns.append(total)
    return np.array(moves), np.array(returns), mind


def recorded(agent, mdp, episodes, seed):
    """The same of the agent itself, and its run."""
    env, moves = mdp.to_gymnasium(), []
    reset, advance = env.reset, env.step

    def noting_reset(**options):
        noting_reset.s, info = reset(**options)
        return noting_reset.s, info

    def noting_step(a):
        moves.append((int(noting_reset.s), int(a)))
        noting_reset.s, *rest = advance(a)
        return noting_reset.s, *rest

    env.reset, env.step = noting_reset, noting_step
    run = prepare(agent, env, episodes, seed).go()
    return np.array(moves), run.returns, run


class Twin:
    def __init__(self, agent, task, rng, thinking):
        self.agent, self.task, self.rng, self.thinking = agent, task, rng, thinking
        self.S, self.A, self.H = range(task.S), range(task.A), task.H
        self.actions = {s: [a for a in self.A if task.available[s, a]] for s in self.S}
        self.start()

    def think(self):
        pass

    def table(self, q):
        """Values as an array; -inf where an action does not exist."""
        return np.array(
            [[q[s, a] if a in self.actions[s] else -np.inf for a in self.A] for s in self.S]
        )

    def greedy_at_first(self):
        u = [self.rng.random() for _ in self.S]
        return {s: self.actions[s][int(u[s] * len(self.actions[s]))] for s in self.S}

    def epsilon_greedy(self, s, best):
        u = self.rng.random()
        if u < self.agent.epsilon:
            return self.actions[s][int(u / self.agent.epsilon * len(self.actions[s]))]
        return best[s]

    def stay_or_lowest_best(self, q, best, s):
        """A greedy action stays as long as no other is better."""
        top = max(q[s, a] for a in self.actions[s])
        if q[s, best[s]] < top:
            best[s] = next(a for a in self.actions[s] if q[s, a] == top)


class QLearning(Twin):
    def start(self):
        self.q = {(s, a): self.agent.initial for s in self.S for a in self.A}
        self.best = self.greedy_at_first()

    def act(self, s, h):
        return self.epsilon_greedy(s, self.best)

    def learn(self, s, h, a, r, t, end):
        future = max(self.q[t, b] for b in self.actions[t]) if end != TERMINATED else 0.0
        target = r + self.agent.gamma * future
        self.q[s, a] += self.agent.alpha * (target - self.q[s, a])
        self.stay_or_lowest_best(self.q, self.best, s)

    def values(self):
        return self.table(self.q)


class SARSA(Twin):
    def start(self):
        self.q = {(s, a): self.agent.initial for s in self.S for a in self.A}
        self.best = self.greedy_at_first()
        self.following = None

    def act(self, s, h):
        return self.epsilon_greedy(s, self.best) if h == 0 else self.following

    def learn(self, s, h, a, r, t, end):
        future = 0.0
        if end != TERMINATED:
            self.following = self.epsilon_greedy(t, self.best)
            future = self.q[t, self.following]
        self.q[s, a] += self.agent.alpha * (r + self.agent.gamma * future - self.q[s, a])
        self.stay_or_lowest_best(self.q, self.best, s)

    def values(self):
        return self.table(self.q)


class DoubleQLearning(Twin):
    def start(self):
        self.q = [{(s, a): self.agent.initial for s in self.S for a in self.A} for _ in "AB"]
        self.best = [self.greedy_at_first() for _ in "AB"]
        self.sum = {(s, a): 2 * self.agent.initial for s in self.S for a in self.A}
        self.best_of_sum = self.greedy_at_first()

    def act(self, s, h):
        return self.epsilon_greedy(s, self.best_of_sum)

    def learn(self, s, h, a, r, t, end):
        one, other = (0, 1) if self.rng.random() < 0.5 else (1, 0)
        q = self.q[one]
        future = self.q[other][t, self.best[one][t]] if end != TERMINATED else 0.0
        q[s, a] += self.agent.alpha * (r + self.agent.gamma * future - q[s, a])
        self.sum[s, a] = self.q[0][s, a] + self.q[1][s, a]
        self.stay_or_lowest_best(q, self.best[one], s)
        self.stay_or_lowest_best(self.sum, self.best_of_sum, s)

    def values(self):
        return np.array([self.table(q) for q in (*self.q, self.sum)])


class DelayedQLearning(Twin):
    def start(self):
        r_max = self.task.reward_range[1] if self.agent.r_max is None else self.agent.r_max
        pairs = [(s, a) for s in self.S for a in self.A]
        self.q = dict.fromkeys(pairs, r_max / (1 - self.agent.gamma) if r_max >= 0 else r_max)
        self.U, self.l = dict.fromkeys(pairs, 0.0), dict.fromkeys(pairs, 0)
        self.t, self.LEARN = dict.fromkeys(pairs, 0), dict.fromkeys(pairs, True)
        self.now = self.t_star = 0
        self.epsilon1 = self.agent.epsilon1 * abs(r_max)
        self.best = self.greedy_at_first()

    def act(self, s, h):
        return self.best[s]

    def learn(self, s, h, a, r, t, end):
        self.now += 1
        x = s, a
        if self.LEARN[x]:
            future = max(self.q[t, b] for b in self.actions[t]) if end != TERMINATED else 0.0
            self.U[x] += r + self.agent.gamma * future
            self.l[x] += 1
            if self.l[x] == self.agent.m:
                if self.q[x] - self.U[x] / self.agent.m >= 2 * self.epsilon1:
                    self.q[x] = self.U[x] / self.agent.m + self.epsilon1
                    self.t_star = self.now
                elif self.t[x] >= self.t_star:
                    self.LEARN[x] = False
                self.t[x], self.U[x], self.l[x] = self.now, 0.0, 0
        elif self.t[x] < self.t_star:
            self.LEARN[x] = True
        self.stay_or_lowest_best(self.q, self.best, s)

    def values(self):
        return self.table(self.q)


class OptimisticQLearning(Twin):
    """Algorithms 1 and 2 of the publication, every V_{h+1}(s') kept in a list."""

    def start(self):
        low, high = self.task.reward_range
        high = high if self.agent.r_max is None else self.agent.r_max
        self.width, self.top = high - low, [max(high, 0) * (self.H - h) for h in range(self.H)]
        steps = range(self.H)
        self.Q = {(h, s, a): self.top[h] for h in steps for s in self.S for a in self.A}
        self.V = {(h, s): self.top[h] for h in steps for s in self.S}
        self.V |= {(self.H, s): 0.0 for s in self.S}
        self.seen, self.beta, self.T = defaultdict(list), defaultdict(float), 0
        u = {(h, s): self.rng.random() for h in steps for s in self.S}
        self.best = {x: self.actions[x[1]][int(u[x] * len(self.actions[x[1]]))] for x in u}

    def act(self, s, h):
        return self.best[h, s]

    def learn(self, s, h, a, r, t, end):
        x, H, c = (h, s, a), self.H, self.agent.c
        self.T += 1
        future = self.V[h + 1, t] if end != TERMINATED else 0.0
        self.seen[x].append(future)
        n, SA = len(self.seen[x]), self.task.S * self.task.A
        alpha, iota = (H + 1) / (H + n), math.log(SA * self.T / self.agent.delta)
        bonus = c * self.width * math.sqrt(H**3 * iota / n)
        if self.agent.bonus == "bernstein":
            spread = np.var(self.seen[x]) + self.width**2 * H
            rest = self.agent.rest * self.width * math.sqrt(H**7 * SA) * iota / n
            beta = min(c * (math.sqrt(H / n * spread * iota) + rest), bonus)
            bonus = (beta - (1 - alpha) * self.beta[x]) / (2 * alpha)
            self.beta[x] = beta
        self.Q[x] = (1 - alpha) * self.Q[x] + alpha * (r + future + bonus)
        q = {(s, b): self.Q[h, s, b] for b in self.actions[s]}
        best = {s: self.best[h, s]}
        self.stay_or_lowest_best(q, best, s)
        self.best[h, s], self.V[h, s] = best[s], min(self.top[h], max(q.values()))

    def values(self):
        steps = range(self.H)
        return np.array(
            [self.table({x[1:]: self.Q[x] for x in self.Q if x[0] == h}) for h in steps]
        )


class ModelBased(Twin):
    """Counts in dictionaries, and backward induction over any values of pairs."""

    def start(self):
        self.n, self.R, self.R2 = defaultdict(int), defaultdict(float), defaultdict(float)
        self.N = defaultdict(int)
        self.terminal, self.T = set(), 0
        self.low, self.high = self.task.reward_range
        if getattr(self.agent, "r_max", None) is not None:
            self.high = self.agent.r_max

    def count(self, s, a, r, t, end):
        self.n[s, a] += 1
        self.N[s, a, t] += 1
        self.R[s, a] += r
        self.R2[s, a] += r * r
        self.T += 1
        if end == TERMINATED:
            self.terminal.add(t)

    def act(self, s, h):
        return self.policy[h, s]

    def learn(self, s, h, a, r, t, end):
        self.count(s, a, r, t, end)
        return end != GO_ON

    def most(self, h):
        """The most that can come from step h on."""
        return max(self.high, 0) * (self.H - h)

    def expect(self, s, a, v):
        return sum(self.N[s, a, t] * v[t] for t in self.S) / self.n[s, a]

    def induct(self, value):
        """Fill the policy, where value(h, s, a, v) looks at the values v of the next step."""
        self.policy, v = {}, dict.fromkeys(self.S, 0.0)
        for h in reversed(range(self.H)):
            new = {}
            for s in self.S:
                if s in self.terminal:
                    q = dict.fromkeys(self.actions[s], 0.0)
                else:
                    q = {a: value(h, s, a, v) for a in self.actions[s]}
                self.policy[h, s] = max(q, key=lambda a: (q[a], -a))
                new[s] = max(q.values())
            v = new
        self.v = v


class RMax(ModelBased):
    def start(self):
        super().start()
        self.known = set()
        rank = self.rng.permuted(np.tile(np.arange(self.task.A), (self.task.S, 1)), axis=1)
        self.rank = {(s, a): rank[s, a] for s in self.S for a in self.A}
        self.plans = 0
        self.ties = None  # what a lookahead finds equally good, by state

    def state_known(self, s):
        return all((s, a) in self.known for a in self.actions[s])

    def act(self, s, h):
        if self.state_known(s) and self.ties:
            return self.ties[s][int(self.rng.random() * len(self.ties[s]))]
        if self.state_known(s):
            return self.policy[h, s]
        unknown = [a for a in self.actions[s] if (s, a) not in self.known]
        return min(unknown, key=lambda a: (self.n[s, a], self.rank[s, a]))

    def learn(self, s, h, a, r, t, end):
        before, ends = set(self.known), set(self.terminal)
        if self.n[s, a] < self.agent.m + self.agent.surplus:
            self.count(s, a, r, t, end)
        if end == TERMINATED:
            self.terminal.add(t)
            self.known |= {(t, b) for b in self.actions[t]}
        if self.n[s, a] == self.agent.m:
            self.known.add((s, a))
        if self.terminal != ends:
            return True
        if self.agent.plan_per == "pair":
            return self.known != before
        return (s, a) not in before and self.state_known(s)

    def think(self):
        self.plans += 1
        if self.agent.planner == "finite":
            self.induct(self.value)
            return
        gamma, heaven = self.agent.gamma, max(self.high, 0) / (1 - self.agent.gamma)
        reward = {
            (s, a): 0.0
            if s in self.terminal
            else self.R[s, a] / self.n[s, a]
            if (s, a) in self.known
            else self.high
            for s in self.S
            for a in self.actions[s]
        }
        v = {s: max(reward[s, a] for a in self.actions[s]) for s in self.S}
        after = max(self.high, 0) if self.agent.planner == "lookahead" else heaven
        for _ in range(1 if self.agent.planner == "lookahead" else 600):
            q = {
                (s, a): reward[s, a] + gamma * self.ahead(s, a, v, after)
                for s in self.S
                for a in self.actions[s]
            }
            v = {s: max(q[s, a] for a in self.actions[s]) for s in self.S}
        best = {s: max(self.actions[s], key=lambda a, s=s: (q[s, a], -a)) for s in self.S}
        if self.agent.planner == "lookahead":
            self.ties = {s: [a for a in self.actions[s] if q[s, a] == v[s]] for s in self.S}
            if all(self.state_known(s) for s in self.S):
                drawn = self.thinking.integers([len(self.ties[s]) for s in self.S])
                best, self.ties = {s: self.ties[s][drawn[s]] for s in self.S}, None
        self.policy = {(h, s): best[s] for h in range(self.H) for s in self.S}

    def ahead(self, s, a, v, after):
        if s in self.terminal:
            return v[s]
        return self.expect(s, a, v) if (s, a) in self.known else after

    def value(self, h, s, a, v):
        if (s, a) in self.known:
            return self.R[s, a] / self.n[s, a] + self.expect(s, a, v)
        return self.high + self.most(h + 1)


class UCBVI(ModelBased):
    def start(self):
        super().start()
        self.visits = []  # of pairs met before: how far each differed, and what it weighs
        self.at_plan = {(s, a): 0 for s in self.S for a in self.A}

    def learn(self, s, h, a, r, t, end):
        n = self.n[s, a]
        if n:
            mean = self.R[s, a] / n
            same = abs(r - mean) <= 1e-9 * (1 + abs(mean))
            self.visits.append((1 - self.N[s, a, t] / n if same else 1.0, n))
        over = super().learn(s, h, a, r, t, end)
        if not self.agent.growth:
            return over
        growth = {pair: self.n[pair] - before for pair, before in self.at_plan.items()}
        if growth[s, a] >= max(2, self.at_plan[s, a]):
            return True
        return over and any(
            new and new >= self.agent.growth * self.at_plan[pair] for pair, new in growth.items()
        )

    def think(self):
        S, A = self.task.S, self.task.A
        self.L = math.log(5 * S * A * max(self.T, 1) / self.agent.delta)
        self.scale = self.rare = self.agent.scale
        if self.scale is None:
            self.scale = 1 / math.sqrt(2 * self.L * self.H)
            total = 1.0 + sum(off / n for off, n in self.visits)
            self.rare = self.scale * (total / (1.0 + sum(1 / n for _, n in self.visits)))
        self.induct(self.value)
        self.at_plan = {pair: self.n[pair] for pair in self.at_plan}

    def value(self, h, s, a, v):
        n = self.n[s, a]
        if n == 0:
            return self.most(h)
        r, mean = self.R[s, a] / n, self.expect(s, a, v)
        width = (self.high - self.low) * (self.H - h)
        if self.agent.bonus == "hoeffding":
            bonus = self.rare * width * math.sqrt(self.L / (2 * n))
        else:
            spread = max(0, self.expect(s, a, {t: v[t] ** 2 for t in self.S}) - mean**2)
            noise = max(0, self.R2[s, a] / n - r**2)
            bonus = self.scale * math.sqrt(2 * self.L * (spread + noise) / n)
            bonus += self.rare * width * self.L / (3 * n)
        return min(self.most(h), r + mean + bonus)


class MBIEEB(ModelBased):
    def think(self):
        self.induct(self.value)

    def value(self, h, s, a, v):
        n = self.n[s, a]
        if n == 0:
            return self.most(h)
        bonus = self.agent.beta * (self.high - self.low) / math.sqrt(n)
        return min(self.most(h), self.R[s, a] / n + self.expect(s, a, v) + bonus)


class PSRL(ModelBased):
    def think(self):
        rng, agent, S, draw = self.thinking, self.agent, self.task.S, plain(gamma)
        mu0 = self.low + agent.mean * (self.high - self.low)
        rate0 = agent.shape * (agent.spread * (self.high - self.low)) ** 2
        P, r = {}, {}
        for s in set(self.S) - self.terminal:
            for a in self.actions[s]:
                drawn = [draw(self.N[s, a, t] + agent.alpha / S, rng) for t in self.S]
                P[s, a] = [x / sum(drawn) for x in drawn]
                n, weight = self.n[s, a], agent.visits + self.n[s, a]
                mean = self.R[s, a] / n if n else 0
                rate = rate0 + max(0, self.R2[s, a] - n * mean**2) / 2
                rate += agent.visits * n * (mean - mu0) ** 2 / (2 * weight)
                tau = draw(agent.shape + n / 2, rng) / rate
                mu = (agent.visits * mu0 + self.R[s, a]) / weight
                r[s, a] = mu + rng.standard_normal() / math.sqrt(weight * tau)
        self.induct(lambda h, s, a, v: r[s, a] + sum(P[s, a][t] * v[t] for t in self.S))


class RLSVI(ModelBased):
    def think(self):
        z = self.thinking.standard_normal((self.H, self.task.S, self.task.A))
        sigma, k = self.agent.sigma * (self.high - self.low), self.agent.visits

        def value(h, s, a, v):
            n = self.n[s, a]
            targets = self.R[s, a] + (n * self.expect(s, a, v) if n else 0.0)
            mean = (k * self.most(h) + targets) / (k + n)
            return mean + sigma / math.sqrt(k + n) * z[h, s, a]

        self.induct(value)


class RTDPRMax(ModelBased):
    """One backup a step; values are kept in a dictionary, and fall only."""

    def start(self):
        super().start()
        gamma, top = self.agent.gamma, self.high
        top = top / (1 - gamma) if top >= 0 else top
        self.q = {(s, a): top for s in self.S for a in self.A}
        self.best = self.greedy_at_first()

    def act(self, s, h):
        return self.best[s]

    def learn(self, s, h, a, r, t, end):
        if self.agent.m is None or self.n[s, a] < self.agent.m:
            self.count(s, a, r, t, end)
        if end == TERMINATED:
            self.q |= {(t, b): 0.0 for b in self.A}
        if self.n[s, a] >= self.needed():
            v = {x: max(self.q[x, b] for b in self.actions[x]) for x in self.S}
            q = self.R[s, a] / self.n[s, a] + self.agent.gamma * self.expect(s, a, v)
            q += self.bonus(self.n[s, a])
            if self.q[s, a] - q >= self.agent.epsilon1 * (self.high - self.low):
                self.q[s, a] = q
                self.stay_or_lowest_best(self.q, self.best, s)

    def needed(self):
        return self.agent.m

    def bonus(self, n):
        return 0.0

    def values(self):
        return self.table(self.q)


class RTDPMBIE(RTDPRMax):
    def needed(self):
        return 1

    def bonus(self, n):
        return self.agent.beta * (self.high - self.low) / math.sqrt(n)
