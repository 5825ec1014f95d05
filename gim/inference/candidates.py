"""Candidate predictions of p(.|s,a) for every pair, from the counts of the others.

All start from the residual counts Y = N - n mu, where mu is the pooled marginal, so that what data
do not support shrinks towards the marginal; all use every visit by its weight; all are projected on
the simplex at the end. A candidate is a function of `Data`, which keeps what several share.

- marginal: mu itself
- state, action, additive: shrunken means of the residuals by state, by action, by both
- matrices(r): each dynamic matrix of rank r on its own, the paper's idea
- joint(mode, r, d): all dynamic matrices share factors of the states (or of the actions) of rank
  r, in the d directions of next states that vary most (all of them if d is None)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gim.model.projection import project_simplex

Floats = NDArray[np.float64]
SWEEPS = 6  # of alternating least squares: each starts from a spectral guess


class Data:
    """Counts of some pairs as candidates need them; `n` is 0 for pairs that are held out."""

    def __init__(self, N: Floats, n: Floats, available: NDArray[np.bool_], ridge: float) -> None:
        self.n = np.where(available, n, 0.0)  # [S, A]
        self.N = N  # [S, A, S]
        self.ridge = ridge  # visits that shrinkage is worth

    @cached_property
    def mu(self) -> Floats:
        """The pooled marginal [S]; uniform before anything is seen."""
        S = self.N.shape[2]
        total = (self.N * (self.n > 0)[:, :, None]).sum(axis=(0, 1)) + 1.0 / S
        return total / total.sum()

    @cached_property
    def Y(self) -> Floats:
        """Residual counts [S, A, S]."""
        return (self.N - self.n[:, :, None] * self.mu) * (self.n > 0)[:, :, None]

    @cached_property
    def directions(self) -> Floats:
        """Directions of next states [S, S], those that vary most between pairs first.

        The eigenvectors of sum (N N' - diag N) / n - n mu mu', in which the noise of the counts has
        mean zero.
        """
        weight = 1.0 / np.sqrt(np.maximum(self.n, 1.0))
        X = (self.Y * weight[:, :, None]).reshape(-1, self.Y.shape[2])
        noise = (self.N * ((self.n > 0) * weight**2)[:, :, None]).sum(axis=(0, 1))
        return np.linalg.eigh(X.T @ X - np.diag(noise))[1][:, ::-1]

    def in_directions(self, d: int | None) -> tuple[Floats, Floats]:
        """Residual counts [S, A, d] in the first d directions, and those directions [S, d]."""
        if d is None or d >= self.Y.shape[2]:
            return self.Y, np.eye(self.Y.shape[2])
        Q = self.directions[:, :d]
        return self.Y @ Q, Q


Candidate = Callable[[Data], Floats]


def marginal(data: Data) -> Floats:
    """The pooled marginal for every pair."""
    return np.broadcast_to(data.mu, data.N.shape)


def by_state(data: Data) -> Floats:
    """The mean of each state's pairs, shrunken."""
    effect = data.Y.sum(axis=1) / (data.n.sum(axis=1) + data.ridge)[:, None]
    return np.broadcast_to(data.mu + effect[:, None, :], data.N.shape)


def by_action(data: Data) -> Floats:
    """The mean of each action's pairs, shrunken."""
    effect = data.Y.sum(axis=0) / (data.n.sum(axis=0) + data.ridge)[:, None]
    return np.broadcast_to(data.mu + effect[None, :, :], data.N.shape)


def additive(data: Data) -> Floats:
    """A part of the state plus a part of the action, by backfitting."""
    n, Y, ridge = data.n, data.Y, data.ridge
    state, action = np.zeros(Y[:, 0].shape), np.zeros(Y[0].shape)
    for _ in range(4):
        state = (Y.sum(axis=1) - n @ action) / (n.sum(axis=1) + ridge)[:, None]
        action = (Y.sum(axis=0) - n.T @ state) / (n.sum(axis=0) + ridge)[:, None]
    return data.mu + state[:, None, :] + action[None, :, :]


def joint(mode: str, rank: int, d: int | None) -> Candidate:
    """All dynamic matrices share factors of states (mode "state") or of actions."""

    def predict(data: Data) -> Floats:
        Y, Q = data.in_directions(d)
        if mode == "state":
            return data.mu + _shared(Y, data.n, rank, data.ridge) @ Q.T
        turned = _shared(np.moveaxis(Y, 1, 0), data.n.T, rank, data.ridge)
        return data.mu + np.moveaxis(turned, 0, 1) @ Q.T

    return predict


def _shared(Y: Floats, n: Floats, rank: int, ridge: float) -> Floats:
    """Least squares of U [S, r] times V [A, r, d] on the residual counts, weighted by visits."""
    S, A, d = Y.shape
    rank = min(rank, S)
    flat = Y.reshape(S, A * d)
    guess = (Y / (n + ridge)[:, :, None]).reshape(S, A * d)
    U = np.linalg.eigh(guess @ guess.T)[1][:, : -rank - 1 : -1] * np.sqrt(S)
    eye = np.eye(rank)
    for _ in range(SWEEPS):
        gram = np.einsum("sa,sr,sq->arq", n, U, U, optimize=True)
        right = np.matmul(U.T, np.moveaxis(Y, 1, 0))  # [A, r, d]
        V = np.linalg.solve(gram + ridge * eye, right)
        inner = np.matmul(V, V.transpose(0, 2, 1)).reshape(A, -1)
        gram = (n @ inner).reshape(S, rank, rank)
        right = flat @ V.transpose(0, 2, 1).reshape(A * d, rank)
        level = ridge * max(float(np.trace(inner.mean(axis=0).reshape(rank, rank))) / rank, 1e-12)
        U = np.linalg.solve(gram + level * eye, right[:, :, None])[:, :, 0]
    return np.einsum("sr,ard->sad", U, V, optimize=True)


def matrices(rank: int) -> Candidate:
    """Each dynamic matrix of this rank, on its own: completion as the paper has it."""

    def predict(data: Data) -> Floats:
        n, Y = data.n, np.ascontiguousarray(np.moveaxis(data.Y, 2, 0))  # [K, S, A]
        guess = Y / (n + data.ridge)
        U = np.linalg.svd(guess, full_matrices=False)[0][:, :, :rank] * np.sqrt(n.shape[0])
        eye = np.eye(U.shape[2])
        for _ in range(SWEEPS):
            V = _regress(n.T, Y.transpose(0, 2, 1), U, data.ridge * eye)
            level = data.ridge * max(float((V**2).mean()), 1e-12)
            U = _regress(n, Y, V, level * eye)
        return data.mu + np.moveaxis(np.matmul(U, V.transpose(0, 2, 1)), 0, 2)

    return predict


def _regress(n: Floats, Y: Floats, V: Floats, penalty: Floats) -> Floats:
    """For each matrix and row, least squares on the columns' factors V [K, A, r]: [K, S, r]."""
    K, A, r = V.shape
    outer = (V[:, :, :, None] * V[:, :, None, :]).reshape(K, A, r * r)
    gram = np.matmul(n, outer).reshape(K, -1, r, r)
    return np.linalg.solve(gram + penalty, np.matmul(Y, V)[..., None])[..., 0]


def valid(q: Floats, available: NDArray[np.bool_]) -> Floats:
    """The prediction as distributions; of pairs that do not exist nothing is said."""
    return project_simplex(np.ascontiguousarray(q)) * available[:, :, None]


def candidates(S: int, A: int) -> dict[str, Candidate]:
    """All candidates that can say something at this size, the simplest first.

    A rank above half of what there is imposes nothing, nor do 8 directions of hardly more states.
    """
    found: dict[str, Candidate] = {
        "marginal": marginal,
        "state": by_state,
        "action": by_action,
        "additive": additive,
    }
    found |= {f"matrices({r})": matrices(r) for r in (1, 2) if 2 * r <= min(S, A)}
    for mode, size in (("state", S), ("action", A)):
        for rank in (1, 2, 4, 8):
            for d in (8, None):
                if 2 * rank <= size and (d is None or 2 * d <= S):
                    found[f"{mode}({rank},{d or 'all'})"] = joint(mode, rank, d)
    return found
