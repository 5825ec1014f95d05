"""From a log to a policy: in the log's labels, on what was seen and inferred, with its worth."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import gim
from gim.analogy import experience
from gim.analogy.base import Inference, inferences
from gim.analogy.experience import within_experience
from gim.analogy.prior import no_prior, prior_of
from gim.belief.evidence import Evidence
from gim.belief.knowledge import knowledge_of as belief_from
from gim.cli import main
from gim.logs import case
from gim.logs.case import belief_of_log
from gim.logs.learned import Value
from gim.logs.page import page
from gim.logs.safe import METHODS
from gim.model.counts import new_counts
from gim.model.task import Task

INVENTORY = gim.make("inventory")


def walked(mdp, behave, n, seed):
    """n transitions of a policy (s, rng) -> a, as mappings, with true rewards by next state."""
    rng, rows = np.random.default_rng(seed), []
    P, paid = mdp.to_dense().transitions, mdp.to_dense().rewards_next
    while len(rows) < n:
        s, e = int(rng.choice(mdp.S, p=mdp.start)), len(rows) // mdp.horizon
        for _ in range(mdp.horizon):
            a = behave(s, rng)
            t = int(rng.choice(mdp.S, p=P[s, a]))
            r = mdp.rewards[s, a] if paid is None else paid[s, a, t]
            rows.append({"e": e, "s": s, "a": a, "r": float(r), "s2": t})
            s = t
    return rows


def up_to_12(s, rng):
    return max(12 - s, 0) if rng.random() < 0.7 else int(rng.integers(21))


@pytest.fixture(scope="module")
def inventory_log():
    return gim.from_log(walked(INVENTORY, up_to_12, 5000, seed=3), episode="e")


@pytest.fixture(scope="module")
def learned(inventory_log):
    return gim.learn(inventory_log)


def river_log(n=3000, seed=0):
    mdp = gim.make("riverswim")
    rows = walked(mdp, lambda s, rng: int(rng.random() < 0.7), n, seed)
    names = [f"place {s}" for s in range(mdp.S)]
    for row in rows:
        row.update(s=names[row["s"]], s2=names[row["s2"]], a=("left", "right")[row["a"]])
    return mdp.with_(state_labels=names, action_labels=["left", "right"]), rows


def test_inventory_end_to_end(inventory_log, learned):
    """A mediocre policy's log: the new policy is truly better, and its value is not made up."""
    true = learned.compare(INVENTORY)
    assert true["baseline"] < true["return"] <= true["optimal"] + 1e-9
    assert true["return"] > true["baseline"] + 0.9 * (true["optimal"] - true["baseline"])
    assert learned.value.lower <= true["return"] <= learned.value.upper
    assert learned.policy.horizon == 50
    assert learned.value.lower <= learned.value.estimate <= learned.value.upper
    assert learned.against().lower > 0
    assert "never tried" in learned.describe()
    assert repr(learned).startswith("<Learned from 5000 transitions by")


@pytest.mark.parametrize("seed", [0, 1])
def test_inference_does_not_spoil_a_plan_from_random_transitions(seed):
    """6,000 transitions of pairs drawn uniformly, six a pair: counts alone lose a tenth."""
    mdp, rng = gim.make("inventory:capacity=49,largest=19"), np.random.default_rng(seed)
    s, a = rng.integers(mdp.S, size=6000), rng.integers(mdp.A, size=6000)
    cumulated = mdp.to_dense().transitions.cumsum(axis=2)
    t = (rng.random((6000, 1)) < cumulated[s, a]).argmax(axis=1)
    paid = mdp.rewards[s, a] if mdp.rewards_next is None else mdp.rewards_next[s, a, t]
    columns = (each.tolist() for each in (s, a, paid, t))
    log = gim.from_log(list(zip(*columns, strict=True)))
    by_analogy, alone = (
        mdp.policy_return(gim.learn(log, infer=infer, safe="plain", horizon=50).policy)
        for infer in ("analogy", None)
    )
    assert by_analogy > 0.98 * mdp.optimal_return()
    assert by_analogy > 1.05 * alone


def test_what_nobody_tried_is_recommended_only_by_analogy(inventory_log, learned):
    n, pi = inventory_log.counts.n, np.asarray(learned.policy)
    inferred = learned.behind.belief.prior.n0 > 0
    S = np.arange(inventory_log.S)
    for row in pi:
        assert ((n[S, row] > 0) | inferred[S, row]).all()
    alone = gim.learn(inventory_log, infer=None)
    assert alone.unseen == 0
    for row in np.asarray(alone.policy):
        assert (n[S, row] > 0).all()


