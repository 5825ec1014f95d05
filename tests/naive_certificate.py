"""A slow, literal twin of the guaranteed certificate."""

from __future__ import annotations

import math

import numpy as np


def enclosed(facts, N, policy, share, within):
    """Interval iteration of the guaranteed kind, pair by pair; `within` bounds the rewards."""
    counts = facts.counts
    S, A = counts.n.shape
    H = len(policy)
    low, high = within
    least, most = np.zeros((H + 1, S)), np.zeros((H + 1, S))
    for h in reversed(range(H)):
        u, w = most[h + 1], least[h + 1]
        for s in range(S):
            if facts.terminal[s]:
                continue
            ups = []
            for a in range(A):
                n = counts.n[s, a]
                up, down = u.max(), w.min()
                if n > 0:
                    p = N[s, a] / n
                    L = math.log(12 * S * A * H * n * (n + 1) / (1 - share))
                    e = min(2.0, math.sqrt(2 * (S * math.log(2) + L) / n))
                    sd = math.sqrt(max(p @ u**2 - (p @ u) ** 2, 0.0))
                    sd += math.sqrt(p @ (u - w) ** 2)
                    b = math.inf
                    if n > 1:
                        b = sd * math.sqrt(2 * L / (n - 1))
                        b += 7 * (u.max() - w.min()) * L / (3 * (n - 1))
                    up = min(up, p @ u + min(b, e * np.ptp(u) / 2))
                    down = max(down, p @ w - b - e * (u - w).max() / 2, p @ w - e * np.ptp(w) / 2)
                if facts.available[s, a]:
                    ups.append(high[s, a] + up)
                if a == policy[h, s]:
                    least[h, s] = low[s, a] + down
            largest, smallest = facts.reward_range[1], facts.reward_range[0]
            most[h, s] = min(max(ups), (H - h) * max(largest, 0.0))
            least[h, s] = max(least[h, s], (H - h) * min(smallest, 0.0))
            if not counts.n[s].any():
                most[h, s], least[h, s] = max(most[h, s], 0.0), min(least[h, s], 0.0)
    return least, most
