"""Slow, literal twins of the compiled parts of certificates, and beliefs made by hand."""

from __future__ import annotations

import math

import numpy as np
from gim.belief.certificate.draws import REST, TINY
from scipy import sparse

import gim
from gim._compile.jit import plain
from gim.analogy.prior import no_prior, prior_of, with_judges
from gim.belief.knowledge import knowledge_of
from gim.mdp.sampling import gamma
from gim.model.counts import new_counts

draw_gamma = plain(gamma)


def row(rows, i, m, S, rng):
    """Draw p(.|s,a) of pair i, in the order in which the compiled version draws.

    As p [S], and as a list of (share, place among all successors that were met or are predicted).
    """
    held, n0 = rng.random() < rows.holds[i], rows.n0[m, i]
    weights = []
    for j in range(rows.first[i], rows.first[i + 1]):
        alpha = rows.n[j] + (n0 * (1 - rows.leak[i]) * rows.q[j] if held else 0.0)
        if alpha > 0:
            weights.append((rows.next[j], max(TINY, draw_gamma(alpha, rng)), j))
    for t, width in zip(rows.goals, rows.ways[m, :, i], strict=True):
        if held and width:
            weights.append((t, max(TINY, draw_gamma(n0 * width, rng)), None))
    free = max(n0 * rows.leak[i] if held else rows.c, rows.unseen)
    if free > 0 or not weights:
        for k in range(min(REST, S)):
            t = k if S <= REST else int(rng.random() * S)
            weight = max(TINY, draw_gamma(free / min(REST, S), rng)) if free else 1.0
            weights.append((t, weight, None))
    total = math.fsum(w for _, w, _ in weights)
    p = np.zeros(S)
    for t, w, _ in weights:
        p[t] += w / total
    return p, [(w / total, j) for _, w, j in weights]


def models(rows, rewards, playable, end, rng):
    """Draw whole models, as (P [S, A, S], r as drawn [S, A], states that end [S])."""
    S, A = playable.shape
    for m in range(len(rows.n0)):
        P, r, over = np.zeros((S, A, S)), np.zeros((S, A)), np.zeros(S, bool)
        luck = rng.random()
        for s in range(S):
            over[s] = end[s] > 0 and rng.random() < end[s]
            for a in range(A):
                if not playable[s, a] or over[s]:
                    P[s, a, s] = 1.0
                    continue
                i = s * A + a
                P[s, a], parts = row(rows, i, m, S, rng)
                r[s, a] = reward(rewards, i, luck, parts, rng)
        yield P, r, over


def reward(rewards, i, luck, parts, rng):
    """Draw r(s,a) of pair i, whose row has these parts."""
    if rewards.free[i] == 1:
        return np.interp(luck, np.linspace(0, 1, rewards.pays.size), rewards.pays)
    if rewards.free[i] > 0 and rng.random() < rewards.free[i]:
        return np.interp(rng.random(), np.linspace(0, 1, rewards.pays.size), rewards.pays)
    held = int(rewards.holds[i] >= 1 or rng.random() < rewards.holds[i])
    mean = rewards.mean[held, i]
    if rewards.by_next.size:
        mean = sum(p * (mean if j is None else rewards.by_next[held, j]) for p, j in parts)
    mean = mean + rewards.sd[held, i] * rng.standard_normal()
    if rewards.unseen:
        shapes = rewards.visits[held, i], rewards.unseen, rewards.unseen
        weights = np.array([draw_gamma(each, rng) for each in shapes])
        mean = weights @ (mean, rewards.low, rewards.high) / weights.sum()
    return mean


def returns(rows, rewards, playable, end, policy, start, elsewhere, steps, discount, rng):
    """What is earned in each model, by planning and evaluating it as an MDP, [models, 3].

    Elsewhere is one state more, that is never left and pays what it pays.
    """
    found, (S, A) = [], playable.shape
    for m, (P, r, over) in enumerate(models(rows, rewards, playable, end, rng)):
        away, pays = elsewhere[m % len(elsewhere)]
        begins = start[m % len(start)]
        begins = np.append(begins, 1.0 - begins.sum())
        P, there = np.append(P, np.zeros((S, A, 1)), axis=2), np.eye(S + 1)[S]
        moves = playable & ~over[:, None]
        P[moves] = (1.0 - away) * P[moves] + away * there
        P = np.append(P, np.tile(there, (1, A, 1)), axis=0)
        beyond = np.full((1, A), pays)
        within = np.clip(r, rewards.low, rewards.high) * playable * ~over[:, None]
        mdps = [
            gim.TabularMDP(P, np.append(each * ~over[:, None], beyond, axis=0), horizon=steps)
            for each in (within, r)
        ]
        pi = np.concatenate([policy, np.full((len(policy), 1, A), 1 / A)], axis=1)
        pi = pi if len(pi) == steps else pi[0]
        earned = [begins @ gim.planning.evaluate(mdp, pi, steps, discount)[0] for mdp in mdps]
        may = np.append(playable, np.ones((1, A), bool), axis=0)
        best = gim.plan(mdps[0].with_(available=may), discount, steps).v[0]
        found.append([begins @ best, *earned])
    return np.array(found)


def believed(N, n0=0.0, q=None, held=None, rewards=None):
    """A belief with these counts [S, A, S], every met pair a judge that was predicted as `held`."""
    S, A, _ = N.shape
    counts = new_counts(S, A)
    counts.n[:], counts.next[:] = N.sum(axis=2), N.ravel()
    r = np.zeros((S, A)) if rewards is None else rewards
    counts.R[:], counts.R2[:] = counts.n * r, counts.n * r**2
    prior = no_prior(S, A)
    if q is not None:
        prior = prior_of(q, np.full((S, A), float(n0)), doubt=np.full((S, A), 0.01))
        pairs = np.flatnonzero(counts.n)
        rows = (q if held is None else held).reshape(S * A, S)[pairs]
        prior = with_judges(prior, pairs, sparse.csr_array(rows))
    return knowledge_of(counts, np.zeros(S, bool), prior)


def enclosed(counts, N, frame, policy, share, within):
    """Interval iteration of the guaranteed kind, pair by pair; `within` bounds the rewards."""
    S, A = counts.n.shape
    H = len(policy)
    low, high = within
    least, most = np.zeros((H + 1, S)), np.zeros((H + 1, S))
    for h in reversed(range(H)):
        u, w = most[h + 1], least[h + 1]
        for s in range(S):
            if frame.terminal[s]:
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
                if frame.available[s, a]:
                    ups.append(high[s, a] + up)
                if a == policy[h, s]:
                    least[h, s] = low[s, a] + down
            largest, smallest = frame.reward_range[1], frame.reward_range[0]
            most[h, s] = min(max(ups), (H - h) * max(largest, 0.0))
            least[h, s] = max(least[h, s], (H - h) * min(smallest, 0.0))
            if not counts.n[s].any():
                most[h, s], least[h, s] = max(most[h, s], 0.0), min(least[h, s], 0.0)
    return least, most
