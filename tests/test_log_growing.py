"""Logs that grow, are saved, were counted elsewhere; and what was learned from them."""

from __future__ import annotations

import numpy as np
import pytest

import gim
from gim._base import files
from gim.logs.log import Log
from tests.test_log_units import WHAT, shop_rows


def read(rows, **more):
    return gim.from_log(rows, next_state="next", **(WHAT | more))


def some(rows, keep):
    return {name: [x for x, here in zip(each, keep, strict=True) if here]
            for name, each in rows.items()}  # fmt: skip


def assert_equal(one, other, rows=False):
    assert (one.states, one.actions, one.units) == (other.states, other.actions, other.units)
    assert (one.variables, one.action_variables) == (other.variables, other.action_variables)
    assert (one.skipped, one.problems, one.censored) == (
        other.skipped,
        other.problems,
        other.censored,
    )
    for a, b in ((one.counts, other.counts), (one.triples, other.triples),
                 (one.episodes, other.episodes)):  # fmt: skip
        for x, y in zip(a, b, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)
    np.testing.assert_array_equal(one.start, other.start)
    np.testing.assert_array_equal(one.behaviour, other.behaviour)
    assert (one.kept is None) == (other.kept is None)
    if one.kept is not None and rows:
        for x, y in zip(one.kept, other.kept, strict=True):
            assert (x is None and y is None) or np.array_equal(x, y)


@pytest.mark.parametrize("keep", ["rows", "counts"])
def test_yesterday_and_today_are_all_of_it(keep):
    """Days before and after the twentieth, and shops that only one of them has."""
    rows = shop_rows(shops=4, days=40)
    days = zip(rows["day"], rows["shop"], strict=True)
    early = [day < 20 and shop != "shop 3" for day, shop in days]
    one = read(some(rows, early), episode="shop", keep=keep)
    two = read(some(rows, [not x for x in early]), episode="shop", keep=keep)
    both, whole = one + two, read(rows, keep=keep)
    assert (both.states, both.actions, both.units) == (whole.states, whole.actions, whole.units)
    for x, y in zip(both.counts, whole.counts, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)
    assert both.variables == whole.variables
    assert both.episodes.n.tolist() == [2, 2, 2, 1]
    assert both.episodes.steps.tolist() == whole.episodes.steps.tolist()
    assert both.longest == 40
    if keep == "rows":
        np.testing.assert_array_equal(np.sort(both.rows.r), np.sort(whole.rows.r))
        assert len(both.lengths) == 7
        assert both.episodes.n.sum() == len(both.starts)


def test_the_order_of_a_sum_does_not_matter_and_rows_join_counts():
    rows = shop_rows()
    early = [day < 20 for day in rows["day"]]
    one, two = (read(some(rows, x), keep="counts") for x in (early, [not y for y in early]))
    assert_equal(one + two, two + one)
    mixed = one + read(some(rows, [not y for y in early]), keep="rows")
    assert mixed.kept is None
    assert_equal(mixed, one + two)


def test_logs_that_were_read_differently_do_not_join():
    rows = shop_rows()
    with pytest.raises(ValueError, match="these logs differ in units"):
        read(rows) + read(some(rows, [x == "shop 1" for x in rows["shop"]]), unit=None)
    with pytest.raises(ValueError, match="differ in reward_range"):
        read(rows) + read(rows, reward_range=(-100, 100))
    with pytest.raises(ValueError, match="differ in available"):
        read(rows, available="all") + read(rows, available="all")
    with pytest.raises(TypeError):
        read(rows) + 1


def test_an_end_that_one_of_two_logs_has():
    one = gim.from_log([("x", 0, 1.0, "y", False), ("y", 0, 1.0, None, True)], done="done")
    two = gim.from_log([("z", 0, 1.0, "x")])
    both = two + one
    assert both.states == ("x", "y", "z", "(end)")
    assert both.over
    assert both.terminal.tolist() == [False, False, False, True]
    assert_equal(both, one + two)


