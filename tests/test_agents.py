"""Every agent: its literal twin, and the optimum where theory promises it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import gim
from benchmarks import scores
from gim._base.params import describe
from gim._compile.jit import plain
from gim.agents.delayed_q_learning import DelayedQLearning
from gim.agents.double_q_learning import DoubleQLearning
from gim.agents.mbie_eb import MBIEEB
from gim.agents.psrl import PSRL, gamma
from gim.agents.q_learning import QLearning
from gim.agents.rmax import RMax
from gim.agents.ucbvi import UCBVI
from gim.belief.knowledge import Evidence
from gim.model.rewards import most_to_come
from gim.runs.agent import agents
from gim.runs.run import prepare
from tests import naive_agents as naive
from tests.random_mdps import costly, eventful, random_mdp

# -- literal twins


TWINS = [
    (QLearning(alpha=0.3, epsilon=0.2, gamma=0.9), naive.QLearning),
    (QLearning(initial=5.0, epsilon=0.0), naive.QLearning),
    (DoubleQLearning(alpha=0.3, epsilon=0.2), naive.DoubleQLearning),
    (DoubleQLearning(initial=1.0), naive.DoubleQLearning),
    (DelayedQLearning(), naive.DelayedQLearning),
    (DelayedQLearning(m=2, epsilon1=0.01, gamma=0.8), naive.DelayedQLearning),
    (DelayedQLearning(r_max=1.0), naive.DelayedQLearning),
    (RMax(m=4), naive.RMax),
    (RMax(m=6, plan_per="pair"), naive.RMax),
    (RMax(m=5, r_max=0.3, plan_per="pair"), naive.RMax),
    (RMax(m=5, planner="discounted"), naive.RMax),
    (RMax(m=5, planner="lookahead", r_max=2.0), naive.RMax),
    (RMax(m=3, planner="lookahead", r_max=1.0, plan_per="pair", surplus=1), naive.RMax),
    (UCBVI(), naive.UCBVI),
    (UCBVI(bonus="hoeffding", scale=0.1), naive.UCBVI),
    (UCBVI(scale=1.0, delta=0.5, r_max=4.0), naive.UCBVI),
    (UCBVI(scale=None), naive.UCBVI),
    (UCBVI(scale=None, growth=0.3), naive.UCBVI),
    (PSRL(), naive.PSRL),
    (PSRL(alpha=3.0, mean=0.4, visits=2.0, shape=0.7, spread=0.5), naive.PSRL),
    (MBIEEB(), naive.MBIEEB),
    (MBIEEB(beta=0.05), naive.MBIEEB),
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
        assert np.array_equal(run.memory.q, mind.values())
    elif not getattr(mind, "ties", None):  # which are drawn at each step
        assert np.allclose(run.policy, [[mind.act(s, h) for s in mind.S] for h in range(mind.H)])


# -- the optimum, where the theory says so


def circle():
    """A deterministic world in which values can be learned exactly."""
    rng = np.random.default_rng(3)
    S, A = 6, 3
    to = rng.integers(S, size=(S, A))
    to[:, 0] = (np.arange(S) + 1) % S
    return gim.TabularMDP(np.eye(S)[to], rng.random((S, A)), horizon=12)


@pytest.mark.parametrize("agent", [QLearning(0.5, 1.0, 0.8), DoubleQLearning(0.5, 1.0, 0.8)])
def test_value_learners_find_the_exact_values(agent):
    mdp = circle()
    run = gim.run(agent, mdp, episodes=2000, seed=1)
    best = mdp.plan(discount=0.8)
    tables = [run.memory.q] if isinstance(agent, QLearning) else list(run.memory.q[:2])
    for q in tables:
        assert np.allclose(q, best.q, atol=1e-6)
    assert np.array_equal(run.policy, best.policy)


def test_double_q_learning_does_not_overestimate():
    """One way out pays 0 for sure, eight pay 0 on average: the maximum of noise misleads Q."""
    A = 9
    P = np.zeros((2, A, 2))
    P[:, :, 1] = 1
    noise = np.ones((2, A))
    noise[0, 0] = noise[1] = 0
    mdp = gim.TabularMDP(P, np.zeros((2, A)), horizon=1, terminal=[1], noise=noise)
    settings = {"alpha": 0.2, "epsilon": 1.0, "gamma": 0.9}
    one = [gim.run(QLearning(**settings), mdp, 500, s).memory.q[0].max() for s in range(30)]
    runs = [gim.run(DoubleQLearning(**settings), mdp, 500, s).memory for s in range(30)]
    two = [m.q[1, 0, m.best[0, 0]] for m in runs]
    assert np.mean(one) > 0.3
    assert abs(np.mean(two)) < 0.15


@pytest.mark.parametrize("seed", range(3))
def test_delayed_q_learning_keeps_its_promises(seed):
    mdp, gamma, epsilon1 = circle(), 0.8, 0.01
    agent = DelayedQLearning(m=1, epsilon1=epsilon1, gamma=gamma)
    run = gim.run(agent, mdp, 4000, seed)
    width = epsilon1 * mdp.reward_range[1]
    best = mdp.plan(discount=gamma)
    assert (run.memory.q >= best.q - 1e-9).all()  # optimistic, always
    loss = best.v - mdp.value(run.policy, discount=gamma)
    on_the_way = mdp.expected_visits(run.policy).sum(axis=(0, 2)) > 0
    assert loss[on_the_way].max() <= 2 * width / (1 - gamma)


@pytest.mark.parametrize("seed", range(3))
def test_delayed_q_learning_changes_a_value_seldom(seed):
    mdp = random_mdp(seed, S=4, A=3, horizon=9)
    mdp = mdp.with_(rewards=np.abs(mdp.rewards))
    agent = DelayedQLearning(m=2, epsilon1=0.05, gamma=0.7)
    run, changes = prepare(agent, mdp, 3000, seed), 0
    before = run.memory.q.copy()
    top = before.max()
    while not run.finished:
        run.pause_at(run.steps + 1)
        changes += int((run.memory.q != before).sum())
        assert (run.memory.q <= before).all()
        before = run.memory.q.copy()
    assert 10 < changes <= before.size * top / (0.05 * mdp.reward_range[1])


OPTIMISTS = [
    "rmax:m=60",
    "rmax:m=60,plan_per=pair",
    "ucbvi",
    "ucbvi:bonus=hoeffding",
    "psrl",
    "mbie_eb",
]


@pytest.mark.parametrize("bonus", ["bernstein", "hoeffding"])
def test_the_full_bonus_is_optimistic(bonus):
    """With scale 1 and V* no inequality may fail more often than delta says."""
    mdp = random_mdp(5, S=4, A=2, horizon=5)
    best = mdp.plan().v
    agent = UCBVI(scale=1.0, bonus=bonus)
    for seed in range(5):
        run = prepare(agent, mdp, 300, seed)
        while not run.finished:
            run.pause_at(run.steps + 50)
            assert (run.memory.v[:-1] >= best - 1e-9).all()


# -- posteriors and bonuses, by hand


def evidence(N, rewards, copies):
    """The same pair many times over, as [1, copies] pairs of one state."""
    N, rewards = np.array(N, float), np.array(rewards, float)
    one = np.ones((1, copies))
    n = N.sum() * one
    R, R2 = rewards.sum() * one, (rewards**2).sum() * one
    return Evidence(np.tile(N, (1, copies, 1)), n, R, R2, n)


@pytest.mark.parametrize("shape", [0.05, 0.6, 1.0, 1.5, 40.0])
def test_gamma_variables_are_gamma_distributed(shape):
    rng, draw = np.random.default_rng(1), plain(gamma)
    drawn = [draw(shape, rng) for _ in range(4000)]
    assert stats.kstest(drawn, stats.gamma(shape).cdf).pvalue > 0.001


def test_psrl_draws_from_the_dirichlet_posterior():
    N, alpha = np.array([3.0, 0.0, 1.0]), 1.5
    seen = Evidence(np.tile(N, (3, 20_000, 1)), *[np.zeros((3, 20_000))] * 4)
    playable = np.ones((3, 20_000), bool)
    P, _ = PSRL(alpha=alpha).draw(seen, playable, (0.0, 1.0), np.random.default_rng(0))
    a = N + alpha / 3
    mean, total = a / a.sum(), a.sum()
    assert np.allclose(P.sum(axis=2), 1)
    assert np.allclose(P.mean(axis=(0, 1)), mean, atol=0.005)
    assert np.allclose(P.var(axis=(0, 1)), mean * (1 - mean) / (total + 1), rtol=0.05)


def drawn_rewards(agent, N, rewards, copies, seed):
    playable = np.ones((1, copies), bool)
    seen = evidence(N, rewards, copies)
    return agent.draw(seen, playable, (0.0, 4.0), np.random.default_rng(seed))[1]


def test_psrl_draws_rewards_from_the_normal_gamma_posterior():
    """Mean and variance of Student's t, worked out by hand from the conjugate update."""
    agent = PSRL(mean=0.5, visits=2.0, shape=3.0, spread=0.25)
    # mu0 2, lambda 2, shape 3, rate 3; after 4 rewards of mean 2 and scatter 2: rate 3 + 1
    r = drawn_rewards(agent, [4.0], [1.0, 3.0, 2.0, 2.0], 200_000, 0)
    assert r.mean() == pytest.approx(2.0, abs=0.005)
    assert r.var() == pytest.approx(4.0 / (6.0 * (5.0 - 1.0)), rel=0.03)
    # mean (2*2 + 8) / 4 = 3; rate 3 + 2*2*4 / (2*4) = 5
    pulled = drawn_rewards(agent, [2.0], [4.0, 4.0], 100_000, 1)
    assert pulled.mean() == pytest.approx(3.0, abs=0.01)
    assert pulled.var() == pytest.approx(5.0 / (4.0 * (4.0 - 1.0)), rel=0.03)


