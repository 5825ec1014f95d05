"""Counts plus prior: the one place where what was seen and what is inferred meet.

The prior counts as visits that were never made,

    N(s'|s,a) = n(s'|s,a) + n0(s,a) q(s'|s,a),   n(s,a) + n0(s,a)   in all,

so the estimate is p = (n(s'|s,a) + n0 q) / (n + n0), and data take over as they come; rewards
likewise. An agent's own rule (a threshold, a bonus, a posterior) goes on from this `Evidence` and
need not know that there is a prior. Without one the evidence is the counts themselves.

The prior is inferred anew when the visits have doubled; as long as it says nothing at all, when
there are so many more as the inference itself asks for (`Inference.retry`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.agent import TERMINATED, Mind, Task
from gim.inference.base import Floats, Frame, Prior, no_prior
from gim.jit import hot
from gim.model.counts import (
    DENSE_LIMIT,
    Counts,
    compact,
    count,
    counts_of,
    dense,
    grown,
    new_counts,
    new_known,
    review,
    transitions,
)
from gim.model.dynamics import learned
from gim.model.learned import LearnedModel

VISITS, NEXT = 0, 1  # places in Belief.schedule
AGAIN = 2.0  # visits over those at the last inference that said something


class Belief(NamedTuple):
    """What an agent has seen and what it infers."""

    counts: Counts
    terminal: NDArray[np.bool_]  # [S] states seen to end an episode
    prior: Prior  # of size 0 if nothing is ever inferred
    schedule: NDArray[np.int64]  # [2] visits in all, and those at which to infer next


class Evidence(NamedTuple):
    """What counts and prior say together, as if all of it had been counted."""

    N: Any  # [S, A, S], or CSR of S*A rows: visits by next state
    n: Floats  # [S, A] visits
    R: Floats  # [S, A] sum of rewards
    R2: Floats  # [S, A] sum of squared rewards
    n_r: Floats  # [S, A] visits behind the rewards


def new_belief(task: Task, infer: Any) -> Belief:
    """Nothing seen, or what a model learned elsewhere stands for, unless that is to be judged.

    A prior is S*A*S numbers: in worlds whose counts are stored sparse none is ever inferred.
    """
    S, A = task.S, task.A
    trusted = None if infer is not None and infer.reuses else task.prior
    counts = new_counts(S, A) if trusted is None else counts_of(trusted)
    terminal = np.zeros(S, bool) if trusted is None else trusted.terminal.copy()
    silent = infer is None or S * A * S > DENSE_LIMIT
    schedule = np.array([counts.n.sum(), np.iinfo(np.int64).max if silent else task.H])
    return Belief(counts, terminal, no_prior(*((0, 0) if silent else (S, A))), schedule)


@hot
def observe(belief: Any, s: int, a: int, r: float, t: int, end: int) -> bool:
    """Count one step; True asks for room (GROW)."""
    belief.schedule[0] += 1
    if end == TERMINATED:
        belief.terminal[t] = True
    return count(belief.counts, s, a, r, t)


@hot
def due(belief: Any) -> bool:
    """Whether it is time to infer again."""
    return belief.schedule[0] >= belief.schedule[1]


def with_room(belief: Belief) -> Belief:
    """The same with room for more triples."""
    return belief._replace(counts=grown(belief.counts))


def infer_when_due(
    belief: Belief, infer: Any, mind: Mind, reward_range: tuple[float, float]
) -> bool:
    """Infer anew if it is time; False if it is not, or if there is nothing to say as before."""
    if infer is None or belief.schedule[VISITS] < belief.schedule[NEXT]:
        return False
    frame = Frame(mind.task.available, belief.terminal, reward_range, mind.task.prior)
    with mind.timed("inferring"):
        new = infer(belief.counts, frame, mind.rng)
    spoke = _speaks(belief.prior)
    _put(new, belief.prior, frame.available & ~frame.terminal[:, None])
    speaks, visits = _speaks(belief.prior), belief.schedule[VISITS]
    belief.schedule[NEXT] = max(visits + 1, int((AGAIN if speaks else infer.retry) * visits))
    return spoke or speaks


def _speaks(prior: Prior) -> bool:
    return bool(prior.n0.any() or prior.r_n0.any())


def _put(new: Prior, prior: Prior, playable: NDArray[np.bool_]) -> None:
    """Copy a checked prior into the memory; nothing is ever inferred of what cannot be played."""
    for name, into, given in zip(Prior._fields, prior, new, strict=True):
        if np.shape(given) != into.shape:
            raise ValueError(f"the prior's {name} has shape {np.shape(given)}, not {into.shape}")
        if not np.isfinite(given).all() or (name != "r" and np.min(given) < 0):
            raise ValueError(f"the prior's {name} has entries that are negative or not finite")
    n0 = np.where(playable, new.n0, 0.0)
    off = np.abs(new.q.sum(axis=2) - 1) * (n0 > 0)
    if (off > 1e-6).any():
        s, a = np.unravel_index(off.argmax(), off.shape)
        raise ValueError(
            f"the prior's q[{s}, {a}] sums to {new.q[s, a].sum():.6g}, not 1: normalise it, or "
            f"set n0[{s}, {a}] to 0"
        )
    prior.q[:], prior.n0[:] = new.q, n0
    prior.r[:], prior.r_n0[:] = new.r, np.where(playable, new.r_n0, 0.0)


def evidence(belief: Belief) -> Evidence:
    """Counts plus prior; without a prior it is the counts, nothing is copied but n."""
    counts, prior = belief.counts, belief.prior
    n = counts.n.astype(np.float64)
    if not _speaks(prior):
        return Evidence(compact(counts), n, counts.R, counts.R2, n)
    goes_on = ~belief.terminal[:, None]  # an end that was found since the prior was inferred
    n0, r_n0 = prior.n0 * goes_on, prior.r_n0 * goes_on
    return Evidence(
        N=dense(transitions(counts), n.shape) + n0[:, :, None] * prior.q,
        n=n + n0,
        R=counts.R + r_n0 * prior.r,
        R2=counts.R2 + r_n0 * prior.r**2,
        n_r=n + r_n0,
    )


def divided(N: Any, n: Floats) -> Any:
    """N / n, in the form of N; 0 where n is 0."""
    n = np.where(n > 0, n, np.inf)
    if sparse.issparse(N):
        data = N.data / np.repeat(n.ravel(), np.diff(N.indptr))
        return sparse.csr_array((data, N.indices, N.indptr), shape=N.shape)
    return N / n[:, :, None]


def mean_rewards(seen: Evidence, r_max: float) -> Floats:
    """R / n, and the largest where nothing is known of it: optimism, whatever the prior says."""
    return np.where(seen.n_r > 0, seen.R / np.where(seen.n_r > 0, seen.n_r, 1.0), r_max)


def with_loops(P: Any, pairs: NDArray[np.int64], A: int) -> Any:
    """Add a certain way back to itself for these pairs s*A + a, whose rows are empty."""
    if not sparse.issparse(P):
        P.reshape(-1, P.shape[-1])[pairs, pairs // A] = 1.0
        return P
    loops = sparse.csr_array((np.ones(pairs.size), (pairs, pairs // A)), shape=P.shape)
    return sparse.csr_array(P + loops)


def believed_model(belief: Belief, task: Task, m: int = 1) -> LearnedModel:
    """The estimate as a model; a pair of which nothing is known stays and pays nothing.

    Where rewards are negative it pays the least of them: what was never tried must not look cheap.
    """
    seen = evidence(belief)
    least = mean_rewards(seen, 0.0).min(initial=0.0)
    P = divided(seen.N, seen.n)
    P = with_loops(P, np.flatnonzero((seen.n == 0) & task.available), task.A)
    known = new_known(task.available, m, 1.0)
    review(known, belief.counts, belief.terminal)
    return learned(P, mean_rewards(seen, least), belief.counts, known, task, seen.n > 0)
