"""Algorithms 1 and 2 of the paper, and the other walks, transcribed: slow and obvious."""

from __future__ import annotations

import math

from gim.runs.loop import streams


class Literal:
    """GIM as the paper writes it, with the tie rule, 0/0 and ceil that gim documents."""

    def __init__(self, mdp, m, rho, beta, seed, surplus=None):
        self.S, self.A, self.H = mdp.S, mdp.A, mdp.horizon
        self.m, self.rho, self.beta = m, rho, beta
        self.most = math.inf if surplus is None else m + surplus
        self.actions = [[a for a in range(self.A) if mdp.available[s, a]] for s in range(self.S)]
        self.pairs = sum(map(len, self.actions))
        self.n = [[0] * self.A for _ in range(self.S)]
        self.n3 = [[[0] * self.S for _ in range(self.A)] for _ in range(self.S)]
        self.R = [[0.0] * self.A for _ in range(self.S)]
        self.mask = [[0] * self.A for _ in range(self.S)]
        self.terminal = set()
        random = streams(seed)
        self.rng = random.agent
        self.world_seed = random.world_seed

    def is_rho_known(self, s):
        if s in self.terminal:
            return True
        needed = math.ceil(self.rho * len(self.actions[s]) - 1e-9)
        return sum(self.mask[s]) >= max(1, needed)

    def unknown(self, s):
        return [a for a in self.actions[s] if not self.mask[s][a]]

    def any_of(self, actions):
        return actions[int(self.rng.random() * len(actions))]

    def best(self, score, u):
        """argmax, any of those that attain the maximum: u, uniform from beta to 1, says which."""
        ties = [a for a in score if score[a] == max(score.values())]
        return ties[int((u - self.beta) / (1 - self.beta) * len(ties))]

    def walk(self, s):
        """beta-CuriousWalking, Algorithm 1."""
        u = self.rng.random()
        if u < self.beta:  # 1
            return self.actions[s][int(u / self.beta * len(self.actions[s]))]  # 2
        if not self.is_rho_known(s):  # 3
            candidates = list(self.actions[s])  # 4
            for a in self.actions[s]:  # 5
                if self.mask[s][a]:
                    candidates.remove(a)  # 6
            return self.best({a: self.n[s][a] for a in candidates}, u)  # 7
        t = {}
        for a in self.actions[s]:  # 8
            t[a] = 0.0
            if self.n[s][a] > 0:
                for next_ in range(self.S):
                    if not self.is_rho_known(next_):
                        t[a] += self.n3[s][a][next_]
                t[a] /= self.n[s][a]  # 9
        return self.best(t, u)  # 10

    def saw(self, s, a, t):
        """What a walk does with a step that was counted."""

    def nothing_left(self):
        """Whether a walk knows that there is nothing left to find."""
        return False

    def known_pairs(self):
        return sum(map(sum, self.mask))

    def goal(self):
        return max(1, math.ceil(self.rho * self.pairs - 1e-9))

    def explore(self, env, steps):
        """Lines 4 to 15 of Algorithm 2: the actions up to the step that ends exploration."""
        taken, episode = [], 0
        observation, _ = env.reset(seed=self.world_seed)
        self.h = 0
        while len(taken) < steps:
            s = int(observation)
            a = self.walk(s)  # 8
            observation, r, terminated, truncated, _ = env.step(a)  # 9
            t = int(observation)
            taken.append(a)
            kept = self.n[s][a] < self.most or (terminated and t not in self.terminal)
            if kept:
                self.n[s][a] += 1  # 10
                self.n3[s][a][t] += 1  # 11
                self.R[s][a] += r  # 12
            if self.n[s][a] >= self.m:  # 14
                self.mask[s][a] = 1
            if terminated and t not in self.terminal:
                self.terminal.add(t)
                for b in self.actions[t]:
                    self.mask[t][b] = 1
            if kept:
                self.saw(s, a, t)
            done = self.known_pairs() >= self.goal() or self.nothing_left()
            explored = episode if done else None  # 15
            self.h += 1
            if terminated or truncated:
                episode, self.h = episode + 1, 0
                observation, _ = env.reset()
            self.s = int(observation)
            if explored is not None:
                return taken, explored
        return taken, None

    def plan(self, P, r):
        """Line 20: the optimal policy over the horizon, by loops; the lowest action wins a tie."""
        v = [0.0] * self.S
        self.policy = [None] * self.H
        for h in reversed(range(self.H)):
            best, self.policy[h] = [], []
            for s in range(self.S):
                q = {}
                for a in self.actions[s]:
                    expected = 0.0
                    for t in range(self.S):
                        expected += P[s][a][t] * v[t]
                    q[a] = r[s][a] + expected
                choice = max(q, key=lambda a: (q[a], -a))
                self.policy[h].append(choice)
                best.append(q[choice])
            v = best

    def exploit(self, env, steps):
        """Lines 21-22, from where exploration ended."""
        taken = []
        while len(taken) < steps:
            a = self.policy[self.h][self.s]
            observation, _, terminated, truncated, _ = env.step(a)
            taken.append(a)
            self.h += 1
            if terminated or truncated:
                self.h = 0
                observation, _ = env.reset()
            self.s = int(observation)
        return taken


