"""From counts to dynamics: complete the S+1 dynamic matrices, make the result a valid MDP.

The empirical matrices (Eq. 1) are completed from the known pairs; every completed p(.|s,a) is
projected on the simplex. A state without a single known action has no entry in any matrix, so
completion can say nothing of it: what was counted there is used, and where nothing was, the mean of
the known pairs.

Where a large world was seen to be sparse, and the method completes each matrix on its own, it works
on the blocks that have data (`gim.model.blocks`), and nothing of S*S*A numbers is made.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._base.limits import available_memory
from gim.model.blocks import complete_blocks, whole
from gim.model.completion.base import Completion
from gim.model.counts import Counts, Known, compact, dense, empirical
from gim.model.learned import LearnedModel
from gim.model.projection import project_rows, project_simplex

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
COPIES = 4  # of all matrices: counted, as data, completed, as distributions


class CompletedDynamics(NamedTuple):
    """Completed dynamics of every pair."""

    P: Any  # [S, A, S], or CSR of S*A rows
    r: Floats  # [S, A]
    doubtful: int  # transition matrices that did not converge; all, if not told
    blind: Bools  # [S] states without a known action
    paid: Bools  # [S, A] whose own rewards stand: data for the completion, of blocks known ones


def check_completion(completion: Completion, S: int, A: int, m: int) -> None:
    """Refuse a world whose S matrices of S x A, completed, might not fit into memory.

    Of blocks a matrix may have as many rows as m visits of every pair can show, and no more than S.
    """
    apart = by_matrix(completion)
    rows, memory = min(S, m * A) if apart else S, available_memory()
    needed = COPIES * 8 * S * rows * A
    if memory is not None and needed > memory:
        way = "ask for less with a smaller m" if apart else "als works on the blocks that have data"
        raise ValueError(
            f"completing {S:,} matrices of {rows:,} x {A} takes {needed / 2**30:,.0f} GiB, more "
            f"than there is: {way}; with rho=1 nothing is completed"
        )


def by_matrix(completion: Completion) -> bool:
    """Whether blocks can be completed alone; a function of which nothing is known gets it all."""
    return bool(getattr(completion, "by_matrix", False))


def complete(
    counts: Counts,
    known: Known,
    completion: Completion,
    reward_data: str,
    rows: str,
    rng: np.random.Generator,
) -> CompletedDynamics:
    """Alg. 2, lines 15 to 18: MatComp on all dynamic matrices.

    Args:
        counts, known: what was seen, and which pairs are known.
        completion: the method.
        reward_data: which entries of the reward matrix are data: those of "known" pairs (the
            paper), of all "visited" ones, or "all", where a reward never seen counts as a seen
            zero (the published code). Beside blocks they weigh as many as their visits.
        rows: "project" each row on the simplex, or "clip" it at 0 only (the published code).
        rng: for the method.
    """
    mask = known.mask & known.available & ~known.terminal[:, None]
    blind = ~mask.any(axis=1) & ~known.terminal
    N = compact(counts)
    in_blocks = by_matrix(completion) and sparse.issparse(N)
    if in_blocks:
        N.data /= np.repeat(counts.n.ravel(), np.diff(N.indptr))
        filled, doubtful = complete_blocks(N, mask, completion, rows, rng)
        P = whole(filled, N, counts.n, known, blind)
    else:
        P, doubtful = _matrices(counts, known, mask, blind, completion, rows, rng)
    r_hat = counts.R * (1.0 / np.maximum(counts.n, 1))
    seen = {"known": mask, "visited": counts.n > 0, "all": known.available}[reward_data]
    scale = 1.0 if rows == "clip" else max(np.abs(r_hat[seen]).max(initial=0.0), 1e-300)
    weighted = in_blocks and getattr(completion, "weighted", False)
    weights: Floats = seen * (np.maximum(counts.n, 1.0) if weighted else np.ones(seen.shape))
    r = scale * completion((r_hat * seen / scale)[None], weights, rng).matrices[0]
    if in_blocks:
        r[blind] = _mean_rewards(counts)[blind, None]
        seen = seen & mask
    r[known.terminal], r[~known.available] = 0.0, 0.0
    return CompletedDynamics(P, r, doubtful, blind, seen)


def _mean_rewards(counts: Counts) -> Floats:
    """What each state paid on the average; the least, if negative, where none was ever paid.

    What was never tried stays where it is in a world of blocks, and must not look cheap.
    """
    n = counts.n.sum(axis=1)
    mean = counts.R.sum(axis=1) / np.maximum(n, 1)
    return np.where(n > 0, mean, mean.min(initial=0.0))


def _matrices(
    counts: Counts,
    known: Known,
    mask: Bools,
    blind: Bools,
    completion: Completion,
    rows: str,
    rng: np.random.Generator,
) -> tuple[Any, int]:
    """Completed rows [S, A, S] from whole matrices, and how many matrices are doubtful."""
    S, A = mask.shape
    p_hat = dense(empirical(counts)[0], (S, A))
    weights = mask.astype(np.float64)
    matrices = np.ascontiguousarray(np.moveaxis(p_hat, 2, 0)) * weights
    done = completion(matrices, weights, rng)
    P = np.maximum(np.moveaxis(done.matrices, 0, 2), 0.0) if rows == "clip" else None
    if P is None:
        P = project_simplex(np.ascontiguousarray(np.moveaxis(done.matrices, 0, 2)))
        P[blind] = _fallback(counts, mask, p_hat)[blind]
    P[known.terminal], P[~known.available] = np.eye(S)[known.terminal][:, None, :], 0.0
    return P, 0 if done.converged else S


def _fallback(counts: Counts, mask: Bools, p_hat: Floats) -> Floats:
    """What was counted, else the mean of the known pairs, else uniform."""
    mean = p_hat[mask].mean(axis=0) if mask.any() else np.full(len(mask), 1 / len(mask))
    return np.where(counts.n[:, :, None] > 0, p_hat, mean)


def learned(
    P: Any,
    r: Floats,
    counts: Counts,
    known: Known,
    task: Any,
    supported: Bools | None = None,
    doubt: Floats | None = None,
) -> LearnedModel:
    """The model as a thing: a valid MDP with what stands behind each pair.

    `task` is what the agent was told (`gim.runs.agent.Task`); labels are the world's own.
    `supported` are the pairs [S, A] of which something was seen or inferred, where that is known.
    """
    truth = task.truth
    if not np.allclose(np.asarray(P.sum(axis=-1)).ravel()[known.available.ravel()], 1):
        P = project_simplex(P) if isinstance(P, np.ndarray) else project_rows(P)
    return LearnedModel(
        P,
        np.where(known.available & ~known.terminal[:, None], r, 0.0),
        start=start_of(task, counts, known.terminal),
        horizon=task.H,
        terminal=known.terminal,
        available=known.available,
        state_labels=truth.state_labels if truth is not None else None,
        action_labels=truth.action_labels if truth is not None else None,
        variables=task.variables,
        action_variables=task.action_variables,
        name=f"model of {truth.name}" if truth is not None else "model",
        visits=counts.n,
        known=known.mask,
        supported=supported,
        doubt=doubt,
    )


def start_of(task: Any, counts: Counts, terminal: Bools) -> Floats:
    """Where episodes begin, [S]: as the world's table has it, else as they began so far.

    Before any has begun, anywhere that was met or may be. A model cannot begin where episodes end,
    as some environments do: those beginnings are left out.
    """
    if task.truth is not None:
        return np.asarray(task.truth.start)
    if task.starts is not None and (begun := np.where(terminal, 0, task.starts)).any():
        return np.asarray(begun / begun.sum())
    visited = counts.n.any(axis=1) & ~terminal
    open_ = visited if visited.any() else ~terminal
    return np.asarray(open_ / open_.sum())
