"""Certificates: estimates without bias, bounds that hold, and honesty where nothing is known."""

from __future__ import annotations

import numpy as np
import pytest

import gim
from gim.inference.analogy import Analogy
from gim.inference.base import Frame
from gim.inference.bounds import rewards_within
from gim.inference.certificate import certified
from gim.inference.held_out import Judges, Strata, evidence_around, mean
from gim.model.counts import new_counts
from gim.run import prepare, task_of
from gim.worlds import world_of
from tests.sampled_counts import frame_of, sampled


def certificate_of(mdp, visits, share=0.9, seed=0):
    counts, _, _ = sampled(mdp, visits, seed)
    rng = np.random.default_rng(seed)
    return certified(counts, frame_of(mdp), Analogy(), task_of(mdp), share, rng)


# -- the judges


@pytest.mark.parametrize("n", [2, 7])
def test_estimates_of_squared_errors_are_unbiased(n):
    rng = np.random.default_rng(n)
    p, q, f = rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(5)), rng.normal(size=5)
    u = rng.dirichlet(np.ones(5))
    K = 200_000
    judges = Judges(np.ones((1, K), bool), rng.multinomial(n, p, size=K) * 1.0, np.full(K, n * 1.0))
    predictions = np.tile(q, (K, 1))
    for found, true in (
        (judges.distances(predictions), ((p - q) ** 2).sum()),
        (judges.distances(predictions, u), ((p - q) ** 2 / u).sum()),
        (judges.errors_of(predictions, f), ((p - q) @ f) ** 2),
        (judges.squares(), (p**2).sum()),
    ):
        middle, error = mean(found, judges.weights)
        assert abs(middle - true) < 5 * error


def test_evidence_is_that_of_other_pairs():
    n = np.array([[3.0, 1.0], [0.0, 5.0]])
    assert evidence_around(n).tolist() == [[0, 3], [3, 0]]


def test_errors_only_fall_with_evidence_and_every_pair_has_a_stratum():
    rng = np.random.default_rng(3)
    n = rng.integers(0, 40, (30, 12)).astype(float)
    N = np.zeros((30, 12, 4))
    N[..., 0] = n
    judges = Judges.of(N, n)
    strata = Strata(n, judges)
    values = rng.normal(1.0, 0.1, len(judges.n))
    means, errors = strata.means(values)
    assert means.shape == errors.shape == n.shape
    order = np.argsort(evidence_around(n).ravel(), kind="stable")
    assert (np.diff(means.ravel()[order]) <= 1e-12).all()
    flat, _ = strata.means(np.ones(len(judges.n)))
    assert np.allclose(flat, 1)


# -- the bounds


TASKS = {
    "shared": "shared_factors:S=24,A=16,J=2",
    "by action": "shared_factors:S=24,A=16,J=3,shared=action",
    "full rank": "mixtures:S=20,A=10,rank=10,rewards=state",
    "synthetic": "synthetic:rank=2",
    "grid": "gridworld:horizon=10",
}


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_bounds_hold_for_the_stated_share(name, share):
    """Markov's inequality is loose: what fails here is a bound on the wrong thing."""
    coverages = []
    for seed in range(6):
        mdp = world_of(f"{TASKS[name]},seed={seed}")
        found = certificate_of(mdp, 2 + 2 * (seed % 3), share, seed)
        true = found.against(mdp)
        if true.inferred:
            coverages.append([true.value, true.l1])
        policy = mdp.policy_return(found.policy)
        assert found.lower <= policy + 1e-9
        assert found.upper >= mdp.optimal_return() - 1e-9
        assert true.loss <= found.loss + 1e-9
    assert np.mean(coverages, axis=0).min() >= share if coverages else name == "grid"


def test_bounds_are_not_vacuous_where_dynamics_are_related_and_shrink_with_data():
    mdp = gim.make("shared_factors", S=24, A=16, J=2, seed=7)
    few, many = certificate_of(mdp, 4), certificate_of(mdp, 60)
    assert few.vacuous < 0.5
    assert many.value.mean() < 0.6 * few.value.mean()
    assert many.loss < few.loss


def test_nothing_seen_is_vacuous_and_says_so():
    mdp = gim.make("riverswim")
    found = certified(
        new_counts(6, 2), frame_of(mdp), Analogy(), task_of(mdp), 0.9, np.random.default_rng(0)
    )
    assert found.candidate is None
    assert found.inferred.all()
    assert found.l1_vacuous == 1
    assert found.loss_vacuous
    assert found.unmet_vacuous == 1
    assert "12 pairs were never met, and nothing is known of them" in str(found)
    assert found.against(mdp).l1 == 1


