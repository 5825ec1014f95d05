"""Rewards by regression: the posterior by hand, what it recovers, what it leaves open."""

import numpy as np
import pytest
from scipy import stats

from gim.analogy.ridge import SCALES, RidgeRewards
from gim.analogy.structure.triples import Triples


def stocked(seed, share=0.3, noise=0.0, by_pair=0.0):
    """A shop: what is sold earns, what is ordered and what is left costs; some pairs pay more."""
    rng = np.random.default_rng(seed)
    S, A = 12, 5
    met = np.argwhere(rng.random((S, A, S)) < share)
    s, a, t = met.T
    extra = by_pair * rng.normal(size=(S, A))
    r = 3.0 * (np.minimum(s + a, S - 1) - t) - 1.5 * a - 0.2 * t + extra[s, a]
    counts = rng.integers(1, 4, len(met)).astype(float)
    R = counts * r + noise * np.sqrt(counts) * rng.normal(size=len(met))
    indptr = np.searchsorted(s * A + a, np.arange(S * A + 1))
    codes = np.arange(S)[:, None]
    return Triples(indptr, t, counts, np.ones((S, A), bool), codes, [True], np.arange(A)[:, None],
                   [True], R=R, R2=R * R / counts), extra  # fmt: skip


def truth(pair, t, extra=None):
    s, a = np.divmod(pair, 5)
    r = 3.0 * (np.minimum(s + a, 11) - t) - 1.5 * a - 0.2 * t
    return r if extra is None else r + extra.ravel()[pair]


def all_triples():
    pair, t = np.divmod(np.arange(12 * 5 * 12), 12)
    return pair, t


def test_what_is_a_sum_of_parts_is_found():
    ridge = RidgeRewards(stocked(0)[0])
    pair, t = all_triples()
    inside = pair // 5 + pair % 5 < 11
    said = ridge.predict(pair[inside], t[inside])
    error = said.r - truth(pair, t)[inside]
    spread = np.std(truth(pair, t))
    assert np.sqrt(np.mean(error**2)) < 0.1 * spread
    assert ridge.open < 0.05


def test_the_variance_is_that_of_all_parts():
    """Parts of other actions are 0: leaving them out saves time and nothing else."""
    ridge = RidgeRewards(stocked(4, noise=0.5)[0])
    pair, t = all_triples()
    x, _ = ridge._parts(pair, t)
    covariance = np.linalg.inv(ridge.factor @ ridge.factor.T)
    expected = ridge.noise * np.einsum("ij,jk,ik->i", x, covariance, x) + ridge.left_open[pair]
    assert np.allclose(ridge.predict(pair, t).variance, expected + ridge.rest, rtol=1e-9)


def test_rewards_that_have_no_parts_are_left_open():
    triples, _ = stocked(1)
    rng = np.random.default_rng(2)
    ridge = RidgeRewards(
        Triples(triples.indptr, triples.indices, triples.counts, triples.available, triples.codes,
                [True], R=triples.counts * rng.random(len(triples.counts)), R2=triples.counts)
    )  # fmt: skip
    assert ridge.open > 0.7


@pytest.mark.parametrize(("noise", "by_pair"), [(1.0, 0.0), (0.3, 2.0)])
def test_what_it_says_is_calibrated(noise, by_pair):
    """Of triples never met, the truth within 90 % in nine of ten, over twenty worlds."""
    inside = []
    for seed in range(20):
        triples, extra = stocked(seed, noise=noise, by_pair=by_pair)
        pair, t = all_triples()
        met = set((triples.pair * 12 + triples.indices).tolist())
        fresh = np.array([p * 12 + x not in met for p, x in zip(pair, t, strict=True)])
        said = RidgeRewards(triples).predict(pair[fresh], t[fresh])
        off = np.abs(said.r - truth(pair, t, extra)[fresh])
        inside.append(np.mean(off <= stats.norm.ppf(0.95) * np.sqrt(said.variance)))
    assert 0.86 < np.mean(inside) < 0.995


def test_the_parts_are_those_of_the_normal_equations():
    triples, _ = stocked(3, noise=0.5)
    ridge = RidgeRewards(triples)
    x, own = ridge._parts(triples.pair, triples.indices)
    mean, weight = triples.R / triples.counts, triples.counts / (1 + triples.counts / 5.0)
    factor = ridge.factor @ ridge.factor.T
    prior = factor - (x.T * weight) @ x
    assert np.allclose(prior, np.diag(np.diag(prior)), atol=1e-6)
    scales = 1 / np.diag(prior)
    assert len(set(np.round(scales[own], 9))) == len(set(np.round(scales[~own], 9))) == 1
    assert all(np.isclose(SCALES, x).any() for x in scales)
    right = (x.T * weight) @ (mean - np.average(mean, weights=weight))
    assert np.allclose(factor @ ridge.beta, right)


def test_no_reward_is_said_beyond_those_that_were_paid():
    triples, _ = stocked(4, share=0.05)
    said = RidgeRewards(triples).predict(*all_triples())
    paid = triples.R / triples.counts
    assert said.r.min() >= paid.min()
    assert said.r.max() <= paid.max()
