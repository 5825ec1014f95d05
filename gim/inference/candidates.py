"""Candidate predictions of p(.|s,a) for every pair, from the counts of the others.

All start from the residual counts Y = N - n mu, where mu is the pooled marginal, so that what data
do not support shrinks towards the marginal; how much, the data say, too. All use every visit by its
weight; all are projected on the simplex at the end (`valid`). A candidate is a function of `Data`,
which keeps what several share.

- marginal: mu itself
- state, action, additive: shrunken means of the residuals by state, by action, by both
- matrices(r): each dynamic matrix of rank r on its own, the paper's idea
- state(r,d), action(r,d): all dynamic matrices share factors of the states (or of the actions) of
  rank r, in the d directions of next states that vary most (or in all of them)
- tucker(r,q,d): r factors of the states and q of the actions with a core between them
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gim.inference.data import STARTS, Data
from gim.inference.lowrank import Dense, low_rank, moment, product, tucker, turned
from gim.model.projection import project_simplex

__all__ = ["Candidate", "Data", "candidates", "valid"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
PULL = 0.1  # of the old directions, relative to the evidence for the new ones
SHAPES = ((2, 4), (2, 8), (4, 8), (8, 8), (12, 16), (2, None), (4, None), (8, None))  # rank, d
LARGE = 128  # states beyond which matrices are those of the leading directions


class Candidate(Protocol):
    """A way to predict p(.|s,a); rows need not be distributions yet."""

    def __call__(self, data: Data, only: Mask | None = None) -> Floats:
        """Predict all pairs [S, A, S], or only those of a mask [S, A]: [pairs, S]."""


def marginal(data: Data, only: Mask | None = None) -> Floats:
    """The pooled marginal for every pair."""
    return (
        np.broadcast_to(data.mu, data.shape) if only is None else np.tile(data.mu, (only.sum(), 1))
    )


def by_state(data: Data, only: Mask | None = None) -> Floats:
    """The mean of each state's pairs, shrunken."""
    return _at(data, _effect(data, "state")[0][:, None], only)


def by_action(data: Data, only: Mask | None = None) -> Floats:
    """The mean of each action's pairs, shrunken."""
    return _at(data, _effect(data, "action")[0][None], only)


def additive(data: Data, only: Mask | None = None) -> Floats:
    """A part of the state plus a part of the action, by backfitting."""
    n = data.n
    state, of_state, sum_state = _effect(data, "state")
    action, of_action, sum_action = _effect(data, "action")
    for _ in range(4):
        state = (sum_state - n @ action) / (n.sum(axis=1) + of_state)[:, None]
        action = (sum_action - n.T @ state) / (n.sum(axis=0) + of_action)[:, None]
    if only is None:
        return data.mu + state[:, None, :] + action[None, :, :]
    s, a = np.nonzero(only)
    return data.mu + state[s] + action[a]


def _effect(data: Data, mode: str) -> tuple[Floats, float, Floats]:
    """Shrunken means of the residuals by state or by action [items, S], shrinkage, and their sums.

    Products of different pairs of an item have no noise in common, so they tell the variance of the
    effect; what else there is in a visit, over that, are the visits that shrinkage is worth.
    """
    axis = 1 if mode == "state" else 0
    S, A, _ = data.shape
    pair = np.repeat(np.arange(S * A), np.diff(data.rows.indptr))
    item = pair // A if mode == "state" else pair % A
    n = data.n.sum(axis=axis)
    met = np.bincount(item * S + data.rows.indices, data.rows.data, n.size * S).reshape(-1, S)
    sums = met - n[:, None] * data.mu
    own = (data.rows.data**2).sum() - 2 * data.n.ravel() @ (data.rows @ data.mu)
    own += (data.n**2).sum() * (data.mu**2).sum()
    couples = (n**2).sum() - (data.n**2).sum()
    variance = max(float((sums**2).sum() - own), 0.0) / max(float(couples), 1.0)
    rest = max(float(own - variance * (data.n**2).sum()), 0.0) / max(float(n.sum()), 1.0)
    ridge = (rest + 1e-12) / (variance + 1e-12)
    return sums / (n + ridge)[:, None], ridge, sums


