"""Whatever a log comes from, the counts are the same, with a time as its step."""

from __future__ import annotations

import datetime
import itertools
import sqlite3
import warnings
from collections import defaultdict

import duckdb
import numpy as np
import pytest

import gim
from gim.model.counts import transitions
from tests import postgres

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

WHAT = {"state": ["shop", "stock"], "action": "order", "reward": "profit", "next_state": None,
        "episode": "week", "step": "time"}  # fmt: skip
BERLIN = datetime.timezone(datetime.timedelta(hours=1))


def made(seed=0, weeks=30, days=7):
    """A table in no order, with times that have a zone, and what a loop counts of it."""
    rng = np.random.default_rng(seed)
    rows, counted = [], defaultdict(float)
    for week in range(weeks):
        begin = datetime.datetime(2024, 1, 1, tzinfo=BERLIN) + datetime.timedelta(weeks=week)
        shop, stock, before = "ab"[week % 2], int(rng.integers(4)), None
        for day in range(days):
            order, pay = int(rng.integers(3)), float(rng.integers(-8, 20)) / 4
            hours = float(rng.integers(1, 20))
            rows.append((f"w{week}", begin + datetime.timedelta(days=day, hours=hours), shop,
                         stock, order, pay))  # fmt: skip
            if before is not None:
                counted[*before, (shop, stock)] += 1
            before, stock = ((shop, stock), order), int(rng.integers(4))
    rng.shuffle(rows)
    names = ("week", "time", "shop", "stock", "order", "profit")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)), dict(counted)


TABLE, COUNTED = made()


def arrow():
    return pa.table(TABLE)


def sqlite_file(tmp_path):
    path = tmp_path / "shop.db"
    con = sqlite3.connect(path)
    con.execute('CREATE TABLE days (week, time, shop, stock, "order", profit)')
    rows = zip(*[map(str, x) if k == "time" else x for k, x in TABLE.items()], strict=True)
    con.executemany("INSERT INTO days VALUES (?, ?, ?, ?, ?, ?)", rows)
    con.commit()
    return path, con


def duckdb_file(tmp_path):
    table = arrow()
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as con:
        con.register("given", table)
        con.execute("CREATE TABLE days AS SELECT * FROM given")
    return tmp_path / "shop.duckdb"


def folder(tmp_path):
    """Parquet by shop: the shop stands in the names of folders."""
    table = arrow()
    for shop in "ab":
        part = tmp_path / "lake" / f"shop={shop}"
        part.mkdir(parents=True)
        some = table.filter(pa.compute.equal(table["shop"], shop)).drop_columns(["shop"])
        parquet.write_table(some, part / "part.parquet")
    return tmp_path / "lake"


def files(tmp_path):
    table = arrow()
    for k in range(3):
        parquet.write_table(table[k * 70 : (k + 1) * 70], tmp_path / f"{k}.parquet")
    return tmp_path


def csv(tmp_path):
    frame = pd.DataFrame(TABLE)
    frame.to_csv(tmp_path / "log.csv", index=False, sep=";")
    return tmp_path / "log.csv"