def test_predictions_count_for_a_share_of_the_visits_to_their_state():
    rows = [(0, 0, 1.0, 1)] * 6 + [(1, 0, 2.0, 2)] * 60 + [(2, 1, 0.0, 3)]
    log = gim.from_log(rows)
    q = np.zeros((4, 2, 4))
    q[0, 1, 0] = q[1, 1, 1] = q[2, 0, 3] = q[3, 0, 1] = 1.0
    n0 = q.sum(axis=2) * 5.0
    kept = within_experience(prior_of(q, n0, r_n0=2 * n0), log.counts)
    np.testing.assert_allclose(kept.n0, [[0, 2], [0, 5], [1 / 3, 0], [0, 0]])
    np.testing.assert_allclose(kept.r_n0, [[0, 2], [0, 10], [1 / 3, 0], [0, 0]])
    assert within_experience(no_prior(4, 2), log.counts).n0.sum() == 0


def test_what_does_not_convince_is_not_inferred_and_that_is_said(monkeypatch):
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.full(12, 0.3), (12, 2))
    s, rows = 0, []
    for _ in range(1500):
        a = int(rng.integers(2))
        t = int(rng.choice(12, p=P[s, a]))
        rows.append((f"s{s}", f"a{a}", float(t == 0), f"s{t}"))
        s = t
    log = gim.from_log(rows)
    monkeypatch.setattr(experience, "CONVINCING", np.inf)
    learned = gim.learn(log, discount=0.9)
    assert not learned.behind.belief.prior.speaks
    same = gim.learn(log, discount=0.9, infer=None)
    assert (np.asarray(learned.policy) == np.asarray(same.policy)).all()
    monkeypatch.setattr(experience, "CONVINCING", -np.inf)
    free = gim.learn(log, discount=0.9)
    assert (case.UNCONVINCED in learned.behind.notes) == free.behind.belief.prior.speaks
    monkeypatch.setattr(case, "MOST_INFERRED", 100)
    large = gim.learn(log, discount=0.9)
    assert not large.behind.belief.prior.speaks
    assert large.behind.notes == ["nothing is inferred: 12 states are too many for that"]
    assert "too many for that" in large.describe()
    assert "12 states are too many for that.</p>" in page(large, "log")


def test_the_page_opens_with_what_to_expect():
    rows = [(0, 0, 1.0, 0)] * 30
    assert "for it does what was done so far. It plays only" in page(
        gim.learn(gim.from_log(rows), horizon=5), "log"
    )
    rows += [(0, 1, 0.0, 0)] * 30
    learned = gim.learn(gim.from_log(rows), horizon=5)
    assert (
        "is expected to return 5 (no bound, since it would rest on how large rewards may"
        in page(learned, "log")
    )
    told = gim.learn(gim.from_log(rows * 50, start=0, reward_range=(0, 1)), horizon=5)
    low, high = (f"{x:.4g}" for x in told.value[1:])
    opens = f"is expected to return 5 ({low} to {high}), 2.5 more than what was done so far"
    assert opens in page(told, "log")
    assert 4.5 < told.value.lower < 5.0 <= told.value.upper < 5.01


def test_a_pair_nobody_tried_needs_a_prediction_worth_a_visit():
    rows = [(0, 0, 1.0, 1)] * 2 + [(1, 0, 2.0, 2)] * 60 + [(2, 1, 0.0, 3)] + [(3, 0, 0.0, 0)] * 9
    log = gim.from_log(rows)

    class Sure(Inference, registry=inferences):  # which does not list it
        def __call__(self, counts, frame, rng):
            return prior_of(np.full((4, 2, 4), 0.25), np.full((4, 2), 50.0))

    behind = case.inferred(log, Sure(), log.behaviour, None, 0.9, "learn")
    assert behind.supported.tolist() == [[True, False], [True, True], [False, True], [True, True]]
    assert behind.case.n[0, 1] == behind.case.n[2, 0] == 0.0
    assert behind.case.n[1, 1] == pytest.approx(20.0)


def test_labels_in_labels_out():
    mdp, rows = river_log()
    learned = gim.learn(gim.from_log(rows, episode="e"), safe="plain")
    assert learned.policy("place 0") == "right"
    assert learned.policy("place 0", step=mdp.horizon - 1) == "left"
    true = learned.compare(mdp)
    assert true["return"] == pytest.approx(true["optimal"], rel=0.02)
    assert true["return"] > true["baseline"]
    assert learned.model.state_labels == tuple(f"place {s}" for s in range(6))
    with pytest.raises(ValueError, match="is no state"):
        learned.policy("place 9")


@pytest.mark.parametrize("safe", METHODS)
@pytest.mark.parametrize("discount", [None, 0.9])
def test_every_safe_policy_is_worth_no_less_than_the_baseline_of_much_data(safe, discount):
    mdp, rows = river_log(6000)
    log = gim.from_log(rows, episode="e")
    learned = gim.learn(log, safe=safe, discount=discount, infer=None)
    true = learned.compare(mdp)
    assert true["return"] > true["baseline"]
    assert np.asarray(learned.policy).shape[0] == (6 if discount else mdp.horizon)


