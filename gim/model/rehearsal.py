"""A rehearsal: would inference have worked here? Asked of a world whose dynamics are known.

Some pairs are given m samples each, the others none; the dynamic matrices are completed and planned
on, and the plan is judged by the truth. No assumption is needed, and none of the unknown constants
of the theory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.mdp.tabular import TabularMDP
from gim.model.completion.base import Completion
from gim.model.counts import Counts, Known, dense, empirical, new_counts, new_known, review
from gim.model.dynamics import complete

HARM = 0.05  # a gap that calls for a warning


class Rehearsal(NamedTuple):
    """Means over the repetitions."""

    l1: float  # ||p - p_true||_1 of the inferred pairs
    state_mean: float  # the same, if each were given the mean of the known pairs of its state
    marginal: float  # the same, if each were given the mean of all known pairs
    gap: float  # (V* - V) / (V* - V_random) of the plan made on the completed model
    known_gap: float  # the same where every pair has its m samples

    @property
    def hurts(self) -> bool:
        """Whether inferring costs more than a twentieth of the way from random to the optimum."""
        return self.gap > HARM and self.gap > 2 * self.known_gap


def rehearse(
    mdp: TabularMDP,
    completion: Completion,
    rng: np.random.Generator,
    m: int = 40,
    rho: float = 0.8,
    repeats: int = 5,
) -> Rehearsal:
    """Infer a share 1 - rho of the pairs from m samples of each of the others."""
    rows = [_once(mdp, completion, rng, m, rho) for _ in range(repeats)]
    return Rehearsal(*np.mean(rows, axis=0).tolist())


class Sampled(NamedTuple):
    """What might have been counted."""

    everything: Counts  # m samples of each pair
    counts: Counts  # the same without the unknown pairs
    unknown: NDArray[np.bool_]  # [S, A]


def sample(mdp: TabularMDP, rng: np.random.Generator, m: int, rho: float) -> Sampled:
    """Give m samples to each of a share rho of the pairs, none to the others."""
    truth = mdp.to_dense().transitions
    playable = mdp.available & ~mdp.terminal[:, None]
    pairs = np.argwhere(playable)
    hidden = rng.permutation(len(pairs))[: int((1 - rho) * len(pairs))]
    unknown = np.zeros_like(playable)
    unknown[tuple(pairs[hidden].T)] = True
    everything = _sampled(mdp, truth, playable, m, rng)
    counts = everything._replace(
        n=np.where(unknown, 0, everything.n),
        R=np.where(unknown, 0.0, everything.R),
        R2=np.where(unknown, 0.0, everything.R2),
        next=np.where(unknown[:, :, None], 0, everything.next.reshape(truth.shape)).ravel(),
    )
    return Sampled(everything, counts, unknown)


def _once(
    mdp: TabularMDP, completion: Completion, rng: np.random.Generator, m: int, rho: float
) -> tuple[float, ...]:
    truth = mdp.to_dense().transitions
    playable = mdp.available & ~mdp.terminal[:, None]
    everything, counts, unknown = sample(mdp, rng, m, rho)
    P, r = _completed(mdp, counts, completion, m, rng)
    known = playable & ~unknown
    guesses = {"l1": P[unknown]}
    by_state = np.where(known[:, :, None], truth, 0).sum(axis=1)
    by_state /= np.maximum(known.sum(axis=1), 1)[:, None]
    marginal = truth[known].mean(axis=0) if known.any() else np.full(mdp.S, 1 / mdp.S)
    by_state[~known.any(axis=1)] = marginal
    guesses["state"] = by_state[np.argwhere(unknown)[:, 0]]
    guesses["marginal"] = np.tile(marginal, (int(unknown.sum()), 1))
    errors = [
        float(np.abs(guess - truth[unknown]).sum(axis=1).mean()) if unknown.any() else 0.0
        for guess in guesses.values()
    ]
    full, full_r = _completed(mdp, everything, completion, m, rng)
    return (*errors, _gap(mdp, P, r), _gap(mdp, full, full_r))


def _sampled(
    mdp: TabularMDP, truth: np.ndarray, playable: np.ndarray, m: int, rng: np.random.Generator
) -> Counts:
    """Counts of m samples of each playable pair."""
    counts = new_counts(mdp.S, mdp.A)
    N = np.zeros(truth.shape)
    N[playable] = rng.multinomial(m, truth[playable] / truth[playable].sum(1, keepdims=True))
    n = m * playable.astype(np.int64)
    R, R2 = n * mdp.rewards, n * mdp.rewards**2
    return counts._replace(n=n, R=R, R2=R2, next=N.ravel(), keys=np.zeros(0, np.int64))


def _completed(
    mdp: TabularMDP, counts: Counts, completion: Completion, m: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    known: Known = new_known(mdp.available, m, 1.0)
    review(known, counts, mdp.terminal)
    if known.mask.all():
        return counts.next.reshape(mdp.S, mdp.A, mdp.S) / m, mdp.rewards
    done = complete(counts, known, completion, "visited", "project", rng)
    P, r = empirical(counts)
    inferred = dense(done.P, done.r.shape)
    return np.where(known.mask[:, :, None], P, inferred), np.where(done.paid, r, done.r)


def _gap(mdp: TabularMDP, P: np.ndarray, r: np.ndarray) -> float:
    """What the plan made on this model lacks, as a share of the way up from random."""
    best, worst = mdp.optimal_return(), mdp.random_return()
    if best - worst <= 1e-12 * max(1.0, abs(best)):
        return 0.0
    model = mdp.with_(transitions=_valid(P, mdp), rewards=np.where(mdp.terminal[:, None], 0, r))
    return (best - mdp.policy_return(model.plan().policy)) / (best - worst)


def _valid(P: np.ndarray, mdp: TabularMDP) -> np.ndarray:
    """Unvisited rows of the empirical model of a terminal state are loops."""
    rows = P.copy()
    rows[mdp.terminal] = np.eye(mdp.S)[mdp.terminal][:, None, :]
    return rows
