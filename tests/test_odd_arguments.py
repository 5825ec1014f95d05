"""What people give instead of what is asked for: refused in one line that says what to do."""

import numpy as np
import pytest
from scipy import sparse

import gim
from gim._base.arguments import number, several

P = np.eye(3)[[[0, 1], [1, 2], [2, 0]]]
ROWS = [("low", "buy", -1.0, "high"), ("high", "wait", 2.0, "low")] * 5
NUMBERS = [(i % 7 / 3, i % 2, float(i % 3), (i + 1) % 7 / 3) for i in range(40)]


def world(**options):
    return gim.TabularMDP(P, np.zeros((3, 2)), **options)


def stay(state, action):
    return [(1.0, state, 0.0)]


def steps(step=stay, states=(0, 1), **options):
    return gim.from_step(step, states, [0], horizon=2, **options)


def outcomes(*rows, **options):
    return gim.from_outcomes(rows or [("a", "x", "b", 1, 0), ("b", "x", "b", 1, 0)], **options)


def learn(source=ROWS, horizon=4, columns=(), **options):
    return gim.learn(gim.from_log(source, **dict(columns)), horizon=horizon, **options)


def table(**columns):
    return gim.from_log({"s": [0, 1], "a": [0, 0], "r": [0, 1], "s2": [1, 0]} | columns)


WORLDS = [
    (lambda: world(discount="x"), "discount = 'x': give a number"),
    (lambda: world(discount=10**400), "discount has more digits than a number can hold"),
    (lambda: world(state_labels=5), "state_labels = 5: give 3 labels"),
    (lambda: world(info=[1]), "info is a list: give a mapping"),
    (lambda: world(noise=np.ma.masked_array(np.zeros((3, 2)), True)), "noise .* is masked"),
    (lambda: world(variables=3), "variables = 3: give a mapping, an array"),
    (lambda: world(variables={}), "variables need at least one column"),
    (lambda: world(variables={"a": 5}), "variable 'a' is 5: give its values"),
    (lambda: world(variables=[[{}], [{1: 2}], [{2: 3}]]), "'x0' has a value that is none: unhash"),
    (lambda: world(variables=np.ma.masked_array([1, 2, 3], [0, 1, 0])), "a value .* is masked"),
    (lambda: gim.make(3), "3 is no task: give a name"),
    (lambda: gim.plan(None), "a NoneType cannot be planned: give a TabularMDP"),
    (lambda: gim.run("random", world(), 1, horizon=10**12), "100,000,000,000 steps are the limit"),
    (lambda: world().plan(horizon=10**12), "1,000,000,000,000 steps of 3 states need 22,352 GiB"),
    (lambda: world(horizon=10**12).value([0, 0, 0]), "1,000,000,000,000 steps of 3 states need"),
    (lambda: world().plan(discount="x"), "discount = 'x': give a number"),
    (lambda: world().plan(discount=0.9, tolerance="x"), "tolerance = 'x': give a number"),
    (lambda: steps(lambda s, a: 5), r"step\(0, 0\) = 5: give \(probability, next state"),
    (lambda: steps(lambda s, a: [(1, [s], 0)]), r"next state of step\(0, 0\) \[0\] is not one of"),
    (lambda: steps(3), "step = 3: give a function"),
    (lambda: steps(states=[[0], [1]]), "a state is no number, text or tuple: unhashable"),
    (lambda: steps(states=5), "states = 5: give a list of them"),
    (lambda: steps(start={0: "a"}), r"start\[0\] = 'a': give a number"),
    (lambda: steps(start=[0]), r"start \[0\] is not one of the states"),
    (lambda: steps(terminal=1), "terminal = 1: give a list of states"),
    (lambda: outcomes(("a", "x", [1], 1, 0)), "a state is no number, text or tuple: unhashable"),
    (lambda: outcomes(terminal=None), "terminal = None: give a list of states"),
    (lambda: outcomes((0, 0, 0, 1, 0), S="5"), "S = '5': give a whole number"),
    (lambda: outcomes((0, 0, 0, 1, 0), S=10**15), "1000000000000000 states .* more memory than"),
    (lambda: gim.from_outcomes(None), "outcomes = None: give a list of"),
]
LOGS = [
    (lambda: table(s=np.zeros((2, 2))), "column 's' is no list of values"),
    (lambda: table(s=1), "column 's' is no list of values"),
    (lambda: table(s={1, 2}), "column 's' is no list of values"),
    (lambda: table(r=np.ma.masked_array([0, 1], [0, 1])), "column 'r' is no list of values"),
    (lambda: gim.from_log(ROWS, state=3), "state = 3: give the name of a column"),
    (lambda: gim.from_log(ROWS, reward=None), "reward = None: give the name of a column"),
    (lambda: gim.from_log(ROWS, done=4), "done = 4: give the name of a column"),
    (lambda: gim.from_log(ROWS, bins=4), "bins = 4: give a mapping of columns to bins"),
    (lambda: gim.from_log(NUMBERS, bins={"s": 10**9}), "bins of 's' = 1000000000: give 2 to"),
    (lambda: gim.from_log(NUMBERS, bins={"s": "x"}), "bins of 's' = 'x': give a number, or edges"),
    (lambda: gim.from_log(ROWS, available={"low": 3}), r"available\['low'\] = 3: give its actions"),
    (lambda: learn(infer=lambda log: log), "infer = .*: give a name such as"),
    (lambda: learn(discount=[0.9]), r"discount = \[0.9\]: give a number"),
    (lambda: learn(rewards={}), "rewards= are not numbers"),
    (lambda: learn(rewards=np.eye(2) * 1j), "rewards= are not numbers"),
    (lambda: gim.run("ucbvi", world(), 1, rewards=np.ones((3, 2)) * 1j), "rewards= are not numb"),
    (lambda: learn(rewards=sparse.csr_array(np.eye(2))), "rewards= are not numbers"),
    (lambda: learn(rewards=np.full((2, 2), 1e300)), r"go beyond 1e\+100: rescale them"),
    (
        lambda: learn(rewards=lambda s, a, t: None),
        "rewards= returned None: it must return a number",
    ),
]