def joint(mode: str, rank: int, d: int | None) -> Candidate:
    """All dynamic matrices share factors of states (mode "state") or of actions."""

    def predict(data: Data, only: Mask | None = None) -> Floats:
        start = data.start(mode, rank)
        if d is None:
            everywhere, scale = data.everywhere(mode)
            w = product(*low_rank(everywhere, start, data.ridge)) * scale
            return _at(data, w if mode == "state" else w.transpose(1, 0, 2), only)
        y, back = data.within(d)
        y = y if mode == "state" else turned(y)
        u, v = low_rank(y, start, data.ridge)
        w = product(u, v) if mode == "state" else product(u, v).transpose(1, 0, 2)
        return _at(data, w, only, _realigned(data, w, moment(u, v, y.n), back))

    return predict


def core(ranks: tuple[int, int], d: int) -> Candidate:
    """Factors of states and of actions at once, with a core between them."""

    def predict(data: Data, only: Mask | None = None) -> Floats:
        y, back = data.within(d)
        start = (data.start("state", ranks[0]), data.start("action", ranks[1]))
        w, second = tucker(y, start, data.ridge)
        return _at(data, w, only, _realigned(data, w, second, back))

    return predict


def _realigned(data: Data, w: Floats, second: Floats, back: Floats) -> Floats:
    """Directions [S, d] by regression on w [S, A, d], with a pull to those that w was fitted in.

    What the factors make of the counts has less noise than the counts that gave the directions.
    """
    d = second.shape[0]
    x = np.ascontiguousarray(w).reshape(-1, d)
    right = (data.rows.T @ x).T - np.outer(data.n.ravel() @ x, data.mu)
    pull = PULL * np.trace(second) / d + 1e-12
    return np.asarray(np.linalg.solve(second + pull * np.eye(d), right + pull * back.T).T)


def matrices(rank: int) -> Candidate:
    """Each dynamic matrix of this rank, on its own: completion as the paper has it.

    Beyond LARGE states the matrices are those of the leading directions of next states.
    """

    def predict(data: Data, only: Mask | None = None) -> Floats:
        if data.shape[2] <= LARGE:
            y, scale = data.each()
            back = np.diag(scale)
        else:
            narrow, back = data.within(STARTS)
            y = Dense(np.ascontiguousarray(narrow.y.transpose(3, 1, 2, 0)), narrow.n)
        start = np.tile(data.start("state", rank), (y.y.shape[0], 1, 1))
        u, v = low_rank(y, start, data.ridge)
        w = np.einsum("krs,kra->sak", u.mean[..., 0], v.mean[..., 0], optimize=True)
        return _at(data, w, only, back)

    return predict


def _at(data: Data, w: Floats, only: Mask | None, back: Floats | None = None) -> Floats:
    """The marginal plus w [S, A, d], for all pairs or only for some."""
    if only is not None:
        w = np.broadcast_to(w, (*only.shape, w.shape[2]))[only]
    elif back is None:
        w = np.broadcast_to(w, data.shape)
    return data.mu + (w if back is None else w @ back.T)


def valid(q: Floats, available: Mask) -> Floats:
    """The prediction as distributions; of pairs that do not exist nothing is said."""
    return project_simplex(np.ascontiguousarray(q)) * available[..., None]


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
        for rank, d in SHAPES:
            if 2 * rank <= size and (d is None or 2 * d <= S):
                found[f"{mode}({rank},{d or 'all'})"] = joint(mode, rank, d)
    for r in (2, 4):
        if 2 * r <= min(S, A) and S >= 16:
            found[f"tucker({r},{r},8)"] = core((r, r), 8)
    return found
