"""What a chain earns in the long run: its gain and its bias, with bounds that need no trust.

The *gain* is the average reward of a step without end, the *bias* how much more than that all steps
together bring from each state (Puterman 1994, 8.2). One state of every recurrent class is its
*reference*. The chain that ends on entering a reference has a system I - Q that is never singular,
and everything is a solution of that: the time to a reference, w; what is earned until then, u; the
gain u / w of a reference, by renewal; and the values relative to the reference.

However these were found, they are checked. If r + P h - h lies within [low, high] on a class, so
does its gain; and what is left over of an equation, times the longest time to a reference, bounds
how far its solution is off. P h - h is summed as p (h' - h): where a chain hardly ever leaves a
part of it, h is vast and its differences are not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import lu_factor, lu_solve
from scipy.sparse.linalg import bicgstab, splu

from gim.planning.classes import NONE, recurrent_classes
from gim.planning.linear import DENSE_SOLVE, fits
from gim.planning.sweeps import EPS
from gim.planning.types import Floats, Ints

REFINED = 2  # times that a solution is corrected by what it leaves over
KRYLOV = 1e-13  # of the residual, where a direct solution would be too large


class ChainValues(NamedTuple):
    """What a chain earns without end."""

    gain: Floats  # [S] the average reward of a step
    bias: Floats  # [S] by how much all steps bring more than that; 0 on average over each class
    error: float  # no entry of the gain is further than this from the truth
    bias_error: float  # the same of the bias
    classes: Ints  # [S] the recurrent class of each state; NONE where it is transient


def chain_values(P: Any, r: Floats) -> ChainValues:
    """Gain and bias of a chain, P [S, S] dense or sparse and r [S].

    Example:
        >>> found = chain_values(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([2.0, 0.0]))
        >>> found.gain, found.bias, found.error < 1e-12
        (array([1., 1.]), array([ 0.5, -0.5]), True)
    """
    chain = _Renewal(P)
    gain, h, error, left = chain.values(r)
    level, _, unsure, _ = chain.values(h)  # the bias is 0 on average: take off the average of h
    off = 2 * (left + error) * chain.longest + unsure
    return ChainValues(gain, h - level, error, off if math.isfinite(off) else math.inf, chain.label)


class _Renewal:
    """A chain that ends on entering one of its references."""

    def __init__(self, P: Any) -> None:
        self.P = P
        self.number, self.label = recurrent_classes(P)
        inside = self.label != NONE
        entered = np.where(inside, np.asarray(P.sum(axis=0)).ravel(), -1.0)
        order = np.lexsort((-entered, self.label))  # of each class the state entered most
        _, first = np.unique(self.label[order], return_index=True)
        self.references = order[first][-self.number :]
        open_ = np.ones(len(inside))
        open_[self.references] = 0.0
        Q = P @ sparse.diags_array(open_) if sparse.issparse(P) else P * open_
        self.Q = sparse.csr_array(Q) if sparse.issparse(Q) else Q
        self._solver = solver_of(self.Q)
        self.terms = math.sqrt(float(np.diff(P.indptr).max()) if sparse.issparse(P) else len(P)) + 4
        self.time = time = self.solve(np.ones(len(inside)))
        # 1 + Q w <= w + c says that w / (1 - c) is long enough.
        left, unsure = self.left(np.ones(len(inside)), time)
        short = float((left + unsure).max())
        sound = short < 1 and time.min() >= 0.5
        self.longest = float(time.max()) / (1 - max(short, 0.0)) if sound else math.inf

    def solve(self, b: Floats) -> Floats:
        """x with x - Q x = b."""
        x = self._solver(b)
        for _ in range(REFINED):
            x = x + self._solver(self.left(b, x)[0])
        return x

    def left(self, b: Floats, x: Floats) -> tuple[Floats, Floats]:
        """b + Q x - x, and how far rounding may take it."""
        ended = x.copy()
        ended[self.references] = 0.0
        moved, size = drift(self.P, ended, x)
        return b + moved, self.terms * EPS * (np.abs(b) + size)

    def absorbed(self, of_class: Floats) -> Floats:
        """The expectation over the class that a state ends up in, [number] to [S]."""
        found = of_class[self.label]
        if (outside := self.label == NONE).any():
            ends = np.zeros(len(found))
            ends[self.references] = of_class
            found[outside] = self.solve(self.P @ ends)[outside]
        return found

    def values(self, r: Floats) -> tuple[Floats, Floats, float, float]:
        """Gain and relative values of rewards r, a bound on the gain, and what h leaves over."""
        inside, refs = self.label != NONE, self.references
        gain = self.absorbed(self.solve(r)[refs] / self.time[refs])
        h = self.solve(r - gain)
        moved, size = drift(self.P, h, h)
        left = r - gain + moved
        low, high = np.full(self.number, np.inf), np.full(self.number, -np.inf)
        np.minimum.at(low, self.label[inside], left[inside])
        np.maximum.at(high, self.label[inside], left[inside])
        middle = self.absorbed((low + high) / 2)
        gain, left = gain + middle, np.abs(left - middle)
        left += self.terms * EPS * (size + np.abs(r) + np.abs(gain))
        error = float(left[inside].max())
        if not inside.all():
            lost, wide = drift(self.P, gain, gain)
            error += float((np.abs(lost) + self.terms * EPS * wide).max()) * self.longest
        return gain, h, error, float(left.max())


def drift(P: Any, ahead: Floats, here: Floats) -> tuple[Floats, Floats]:
    """The expectations of ahead[t] - here[s], [S], and of its size, for P [S, S]."""
    if sparse.issparse(P):
        s = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
        each = P.data * (ahead[P.indices] - here[s])
        sums = [np.bincount(s, part, len(here)).astype(np.float64) for part in (each, np.abs(each))]
        return sums[0], sums[1]
    change = ahead - here[:, None]
    return np.einsum("st,st->s", P, change), np.einsum("st,st->s", P, np.abs(change))


def solver_of(Q: Any) -> Callable[[Floats], Floats]:
    """What solves x - Q x = b, once factored for many b."""
    S = Q.shape[0]
    if not sparse.issparse(Q) or S <= DENSE_SOLVE:
        factors = lu_factor(np.eye(S) - (Q.toarray() if sparse.issparse(Q) else Q))
        return lambda b: np.asarray(lu_solve(factors, b))
    system = sparse.eye_array(S, format="csr") - Q
    if fits(Q):
        direct = splu(
            system.tocsc(),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
        return lambda b: np.asarray(direct.solve(b))
    scale = 1 / system.diagonal()
    jacobi = sparse.diags_array(scale)
    return lambda b: np.asarray(bicgstab(jacobi @ system, scale * b, rtol=KRYLOV, atol=0.0)[0])