def test_rewards_are_certain_noisy_or_unseen():
    counts = new_counts(3, 1)
    counts.n[:] = [[4], [4], [0]]
    counts.R[:], counts.R2[:] = [[2.0], [2.0], [0.0]], [[1.0], [2.0], [0.0]]
    frame = Frame(np.ones((3, 1), bool), np.zeros(3, bool), (-1.0, 5.0))
    low, high = rewards_within(counts, frame, 0.5)
    assert (low[2, 0], high[2, 0]) == (-1, 5)
    pooled = 4 * 0.25 / 8  # variances 0 and 1/4, four visits each
    assert high[0, 0] == pytest.approx(0.5 + np.sqrt(pooled / 5 / 4) + 6 * 0.5 / 12)
    assert high[1, 0] == pytest.approx(0.5 + np.sqrt((4 * 0.25 + pooled) / 5 / 4) + 6 * 0.5 / 12)
    counts.R2[1] = 1.0
    low, high = rewards_within(counts, frame, 0.5)
    assert (low == high)[:2].all()


# -- of a run


def test_a_run_is_certified_and_not_disturbed():
    mdp = gim.make("shared_factors", S=12, A=10, seed=1)
    whole = gim.run("analogist", mdp, episodes=300, seed=4)
    paused = gim.run("analogist", mdp, 300, seed=4, callback=lambda report: True)
    first = gim.certify(paused) if not paused.finished else None
    rest = gim.run(resume=paused)
    assert np.array_equal(whole.returns, rest.returns)
    assert first is None or first.share == 0.9
    one, two = gim.certify(whole), gim.certify(rest)
    assert np.array_equal(one.value, two.value)
    assert f"by {one.candidate}" in str(one)


@pytest.mark.parametrize("agent", ["ucbvi", "psrl", "rmax:m=5", "gim:m=5", "mbie_eb"])
def test_any_agent_that_counts_can_be_certified(agent):
    run = gim.run(agent, "shared_factors:S=12,A=10", episodes=200)
    assert gim.certify(run, share=0.8).against(run.mdp).value >= 0.8


def test_what_cannot_be_certified_is_refused():
    run = gim.run("q_learning", "riverswim", episodes=5)
    with pytest.raises(
        ValueError, match="q_learning in this world cannot be certified: it counts no"
    ):
        gim.certify(run)
    run = gim.run("ucbvi", "riverswim", episodes=5)
    for share in (1.5, 0, "much"):
        with pytest.raises(ValueError, match=f"share = '?{share}"):
            gim.certify(run, share=share)
    with pytest.raises(ValueError, match=r"only gim\.Analogy says how far"):
        gim.certify(run, infer="by_completion")
    with pytest.raises(ValueError, match="8 states and 4 actions: not the same"):
        gim.certify(run, infer="analogy(folds=3)").against(gim.make("casinoland"))
    trusting = gim.run("ucbvi", "riverswim", episodes=5, prior=run.model)
    with pytest.raises(ValueError, match="counts the visits of its prior as its own"):
        gim.certify(trusting)


def test_an_end_that_was_not_found_may_be_the_best():
    """On a cliff every step costs, and only the goal ends it: the optimum must be enclosed."""
    run = gim.run("analogist", "CliffWalking-v1:max_episode_steps=100", episodes=2)
    found = gim.certify(run)
    assert found.upper >= run.mdp.optimal_return()
    assert found.lower <= run.mdp.policy_return(found.policy)


def test_ends_found_after_an_inference_are_worth_nothing():
    rng = np.random.default_rng(3)
    P = rng.dirichlet(np.full(20, 0.3), (20, 6))
    ends = [3, 8, 11, 15, 19]
    P[:, :, ends] *= 0.05
    P /= P.sum(axis=2, keepdims=True)
    P[ends] = np.eye(20)[ends][:, None]
    r = rng.random((20, 6))
    r[ends] = 0
    mdp = gim.TabularMDP(P, r, terminal=ends)
    words = ["ucbvi:growth=0,infer=analogy", "psrl:infer=analogy", "two_phase:m=3"]
    for word in words:
        run = prepare(gim.agent.agents.make(word), mdp, 150, 1)
        for steps in range(60, 1000, 31):
            run.pause_at(steps)
            assert not run.model.rewards[run.model.terminal].any()  # and it is a valid MDP
            if word.startswith("ucbvi") and not run.memory.belief.visits[0] % 10:
                known = run.memory.belief.terminal
                assert not run.memory.belief.evidence().n[known].any()
