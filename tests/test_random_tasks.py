"""Random tasks: their ranks, incoherences and singular values are those asked for."""

import numpy as np
import pytest

from gim.envs import make
from gim.envs.factors import draw_basis, mu0_of, mu1_of, scaled_down, with_mu0, with_mu1


def matrices_of(mdp):
    return np.concatenate([mdp.to_dense().transitions.transpose(2, 0, 1), mdp.rewards[None]])


def greedy_share(mdp):
    """Return of argmax_a r(s,a) over the best, by the slowest backward induction."""
    P, r = mdp.transitions, mdp.rewards
    best, greedy = np.zeros(mdp.S), np.zeros(mdp.S)
    for _ in range(mdp.horizon):
        best = (r + P @ best).max(axis=1)
        greedy = (r + P @ greedy)[np.arange(mdp.S), r.argmax(axis=1)]
    return greedy[0] / best[0]


def test_synthetic_has_the_figures_of_the_authors_generator():
    worlds = [make("synthetic", seed=seed) for seed in range(20)]
    facts = [mdp.info["realised"] for mdp in worlds]
    energy = np.mean([f["energy"]["median"] for f in facts])
    mu0 = np.mean([f["mu0"]["median"] for f in facts])
    assert 0.01 < energy < 0.02
    assert mu0 == pytest.approx(1.88, abs=0.1)
    assert mu0 / 10 == pytest.approx(0.18, abs=0.02)  # in the paper's definition, A = 10
    assert np.sqrt(mu0) == pytest.approx(1.37, abs=0.04)  # in the appendix's
    assert np.mean([greedy_share(mdp) for mdp in worlds]) == pytest.approx(0.994, abs=0.005)
    assert all(f["rank"] == {"median": 10, "supremum": 10} for f in facts)


def test_state_only_rewards_need_the_dynamics():
    shares = [greedy_share(make("synthetic", rewards="state", seed=k)) for k in range(5)]
    assert np.mean(shares) < 0.97
    for name in ("synthetic", "mixtures"):
        r = make(name, rewards="state").rewards
        assert (r == r[:, :1]).all()
        assert r.max() == 1


@pytest.mark.parametrize(
    ("rank", "S", "A"), [(1, 20, 10), (10, 20, 10), (1, 2, 1), (3, 3, 7), (2, 50, 40), (6, 20, 10)]
)
def test_synthetic_of_every_rank(rank, S, A):
    mdp = make("synthetic", rank=rank, S=S, A=A)
    reward = mdp.rewards  # left as drawn: exactly of this rank
    sigma = np.linalg.svd(reward, compute_uv=False)
    assert (sigma > 1e-9 * sigma[0]).sum() == rank
    assert sigma[0] / sigma[rank - 1] < np.exp(2)
    assert mdp.info["asked"] == {"rank": rank, "mu0": None, "mu1": None, "kappa": 2.0}
    if rank == 1:
        assert (matrices_of(mdp) > 0).all()  # Perron vectors: nothing to clip


@pytest.mark.parametrize("mu0", [1.05, 1.5, 2, 4, 5])
def test_mu0_is_met_before_clipping(mu0):
    rng = np.random.default_rng(0)
    for n, r in ((20, 2), (10, 2), (50, 2), (20, 4)):
        U = with_mu0(draw_basis(rng, n, r, mu0), mu0)
        assert pytest.approx(np.eye(r), abs=1e-12) == U.T @ U
        assert mu0_of(U) == pytest.approx(min(mu0, n / r), rel=1e-8)
        assert U[:, 0].min() > 0
    reward = make("synthetic", mu0=mu0, seed=5).rewards
    U, _, Vt = np.linalg.svd(reward)
    assert max(mu0_of(U[:, :2]), mu0_of(Vt[:2].T)) == pytest.approx(mu0, rel=1e-6)


@pytest.mark.parametrize("mu1", [2.5, 4, 8, 10])
def test_mu1_is_met_before_clipping(mu1):
    rng, sigma = np.random.default_rng(0), np.array([1.5, 1.0])
    U, V = draw_basis(rng, 20, 2, 2), draw_basis(rng, 10, 2, 2)
    U, V = with_mu1(U, sigma, V, mu1)
    assert mu1_of(U, sigma, V) == pytest.approx(mu1, rel=1e-6)
    reward = make("synthetic", mu1=mu1, seed=5).rewards
    peak = np.abs(reward).max() / np.linalg.norm(reward, 2)
    assert peak * np.sqrt(20 * 10 / 2) == pytest.approx(mu1, rel=1e-6)


def test_draws_stay_below_the_limit():
    rng = np.random.default_rng(0)
    for n, r in ((20, 2), (40, 2), (50, 2), (10, 9), (7, 7), (1, 1)):
        for _ in range(10):
            assert mu0_of(draw_basis(rng, n, r, 2.0)) <= 2.0 * (1 + 1e-8)
    with pytest.raises(ValueError, match="too close to 1"):
        scaled_down(draw_basis(rng, 10, 2, 2.0), 0.9)


def test_kappa_spreads_the_singular_values():
    def condition(kappa):
        facts = [make("synthetic", rank=4, kappa=kappa, seed=k).info["realised"] for k in range(5)]
        return np.mean([f["kappa"]["median"] for f in facts])

    assert condition(0.0) < condition(2.0) < condition(8.0)


@pytest.mark.parametrize("rank", [1, 2, 5, 10])
def test_mixtures_have_exactly_the_rank_asked_for(rank):
    for seed in range(5):
        sigma = np.linalg.svd(matrices_of(make("mixtures", rank=rank, seed=seed)))[1]
        sigma = sigma / sigma[:, :1]
        assert (sigma[:, rank - 1] > 1e-6).all()
        assert (sigma[:, rank:] < 1e-14).all()


def test_shared_factors_share():
    mdp = make("shared_factors", S=12, A=8, J=3, K=4)
    P = mdp.transitions
    assert np.linalg.matrix_rank(P.reshape(12, -1), tol=1e-10) == 3
    assert np.linalg.matrix_rank(P.reshape(-1, 12), tol=1e-10) == 4
    other = make("shared_factors", S=12, A=8, J=3, K=4, shared="action").transitions
    assert np.linalg.matrix_rank(other.transpose(1, 0, 2).reshape(8, -1), tol=1e-10) == 3
    assert np.linalg.matrix_rank(other.reshape(12, -1), tol=1e-10) > 3
    nothing = make("shared_factors", S=12, A=8, J=12, K=12).transitions
    assert np.linalg.matrix_rank(nothing.reshape(12, -1), tol=1e-10) == 12
    assert mdp.rewards.max() == 1
    assert (mdp.rewards == mdp.rewards[:, :1]).all()
