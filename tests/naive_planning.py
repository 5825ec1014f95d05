"""Slow, obvious twins of the planners, and independent solutions by linear programming."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import sparse
from scipy.optimize import linprog


@dataclass
class Tiny:
    """The least that a planner takes."""

    transitions: object
    rewards: np.ndarray
    available: np.ndarray
    terminal: np.ndarray
    start: np.ndarray
    horizon: int = 5
    discount: float | None = None

    @property
    def S(self):
        return self.rewards.shape[0]

    @property
    def A(self):
        return self.rewards.shape[1]

    @property
    def P(self):
        """Dense transitions, whatever the storage."""
        P = self.transitions
        return P.toarray().reshape(self.S, self.A, self.S) if sparse.issparse(P) else P

    def to_sparse(self):
        P = sparse.csr_array(self.P.reshape(self.S * self.A, self.S))
        return Tiny(
            P, self.rewards, self.available, self.terminal, self.start, self.horizon, self.discount
        )


def tiny(P, r, available=None, terminal=(), start=None, **more):
    """A Tiny from what matters."""
    P, r = np.array(P, float), np.array(r, float)
    S, A = r.shape
    ends = np.zeros(S, bool)
    ends[list(terminal)] = True
    available = np.ones((S, A), bool) if available is None else np.array(available, bool)
    start = np.eye(S)[0] if start is None else np.array(start, float)
    return Tiny(P, r, available, ends, start, **more)


def random_tiny(seed, S=None, A=None, concentration=0.4, ends=True, missing=True):
    """A random MDP; some have terminal states, missing actions, zeros and exact ties."""
    rng = np.random.default_rng(seed)
    S = S or int(rng.integers(1, 9))
    A = A or int(rng.integers(1, 5))
    P = rng.dirichlet(np.full(S, concentration), (S, A))
    P[P < 0.02] = 0
    P /= P.sum(axis=2, keepdims=True)
    r = rng.normal(size=(S, A)) * rng.choice([0.01, 1, 100])
    if A > 1 and rng.random() < 0.3:
        P[:, 1], r[:, 1] = P[:, 0], r[:, 0]
    available = np.ones((S, A), bool)
    if missing and rng.random() < 0.5:
        available = rng.random((S, A)) < 0.6
        available[np.arange(S), rng.integers(A, size=S)] = True
    terminal = np.zeros(S, bool)
    if ends and S > 1 and rng.random() < 0.5:
        terminal[rng.integers(S)] = True
    available[terminal] = True
    P[~available] = 0
    r[~available] = 0
    P[terminal] = np.eye(S)[terminal][:, None]
    r[terminal] = 0
    return Tiny(P, r, available, terminal, rng.dirichlet(np.ones(S)), int(rng.integers(1, 7)))


def backward_induction(mdp, H, discount=1.0, bonus=None, ceiling=None):
    """Sum over next states in their order, so that even the bits are known."""
    q = np.full((H, mdp.S, mdp.A), -np.inf)
    v = np.zeros((H + 1, mdp.S))
    for h in reversed(range(H)):
        for s, a in product(range(mdp.S), range(mdp.A)):
            if mdp.available[s, a]:
                ahead = 0.0
                for t in range(mdp.S):
                    ahead += mdp.P[s, a, t] * v[h + 1, t]
                q[h, s, a] = mdp.rewards[s, a] + discount * ahead
                if bonus is not None:
                    q[h, s, a] = min(ceiling[h], q[h, s, a] + bonus[h, s, a])
        v[h] = q[h].max(axis=1)
    return q, v, q.argmax(axis=2)


def value_iteration(mdp, discount, change=1e-13):
    """Sweep until no value changes by more than this; it is then discount / (1 - discount) off."""
    P = mdp.transitions
    P = P if sparse.issparse(P) else P.reshape(mdp.S * mdp.A, mdp.S)
    v = np.zeros(mdp.S)
    while True:
        q = mdp.rewards + discount * (P @ v).reshape(mdp.S, mdp.A)
        best = np.where(mdp.available, q, -np.inf).max(axis=1)
        v, last = best, v
        if np.abs(v - last).max() <= change:
            return v


def improve_in_place(mdp, discount, order, v):
    """One Bellman sweep in this order; each action is solved for the state's own value."""
    v = v.copy()
    for s in order:
        solved = []
        for a in np.flatnonzero(mdp.available[s]):
            own = mdp.P[s, a, s]
            others = mdp.P[s, a] @ v - own * v[s]
            solved.append((mdp.rewards[s, a] + discount * others) / (1 - discount * own))
        v[s] = max(solved)
    return v