def test_values_are_those_of_the_model_and_bounds_narrow_with_data():
    _, rows = river_log(8000)
    few, many = (gim.learn(gim.from_log(rows[:n], episode="e"), infer=None) for n in (500, 8000))
    for learned in (few, many):
        assert learned.value.estimate == pytest.approx(learned.model.policy_return(learned.policy))
        own = learned.against(learned.policy)
        assert tuple(own) == (0, 0, 0)
    assert many.value.upper - many.value.lower < 0.6 * (few.value.upper - few.value.lower)
    endless = gim.learn(gim.from_log(rows, episode="e"), infer=None, discount=0.9)
    v = endless.model.value(endless.policy, discount=0.9)
    assert endless.value.estimate == pytest.approx(float(endless.log.start @ v))


def test_bounds_cover_the_truth_of_a_fixed_policy():
    """Of 40 logs, about 36 intervals hold the true return of a policy that no log chose."""
    mdp, _ = river_log(20)
    always = np.ones((mdp.horizon, 6), int)
    true, held = mdp.policy_return(always), 0
    for seed in range(40):
        log = gim.from_log(river_log(2000, seed)[1], episode="e", reward_range=mdp.reward_range)
        learned = gim.learn(log, infer=None)
        if log.S == 6:
            found = learned.belief.certify(always)
            held += found.lower <= true <= found.earns[1]
    assert held >= 32


def test_rewards_can_be_known():
    _, rows = river_log()
    log = gim.from_log(rows, episode="e")
    flipped = gim.learn(log, rewards=lambda s, a, t: float(t == "place 3"))
    table = np.zeros((6, 2, 6))
    table[:, :, 3] = 1.0
    by_table = gim.learn(log, rewards=table)
    np.testing.assert_array_equal(np.asarray(flipped.policy), np.asarray(by_table.policy))
    assert flipped.policy("place 5") == "left"
    with pytest.raises(ValueError, match=r"rewards have shape \(2,\)"):
        gim.learn(log, rewards=[1.0, 2.0])
    with pytest.raises(ValueError, match="rewards = 'known'"):
        gim.learn(log, rewards="known")


def test_wanted_names_what_could_be_better():
    """An action tried once that paid nothing is worth another try; one tried often is not."""
    rows = [("x", "safe", 1.0, "x")] * 400 + [("x", "bad", 0.0, "x")] * 400
    rows += [("x", "new", 3.0, "x"), ("x", "new", -3.0, "x")]
    wanted = gim.learn(gim.from_log(rows), horizon=5, infer=None).wanted
    assert (wanted[0].state, wanted[0].action, wanted[0].visits) == ("x", "new", 2)
    assert "bad" not in [each.action for each in wanted]


def test_a_value_is_told_with_its_bounds():
    assert str(Value(1.0, 0.5, 2.25)) == "1 (0.5 to 2.25)"
    assert str(Value(1.0, -np.inf, np.inf)) == "1 (no bound)"


@pytest.mark.parametrize("over", [{"horizon": 30}, {"discount": 0.9}, {"average": True}])
def test_nothing_wanted_gains_more_than_there_is(over):
    rows = [("x", "stay", 1.0, "x")] * 100 + [("y", "go", 4.0, "x"), ("y", "stay", 0.0, "y")]
    learned = gim.learn(gim.from_log(rows, available="all", start="x"), infer=None, **over)
    steps = {"horizon": 30, "discount": 10, "average": 1}[next(iter(over))]
    first = learned.wanted[0]
    assert (first.state, first.action, first.visits) == ("x", "go", 0)
    assert first.gain == pytest.approx(4.0 * steps - learned.value.estimate)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"safe": "sure"}, "unknown safe policy 'sure'"),
        ({"infer": "analog"}, "unknown inference 'analog': did you mean 'analogy'"),
        ({"discount": 1.0}, "discount = 1.0 is not in"),
        ({"horizon": 0}, "horizon"),
        ({"horizon": 10**9}, "too many to plan"),
        ({"baseline": np.zeros((3, 3))}, "a baseline of shape"),
        ({"baseline": np.full(6, 7)}, "the baseline plays action 7"),
        ({"baseline": np.zeros((6, 2))}, "no probabilities"),
    ],
)
def test_what_is_wrong_is_said(options, message):
    log = gim.from_log(river_log(200)[1], episode="e")
    assert log.S == 6  # it reaches all places
    with pytest.raises(ValueError, match=message):
        gim.learn(log, **options)


def test_only_logs_are_learned_from():
    with pytest.raises(ValueError, match=r"gim.learn takes a gim.Log, not list: see gim.from_log"):
        gim.learn([(0, 0, 1.0, 0)])


