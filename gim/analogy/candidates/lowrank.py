"""Low rank with shrinkage that the data choose: variational Bayes for w(s,a) = sum_r u_r(s) v_r(a).

Residual counts y(s,a) of n(s,a) visits, scaled so that one visit has noise of variance 1 in each of
d directions, are taken as

    y(s,a) ~ Normal(n w(s,a), n I),   u(s) ~ Normal(m, C),   v(a) ~ Normal(M, T) in each direction.

Given what is believed of the v(a), the belief about each u(s) is normal with precision
C^-1 + sum_a n E[v v'], and the other way round (Bishop 1999, "Variational principal components");
m, C, M, T are what the beliefs have on average. Factors of which data say little shrink to the mean
of their kind, and a rank too many costs little.

Components come first in all arrays: means [K, r, items, d], second moments [K, r, r, items]. So
every product is one matrix product.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
SWEEPS = 6  # limit: a spectral guess comes first: 15 sweeps lower the error by 2 % at most
FLOOR = 1e-9  # of a prior's covariance, relative to its trace
TINY = 1e-12  # and in itself


class Factor(NamedTuple):
    """Beliefs about the factors of all items of one side."""

    mean: Floats  # [K, r, items, d]
    second: Floats  # [K, r, r, items] E[v v'] summed over the d directions


class Population(NamedTuple):
    """What the items of one side have on average."""

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
        v, of_v = believe(u.second, y.n, y.times_rows(u.mean[..., 0]), of_v)
        u, of_u = believe(v.second, y.n.T, y.times_columns(v.mean)[..., None], of_u)
    return np.tensordot(u.mean[0, :, :, 0], v.mean[0], (0, 0))


def prior_of(start: Floats) -> Population:
    """What the items of a start [K, r, items] have on average, a little less certain."""
    mean = start.mean(axis=2, keepdims=True)
    away = start - mean
    covariance = away @ away.transpose(0, 2, 1) / start.shape[2]
    return Population(mean, np.linalg.inv(covariance + 0.05 * np.eye(start.shape[1])))


def believe(
    second: Floats, n: Floats, right: Floats, prior: Population
) -> tuple[Factor, Population]:
    """What data and prior say about the items of one side, given the other side.

    Args:
        second: [K, r, r, others] second moments of the other side.
        n: [others, items] visits.
        right: [K, r, items, d] residual counts times the means of the other side.
        prior: of the items.

    Returns:
        What is believed of the items, and what they have on average then.
    """
    K, r, items, _ = right.shape
    return posterior((second.reshape(K, r * r, -1) @ n).reshape(K, r, r, items), right, prior)


def posterior(gram: Floats, right: Floats, prior: Population) -> tuple[Factor, Population]:
    """The x of (gram + precision) x = right + precision mean for every item, and its moments.

    The second moments are d (gram + precision)^-1 + x x'.
    """
    d = right.shape[3]
    covariance = np.linalg.inv(gram.transpose(0, 3, 1, 2) + prior.precision[:, None])
    pull = (prior.precision @ prior.mean)[:, None]
    x = covariance @ (right.transpose(0, 2, 1, 3) + pull)  # [K, items, r, d]
    second = d * covariance + x @ x.transpose(0, 1, 3, 2)
    mean = x.mean(axis=1)
    spread = (second.mean(axis=1) - mean @ mean.transpose(0, 2, 1)) / d  # by direction
    least = TINY + FLOOR * np.trace(spread, axis1=1, axis2=2)
    precision = np.linalg.inv(spread + least[:, None, None] * np.eye(len(spread[0])))
    found = Factor(x.transpose(0, 2, 1, 3), second.transpose(0, 2, 3, 1))
    return found, Population(mean, precision)
