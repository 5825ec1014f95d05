"""What a policy is worth in the model, and in worlds drawn from what is believed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.analogy.unseen import Beginnings, new_states
from gim.logs.safe.base import Case, Floats, under
from gim.planning.evaluation import solve_chain

LONG = 256  # steps in a row under one policy from which on values go in leaps
STEP = 40_000  # multiplications that a single step takes as long as, its matrix aside
CLOSE = 1e-9  # of values in worlds too large to be solved directly, in units of the largest reward
UNSEEN = 1.0  # visits of each pair that were never made


class Unknown(NamedTuple):
    """What drawn worlds leave open."""

    begins: Beginnings  # where episodes begin
    N: sparse.csr_array  # [S*A, S] visits of the log
    rewards: tuple[float, float]  # the least and the largest of a step
    ends: float  # visits that rewards at either end of them count for, at each pair


class Question(NamedTuple):
    """What a policy is worth where."""

    case: Case
    rows: sparse.csr_array  # [S*A, S] visits behind the estimate
    policy: NDArray[Any]
    unknown: Unknown

    def renumbered(self, states: NDArray[np.int64], actions: NDArray[np.int64]) -> Question:
        """The same with states [S] and actions [A] in another order."""
        case, begins = self.case, self.unknown.begins
        at, pair = np.ix_(states, actions), (states[:, None] * len(actions) + actions).ravel()

        def table(P: Any) -> sparse.csr_array:
            found = sparse.csr_array(sparse.csr_array(P)[pair][:, states])
            found.sort_indices()
            return found

        if self.policy.dtype.kind == "f":
            policy = self.policy[..., states, :][..., actions]
        else:
            policy = np.argsort(actions)[self.policy[..., states]]
        made = {
            name: getattr(case, name)[at] for name in ("r", "n", "spread", "playable", "baseline")
        }
        case = case._replace(P=table(case.P), terminal=case.terminal[states], **made)
        seen = begins.seen[states] if begins.seen.size else begins.seen
        begins = begins._replace(known=begins.known[states], seen=seen, may=begins.may[states])
        unknown = self.unknown._replace(begins=begins, N=table(self.unknown.N))
        return Question(case, table(self.rows), policy, unknown)


class Elsewhere(NamedTuple):
    """States that the log does not have."""

    chance: Floats  # [S, A] that a pair leads there
    pays: float  # what each step pays from there on


def values_of(case: Case, policy: NDArray[Any], other: Elsewhere | None = None) -> Floats:
    """Values [H, S] of a policy in the estimate, or [S] if discounted."""
    S, A = case.r.shape
    drawn = policy.dtype.kind == "f"
    away, pays = (0.0, 0.0) if other is None else other
    if case.horizon is None:
        if policy.shape not in ((S, A), (S,)):
            raise ValueError(f"without a horizon a policy is [{S}] or [{S}, {A}]")
        chances = policy if drawn else np.eye(A)[policy]
        pair = np.arange(S * A)
        rule = sparse.csr_array((chances.ravel(), (pair // A, pair)), shape=(S, S * A))
        P = case.P
        if other is not None:
            P = sparse.diags_array(1.0 - other.chance.ravel()) @ P
        r = case.r + case.gamma * away * pays / (1.0 - case.gamma)
        r = (chances * r).sum(axis=1)
        v = solve_chain(rule @ P, r, case.gamma, CLOSE * max(float(np.abs(r).max()), 1e-300))
        return v if other is None else np.where(case.terminal, 0.0, v)
    timed = policy.ndim == (3 if drawn else 2)
    if policy.shape[-1 - drawn] != S or (timed and len(policy) != case.horizon):
        raise ValueError(
            f"a policy of shape {policy.shape} does not fit {S} states and {case.horizon} steps"
        )
    v, beyond = np.zeros((case.horizon + 1, S)), 0.0
    for h in reversed(range(case.horizon)):
        q = case.r + case.gamma * ((1.0 - away) * case.expected(v[h + 1]) + away * beyond)
        v[h] = np.where(case.terminal, 0.0, under(policy[h] if timed else policy, q))
        beyond = pays + case.gamma * beyond
    return v[:-1]


def returns(asked: Question, rng: np.random.Generator, draws: int) -> Floats:
    """Expected returns [1 + draws]: in the estimate, then in worlds drawn.

    A world is drawn pair by pair: p(.|s,a) from a Dirichlet distribution with the visits behind it
    and one more that may have gone anywhere, since what happens seldom was often not seen yet;
    r(s,a) from a normal one, with visits besides that paid the least and the most. Any step may
    lead to a state that the log does not have, as a pair of which nothing is known does: there each
    step pays something in the range of rewards. Where episodes begin is drawn as well.
    """
    case, rows, policy, unknown = asked
    found = [return_of(case, policy, unknown.begins.known / unknown.begins.known.sum())]
    known = np.diff(rows.indptr) > 0
    pair = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    sd = np.sqrt(case.spread / np.maximum(case.n, 1.0)) * (case.n > 0)
    rest = np.flatnonzero(known)
    begins = unknown.begins.drawn(draws, rng)
    away, (low, high) = new_states(unknown.N, draws, rng), unknown.rewards
    if case.terminal.any():  # one may be there, too
        low, high = min(low, 0.0), max(high, 0.0)
    pays = rng.uniform(low, high, draws)
    visits = np.maximum(case.n.ravel()[rest], 1e-300)
    for k in range(draws):
        weight = rng.standard_gamma(rows.data)
        more = rng.standard_gamma(UNSEEN, rest.size)  # to a state drawn for each pair
        total = np.bincount(pair, weight, rows.shape[0])
        total[rest] = np.maximum(total[rest] + more, 1e-300)
        P = sparse.csr_array((weight / total[pair], rows.indices, rows.indptr), shape=rows.shape)
        column = rng.integers(rows.shape[1], size=rest.size)
        P = P + sparse.csr_array((more / total[rest], (rest, column)), shape=rows.shape)
        r = case.r + sd * rng.standard_normal(sd.shape)
        own = rng.standard_gamma(visits)
        ends = rng.standard_gamma(unknown.ends, (2, rest.size))
        paid = own * r.ravel()[rest] + unknown.rewards @ ends
        r = np.full(sd.shape, pays[k])
        r.ravel()[rest] = paid / np.maximum(own + ends.sum(axis=0), 1e-300)
        other = Elsewhere(np.where(known, away[k], 1.0).reshape(sd.shape), float(pays[k]))
        start = begins[min(k, len(begins) - 1)]
        found.append(return_of(case._replace(P=P, r=r), policy, start, other))
    return np.array(found)


def return_of(
    case: Case, policy: NDArray[Any], start: Floats, other: Elsewhere | None = None
) -> float:
    """The expected return of a policy in the estimate; what is missing to 1 begins elsewhere."""
    if case.horizon is None:
        v = values_of(case, policy, other)
    else:
        v, beyond = np.zeros(len(case.r)), 0.0
        for pi, steps in _stretches(case, policy):
            v, beyond = _after(case, pi, steps, v, beyond, other)
    found = float(start @ v)
    if other is None:
        return found
    return found + (1.0 - float(start.sum())) * other.pays * case.steps(0)


def _stretches(case: Case, policy: NDArray[Any]) -> Iterator[tuple[NDArray[Any], int]]:
    """What is played, and for how many steps in a row, from the last step to the first."""
    assert case.horizon is not None
    drawn = policy.dtype.kind == "f"
    if policy.ndim < (3 if drawn else 2):
        yield policy, case.horizon
        return
    new = (policy[1:] != policy[:-1]).reshape(len(policy) - 1, policy[0].size).any(axis=1)
    begins = np.flatnonzero(np.append(True, new))
    many = np.diff(np.append(begins, len(policy)))
    yield from zip(policy[begins[::-1]], many[::-1].tolist(), strict=True)


def _after(
    case: Case, pi: NDArray[Any], steps: int, v: Floats, beyond: float, other: Elsewhere | None
) -> tuple[Floats, float]:
    """Values [S] so many steps before those with the values v, of which each plays the same.

    `beyond` is what is worth to be elsewhere. A long way goes in leaps: the map v -> r + gamma P v
    is put together with itself, so that a horizon of a million steps takes twenty leaps.
    """
    S, A = case.r.shape
    away, pays = (0.0, 0.0) if other is None else other
    leaps = 2 * math.ceil(math.log2(steps + 1)) * 2 * (S + 1) ** 3
    if steps < LONG or leaps > steps * (STEP + 2 * case.P.nnz):
        for _ in range(steps):
            q = case.r + case.gamma * ((1.0 - away) * case.expected(v) + away * beyond)
            v = np.where(case.terminal, 0.0, under(pi, q))
            beyond = pays + case.gamma * beyond
        return v, beyond
    chances = (pi if pi.ndim == 2 else np.eye(A)[pi]) * ~case.terminal[:, None]
    pair = np.arange(S * A)
    stays = (chances * (1.0 - away)).ravel()
    rule = sparse.csr_array((stays, (pair // A, pair)), shape=(S, S * A))
    leap = np.zeros((S + 1, S + 1))  # elsewhere is the last state, which is never left
    leap[:S, :S] = (rule @ case.P).toarray()
    leap[:S, S], leap[S, S] = (chances * away).sum(axis=1), 1.0
    leap *= case.gamma
    paid, ahead = np.append((chances * case.r).sum(axis=1), pays), np.append(v, beyond)
    while steps:
        if steps % 2:
            ahead = paid + leap @ ahead
        leap, paid, steps = leap @ leap, paid + leap @ paid, steps // 2
    return ahead[:S], float(ahead[S])
