"""Where a log comes from: whatever it is, DuckDB reads it as a table.

Files, frames and Arrow are read where they lie, as often as is asked. What can be read but once (a
stream, a cursor, rows of Python) is kept in a temporary table of the columns that are wanted.
Nothing is ever written to what is another's: connections of ours are read-only, and a query stands
inside a SELECT of ours.
"""

from __future__ import annotations

import csv
import datetime
import glob
import gzip
import math
import os
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import numpy as np
from numpy.typing import NDArray

from gim._base.escapes import shown
from gim._base.files import check_source
from gim._base.registry import did_you_mean
from gim.logs import minari
from gim.logs.labels import missing
from gim.mdp.names import label_of

LONGEST = 1 << 22  # bytes of a row of CSV
LINE = 400  # letters of an error that are shown
PIECE = 1 << 18  # rows of Python that are read at a time
FIELDS = ("s", "a", "r", "s2", "done")  # what the tuples of a log hold, in their order
MISSING = ["", "NaN", "nan", "null", "NULL"]  # how CSV writes that there is nothing
MEMORY = "700MB"  # that DuckDB takes before it spills
SCHEMES = ("sqlite", "duckdb", "postgresql", "postgres")
SELECT = re.compile(r"\s*(select|with|from|values|table)\b", re.IGNORECASE)
REAL = ("FLOAT", "DOUBLE", "DECIMAL", "HUGEINT", "UBIGINT", "UHUGEINT")  # types that are read so
NUMERIC = (*REAL, "TINYINT", "SMALLINT", "INT", "BIGINT", "UTINYINT", "USMALLINT", "UINT", "BOOL")
LISTS = ("STRUCT", "MAP", "UNION", "BLOB")
FLAGS = {"true": 1, "1": 1, "1.0": 1, "false": 0, "0": 0, "0.0": 0}
KINDS = (
    "a CSV or Parquet file, a folder or list of them, a frame, a table, a connection or the URL of "
    "a database with query=, or rows (s, a, r, s2)"
)


class Field(NamedTuple):
    """A column, and what it holds: "label", "number", "flag" or "step"."""

    column: str
    holds: str