# -- where every step costs


def errand():
    """Each step costs 1 until the door is reached: straight on, or slowly and at first cheaper."""
    P, r = np.zeros((4, 2, 4)), np.full((4, 2), -1.0)
    P[0, 0, 1] = P[1, 0, 2] = P[2, 0, 3] = 1
    P[:3, 1] = np.eye(4)[:3]
    r[:3, 1], r[3] = -0.9, 0
    P[3, :, 3] = 1
    return gim.TabularMDP(P, r, horizon=12, terminal=[3])


def test_the_most_that_can_come():
    assert most_to_come(3, 2.0).tolist() == [6, 4, 2]
    assert most_to_come(3, -2.0).tolist() == [0, 0, 0]  # an end at once


@pytest.mark.parametrize("word", [*OPTIMISTS, "rmax:m=9,planner=discounted"])
def test_optimism_finds_the_end_of_a_costly_errand(word):
    run = gim.run(word, errand(), 400, seed=1)
    assert run.returns[-1] == -3
    assert errand().policy_return(run.policy) == -3


def test_delayed_q_learning_finds_the_end_of_a_costly_errand():
    run = gim.run(DelayedQLearning(m=1, epsilon1=0.01, gamma=0.99), errand(), 400, seed=1)
    assert run.returns[-1] == -3