POLICIES = [
    (lambda: gim.Policy([2**62]), "plays action 4611686018427387904"),
    (lambda: gim.Policy(np.array([2**64 - 1], np.uint64)), "plays action 18446744073709551615"),
    (lambda: gim.Policy([0, 1], actions=-3), "actions = -3: give a whole number"),
    (lambda: gim.Policy([0, 1], states={1, 2}), "state labels are a set, which has no order"),
    (lambda: gim.Policy([[0.5, 0.5]])(0, rng=3), "rng = 3: give np.random.default_rng"),
    (lambda: gim.Policy([0, 1], states=2.5), "states = 2.5: give their labels"),
]
PRIORS = [
    (lambda: start_from(LOOP), "prior= is a list: give a model"),
    (
        lambda: start_from(gim.run("random", "riverswim", 2)),
        "a run of random, which has learned no",
    ),
    (
        lambda: start_from(gim.from_log(ROWS)),
        "2 of the 2 states of the log are no state of the world: 'high'",
    ),
    (lambda: start_from("x", "q_learning"), "q_learning learns no model, so prior= would change"),
]
LOOP: list[object] = []
LOOP.append(LOOP)


def start_from(prior, agent="ucbvi"):
    return gim.run(agent, "riverswim", 2, prior=prior)


@pytest.mark.parametrize(("call", "said"), WORLDS + LOGS + POLICIES + PRIORS)
def test_it_is_refused_in_one_line(call, said):
    with pytest.raises(ValueError, match=said) as found:
        call()
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("paid", ["x", None, [1, 2], np.array([1.0]), 1j, np.complex64(1), 10**400])
def test_a_function_of_rewards_returns_a_number(paid):
    for run in (
        lambda f: gim.run("ucbvi", world(horizon=2), 2, rewards=f),
        lambda f: learn(rewards=f),
    ):
        with pytest.raises(ValueError, match=r"rewards= returned .*: it must return a number"):
            run(lambda s, a, t: paid)


def test_what_counts_as_a_number_or_a_list():
    assert learn(rewards=lambda s, a, t: t == "low").value.estimate == 2.0  # truth values pay 1
    assert steps(states=(n for n in (0, 1))).S == 2
    assert world(state_labels=dict.fromkeys("abc").keys()).state_labels == ("a", "b", "c")
    assert number("x", np.array(2)) == 2.0
    assert several("x", "ab", "a list") == ["a", "b"]
    with pytest.raises(ValueError, match="x = True: give a number"):
        number("x", True)


def test_columns_of_a_log_may_be_what_gives_its_values_one_by_one():
    pa = pytest.importorskip("pyarrow")
    for column in (range(2), (n for n in (0, 1)), pa.array([0, 1]), {0: 0, 1: 1}.keys()):
        assert table(s=column).states == (0, 1)


@pytest.mark.parametrize("many", [2**31 + 1, 10**20])
def test_a_file_that_names_more_actions_than_any_table_has(tmp_path, many):
    (tmp_path / "p.csv").write_text(f"state,action of {many}\n0,1\n")
    with pytest.raises(ValueError, match=f"{many} actions are more than any table has"):
        gim.load(tmp_path / "p.csv")


def test_a_policy_of_many_actions_is_written_at_once(tmp_path):
    """Only those that it plays are named."""
    policy = gim.Policy([0, 3], actions=2**31, states=(name for name in "ab"))
    policy.to_csv(tmp_path / "p.csv")
    assert gim.load(tmp_path / "p.csv")("b") == 3
