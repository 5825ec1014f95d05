"""Low rank: dynamic matrices whose factors are shared, or each on its own.

All start from the residual counts Y = N - n mu, where mu is the pooled marginal, so that what data
do not support shrinks towards the marginal; how much, the data say, too. All use every visit by its
weight; all are projected on the simplex at the end.

- matrices(rank): each dynamic matrix of this rank on its own, the paper's idea
- factors(mode,rank,d): all dynamic matrices share factors of the states (or of the actions), in the
  d directions of next states that vary most (or in all of them)
- tucker(rank): as many factors of the states as of the actions, with a core between them
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from gim._base.params import OneOf, Within
from gim.analogy.candidates.base import Candidate, Fitted, Rows
from gim.analogy.candidates.data import STARTS, Data
from gim.analogy.candidates.lowrank import Dense, low_rank, moment, product, tucker, turned

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PULL = 0.1  # of the old directions, relative to the evidence for the new ones
SHAPES = ((2, 4), (2, 8), (4, 8), (8, 8), (12, 16), (2, 0), (4, 0), (8, 0))  # rank, d
LARGE = 128  # states beyond which matrices are those of the leading directions


@dataclass(frozen=True)
class Matrices(Candidate):
    """Each dynamic matrix of this rank, on its own: completion as the paper has it.

    Beyond LARGE states the matrices are those of the leading directions of next states.
    """

    rank: Annotated[int, Within(1), "rank of each dynamic matrix"] = 1

    family = "matrices"

    @classmethod
    def suited(cls, data: Data) -> list[Candidate]:
        """A rank above half of what there is imposes nothing."""
        return [cls(r) for r in (1, 2) if data.small and 2 * r <= min(data.S, data.A)]

    def fit(self, data: Data) -> Fitted:
        """See `Candidate`."""
        if data.S <= LARGE:
            y, scale = data.each()
            back = np.diag(scale)
        else:
            narrow, back = data.within(STARTS)
            y = Dense(np.ascontiguousarray(narrow.y.transpose(3, 1, 2, 0)), narrow.n)
        start = np.tile(data.start("state", self.rank), (y.y.shape[0], 1, 1))
        u, v = low_rank(y, start, data.ridge)
        w = np.einsum("krs,kra->sak", u.mean[..., 0], v.mean[..., 0], optimize=True)
        return Rows(data, _at(data, w, back))


@dataclass(frozen=True)
class Factors(Candidate):
    """All dynamic matrices share factors of states (mode "state") or of actions."""

    mode: Annotated[str, OneOf("state", "action"), "whose factors are shared"] = "state"
    rank: Annotated[int, Within(1), "how many factors"] = 2
    d: Annotated[int, Within(0), "directions of next states; 0: all"] = 4

    @classmethod
    def suited(cls, data: Data) -> list[Candidate]:
        """A rank above half of what there is imposes nothing, nor do d of hardly more states."""
        sizes = {"state": data.S, "action": data.A} if data.small else {}
        return [
            cls(mode, rank, d)
            for mode, size in sizes.items()
            for rank, d in SHAPES
            if 2 * rank <= size and 2 * d <= data.S
        ]

    def fit(self, data: Data) -> Fitted:
        """See `Candidate`."""
        start, by_state = data.start(self.mode, self.rank), self.mode == "state"
        if self.d == 0:
            everywhere, scale = data.everywhere(self.mode)
            w = product(*low_rank(everywhere, start, data.ridge)) * scale
            return Rows(data, _at(data, w if by_state else w.transpose(1, 0, 2)))
        y, back = data.within(self.d)
        y = y if by_state else turned(y)
        u, v = low_rank(y, start, data.ridge)
        w = product(u, v) if by_state else product(u, v).transpose(1, 0, 2)
        return Rows(data, _at(data, w, _realigned(data, w, moment(u, v, y.n), back)))


@dataclass(frozen=True)
class Tucker(Candidate):
    """Factors of states and of actions at once, with a core between them."""

    rank: Annotated[int, Within(1), "factors of the states, and of the actions"] = 2

    @classmethod
    def suited(cls, data: Data) -> list[Candidate]:
        """Where there are enough states for 8 directions."""
        fits = data.small and data.S >= 16
        return [cls(r) for r in (2, 4) if fits and 2 * r <= min(data.S, data.A)]

    def fit(self, data: Data) -> Fitted:
        """See `Candidate`."""
        y, back = data.within(8)
        start = (data.start("state", self.rank), data.start("action", self.rank))
        w, second = tucker(y, start, data.ridge)
        return Rows(data, _at(data, w, _realigned(data, w, second, back)))


def _realigned(data: Data, w: Floats, second: Floats, back: Floats) -> Floats:
    """Directions [S, d] by regression on w [S, A, d], with a pull to those that w was fitted in.

    What the factors make of the counts has less noise than the counts that gave the directions.
    """
    d = second.shape[0]
    x = np.ascontiguousarray(w).reshape(-1, d)
    right = (data.rows.T @ x).T - np.outer(data.n.ravel() @ x, data.mu)
    pull = PULL * np.trace(second) / d + 1e-12
    return np.asarray(np.linalg.solve(second + pull * np.eye(d), right + pull * back.T).T)


def _at(data: Data, w: Floats, back: Floats | None = None) -> Callable[[Ints], Floats]:
    """The marginal plus w [S, A, d], by pairs."""
    flat = np.ascontiguousarray(w).reshape(data.S * data.A, -1)
    return lambda pairs: data.mu + (flat[pairs] if back is None else flat[pairs] @ back.T)
