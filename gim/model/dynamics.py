"""From counts to dynamics: complete the S+1 dynamic matrices, make the result a valid MDP.

The empirical matrices (Eq. 1) are completed from the known pairs; every completed p(.|s,a) is
projected on the simplex. A state without a single known action has no entry in any matrix, so
completion can say nothing of it: what was counted there is used, and where nothing was, the mean of
the known pairs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.limits import available_memory
from gim.model.completion.base import Completed, Completion
from gim.model.counts import Counts, Known, dense, empirical
from gim.model.learned import LearnedModel
from gim.model.projection import project_simplex

Floats = NDArray[np.float64]
COPIES = 4  # of all matrices: counted, as data, completed, as distributions


class CompletedDynamics(NamedTuple):
    """Completed dynamics of every pair."""

    P: Floats  # [S, A, S]
    r: Floats  # [S, A]
    completed: Completed  # what the method said of the transition matrices
    blind: NDArray[np.bool_]  # [S] states without a known action
    paid: NDArray[np.bool_]  # [S, A] whose rewards were data for the completion


def check_completion(S: int, A: int) -> None:
    """Refuse a world whose S matrices of S x A, completed, would not fit into memory."""
    needed, memory = COPIES * 8 * S * S * A, available_memory()
    if memory is not None and needed > memory:
        raise ValueError(
            f"completing {S:,} matrices of {S:,} x {A} takes {needed / 2**30:,.0f} GiB, more than "
            "there is: with rho=1 nothing is completed; analogist and ucbvi keep what was seen only"
        )


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
            zero (the published code).
        rows: "project" each row on the simplex, or "clip" it at 0 only (the published code).
        rng: for the method.
    """
    S = len(known.rho_known)
    p_hat, r_hat = empirical(counts)
    p_hat = dense(p_hat, counts.n.shape)
    mask = known.mask & known.available & ~known.terminal[:, None]
    blind = ~mask.any(axis=1) & ~known.terminal
    weights = mask.astype(np.float64)
    matrices = np.ascontiguousarray(np.moveaxis(p_hat, 2, 0)) * weights
    done = completion(matrices, weights, rng)
    P = np.maximum(np.moveaxis(done.matrices, 0, 2), 0.0) if rows == "clip" else None
    if P is None:
        P = project_simplex(np.ascontiguousarray(np.moveaxis(done.matrices, 0, 2)))
        P[blind] = _fallback(counts, mask, p_hat)[blind]
    seen = {"known": mask, "visited": counts.n > 0, "all": known.available}[reward_data]
    scale = 1.0 if rows == "clip" else max(np.abs(r_hat[seen]).max(initial=0.0), 1e-300)
    r = scale * completion((r_hat * seen / scale)[None], seen.astype(np.float64), rng).matrices[0]
    ends = known.terminal
    P[ends], r[ends] = np.eye(S)[ends][:, None, :], 0.0
    P[~known.available], r[~known.available] = 0.0, 0.0
    return CompletedDynamics(P, r, done, blind, seen)


def _fallback(counts: Counts, mask: NDArray[np.bool_], p_hat: Floats) -> Floats:
    """What was counted, else the mean of the known pairs, else uniform."""
    mean = p_hat[mask].mean(axis=0) if mask.any() else np.full(len(mask), 1 / len(mask))
    return np.where(counts.n[:, :, None] > 0, p_hat, mean)


def learned(
    P: Any,
    r: Floats,
    counts: Counts,
    known: Known,
    task: Any,
    supported: NDArray[np.bool_] | None = None,
) -> LearnedModel:
    """The model as a thing: a valid MDP with what stands behind each pair.

    `task` is what the agent was told (`gim.agent.Task`); start and labels are the world's own.
    `supported` are the pairs [S, A] of which something was seen or inferred, where that is known.
    """
    truth = task.truth
    if isinstance(P, np.ndarray) and not np.allclose(P.sum(axis=2)[known.available], 1):
        P = project_simplex(P)
    visited = counts.n.any(axis=1) & ~known.terminal
    open_ = visited if visited.any() else ~known.terminal
    return LearnedModel(
        P,
        np.where(known.available & ~known.terminal[:, None], r, 0.0),
        start=truth.start if truth is not None else open_ / open_.sum(),
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
    )
