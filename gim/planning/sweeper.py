"""An MDP as the compiled sweeps take it, dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gim.planning.sweeps import (
    expected_csr,
    expected_dense,
    pairs_of,
    rows_of,
    steps_csr,
    steps_dense,
    sweep_csr,
    sweep_dense,
)
from gim.planning.types import Dynamics, Floats, Ints


class Sweeper:
    """An MDP as sweeps take it, with room for what they need.

    Args:
        mdp: the MDP.
        as_csr: make dense rows sparse, and sort the next states of each row.

    Attributes:
        shape: S and A.
        rows: transitions, [S*A, S], or the three arrays of a CSR.
        sparse: which of the two.
        r: rewards [S, A], -inf where a pair is not available.
    """

    def __init__(self, mdp: Dynamics, as_csr: bool = False) -> None:
        self.shape = S, A = mdp.S, mdp.A
        self.rows = rows_of(mdp.transitions, S, A)
        if as_csr:
            P = mdp.transitions
            P = P if sparse.issparse(P) else sparse.csr_array(self.rows)
            self.rows = rows_of(P if P.has_sorted_indices else P.sorted_indices(), S, A)
        self.sparse = isinstance(self.rows, tuple)
        if self.sparse:
            data, indices, indptr = self.rows
            self.rows = data, indices.view(f"u{indices.itemsize}"), indptr
        everywhere = mdp.available.all()
        self.r = mdp.rewards if everywhere else np.where(mdp.available, mdp.rewards, -np.inf)
        self._terminal = mdp.terminal
        self._pairs = np.arange(0 if self.sparse else S * A)
        self._q = np.empty((0, 0) if self.sparse else (S, A))

    def places(self) -> tuple[Any, Any, Any]:
        """Arrays with a place for each state that holds the CSR row of any of its actions.

        Data, indices, and [2 S] where each place begins and ends; all are empty.
        """
        (S, A), (_, indices, indptr) = self.shape, self.rows
        longest = np.diff(indptr).reshape(S, A).max(axis=1)
        ends = np.cumsum(longest)
        entries = int(ends[-1])
        first = np.repeat(ends - longest, 2).astype(np.int64)
        return np.empty(entries), np.empty(entries, indices.dtype), first

    @property
    def longest(self) -> int:
        """The largest number of terms in a sum over next states."""
        return int(np.diff(self.rows[2]).max()) if self.sparse else self.shape[0]

    def back_up(
        self, discount: float, v: Floats, best: Floats, policy: Any
    ) -> tuple[float, float, float]:
        """One Bellman sweep, best = T v, and the greedy policy [S].

        Gives the least and the largest of best - v, and the largest size of an entry of either.
        """
        sweep = sweep_csr if self.sparse else sweep_dense
        return sweep(self.rows, self._pairs, self.r, discount, v, self._q, best, policy)

    def look(self, best: Floats, policy: Any) -> tuple[float, float, float]:
        """The same from v = 0, for which no transitions need be read."""
        zero = np.zeros(self.shape[0])
        if self.sparse:
            data, indices, indptr = self.rows
            rows = data, indices, np.zeros_like(indptr)
            return sweep_csr(rows, self._pairs, self.r, 0.0, zero, self._q, best, policy)
        self._q[:] = 0
        return sweep_dense(self.rows, self._pairs[:0], self.r, 0.0, zero, self._q, best, policy)

    def induct(self, discount: float, H: int, policy: Any) -> tuple[Floats, float]:
        """Backward induction over H steps: the values of the first [S], and the largest of all.

        The policy of step h goes to row h of `policy` [H, S], or all to one, [1, S].
        """
        v = np.empty((2, self.shape[0]))
        run = steps_csr if self.sparse else steps_dense
        largest = run(self.rows, self._pairs, self.r, discount, H, v, self._q, policy)
        return v[0], largest

    def follow(self, discount: float, v: Floats, policy: Any, out: Floats) -> Floats:
        """Value of each state if this policy [S] is followed for a step and v comes after."""
        pairs = pairs_of(policy, self.shape[1])
        self._expected(pairs, v, out)
        out *= discount
        out += self.r.reshape(-1)[pairs]
        return out

    def values(self, discount: float, v: Floats, q: Floats) -> Floats:
        """Value of each pair if v comes after, into q [S, A]."""
        self._expected(np.arange(q.size), v, q.reshape(-1))
        q *= discount
        q += self.r
        q[self._terminal] = 0  # what ends an episode is worth nothing, exactly
        return q

    def _expected(self, pairs: Ints, v: Floats, out: Floats) -> None:
        (expected_csr if self.sparse else expected_dense)(self.rows, pairs, v, out)
