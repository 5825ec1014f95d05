"""`gim.evaluate`: returns are those of the loops, states go by name, and intervals hold."""

from __future__ import annotations

import itertools

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Discrete, MultiDiscrete
from scipy import stats

import gim
from gim.belief.intervals import mean_interval
from gim.cli import main
from gim.mdp.naming import named
from gim.mdp.policy import Policy
from gim.runs.agent import agents

LEVELS = 4


class Wearing(gymnasium.Env):
    """A machine: wear rises at random; a step costs it, to replace costs 5."""

    def __init__(self, told=None, first=0, steps=6):
        self.observation_space, self.action_space = Discrete(LEVELS, start=first), Discrete(2)
        self.first, self.steps = first, steps
        if told is not None:
            self.reward_range = told

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.wear, self.step_of = 0, 0
        return self.first, {}

    def step(self, action):
        paid = -5.0 if action == 1 else -float(self.wear)
        rises = int(self.np_random.random() < 0.5)
        self.wear = 0 if action == 1 else min(LEVELS - 1, self.wear + rises)
        self.step_of += 1
        return self.first + self.wear, paid, False, self.step_of == self.steps, {}


def wearing_table(steps=6):
    """The same, exactly."""

    def step(wear, action):
        if action == "replace":
            return [(1.0, 0, -5.0)]
        return [(0.5, wear, -float(wear)), (0.5, min(LEVELS - 1, wear + 1), -float(wear))]

    return gim.from_step(step, range(LEVELS), ["run", "replace"], horizon=steps)


NEVER = [0] * LEVELS


def test_returns_are_bit_for_bit_those_of_a_run():
    for spec in ("riverswim", "noisy_arms", "inventory:capacity=9,largest=4"):
        run = gim.run("optimal", spec, episodes=60, seed=5)
        found = gim.evaluate(run.best_policy(), spec, 60, seed=5)
        assert np.array_equal(found.returns, run.returns)
        assert found.mean == run.returns.mean()
        stepped = gim.make(spec).to_gymnasium()
        other = gim.evaluate(np.asarray(run.best_policy()), gymnasium.Wrapper(stepped), 60, seed=5)
        assert np.array_equal(other.returns, run.returns)


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("timed", [False, True])
def test_what_is_played_is_the_policy(drawn, timed):
    """The mean tends to the exact value, in a table and stepped; other policies earn others."""
    mdp, rng = wearing_table(), np.random.default_rng(1)
    shape = (mdp.horizon,) * timed + (mdp.S,)
    policy = rng.dirichlet([0.5, 0.5], shape) if drawn else rng.integers(0, 2, shape)
    exact = mdp.policy_return(policy)
    env = gymnasium.wrappers.TimeLimit(Wearing(), mdp.horizon)
    for world in (mdp, env):
        found = gim.evaluate(policy, world, 4000, seed=2)
        error = found.returns.std() / np.sqrt(found.returns.size)
        assert found.mean == pytest.approx(exact, abs=4 * error + 1e-9)
        assert np.array_equal(gim.evaluate(policy, world, 4000, seed=2).returns, found.returns)
        if drawn:
            assert not np.array_equal(gim.evaluate(policy, world, 4000).returns, found.returns)


def test_a_policy_draws_in_proportion():
    """One state, three actions that pay 1, 10 and 100."""
    mdp = gim.TabularMDP(np.ones((1, 3, 1)), [[1.0, 10.0, 100.0]], horizon=1)
    found = gim.evaluate(np.array([[0.2, 0.0, 0.8]]), mdp, 5000).returns
    assert set(found) == {1.0, 100.0}
    assert (found == 1.0).mean() == pytest.approx(0.2, abs=0.02)


