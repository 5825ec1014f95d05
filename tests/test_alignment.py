"""Policies meet worlds, logs and other policies by name, in whatever order states stand."""

from __future__ import annotations

import gymnasium
import numpy as np
import pyarrow
import pytest

import gim
from gim.mdp.names import Names
from gim.mdp.naming import named
from gim.mdp.policy.alignment import NONE, matched
from gim.runs.run import prepare
from tests.family_worlds import shop_log

STOCKS, ORDERS = 16, 8


def shop(rows, name=lambda stock: stock):
    """The log, with stocks called by another name."""
    return gim.from_log([(name(s), a, r, name(t)) for s, a, r, t in rows])


def up_to_nine(name=lambda stock: stock, stocks=range(STOCKS)):
    """The same policy in names, whose states stand in the order of `stocks`."""
    orders = [int(np.clip(9 - s, 0, 7)) for s in stocks]
    return gim.Policy(orders, [name(s) for s in stocks], range(ORDERS))


def backwards(stock):
    """A name that sorts the other way."""
    return f"stock {STOCKS - stock:02}"


@pytest.fixture(scope="module")
def rows():
    return shop_log(1000)


@pytest.fixture(scope="module")
def learned(rows):
    return gim.learn(shop(rows), horizon=30, infer=None)


def test_a_policy_is_compared_by_the_names_of_its_states(rows, learned):
    """In whatever order they stand: as numbers, as texts that sort the other way, as an array."""
    position = learned.against(np.array([np.clip(9 - s, 0, 7) for s in learned.log.states]))
    assert position.estimate > 1
    assert learned.against(up_to_nine()) == position
    assert learned.against(up_to_nine(stocks=range(STOCKS)[::-1])) == position
    other = gim.learn(shop(rows, backwards), horizon=30, infer=None)
    assert other.log.states[0] == backwards(max(learned.log.states))  # positions are others
    said = other.against(up_to_nine(backwards))
    assert said == pytest.approx(position, abs=1e-9)  # the same worlds are drawn
    assert other.against(up_to_nine(backwards, range(STOCKS)[::-1])) == said


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda stock: stock, lambda stock: STOCKS - 1 - stock),
        (lambda stock: f"stock {stock:02}", backwards),
    ],
    ids=["numbers", "texts"],
)
def test_names_that_sort_the_other_way_change_no_inference(one, other):
    """Numbers turned round keep their distances, texts have none in either order.

    Means are the same but for rounding. Bounds rest on what is drawn, rule by rule, as outcomes
    are numbered: there the luck of the draw differs.
    """
    rows = shop_log(200)
    found = []
    for name in (one, other):
        learned = gim.learn(shop(rows, name), horizon=30)
        found.append(learned.against(up_to_nine(name)))
    assert found[0].estimate == pytest.approx(found[1].estimate, abs=1e-6)
    wide = found[0].upper - found[0].lower
    assert found[0][1:] == pytest.approx(found[1][1:], abs=0.02 * wide)


def test_what_was_learned_is_compared_with_itself_renamed(rows, learned):
    """A policy that stands in another order is the same policy: it is not better than itself."""
    array, n = np.asarray(learned.policy), len(learned.log.states)
    turned = gim.Policy(array[:, ::-1], learned.log.states[::-1], learned.log.actions)
    assert learned.against(turned) == (0.0, 0.0, 0.0)
    assert learned.against(gim.Policy(array, learned.log.states, learned.log.actions)) == (0, 0, 0)
    assert len(array[0]) == n


