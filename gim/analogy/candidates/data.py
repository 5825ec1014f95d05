"""Counts of some pairs in the forms that candidates share, each computed once when asked for."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from gim._compile.jit import seldom
from gim.analogy.base import Frame
from gim.analogy.candidates.lowrank import Dense, Sparse
from gim.analogy.structure.triples import Colours, colours_of
from gim.model.counts import DENSE_LIMIT, nonzeros

Floats = NDArray[np.float64]
STARTS = 16  # directions from which the spectral guesses are made


class Data:
    """Counts of some pairs; a pair that is held out has n = 0 and leaves no trace.

    Args:
        N: [S, A, S], or CSR of S*A rows: visits by next state.
        n: [S, A] visits; 0 for pairs that are held out, whatever N says of them.
        available: [S, A] pairs that can be played.
        ridge: visits that shrinkage is worth before the data say how much they want.
        facts: what is certain about the world besides; None: nothing else.
        paid, paid2: sums of rewards and of their squares, aligned with a CSR `N`, or None.
    """

    def __init__(
        self,
        N: Any,
        n: Floats,
        available: NDArray[np.bool_],
        ridge: float = 2.0,
        facts: Frame | None = None,
        paid: Any = None,
        paid2: Any = None,
    ) -> None:
        self.n = np.where(available, n, 0.0)  # [S, A]
        self.available, self.ridge = available, ridge
        self.S, self.A = n.shape
        nothing = Frame(available, np.zeros(self.S, bool), (-np.inf, np.inf))
        self.facts = nothing if facts is None else facts
        self.small = n.size * len(n) <= DENSE_LIMIT  # whether [S, A, S] numbers fit
        self._within: dict[int, tuple[Dense, Floats]] = {}
        self._starts: dict[str, Floats] = {}
        self._everywhere: dict[str, Sparse] = {}
        S, A = n.shape
        self.shape = (S, A, S)
        if sparse.issparse(N):
            kept = np.repeat(self.n.ravel() > 0, np.diff(N.indptr))
            sizes = np.where(self.n.ravel() > 0, np.diff(N.indptr), 0)
            parts = N.data[kept], N.indices[kept], np.append(0, np.cumsum(sizes))
            paid = None if paid is None else paid[kept]
            paid2 = None if paid2 is None else paid2[kept]
        else:
            parts = nonzeros(np.ascontiguousarray(N), self.n)
        self.paid, self.paid2 = paid, paid2  # [nnz] aligned with `rows`
        self.rows = sparse.csr_array(parts, shape=(S * A, S))  # visits by next state

    def without(self, out: NDArray[np.bool_]) -> Data:
        """The same without the pairs of a mask [S, A]."""
        n = np.where(out, 0.0, self.n)
        more = (self.ridge, self.facts, self.paid, self.paid2)
        return Data(self.rows, n, self.available, *more)

    @cached_property
    def colours(self) -> Colours:
        """What tells states, actions and pairs apart whatever they are called."""
        pair = np.repeat(np.arange(self.n.size), np.diff(self.rows.indptr))
        return colours_of(pair, self.rows.indices, self.rows.data, self.S, self.A)

    @cached_property
    def total(self) -> Floats:
        """Visits that ended in each state [S]."""
        return np.asarray(self.rows.sum(axis=0))

    @cached_property
    def mu(self) -> Floats:
        """The pooled marginal [S]; uniform before anything is seen."""
        total = self.total + 1.0 / self.total.size
        return np.asarray(total / total.sum())

    @cached_property
    def gram(self) -> Floats:
        """Sum over pairs of N N' / n [S, S]."""
        rows = self.rows
        return np.asarray(
            outer_sum(rows.indptr, rows.indices, rows.data, self.n.ravel(), self.shape[2])
        )

    @cached_property
    def noise(self) -> Floats:
        """Covariance of the next state within a pair [S, S]; that of mu counts as one visit.

        A single state cannot vary: its noise is called 1, since residuals are divided by it.
        """
        if self.shape[2] == 1:
            return np.ones((1, 1))
        within = np.diag(self.total) - self.gram
        prior = np.diag(self.mu) - np.outer(self.mu, self.mu)
        return np.asarray((within + prior) / (np.maximum(self.n - 1.0, 0.0).sum() + 1.0))

    @cached_property
    def directions(self) -> Floats:
        """Directions of next states [S, STARTS], those that vary most between pairs first.

        The eigenvectors of sum (N N' - diag N) / n - n mu mu', in which the noise of the counts has
        mean zero.
        """
        cross = np.outer(self.total, self.mu)
        per_visit = np.repeat(1.0 / np.maximum(self.n.ravel(), 1.0), np.diff(self.rows.indptr))
        S = self.shape[2]
        noise = np.bincount(self.rows.indices, self.rows.data * per_visit, S)
        between = self.gram - cross - cross.T + self.n.sum() * np.outer(self.mu, self.mu)
        return largest(between - np.diag(noise))[1]

    def within(self, d: int) -> tuple[Dense, Floats]:
        """Residual counts in the first d directions, of noise about 1 a visit; the way back [S, d].

        Directions of little noise are not trusted more than the average one: with few visits the
        least noise is found where nothing was met.
        """
        if d not in self._within:
            Q = self.directions[:, :d]
            noise, turn = np.linalg.eigh(Q.T @ self.noise @ Q)
            scale = np.sqrt(np.maximum(noise, noise.mean()))
            onto = Q @ (turn / scale)
            met = np.asarray(self.rows @ onto).reshape(*self.n.shape, -1)
            y = met - self.n[:, :, None] * (self.mu @ onto)
            self._within[d] = Dense(y[None], self.n), Q @ (turn * scale)
        return self._within[d]

    def everywhere(self, mode: str) -> tuple[Sparse, float]:
        """Residual counts in all next states, of noise about 1 a visit; the scale back.

        With mode "action" the actions are the rows.
        """
        scale = float(np.sqrt(np.trace(self.noise) / self.shape[2]))
        if mode not in self._everywhere:
            S, A, _ = self.shape
            s, a = np.divmod(np.repeat(np.arange(S * A), np.diff(self.rows.indptr)), A)
            t, visits = self.rows.indices, self.rows.data / scale
            if mode == "state":  # the rows are in order already
                N = sparse.csr_array((visits, a * S + t, self.rows.indptr[::A]), shape=(S, A * S))
            else:
                N = sparse.csr_array((visits, (a, s * S + t)), shape=(A, S * S))
            n = self.n if mode == "state" else self.n.T
            self._everywhere[mode] = Sparse(N, self.mu / scale, n)
        return self._everywhere[mode], scale

    def each(self) -> tuple[Dense, Floats]:
        """Residual counts [S, S, A, 1] of each next state on its own, and the scales back [S]."""
        noise = np.diag(self.noise)
        scale = np.sqrt(np.maximum(noise, noise.mean()))
        y = self.rows.toarray().T.reshape(-1, *self.n.shape) - self.mu[:, None, None] * self.n
        return Dense((y / scale[:, None, None])[..., None], self.n), scale

    def start(self, mode: str, rank: int) -> Floats:
        """Factors [1, rank, items] of states or of actions to begin with, of mean square 1.

        The leading left singular vectors of the shrunken residual means.
        """
        if mode not in self._starts:
            y = self.within(min(STARTS, self.shape[2]))[0].y[0] / (self.n + self.ridge)[:, :, None]
            guess = y if mode == "state" else y.transpose(1, 0, 2)
            guess = np.ascontiguousarray(guess).reshape(guess.shape[0], -1)
            self._starts[mode] = leading(guess) * np.sqrt(guess.shape[0])
        return self._starts[mode][None, :rank]


