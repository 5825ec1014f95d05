"""Every agent: its literal twin, and the optimum where theory promises it."""

from __future__ import annotations

import types
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import gim
from benchmarks import scores
from gim.agent import Agent, agents
from gim.agents.delayed_q_learning import DelayedQLearning
from gim.agents.double_q_learning import DoubleQLearning
from gim.agents.mbie_eb import MBIEEB
from gim.agents.psrl import PSRL, gamma
from gim.agents.q_learning import QLearning
from gim.agents.rmax import RMax, act, optimistic_model
from gim.agents.ucbvi import UCBVI
from gim.inference.belief import Evidence
from gim.jit import plain
from gim.model import counts
from gim.model.rewards import most_to_come, reward_range, seen_range
from gim.params import describe
from gim.run import prepare
from tests import naive_agents as naive
from tests.random_mdps import random_mdp

# -- literal twins


def eventful(seed):
    """A world with everything that an agent may trip over."""
    mdp = random_mdp(seed, S=5, A=3, horizon=7, terminal=True, missing=True)
    return mdp.with_(noise=0.2)


def costly(seed):
    """The same, but every step costs, so that an end is the best there is."""
    mdp = eventful(seed)
    return mdp.with_(rewards=np.where(mdp.available, mdp.rewards - 4, 0) * ~mdp.terminal[:, None])


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


SURE = [
    ("rmax:m=60", 0.98),
    ("rmax:m=60,plan_per=pair", 0.98),
    ("ucbvi", 0.97),
    ("ucbvi:bonus=hoeffding", 0.97),
    ("psrl", 0.97),
    ("mbie_eb", 0.97),
]


@pytest.mark.parametrize(("word", "share"), SURE)
def test_model_based_agents_swim_up_the_river(word, share):
    """Without directed exploration one gains a hundredth of the optimum here."""
    mdp = gim.make("riverswim")
    run = gim.run(word, mdp, episodes=1500, seed=2)
    assert mdp.policy_return(run.policy) >= share * mdp.optimal_return()
    late = mdp.score(run.returns[-500:])
    assert late >= share - 0.03


@pytest.mark.parametrize("word", [word for word, _ in SURE])
def test_model_based_agents_in_random_worlds(word):
    for seed in (3, 4):
        mdp = eventful(seed)
        run = gim.run(word, mdp, episodes=2500, seed=seed)
        best, worst = mdp.optimal_return(), mdp.random_return()
        assert best - mdp.policy_return(run.policy) <= 0.05 * (best - worst)
        assert best - run.returns[-1000:].mean() <= 0.1 * (best - worst)


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


# -- RMax: plans and what is known


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    m=st.integers(1, 6),
    terminal=st.booleans(),
    missing=st.booleans(),
    per=st.sampled_from(["state", "pair"]),
)
def test_rmax_plans_no_more_than_the_lemma_counts(seed, m, terminal, missing, per):
    mdp = random_mdp(seed, terminal=terminal, missing=missing)
    run = gim.run(RMax(m=m, plan_per=per), mdp, episodes=120, seed=seed)
    limit = mdp.S if per == "state" else mdp.available.sum()
    assert 1 <= run.plans <= limit + 1
    known = run.memory.known
    assert (run.memory.belief.counts.n <= m).all()  # its estimates stand once it is known
    assert np.array_equal(
        known.mask, mdp.available & ((run.memory.belief.counts.n == m) | known.terminal[:, None])
    )
    if known.mask[mdp.available].all():
        assert run.explored_at is not None


def test_rmax_plans_alike_per_pair_and_per_state():
    """With the right r_max an unknown state is worth the most that can come, either way."""
    mdp = random_mdp(8, S=6, A=4, horizon=8)
    runs = [gim.run(RMax(m=5, plan_per=per), mdp, 300, seed=4) for per in ("pair", "state")]
    assert np.array_equal(runs[0].returns, runs[1].returns)
    assert (runs[0].plans, runs[1].plans) == (25, 7)
    assert runs[0].explored_at == runs[1].explored_at is not None


@pytest.mark.parametrize(("r_max", "paid"), [(2.0, 2.0), (-1.0, 0.0)])
def test_unknown_pairs_lead_to_heaven(r_max, paid, monkeypatch):
    mdp = random_mdp(3, S=4, A=2, horizon=5, terminal=True, missing=True)
    models = []
    for limit in (counts.DENSE_LIMIT, 0):
        monkeypatch.setattr(counts, "DENSE_LIMIT", limit)
        memory = gim.run(RMax(m=3), mdp, 4, seed=1).memory
        models.append(optimistic_model(memory.belief, memory.known, r_max, 5))
    model, known = models[0], memory.known
    unknown = known.available & ~known.mask
    assert unknown.any()
    assert known.mask.any()
    assert np.array_equal(model.transitions[:-1, :, -1], unknown)
    assert np.allclose(model.transitions.sum(axis=2)[model.available], 1)
    assert (model.rewards[:-1][unknown] == r_max).all()
    assert (model.rewards[-1] == paid).all()
    assert np.array_equal(models[1].transitions.toarray().ravel(), model.transitions.ravel())
    assert np.array_equal(models[1].rewards, model.rewards)


