"""Learners of the literature beside the paper's own: literal twins, and the optimum."""

from __future__ import annotations

import numpy as np
import pytest

import gim
from gim.agents.optimistic_q_learning import OptimisticQLearning
from gim.agents.q_learning import QLearning
from gim.agents.rlsvi import RLSVI
from gim.agents.rtdp_mbie import RTDPMBIE
from gim.agents.rtdp_rmax import RTDPRMax
from gim.agents.sarsa import SARSA
from gim.model import counts
from gim.runs.agent import agents
from gim.runs.run import prepare
from tests import naive_agents as naive
from tests.random_mdps import costly, eventful, random_mdp

TWINS = [
    (SARSA(), naive.SARSA),
    (SARSA(alpha=0.3, epsilon=0.4, gamma=0.9), naive.SARSA),
    (SARSA(initial=5.0, epsilon=0.0), naive.SARSA),
    (OptimisticQLearning(), naive.OptimisticQLearning),
    (OptimisticQLearning(c=0.05, delta=0.5, r_max=4.0), naive.OptimisticQLearning),
    (OptimisticQLearning(bonus="bernstein", c=0.02), naive.OptimisticQLearning),
    (OptimisticQLearning(bonus="bernstein", c=0.1, rest=0.001), naive.OptimisticQLearning),
    (RLSVI(), naive.RLSVI),
    (RLSVI(sigma=3.0, visits=3.0), naive.RLSVI),
    (RLSVI(r_max=4.0, visits=0.5), naive.RLSVI),
    (RTDPRMax(m=3), naive.RTDPRMax),
    (RTDPRMax(m=2, epsilon1=0.1, gamma=0.8, r_max=4.0), naive.RTDPRMax),
    (RTDPMBIE(), naive.RTDPMBIE),
    (RTDPMBIE(beta=0.1, m=4, gamma=0.8), naive.RTDPMBIE),
]


@pytest.mark.parametrize(("world", "seed"), [(eventful, 1), (eventful, 2), (costly, 2)])
@pytest.mark.parametrize(("agent", "twin"), TWINS, ids=lambda x: str(x).split(".")[-1])
def test_twin_makes_the_same_choices(agent, twin, world, seed):
    mdp = world(seed)
    moves, returns, mind = naive.play(twin, agent, mdp, 40, seed)
    own_moves, own_returns, run = naive.recorded(agent, mdp, 40, seed)
    assert np.array_equal(own_moves, moves)
    assert np.array_equal(own_returns, returns)
    if hasattr(mind, "values"):
        assert np.allclose(run.memory.q, mind.values(), rtol=1e-12)
    else:
        assert np.array_equal(run.policy, [[mind.act(s, h) for s in mind.S] for h in range(mind.H)])


# -- SARSA


def test_sarsa_values_the_policy_that_is_played():
    """With random actions only: the values of the random policy, not the best ones."""
    mdp = random_mdp(4, S=4, A=2, horizon=20)
    uniform = np.full((4, 2), 0.5)
    truth, best = mdp.value(uniform, discount=0.5), mdp.plan(discount=0.5).v
    found = gim.run(SARSA(alpha=0.01, epsilon=1.0, gamma=0.5), mdp, 5000, seed=1).memory.q
    gap = np.abs(best - truth).min()
    assert gap > 0.2
    assert np.abs(found.mean(axis=1) - truth).max() < gap / 2


def test_sarsa_stays_away_from_the_cliff():
    """Where a random step is dear, the values of what is played earn more than the best ones."""
    mdp = gim.from_gymnasium("CliffWalking-v1", horizon=100)
    runs = [gim.run(c(0.5, 0.1, 1.0), mdp, 2000, seeds=range(3)) for c in (SARSA, QLearning)]
    sarsa, q_learning = (np.mean([run.returns[-1000:] for run in of]) for of in runs)
    assert sarsa > q_learning + 10
    greedy = [mdp.policy_return(run.policy) for run in runs[0]]
    assert min(greedy) >= -19  # by a detour of 2 to 6 steps; along the edge it is -13
    assert max(greedy) < -13


# -- optimistic Q-learning


@pytest.mark.parametrize("agent", ["bonus=hoeffding", "bonus=bernstein,rest=1"])
def test_with_the_constants_of_the_proof_values_are_optimistic(agent):
    mdp = random_mdp(5, S=4, A=2, horizon=5)
    best = mdp.plan()
    for seed in range(3):
        run = prepare(agents.make(f"optimistic_q_learning:c=1,{agent}"), mdp, 400, seed)
        while not run.finished:
            run.pause_at(run.steps + 50)
            assert (run.memory.v[:-1] >= best.v - 1e-9).all()
            assert (run.memory.q >= best.q - 1e-9)[:, mdp.available].all()


def test_the_constants_of_the_proof_learn_nothing_in_time():
    """Why they are not the default: every value is still at its ceiling."""
    run = gim.run("optimistic_q_learning:c=1", "riverswim", 10_000, seed=1)
    assert (run.memory.v[:-1] == run.memory.ceiling[:, None]).all()


