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
