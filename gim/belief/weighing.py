"""What each of the latest steps adds for and against a change: one pass forward, one back.

By the chain rule, what earlier data say of all steps since some moment is a sum over these steps,
each predicted from all before it, whatever the moment. What a pair that knows nothing of its past
says of its own steps is one, too, from the last step to the first, since their order does not
matter. Every explanation thus gives each step one number, and sums of these serve all moments.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gim._compile.jit import hot, seldom
from gim.analogy.prior import log_gamma, probability

PAST, OWN, ANEW, RULE = range(4)  # rows of sums; from the last on, explanations
MOST = 50.0  # limit: of an exponent


@seldom(lambda key, chunk, of, action, N, n, q, n0, doubt, said, *_: key.size * (6 + said.shape[0]))
def sum_up(
    key: Any,
    chunk: Any,
    of: Any,
    action: Any,
    N: Any,
    n: Any,
    q: Any,
    n0: Any,
    doubt: Any,
    said: Any,
    spreads: Any,
    S: int,
    sums: Any,
    by_pair: Any,
    born: Any,
) -> float:
    """Fill the sums of the steps in each chunk of time, and say under which spread c they are.

    Args:
        key: [n] of each step, the triple.
        chunk: [n] rising.
        of: [K] the pair of each key, rising.
        action: [P] of each pair.
        N: [K] visits in all, these among them.
        n: [P] likewise.
        q: [K] what the rule of the pair says.
        n0: [P] visits that it is worth; 0: there is none.
        doubt: [P] the chance that it does not hold.
        said: [E, K] ln of what other explanations say.
        spreads: values of c: a pair without a rule is p ~ Dirichlet(c / S).
        S: states.
        sums: [RULE + E, 2, C, A] of the steps by chunk and action; then those of pairs that were
            never met before the first step, by the chunk of their first visit.
        by_pair: [4, C, P] past, own, anew and visits.
        born: [P] the chunk in which a pair was met first; -1: before.
    """
    P, K, E = n.size, N.size, said.shape[0]
    had, visits = N.copy(), n.copy()
    born[:] = -1
    for i in range(key.size - 1, -1, -1):
        k = key[i]
        had[k] -= 1.0
        visits[of[k]] -= 1.0
        if visits[of[k]] < 0.5:
            born[of[k]] = chunk[i]
    c = _likeliest(spreads, of, N, n, S)
    against = np.zeros(P)  # ln of the odds that the rule does not hold, before the first step
    rest, other = np.ones(P), visits.copy()
    for p in range(P):
        if n0[p] > 0.0:
            against[p] = math.log(doubt[p] / (1.0 - doubt[p]))
            against[p] += log_gamma(c) - log_gamma(c + visits[p])
            against[p] -= log_gamma(n0[p]) - log_gamma(n0[p] + visits[p])
    blank, keys = log_gamma(c / S), np.zeros(P)
    for k in range(K):
        p = of[k]
        rest[p] -= q[k]
        other[p] -= had[k]
        keys[p] += 1.0
        if n0[p] > 0.0 and had[k] > 0.0:
            against[p] += log_gamma(c / S + had[k]) - blank
            against[p] -= log_gamma(n0[p] * q[k] + had[k]) - log_gamma(n0[p] * q[k])
    for p in range(P):
        if n0[p] > 0.0 and other[p] > 0.5:
            a, b = max(c - keys[p] * c / S, 1e-9), max(n0[p] * rest[p], 1e-9)
            against[p] += log_gamma(a + other[p]) - log_gamma(a)
            against[p] -= log_gamma(b + other[p]) - log_gamma(b)
    later, since = np.zeros(K), np.zeros(P)
    for i in range(key.size - 1, -1, -1):
        k = key[i]
        p, j = of[k], chunk[i]
        x = math.log((c / S + later[k]) / (c + since[p]))
        later[k] += 1.0
        since[p] += 1.0
        _add(sums, ANEW, p, j, action, born, x)
        by_pair[ANEW, j, p] += x
    for i in range(key.size):
        k = key[i]
        p, j = of[k], chunk[i]
        own = (c / S + had[k]) / (c + visits[p])
        x = math.log(own)
        by_pair[OWN, j, p] += x
        _add(sums, OWN, p, j, action, born, x)
        if n0[p] > 0.0:
            rule = (n0[p] * q[k] + had[k]) / (n0[p] + visits[p])
            holds = probability(against[p])
            x = math.log(holds * rule + (1.0 - holds) * own)
            against[p] += math.log(own / rule)
        by_pair[PAST, j, p] += x
        by_pair[3, j, p] += 1.0
        _add(sums, PAST, p, j, action, born, x)
        for e in range(E):
            _add(sums, RULE + e, p, j, action, born, said[e, k] if n0[p] > 0.0 else x)
        had[k] += 1.0
        visits[p] += 1.0
    return c


@hot
def _add(sums: Any, row: int, p: int, j: int, action: Any, born: Any, x: float) -> None:
    sums[row, 0, j, action[p]] += x
    if born[p] >= 0:
        sums[row, 1, born[p], action[p]] += x


@hot
def _likeliest(spreads: Any, of: Any, N: Any, n: Any, S: int) -> float:
    """c, under which what was seen of the pairs is likeliest."""
    best, most = 0.0, -np.inf
    for z in range(spreads.size):
        c, found, k = spreads[z], 0.0, 0
        blank, start = log_gamma(c / S), log_gamma(c)
        for p in range(n.size):
            other, keys = n[p], 0.0
            while k < N.size and of[k] == p:
                found += log_gamma(c / S + N[k]) - blank
                other -= N[k]
                keys += 1.0
                k += 1
            if other > 0.5:
                a = max(c - keys * c / S, 1e-9)
                found += log_gamma(a + other) - log_gamma(a)
            found += start - log_gamma(c + n[p])
        if found > most:
            best, most = c, found
    return best


@seldom(lambda q, next, first, pair, *_: 64 * pair.size)
def read(
    q: Any,
    next: Any,
    first: Any,
    pair: Any,
    to: Any,
    begin: Any,
    leak: Any,
    actions: int,
    A: int,
    S: int,
    scales: Any,
    shifts: Any,
) -> Any:
    """What rules say of pairs and next states [K], pairs beginning at `begin` [P].

    That is q [K], and ln of other explanations [E, K]: what a shifted variable [V * Z] would show,
    and what the rules of each action [actions] would.
    """
    K, P, V, Z = pair.size, begin.size, scales.shape[0], shifts.size
    said, others = np.zeros(K), np.full((V * Z + actions, K), np.nan)
    mean, variance = np.zeros((V, P)), np.zeros(V)
    for p in range(P):
        last = begin[p + 1] if p + 1 < P else K
        for k in range(begin[p], last):
            said[k] = _entry(q, next, first, pair[k], to[k])
            for a in range(actions):
                x = _entry(q, next, first, pair[k] - pair[k] % A + a, to[k])
                others[V * Z + a, k] = math.log((1.0 - leak[p]) * x + leak[p] / S)
    for v in range(V):
        for p in range(P):
            i, square = pair[begin[p]], 0.0
            for e in range(first[i], first[i + 1]):
                mean[v, p] += q[e] * scales[v, next[e]]
                square += q[e] * scales[v, next[e]] * scales[v, next[e]]
            variance[v] += max(square - mean[v, p] * mean[v, p], 0.0) / P
        if variance[v] < 1e-12:
            continue
        for z in range(Z):
            slope = shifts[z] / math.sqrt(variance[v])
            for p in range(P):
                i, total, share = pair[begin[p]], 0.0, leak[p] / S
                for e in range(first[i], first[i + 1]):
                    total += q[e] * _tilt(slope * (scales[v, next[e]] - mean[v, p]))
                last = begin[p + 1] if p + 1 < P else K
                for k in range(begin[p], last):
                    up = said[k] * _tilt(slope * (scales[v, to[k]] - mean[v, p]))
                    up /= max(total, 1e-300)
                    others[v * Z + z, k] = math.log((1.0 - leak[p]) * up + share)
    for p in range(P):
        for k in range(begin[p], begin[p + 1] if p + 1 < P else K):
            said[k] = (1.0 - leak[p]) * said[k] + leak[p] / S
    return said, others


@hot
def _entry(q: Any, next: Any, first: Any, pair: int, t: int) -> float:
    """What is predicted of a next state."""
    low, high = first[pair], first[pair + 1]
    while low < high:
        middle = (low + high) // 2
        if next[middle] < t:
            low = middle + 1
        else:
            high = middle
    return q[low] if low < first[pair + 1] and next[low] == t else 0.0


@hot
def _tilt(exponent: float) -> float:
    return math.exp(min(max(exponent, -MOST), MOST))