def test_rmax_starts_from_a_model_learned_elsewhere():
    mdp = random_mdp(9, S=4, A=2, horizon=6)
    first = gim.run(RMax(m=10), mdp, 400, seed=1)
    again = gim.run(RMax(m=10), mdp, 100, seed=2, prior=first.model)
    assert (again.plans, again.explored_at) == (1, 0)
    assert np.array_equal(again.policy, first.policy)


def test_authors_settings():
    agent = RMax.authors("synthetic")
    assert (agent.m, agent.r_max, agent.planner) == (50, 1.0, "discounted")
    assert (agent.surplus, RMax.authors("riverswim").planner) == (1, "lookahead")
    with pytest.raises(ValueError, match="did you mean 'riverswim'"):
        RMax.authors("riverswin")


def test_the_authors_rmax_ends_exploring_on_riverswim_by_chance():
    """Their own ends after 717 episodes in the mean of 10 runs: a random walk among ties."""
    runs = gim.run(RMax.authors("riverswim"), gim.make("riverswim"), 5000, seeds=range(20))
    assert 717 / 1.3 < np.mean([run.explored_at for run in runs]) < 717 * 1.3
    for run in runs:
        assert run.memory.belief.counts.n.max() == 51  # m, and one more
        assert (run.memory.n_ties == 0).all()  # the ties were drawn for good
    assert len({run.policy[0].tobytes() for run in runs}) > 2


def test_a_lookahead_takes_any_of_the_best_at_each_step():
    mdp = gim.make("riverswim")
    run = prepare(RMax.authors("riverswim"), mdp, 5000, 0)
    run.pause_at(4000)
    memory = run.memory
    model = optimistic_model(memory.belief, memory.known, 1.0, mdp.horizon)
    best = np.where(model.available, model.rewards, -np.inf).max(axis=1)
    q = model.rewards + 0.95 * model.transitions @ best
    known = np.flatnonzero(memory.known.rho_known)
    assert known.size > 1
    tied = 0
    for s in known:
        ties = np.flatnonzero(q[s] == q[s].max())
        rng = np.random.default_rng(s)
        taken = [plain(act)(memory, s, 0, rng) for _ in range(200)]
        assert set(taken) == set(ties)
        tied += ties.size > 1
    assert tied > 0


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


@pytest.mark.parametrize("word", [*(word for word, _ in SURE), "rmax:m=9,planner=discounted"])
def test_optimism_finds_the_end_of_a_costly_errand(word):
    run = gim.run(word, errand(), 400, seed=1)
    assert run.returns[-1] == -3
    assert errand().policy_return(run.policy) == -3


def test_delayed_q_learning_finds_the_end_of_a_costly_errand():
    run = gim.run(DelayedQLearning(m=1, epsilon1=0.01, gamma=0.99), errand(), 400, seed=1)
    assert run.returns[-1] == -3


# -- what all must respect


PARAMETERS = {name: {p.name for p in describe(agents[name])} for name in agents.names()}
RANGED = [name for name, known in PARAMETERS.items() if "r_max" in known]  # optimists, mostly
MODELLING = [name for name in agents.names() if agents[name].model is not Agent.model]


@pytest.mark.parametrize("word", [*RANGED, "rmax:m=5", "ucbvi:bonus=hoeffding"])
def test_the_unit_of_rewards_does_not_matter(word):
    """Rewards of 1024 times the size (exact in binary) change no choice."""
    mdp = eventful(6)
    large = mdp.with_(rewards=1024 * mdp.rewards, noise=1024 * 0.2)
    one, two = (gim.run(word, world, 200, seed=3).returns for world in (mdp, large))
    assert np.array_equal(1024 * one, two)


@pytest.mark.parametrize(
    "word", ["rmax:m=3", "rmax:m=3,planner=discounted", "ucbvi", "psrl", "mbie_eb"]
)
def test_sparse_counts_change_nothing(word, monkeypatch):
    mdp = random_mdp(7, S=6, A=3, horizon=8, terminal=True, missing=True)
    dense = gim.run(word, mdp, 150, seed=5)
    monkeypatch.setattr(counts, "DENSE_LIMIT", 0)
    sparse = gim.run(word, mdp, 150, seed=5)
    assert sparse.memory.belief.counts.keys.size
    assert np.array_equal(sparse.returns, dense.returns)
    assert np.array_equal(sparse.policy, dense.policy)