def of(tmp_path, kind):
    import ibis

    query = {"query": "days"}
    if kind.startswith("sqlite"):
        path, con = sqlite_file(tmp_path)
        asked = con.execute if kind == "sqlite cursor" else None
        return {
            "sqlite url": lambda: (f"sqlite:///{path}", query),
            "sqlite connection": lambda: (con, {"query": "SELECT * FROM days WHERE 1 = 1;"}),
            "sqlite cursor": lambda: (asked("SELECT * FROM days"), {}),
            "sqlite engine": lambda: (_engine(path), query),
        }[kind]()
    return {
        "csv": lambda: (csv(tmp_path), {}),
        "parquet": lambda: (parquet.write_table(arrow(), tmp_path / "x.parquet")
                            or tmp_path / "x.parquet", {}),
        "folder": lambda: (folder(tmp_path), {}),
        "glob": lambda: (str(files(tmp_path) / "*.parquet"), {}),
        "list": lambda: ([files(tmp_path) / f"{k}.parquet" for k in range(3)], {}),
        "duckdb url": lambda: (f"duckdb:///{duckdb_file(tmp_path)}", query),
        "duckdb connection": lambda: (duckdb.connect(str(duckdb_file(tmp_path))), query),
        "duckdb relation": lambda: (
            duckdb.connect(str(duckdb_file(tmp_path))).table("days"), {}),
        "table": lambda: (arrow(), {}),
        "reader": lambda: (arrow().to_reader(50), {}),
        "batch": lambda: (arrow().combine_chunks().to_batches()[0], {}),
        "dataset": lambda: (_dataset(tmp_path), {}),
        "pandas": lambda: (pd.DataFrame(TABLE), {}),
        "pandas objects": lambda: (pd.DataFrame(TABLE).astype({"shop": object, "week": object}),
                                   {}),
        "pandas categories": lambda: (pd.DataFrame(TABLE).astype({"shop": "category"}), {}),
        "polars": lambda: (pl.from_arrow(arrow()), {}),
        "polars lazy": lambda: (pl.from_arrow(arrow()).lazy(), {}),
        "ibis": lambda: (ibis.memtable(arrow().to_pandas()), {}),
        "columns": lambda: (TABLE, {}),
        "rows": lambda: ((dict(zip(TABLE, row, strict=True))
                          for row in zip(*TABLE.values(), strict=True)), {}),
    }[kind]()  # fmt: skip


def _engine(path):
    sqlalchemy = pytest.importorskip("sqlalchemy")
    return sqlalchemy.create_engine(f"sqlite:///{path}")


def _dataset(tmp_path):
    from pyarrow import dataset

    return dataset.dataset(files(tmp_path))


def assert_same(log):
    N = transitions(log.counts).reshape(log.S, log.A, log.S)
    found = {
        (log.states[s], log.actions[a], log.states[t]): N[s, a, t]
        for s, a, t in np.argwhere(N > 0).tolist()
    }
    assert found == COUNTED
    assert log.episodes.n.tolist() == [30]
    assert log.censored == 30
    assert log.variables.names == ("shop", "stock")


KINDS = ["csv", "parquet", "folder", "glob", "list", "sqlite url", "sqlite connection",
         "sqlite cursor", "sqlite engine", "duckdb url", "duckdb connection", "duckdb relation",
         "table", "reader", "batch", "dataset", "pandas", "pandas objects", "pandas categories",
         "polars", "polars lazy", "ibis", "columns", "rows"]  # fmt: skip


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same_counts(kind, tmp_path):
    source, more = of(tmp_path, kind)
    first = gim.from_log(source, keep="counts", **WHAT, **more)
    assert_same(first)
    if "cursor" in kind or kind in ("reader", "rows"):
        return  # they can be read but once
    rows = gim.from_log(source, keep="rows", **WHAT, **more)
    assert_same(rows)
    for one, two in zip(first.counts, rows.counts, strict=True):
        np.testing.assert_array_equal(one, two)
    for one, two in zip(first.triples, rows.triples, strict=True):
        np.testing.assert_array_equal(one, two)
    for one, two in zip(first.episodes, rows.episodes, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)


@pytest.fixture(scope="module")
def shop():
    if postgres.find() is None:
        pytest.skip("no PostgreSQL on this machine: logs from it were not read")
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
    with postgres.server() as url:
        with dbapi.connect(url) as con, con.cursor() as cursor:
            cursor.adbc_ingest("days", arrow())
            con.commit()
        yield url


