"""What few visits cannot exclude: other rewards, next states, first states."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import gim
from benchmarks import truth
from gim.analogy.unseen import Beginnings, new_states, weight, widened
from gim.cli import main
from gim.logs.learned import UNTOLD, Value


def visits(table):
    N = np.array(table, float)
    return sparse.csr_array(N.reshape(-1, N.shape[-1]))


def test_what_was_never_seen_counts_less_the_more_could_have_shown_it():
    assert weight(visits([[[0, 1], [1, 0]]])) == 2.0  # nothing was met twice
    assert weight(visits([[[3, 3], [0, 1]], [[0, 6], [0, 0]]])) == 20 / (5 + 5 + 10)
    assert weight(visits([[[991, 0]], [[0, 0]]])) == 0.02


def test_first_states_are_drawn_about_what_was_seen():
    rng, seen = np.random.default_rng(0), np.array([40.0, 30, 20, 10, 0, 0])
    may = np.array([True] * 5 + [False])
    p = Beginnings(seen / 100, seen, may).drawn(20_000, rng)
    assert np.allclose(p.sum(axis=1), 1.0)
    assert np.allclose(p.mean(axis=0), np.append(seen[:4], [0.5, 0]) / 100.5, atol=0.002)
    assert np.allclose(Beginnings(seen / 100, seen, may).mean, p.mean(axis=0), atol=0.002)
    assert p[:, 0].std() == pytest.approx(math.sqrt(0.4 * 0.6 / 100), rel=0.05)
    assert (p[:, 5] == 0).all()  # an episode does not begin where it ends
    all_seen = Beginnings(seen[:4] / 100, seen[:4], np.ones(4, bool)).drawn(5, rng)
    assert np.allclose(all_seen.sum(axis=1), 1.0)


def test_a_log_may_begin_where_it_has_never_been():
    rng, seen = np.random.default_rng(0), np.array([1.0, 0.0])
    p = Beginnings(seen, seen, np.ones(2, bool), listed=False, once=1.0).drawn(20_000, rng)
    away = 1.0 - p.sum(axis=1)
    mean = Beginnings(seen, seen, np.ones(2, bool), listed=False, once=1.0).mean
    assert np.allclose(mean, p.mean(axis=0), atol=0.01)
    # A half and the state seen once, of 2.5 that all count for; of these 2 in 5 are not listed.
    assert away.mean() == pytest.approx(1.5 / 2.5 * 2 / 5, rel=0.05)
    sure = Beginnings(np.array([0.5, 0.0]), np.zeros(0), np.ones(2, bool), listed=False)
    assert sure.drawn(9, rng).tolist() == [[0.5, 0.0]]


def test_new_states_come_as_often_as_states_that_were_seen_once():
    rng = np.random.default_rng(0)
    few, many = visits([[[5, 1, 1, 1]]]), visits([[[500, 100, 100, 100]]])
    assert new_states(few, 9999, rng).mean() == pytest.approx(3.25 / 11.25, rel=0.05)
    assert new_states(many, 9999, rng).mean() == pytest.approx(0.25 / 800, rel=0.1)


def test_a_range_that_was_only_seen_is_asked_for_wider():
    assert widened(0.0, 10.0) == (-10.0, 20.0)
    assert widened(10.0, 10.0) == (0.0, 20.0)
    assert widened(-4.0, -1.0) == (-8.0, 3.0)


@pytest.mark.parametrize("n", [1, 3])
def test_a_coin_that_fell_alike_is_not_certain(n):
    rows = [("x", "toss", 10.0, "x")] * n
    told = gim.learn(gim.from_log(rows, start="x", reward_range=(0, 10)), horizon=1)
    for low, high in (told.value[1:], told.certificate.earns):
        assert low < 5 <= high <= 10 + 1e-9
    least, most = gim.certify(told, kind="guaranteed").earns
    assert least < 5 < most == 10
    untold = gim.learn(gim.from_log(rows, start="x"), horizon=1)
    assert not untold.value.bounded
    assert untold.no_bound == UNTOLD
    assert untold.certificate.why == gim.certify(untold, kind="guaranteed").why == "untold"
    assert "no bound, since it would rest on how large rewards may be" in untold.describe()
    assert "between" not in untold.certificate.sentences[0]


def test_a_range_that_was_seen_is_enough_where_it_hardly_matters():
    rows = [("x", "go", float(k % 2), "x") for k in range(3000)]
    learned = gim.learn(gim.from_log(rows, start="x"), horizon=4)
    assert learned.value.lower < 2 < learned.value.upper < 2.5
    assert learned.certificate.bounded
    said = learned.certificate.sentences[-1]
    assert said == "this holds if no pair pays less than -1 or more than 2"
    assert not gim.certify(learned, kind="guaranteed").bounded


def test_first_states_of_a_log_can_be_said():
    rows = [("a", "go", 1.0, "b"), ("b", "go", 0.0, "a")] * 50
    none = gim.from_log(rows)
    assert none.start.tolist() == none.begun.tolist() == [1.0, 0.0]
    assert gim.from_log(rows, start="b").start.tolist() == [0.0, 1.0]
    assert gim.from_log(rows, start=["a", "b"]).start.tolist() == [0.5, 0.5]
    part = gim.from_log(rows, start={"a": 1, "c": 3})
    assert part.given_start.tolist() == [0.25, 0.0]
    assert part.start.tolist() == [1.0, 0.0]
    assert part.part([0]).given_start.tolist() == [0.25, 0.0]
    given = {"reward_range": (0, 1)}
    sure = gim.learn(gim.from_log(rows, start="b", **given), horizon=3)
    open_ = gim.learn(gim.from_log(rows, start={"b": 1, "c": 1}, **given), horizon=3)
    assert sure.value.estimate == open_.value.estimate == pytest.approx(1.0)
    assert open_.value.upper - open_.value.lower > sure.value.upper - sure.value.lower + 0.5


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"start": "z"}, "start = 'z': no state of the log, which has"),
        ({"start": {"a": -1}}, "chances are numbers from 0 on"),
        ({"start": {"a": "much"}}, "chances are numbers from 0 on"),
        ({"start": []}, "give a state, a list of states"),
        ({"reward_range": (0, 0.5)}, r"but the log has rewards from 0 to 1"),
        ({"reward_range": 3}, "reward_range = 3: give the least and the largest reward"),
        ({"reward_range": (0, np.inf)}, "give the least and the largest reward"),
    ],
)
def test_what_cannot_be_said_of_a_log_is_refused(given, says):
    with pytest.raises(ValueError, match=says):
        gim.from_log([("a", "go", 1.0, "b"), ("b", "go", 0.0, "a")], **given)


def test_a_world_that_begins_anywhere_is_told_so():
    """Values, bounds and the model begin where episodes did, with what few of them leave open."""
    made = truth.anywhere()
    run = gim.run("psrl", truth.Stepped(made), episodes=30, seed=0, horizon=made.horizon)
    belief, n = run.belief, run.task.starts
    assert np.array_equal(run.model.start, n / n.sum())
    found = gim.certify(run)
    values = gim.planning.evaluate(found.model, np.asarray(found.policy), made.horizon)[0]
    assert found.expected == pytest.approx(n @ values / n.sum())
    assert np.array_equal(belief.begins.seen, n)
    sure = gim.certify(replace(belief, begins=None, done=None))
    assert np.ptp(sure.earns) < np.ptp(found.earns)
    low, high = gim.certify(run, kind="guaranteed").earns
    least, most = gim.certify(replace(belief, begins=None), kind="guaranteed").earns
    assert low <= least <= most <= high
    assert low < least or most < high


def test_a_value_says_whether_it_has_a_bound():
    assert Value(1.0, 0.0, 2.0).bounded
    assert not Value(1.0, -math.inf, 2.0).bounded


@pytest.mark.parametrize(("line", "n"), [("coin", 1), ("coin", 3), ("coin", 10), ("shop", 10)])
def test_what_is_said_of_little_is_true(line, n):
    """A short form of `python -m benchmarks.truth`."""
    rows = [truth.LINES[line][1]("psrl", n, seed) for seed in range(40, 52)]
    for asked in rows[0]:
        told = [each[asked] for each in rows if each[asked][0]]
        held = [low - 1e-9 <= true <= high + 1e-9 for _, low, high, true in told]
        assert sum(held) >= len(held) - 3  # 9 of 10 but for two standard errors
        assert n < 10 or len(told) >= 8


@pytest.mark.parametrize(("line", "episodes"), [("wearing", 60), ("seasons", 60)])
def test_what_is_said_of_a_stepped_world_is_true(line, episodes):
    rows = [truth.played("psrl", getattr(truth, line)(), episodes, seed) for seed in range(40, 48)]
    for kind in ("credible", "guaranteed"):
        told = [each[kind] for each in rows if each[kind][0]]
        held = [low - 1e-9 <= true <= high + 1e-9 for _, low, high, true in told]
        assert len(told) >= 6
        assert sum(held) >= len(held) - 2


def test_the_command_line_says_where_episodes_begin_and_how_large_rewards_are(tmp_path, capsys):
    path, out = tmp_path / "log.csv", tmp_path / "out"
    path.write_text("x,y,a,r,x2,y2\n" + "1,low,go,1,2,low\n2,low,go,0,1,low\n" * 8)
    words = ["learn", str(path), "--state", "x,y", "--next", "x2,y2", "--horizon", "3"]
    words += ["--out", str(out)]
    assert main([*words, "--reward-range", "0", "1", "--start", "2,low"]) == 0
    told = capsys.readouterr().out
    assert "value        1 (0" in told
    assert main(words) == 0
    assert "no bound, since it would rest on how large rewards may be" in capsys.readouterr().out
    assert main([*words, "--start", "7,low"]) == 2
    assert "no state of the log" in capsys.readouterr().err