class Coin(gymnasium.Env):
    """A world without a table, which does not say how large its rewards are."""

    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, low=0.0, high=1.0):
        self.pays = (low, high)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return int(self.np_random.random() < 0.5), self.pays[action], False, False, {}


def test_values_that_start_at_the_top_must_know_it():
    with pytest.raises(ValueError, match="does not say how large its rewards can be: give r_max="):
        gim.run("delayed_q_learning", Coin(), 5, horizon=5)
    run = gim.run("delayed_q_learning:r_max=1", Coin(), 300, horizon=5, seed=1)
    assert run.returns[-50:].mean() > 4.5


LEARNERS = ["rmax", "ucbvi", "psrl", "mbie_eb", "analogist"]


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, -2.0), (100.0, 250.0)])
def test_reward_ranges_that_are_not_told_are_learned(name, low, high):
    env = Coin(low, high)
    run = gim.run(name, env, 300, horizon=5, seed=1)
    assert (run.returns[-50:].mean() / 5 - low) / (high - low) > 0.9
    assert "what was seen stands for it" in run.notes[0]
    assert len(run.notes) == 1
    told = "r_max=1" if name == "rmax" else "r_min=-3,r_max=250"
    assert not gim.run(f"{name}:{told}", env, 5, horizon=5).notes
    assert gim.run(
        f"{name}:r_max=0", env, 5, horizon=5
    ).finished  # seen or not, what is given holds


def test_a_certificate_says_that_the_range_of_rewards_is_assumed():
    run = gim.run("analogist", Coin(), 20, horizon=5)
    assert gim.certify(run).assumed == ("no pair pays less than 0 or more than 1",)


def test_what_was_seen_of_rewards():
    seen = counts.new_counts(2, 2)
    assert seen_range(seen) == (0, 1)
    seen.n[0, 0], seen.R[0, 0] = 4, -12.0
    assert seen_range(seen) == (-3, -2)
    seen.n[1, 0], seen.R[1, 0] = 2, 1.0
    assert seen_range(seen) == (-3, 4)  # what was not tried may pay more than all that was
    seen.n[:, 1], seen.R[:, 1] = 1, 0.25
    assert seen_range(seen) == (-3, 0.5)
    task = types.SimpleNamespace(reward_range=None)
    assert reward_range(task, None, None, seen) == (-3, 0.5)
    assert reward_range(task, 1.0, None, seen) == (1, 1)
    assert reward_range(task, None, -5.0, seen) == (-5, -5)
    assert reward_range(task, -9.0, 9.0, None) == (-9, 9)


@pytest.mark.parametrize("name", ["analogist", "ucbvi", "rmax"])
def test_what_pays_first_is_not_taken_for_the_best_there_is(name):
    """State 1 pays nothing; state 0 pays 1 for the first action, as often as one likes, 3 for the
    second, which nobody has seen before it is tried."""

    class Better(Coin):
        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.state = int(self.np_random.random() < 0.5)
            return self.state, {}

        def step(self, action):
            paid = 0.0 if self.state else (1.0, 3.0)[action]
            self.state = 0
            return 0, paid, False, False, {}

    run = gim.run(name, Better(), 60, horizon=5, seed=0)
    assert run.returns[-20:].mean() > 12


def test_r_min_above_r_max_is_refused():
    with pytest.raises(ValueError, match="r_min = 3 is above r_max = 2"):
        gim.run("ucbvi:r_min=3,r_max=2", "riverswim", 5)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", [n for n in MODELLING if not agents[n].assumes_structure])
def test_models_are_valid_and_come_near_the_truth(name):
    """Of agents that assume no structure: this world has none."""
    mdp = eventful(1)
    run = gim.run(name, mdp, 2000, seed=1)
    met = run.model.visits >= 40
    assert met.sum() >= 4
    assert run.model.compare(mdp)["l1"][met].max() < 0.5
    assert np.array_equal(run.model.terminal, mdp.terminal)


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


def test_rmax_with_the_authors_r_max_never_explores_the_river():
    assert scores.scores("rmax:r_max=1", "riverswim", seeds=2).max() < 0.05


def test_rmax_scores_on_drawn_tasks():
    assert scores.scores("rmax", "synthetic", seeds=4).mean() >= 0.93
    assert scores.scores("rmax", "gridworld", seeds=8).mean() >= 0.90


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