@pytest.mark.processes
def test_postgresql_gives_the_same_counts_and_keeps_its_secrets(shop, tmp_path):
    log = gim.from_log(shop, query="days", keep="counts", **WHAT)
    assert_same(log)
    wide = 'SELECT *, now() AS "read at" FROM days'
    assert_same(gim.from_log(shop, query=wide, **WHAT))
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(shop) as con:
        assert_same(gim.from_log(con, query="days", **WHAT))
        with con.cursor() as cursor:
            cursor.execute("SELECT * FROM days")
            assert_same(gim.from_log(cursor, **WHAT))
    assert not any("s3cr" in sql for sql in log.sql)
    for url, query in ((shop, "nothing"), (shop, "DROP TABLE days"), (shop, "SELECT * FROM (("),
                       (shop.replace("s3cr", "wrong-s3cr"), "days")):  # fmt: skip
        with pytest.raises(ValueError, match=r"postgresql|query") as problem:
            gim.from_log(url, query=query, **WHAT)
        text = str(problem.value)
        assert "s3cr" not in text
        assert "\n" not in text
    taken = "WITH gone AS (DELETE FROM days RETURNING *) SELECT * FROM gone"
    with pytest.raises(ValueError, match=r"read-only|WITH clause"):
        gim.from_log(shop, query=taken, **WHAT)
    assert_same(gim.from_log(shop, query="public.days", **WHAT))


def test_a_database_is_asked_and_never_changed(tmp_path):
    path, con = sqlite_file(tmp_path)
    for query in ("DELETE FROM days", "days; DROP TABLE days", "", "SELECT 1; SELECT 2"):
        with pytest.raises(ValueError, match=r"query = |the query fails"):
            gim.from_log(f"sqlite:///{path}", query=query, **WHAT)
    with pytest.raises(ValueError, match="the query fails: no such table: nothing"):
        gim.from_log(con, query="nothing", **WHAT)
    with pytest.raises(ValueError, match=r"give query=, a SELECT or the name of a table"):
        gim.from_log(f"sqlite:///{path}", **WHAT)
    with pytest.raises(ValueError, match=r'is a database: give "sqlite:///.*" and query='):
        gim.from_log(path, **WHAT)
    with pytest.raises(ValueError, match="query= asks a database"):
        gim.from_log(TABLE, query="days", **WHAT)
    with pytest.raises(ValueError, match="no column 'stick': did you mean 'stock'"):
        gim.from_log(con, query="days", **(WHAT | {"state": "stick"}))
    with pytest.raises(ValueError, match="URLs of sqlite, duckdb, postgresql are read"):
        gim.from_log("mysql://reader:s3cr@there/shop", query="days", **WHAT)
    assert con.execute("SELECT count(*) FROM days").fetchone() == (210,)


def test_files_that_differ_are_named(tmp_path):
    table = arrow()
    parquet.write_table(table, tmp_path / "a.parquet")
    parquet.write_table(table.drop_columns(["profit"]), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"the column 'profit' as DOUBLE, .*b.parquet not at all"):
        gim.from_log(tmp_path, **WHAT)
    other = table.set_column(3, "stock", table["stock"].cast(pa.string()))
    parquet.write_table(other, tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"'stock' as BIGINT, .*b.parquet as VARCHAR"):
        gim.from_log(tmp_path, **WHAT)
    lists = table.append_column("tags", pa.array([[1]] * len(table)))
    with pytest.raises(ValueError, match=r"column 'tags' holds BIGINT\[\], which is no label"):
        gim.from_log(lists, **(WHAT | {"action": "tags"}))
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text("s,a,r,s2\n0,0,1,1\n")
    two.write_text("a;s;s2;r;more\n0;1;0;2;x\n")
    log = gim.from_log([one, two])
    assert (len(log), log.counts.R.tolist()) == (2, [[1.0], [2.0]])
    two.write_text("a;s;s2\n0;1;0\n")
    with pytest.raises(ValueError, match=r"two.csv has no column 'r'"):
        gim.from_log([one, two])


@pytest.mark.parametrize(
    ("steps", "order"),
    [
        ([3.5, 1.25, 2.0], [1, 2, 0]),
        (["b", "c", "a"], [2, 0, 1]),
        ([datetime.date(2024, 5, k) for k in (3, 1, 2)], [1, 2, 0]),
        (["2024-01-02T00:00+00:00", "2024-01-02T00:30+02:00", "2024-01-01"], [2, 1, 0]),
        (["10", "9", "8"], [2, 1, 0]),
        (np.array(["2024-03-01", "2023-03-01", "2025-03-01"], "datetime64[D]"), [1, 0, 2]),
    ],
)
def test_steps_are_whatever_has_an_order(steps, order):
    labels = ["x", "y", "z"]
    rows = {"s": labels, "a": [0] * 3, "r": [0.0] * 3, "e": [1] * 3, "k": steps}
    log = gim.from_log(rows, next_state=None, episode="e", step="k")
    N = transitions(log.counts).reshape(3, 3)
    path = [labels[k] for k in order]
    expected = sorted(itertools.pairwise(path))
    assert [(log.states[s], log.states[t]) for s, t in np.argwhere(N).tolist()] == expected


