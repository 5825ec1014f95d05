"""Models drawn from what is believed, sparse and compiled: the dice of the credible certificate.

The analogy holds at a pair with probability w, and then p(.|s,a) ~ Dirichlet(n + n0 q'), where
q' = (1 - leak) q + leak/S, with ways besides to states that nobody predicted (`surprises`); or it
does not, and p(.|s,a) ~ Dirichlet(n + c/S). In both some visits belong to no state in particular,
n0 leak or c of them. Dirichlet(n + c/S) over all S states is

    (1 - W) Dirichlet(n) + W D,    W ~ Beta(c, sum n),    D ~ Dirichlet(c/S, ..., c/S),

and D, of which nearly all lies on a few states, is drawn over REST states at random, each as often
as it comes up, as Dirichlet(c/REST): that has the same mean, and a variance larger by the factor
1 + c/REST at the most. With no more than REST states it is exact. So a row costs what is known of
it, not S.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._compile.jit import hot, seldom
from gim.mdp.sampling import gamma

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
REST = 16  # states that stand for all of which nothing is known
NOWHERE = 1 << 62  # behind every state
ROUNDING = 1e-9  # of a chance that is missing to 1
TINY = 1e-300  # in place of 0: a gamma variable of small shape may be below any number


class Rows(NamedTuple):
    """What is believed of p(.|s,a), pair by pair."""

    first: Ints  # [S*A + 1] where the successors of each pair begin
    next: Ints  # [nnz] states that were met or are predicted
    n: Floats  # [nnz] visits of each
    q: Floats  # [nnz] what is predicted of each
    leak: Floats  # [S*A] share of the prediction that goes to any state
    holds: Floats  # [S*A] w, the probability that the prediction holds
    n0: Floats  # [models, S*A] visits that it is worth, in each model that is drawn
    c: float  # visits that knowing nothing is worth
    goals: Ints  # [D] states that some pairs lead to, against what is predicted
    ways: Floats  # [models, D, S*A] with which chance each does, in each model
    unseen: float = 0.0  # visits that next states never seen count for, at the least


def no_ways(models: int, pairs: int) -> tuple[Ints, Floats]:
    """All that leads anywhere is predicted."""
    return np.zeros(0, np.int64), np.zeros((models, 0, pairs))


class Rewards(NamedTuple):
    """What is believed of r(s,a): normal, or anything in a range.

    Where rewards are kept by next state the part of each successor that was met or is predicted is
    p(s'|s,a) times what it pays, and only the rest pays the mean.
    """

    mean: Floats  # [2, S*A] if what is predicted of it does not hold, and if it does
    sd: Floats  # [2, S*A] of the noise
    holds: Floats  # [S*A] the probability that it does
    free: Floats  # [S*A] the chance that it may be anything
    by_next: Floats  # [2, nnz] what each successor pays, in either case; or [2, 0]
    pays: Floats  # [>= 2] what a pair of which nothing is known pays, at even quantiles
    low: float
    high: float
    visits: Floats  # [2, S*A] that are behind the mean, in either case
    unseen: float = 0.0  # visits that rewards at either end of the range count for


@seldom(lambda N, columns, starts, q, *_: 2 * (N.size + q.size))
def join(N: Any, columns: Any, starts: Any, q: Any, next: Any, first: Any) -> Any:
    """first, next, n and q of `Rows` from two CSR tables with their columns in order."""
    most, size = N.size + q.size, 0
    state = np.empty(most, np.int64)
    visits, says, begins = np.zeros(most), np.zeros(most), np.zeros(starts.size, np.int64)
    for i in range(starts.size - 1):
        j, k = starts[i], first[i]
        while j < starts[i + 1] or k < first[i + 1]:
            left = columns[j] if j < starts[i + 1] else NOWHERE
            right = next[k] if k < first[i + 1] else NOWHERE
            state[size] = min(left, right)
            if left <= right:
                visits[size] = N[j]
                j += 1
            if right <= left:
                says[size] = q[k]
                k += 1
            size += 1
        begins[i + 1] = size
    return begins, state[:size], visits[:size], says[:size]


@hot
def draw_row(
    rows: Rows, i: int, m: int, S: int, p: Any, t: Any, places: Any, begin: int, rng: Any
) -> int:
    """Draw p(.|s,a) of pair i in model m into p from `begin` on, over the states t; gives its end.

    `places` are those of the states among all that were met or are predicted, -1 for the rest.
    """
    held, n0 = rng.random() < rows.holds[i], rows.n0[m, i]
    free = max(n0 * rows.leak[i] if held else rows.c, rows.unseen)
    end, total = begin, 0.0
    for j in range(rows.first[i], rows.first[i + 1]):
        alpha = rows.n[j] + (n0 * (1.0 - rows.leak[i]) * rows.q[j] if held else 0.0)
        if alpha > 0.0:  # gamma variables over their sum are Dirichlet
            p[end] = max(TINY, gamma(alpha, rng))
            t[end], places[end] = rows.next[j], j
            total += p[end]
            end += 1
    for d in range(rows.goals.size):
        if held and rows.ways[m, d, i] > 0.0:
            p[end] = max(TINY, gamma(n0 * rows.ways[m, d, i], rng))
            t[end], places[end] = rows.goals[d], -1
            total += p[end]
            end += 1
    if free > 0.0 or end == begin:
        atoms = min(REST, S)
        for k in range(atoms):
            t[end], places[end] = k if atoms == S else int(rng.random() * S), -1
            p[end] = max(TINY, gamma(free / atoms, rng)) if free > 0.0 else 1.0
            total += p[end]
            end += 1
    for j in range(begin, end):
        p[j] /= total
    return end


@hot
def draw_reward(
    rewards: Rewards, i: int, luck: float, p: Any, places: Any, begin: int, end: int, rng: Any
) -> float:
    """Draw r(s,a) of pair i, whose row was drawn into p from `begin` to `end`.

    Of pairs of which nothing at all is known `luck` tells, in a model the same for all: a cliff has
    many edges, and drawn apart the good would make up for the bad.
    """
    mean, by_next = rewards.mean, rewards.by_next
    if rewards.free[i] >= 1.0:
        return at_quantile(rewards.pays, luck)
    if rewards.free[i] > 0.0 and rng.random() < rewards.free[i]:
        return at_quantile(rewards.pays, rng.random())
    held = int(rewards.holds[i] >= 1.0 or rng.random() < rewards.holds[i])
    r = mean[held, i]
    if by_next.shape[1] > 0:
        r = 0.0
        for j in range(begin, end):
            r += p[j] * (mean[held, i] if places[j] < 0 else by_next[held, places[j]])
    r += rewards.sd[held, i] * rng.standard_normal()
    if rewards.unseen > 0.0:
        own = gamma(max(rewards.visits[held, i], TINY), rng)
        least, most = gamma(rewards.unseen, rng), gamma(rewards.unseen, rng)
        total = max(own + least + most, TINY)
        r = (own * r + least * rewards.low + most * rewards.high) / total
    return r


@hot
def at_quantile(values: Any, share: float) -> float:
    """Between two of the values [>= 2] that are given at even quantiles."""
    place = share * (values.size - 1)
    k = min(int(place), values.size - 2)
    return values[k] + (place - k) * (values[k + 1] - values[k])


@hot
def backed_up(r: Any, p: Any, t: Any, first: Any, i: int, v: Any, discount: float) -> float:
    """r(s,a) + discount sum p(s'|s,a) v(s') of pair i."""
    x = 0.0
    for j in range(first[i], first[i + 1]):
        x += p[j] * v[t[j]]
    return r[i] + discount * x


@seldom(
    lambda rows, rewards, playable, end, policy, start, elsewhere, steps, *_: (
        0.3 * len(rows.n0) * (10 + steps) * (rows.next.size + playable.size)
    )
)
def returns_in_models(
    rows: Rows,
    rewards: Rewards,
    playable: Any,
    end: Any,
    policy: Any,
    start: Any,
    elsewhere: Any,
    steps: int,
    discount: float,
    rng: Any,
) -> Any:
    """What is earned in each model that is drawn, [models, 3].

    By the best policy and by this one where no reward leaves the range that is known, and by this
    one where some may: rewards that lie at the end of the range would else be taken for less.

    Args:
        rows, rewards: what is believed.
        playable: [S, A] pairs that can be played.
        end: [S] chance that a state ends the episode and pays nothing: 1 if it is known to.
        policy: [steps, S, A] the probabilities with which it plays, or [1, S, A]: at every step.
        start: [models, S] where episodes begin, or [1, S] in all of them; what is missing to 1 is
            elsewhere.
        elsewhere: [models, 2] or [1, 2] the chance that a step leads to a state that is none of
            these, and what each step pays from there on.
        steps: how many are planned.
        discount: the weight of each against the one before.
        rng: the one source of randomness.
    """
    models, (S, A), last = rows.n0.shape[0], playable.shape, len(policy) - 1
    room = rows.next.size + S * A * (min(REST, S) + rows.goals.size)
    p, t, places = np.empty(room), np.empty(room, np.int64), np.empty(room, np.int64)
    first, over = np.zeros(S * A + 1, np.int64), np.zeros(S, np.bool_)
    drawn, r = np.zeros((2, S * A))
    v, new = np.zeros((3, S)), np.zeros((3, S))
    found = np.zeros((models, 3))
    for m in range(models):
        luck = rng.random()
        away, pays = elsewhere[min(m, len(elsewhere) - 1)]
        stays, beyond = (1.0 - away) * discount, 0.0
        for s in range(S):
            over[s] = end[s] > 0.0 and rng.random() < end[s]
            for a in range(A):
                i = s * A + a
                first[i + 1] = first[i]
                if not playable[s, a] or over[s]:
                    continue
                end_i = draw_row(rows, i, m, S, p, t, places, first[i], rng)
                drawn[i] = draw_reward(rewards, i, luck, p, places, first[i], end_i, rng)
                first[i + 1] = end_i
                r[i] = min(rewards.high, max(rewards.low, drawn[i]))
        v[:] = 0.0
        for h in range(steps - 1, -1, -1):
            lost = away * discount * beyond
            for s in range(S):
                new[0, s] = new[1, s] = new[2, s] = 0.0
                if over[s]:
                    continue
                new[0, s] = -np.inf
                for a in range(A):
                    i, chance = s * A + a, policy[min(h, last), s, a]
                    if playable[s, a]:
                        best = backed_up(r, p, t, first, i, v[0], stays) + lost
                        new[0, s] = max(new[0, s], best)
                    if chance > 0.0:
                        new[1, s] += chance * (backed_up(r, p, t, first, i, v[1], stays) + lost)
                        own = backed_up(drawn, p, t, first, i, v[2], stays) + lost
                        new[2, s] += chance * own
            v, new = new, v
            beyond = pays + discount * beyond
        left = 1.0
        for s in range(S):
            begins = start[min(m, len(start) - 1), s]
            left -= begins
            for k in range(3):
                found[m, k] += begins * v[k, s]
        if left > ROUNDING:
            for k in range(3):
                found[m, k] += left * beyond
    return found


@seldom(lambda rows, pairs, F, *_: 0.3 * len(rows.n0) * pairs.size * F.size)
def errors_in_models(rows: Rows, pairs: Any, F: Any, here: Any, model: Any, rng: Any) -> Any:
    """How far each pair is off in models that are drawn.

    Args:
        rows: what is believed.
        pairs: [B] s*A + a.
        F: [S, M] functions of the next state.
        here: [B, M] what the model expects of them.
        model: (q, next, first) the model's rows, CSR of S*A in order.
        rng: the one source of randomness.

    Returns:
        (p - p~).f for each function, [models, B, M], and ||p - p~||_1, [models, B].
    """
    models, S, M = rows.n0.shape[0], F.shape[0], F.shape[1]
    data, columns, starts = model
    room = min(REST, S) + S + rows.goals.size
    p, t, places = np.empty(room), np.empty(room, np.int64), np.empty(room, np.int64)
    row = np.zeros(S)
    values, l1 = np.zeros((models, pairs.size, M)), np.zeros((models, pairs.size))
    for b in range(pairs.size):
        i = pairs[b]
        for m in range(models):
            end = draw_row(rows, i, m, S, p, t, places, 0, rng)
            for f in range(M):
                values[m, b, f] = -here[b, f]
            for j in range(end):
                row[t[j]] += p[j]
                for f in range(M):
                    values[m, b, f] += p[j] * F[t[j], f]
            off = 0.0
            for j in range(starts[i], starts[i + 1]):
                off += abs(row[columns[j]] - data[j])
                row[columns[j]] = 0.0
            for j in range(end):
                off += row[t[j]]
                row[t[j]] = 0.0
            l1[m, b] = off
    return values, l1
