"""Means of all pairs, by state, by action and by both.

All start from the residual counts Y = N - n mu, where mu is the pooled marginal, so that what data
do not support shrinks towards the marginal; how much, the data say, too. All use every visit by its
weight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from gim._base.params import OneOf
from gim.analogy.candidates.base import Candidate, Fitted, Rows
from gim.analogy.candidates.data import Data

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
BACKFITTED = 4  # limit: times that each part is fitted to what the other leaves


@dataclass(frozen=True)
class Marginal(Candidate):
    """The pooled marginal mu for every pair."""

    family = "marginal"

    @classmethod
    def suited(cls, data: Data) -> list[Candidate]:
        """Where tables by next state are not too large: each of its rows names all states met."""
        return [cls()] if data.small else []

    def fit(self, data: Data) -> Fitted:
        """See `Candidate`."""
        return Rows(data, lambda pairs: np.tile(data.mu, (pairs.size, 1)), "all")


@dataclass(frozen=True)
class Means(Candidate):
    """Shrunken means of the residuals by state, by action, or a part of each added up."""

    by: Annotated[str, OneOf("state", "action", "both"), "what pairs share"] = "state"

    family = "means"

    @classmethod
    def suited(cls, data: Data) -> list[Candidate]:
        """All three, where tables by next state are not too large."""
        return [cls(by) for by in ("state", "action", "both")] if data.small else []

    def fit(self, data: Data) -> Fitted:
        """See `Candidate`."""
        if self.by == "both":
            return Rows(data, additive(data))
        effect, state = _effect(data, self.by)[0], self.by == "state"
        A = data.A
        of = lambda pairs: data.mu + effect[pairs // A if state else pairs % A]  # noqa: E731
        return Rows(data, of, self.by)


def additive(data: Data) -> Callable[[Ints], Floats]:
    """A part of the state plus a part of the action, by backfitting."""
    n, A = data.n, data.A
    state, of_state, sum_state = _effect(data, "state")
    action, of_action, sum_action = _effect(data, "action")
    for _ in range(BACKFITTED):
        state = (sum_state - n @ action) / (n.sum(axis=1) + of_state)[:, None]
        action = (sum_action - n.T @ state) / (n.sum(axis=0) + of_action)[:, None]
    return lambda pairs: data.mu + state[pairs // A] + action[pairs % A]


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
