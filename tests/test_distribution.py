"""The distribution of a return: by counting all episodes, by hand, and by simulation of noise."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import gim
from gim.mdp.distribution import Distribution
from tests.random_mdps import random_mdp


def all_returns(mdp, policy):
    """Every episode there can be: a mapping of returns to chances."""
    P = mdp.rows().toarray().reshape(mdp.S, mdp.A, mdp.S)
    paid = mdp.rewards_next
    pi = np.asarray(policy)
    pi = np.eye(mdp.A)[pi] if pi.dtype.kind == "i" else pi
    found = {}
    ways = [((s, 0.0), p) for s, p in enumerate(mdp.start) if p > 0]
    for h in range(mdp.horizon):
        now, chances = {}, pi[h] if pi.ndim == 3 else pi
        for (s, total), chance in ways:
            for a, t in product(range(mdp.A), range(mdp.S)):
                p = chance * chances[s, a] * P[s, a, t]
                if p > 0:
                    r = mdp.rewards[s, a] if paid is None else paid[s, a, t]
                    key = t, round(total + r, 9)
                    now[key] = now.get(key, 0.0) + p
        ways = list(now.items())
    for (_, total), chance in ways:
        found[total] = found.get(total, 0.0) + chance
    return dict(sorted(found.items()))


@pytest.mark.parametrize("seed", range(30))
def test_every_episode_is_counted(seed):
    mdp = random_mdp(seed, S=3, A=2, horizon=5, terminal=seed % 3 == 0, missing=seed % 2 == 0)
    rng = np.random.default_rng(seed)
    if seed % 4 == 1:
        mdp = mdp.with_(
            rewards=rng.integers(-3, 4, (3, 2, 3)) * 0.25 * ~mdp.terminal[:, None, None]
        )
    policy = mdp.uniform_policy() if seed % 5 == 0 else mdp.plan().policy
    truth, found = all_returns(mdp, policy), mdp.distribution(policy)
    assert found.error == 0
    assert np.allclose(found.values, list(truth), atol=1e-9)
    assert np.allclose(found.chances, list(truth.values()), atol=1e-12)
    assert found.mean == pytest.approx(mdp.policy_return(policy), abs=1e-9)
    values, chances = np.array(list(truth)), np.array(list(truth.values()))
    for q in (0.01, 0.3, 0.9, 1.0):
        worst = np.minimum(chances, np.maximum(q - (np.cumsum(chances) - chances), 0.0))
        assert found.cvar(q) == pytest.approx(worst @ values / q, abs=1e-9)
        assert found.quantile(q) == pytest.approx(
            values[np.searchsorted(chances.cumsum(), q - 1e-12)]
        )
    assert np.array_equal(mdp.to_sparse().distribution(policy).chances, found.chances)


def test_rewards_that_share_no_unit_are_bounded():
    rng = np.random.default_rng(3)
    P, r = rng.dirichlet(np.ones(4), (4, 2)), rng.normal(size=(4, 2))
    mdp = gim.TabularMDP(P, r, horizon=6)
    policy = mdp.plan().policy
    truth, found = all_returns(mdp, policy), mdp.distribution(policy)
    assert 0 < found.error < 0.01
    assert found.mean == pytest.approx(mdp.policy_return(policy), abs=1e-9)
    values, total = np.array(list(truth)), np.cumsum(list(truth.values()))
    for q in (0.05, 0.5, 0.95):
        exact = values[np.searchsorted(total, q)]
        assert abs(found.quantile(q) - exact) <= found.error + 1e-9
        worst = np.diff(np.minimum(total, q), prepend=0.0) @ values / q
        assert abs(found.cvar(q) - worst) <= found.error + 1e-9


def test_noise_adds_its_variance():
    """Ten steps of noise 1 on a coin: quantiles of a normal distribution around each count."""
    coin = gim.TabularMDP(np.full((2, 1, 2), 0.5), [[0.0], [1.0]], horizon=4, noise=0.5)
    plain, noisy = coin.with_(noise=0.0).distribution([0, 0]), coin.distribution([0, 0])
    assert noisy.sd**2 == pytest.approx(plain.sd**2 + 4 * 0.25, rel=1e-4)
    assert abs(noisy.mean - plain.mean) < 1e-9
    drawn = np.random.default_rng(0).choice(plain.values, 200_000, p=plain.chances)
    drawn = drawn + np.random.default_rng(1).normal(0, 1, drawn.size)
    for q in (0.05, 0.5, 0.9):
        assert noisy.quantile(q) == pytest.approx(np.quantile(drawn, q), abs=0.02)


def test_a_share_is_asked_for():
    one = Distribution(np.array([2.0]), np.array([1.0]), 0.0)
    assert one.cvar(1.0) == one.quantile(0.001) == one.mean == 2.0
    assert one.below(1.9) == 0
    assert one.below(2) == 1
    with pytest.raises(ValueError, match="is no share"):
        one.cvar(0.0)
    with pytest.raises(ValueError, match="is no share"):
        one.quantile(1.2)


def test_an_order_policy_and_its_worst_days():
    mdp = gim.make("inventory")
    found = mdp.distribution(mdp.plan().policy)
    assert found.error == 0
    played = gim.evaluate(mdp.plan().policy, mdp, episodes=2000, seed=1).returns
    assert found.quantile(0.5) == pytest.approx(np.median(played), abs=4)
    assert found.cvar(0.1) == pytest.approx(np.sort(played)[:200].mean(), abs=6)
    assert "exact" in repr(found)
    assert "worst 5" in found._repr_html_()