def test_anything_that_a_run_takes_is_a_world(tmp_path, monkeypatch):
    mdp = gim.make("riverswim")
    policy = gim.run("optimal", mdp, 1).best_policy()
    mdp.save(tmp_path / "river.npz")
    policy.to_csv(tmp_path / "policy.csv")
    first = gim.evaluate(policy, mdp, 20).returns
    for world in ("riverswim", tmp_path / "river.npz", mdp.to_gymnasium()):
        assert np.array_equal(gim.evaluate(policy, world, 20).returns, first)
    assert np.array_equal(gim.evaluate(tmp_path / "policy.csv", mdp, 20).returns, first)
    (tmp_path / "of_mine.py").write_text(
        "import gymnasium\nfrom tests.test_evaluation import Wearing\n"
        "gymnasium.register('OfMine-v0', Wearing, max_episode_steps=6)\n"
    )
    monkeypatch.chdir(tmp_path)
    try:
        assert gim.evaluate(NEVER, "of_mine:OfMine-v0", 5).returns.size == 5
    finally:
        del gymnasium.registry["OfMine-v0"]
    with pytest.raises(ValueError, match="no time limit: give one with horizon="):
        gim.evaluate(NEVER, Wearing(), 5)
    assert gim.evaluate(NEVER, Wearing(), 5, horizon=1).returns.tolist() == [0.0] * 5
    run = gim.run("ucbvi", Wearing(), episodes=2, horizon=3)
    policy = run.best_policy()  # made for three steps: no limit of its own is needed
    found = [gim.evaluate(policy, Wearing(), 5, horizon=H).returns.tolist() for H in (None, 3)]
    assert found[0] == found[1]


def test_it_is_no_agent_of_the_lists():
    gim.evaluate([0] * 6, "riverswim", 1)
    assert not {"following", "policy"} & set(agents.names())


# -- names


def test_states_of_an_environment_go_by_name():
    """Its space begins at 3: a policy in its own names is matched so, in any order."""
    env = gymnasium.wrappers.TimeLimit(Wearing(first=3), 6)
    array = np.array([0, 0, 1, 1])
    policy = Policy(array, [3, 4, 5, 6], [0, 1])
    turned = Policy(array[::-1], [6, 5, 4, 3], [0, 1])
    first = gim.evaluate(policy, env, 50).returns
    assert np.array_equal(gim.evaluate(turned, env, 50).returns, first)
    assert np.array_equal(gim.evaluate(array, env, 50).returns, first)
    by_wear = {3: 0, 4: 0, 5: 1, 6: 1}
    assert np.array_equal(gim.evaluate(by_wear, env, 50).returns, first)
    assert np.array_equal(gim.evaluate(by_wear.__getitem__, env, 50).returns, first)
    with pytest.raises(ValueError, match="2 of the 4 states there have no match in it: 5, 6; its"):
        gim.evaluate(Policy([0, 1], [3, 4], [0, 1]), env, 50)
    with pytest.raises(ValueError, match="1 of the actions that it plays have no match there: 2;"):
        gim.evaluate(Policy([0, 2, 0, 0], [3, 4, 5, 6], [0, 1, 2]), env, 50)


def test_an_environment_that_shows_its_table_takes_names_and_numbers():
    env = gymnasium.make("FrozenLake-v1")
    by_name = gim.run("optimal", "FrozenLake-v1", 1).best_policy()
    by_number = gim.run("optimal", env, 1).best_policy()
    assert by_name.states != by_number.states
    first = gim.evaluate(by_name, "FrozenLake-v1", 30).returns
    assert first.any()
    for policy, world in itertools.product((by_name, by_number), (env, "FrozenLake-v1")):
        assert np.array_equal(gim.evaluate(policy, world, 30).returns, first)


def test_a_policy_that_says_what_it_does_not_know_is_taken_at_its_word():
    """Where an episode comes to such a state, one line names it; else it is played."""
    env = gymnasium.wrappers.TimeLimit(Wearing(), 6)
    low = Policy([0, 1], [0, 1], [0, 1], seen=[True, True])
    assert gim.evaluate(low, env, 50).returns.size == 50
    never = Policy([0, 0], [0, 1], [0, 1], seen=[True, True])
    said = (
        r"^episode \d came to state 2, of which the policy says nothing, as of 2 of the 4 states$"
    )
    with pytest.raises(ValueError, match=said):
        gim.evaluate(never, env, 50)
    mdp = wearing_table()
    unseen = Policy([0, 0, 0, 0], range(4), ["run", "replace"], seen=[True, True, False, True])
    with pytest.raises(ValueError, match="came to state 2, of which the policy says nothing, as o"):
        gim.evaluate(unseen, mdp, 50)
    with pytest.raises(ValueError, match="2 of the 4 states there have no match in it: 2, 3"):
        gim.evaluate(Policy([0, 1], [0, 1], ["run", "replace"], seen=[True, True]), mdp, 50)


