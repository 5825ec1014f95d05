"""Logs in: whatever the source, the counts are those of a plain loop, and what is wrong is said."""

from __future__ import annotations

import math
import sys
from collections import defaultdict

import numpy as np
import pytest

import gim
from gim.logs import sources
from gim.model.counts import DENSE_LIMIT, rewards_by_triple, transitions
from gim.model.tally import tally

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def looped(rows):
    """Visits, rewards and successors by labels, in plain Python."""
    n, R, R2, N, paid = (defaultdict(float) for _ in range(5))
    for s, a, r, t in rows:
        n[s, a] += 1
        R[s, a] += r
        R2[s, a] += r * r
        N[s, a, t] += 1
        paid[s, a, t] += r
    return n, R, R2, N, paid


def assert_counted(log, rows):
    n, R, R2, N, paid = looped(rows)
    S, A = len(log.states), len(log.actions)
    table = transitions(log.counts).reshape(S, A, S)
    by_triple = log.counts.paid.reshape(S, A, S)
    assert log.counts.n.sum() == sum(n.values()) == len(log)
    for i, s in enumerate(log.states):
        for j, a in enumerate(log.actions):
            assert log.counts.n[i, j] == n[s, a]
            assert log.counts.R[i, j] == R[s, a]
            assert log.counts.R2[i, j] == R2[s, a]
            for k, t in enumerate(log.states):
                assert table[i, j, k] == N[s, a, t]
                assert by_triple[i, j, k] == paid[s, a, t]


def random_rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    names, acts = ["low", "mid", "high"], ["buy", "sell"]
    walk = rng.integers(0, 3, n + 1)
    return [
        (names[walk[i]], acts[rng.integers(2)], float(rng.normal()), names[walk[i + 1]])
        for i in range(n)
    ]