def leading(guess: Floats) -> Floats:
    """Left singular vectors [STARTS, rows] of the largest singular values, by the smaller Gram."""
    rows, columns = guess.shape
    if rows <= columns:
        return np.asarray(largest(guess @ guess.T)[1].T)
    values, right = largest(guess.T @ guess)
    size = np.sqrt(np.maximum(values, 1e-12 * max(values[0], 1e-300)))
    return np.asarray((guess @ (right / size)).T)


def largest(symmetric: Floats) -> tuple[Floats, Floats]:
    """The STARTS largest eigenvalues, falling, and their vectors, in columns.

    LAPACK's solver for a few of them (evr) fails on some finite, symmetric matrices of low rank;
    the one for all of them (evd) takes over there.
    """
    last = len(symmetric) - 1
    try:
        few = (max(last - STARTS + 1, 0), last)
        values, vectors = linalg.eigh(symmetric, subset_by_index=few)
    except linalg.LinAlgError:
        values, vectors = linalg.eigh(symmetric, driver="evd")
    return values[: -STARTS - 1 : -1], vectors[:, : -STARTS - 1 : -1]


@seldom(lambda starts, columns, values, n, S: values.size * S)
def outer_sum(starts: Any, columns: Any, values: Any, n: Any, S: int) -> Any:
    """Sum over pairs of N N' / n [S, S], from the values that are not 0."""
    total, row = np.zeros((S, S)), np.zeros(S)
    for pair in range(n.size):
        for i in range(starts[pair], starts[pair + 1]):
            row[columns[i]] = values[i]
        for i in range(starts[pair], starts[pair + 1]):
            share, into = values[i] / n[pair], total[columns[i]]
            for t in range(columns[i] + 1):  # zeros, too: many at once are faster than a few apart
                into[t] += share * row[t]
        for i in range(starts[pair], starts[pair + 1]):
            row[columns[i]] = 0.0
    for i in range(S):
        for j in range(i):
            total[j, i] = total[i, j]
    return total