class Published(Literal):
    """The walk of the published code, by what is known of it."""

    def walk(self, s):
        u = self.rng.random()
        if u < self.beta:
            return self.actions[s][int(u / self.beta * len(self.actions[s]))]
        best = self.any_of(self.actions[s])
        for a in self.actions[s]:
            if self.is_rho_known(s):
                if self.leads_to_unknown(s, a) > self.leads_to_unknown(s, best):
                    best = a
            elif self.visits(s, a) > self.visits(s, best):
                if not self.mask[s][a]:
                    best = a
            elif self.visits(s, a) < self.visits(s, best):
                continue
            elif self.known_in(a) < self.known_in(best):
                best = a
        return best

    def visits(self, s, a):
        return min(self.n[s][a], self.m + 1)

    def known_in(self, a):
        return sum(self.mask[s][a] for s in range(self.S))

    def leads_to_unknown(self, s, a):
        """How often the same action is unknown where this one leads."""
        if self.n[s][a] == 0:
            return 0.0
        hits = sum(self.n3[s][a][t] for t in range(self.S) if not self.mask[t][a])
        return hits / self.n[s][a]


HERE, NOWHERE = "here", "nowhere"


class Planned(Literal):
    """Planned walking: ways mended as the module says, all lists made anew from what was met."""

    gamma, detour = 0.95, 0.5

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.met = []  # transitions (s, a, s') in the order they were met
        self.p = {}  # as of the last look
        self.own, self.worth = [1.0] * self.S, [1.0] * self.S
        self.way, self.hope = [HERE] * self.S, list(range(self.S))

    def walk(self, s):
        u = self.rng.random()
        if u < self.beta:
            return self.actions[s][int(u / self.beta * len(self.actions[s]))]
        if self.way[s] == HERE:
            visits = {a: self.n[s][a] for a in self.unknown(s)}
            return self.best({a: n if n > 0 else math.inf for a, n in visits.items()}, u)
        return self.any_of(self.actions[s]) if self.way[s] == NOWHERE else self.way[s]

    def saw(self, s, a, t):
        new = (s, a, t) not in self.met
        ended = t in self.terminal and self.own[t] > 0
        if new:
            self.met.append((s, a, t))
        if ended:
            self.lose(t, 0.0)
        if not self.is_rho_known(s):
            return
        own = self.detour if self.unknown(s) else 0.0
        if own < self.own[s]:
            self.lose(s, own)
        elif new or ended or self.n[s][a] == self.m or math.log2(self.n[s][a]).is_integer():
            self.look(s, a)
            worth, _ = self.leads(s, a)
            if self.way[s] == a or worth > self.worth[s]:
                old = self.worth[s]
                self.reckon(s)
                self.tell([(s, old)])

    def nothing_left(self):
        met = {s for s, _, _ in self.met} | {t for _, _, t in self.met}
        return not any(self.unknown(s) for s in met)

    def look(self, s, a):
        self.p[s, a] = {t: self.n3[s][a][t] / self.n[s][a] for t in self.after(s, a)}

    def after(self, s, a):
        return [t for s2, a2, t in reversed(self.met) if (s2, a2) == (s, a)]

    def before(self, t):
        return [(s, a) for s, a, t2 in reversed(self.met) if t2 == t]

    def leads(self, s, a):
        """Worth of (s, a) as a way, and the best state it may lead to."""
        others = {t: p for t, p in self.p.get((s, a), {}).items() if t != s}
        if not others:
            return 0.0, s
        total = 0.0
        for t, p in others.items():
            total += p * self.worth[t]
        stay = self.p[s, a].get(s, 0.0)
        return self.gamma * total / (1.0 - self.gamma * stay), max(
            others, key=self.worth.__getitem__
        )

    def reckon(self, s):
        best = self.own[s], HERE if self.own[s] > 0 else NOWHERE, s
        for a in range(self.A):
            worth, hope = self.leads(s, a)
            if worth > best[0]:
                best = worth, a, hope
        self.worth[s], self.way[s], self.hope[s] = best

    def slack(self):
        return 0.25 * (1 - self.gamma)

    def tell(self, changed):
        """Tell those whom a change may concern; `changed` are states and what they were worth."""
        while changed:
            t, old = changed.pop(0)
            for s, a in self.before(t) if self.worth[t] != old else []:
                concerns = self.worth[t] > old or self.way[s] == a
                if concerns and self.own[s] < 1 and s != t:
                    self.consider(s, a, changed)

    def consider(self, s, a, changed):
        """Take (s, a) if it is better, leave it if it is worse; note s with what it was worth."""
        (worth, hope), old = self.leads(s, a), self.worth[s]
        better = worth > (1 + self.slack()) * old
        worse = self.way[s] == a and worth < (1 - self.slack()) * old
        if (better or worse) and s not in [other for other, _ in changed]:
            changed.append((s, old))
        if better:
            self.worth[s], self.way[s], self.hope[s] = worth, a, hope
        elif worse:
            self.reckon(s)

    def lose(self, goal, own):
        """A goal has gone: all that hoped for it forget their ways and look for others."""
        self.own[goal] = own
        for a in range(self.A):
            self.look(goal, a)
        lost, i = [(goal, self.worth[goal])], 0
        self.worth[goal], self.way[goal] = 0.0, NOWHERE
        while i < len(lost):
            for s, a in self.before(lost[i][0]):
                if self.way[s] == a and self.hope[s] == lost[i][0]:
                    lost.append((s, self.worth[s]))
                    self.worth[s], self.way[s] = 0.0, NOWHERE
            i += 1
        states, back, sweeps = [s for s, _ in lost], True, 2
        while sweeps:
            sweeps -= 1
            for s in reversed(states) if back else states:
                was = self.worth[s]
                self.reckon(s)
                if self.worth[s] > (1 + self.slack()) * was:
                    sweeps = 1
            back = not back
        self.tell(lost)
