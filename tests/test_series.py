"""Many worlds of one family, one after the other and in turns."""

import numpy as np
import pytest

import gim
from gim.runs.run import prepare
from gim.runs.series import with_family
from tests.family_worlds import shop_mdp

MEANS = (2.0, 4.0, 3.0, 1.5)


@pytest.fixture(scope="module")
def shops():
    return [shop_mdp(mean).with_(horizon=10) for mean in MEANS]


@pytest.fixture(scope="module")
def played(shops):
    return gim.series("analogist", shops, episodes=6, seed=1)


def test_what_shops_showed_is_carried_on(shops, played):
    assert len(played) == 4
    assert [r.shape for r in played.returns] == [(6,)] * 4
    assert played.family.rule.shift == (0, 0, 1)
    alone = gim.series("analogist", shops, episodes=6, seed=1, carry=False)
    assert alone.family is None
    np.testing.assert_array_equal(alone.returns[0], played.returns[0])
    assert played.scores[2:].mean() > alone.scores[2:].mean() + 0.1
    assert "first 5" in played.table()


def test_the_same_seed_gives_the_same_series(shops, played):
    again = gim.series("analogist", shops[:2], episodes=6, seed=1)
    np.testing.assert_array_equal(again.returns[1], played.returns[1])


@pytest.mark.parametrize("agent", ["ucbvi", "psrl", "rmax", "rlsvi", "gim"])
def test_a_family_is_a_prior_for_every_agent_that_infers(shops, played, agent, tmp_path):
    run = gim.run(agent, shops[0], 3, prior=played.family)
    assert run.returns.shape == (3,)
    assert run.model.supported.all()
    if agent == "ucbvi":
        played.family.save(tmp_path / "family.gim")
        again = gim.run(agent, shops[0], 3, prior=tmp_path / "family.gim")
        np.testing.assert_array_equal(again.returns, run.returns)


def test_worlds_in_turns(shops):
    turns = gim.series("analogist", shops[:2], episodes=3, interleave=True)
    assert [r.shape for r in turns.returns] == [(3,)] * 2
    assert len(turns.family) == 2


def test_runs_that_began_with_a_family_have_certificates(shops, played):
    held = []
    for run, shop in zip(played[1:], shops[1:], strict=True):
        found = gim.certify(run)
        held.append(found.lower <= shop.policy_return(found.policy) <= found.earns[1])
        assert found.earns[1] - found.lower < shop.optimal_return()
    assert sum(held) >= 2  # of 3, of which nine of ten hold in the mean


def test_actions_that_a_family_knows_need_no_trial_of_their_own(shops, played):
    run = prepare(with_family(gim.Analogist(), played.family), shops[0], 1, 0)
    run.pause_at(2)
    most = shops[0].rewards.max()
    untried = ~(run.memory.belief.counts.n > 0).any(axis=0)
    assert untried.any()
    assert (run.memory.q[2][:, untried] < 0.9 * most * (10 - 2)).all()  # unknown: as high as can be


def test_what_cannot_be_carried_on_is_said(shops, played, tmp_path):
    with pytest.raises(ValueError, match="cannot be saved to go on"):
        played[1].save(tmp_path / "run.gim")
    with pytest.raises(ValueError, match="infers nothing"):
        gim.series("q_learning", shops, episodes=2)
    with pytest.raises(ValueError, match="learns no model, so prior= would change nothing"):
        gim.run("q_learning", shops[0], 2, prior=played.family)
    with pytest.raises(ValueError, match="16 states and 8 actions, the world"):
        gim.run("analogist", "riverswim", 2, prior=played.family)
    with pytest.raises(ValueError, match=r"give a gim\.Family"):
        gim.series("analogist", shops, episodes=2, prior=3)


def test_a_world_that_does_not_belong_leaves_its_family(shops, played):
    reversed_orders = shops[2].with_(
        transitions=shops[2].transitions[:, ::-1], rewards=shops[2].rewards[:, ::-1]
    )
    run = gim.run("analogist", reversed_orders, 12, seed=2, prior=played.family)
    assert run.agent.infer.kept.left
    stayed = gim.run("analogist", shops[2], 6, seed=2, prior=played.family)
    assert not stayed.agent.infer.kept.left


def test_one_wrong_member_is_found(shops):
    rng = np.random.default_rng(0)
    P, R = rng.dirichlet(np.full(16, 0.15), (16, 8)), rng.normal(0, 3, (16, 8))
    odd = gim.TabularMDP(P, R, horizon=10, start=0, variables={"stock": range(16)})
    series = gim.series("analogist", [*shops[:3], odd], episodes=8, seed=3)
    assert series.family.outside == (3,)
    assert series.family.rule.shift == (0, 0, 1)
    assert "not of them: 3" in str(series.family)
