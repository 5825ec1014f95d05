"""Predictions of whole steps from those of their parts (`gim.agents.factors`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gim._compile.jit import entry, rare
from gim.agents.factors import NOBODY, context, speaker


@rare
def at_first(f: Any, s: int, a: int, part: int, y: Any, t: int) -> int:
    """The first guess in play that has seen this context at all, those with m visits first."""
    group, found = a * f.sizes.size + part, NOBODY
    for g in range(f.first[group], f.first[group + 1]):
        if f.active[g]:
            n = f.n[f.place[g] + context(f, g, s, y, t)]
            if n >= f.m[0]:
                return g
            found = g if found == NOBODY and n > 0 else found
    return found


@entry
def predicted(
    f: Any, available: Any, terminal: Any, into: tuple[Any, Any, Any], any_guess: bool
) -> Any:
    """Predict every pair, part by part, over all values that next variables may take.

    Args:
        f: the tables.
        available: which pairs can be played, [S, A].
        terminal: states that were seen to end an episode, [S].
        into: filled with the expected rewards of what is predicted [S, A] (left alone where rewards
            are no part), the probability of what is not [S, A], and whether a state is predicted to
            end the episode [S].
        any_guess: take the first guess that has seen a context at all, not one that all agree on.

    Returns:
        Probabilities, next states and row starts, as in CSR of S*A rows; what is unknown is missing
        from their sums. What would lead to no state at all is left out, and the rest scaled.
    """
    r, unknown, ends = into
    S, k = f.x.shape
    A, learned = available.shape[1], f.sizes.size > k
    data, column = np.empty(4 * S * A), np.empty(4 * S * A, np.int64)
    start = np.zeros(S * A + 1, np.int64)
    y, who, p = np.zeros((1, k), np.int64), np.zeros(k, np.int64), np.ones(k + 1)
    size = 0
    for s in range(S):
        for a in range(A):
            unknown[s, a], nowhere, paid, begin = 0.0, 0.0, 0.0, size
            level, fresh = (0, True) if available[s, a] and not terminal[s] else (-1, False)
            while level >= 0:
                if fresh:  # p[level] is the probability of the values so far
                    who[level] = (
                        at_first(f, s, a, level, y, 0)
                        if any_guess
                        else speaker(f, s, a, level, y, 0)
                    )
                    y[0, level], fresh = -1, False
                    if who[level] == NOBODY:
                        unknown[s, a] += p[level]
                        y[0, level] = 0
                        level -= 1
                        continue
                g = who[level]
                value, y[0, level] = y[0, level] + 1, 0
                c = context(f, g, s, y, 0)  # inputs come before the level: y there counts for 0
                base = f.cell[g] + c * f.sizes[level]
                while value < f.sizes[level] and f.table[base + value] == 0.0:
                    value += 1
                if value == f.sizes[level]:
                    level -= 1
                    continue
                y[0, level] = value
                p[level + 1] = p[level] * f.table[base + value] / f.n[f.place[g] + c]
                if level + 1 < k:
                    level, fresh = level + 1, True
                    continue
                t = 0
                for j in range(k):
                    t += f.radix[j] * y[0, j]
                t = f.state[t]
                if t < 0:
                    nowhere += p[k]
                    continue
                if learned:
                    if any_guess:
                        over, pays = at_first(f, s, a, k, y, 0), at_first(f, s, a, k + 1, y, 0)
                    else:
                        over, pays = speaker(f, s, a, k, y, 0), speaker(f, s, a, k + 1, y, 0)
                    if over == NOBODY or pays == NOBODY:
                        unknown[s, a] += p[k]
                        continue
                    c = context(f, pays, s, y, 0)
                    paid += p[k] * (f.table[f.cell[pays] + c] / f.n[f.place[pays] + c])
                    c = context(f, over, s, y, 0)
                    if 2.0 * f.table[f.cell[over] + c] > f.n[f.place[over] + c]:
                        ends[t] = True
                if size == data.size:
                    data = np.concatenate((data, np.empty(size)))
                    column = np.concatenate((column, np.empty(size, np.int64)))
                data[size], column[size] = p[k], t
                size += 1
            if nowhere > 0.0:
                left = 1.0 - nowhere
                if left <= 1e-9:
                    unknown[s, a], left = 1.0, 1.0
                    size = begin
                else:
                    unknown[s, a] /= left
                for i in range(begin, size):
                    data[i] /= left
                paid /= left
            if learned:
                r[s, a] = paid
            start[s * A + a + 1] = size
    return data[:size].copy(), column[:size].copy(), start