@pytest.mark.parametrize("way", ["against", "evaluated", "baseline"])
def test_stocks_that_are_one_higher_are_named(rows, way):
    states = sorted({s for row in rows for s in (row[0], row[3])})
    columns = dict(zip(("s", "a", "r", "s2"), zip(*rows, strict=True), strict=True))
    episodes = {"episode": np.arange(len(rows)) // 50}
    log = gim.from_log(pyarrow.table(columns | episodes), episode="episode")
    higher = up_to_nine(lambda stock: stock + 1)
    said = rf"^this policy does not fit the log: 1 of the {len(states)} states there have no match "
    said += r"in it: 0; its own are 1, 2, 3, 4, 5, \.\.\. \(16 in all\)$"
    learned = gim.learn(log, horizon=30, infer=None)
    uses = {
        "against": learned.against,
        "evaluated": learned.evaluated,
        "baseline": lambda policy: gim.learn(log, horizon=30, infer=None, baseline=policy),
    }
    with pytest.raises(ValueError, match=said):
        uses[way](higher)


def test_a_baseline_goes_by_name(rows):
    given = [up_to_nine(), up_to_nine(stocks=range(STOCKS)[::-1])]
    found = [gim.learn(shop(rows), horizon=30, infer=None, baseline=each) for each in given]
    assert np.array_equal(found[0].behind.case.baseline, found[1].behind.case.baseline)
    orders = found[0].behind.case.baseline.argmax(axis=1)
    assert orders.tolist() == [int(np.clip(9 - s, 0, 7)) for s in found[0].log.states]


# -- worlds

INVENTORY = "inventory:capacity=15,largest=7,horizon=12"


@pytest.fixture(scope="module")
def store():
    return gim.make(INVENTORY)


def turned_round(policy):
    """The same policy with states and actions in reverse order."""
    S, A = len(policy.states), len(policy.actions)
    names = [policy.states[s] for s in range(S)][::-1], [policy.actions[a] for a in range(A)][::-1]
    array = np.asarray(policy)
    drawn = array.dtype.kind == "f"
    return gim.Policy(array[..., ::-1, ::-1] if drawn else A - 1 - array[..., ::-1], *names)


@pytest.mark.parametrize("kind", ["timed", "stationary", "drawn", "timed and drawn"])
def test_a_world_is_met_by_name(store, kind):
    best = store.plan().policy
    array = best if "timed" in kind else best[0]
    if "drawn" in kind:
        array = 0.7 * np.eye(store.A)[array] + 0.3 * store.uniform_policy()
    policy = named(array, store)
    other = turned_round(policy)
    assert not np.array_equal(np.asarray(other), array)
    assert np.array_equal(store.value(other), store.value(array))
    assert store.policy_return(other) == store.policy_return(array)
    assert np.array_equal(store.expected_visits(other), store.expected_visits(array))
    assert store.average_reward(other) == store.average_reward(array)


def test_functions_and_mappings_are_asked_by_name(store):
    array = store.plan().policy[0]
    policy = named(array, store)
    by_stock = {s: int(array[s]) for s in range(store.S)}
    for given in (policy, lambda stock: policy(stock), by_stock, array, array.tolist()):
        assert store.policy_return(given) == store.policy_return(array)
    with pytest.raises(ValueError, match="the policy says nothing of state 15"):
        store.value(dict.fromkeys(range(store.S - 1), 0))


def test_a_world_that_has_more_states_names_those_without_a_match():
    small, large = gim.make("inventory:capacity=35"), gim.make("inventory")
    policy = named(small.plan().policy, small)
    said = (
        "^this policy does not fit the world: 15 of the 51 states there have no match in it: 36, "
        r"37, 38, 39, 40, \.\.\.; its own are 0, 1, 2, 3, 4, \.\.\. \(36 in all\)$"
    )
    for use in (large.policy_return, large.value, large.expected_visits):
        with pytest.raises(ValueError, match=said):
            use(policy)


def test_a_picture_shows_each_state_its_own_action():
    """A policy in another order draws the same arrows."""
    mdp = gim.make("gridworld:height=3,width=4")
    policy = named(mdp.plan().policy, mdp)

    def texts(given):
        drawn = gim.plot.grid(mdp, given)
        return [(text.get_position(), text.get_text()) for text in drawn.axes[0].texts]

    assert texts(turned_round(policy)) == texts(np.asarray(policy)) == texts(policy)


def test_long_names_are_shortened_in_a_message():
    mdp = gim.TabularMDP(np.ones((1, 1, 1)), [[1.0]], state_labels=["x" * 10_000])
    with pytest.raises(ValueError, match=r"no match in it: 'x{56}\.\.\.; its own are 'y' \(1"):
        mdp.policy_return(gim.Policy([0], ["y"]))


def test_actions_that_a_world_does_not_have_are_named(store):
    policy = gim.Policy([9] * 15 + [11], [(s,) for s in range(16)], range(12))
    said = "2 of the actions that it plays have no match there: 9, 11; those of the world are 0, 1"
    for given in (policy, gim.Policy(np.eye(12)[np.asarray(policy)], policy.states, range(12))):
        with pytest.raises(ValueError, match=said):
            store.policy_return(given)


def test_horizons_go_by_length(store):
    policy = named(store.plan().policy, store)
    said = "this policy is for 12 steps and the horizon is 9: make one for 9 steps, or give a hor"
    with pytest.raises(ValueError, match=said):
        store.with_(horizon=9).policy_return(policy)


def test_a_policy_without_names_goes_by_position():
    """Where there is nothing else to go by; but never for another number of states."""
    mdp = gim.make("casinoland")
    best = mdp.plan().policy
    assert mdp.policy_return(gim.Policy(best)) == mdp.optimal_return()
    walk = gim.make("riverswim")
    with pytest.raises(ValueError, match="8 of the 8 states there have no match in it: 'room 0'"):
        mdp.policy_return(gim.Policy(np.zeros(6, int)))
    with pytest.raises(ValueError, match="is for 9 states without names, the world has 6: 3 have"):
        walk.policy_return(gim.Policy(np.zeros(9, int), actions=2))


def test_names_in_a_world_without_names_have_no_match():
    walk = gim.TabularMDP(np.full((2, 1, 2), 0.5), [[1.0], [0.0]], horizon=3)
    with pytest.raises(ValueError, match="2 of the 2 states there have no match in it: 0, 1; its"):
        walk.policy_return(gim.Policy([0, 0], ["wet", "dry"]))


def test_nobody_acts_at_an_end_and_where_no_episode_comes():
    """A lake's holes need no action; states beyond reach count for `value` alone."""
    moves = {0: [1], 1: [2], 2: [], 3: [2]}
    mdp = gim.from_step(
        lambda s, a: [(1.0, t, 1.0) for t in moves[s]],
        [0, 1, 2, 3],
        ["go"],
        terminal=[2],
        horizon=4,
    )
    policy = gim.Policy([0, 0], [0, 1], ["go"])
    assert mdp.policy_return(policy) == 2.0
    with pytest.raises(ValueError, match="1 of the 4 states there have no match in it: 3;"):
        mdp.value(policy)


# -- one name and another


@pytest.mark.parametrize(
    ("wanted", "among", "found"),
    [
        ({"labels": ["a", "b", "c"]}, {"labels": ["c", "a"]}, [1, NONE, 0]),
        ({"labels": [3, 1]}, {"n": 3}, [NONE, 1]),  # numbers are names where there are no others
        ({"labels": [2, 1, 0]}, {"n": 3}, [2, 1, 0]),
        ({"n": 3}, {"labels": [1, 2, 3]}, [NONE, 0, 1]),  # not the order: they can be told apart
        ({"labels": [5, 7]}, {"variables": [(7,), (5,)]}, [1, 0]),
        ({"variables": [(0, 1), (1, 0)]}, {"variables": [(1, 0), (0, 1)]}, [1, 0]),
        ({"labels": [(0, 1), "end"]}, {"variables": [(1, 0), (0, 1)]}, [1, NONE]),
        ({"labels": [0, 2]}, {"variables": [(0, 0), (0, 1), (1, 0)]}, [0, 2]),  # a log by number
        ({"labels": ["1"]}, {"labels": [1]}, [NONE]),
        ({"labels": [1.0]}, {"labels": [1]}, [0]),
        ({"n": 2}, {"labels": ["a", "b"]}, [NONE, NONE]),  # a log's numbers are no places
    ],
)
def test_names_are_matched_by_what_they_say(wanted, among, found):
    def names(given):
        n = given.get("n") or len(given.get("labels", given.get("variables")))
        return Names("state", n, given.get("labels"), given.get("variables"))

    assert matched(names(wanted), names(among)).tolist() == found


def test_variables_are_matched_by_their_names():
    one = Names("state", 3, None, [(0, 5), (1, 5), (2, 6)], ("row", "col"))
    other = Names("state", 3, None, [(5, 1), (6, 2), (5, 0)], ("col", "row"))
    unnamed = Names("state", 3, None, [(5, 1), (6, 2), (5, 0)], ("x", "y"))
    assert matched(one, other).tolist() == [2, 0, 1]
    assert matched(one, unnamed).tolist() == [NONE, NONE, NONE]


def test_what_a_run_recommends_is_worth_the_same_by_any_way_in():
    """By name and from the environment itself, whose users know bare numbers."""
    table = gim.from_gymnasium("FrozenLake-v1")
    run = gim.run("optimal", gymnasium.make("FrozenLake-v1"), 1)
    assert table.policy_return(run.best_policy()) == table.optimal_return()
    assert run.mdp.policy_return(run.best_policy()) == table.optimal_return()


# -- models as priors


def grid(rows, columns, order=None):
    """A walk over cells; `order`: in which states stand, moves the other way round."""
    cells = [(r, c) for r in range(rows) for c in range(columns)]
    moves = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
    if order is not None:
        cells, moves = [cells[k] for k in order], dict(reversed(moves.items()))

    def step(cell, move):
        r, c = (cell[i] + moves[move][i] for i in (0, 1))
        to = (min(max(r, 0), rows - 1), min(max(c, 0), columns - 1))
        slip = 0.2 if to != cell else 0.0
        return [(1 - slip, to, float(to == (0, columns - 1))), (slip, cell, 0.0)]

    return gim.from_step(step, cells, list(moves), horizon=12, start=(rows - 1, 0))


ORDER = np.random.default_rng(3).permutation(12)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("agent", ["ucbvi", "analogist"])
def test_a_model_is_matched_with_the_world_by_name(agent, form):
    """Learned where states and actions stand in another order, it says the same of each of them."""
    there, here = grid(3, 4, ORDER), grid(3, 4)
    model = gim.run("ucbvi", there, episodes=60).model
    model = model.to_sparse() if form == "sparse" else model
    known = gim.run(agent, here, episodes=1, prior=model).task.priors[0]
    assert not np.array_equal(known.visits, model.visits)
    for s, cell in enumerate(here.state_labels):
        for a, move in enumerate(here.action_labels):
            s2, a2 = there.state_labels.index(cell), there.action_labels.index(move)
            assert known.visits[s, a] == model.visits[s2, a2]
            assert known.rewards[s, a] == model.rewards[s2, a2]
            row = known.rows()[[s * here.A + a]].toarray()[0]
            other = model.rows()[[s2 * here.A + a2]].toarray()[0]
            where = [there.state_labels.index(each) for each in here.state_labels]
            assert np.array_equal(row, other[where])
    loss = here.optimal_return() - here.policy_return(known.plan().policy)
    assert loss < 0.1 * here.optimal_return()
    wrong = model.plan().policy  # by position it would be worth little
    assert here.policy_return(wrong) < 0.5 * here.optimal_return()


def test_the_model_of_a_log_goes_by_label(tmp_path):
    mdp = gim.make("riverswim:length=4")
    mdp = mdp.with_(state_labels=[f"place {3 - s}" for s in range(4)])
    log = []
    for s, a, r, t in played(mdp, 2000):
        log.append((mdp.state_labels[s], mdp.action_labels[a], r, mdp.state_labels[t]))
    learned = gim.learn(gim.from_log(log), infer=None, horizon=20)
    assert learned.log.states[0] == "place 0" == mdp.state_labels[3]
    learned.model.save(tmp_path / "m.npz")
    by_model = gim.run("ucbvi", mdp, episodes=3, prior=str(tmp_path / "m.npz"))
    by_log = gim.run("ucbvi", mdp, episodes=3, prior=learned.log)
    assert np.array_equal(by_model.task.priors[0].visits, by_log.task.priors[0].visits)
    other = mdp.with_(state_labels=[f"shore {s}" for s in range(4)])
    said = "this prior does not fit the world: 4 of the 4 states there have no match in it: 'shore"
    with pytest.raises(ValueError, match=said):
        gim.run("ucbvi", other, episodes=3, prior=learned.model)


def played(mdp, steps):
    """What random play meets: states, actions, rewards, next states."""
    env, rng = mdp.to_gymnasium(), np.random.default_rng(0)
    s, _ = env.reset(seed=0)
    for _ in range(steps):
        a = int(rng.integers(mdp.A))
        t, r, terminated, truncated, _ = env.step(a)
        yield s, a, r, t
        s = env.reset()[0] if terminated or truncated else t


def test_a_run_that_began_with_a_model_from_elsewhere_goes_on_after_it_was_saved(tmp_path):
    model = gim.run("ucbvi", grid(3, 4, ORDER), episodes=20).model
    whole = gim.run("analogist", grid(3, 4), episodes=8, prior=model)
    half = prepare(gim.Analogist(), grid(3, 4), 8, 0, prior=model).pause_at(40)
    assert 0 < half.returns.size < 8
    half.save(tmp_path / "half.npz")
    assert np.array_equal(gim.run(resume=tmp_path / "half.npz").returns, whole.returns)
