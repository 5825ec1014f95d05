"""What GIM's model says of every pair: completed, inferred, or as counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim.agent import Mind, Task
from gim.inference.base import Prior
from gim.inference.belief import Belief, divided, evidence, with_loops
from gim.model.counts import Counts, Known, dense, empirical
from gim.model.dynamics import Dynamics, complete, filled

Floats = NDArray[np.float64]


def completed(agent: Any, counts: Counts, known: Known, mind: Mind) -> Dynamics:
    """Complete the dynamic matrices as GIM's parameters say, with a note where it is in doubt."""
    how = (agent.completion, agent.rewards, agent.rows, agent.worth)
    with mind.timed("completing"):
        done = complete(counts, known, *how, mind.rng)
    if done.blind.any():
        mind.note(
            f"{done.blind.sum()} states never had a known action: completion says nothing "
            "of them, their dynamics are what was counted or the mean"
        )
    if not done.completed.converged:
        mind.note("the matrix completion did not converge: do not trust the inferred pairs")
    return done


def rewards_of(task: Task, counts: Counts) -> tuple[float, float]:
    """The least and the largest r(s,a); those seen so far in a world that does not tell."""
    if task.reward_range is not None:
        return task.reward_range
    r = counts.R[counts.n > 0] / counts.n[counts.n > 0]
    return float(r.min(initial=0.0)), float(r.max(initial=0.0))


def hoped(r: Floats, counts: Counts, known: Known, prior: Prior, task: Task) -> Floats:
    """Rewards with hope: beside n + n0 visits that paid r, one is imagined that paid the most.

    It keeps learning from settling on what the first visits happened to show. A reward never seen,
    nor inferred, is all hope: the largest.
    """
    playable = known.available & ~known.terminal[:, None]
    n, n_r = counts.n.astype(np.float64), counts.n.astype(np.float64)
    if prior.n0.size:
        n, n_r = n + prior.n0, n_r + prior.r_n0
    most = rewards_of(task, counts)[1]
    return np.where(playable, np.where(n_r > 0, (n * r + most) / (n + 1.0), most), r)


def estimated(
    counts: Counts, known: Known, prior: Prior, P: Floats, r: Floats, own: bool
) -> tuple[Any, Floats]:
    """P and r of every pair.

    Args:
        counts, known: what was seen, and which pairs are known.
        prior: what is inferred; of size 0 where there is no inference.
        P, r: what was completed; of size 0 where nothing was.
        own: whether known pairs have estimates of their own, beside completion.
    """
    if prior.n0.size:
        return blended(counts, known, prior)
    if not P.size:
        return filled(counts, known)
    if not own:
        return P, r
    mine, ends = known.mask & (counts.n > 0), known.terminal
    p_hat, r_hat = empirical(counts)
    p_hat = dense(p_hat, counts.n.shape)
    P, r = np.where(mine[:, :, None], p_hat, P), np.where(mine, r_hat, r)
    P[ends], r[ends] = np.eye(len(P))[ends][:, None, :], 0.0  # some were found since completion
    P[~known.available] = 0.0
    return P, r


def blended(counts: Counts, known: Known, prior: Prior) -> tuple[Any, Floats]:
    """p = (N + n0 q) / (n + n0); a pair of which nothing is known stays where it is.

    A reward neither seen nor inferred is the mean of those seen in its state, else of all.
    """
    seen = evidence(Belief(counts, known.terminal, prior, np.zeros(2, np.int64)))
    blank = np.flatnonzero((seen.n == 0) & known.available)
    P = with_loops(divided(seen.N, seen.n), blank, counts.n.shape[1])
    some = seen.n_r > 0
    r = seen.R / np.where(some, seen.n_r, 1.0)
    of_state = r.sum(axis=1) / np.maximum(some.sum(axis=1), 1)
    mean = np.where(some.any(axis=1), of_state, r[some].mean() if some.any() else 0.0)
    return P, np.where(known.terminal[:, None], 0.0, np.where(some, r, mean[:, None]))