# -- RLSVI


def test_rlsvi_draws_values_from_the_posterior_of_least_squares():
    """One step, one pair, worked out by hand: four rewards of 1, a prior of two visits at 3."""
    copies, agent = 40_000, RLSVI(sigma=0.5, visits=2.0, r_min=0.0, r_max=3.0)
    mdp = gim.TabularMDP(np.ones((1, copies, 1)), np.ones((1, copies)), horizon=1)
    run = prepare(agent, mdp, 1, 0)
    run.memory.belief.counts.n[:] = run.memory.belief.counts.R[:] = 4
    run.memory.belief.counts.next[:] = 4
    agent.think(run.memory, run.mind)
    q = run.memory.q[0, 0]
    assert q.mean() == pytest.approx((2 * 3 + 4 * 1) / 6, abs=0.01)
    assert q.std() == pytest.approx(0.5 * 3 / 6**0.5, rel=0.02)


def test_the_noise_of_the_regret_bound_learns_slowly():
    """Why it is not the default: a deviation of sqrt(3) H, and play is nearly random."""
    mdp = gim.make("riverswim")
    run = gim.run(RLSVI(sigma=3**0.5 * mdp.horizon, visits=3.0), mdp, 1500, seed=2)
    assert mdp.score(run.returns[-500:]) < 0.5


def test_rlsvi_finds_the_way_through_a_grid():
    mdp = gim.make("gridworld", seed=3)
    run = gim.run("rlsvi", mdp, 3000, seed=3)
    assert mdp.policy_return(run.policy) >= 0.97 * mdp.optimal_return()


# -- RTDP-RMAX and RTDP-MBIE


@pytest.mark.parametrize("word", ["rtdp_rmax:m=1", "rtdp_mbie:beta=0"])
def test_values_fall_only_and_stay_optimistic_where_nothing_is_random(word):
    rng = np.random.default_rng(3)
    to = rng.integers(6, size=(6, 3))
    to[:, 0] = (np.arange(6) + 1) % 6
    mdp = gim.TabularMDP(np.eye(6)[to], rng.random((6, 3)), horizon=12)
    best = mdp.plan(discount=0.8)
    run = prepare(agents.make(f"{word},gamma=0.8"), mdp, 300, 1)
    before = run.memory.q.copy()
    while not run.finished:
        run.pause_at(run.steps + 1)
        assert (run.memory.q <= before).all()
        assert (run.memory.q >= best.q - 1e-9).all()
        before = run.memory.q.copy()
    width = 0.01 * (mdp.reward_range[1] - mdp.reward_range[0])
    loss = best.v - mdp.value(run.policy, discount=0.8)
    on_the_way = mdp.expected_visits(run.policy).sum(axis=(0, 2)) > 0
    assert loss[on_the_way].max() <= width / (1 - 0.8)


@pytest.mark.parametrize("word", ["rtdp_rmax:m=4", "rtdp_mbie:beta=0.2"])
def test_predictions_are_backed_up_with_the_counts(word):
    """Right after an inference: a fixed point of backups on the evidence, to within epsilon1."""
    mdp = eventful(2)
    agent = agents.make(f"{word},gamma=0.8,infer=by_completion(m=2,rho=0.3)")
    run = prepare(agent, mdp, 40, 1)
    swept = spoke = 0
    while not run.finished:
        plans = run.mind.plans
        run.pause_at(run.steps + 1)
        if run.mind.plans == plans:
            continue
        swept += 1
        memory, seen = run.memory, run.memory.belief.evidence()
        spoke += bool((memory.added.n > 0).any())
        need, beta = (4, 0.0) if "rmax" in word else (0, memory.beta[0])
        q, ends = memory.q, memory.belief.terminal
        v = q.max(axis=1)
        assert np.array_equal(q[np.arange(mdp.S), memory.best], v)
        for s, a in np.argwhere(mdp.available & ~ends[:, None]):
            n = seen.n[s, a]
            if n < max(need, 1e-9) or seen.n_r[s, a] == 0:
                assert q[s, a] == memory.top[0]
                continue
            N = counts.dense(seen.N, seen.n.shape)[s, a]
            value = seen.R[s, a] / seen.n_r[s, a] + 0.8 * N @ v / n + beta / n**0.5
            assert q[s, a] - value < memory.epsilon1[0] + 1e-9
            assert q[s, a] == memory.top[0] or q[s, a] >= value - 1e-9
    assert swept >= 2
    assert spoke >= 1


def test_rtdp_starts_from_a_model_learned_elsewhere():
    mdp = random_mdp(9, S=4, A=2, horizon=6)
    first = gim.run(RTDPRMax(m=10), mdp, 400, seed=1)
    again = gim.run(RTDPRMax(m=10), mdp, 100, seed=2, prior=first.model)
    assert (first.model.visits[mdp.available] == 10).all()
    assert (again.memory.belief.counts.n == 10).all()  # all is known: nothing more is counted
    assert np.array_equal(again.policy, first.policy)
    assert again.plans == 0