def test_horizons_go_by_length():
    mdp = wearing_table()
    policy = named(mdp.plan().policy, mdp)
    assert gim.evaluate(policy, mdp.with_(horizon=9), 5, horizon=6).returns.size == 5
    with pytest.raises(ValueError, match="this policy is for 6 steps and the horizon is 9: make"):
        gim.evaluate(policy, mdp.with_(horizon=9), 5)


def test_an_action_that_is_not_available_is_refused_before_the_first_step():
    mdp = wearing_table().with_(available=[[True, s < 2] for s in range(4)])
    with pytest.raises(ValueError, match="action 1 is not available in state 3"):
        gim.evaluate([0, 0, 0, 1], mdp, 5)


# -- intervals


def exactly(returns, low, high):
    """Clopper and Pearson's interval of numbers that are all at one end or the other."""
    k, n = int((returns == high).sum()), returns.size
    lower = stats.beta.ppf(0.05, k, n - k + 1) if k else 0.0
    upper = stats.beta.ppf(0.95, k + 1, n - k) if k < n else 1.0
    return low + (high - low) * lower, low + (high - low) * upper


@pytest.mark.parametrize(("n", "k"), [(1, 0), (1, 1), (5, 0), (10, 3), (40, 39), (300, 6)])
def test_of_two_values_it_is_the_exact_interval(n, k):
    returns = np.array([10.0] * k + [-5.0] * (n - k))
    lower, upper, note = mean_interval(returns, (-5.0, 10.0))
    assert (lower, upper) == pytest.approx(exactly(returns, -5.0, 10.0), abs=0.03 * 15)
    assert note == "each return lies between -5 and 10"


def test_of_many_it_is_students():
    drawn = np.random.default_rng(0).normal(3.0, 1.0, 20_000)
    half = 1.645 / np.sqrt(20_000)
    lower, upper, _ = mean_interval(drawn)
    assert (lower, upper) == pytest.approx((drawn.mean() - half, drawn.mean() + half), abs=0.004)
    assert mean_interval(drawn) == (lower, upper, mean_interval(drawn).note)  # no chance in it


WORLDS = {
    "even odds": (lambda rng, n: 10.0 * (rng.random(n) < 0.5), 5.0, (0, 10)),
    "a rare goal": (lambda rng, n: 1.0 * (rng.random(n) < 0.03), 0.03, (0, 1)),
    "both ends": (lambda rng, n: rng.beta(0.2, 0.2, n), 0.5, (0, 1)),
    "skewed": (lambda rng, n: rng.beta(0.1, 1.0, n), 0.1 / 1.1, (0, 1)),
    "bell": (lambda rng, n: np.clip(rng.normal(0, 1, n), -4, 4), 0.0, (-4, 4)),
}


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, 30])
@pytest.mark.parametrize("name", WORLDS)
def test_few_returns_are_covered_where_their_range_is_known(name, n):
    draw, mean, ends = WORLDS[name]
    rng, runs = np.random.default_rng(n), 100
    found = [mean_interval(draw(rng, n), ends) for _ in range(runs)]
    assert sum(low <= mean <= high for low, high, _ in found) >= 84  # 90 less two deviations
    assert all(ends[0] <= low <= high <= ends[1] for low, high, _ in found)
    assert n < 30 or all(high - low < 0.75 * (ends[1] - ends[0]) for low, high, _ in found)


@pytest.mark.parametrize(
    ("draw", "mean"),
    [
        (lambda rng, n: rng.normal(0, 1, n), 0.0),
        (lambda rng, n: rng.exponential(1, n), 1.0),
        (lambda rng, n: rng.lognormal(0, 1, n), np.exp(0.5)),  # Student's: 77 % at ten
        (lambda rng, n: 10.0 * (rng.random(n) < 0.1), 1.0),
    ],
)
@pytest.mark.parametrize("n", [10, 30, 100])
def test_returns_of_unknown_range_are_covered_from_ten_on(draw, mean, n):
    rng = np.random.default_rng(n)
    found = [mean_interval(draw(rng, n)) for _ in range(100)]
    told = [(low, high) for low, high, _ in found if low == low]
    assert len(told) >= 100 * 2 / 3 - 10
    assert np.mean([low <= mean <= high for low, high in told]) >= 0.84