def test_what_has_no_order_is_refused():
    rows = {"s": [0, 1], "a": [0, 0], "r": [0.0, 0.0], "k": ["x", datetime.date(2024, 1, 1)]}
    with pytest.raises(ValueError, match="column 'k' holds date and str: steps have one order"):
        gim.from_log(rows, next_state=None, step="k")
    rows["k"] = ["2024-01-01", None]
    with pytest.raises(ValueError, match="row 2, column 'k': the step is no time"):
        gim.from_log(rows, next_state=None, step="k")


def test_levels_put_texts_in_order():
    rows = {"s": ["full", "low", "empty"], "a": [0] * 3, "r": [0.0] * 3, "s2": ["low"] * 3}
    order = ["empty", "low", "half", "full"]
    log = gim.from_log(rows, levels={"s": order})
    assert log.states == ("empty", "low", "full")
    assert log.variables.ordinal == (True,)
    assert log.variables.codes.tolist() == [[0], [1], [3]]
    rows["s"][1] = "lwo"
    with pytest.raises(ValueError, match="row 2, column 's': 'lwo' is none of levels="):
        gim.from_log(rows, levels={"s": order})
    assert gim.from_log(rows, levels={"s": order}, strict=False).skipped == 1


def test_a_sample_is_checked_first():
    n = 30_000
    rows = {"s": np.zeros(n, int), "a": np.zeros(n, int), "r": np.zeros(n), "s2": np.zeros(n, int)}
    rows["r"][[3, 20_000]] = np.inf
    with pytest.raises(ValueError, match=r"^row 4, column 'r'.*first 10,000 rows; others were not"):
        gim.from_log(rows)
    rows["r"][3] = 0.0
    with pytest.raises(ValueError, match=r"^row 20001, column 'r': the reward is no finite number"):
        gim.from_log(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gim.from_log(rows, strict=False).skipped == 1


def test_decimals_booleans_and_dates_are_labels():
    from decimal import Decimal

    table = pa.table({
        "s": [Decimal("1.5"), Decimal("2.0")], "a": [True, False], "r": [Decimal("0.25")] * 2,
        "s2": [Decimal("2.0"), Decimal("1.5")], "day": [datetime.date(2024, 1, k) for k in (1, 2)],
    })  # fmt: skip
    log = gim.from_log(table)
    assert (log.states, log.actions) == ((1.5, 2), (False, True))
    assert log.counts.R.tolist() == [[0, 0.25], [0.25, 0]]
    log = gim.from_log(table, state="day", next_state=None)
    assert log.states == ("2024-01-01", "2024-01-02")


def test_frames_as_analysts_have_them():
    """An index that is a column, values that pandas says are none, and dates no machine orders."""
    frame = pd.DataFrame(TABLE).astype({"order": object})
    frame.loc[5, "order"] = pd.NA
    log = gim.from_log(frame.set_index(["week", "time"]), strict=False, **WHAT)
    assert log.problems == {"order: nothing stands here, but a label must": 1}
    assert log.actions == (0, 1, 2)
    rows = {
        "s": ["x", "y", "x"],
        "a": [0] * 3,
        "r": [0.0] * 3,
        "k": ["1.3.2024", "2.3.2024", "11.3.2024"],
    }
    text = (
        r"column 'k' is put in order as text, from '1.3.2024' to '2.3.2024': write times as 2024-"
    )
    with pytest.warns(UserWarning, match=text):
        gim.from_log(rows, next_state=None, step="k")