# -- pages


PAGES = Path(__file__).parent.parent / "docs" / "agents"


@pytest.mark.parametrize("name", agents.names())
def test_every_page_names_every_parameter(name):
    text = (PAGES / f"{name}.md").read_text()
    for parameter in describe(agents[name]):
        assert f"`{parameter.name}`" in text


# -- scores: the full table is benchmarks/scores.py, with 20 seeds


@pytest.mark.parametrize("word", [*scores.TARGETS])
def test_scores_on_the_tasks_of_the_paper(word):
    for task, target in zip(scores.EPISODES, scores.TARGETS[word], strict=True):
        if task in ("casinoland", "riverswim"):
            assert scores.scores(word, task, seeds=1)[0] >= target - 0.03


# -- planning on news


def test_within_a_long_episode_a_new_plan_follows_each_discovery():
    rng = np.random.default_rng(5)
    to = rng.integers(30, size=(30, 5))
    to[:, 0] = (np.arange(30) + 1) % 30
    mdp = gim.TabularMDP(np.eye(30)[to], rng.random((30, 5)), horizon=400)
    slow, fast = (gim.run(f"ucbvi:scale=none,growth={g}", mdp, 3) for g in ("0", "0.1"))
    met = [(run.memory.belief.counts.n > 0).sum() for run in (slow, fast)]
    assert met[1] == 150  # every pair, where the other goes on for what it thought was new
    assert met[0] < 75


def test_plans_on_news_are_few_and_as_good():
    mdp = gim.make("shared_factors", S=10, A=5, seed=2)
    each, news = (gim.run(f"ucbvi:growth={g}", mdp, 3000, seeds=range(3)) for g in ("0", "0.1"))
    assert all(run.plans >= 3000 for run in each)
    assert all(run.plans < 1000 for run in news)
    assert news.score > each.score - 0.01


def test_surprise_is_an_unbiased_estimate_of_randomness():
    p = np.array([0.5, 0.3, 0.2])
    mdp = gim.TabularMDP(np.tile(p, (3, 2, 1)), np.zeros((3, 2)), horizon=10)
    runs = gim.run("ucbvi", mdp, 20, seeds=range(300))
    pairs = [(*run.memory.surprise, *run.memory.surprise_weight) for run in runs]
    sums = np.array(pairs) - 1.0  # less the imagined visit
    assert abs(sums[:, 0].sum() / sums[:, 1].sum() - (1 - (p**2).sum())) < 0.02
    certain = gim.TabularMDP(np.eye(3)[[[1, 2], [2, 0], [0, 1]]], np.zeros((3, 2)), horizon=10)
    run = gim.run("ucbvi", certain, 20)
    assert run.memory.surprise[0] == 1.0
    noisy = certain.with_(noise=np.ones((3, 2)))  # a reward unlike the others is a surprise, too
    run = gim.run("ucbvi:r_min=-3,r_max=3", noisy, 20)
    assert run.memory.surprise[0] == pytest.approx(run.memory.surprise_weight[0])
