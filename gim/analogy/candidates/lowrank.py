"""Low rank with shrinkage that the data choose: variational Bayes for w(s,a) = sum_r u_r(s) v_r(a).

Residual counts y(s,a) of n(s,a) visits, scaled so that one visit has noise of variance 1 in each of
d directions, are taken as

    y(s,a) ~ Normal(n w(s,a), n I),   u(s) ~ Normal(m, C),   v(a) ~ Normal(M, T) in each direction.

Given what is believed of the v(a), the belief about each u(s) is normal with precision
C^-1 + sum_a n E[v v'], and the other way round (Bishop 1999, "Variational principal components");
m, C, M, T are what the beliefs have on average. Factors of which data say little shrink to the mean
of their kind, and a rank too many costs little.

Components come first in all arrays: means [K, r, items, d], second moments [K, r, r, items]. So
every product is one matrix product, and K factorisations are done at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._compile.jit import hot, seldom

Floats = NDArray[np.float64]
SWEEPS = 6  # limit: a spectral guess comes first: 15 sweeps lower the error by 2 % at most
FLOOR = 1e-9  # of a prior's covariance, relative to its trace
TINY = 1e-12  # and in itself


class Factor(NamedTuple):
    """Beliefs about the factors of all items of one side."""

    mean: Floats  # [K, r, items, d]
    second: Floats  # [K, r, r, items] E[v v'] summed over the d directions


class Population(NamedTuple):
    """What the items of one side have on average; kept up to date in place."""

    mean: Floats  # [K, r, d]
    precision: Floats  # [K, r, r] of each direction


class Residuals(NamedTuple):
    """Residual counts N - n mu in all next states, where most of N is 0; K = 1."""

    N: sparse.csr_array  # [S, A*d]
    mu: Floats  # [d]
    n: Floats  # [S, A]

    @property
    def d(self) -> int:
        """Next states."""
        return self.mu.size

    def times_rows(self, u: Floats) -> Floats:
        """Sum over s of u [1, r, S] times them: [1, r, A, d]."""
        shape = (1, u.shape[1], self.n.shape[1], self.mu.size)
        met = (self.N.T @ u[0].T).T.reshape(shape)
        return np.asarray(met - (u @ self.n)[..., None] * self.mu)

    def times_columns(self, v: Floats) -> Floats:
        """Sum over a and next states of v [1, r, A, d] times them: [1, r, S]."""
        met = (self.N @ v.reshape(v.shape[1], -1).T).T[None]
        return np.asarray(met - (v @ self.mu) @ self.n.T)


def low_rank(y: Residuals, start: Floats, ridge: float, sweeps: int = SWEEPS) -> Floats:
    """Fit u(s) and v(a); the mean of w(s,a) [S, A, d].

    Args:
        y: residual counts of S x A items.
        start: u [1, r, S] to begin with, of mean square 1.
        ridge: visits that shrinkage of the first v(a) is worth, before anything is known of T.
    """
    K, r, _ = start.shape
    u, of_u = Factor(start[..., None], start[:, :, None] * start[:, None]), prior_of(start)
    of_v = Population(np.zeros((K, r, y.d)), np.tile(ridge * np.eye(r), (K, 1, 1)))
    for _ in range(sweeps):
        v = believe(u.second, y.n, y.times_rows(u.mean[..., 0]), of_v)
        u = believe(v.second, y.n.T, y.times_columns(v.mean)[..., None], of_u)
    return np.tensordot(u.mean[0, :, :, 0], v.mean[0], (0, 0))


def prior_of(start: Floats) -> Population:
    """What the items of a start [K, r, items] have on average, a little less certain."""
    mean = start.mean(axis=2, keepdims=True)
    away = start - mean
    covariance = away @ away.transpose(0, 2, 1) / start.shape[2]
    return Population(mean, np.linalg.inv(covariance + 0.05 * np.eye(start.shape[1])))


def believe(second: Floats, n: Floats, right: Floats, prior: Population) -> Factor:
    """What data and prior say about the items of one side, given the other side.

    Args:
        second: [K, r, r, others] second moments of the other side.
        n: [others, items] visits.
        right: [K, r, items, d] residual counts times the means of the other side.
        prior: of the items; becomes that of the next sweep.
    """
    K, r, items, _ = right.shape
    gram = (second.reshape(K, r * r, -1) @ n).reshape(K, r, r, items)
    right = np.ascontiguousarray(right)
    posterior(gram, right, prior.mean, prior.precision)
    return Factor(right, gram)


@seldom(lambda gram, right, *_: 4 * (gram.size * gram.shape[1] + right.size))
def posterior(gram: Any, right: Any, mean: Any, precision: Any) -> None:
    """Solve (gram + precision) x = right + precision mean for every item, all in place.

    right [K, r, items, d] becomes x, gram [K, r, r, items] the second moments
    d (gram + precision)^-1 + x x', and the prior's mean [K, r, d] and precision [K, r, r] those of
    the items as they are now believed. By Cholesky, one small system after the other.
    """
    K, r, items, d = right.shape
    L, J = np.zeros((r, r)), np.zeros((r, r))
    x, pull, total = np.zeros((r, d)), np.zeros((r, d)), np.zeros((r, r))
    for k in range(K):
        pull[:] = 0.0
        for p in range(r):
            for q in range(r):
                for e in range(d):
                    pull[p, e] += precision[k, p, q] * mean[k, q, e]
        mean[k] = 0.0
        total[:] = 0.0
        for i in range(items):
            for p in range(r):
                x[p] = 0.0
                for q in range(p + 1):
                    L[p, q] = gram[k, p, q, i] + precision[k, p, q]
                for e in range(d):
                    right[k, p, i, e] += pull[p, e]
            invert_root(L, J)
            for p in range(r):  # x = J' J right
                for q in range(r):
                    inverse = 0.0
                    for c in range(max(p, q), r):
                        inverse += J[c, p] * J[c, q]
                    for e in range(d):
                        x[p, e] += inverse * right[k, q, i, e]
                    gram[k, p, q, i] = d * inverse
            for p in range(r):
                for e in range(d):
                    right[k, p, i, e] = x[p, e]
                    mean[k, p, e] += x[p, e] / items
                for q in range(p + 1):
                    product = 0.0
                    for e in range(d):
                        product += x[p, e] * x[q, e]
                    gram[k, p, q, i] += product
                    gram[k, q, p, i] = gram[k, p, q, i]
                    total[p, q] += gram[k, p, q, i]
        size = TINY
        for p in range(r):  # the covariance of the items, per direction
            for q in range(p + 1):
                L[p, q] = total[p, q] / items
                for e in range(d):
                    L[p, q] -= mean[k, p, e] * mean[k, q, e]
                L[p, q] /= d
            size += FLOOR * L[p, p]
        for p in range(r):
            L[p, p] += size
        invert_root(L, J)
        for p in range(r):
            for q in range(r):
                precision[k, p, q] = 0.0
                for c in range(max(p, q), r):
                    precision[k, p, q] += J[c, p] * J[c, q]


@hot
def invert_root(L: Any, J: Any) -> None:
    """Given the lower triangle of M in L, leave there L L' = M, and the inverse of L in J."""
    r = L.shape[0]
    for p in range(r):
        for q in range(p + 1):
            for c in range(q):
                L[p, q] -= L[p, c] * L[q, c]
            L[p, q] = L[p, q] / L[q, q] if q < p else np.sqrt(L[p, p])
    for q in range(r):
        J[q, q] = 1.0 / L[q, q]
        for p in range(q + 1, r):
            J[p, q] = 0.0
            for c in range(q, p):
                J[p, q] -= L[p, c] * J[c, q]
            J[p, q] /= L[p, p]
