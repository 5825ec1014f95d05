"""Worlds drawn at random: the structure that their pages promise, and the numbers behind it."""

from __future__ import annotations

import numpy as np
import pytest

import gim
from tests.literal import check_rows

SEEDS = range(10)
# Mean value at seed 0 of playing action s mod A in state s: studies name worlds by their seed, so a
# seed must stay what it is.
KEPT = {
    "button": 3.015625,
    "clusters": 1.67318653107,
    "duplicates": 1.07949226368,
    "exceptions": 2.20779588493,
    "garnet": 1.63367142734,
    "gate": 1.22617879315,
    "linear": 1.491416009,
    "noisy_arms": 0,
    "prototypes": 1.86302363104,
    "random_mdp": 0.19497411422,
    "teleports": -3.82695725902,
    "walls": -2.8477257578,
}


def rank(matrix):
    sigma = np.linalg.svd(matrix, compute_uv=False)
    return int((sigma > 1e-9 * sigma[0]).sum())


def concentration(p):
    """The Dirichlet parameter that gives the mean of sum p^2 seen over rows [n, S]."""
    n, squares = p.shape[-1], (p**2).sum(axis=-1).mean()
    return (1 - squares) / (squares * n - 1)


def is_u6_scaled(rewards):
    """u^6 over its maximum, whatever the action, over several worlds [worlds, S, A]."""
    assert (rewards == rewards[..., :1]).all()
    assert (rewards.max(axis=(1, 2)) == 1).all()
    u = np.sort(rewards[..., 0] ** (1 / 6), axis=1)[:, :-1]  # uniform below the largest, which is 1
    assert u.mean() == pytest.approx(0.5, abs=4 / np.sqrt(12 * u.size))
    assert (u**2).mean() == pytest.approx(1 / 3, abs=4 * 0.3 / np.sqrt(u.size))


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("clusters", (100, 20, 10)),
        ("linear", (30, 20, 10)),
        ("prototypes", (30, 20, 10)),
        ("garnet", (60, 6, 20)),
        ("exceptions", (50, 40, 10)),
        ("noisy_arms", (10, 40, 10)),
        ("gate", (40, 20, 10)),
        ("duplicates", (30, 20, 10)),
    ],
)
def test_sizes_start_and_seed(name, shape):
    mdp, same, other = (gim.make(name, seed=seed) for seed in (0, 0, 1))
    assert (mdp.S, mdp.A, mdp.horizon) == shape
    assert mdp.start[0] == 1
    assert not mdp.terminal.any()
    assert (mdp.rows() != same.rows()).nnz == 0
    assert (mdp.rewards == same.rewards).all()
    assert (mdp.rows() != other.rows()).nnz > 0
    assert (mdp.rewards != other.rewards).any()


@pytest.mark.parametrize("name", ["clusters", "linear", "prototypes", "duplicates"])
def test_rewards_of_states(name):
    is_u6_scaled(np.stack([gim.make(name, seed=seed).rewards for seed in SEEDS]))


def test_clusters_share_their_rows():
    rows = []
    for seed in SEEDS:
        mdp = gim.make("clusters", seed=seed)
        cluster = np.array(mdp.info["cluster"])
        assert set(cluster) == set(range(8))
        for c in range(8):
            alike = mdp.transitions[cluster == c]
            assert (alike == alike[0]).all()
            rows.append(alike[0])
    rows = np.array(rows)
    assert np.unique(rows.reshape(-1, 100), axis=0).shape[0] == 10 * 8 * 20
    assert concentration(rows) == pytest.approx(0.1, rel=0.05)


def test_linear_rows_are_mixtures_of_four():
    for seed in SEEDS:
        assert rank(gim.make("linear", seed=seed).transitions.reshape(-1, 30)) == 4
    assert rank(gim.make("linear", d=7).transitions.reshape(-1, 30)) == 7
    # With d = 1 every row is the one row of M.
    M = np.stack([gim.make("linear", d=1, seed=seed).transitions[0, 0] for seed in range(200)])
    assert concentration(M) == pytest.approx(0.1, rel=0.1)
    # E sum_t p_t^2 of phi M: sum over d, d' of E[phi phi'] E[M M'], both Dirichlet.
    squares = np.mean([(gim.make("linear", seed=k).transitions ** 2).sum(2) for k in range(60)])
    same, other = 1.5 / (4 * 0.5 + 1) / 4, 0.5 / (4 * 0.5 + 1) / 4  # E phi_i^2, E phi_i phi_j
    of_one, of_two = 1.1 / (30 * 0.1 + 1), 1 / 30  # E sum M_i^2, E sum M_i M_j
    assert squares == pytest.approx(4 * same * of_one + 12 * other * of_two, rel=0.05)


def test_prototypes_serve_every_action_apart():
    mdp = gim.make("prototypes")
    assert rank(mdp.transitions.reshape(30, -1)) == 4  # the weights of the states
    assert rank(mdp.transitions.reshape(-1, 30)) == 30  # rows of all actions: nothing shared
    for a in range(20):
        assert rank(mdp.transitions[:, a]) == 4
    one = np.stack([gim.make("prototypes", J=1, seed=seed).transitions[0] for seed in SEEDS])
    assert concentration(one) == pytest.approx(0.15, rel=0.1)
    squares = np.mean([(gim.make("prototypes", seed=k).transitions ** 2).sum(2) for k in range(40)])
    same, other = 1.4 / (4 * 0.4 + 1) / 4, 0.4 / (4 * 0.4 + 1) / 4
    of_one, of_two = 1.15 / (30 * 0.15 + 1), 1 / 30
    assert squares == pytest.approx(4 * same * of_one + 12 * other * of_two, rel=0.05)


