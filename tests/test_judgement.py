"""Room for judgement: what may be played instead, simple policies, and why an action is played."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import gim
from gim.cli import main
from gim.planning.criterion import Criterion
from tests.random_mdps import random_mdp


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("over", [{}, {"discount": 0.9}, {"average": True}])
def test_what_is_free_loses_no_more_than_that(seed, over):
    """To play one action once and the plan from there on, valued by the slow way."""
    mdp = random_mdp(seed, S=4, A=3, horizon=4, missing=seed % 2 == 0)
    plan = mdp.plan(**over)
    best = plan.bias if "average" in over else plan.v
    P = mdp.transitions
    for within in (0.0, 0.3, 2.0):
        free = plan.freedom(within)
        assert free[..., np.arange(4), plan.policy].all() if free.ndim == 2 else True
        for place in product(*map(range, free.shape)):
            s, a = place[-2:]
            if free.ndim == 3:
                ahead = best[place[0] + 1] if place[0] < 3 else np.zeros(4)
            else:
                ahead = best * over.get("discount", 1.0)
            q = mdp.rewards[s, a] + P[s, a] @ ahead
            if "average" in over:
                q -= plan.gain[s]
                if P[s, a] @ plan.gain < plan.gain[s] - 1e-9:
                    q = -np.inf
            loss = best[place[:-1]] - q if mdp.available[s, a] else np.inf
            if abs(loss - within) > 1e-7:
                assert free[place] == (loss <= within), (place, loss)
    with pytest.raises(ValueError, match="a loss is a number from 0 on"):
        plan.freedom(-1)


def grid(rows=5, columns=4, seed=0):
    """States of two variables; the best action depends on thresholds of both, and on noise."""
    rng = np.random.default_rng(seed)
    S = rows * columns
    P = rng.dirichlet(np.full(S, 0.5), (S, 3))
    cells = list(product(range(rows), range(columns)))
    r = rng.normal(0, 0.01, (S, 3))
    for s, (x, y) in enumerate(cells):
        r[s, 0 if x < 2 else 1 if y < 2 else 2] += 1
    return gim.TabularMDP(
        P, r, horizon=8, variables={"x": [c[0] for c in cells], "y": [c[1] for c in cells]}
    )


@pytest.mark.parametrize("over", [{"discount": 0.8}, {"average": True}, {"horizon": 6}])
def test_few_rules_are_found(over):
    mdp = grid()
    found = gim.simplify(mdp, 0.1, **over)
    assert len(found.lines) == 3
    told = {line.rpartition(":")[0]: line.rpartition(":")[2].strip() for line in found.lines}
    assert told == {
        "x up to 1": "0",
        "x from 2 on, y up to 1": "1",
        "x from 2 on, y from 2 on": "2",
    }
    assert found.loss <= 0.1
    criterion = Criterion.of(over.get("horizon"), over.get("discount"), "average" in over, 8)
    worth = criterion.worth(mdp, np.asarray(found.policy))
    assert worth == pytest.approx(found.value)
    assert criterion.best(mdp) - worth == pytest.approx(found.loss, abs=1e-9)
    exact = gim.simplify(mdp, 0.0, **over)
    assert exact.loss < 1e-7
    assert len(exact.lines) >= 3
    assert "less than the best" in str(found)
    assert "x up to 1" in found._repr_html_()


def test_an_order_policy_is_two_rules():
    found = gim.simplify(gim.make("inventory"), 0.1, average=True)
    assert found.lines == ["stock up to 8: 20", "stock from 9 on: 0"]


@pytest.mark.parametrize("over", [{"discount": 0.9}, {"average": True}, {"horizon": 5}])
def test_few_changes_against_the_present_policy(over):
    mdp = random_mdp(8, S=6, A=3, horizon=5)
    mdp = mdp.with_(start=np.full(6, 1 / 6))
    present = mdp.uniform_policy().argmax(axis=1)
    criterion = Criterion.of(over.get("horizon"), over.get("discount"), "average" in over, 5)
    lost = criterion.best(mdp) - criterion.worth(mdp, present)
    assert lost > 0.1
    assert gim.simplify(mdp, lost + 1e-6, present=present, **over).lines == ["as it is done now"]
    found = gim.simplify(mdp, lost / 2, present=present, **over)
    new = np.asarray(found.policy)
    assert len(found.changes) == (new != present).sum() > 0
    assert found.loss <= lost / 2 + 1e-9
    for point in zip(*np.nonzero(new != present), strict=True):  # none can be taken back
        back = new.copy()
        back[point] = present[point[-1]]
        assert criterion.best(mdp) - criterion.worth(mdp, back) > lost / 2


def test_changes_are_named():
    mdp = gim.make("inventory")
    present = {s: 12 if s < 9 else 0 for s in range(51)}
    found = gim.simplify(mdp, 0.1, present=present, average=True)
    change = found.changes[0]
    assert found.lines[0] == f"state {change.state}: {change.new} in place of {change.now}"
    assert change.now in (0, 12)
    timed = gim.simplify(mdp, 1.0, present=present)
    assert any("step" in line for line in timed.lines)


def test_monotone_policies_never_turn_back():
    mdp = gim.make("inventory")
    found = gim.simplify(mdp, 0.5, monotone={"stock": "down"}, average=True)
    assert (np.diff(np.asarray(found.policy)) <= 0).all()
    assert found.loss <= 0.5
    with pytest.raises(ValueError, match=r"no such policy was found that loses 0\.5"):
        gim.simplify(mdp, 0.5, monotone={"stock": "up"}, average=True)
    with pytest.raises(ValueError, match=r'give "up" or "down" for any of stock'):
        gim.simplify(mdp, 0.5, monotone={"stok": "up"}, average=True)


def test_monotone_in_two_variables():
    S = [(x, y) for x in range(4) for y in range(4)]
    r = np.array([[-abs((x + y) / 3 - a) for a in range(3)] for x, y in S])
    P = np.full((16, 3, 16), 1 / 16)
    P[5] = np.eye(16)[5]
    r[9] = [0, -0.1, -0.2]  # by itself it would turn back
    mdp = gim.TabularMDP(P, r, variables={"x": [s[0] for s in S], "y": [s[1] for s in S]})
    found = gim.simplify(mdp, 1.0, monotone={"x": "up", "y": "up"}, discount=0.5)
    actions = np.asarray(found.policy).reshape(4, 4)
    assert (np.diff(actions, axis=0) >= 0).all()
    assert (np.diff(actions, axis=1) >= 0).all()


def test_what_cannot_be_simplified_is_said():
    mdp = grid()
    with pytest.raises(ValueError, match="a loss is a number from 0 on"):
        gim.simplify(mdp, -1)
    with pytest.raises(ValueError, match="each is a kind of its own"):
        gim.simplify(mdp, 1, present=[0] * 20, monotone={"x": "up"})
    with pytest.raises(ValueError, match="draws its actions"):
        gim.simplify(mdp, 1, present=mdp.uniform_policy())


# -- why


def test_why_by_hand():
    """A machine: to run it earns 4, and breaks it with .25; mending costs 1."""
    P = np.zeros((2, 2, 2))
    P[0, 0] = 0.75, 0.25
    P[0, 1] = P[1, 1] = 1, 0
    P[1, 0] = 0, 1
    r = [[4.0, 3.0], [0.0, -1.0]]
    mdp = gim.TabularMDP(
        P, r, horizon=2, state_labels=["up", "down"], action_labels=["run", "mend"]
    )
    told = mdp.why("up")
    run, mend = told.alternatives
    assert (run.action, mend.action) == ("run", "mend")
    assert told.played == {"run": 1.0}
    assert run.value == pytest.approx(4 + 0.75 * 4)
    assert mend.value == pytest.approx(3 + 4)
    assert mend.loss == 0
    assert told.sentences == ["mend is as good."]
    last = mdp.why("down", step=1)
    assert last.alternatives[0].outcomes == [("down", 1.0)]
    assert last.sentences == ["mend would be as good if it paid 1 more."]
    first = mdp.why("down")
    assert first.played == {"mend": 1.0}  # -1 and then 4
    assert first.alternatives[1].needs == "run would be as good if it paid 3 more."
    other = mdp.why("up", policy={"up": "run", "down": "run"}, discount=0.5)
    assert other.step is None
    run_for_ever = 4 / (1 - 0.5 * 0.75)
    assert other.alternatives[0].value == pytest.approx(run_for_ever)
    assert other.alternatives[1].value == pytest.approx(3 + 0.5 * run_for_ever)
    with pytest.raises(ValueError, match="is no state of this world"):
        mdp.why("sideways")
    with pytest.raises(ValueError, match="step"):
        mdp.why("up", step=2)


def test_an_outcome_that_would_do():
    """To gamble wins 10 with chance .2, else nothing; to rest earns 3: .3 would be as good."""
    P = np.zeros((3, 2, 3))
    P[0, 0] = 0, 0.2, 0.8
    P[0, 1, 0] = P[1, :, 2] = P[2, :, 2] = 1
    mdp = gim.TabularMDP(P, [[0, 3], [10, 10], [0, 0]], horizon=2)
    told = mdp.why(0, policy=[1, 0, 0])
    gamble = told.alternatives[-1]
    assert gamble.loss == pytest.approx(4)  # rest twice brings 6, to gamble 2
    assert "led to 1 with chance 0.6 in place of 0.2" in gamble.needs
    assert (
        mdp.with_(transitions=_with(P, 0.6)).why(0, policy=[1, 0, 0]).sentences[0]
        == "0 is as good."
    )


def _with(P, chance):
    P = P.copy()
    P[0, 0] = 0, chance, 1 - chance
    return P


def test_why_on_average_is_relative():
    mdp = gim.make("inventory")
    plan = mdp.plan(average=True)
    told = mdp.why(5, average=True)
    assert told.alternatives[0].value == pytest.approx(plan.bias[5])
    assert told.alternatives[1].loss == pytest.approx(plan.bias[5] - np.sort(plan.q[5])[-2])


def rows(n=60):
    rng = np.random.default_rng(0)
    for episode in range(n):
        stock = 4
        for step in range(6):
            order = int(rng.integers(0, 4))
            after = max(0, min(stock + order, 8) - int(rng.integers(1, 4)))
            yield episode, step, stock, order, 2.0 * (min(stock + order, 8) - after) - order, after
            stock = after


def test_a_log_says_why():
    names = ("episode", "step", "stock", "order", "profit", "after")
    table = [dict(zip(names, row, strict=True)) for row in rows()]
    log = gim.from_log(
        table, state="stock", action="order", reward="profit", next_state="after", episode="episode"
    )
    learned = gim.learn(log)
    told = learned.why(4, 2)
    assert set(told.played) == {learned.policy(4, 2)}
    assert told.step == 2
    assert {each.action for each in told.alternatives} <= {0, 1, 2, 3}
    assert all(each.visits == log.counts.n[4, each.action] for each in told.alternatives)
    text = str(told)
    assert "In state 4, step 2" in text
    assert "seen" in text
    assert "Chosen by Bernstein" in text
    assert "<pre>" in told._repr_html_()
    from gim.logs.page import page

    assert "<h2>Why</h2>" in page(learned, "orders")
    with pytest.raises(ValueError, match="is no state of this log"):
        learned.why(77)


def test_a_log_is_learned_for_the_average():
    names = ("episode", "step", "stock", "order", "profit", "after")
    table = [dict(zip(names, row, strict=True)) for row in rows(100)]
    log = gim.from_log(
        table, state="stock", action="order", reward="profit", next_state="after", episode="episode"
    )
    learned = gim.learn(log, average=True, infer=None)
    assert np.asarray(learned.policy).shape == (log.S,)
    assert np.allclose(learned.gain, learned.gain[0])
    found = gim.planning.gain_and_bias(learned.model, np.asarray(learned.policy))
    assert np.allclose(found.gain, learned.gain)
    assert np.allclose(found.bias, learned.bias)
    assert learned.value.estimate == pytest.approx(learned.gain[0])
    assert learned.against().estimate > 0
    assert "a step, on average" in learned.describe()
    assert "Learned" in repr(learned)
    assert learned.why(log.states[0]).step is None
    with pytest.raises(ValueError, match="leave out horizon"):
        gim.learn(log, average=True, horizon=3)
    with pytest.raises(ValueError, match="certificates are of returns"):
        _ = learned.certificate


def test_a_policy_is_played_for_its_average():
    mdp = gim.make("queues")
    plan = mdp.plan(average=True)
    found = gim.evaluate(plan.policy, mdp, episodes=60, horizon=1500, average=True)
    assert found.lower < plan.gain[0] < found.upper
    assert found.upper - found.lower < 0.5


def test_the_command_learns_for_the_average(tmp_path, capsys):
    lines = ["stock,order,profit,after", *(",".join(map(str, row[2:])) for row in rows(40))]
    (tmp_path / "log.csv").write_text("\n".join(lines))
    words = [
        "--state",
        "stock",
        "--action",
        "order",
        "--reward",
        "profit",
        "--next",
        "after",
        "--infer",
        "none",
    ]
    out = ["--out", str(tmp_path / "found")]
    assert main(["learn", str(tmp_path / "log.csv"), *words, "--average", *out]) == 0
    assert "a step, on average" in capsys.readouterr().out
    assert "on average; intervals" in (tmp_path / "found" / "report.html").read_text()
    assert np.asarray(gim.load(tmp_path / "found" / "policy.json")).ndim == 1
    words += ["--average", "--horizon", "3"]
    assert main(["learn", str(tmp_path / "log.csv"), *words, *out]) == 2
    assert "leave out horizon" in capsys.readouterr().err


def test_a_rule_is_told_of_states_that_can_follow_it_alone():
    """Orders must fit into the shelf: one for all states would be a sentence that is not true."""

    def shelf(stock, order):
        if not 0 < stock + order <= 3:
            return None
        sold = min(stock + order, 2)
        return [(1.0, stock + order - sold, 3.0 * sold - order - 0.1 * (order > 0))]

    start = dict.fromkeys(range(4), 0.25)
    mdp = gim.from_step(shelf, range(4), range(4), start=start, horizon=10)
    found = gim.simplify(mdp, 100, average=True)
    assert len(found.lines) > 1
    for state in range(4):
        assert mdp.available[state, np.asarray(found.policy)[state]]
    assert not any(line.startswith("always") for line in found.lines)


def test_a_model_says_how_often_its_actions_were_seen():
    run = gim.run("ucbvi", "riverswim", 20)
    told = run.model.why(2)
    seen = {each.action: each.visits for each in told.alternatives}
    assert seen == dict(zip(("left", "right"), run.model.visits[2].tolist(), strict=True))