def written(tmp_path, text, name="log.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def csv_of(tmp_path, rows, header="s,a,r,s2"):
    return written(tmp_path, "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")


class Frame:
    """What pandas and polars have in common."""

    def __init__(self, **columns):
        self.data = columns
        self.columns = list(columns)

    def __getitem__(self, name):
        values = self.data[name]

        class Series:
            def to_numpy(self):
                return np.array(values, object if isinstance(values[0], str) else None)

        return Series()


def source_of(kind, tmp_path, rows):
    s, a, r, t = (list(column) for column in zip(*rows, strict=True))
    columns = {"s": s, "a": a, "r": r, "s2": t}
    if kind == "csv":
        return csv_of(tmp_path, rows)
    if kind == "parquet":
        parquet.write_table(pa.table(columns), tmp_path / "log.parquet")
        return str(tmp_path / "log.parquet")
    made = {
        "table": lambda: pa.table(columns),
        "dictionaries": lambda: pa.table(columns | {"s": pa.array(s).dictionary_encode()}),
        "frame": lambda: Frame(**columns),
        "mapping": lambda: columns,
        "tuples": lambda: rows,
        "iterator": lambda: iter(rows),
        "dicts": lambda: [dict(zip(columns, row, strict=True)) for row in rows],
    }
    return made[kind]()


KINDS = ["csv", "parquet", "table", "dictionaries", "frame", "mapping"]
KINDS += ["tuples", "iterator", "dicts"]


@pytest.mark.parametrize("kind", KINDS)
def test_any_source_is_counted_as_a_loop_counts(kind, tmp_path):
    rows = random_rows()
    log = gim.from_log(source_of(kind, tmp_path, rows))
    assert log.states == ("high", "low", "mid")
    assert log.actions == ("buy", "sell")
    assert_counted(log, rows)
    assert log.skipped == log.censored == 0


def test_pieces_make_the_whole(monkeypatch):
    rows = random_rows(3000)
    whole = gim.from_log(rows)
    monkeypatch.setattr(sources, "PIECE", 7)
    pieces = gim.from_log(iter(rows))
    for one, two in zip(whole.counts, pieces.counts, strict=True):
        np.testing.assert_array_equal(one, two)
    assert_counted(pieces, rows)


def test_sparse_counts_are_those_of_the_loop():
    S = 1 + math.isqrt(DENSE_LIMIT)
    rng = np.random.default_rng(1)
    s, t = rng.integers(0, S, (2, 9000))
    s[:4000], t[:4000] = 5, rng.integers(0, 7, 4000)
    r = rng.normal(size=s.size)
    counts = tally(S, 1, s, np.zeros(s.size, int), r, t)
    assert counts.keys.size
    assert 2 * counts.taken[0] < counts.keys.size
    n, R, _, N, paid = looped(zip(s.tolist(), [0] * s.size, r.tolist(), t.tolist(), strict=True))
    rows = transitions(counts)
    assert {
        (i, 0, j): x for (i, j), x in zip(zip(*rows.nonzero(), strict=True), rows.data, strict=True)
    } == N
    found, _ = rewards_by_triple(counts, rows.indices, rows.indptr)
    assert [paid[i, 0, j] for i, j in zip(*rows.nonzero(), strict=True)] == found.tolist()
    assert counts.R[5, 0] == R[5, 0]
    assert counts.n[5, 0] == n[5, 0]


def test_two_columns_of_state_without_next_states(tmp_path):
    """Text labels, two state columns, next states taken from the next row of the episode."""
    text = """day,shop,stock,order,profit
    mon,a,0,big,1.5
    mon,b,2,none,0
    tue,a,1,big,2.5
    mon,a,2,none,1
    tue,b,0,none,-1
    """.replace("    ", "")
    log = gim.from_log(
        written(tmp_path, text),
        state=["shop", "stock"],
        action="order",
        reward="profit",
        next_state=None,
        episode="day",
    )
    expected = [
        (("a", 0), "big", 1.5, ("b", 2)),
        (("b", 2), "none", 0.0, ("a", 2)),
        (("a", 1), "big", 2.5, ("b", 0)),
    ]
    assert_counted(log, expected)
    assert log.censored == 2
    assert log.variables.names == ("shop", "stock")
    assert log.variables.ordinal == (False, True)
    assert [log.variables.values(i) for i in range(log.S)] == list(log.states)
    assert log.returns.tolist() == [1.5, 2.5]
    assert log.policy()(("a", 0)) == "big"
    assert log.policy()({"shop": "b", "stock": 2}) == "none"
    with pytest.raises(ValueError, match="never seen"):
        log.policy()(("a", 2))
    with pytest.raises(ValueError, match="is no state"):
        log.policy()(("c", 2))


def test_steps_put_rows_in_order_and_the_end_is_a_state_of_its_own():
    rows = [
        {"e": 1, "k": 2, "s": "y", "a": 0, "r": 5.0, "d": True},
        {"e": 1, "k": 1, "s": "x", "a": 1, "r": 2.0, "d": False},
        {"e": 2, "k": 7, "s": "x", "a": 1, "r": 3.0, "d": False},
        {"e": 2, "k": 8, "s": "y", "a": 0, "r": 4.0, "d": False},
    ]
    log = gim.from_log(rows, next_state=None, episode="e", step="k", done="d")
    expected = [("x", 1, 2.0, "y"), ("y", 0, 5.0, "(end)"), ("x", 1, 3.0, "y")]
    assert_counted(log, expected)
    assert log.states == ("x", "y", "(end)")
    assert log.terminal.tolist() == [False, False, True]
    assert (log.censored, log.truncated) == (1, 0)
    assert log.start.tolist() == [1, 0, 0]


def test_the_end_lies_beyond_the_values_of_variables():
    rows = [(0, 0, 1.0, 1, False), (1, 0, 1.0, None, True)]
    log = gim.from_log(rows, done="done")
    assert log.states == (0, 1, "(end)")
    assert log.variables.codes.tolist() == [[0], [1], [2]]
    assert log.terminal.tolist() == [False, False, True]


def test_done_in_a_state_that_is_left_elsewhere_cuts_an_episode_off():
    rows = [(0, 0, 1.0, 1, False), (1, 0, 1.0, 0, True), (0, 0, 1.0, 2, True)]
    log = gim.from_log(rows, done="done")
    assert log.terminal.tolist() == [False, False, True]
    assert log.truncated == 1
    assert log.lengths.tolist() == [2, 1]


def test_episodes_are_cut_where_the_chain_breaks():
    log = gim.from_log([(0, 0, 1.0, 1), (1, 0, 2.0, 0), (1, 0, 4.0, 1), (1, 0, 8.0, 0)])
    assert log.lengths.tolist() == [2, 2]
    assert log.returns.tolist() == [3.0, 12.0]
    assert log.start.tolist() == [0.5, 0.5]


def test_bins_keep_their_edges(tmp_path):
    rows = [(0.5, "a", 1, 2.5), (2.5, "a", 1, 3.5), (3.5, "b", 1, 0.1)]
    log = gim.from_log(csv_of(tmp_path, rows), bins={"s": [1, 3]})
    assert log.states == ("< 1", "1 to 3", ">= 3")
    assert log.bins["s"].tolist() == [1, 3]
    assert log.variables.ordinal == (True,)
    assert_counted(
        log, [("< 1", "a", 1, "1 to 3"), ("1 to 3", "a", 1, ">= 3"), (">= 3", "b", 1, "< 1")]
    )
    evenly = gim.from_log(csv_of(tmp_path, rows), bins={"s": 3})
    np.testing.assert_allclose(evenly.bins["s"], [1.5, 2.5])
    assert "bins         s: 1, 3" in log.describe()
    with pytest.raises(ValueError, match="give a number, or edges that rise"):
        gim.from_log(csv_of(tmp_path, rows), bins={"s": [3, 1]})
    with pytest.raises(ValueError, match="'z' is no column of state or action"):
        gim.from_log(csv_of(tmp_path, rows), bins={"z": 3})


def test_behaviour_is_what_was_chosen_or_the_propensities():
    rows = [
        {"s": 0, "a": i % 4 == 0, "r": 0.0, "s2": 0, "p": 0.6 if i % 4 else 0.2} for i in range(8)
    ]
    assert gim.from_log(rows).behaviour.tolist() == [[0.75, 0.25]]
    np.testing.assert_allclose(gim.from_log(rows, propensity="p").behaviour, [[0.75, 0.25]])
    rows[3]["p"] = 1.2
    with pytest.raises(ValueError, match="row 4, column 'p': a propensity is above 0"):
        gim.from_log(rows, propensity="p")


def test_what_is_available_can_be_said():
    rows = [("x", "l", 0.0, "y"), ("y", "r", 0.0, "x")]
    assert gim.from_log(rows).available is None
    assert gim.from_log(rows, available="all").available.all()
    mapped = gim.from_log(rows, available={"x": ["l"], "y": ["l", "r"]}).available
    assert mapped.tolist() == [[True, False], [True, True]]
    assert gim.from_log(rows, available=lambda s, a: s == "y" or a == "l").available.tolist() == [
        [True, False], [True, True],
    ]  # fmt: skip
    with pytest.raises(ValueError, match=r"available must be bool \[2, 2\]"):
        gim.from_log(rows, available=[True])
    with pytest.raises(ValueError, match="available = 'none'"):
        gim.from_log(rows, available="none")


# -- what is wrong with a log

GOOD = "x,l,1,y\ny,r,2,x\n"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "is empty"),
        ("s,a,r,s2\n", {}, "no rows"),
        ("s,a,r,next\n" + GOOD, {}, "no column 's2'"),
        ("s,a,reward,s2\n" + GOOD, {}, "no column 'r'"),
        ("s,s,a,r,s2\nx," + GOOD, {}, "2 columns 's'"),
        ("s,a,r,s2\n" + GOOD + "x,l,,y\n", {}, "row 3, column 'r': the reward is missing"),
        ("s,a,r,s2\n" + GOOD + "x,l,nan,y\n", {}, "row 3, column 'r': the reward is missing"),
        ("s,a,r,s2\n" + GOOD + "x,l,=1+1,y\n", {}, "row 3, column 'r': the reward is no finite"),
        ("s,a,r,s2\n" + GOOD + "x,l,1e308,y\n", {}, "row 3, column 'r': the reward is beyond"),
        ("s,a,r,s2\n" + GOOD + "x,l,inf,y\n", {}, "row 3, column 'r': the reward is no finite"),
        ("s,a,r,s2\n" + GOOD + ",l,1,y\n", {}, "row 3, column 's': nothing stands here"),
        ("s,a,r,s2\n" + GOOD + "x,,1,y\n", {}, "row 3, column 'a': nothing stands here"),
        ("s,a,r,s2\n" + GOOD + "x,l,1,\n", {}, "row 3, column 's2': the next state is missing"),
        ("s,a,r,s2\n" + GOOD + "x ,l,1,x\n", {}, "row 3, column 's': 'x ' and 'x' differ"),
        ("s,a,r,s2\n" + GOOD + "x,l\n", {}, "cannot be read"),
        ("s,a,r,s2\nx,l,,y\ny,l,,x\n", {}, "rows 1 and 2, column 'r': the reward is"),
        ("s,a,r,s2,d\nx,l,1,y,maybe\n", {"done": "d"}, "row 1, column 'd': a flag is True, False"),
        ("s,a,r,s2,e\nx,l,1,y,1\nx,l,1,y,1\n", {"episode": "e"}, "row 1, column 's2': the next"),
        ("s,a,r,s2,e\nx,l,1,y,1\nx,l,1,y,\n", {"episode": "e"}, "row 2, column 'e': the episode"),
        (
            "s,a,r,s2,e,d\nx,l,1,y,1,1\ny,l,1,x,1,0\n",
            {"episode": "e", "done": "d"},
            "row 2, column 'd': an action after the end",
        ),
        (
            "s,a,r,s2,e,k\nx,l,1,y,1,1\nx,l,1,y,1,1\n",
            {"episode": "e", "step": "k"},
            "row 2, column 'k': this step of the episode stands twice",
        ),
        (
            "s,a,r,e,k\nx,l,1,1,1\ny,l,1,1,3\n",
            {"episode": "e", "step": "k", "next_state": None},
            "row 1, column 'k': the next step of the episode is missing",
        ),
        ("s,a,r\nx,l,1\n", {"next_state": None}, "no row of 1 can be used"),
        ("s,a,r,s2\n" + GOOD, {"state": []}, "give the name of a column"),
        ("s,a,r,s2\n" + GOOD, {"state": ["s", "s"]}, "a column stands twice"),
        ("s,a,r,s2\n" + GOOD, {"state": ["s", "a"]}, "2 columns of state, but 1 of next_state"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(text, options, message, tmp_path):
    with pytest.raises(ValueError, match=message) as problem:
        gim.from_log(written(tmp_path, text), **options)
    assert "\n" not in str(problem.value)


def test_bad_rows_are_left_out_and_counted_if_asked(tmp_path):
    text = "s,a,r,s2\n" + GOOD + "x,l,,y\n,l,1,y\nx,l,=SUM(A1),y\nx,l,3,y\nx,l,1e300,y\n"
    log = gim.from_log(written(tmp_path, text), strict=False)
    assert_counted(log, [("x", "l", 1.0, "y"), ("y", "r", 2.0, "x"), ("x", "l", 3.0, "y")])
    assert log.skipped == 4 == sum(log.problems.values())
    assert "left out     1 row, s: nothing stands here" in log.describe()
    with pytest.raises(ValueError, match="no row of 2 can be used; the most frequent reason: r: "):
        gim.from_log(written(tmp_path, "s,a,r,s2\nx,l,,y\ny,r,,x\n"), strict=False)


def test_one_row_is_a_log():
    log = gim.from_log([("x", "l", 1.0, "y")])
    assert (log.S, log.A, len(log)) == (2, 1, 1)
    assert repr(log) == "<Log of 1 transition: 2 states, 1 action, 1 of 2 pairs seen, 1 episode>"


def test_mixed_types_are_labels_like_any_other(tmp_path):
    rows = [(1, "l", 1.0, "x"), ("x", 2, 1.0, None), (None, "l", 1.0, 1)]
    with pytest.raises(ValueError, match="row 3, column 's'"):
        gim.from_log(rows)
    log = gim.from_log([*rows[:1], ("x", 2, 1.0, 1)])
    assert set(log.states) == {1, "x"}
    assert log.variables is None
    assert gim.from_log(csv_of(tmp_path, [(1, "l", 1.0, "x")])).states == ("1", "x")


def test_numbers_written_in_two_ways_are_one_label(tmp_path):
    with pytest.warns(UserWarning, match="column 's': '2' and '02' are read as one number"):
        log = gim.from_log(csv_of(tmp_path, [("1", "0", 1.0, "02"), ("2", "0", 1.0, "1")]))
    assert log.states == (1, 2)


def test_formulas_are_text(tmp_path):
    log = gim.from_log(csv_of(tmp_path, [("=1+1", "@a", 1.0, "=cmd|' /C calc'!A0")]))
    assert set(log.states) == {"=1+1", "=cmd|' /C calc'!A0"}


def test_too_many_labels_are_refused_before_they_are_counted():
    n = 5000
    rows = {"s": np.arange(n), "a": np.arange(n), "r": np.zeros(n), "s2": np.arange(n)}
    with pytest.raises(ValueError, match="5000 states and 5000 actions make 25000000 pairs"):
        gim.from_log(rows)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "the log has no rows"),
        ([("x", "l")], r"row 1 of the log is \('x', 'l'\)"),
        ([("x", "l", 1.0, "y"), 3], "row 2 of the log is 3"),
        ([{"s": 1, "a": 1, "r": 1.0, "s2": 1}, 3], "row 2 of the log is 3, others are mappings"),
        (3, "a log of type int"),
        ({"s": [1], "a": [1, 2], "r": [1.0], "s2": [1]}, "differ in length"),
        ("no/such/file.csv", "does not exist"),
    ],
)
def test_what_is_no_log_is_refused(rows, message):
    with pytest.raises(ValueError, match=message):
        gim.from_log(rows)


def test_postgresql_asks_for_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    with pytest.raises(ValueError, match=r'needs its driver: pip install "gim\[log\]"'):
        gim.from_log("postgresql://somewhere/shop", query="orders")