def test_there_is_none_where_nothing_tells():
    for drawn, why in (
        (np.ones(1), "there is one return, and the range of returns is not known"),
        (np.ones(50), "all 50 returns are the same, and the range of returns is not known"),
        (np.arange(9.0), "fewer than 10 returns, and the range of returns is not known"),
    ):
        lower, upper, note = mean_interval(drawn)
        assert np.isnan([lower, upper]).all()
        assert note == why
    assert mean_interval(np.arange(10.0)).lower < 4.5


def test_the_range_of_returns_is_that_of_the_policy():
    """By hand, over every way that six steps may go; noise has no range."""
    mdp = wearing_table()
    for policy, ends in ((NEVER, (-12.0, 0.0)), ([0, 1, 0, 0], (-15.0, 0.0))):
        notes = {gim.evaluate(given, mdp, 3).note for given in (policy, np.eye(2)[policy])}
        assert notes == {f"each return lies between {ends[0]:g} and {ends[1]:g}"}
        sparse = gim.evaluate(policy, mdp.to_sparse(), 3)
        assert {sparse.note} == notes
    noisy = gim.evaluate(NEVER, mdp.with_(noise=1.0), 30)
    assert noisy.note.startswith("the range of returns is not known and taken to be")
    certain = gim.evaluate([1] * 4, mdp, 3)
    assert (certain.lower, certain.mean, certain.upper) == (-30.0, -30.0, -30.0)


def test_payments_by_next_state_count_in_the_range():
    P = np.zeros((2, 1, 2))
    P[:, 0] = [0.5, 0.5]
    paid = np.zeros((2, 1, 2))
    paid[0, 0] = [1.0, -7.0]
    for mdp in (gim.TabularMDP(P, paid, horizon=2), gim.TabularMDP(P, paid, horizon=2).to_sparse()):
        assert gim.evaluate([0, 0], mdp, 3).note == "each return lies between -7 and 2"


def test_an_environment_may_tell_its_range():
    limit = gymnasium.wrappers.TimeLimit
    told = gim.evaluate(NEVER, limit(Wearing((-5.0, 0.0)), 6), 3)
    assert told.note == "each return lies between -30 and 0"
    assert told.lower < wearing_table().policy_return(NEVER) < told.upper
    untold = gim.evaluate(NEVER, limit(Wearing(), 6), 3)
    assert np.isnan(untold.lower)
    assert repr(untold) == f"<Evaluation of 3 episodes: {untold.mean:.6g}, no interval>"
    wrong = gim.evaluate(NEVER, limit(Wearing((-0.1, 0.0)), 6), 30)  # what it told is not so
    assert wrong.note.startswith("the range of returns is not known")


def test_expected_returns_are_covered():
    """A hundred evaluations of five episodes each, of a table and stepped with a told range."""
    mdp = wearing_table()
    exact, env = mdp.policy_return(NEVER), gymnasium.wrappers.TimeLimit(Wearing((-5.0, 0.0)), 6)
    for world in (mdp, env):
        found = [gim.evaluate(NEVER, world, 5, seed=seed) for seed in range(100)]
        assert sum(each.lower <= exact <= each.upper for each in found) >= 84


def test_the_command_says_what_the_function_says(tmp_path, capsys):
    mdp = gim.make("riverswim")
    policy = gim.run("optimal", mdp, 1).best_policy()
    policy.to_json(tmp_path / "p.json")
    assert main(["play", str(tmp_path / "p.json"), "riverswim", "--episodes", "40"]) == 0
    found = gim.evaluate(policy, mdp, 40)
    assert capsys.readouterr().out.splitlines() == [
        "episodes  40",
        f"return    {found.mean:.6g} in the mean, {found.returns.min():.6g} to "
        f"{found.returns.max():.6g} in single episodes",
        f"expected  90 % interval {found.lower:.6g} to {found.upper:.6g}: {found.note}",
        f"optimal   {mdp.optimal_return():.6g}",
        f"random    {mdp.random_return():.6g}",
    ]


def test_spaces_of_arrays_are_played():
    class Orders(gymnasium.Env):
        """Pays what is ordered."""

        observation_space, action_space = MultiDiscrete([2, 2]), MultiDiscrete([3, 3])

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return np.zeros(2, np.int64), {}

        def step(self, order):
            return np.minimum(order, 1), float(order.sum()), False, False, {}

    env = gymnasium.wrappers.TimeLimit(Orders(), 4)
    assert gim.evaluate(lambda state: (2, 1), env, 3).returns.tolist() == [12.0] * 3
