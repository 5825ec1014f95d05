"""Safe policies of the literature from bare rows (s, a, r, t): plain, and apart from the package.

Each function takes rows of an endless log, the numbers of states and actions and the discount, and
gives probabilities [S][A]. An action that was never tried in a state is not played there, but in a
state that was never left, where the first action is.
"""

from __future__ import annotations

import math

SWEEPS = 420  # of value iteration: .95^420 is below 1e-9


class Data:
    """What was seen: visits, mean rewards, and shares of next states as dictionaries."""

    def __init__(self, rows, S, A):
        self.S, self.A = S, A
        self.n = [[0] * A for _ in range(S)]
        paid = [[[] for _ in range(A)] for _ in range(S)]
        after = [[{} for _ in range(A)] for _ in range(S)]
        for s, a, r, t in rows:
            self.n[s][a] += 1
            paid[s][a].append(r)
            after[s][a][t] = after[s][a].get(t, 0) + 1
        pairs = [(s, a) for s in range(S) for a in range(A) if self.n[s][a]]
        self.r = {(s, a): sum(paid[s][a]) / self.n[s][a] for s, a in pairs}
        self.var = {
            (s, a): sum((r - self.r[s, a]) ** 2 for r in paid[s][a]) / self.n[s][a]
            for s, a in pairs
        }
        self.p = {(s, a): {t: k / self.n[s][a] for t, k in after[s][a].items()} for s, a in pairs}
        self.tried = [[a for a in range(A) if self.n[s][a]] for s in range(S)]
        self.low, self.high = min(self.r.values()), max(self.r.values())
        self.behaviour = [
            [self.n[s][a] / sum(self.n[s]) if any(self.n[s]) else 0.0 for a in range(A)]
            for s in range(S)
        ]

    def ahead(self, pair, v):
        return sum(p * v[t] for t, p in self.p[pair].items())

    def stuck(self, gamma):
        """What a state that was never left is worth: it stays there at the least reward."""
        return min(self.low, 0.0) / (1 - gamma)


def best_by(data, gamma, worth):
    """Value iteration by `worth` of a pair and the values ahead, then the best tried action."""
    v = [0.0] * data.S
    for _ in range(SWEEPS):
        v = [
            max((worth((s, a), v) for a in data.tried[s]), default=data.stuck(gamma))
            for s in range(data.S)
        ]
    policy = []
    for s in range(data.S):
        scores = {a: worth((s, a), v) for a in data.tried[s]} or {0: 0.0}
        top = max(scores.values())
        equal = [a for a in scores if scores[a] > top - 1e-9 * (1 + abs(top))]
        chosen = max(equal, key=lambda a: data.behaviour[s][a])
        policy.append([float(a == chosen) for a in range(data.A)])
    return policy


def ramdp(data, gamma, kappa):
    """Petrik, Ghavamzadeh and Chow: rewards less kappa widths over the root of the visits."""
    cost = kappa * (data.high - data.low)

    def worth(pair, v):
        n = data.n[pair[0]][pair[1]]
        return data.r[pair] - cost / math.sqrt(n) + gamma * data.ahead(pair, v)

    return best_by(data, gamma, worth)


def r_min(data, gamma, n):
    """A pair met fewer than n times pays the least for ever."""

    def worth(pair, v):
        if data.n[pair[0]][pair[1]] < n:
            return data.low / (1 - gamma)
        return data.r[pair] + gamma * data.ahead(pair, v)

    return best_by(data, gamma, worth)


def vi_lcb(data, gamma, delta, scale, pairs):
    """Rashidinejad et al.: values less a Hoeffding bound over all pairs."""
    width = (data.high - data.low) / (1 - gamma)

    def worth(pair, v):
        n = data.n[pair[0]][pair[1]]
        bonus = scale * width * math.sqrt(math.log(2 * pairs / delta) / (2 * n))
        return max(data.r[pair] + gamma * data.ahead(pair, v) - bonus, data.low / (1 - gamma))

    return best_by(data, gamma, worth)


def spibb(data, gamma, n, lower=False):
    """Laroche et al.: pairs met fewer than n times keep (at most) the behaviour's probability."""
    v = [0.0] * data.S
    for _ in range(SWEEPS):
        policy, new = [], []
        for s in range(data.S):
            q = {a: data.r[s, a] + gamma * data.ahead((s, a), v) for a in data.tried[s]}
            pi = [0.0] * data.A
            if not q:
                pi[0] = 1.0
            elif lower:
                left = 1.0
                for a in sorted(q, key=lambda a: -q[a]):
                    pi[a] = left if data.n[s][a] >= n else min(left, data.behaviour[s][a])
                    left -= pi[a]
            else:
                known = [a for a in q if data.n[s][a] >= n]
                pi = [0.0 if a in known else data.behaviour[s][a] for a in range(data.A)]
                if known:
                    pi[max(known, key=lambda a: q[a])] += 1 - sum(pi)
            policy.append(pi)
            new.append(sum(pi[a] * q[a] for a in q) if q else data.stuck(gamma))
        v = new
    return policy


def duipi(data, gamma, xi, alpha, seen):
    """Schneegass et al.: values and their variances side by side; the best of Q - xi sd(Q).

    `seen` are the states that may follow, each with alpha visits beforehand.
    """
    width = (data.high - data.low) ** 2
    post = {}
    for pair, shares in data.p.items():
        n = data.n[pair[0]][pair[1]]
        total = n + alpha * len(seen)
        post[pair] = {t: (shares.get(t, 0.0) * n + alpha) / total for t in seen}, total
    pi = [
        [1.0 / len(data.tried[s]) if a in data.tried[s] else 0.0 for a in range(data.A)]
        for s in range(data.S)
    ]
    v, var = [0.0] * data.S, [0.0] * data.S
    for k in range(1, SWEEPS + 1):
        new_v, new_var = [data.stuck(gamma)] * data.S, [0.0] * data.S
        for s in range(data.S):
            q, u = {}, {}
            for a in data.tried[s]:
                p, total = post[s, a]
                q[a] = data.r[s, a] + gamma * sum(p[t] * v[t] for t in seen)
                n = data.n[s][a]
                u[a] = (data.var[s, a] + width * alpha) / (n + alpha)
                for t in seen:
                    u[a] += (gamma * p[t]) ** 2 * var[t]
                    ahead = data.r[s, a] + gamma * v[t]
                    u[a] += ahead**2 * p[t] * (1 - p[t]) / (total + 1)
            if q:
                best = max(q, key=lambda a: q[a] - xi * math.sqrt(u[a]))
                pi[s] = [x + ((a == best) - x) / k for a, x in enumerate(pi[s])]
                new_v[s] = sum(pi[s][a] * q[a] for a in q)
                new_var[s] = sum(pi[s][a] ** 2 * u[a] for a in q)
        v, var = new_v, new_var
    return [row if sum(row) else [1.0, *[0.0] * (data.A - 1)] for row in pi]