def test_the_belief_is_that_of_a_run():
    log = gim.from_log(river_log()[1], episode="e")
    belief, task, notes, infer = belief_of_log(log, "analogy", 20)
    assert infer is not None
    assert belief.counts is log.counts
    assert int(belief.visits[0]) == 3000
    assert (task.S, task.A, task.H, notes) == (6, 2, 20, [])


# -- the command


def test_the_command_writes_what_can_be_loaded(tmp_path, capsys):
    _, rows = river_log(600)
    path, out = tmp_path / "log.csv", tmp_path / "out"
    lines = [f"{x['e']},{x['s']},{x['a']},{x['r']},{x['s2']}" for x in rows]
    path.write_text("\n".join(["run,place,move,paid,then", *lines]))
    words = ["learn", str(path), "--state", "place", "--action", "move", "--reward", "paid"]
    words += ["--next", "then", "--episode", "run", "--out", str(out)]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "transitions  600" in said
    assert "value" in said
    expected = gim.learn(gim.from_log(rows, episode="e"))
    for name in ("policy.csv", "policy.json"):
        policy = gim.load(out / name, "policy")
        np.testing.assert_array_equal(np.asarray(policy), np.asarray(expected.policy))
        assert policy("place 0") == expected.policy("place 0")
    assert gim.load(out / "model.npz", "model").visits.sum() == 600


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        (
            "s,a,r,s2\n1,2,x,1\n",
            [],
            "row 1, column 'r': the reward is no finite number; --skip leaves",
        ),
        ("s,a,r,s2\n1,2,3,1\n", ["--state", "z"], "no column 'z'"),
        ("s,a,r,s2\n1,2,3,1\n", ["--bins", "s"], "--bins s: give COLUMN=NUMBER"),
        ("s,a,r,s2\n1,2,3,1\n", ["--safe", "x"], "unknown safe policy 'x'"),
        ("", [], "is empty"),
    ],
)
def test_what_is_wrong_is_one_line_and_status_2(text, more, message, tmp_path, capsys):
    path = tmp_path / "log.csv"
    path.write_text(text)
    assert main(["learn", str(path), "--next", "s2", *more, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_predicted_reward_that_may_fail_counts_with_its_doubt():
    """By hand: it pays 3, or with a chance of 1/4 the least that was ever paid, 1."""
    counts = new_counts(1, 2)
    counts.n[:] = [[4, 0]]
    prior = no_prior(1, 2)._replace(
        n0=np.array([[0.0, 7.0]]), r_n0=np.array([[0.0, 1.0]]), r_doubt=np.array([[0.25, 0.25]])
    )
    belief = belief_from(counts, np.zeros(1, bool), prior)
    n = np.array([[4.0, 7.0]])
    seen = Evidence(None, n, np.array([[8.0, 21.0]]), np.array([[24.0, 63.0]]), n)
    task = Task(1, 2, 5, np.ones((1, 2), bool), (1.0, 5.0))
    r, spread = case.rewards_learned(belief, seen, task)
    assert r.tolist() == [[2.0, 3.0 - 0.25 * 2.0]]
    assert spread.tolist() == [[2.0, 0.0]]


def test_what_nobody_tried_is_not_played_for_a_reward_that_is_a_guess():
    """Rewards in the mean: what an empty shop sells is extrapolated from full ones, in vain."""
    mdp = INVENTORY.with_(horizon=20)
    rng, rows, s = np.random.default_rng(0), [], 0
    P = mdp.to_dense().transitions
    for _ in range(3000):
        a = int(rng.integers(mdp.A))
        t = int(rng.choice(mdp.S, p=P[s, a]))
        rows.append((s, a, round(float(mdp.rewards[s, a]), 3), t))
        s = t
    learned = gim.learn(gim.from_log(rows), horizon=20)
    true, doubt = learned.compare(mdp), learned.behind.belief.prior.r_doubt
    assert doubt.max() > case.DOUBTED
    assert (
        learned.behind.supported <= ((learned.log.counts.n > 0) | (doubt <= case.DOUBTED))
    ).all()
    assert true["return"] > true["baseline"] + 50
    assert learned.value.lower <= true["return"] <= learned.value.upper


def test_the_page_runs_and_says_what_comes_out():
    page = (Path(__file__).parent.parent / "docs" / "logs.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```\s+gives `(.*?)`", page, re.S)
    assert len(blocks) == page.count("```python") == 4
    names = {}
    for code, stated in blocks:
        *lines, last = ast.parse(code).body
        exec(compile(ast.Module(lines, []), "logs.md", "exec"), names)
        found = eval(compile(ast.Expression(last.value), "logs.md", "eval"), names)
        assert repr(found) == stated
