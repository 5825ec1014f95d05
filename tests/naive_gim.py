"""Algorithms 1 and 2 of the paper, transcribed line by line: slow, obvious, nothing maintained."""

from __future__ import annotations

import math

import numpy as np

from gim.loop import streams


class Literal:
    """GIM as the paper writes it, with the tie rule, 0/0 and ceil that gim documents."""

    def __init__(self, mdp, m, rho, beta, seed):
        self.S, self.A, self.H = mdp.S, mdp.A, mdp.horizon
        self.m, self.rho, self.beta = m, rho, beta
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
        self.rank = self.rng.permuted(np.tile(np.arange(self.A), (self.S, 1)), axis=1)

    def is_rho_known(self, s):
        if s in self.terminal:
            return True
        needed = math.ceil(self.rho * len(self.actions[s]) - 1e-9)
        return sum(self.mask[s]) >= max(1, needed)

    def best(self, s, score):
        """argmax with the lower rank winning a tie."""
        return max(score, key=lambda a: (score[a], -self.rank[s][a]))

    def curious_walking(self, s):
        u = self.rng.random()
        if u < self.beta:  # 1
            return self.actions[s][int(u / self.beta * len(self.actions[s]))]  # 2
        if not self.is_rho_known(s):  # 3
            candidates = list(self.actions[s])  # 4
            for a in self.actions[s]:  # 5
                if self.mask[s][a]:
                    candidates.remove(a)  # 6
            return self.best(s, {a: self.n[s][a] for a in candidates})  # 7
        t = {}
        for a in self.actions[s]:  # 8
            t[a] = 0.0
            if self.n[s][a] > 0:
                for next_ in range(self.S):
                    if not self.is_rho_known(next_):
                        t[a] += self.n3[s][a][next_]
                t[a] /= self.n[s][a]  # 9
        return self.best(s, t)  # 10

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
            a = self.curious_walking(s)  # 8
            observation, r, terminated, truncated, _ = env.step(a)  # 9
            t = int(observation)
            taken.append(a)
            self.n[s][a] += 1  # 10
            self.n3[s][a][t] += 1  # 11
            self.R[s][a] += r  # 12
            if self.n[s][a] >= self.m:  # 14
                self.mask[s][a] = 1
            if terminated and t not in self.terminal:
                self.terminal.add(t)
                for b in self.actions[t]:
                    self.mask[t][b] = 1
            explored = episode if self.known_pairs() >= self.goal() else None  # 15
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