def test_garnet_branches_and_pays():
    worlds = [gim.make("garnet", seed=seed) for seed in SEEDS]
    rows = np.concatenate([mdp.to_dense().transitions.reshape(-1, 60) for mdp in worlds])
    assert ((rows > 0).sum(axis=1) == 4).all()
    assert concentration(rows[rows > 0].reshape(-1, 4)) == pytest.approx(1, rel=0.05)
    led = (rows > 0).sum(axis=0)  # every state is as likely a successor as any other
    assert abs(led - led.mean()).max() < 5 * np.sqrt(led.mean())
    paid = np.stack([mdp.rewards for mdp in worlds])
    assert ((paid > 0).sum(axis=(1, 2)) == 72).all()
    assert paid[paid > 0].mean() == pytest.approx(0.5, abs=4 / np.sqrt(12 * 720))
    assert paid.max() < 1
    sparse = gim.make("garnet", S=500, A=4, branching=2, paying=0)
    assert sparse.sparse
    assert sparse.transitions.nnz == 500 * 4 * 2
    assert not sparse.rewards.any()


def test_exceptions_are_shared_factors_but_for_one_action_a_state():
    for seed in range(3):
        mdp, base = gim.make("exceptions", seed=seed), gim.make("shared_factors", seed=seed)
        special, treasure = mdp.info["special"], mdp.info["treasure"]

        def outcomes(s, a, base=base, special=special, treasure=treasure):
            pays = 5.0 if s == treasure else base.rewards[s, a]
            hidden = 0.1 if a == special[s] else 0.0
            yield hidden, treasure, pays
            for t in range(50):
                yield (1 - hidden) * base.transitions[s, a, t], t, pays

        check_rows(mdp, outcomes)
        reach = base.transitions.max(axis=(0, 1))
        assert reach[treasure] == reach.min()
        assert len(set(special)) > 10
    never = gim.make("exceptions", p=0.0, treasure=base.rewards[treasure, 0], seed=seed)
    assert never.optimal_return() == base.optimal_return()
    # Who never plays a special action misses half of what there is.
    allowed = np.ones((50, 40), bool)
    allowed[np.arange(50), special] = False
    assert mdp.with_(available=allowed).optimal_return() < 0.55 * mdp.optimal_return()


def test_noisy_arms_pay_one_action_of_each_state():
    mdp = gim.make("noisy_arms")
    assert (np.sort(mdp.rewards, axis=1)[:, -2:] == [0, 1]).all()
    assert (mdp.noise == 1).all()
    assert mdp.optimal_return() == pytest.approx(10)
    paying = np.concatenate([gim.make("noisy_arms", seed=k).rewards.argmax(1) for k in range(50)])
    assert set(paying) == set(range(40))
    assert gim.make("noisy_arms", noise=0).noise is None
    assert concentration(mdp.transitions) == pytest.approx(1, rel=0.1)


def test_the_region_behind_the_gate_is_another_world():
    for seed in range(3):
        mdp = gim.make("gate", seed=seed)
        base = gim.make("shared_factors", S=30, A=20, seed=seed)
        P, (s, a) = mdp.transitions, mdp.info["gate"]
        ordinary = np.ones((30, 20), bool)
        ordinary[s, a] = False
        assert (P[:30][ordinary][:, :30] == base.transitions[ordinary]).all()
        assert not P[:30][ordinary][:, 30:].any()
        assert P[s, a] == pytest.approx(np.append(0.9 * base.transitions[s, a], np.full(10, 0.01)))
        assert (P[30:, :, 0] == 0.1).all()
        assert not P[30:, :, 1:30].any()
        assert P[30:, :, 30:].sum(axis=2) == pytest.approx(np.full((10, 20), 0.9))
        assert rank(P[30:].reshape(10, -1)) == 10  # where the first region has 2 kinds
        assert (mdp.rewards[:30] == base.rewards).all()
        assert mdp.rewards[30:].max() == 1
        assert (mdp.rewards == mdp.rewards[:, :1]).all()
        assert mdp.reachable().all()


@pytest.mark.parametrize(("rows", "unfolding"), [("random", 30), ("low_rank", 2)])
def test_duplicates_are_copies(rows, unfolding):
    mdp = gim.make("duplicates", rows=rows, seed=2)
    copy_of = np.array(mdp.info["copy_of"])
    assert np.bincount(copy_of).tolist() == [5] * 4
    assert (np.diff(copy_of) < 0).any()  # shuffled
    for kind in range(4):
        alike = mdp.transitions[:, copy_of == kind]
        assert (alike == alike[:, :1]).all()
    assert np.unique(mdp.transitions.transpose(1, 0, 2).reshape(20, -1), axis=0).shape[0] == 4
    assert rank(mdp.transitions.reshape(30, -1)) == unfolding
    if rows == "random":
        assert concentration(mdp.transitions) == pytest.approx(0.1, rel=0.1)


@pytest.mark.parametrize("name", KEPT)
def test_a_seed_stays_what_it_is(name):
    mdp = gim.make(name)
    value = mdp.value(np.arange(mdp.S) % mdp.A)[0].mean()
    assert value == pytest.approx(KEPT[name], rel=1e-9)