@pytest.mark.parametrize("keep", ["rows", "counts"])
def test_what_is_saved_comes_back(keep, tmp_path):
    rows = shop_rows()
    rows["stock"] = [("low", "mid", "high")[x // 2] for x in rows["stock"]]
    rows["next"] = [("low", "mid", "high")[x // 2] for x in rows["next"]]
    rows["profit"][3] = float("nan")
    log = read(rows, keep=keep, levels={"stock": ["low", "mid", "high"]}, strict=False,
               bins={"order": 2}, start="low", reward_range=(-30, 90), available="all")  # fmt: skip
    log.save(tmp_path / "log.npz")
    again = gim.load(tmp_path / "log.npz", "log")
    assert_equal(again, log, rows=True)
    assert again.reward_range == (-30, 90)
    assert again.given_start.tolist() == log.given_start.tolist()
    assert again.available.all()
    assert again.bins["order"].tolist() == log.bins["order"].tolist()
    assert again.describe() == log.describe()
    log.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "log.npz").read_bytes()


@pytest.mark.parametrize(
    ("name", "change"),
    [("seen.s", lambda x: x + 100), ("seen.n", lambda x: x * 0), ("seen.t", lambda x: x - 1),
     ("episodes.n", lambda x: x[:1])],
)  # fmt: skip
def test_a_file_with_impossible_counts_is_refused(name, change):
    arrays, meta = read(shop_rows(), keep="counts").pack()
    with pytest.raises(ValueError, match="holds a log"):
        Log.unpack(dict(arrays) | {name: change(arrays[name])}, meta)


def test_counts_of_a_warehouse_are_a_log():
    rows = shop_rows()
    log = read(rows, keep="counts")
    table = {name: [] for name in ("shop", "stock", "order", "next", "n", "paid", "paid2", "begun")}
    seen = log.triples
    for k in range(len(seen.n)):
        values = [log.units[seen.unit[k]], log.states[seen.s[k]], log.actions[seen.a[k]]]
        values += [log.states[seen.t[k]], seen.n[k], seen.paid[k], seen.paid2[k], seen.begun[k]]
        for column, value in zip(table.values(), values, strict=True):
            column.append(value.item() if isinstance(value, np.generic) else value)
    what = {"state": "stock", "action": "order", "next_state": "next", "unit": "shop"}
    other = gim.from_counts(table, reward="paid", reward2="paid2", starts="begun", **what)
    assert list(other.by_unit()) == list(log.units)
    assert (other.states, other.actions, other.units) == (log.states, log.actions, log.units)
    for x, y in zip(other.counts, log.counts, strict=True):
        np.testing.assert_allclose(x, y)
    np.testing.assert_array_equal(other.start, log.start)
    assert other.longest == log.longest
    alone, what = read(rows, keep="counts", unit=None, episode="shop"), what | {"unit": None}
    other = gim.from_counts(table, reward="paid", reward2="paid2", starts="begun", **what)
    one, two = gim.learn(other, horizon=5), gim.learn(alone, horizon=5)
    np.testing.assert_array_equal(np.asarray(one.policy), np.asarray(two.policy))
    told = gim.from_counts(table, reward="paid", starts={0: 1.0}, **what)
    assert told.start[told.states.index(0)] == 1
    table["n"][2] = 1.5
    with pytest.raises(ValueError, match="row 3, column 'n': this is no whole number from 0 on"):
        gim.from_counts(table, reward="paid", **what)
    table["n"] = [0] * len(table["n"])
    with pytest.raises(ValueError, match="the counts are all 0"):
        gim.from_counts(table, reward="paid", **what)


def test_what_was_learned_is_saved(tmp_path):
    log = read(shop_rows(), keep="counts", available="all", unit=None, episode="shop")
    learned = gim.learn(log, horizon=6, baseline=lambda stock: 1, safe="spibb:n=3")
    learned.save(tmp_path / "learned.npz")
    again = gim.load(tmp_path / "learned.npz", "learned")
    np.testing.assert_array_equal(np.asarray(again.policy), np.asarray(learned.policy))
    assert again.describe() == learned.describe()
    assert again.policy(0) == learned.policy(0)
    with pytest.raises(ValueError, match="holds a 'learned', not a 'log'"):
        files.load(tmp_path / "learned.npz", "log")


def test_what_needs_rows_says_so():
    log = read(shop_rows(), keep="counts", unit=None, episode="shop")
    for asked in (lambda: log.part([0]), lambda: log.rows, lambda: log.returns):
        with pytest.raises(ValueError, match=r'this log keeps counts, .*keep="rows"'):
            asked()
    learned = gim.learn(log, horizon=4)
    assert learned.evaluated() == {}
    assert "keeps counts" in learned.agreement
    with pytest.raises(ValueError, match="this log keeps counts"):
        learned.evaluated(learned.policy)


def test_earlier_logs_and_models_help():
    """Forty days of a shop help its first four; without inference they are its own."""
    before = read(shop_rows(1, shops=1, days=400), unit=None)
    few = read(shop_rows(1, shops=1, days=30), unit=None)
    counted = gim.learn(few, horizon=5, infer=None, prior=before)
    n = counted.behind.case.n
    states = [before.states.index(x) for x in few.states]
    total = few.counts.n + before.counts.n[states][:, : few.A]
    np.testing.assert_allclose(n, total)
    judged = gim.learn(few, horizon=5, prior=gim.learn(before, horizon=5).model)
    assert judged.behind.task.priors
    with pytest.raises(ValueError, match="prior= is a int"):
        gim.learn(few, horizon=5, prior=3)
