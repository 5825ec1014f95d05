"""Counts of some pairs in the forms that candidates share, each computed once when asked for."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from gim.analogy.base import Frame
from gim.analogy.candidates.lowrank import Residuals
from gim.analogy.structure.triples import Colours, colours_of
from gim.model.counts import nonzeros

Floats = NDArray[np.float64]
LARGEST = 1 << 22  # numbers of a table of predictions
STARTS = 8  # limit: factors that are guessed


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
        self.small = n.size * len(n) <= LARGEST  # whether tables [S, A, S] may be made
        self._starts: dict[str, Floats] = {}
        self._everywhere: dict[str, Residuals] = {}
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
    def noise(self) -> float:
        """Variance of the next state within a pair, on average over states; mu counts as a visit.

        A single state cannot vary: its noise is called 1, since residuals are divided by it.
        """
        if self.S == 1:
            return 1.0
        pair = np.repeat(np.arange(self.n.size), np.diff(self.rows.indptr))
        within = self.rows.data.sum() - (self.rows.data**2 / self.n.ravel()[pair]).sum()
        spread = within + 1.0 - (self.mu**2).sum()
        return float(spread / (np.maximum(self.n - 1.0, 0.0).sum() + 1.0) / self.S)

    def everywhere(self, mode: str) -> tuple[Residuals, float]:
        """Residual counts in all next states, of noise about 1 a visit; the scale back.

        With mode "action" the actions are the rows.
        """
        scale = float(np.sqrt(self.noise))
        if mode not in self._everywhere:
            n = self.n if mode == "state" else self.n.T
            N = self._by(mode, self.rows.data / scale)
            self._everywhere[mode] = Residuals(N, self.mu / scale, n)
        return self._everywhere[mode], scale

    def _by(self, mode: str, values: Floats) -> sparse.csr_array:
        """Values aligned with `rows` as rows of states [S, A*S], or of actions [A, S*S]."""
        (S, A, _), rows = self.shape, self.rows
        s, a = np.divmod(np.repeat(np.arange(S * A), np.diff(rows.indptr)), A)
        if mode == "state":  # the rows are in order already
            parts = (values, a * S + rows.indices, rows.indptr[::A])
            return sparse.csr_array(parts, shape=(S, A * S))
        return sparse.csr_array((values, (a, s * S + rows.indices)), shape=(A, S * S))

    def start(self, mode: str, rank: int) -> Floats:
        """Factors [1, rank, items] of states or of actions to begin with, of mean square 1.

        The leading left singular vectors of the shrunken residual means.
        """
        if mode not in self._starts:
            n = self.n if mode == "state" else self.n.T
            less = 1.0 / (self.n + self.ridge)
            pair = np.repeat(np.arange(n.size), np.diff(self.rows.indptr))
            of = self._by(mode, self.rows.data * less.ravel()[pair])
            share = n * (less if mode == "state" else less.T)
            toward = (self.rows @ self.mu).reshape(self.n.shape) * less
            toward = toward if mode == "state" else toward.T
            cross = toward @ share.T
            gram = (of @ of.T).toarray() - cross - cross.T + share @ share.T * (self.mu @ self.mu)
            self._starts[mode] = largest(gram, np.asarray(n.any(axis=1))) * np.sqrt(len(n))
        return self._starts[mode][None, :rank]


def largest(symmetric: Floats, met: NDArray[np.bool_]) -> Floats:
    """Vectors [STARTS, n] of the largest eigenvalues, falling.

    Rows of items that were not `met` are 0, and left out: it takes a time of n^3.

    LAPACK's solver for a few of them (evr) fails on some finite, symmetric matrices of low rank, or
    finds too few; the one for all of them (evd) takes over there.
    """
    few = np.sort(np.argsort(~met, kind="stable")[: max(STARTS, int(met.sum()))])
    last = len(few) - 1
    part = symmetric[np.ix_(few, few)]
    found, vectors = np.zeros((min(STARTS, len(few)), len(symmetric))), np.zeros((0, 0))
    with suppress(linalg.LinAlgError):
        these = (max(last - STARTS + 1, 0), last)
        vectors = linalg.eigh(part, subset_by_index=these)[1]
    if vectors.shape[1] < len(found):
        vectors = linalg.eigh(part, driver="evd")[1]
    found[:, few] = vectors[:, : -STARTS - 1 : -1].T
    return found