class Table(ExitStack):
    """A source that DuckDB can read, open as long as its block lasts.

    Attributes:
        con: the connection that reads it.
        sql: what stands after FROM.
        types: DuckDB's types of its columns.
        own: the labels behind the numbers of columns that came as Python's own values.
        told: all that was asked of DuckDB, in order.
    """

    def __init__(self, source: Any, fields: Iterable[Field], query: str | None = None) -> None:
        import duckdb  # when a log is read, not before

        super().__init__()
        self.fields, self.own = list(dict.fromkeys(fields)), dict[str, list[Any]]()
        self.told: list[str] = []
        self.wanted = list(dict.fromkeys(field.column for field in self.fields))
        self.secrets: list[str] = []  # what no message may show
        self.sql, self.error = '"log"', duckdb.Error
        try:
            spill = self.enter_context(tempfile.TemporaryDirectory(prefix="gim-"))
            config: dict[str, Any] = {"temp_directory": spill, "memory_limit": MEMORY}
            config |= {"TimeZone": "UTC", "autoinstall_known_extensions": False}
            self.con = self.enter_context(duckdb.connect(config=config))
            self._read(source, query)
            self.types = self._types(f"FROM {self.sql}")
            for name in self.wanted:
                kind = self.types.get(name, "")
                if name not in self.own and ("[" in kind or kind.startswith(LISTS)):
                    raise ValueError(
                        f"column {name!r} holds {kind.partition('(')[0]}, which is no label: give "
                        "texts or numbers, one column for each part"
                    )
        except BaseException:
            self.close()
            raise

    def run(self, sql: str) -> list[Any]:
        """Ask DuckDB for rows."""
        found: list[Any] = self._asked(sql).fetchall()
        return found

    def arrays(self, sql: str) -> dict[str, NDArray[Any]]:
        """Ask DuckDB for columns, in which nothing is missing."""
        found = self._asked(sql).fetchnumpy()
        return {name: np.asarray(getattr(x, "data", x)) for name, x in found.items()}

    def _types(self, sql: str) -> dict[str, str]:
        return {name: kind for name, kind, *_ in self.run(f"DESCRIBE {sql}")}

    def _asked(self, sql: str) -> Any:
        """An error is one line."""
        self.told += [sql] * (not sql.startswith("DESCRIBE"))
        try:
            return self.con.execute(sql)
        except self.error as problem:
            raise ValueError(f"the log cannot be read: {self.line(problem)}") from None

    def line(self, problem: Exception) -> str:
        """The beginning of an error, without what is secret."""
        text = str(problem).partition("Possible ")[0].partition("\n\n")[0]
        for secret in self.secrets:
            text = text.replace(secret, "***")
        if "Maximum line size" in text:
            return f"a row is longer than {LONGEST >> 20} MiB"
        return shown(" ".join(text.split()), LINE)

    def columns(self, names: Iterable[str] | None = None, quoted: str = '"') -> str:
        """Columns, as SQL lists them."""
        each = self.wanted if names is None else names
        return ", ".join(quoted + name.replace(quoted, 2 * quoted) + quoted for name in each)

    def typed(self, column: str, holds: str) -> str:
        """A column as what it holds, in SQL.

        A label is a whole number, a number, a truth value or text; a number is NaN where there is
        none, and infinite where what stands there is no number; a flag is True, False, 0 or 1, also
        as text, since a CSV file has nothing else.
        """
        column = f"{column}: {holds}" if column in self.own else column
        x, kind = f"b.{self.columns([column])}", self.types[column]
        text, number = f"trim({x}::VARCHAR)", f"{x}::DOUBLE"
        real, numeric = kind.startswith(REAL), kind.startswith(NUMERIC)
        if holds == "label":
            return f"nullif({number}, 'nan')" if real else x if numeric else f"{x}::VARCHAR"
        if holds == "step":
            return f"CASE WHEN isfinite({number}) THEN {number} END" if real else x
        if holds == "flag":
            whens = " ".join(f"WHEN '{flag}' THEN {truth}" for flag, truth in FLAGS.items())
            return f"(CASE lower({text}) {whens} END)::BOOLEAN"
        none = f"{x} IS NULL" if numeric else f"coalesce({text}, '') = ''"
        number = number if numeric else f"coalesce(TRY_CAST({text} AS DOUBLE), 'inf')"
        return f"CASE WHEN {none} THEN 'nan' ELSE {number} END"

    # -- sources one by one

    def _read(self, source: Any, query: str | None) -> None:
        asked = _connection_of(source)
        if query is not None and not _is_url(source) and asked is None:
            raise ValueError(f"query= asks a database, and this is {_kind(source)}: leave it out")
        if _is_url(source):
            self._url(source, query)
        elif asked is not None:
            self._database(asked, query)
        elif isinstance(source, (str, Path)) or _are_paths(source):
            self._files(source)
        elif minari.is_dataset(source):
            self._check(minari.COLUMNS)
            self._python([minari.columns(source)])
        elif hasattr(source, "iloc"):  # pandas
            source = source.reset_index() if {*self.wanted} & {*source.index.names} else source
            self._check(source.columns)
            frame = source[self.wanted]
            for name in [name for name, x in frame.items() if x.dtype == "O"]:
                met: dict[Any, int] = {}
                own = self._coded(name, _codes(frame[name].to_numpy(), met), met)
                frame = frame.drop(columns=name).assign(**own)
            self.con.register("log", frame)
        elif hasattr(source, "collect_schema"):  # polars
            self._check(source.collect_schema().names())
            self.con.register("log", source.select(self.wanted))
        elif hasattr(source, "to_batches") and not hasattr(source, "read_next_batch"):
            self._check(source.schema.names)
            self.con.register("log", source)  # a table, a batch or a dataset of Arrow
        elif hasattr(source, "__arrow_c_stream__"):
            if hasattr(source, "select") and hasattr(source, "execute"):  # of Ibis or DuckDB
                self._check(source.columns)
                sql = "duckdb" in type(source).__module__
                source = source.select(*(self.columns([x]) if sql else x for x in self.wanted))
            self._stream(source)
        elif isinstance(source, Mapping) or hasattr(source, "columns"):  # or like a frame
            self._check(source.keys() if isinstance(source, Mapping) else source.columns)
            self._python([{name: one_column(name, source[name]) for name in self.wanted}])
        elif isinstance(source, Iterable):
            self._python(self._rows(iter(source)))
        else:
            raise ValueError(f"a log of type {type(source).__name__}: give {KINDS}")

    def _check(self, names: Iterable[Any], where: str = "the log") -> None:
        """Every wanted column is there, once."""
        there = list(map(str, names))
        for name in self.wanted:
            if name not in there:
                raise ValueError(f"{where} has no column {name!r}{did_you_mean(name, there)}")
            if (times := there.count(name)) > 1:
                raise ValueError(f"{where} has {times} columns {name!r}: rename one")

    def _stream(self, source: Any) -> None:
        """What can be read but once is kept."""
        self.con.register("given", source.__arrow_c_stream__())
        self._check(self._types("given"))
        self.run(f'CREATE TEMP TABLE "log" AS SELECT {self.columns()} FROM given')

    def _files(self, source: Any) -> None:
        paths = paths_of(source)
        with open(paths[0], "rb") as file:
            magic = file.read(16)
        if magic.startswith(b"SQLite format 3") or magic[8:12] == b"DUCK":
            kind = "sqlite" if magic.startswith(b"SQLite") else "duckdb"
            raise ValueError(
                f'{paths[0]} is a database: give "{kind}:///{paths[0]}" and query="...", a SELECT '
                "or the name of a table"
            )
        if magic.startswith(b"PAR1"):
            hive = any("=" in part for part in Path(paths[0]).parts[:-1])
            how = f"hive_partitioning = {hive}, hive_types_autocast = false"
            self.sql = f"read_parquet([{', '.join(map(_literal, paths))}], {how})"
            found = {x: self._types(f"FROM read_parquet({_literal(x)}, {how})") for x in paths}
            first = found[paths[0]]
            self._check(first)
            for path, types in found.items():
                for name in self.wanted:
                    if types.get(name) != first[name]:
                        has = f"as {types[name]}" if name in types else "not at all"
                        raise ValueError(
                            f"{paths[0]} has the column {name!r} as {first[name]}, {path} {has}: "
                            "give files that agree, or a query that makes them"
                        )
            return
        alike: dict[tuple[str, ...], list[str]] = {}
        for path in paths:
            head = _header(path)
            self._check(head[1:], path)
            alike.setdefault(head, []).append(path)
        how = "auto_detect = false, header = true, quote = '\"', escape = '\"', "
        how += f"nullstr = {MISSING}, max_line_size = {LONGEST}, hive_partitioning = false"
        each = [
            f"SELECT {self.columns()} FROM read_csv([{', '.join(map(_literal, some))}], {how}, "
            f"delim = '{delimiter}', columns = {{{', '.join(_numbered(names))}}})"
            for (delimiter, *names), some in alike.items()
        ]
        self.sql = f"({' UNION ALL BY NAME '.join(each)})"

    def _url(self, url: str, query: str | None) -> None:
        scheme, _, rest = url.partition("://")
        if scheme not in SCHEMES:
            raise ValueError(
                f"a log at {scheme}://: URLs of {', '.join(SCHEMES[:3])} are read; of others "
                "give a connection or a cursor"
            )
        if query is None:
            raise ValueError(f"{address(url)}: give query=, a SELECT or the name of a table")
        path = rest.removeprefix("/").partition("?")[0]
        if scheme in ("sqlite", "duckdb"):
            check_source(path, f"a {scheme} database")
        if scheme == "duckdb":
            self.run(f"ATTACH {_text(path)} AS given (READ_ONLY)")
            self.run("USE given")
            self.sql = f"({_select('*', query, lambda part: self.columns([part]))})"
            return self._check(self._types(f"FROM {self.sql}"))
        if scheme == "sqlite":
            lite = sqlite3.connect(f"file:{quote(os.path.abspath(path))}?mode=ro", uri=True)
            self.callback(lite.close)
            return self._database(lite, query)
        password = urlsplit(url).password or ""
        self.secrets = [x for x in (url, password, quote(password)) if x]
        try:
            from adbc_driver_postgresql import dbapi
        except ImportError:
            raise ValueError('PostgreSQL needs its driver: pip install "gim[log]"') from None
        try:
            con = self.enter_context(dbapi.connect(url))
            with con.cursor() as cursor:
                cursor.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
            con.commit()
        except Exception as problem:
            raise ValueError(f"{address(url)} cannot be opened: {self.line(problem)}") from None
        return self._database(con, query)

    def _database(self, con: Any, query: str | None) -> None:
        """A connection, or a cursor: of ADBC and DuckDB by Arrow, of others row by row."""
        mark = "`" if re.search("mysql|maria", type(con).__module__) else '"'
        cursor = con if hasattr(con, "fetchmany") and not hasattr(con, "cursor") else None
        if query is None and (cursor is None or cursor.description is None):
            what = "a connection needs" if cursor is None else "this cursor has asked nothing: give"
            raise ValueError(f"{what} query=, a SELECT or the name of a table")
        try:
            if query is not None:
                asked = _select("*", query, lambda part: self.columns([part], mark))
                sql = asked.replace("*", self.columns(quoted=mark), 1)
                if hasattr(con, "sql") and hasattr(con, "register"):  # DuckDB's
                    self._check(con.sql(asked).columns)
                    self.told.append(sql)
                    return self._stream(con.sql(sql))
                cursor = con.cursor() if cursor is None else cursor
                cursor.execute(f"{asked} WHERE 1 = 0")
                self._check(each[0] for each in cursor.description)
                self.told.append(sql)
                cursor.execute(sql)
            assert cursor is not None
            if hasattr(cursor, "fetch_record_batch"):
                return self._stream(cursor.fetch_record_batch())
            names = [each[0] for each in cursor.description]
            self._check(names)
            pieces = iter(lambda: cursor.fetchmany(PIECE), [])
            self._python(dict(zip(names, zip(*rows, strict=True), strict=True)) for rows in pieces)
        except (ValueError, ImportError):
            raise
        except Exception as problem:  # each driver has errors of its own
            raise ValueError(f"the query fails: {self.line(problem)}") from None

    # -- Python's own values

    def _rows(self, rows: Iterator[Any]) -> Iterator[dict[str, Any]]:
        """Tuples (s, a, r, s2[, done]), or mappings."""
        n, named = 0, False
        while piece := list(islice(rows, PIECE)):
            if n == 0:
                named = hasattr(piece[0], "keys")  # as a row of sqlite3 has, too
                self._check(piece[0].keys() if named else FIELDS)
            picked = [self._row(row, named, n + i) for i, row in enumerate(piece, 1)]
            yield dict(zip(self.wanted, zip(*picked, strict=True), strict=True))
            n += len(piece)

    def _row(self, row: Any, named: bool, i: int) -> list[Any]:
        what, tuples = f"row {i} of the log", isinstance(row, (tuple, list, np.ndarray))
        if named and not hasattr(row, "keys"):
            raise ValueError(f"{what} is {row!r}, others are mappings: give one kind")
        if not named and not (tuples and len(row) in (4, 5)):
            raise ValueError(f"{what} is {row!r}: give (s, a, r, s2) or, with done, 5")
        if not named and len(row) == 4 and "done" in self.wanted:
            raise ValueError(f"{what} has no 'done': give (s, a, r, s2, done)")
        there = dict(row) if named else dict(zip(FIELDS, row, strict=False))
        return [there.get(name) for name in self.wanted]

    def _python(self, batches: Iterable[Mapping[str, Any]]) -> None:
        """Columns in pieces: arrays of numbers as they are, of all else the numbers of values."""
        met: dict[str, dict[Any, int]] = {name: {} for name in self.wanted}
        pieces: dict[str, list[NDArray[Any]]] = {name: [] for name in self.wanted}
        for batch in batches:
            for name, some in pieces.items():
                x, number = batch[name], met[name]
                plain = isinstance(x, np.ndarray) and x.dtype.kind in "biufM"
                some.append(x if plain else _codes(x, number))
        if not any(x.size for some in pieces.values() for x in some):
            raise ValueError("the log has no rows: it needs at least one")
        whole = {name: np.concatenate(some) for name, some in pieces.items()}
        lengths = {name: len(column) for name, column in whole.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the columns of the log differ in length: {lengths}")
        found = dict[str, NDArray[Any]]()
        for name, x in whole.items():
            kind = "M8[us]" if x.dtype.kind == "M" else "f8" if x.dtype == "f2" else x.dtype
            found |= self._coded(name, x, met[name]) if met[name] else {name: x.astype(kind)}
        self.con.register("log", found)

    def _coded(self, name: str, codes: NDArray[Any], met: Mapping[Any, int]) -> dict[str, Any]:
        """A column as each thing that it holds, from its numbers and the values behind them."""
        self.own[name] = [None if missing(x) else label_of(x) for x in met]
        found = {}
        for column, holds in self.fields:
            if column == name:
                values = _ranks(name, list(met)) if holds == "step" else np.arange(len(met))
                if holds in ("number", "flag"):
                    values = np.array(list(map(_number if holds == "number" else _flag, met)))
                found[f"{name}: {holds}"] = values[codes]
        return found


def _codes(values: Iterable[Any], number: dict[Any, int]) -> NDArray[np.int64]:
    """Numbers of values in the order in which they come; new ones are added."""
    each = values.tolist() if isinstance(values, np.ndarray) else list(values)
    try:
        return np.array([number.setdefault(x, len(number)) for x in each], np.int64)
    except TypeError:  # lists, arrays
        return np.array([number.setdefault(label_of(x), len(number)) for x in each], np.int64)


def one_column(name: str, values: Any) -> Any:
    """A column that a user has given: its values one by one, in an order."""
    for way in ("to_pylist", "to_numpy"):  # of pyarrow, of frames
        values = getattr(values, way)() if hasattr(values, way) else values
    listed = isinstance(values, Iterable) and not isinstance(values, (set, frozenset, Mapping))
    if not listed or np.ma.is_masked(values) or getattr(values, "ndim", 1) != 1:
        raise ValueError(f"column {name!r} is no list of values, one for each row")
    if not hasattr(values, "dtype"):
        values = list(values)
        if not set(map(type, values)) <= {int, float}:
            return values
    array = np.asarray(values)
    return array if array.dtype.kind != "O" else array.tolist()  # whole numbers beyond 64 bits


def _number(value: Any) -> float:
    try:
        return math.nan if missing(value) or value == "" else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.inf


def _flag(value: Any) -> float:
    return FLAGS.get(str(value).strip().lower(), math.nan)


def _ranks(column: str, values: Sequence[Any]) -> NDArray[Any]:
    """What steps are put in order by: numbers and texts as they are, all else by rank.

    Halves are no whole numbers, so that ranks count no steps.
    """
    there = [x for x in values if not missing(x)]
    if all(isinstance(x, str) for x in there):
        return np.array([x if isinstance(x, str) else None for x in values], object)
    if all(isinstance(x, Real) for x in there):
        return np.array([_number(x) for x in values])

    def instant(x: Any) -> Any:
        aware = isinstance(x, datetime.datetime) and x.tzinfo is not None
        return x.astimezone(datetime.UTC) if aware else x

    try:
        rank = {x: k + 0.5 for k, x in enumerate(sorted(set(map(instant, there))))}
    except TypeError:
        kinds = " and ".join(sorted({type(x).__name__ for x in there}))
        raise ValueError(f"column {column!r} holds {kinds}: steps have one order") from None
    return np.array([rank.get(instant(x), math.nan) for x in values])


# -- files and databases


def _are_paths(source: Any) -> bool:
    return isinstance(source, (list, tuple)) and bool(source) and all(
        isinstance(each, (str, Path)) for each in source
    )  # fmt: skip


def paths_of(source: Any) -> list[str]:
    """The files that a path, a folder, a glob or a list of them stands for."""
    found: list[str] = []
    for each in source if _are_paths(source) else [source]:
        text, path, some = str(each), Path(each), [str(each)]
        if path.is_dir():
            files = [p for p in sorted(path.rglob("*")) if p.is_file() and p.name[0] not in "._"]
            ends = [".parquet"] if any(p.suffix == ".parquet" for p in files) else [".csv", ".gz"]
            some = [str(p) for p in files if p.suffix in ends]
            none = f"{text} is a folder: give a CSV or Parquet file, or a folder of some"
        elif not path.exists() and glob.has_magic(text):
            some = sorted(glob.glob(text, recursive=True))
            none = f"no file is called {text}: a log is {KINDS}"
        if not some:
            raise ValueError(none)
        found += some
    for file in found:
        try:
            check_source(file, "a CSV or Parquet file")
        except FileNotFoundError as problem:
            raise ValueError(str(problem)) from None
        if os.path.getsize(file) == 0:
            raise ValueError(f"{file} is empty: a log needs a header and at least one row")
    return found


def _header(path: str) -> tuple[str, ...]:
    """What parts the columns of a CSV file, and their names."""
    opened: Any = gzip.open if path.endswith(".gz") else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as lines:
            first = lines.readline()
            delimiter = max(",;\t|", key=first.count)
            header = next(csv.reader([first], delimiter=delimiter), [])
    except (UnicodeDecodeError, csv.Error, OSError):
        raise ValueError(f"{path} is no CSV in UTF-8") from None
    if not header:
        raise ValueError(
            f"{path} begins with an empty line: a log begins with the names of columns"
        )
    return delimiter, *header


def _numbered(names: Sequence[str]) -> Iterator[str]:
    """The columns of a CSV file, all text; one of a name that stands before gets another."""
    for k, name in enumerate(names):
        yield f"{_text(f'{name} {k}' if name in names[:k] else name)}: 'VARCHAR'"


def _is_url(source: Any) -> bool:
    return isinstance(source, str) and "://" in source


def _connection_of(source: Any) -> Any:
    """A connection or a cursor, or None."""
    if hasattr(source, "raw_connection"):  # an engine of SQLAlchemy
        return source.raw_connection()
    if hasattr(source, "exec_driver_sql"):  # a connection of it
        return source.connection
    cursor = all(hasattr(source, name) for name in ("fetchmany", "description", "execute"))
    if (hasattr(source, "cursor") and hasattr(source, "commit")) or cursor:
        return None if hasattr(source, "select") else source
    return None


def _select(columns: str, query: str, named: Callable[[str], str]) -> str:
    """A SELECT of columns of a query, or of a table by its name."""
    query = query.strip().rstrip(";")
    if SELECT.match(query) and not re.fullmatch(r"\w+", query):
        return f"SELECT {columns} FROM ({query}) AS asked"
    if not query or ";" in query or re.match(r"\w+\s+\S", query):
        raise ValueError(f"query = {query!r}: give a SELECT, or the name of a table")
    table = query if '"' in query else ".".join(map(named, query.split(".")))
    return f"SELECT {columns} FROM {table} AS asked"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _literal(path: str) -> str:
    return _text(re.sub(r"([*?\[])", r"[\1]", path))


def _kind(source: Any) -> str:
    return repr(str(source)) if isinstance(source, (str, Path)) else type(source).__name__


def address(url: str) -> str:
    """A URL without what is secret in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"