def values_by_programming(mdp, discount):
    """Least v with v >= r + discount P v; its tight pairs are a policy, which is solved for."""
    pairs = [(s, a) for s, a in product(range(mdp.S), range(mdp.A)) if mdp.available[s, a]]
    lhs = [discount * mdp.P[s, a] - np.eye(mdp.S)[s] for s, a in pairs]
    v = _program(lhs, [-mdp.rewards[s, a] for s, a in pairs])
    q = np.where(mdp.available, mdp.rewards + discount * mdp.P @ v, -np.inf)
    return solve(mdp, q.argmax(axis=1), discount)


def steps_by_programming(mdp, H):
    """The same over a horizon: one variable for each step and state."""
    n = H * mdp.S
    rows, bounds = [], []
    for h, s, a in product(range(H), range(mdp.S), range(mdp.A)):
        if mdp.available[s, a]:
            row = np.zeros(n + mdp.S)
            row[h * mdp.S + s] = -1
            row[(h + 1) * mdp.S : (h + 2) * mdp.S] += mdp.P[s, a]
            rows.append(row[:n])
            bounds.append(-mdp.rewards[s, a])
    v = np.append(_program(rows, bounds), np.zeros(mdp.S)).reshape(H + 1, mdp.S)
    q = np.where(mdp.available, mdp.rewards + np.einsum("sat,ht->hsa", mdp.P, v[1:]), -np.inf)
    policy, states = q.argmax(axis=2), np.arange(mdp.S)
    system, r = np.eye(n), np.empty(n)
    for h in range(H):
        here = slice(h * mdp.S, (h + 1) * mdp.S)
        r[here] = mdp.rewards[states, policy[h]]
        if h + 1 < H:
            system[here, (h + 1) * mdp.S : (h + 2) * mdp.S] -= mdp.P[states, policy[h]]
    return np.linalg.solve(system, r).reshape(H, mdp.S)


def solve(mdp, policy, discount):
    """Value of a policy by a direct solve, refined once in long double."""
    P = mdp.P[np.arange(mdp.S), policy]
    r = mdp.rewards[np.arange(mdp.S), policy]
    system = np.eye(mdp.S) - discount * P
    v = np.linalg.solve(system, r)
    wide = v.astype(np.longdouble)
    gap = r.astype(np.longdouble) - wide + np.longdouble(discount) * (P.astype(wide.dtype) @ wide)
    return (wide + np.linalg.solve(system, gap.astype(float))).astype(float)


def visits(mdp, chances):
    """Push the start forward, pair by pair; chances [H, S, A]."""
    found = np.zeros(chances.shape)
    here = mdp.start
    for h in range(len(chances)):
        after = np.zeros(mdp.S)
        for s, a in product(range(mdp.S), range(mdp.A)):
            found[h, s, a] = here[s] * chances[h, s, a]
            after += found[h, s, a] * mdp.P[s, a]
        here = after
    return found


def reachable(mdp):
    """Grow the set until it stays."""
    found = set(np.flatnonzero(mdp.start))
    while True:
        grown = found | {t for s in found for t in np.flatnonzero(mdp.P[s].max(axis=0))}
        if grown == found:
            return np.isin(np.arange(mdp.S), list(found))
        found = grown


def diameter(mdp):
    """For each target the largest h with h <= 1 + P h for all pairs; unbounded means never."""
    longest = 0.0
    for target in range(mdp.S):
        others = np.arange(mdp.S) != target
        pairs = [(s, a) for s, a in np.argwhere(mdp.available) if s != target]
        lhs = [np.eye(mdp.S)[s, others] - mdp.P[s, a, others] for s, a in pairs]
        if lhs:
            found = linprog(
                -np.ones(mdp.S - 1), lhs, np.ones(len(lhs)), bounds=(None, None), method="highs"
            )
            longest = max(longest, found.x.max() if found.status == 0 else np.inf)
    return longest


def _program(lhs, rhs):
    found = linprog(np.ones(len(lhs[0])), lhs, rhs, bounds=(None, None), method="highs")
    assert found.status == 0, found.message
    return found.x


def river(n, right=0.3, back=0.1):
    """A chain swum to the left for sure, to the right with luck; and how long that takes."""
    P = np.zeros((n, 2, n))
    for s in range(n):
        P[s, 0, max(s - 1, 0)] = 1
        P[s, 1, max(s - 1, 0)] += back
        P[s, 1, min(s + 1, n - 1)] += right
        P[s, 1, s] += 1 - right - back
    steps = [1 / right]
    for _ in range(n - 2):
        steps.append((1 + back * steps[-1]) / right)
    return tiny(P, np.zeros((n, 2))), sum(steps)
