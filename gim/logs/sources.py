"""Where a log comes from: whatever it is, DuckDB reads it as a table.

Files, frames and Arrow are read where they lie, as often as is asked. What can be read but once (a
stream, a cursor, rows of Python) is kept in a temporary table of the columns that are wanted.
Nothing is ever written to what is another's: connections of ours are read-only, and a query stands
inside a SELECT of ours.
"""

from __future__ import annotations

import csv
import glob
import gzip
import os
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np
from numpy.typing import NDArray

from gim._base.escapes import shown
from gim._base.files import check_source
from gim._base.registry import did_you_mean
from gim.logs import minari
from gim.mdp.names import label_of

LONGEST = 1 << 22  # bytes of a row of CSV
LINE = 400  # letters of an error that are shown
PIECE = 1 << 18  # rows of Python that are read at a time
FIELDS = ("s", "a", "r", "s2", "done")  # what the tuples of a log hold, in their order
MISSING = ("", "NaN", "nan", "null", "NULL")  # how CSV writes that there is nothing
MEMORY = "700MB"  # that DuckDB takes before it spills
SCHEMES = ("sqlite", "duckdb", "postgresql", "postgres")
SELECT = re.compile(r"\s*(select|with|from|values|table)\b", re.IGNORECASE)
KINDS = (
    "a CSV or Parquet file, a folder or list of them, a frame, a table, a connection or the URL of "
    "a database with query=, or rows (s, a, r, s2)"
)


class Table:
    """A source that DuckDB can read, open as long as its block lasts.

    Attributes:
        con: the connection that reads it.
        sql: what stands after FROM.
        types: DuckDB's types of the columns that are wanted.
        labels: the labels behind the numbers of columns that came as Python's own values.
        told: all that was asked of DuckDB, in order.
    """

    def __init__(self, source: Any, wanted: Sequence[str], query: str | None = None) -> None:
        self.wanted, self.labels, self.told = list(wanted), dict[str, list[Any]](), list[str]()
        self.secrets: list[str] = []  # what no message may show
        self.sql = '"log"'
        self.open = ExitStack()
        self.error = _duckdb().Error
        try:
            self.con = self.connected(":memory:")
            self._read(source, query)
            found = self.run(f"DESCRIBE SELECT {self.columns()} FROM {self.sql}")
        except BaseException:
            self.open.close()
            raise
        self.types = {name: kind for name, kind, *_ in found}
        for name, kind in self.types.items():
            if "[" in kind or kind.startswith(("STRUCT", "MAP", "UNION", "BLOB")):
                self.open.close()
                raise ValueError(
                    f"column {name!r} holds {kind.partition('(')[0]}, which is no label: give texts"
                    " or numbers, one column for each part"
                )

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *_: object) -> None:
        self.open.close()

    def connected(self, path: str, **more: Any) -> Any:
        """A connection of ours; what it spills goes with it."""
        spill = self.open.enter_context(tempfile.TemporaryDirectory(prefix="gim-"))
        config: dict[str, Any] = {"temp_directory": spill, "memory_limit": MEMORY}
        config |= {"TimeZone": "UTC", "autoinstall_known_extensions": False}
        con = _duckdb().connect(path, config=config, **more)
        self.open.callback(con.close)
        return con

    def run(self, sql: str) -> list[Any]:
        """Ask DuckDB for rows."""
        found: list[Any] = self._asked(sql).fetchall()
        return found

    def arrays(self, sql: str) -> dict[str, NDArray[Any]]:
        """Ask DuckDB for columns, in which nothing is missing."""
        found = self._asked(sql).fetchnumpy()
        return {name: np.asarray(getattr(x, "data", x)) for name, x in found.items()}

    def _asked(self, sql: str) -> Any:
        """An error is one line."""
        self.told.append(sql)
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

    # -- sources one by one

    def _read(self, source: Any, query: str | None) -> None:
        scheme = source.partition("://")[0] if isinstance(source, str) and "://" in source else ""
        asked = _connection_of(source)
        if query is not None and not scheme and asked is None:
            raise ValueError(f"query= asks a database, and this is {_kind(source)}: leave it out")
        if scheme:
            self._url(source, scheme, query)
        elif asked is not None:
            self._database(asked, query)
        elif isinstance(source, (str, Path)) or _are_paths(source):
            self._files(source)
        elif minari.is_dataset(source):
            self._check(minari.COLUMNS)
            self._batches(minari.batches(source))
        elif hasattr(source, "assign") and hasattr(source, "iloc"):  # pandas
            self._check(list(map(str, source.columns)))
            frame = source[self.wanted]
            own = {name: frame[name].to_numpy() for name in self.wanted if frame[name].dtype == "O"}
            self.con.register("log", frame.assign(**self._coded(own)))
        elif hasattr(source, "collect_schema") and hasattr(source, "select"):  # polars
            self._check(source.collect_schema().names())
            self.con.register("log", source.select(self.wanted))
        elif hasattr(source, "to_batches") or hasattr(source, "__arrow_c_stream__"):
            self._arrow(source)
        elif hasattr(source, "columns") and hasattr(source, "__getitem__"):  # like a frame
            self._check(list(map(str, source.columns)))
            self._batches(iter([{name: source[name].to_numpy() for name in self.wanted}]))
        elif isinstance(source, Mapping):
            self._check(list(source))
            columns = {name: one_column(name, source[name]) for name in self.wanted}
            lengths = {name: len(column) for name, column in columns.items()}
            if len(set(lengths.values())) > 1:
                raise ValueError(f"the columns of the log differ in length: {lengths}")
            self._batches(iter([columns]))
        elif isinstance(source, Iterable):
            self._batches(self._rows(iter(source)))
        else:
            raise ValueError(f"a log of type {type(source).__name__}: give {KINDS}")

    def _check(self, there: Sequence[str], where: str = "the log") -> None:
        """Every wanted column is there, once."""
        for name in self.wanted:
            if name not in there:
                raise ValueError(f"{where} has no column {name!r}{did_you_mean(name, there)}")
            if (times := list(there).count(name)) > 1:
                raise ValueError(f"{where} has {times} columns {name!r}: rename one")

    def _arrow(self, source: Any) -> None:
        """What Arrow can stream; tables and datasets may be read again, the rest may not."""
        schema = getattr(source, "schema", None)
        names = getattr(schema, "names", None) or getattr(source, "columns", None)
        if names is not None:
            self._check(list(map(str, names)))
        if hasattr(source, "to_batches") and not hasattr(source, "read_next_batch"):
            self.con.register("log", source)  # a table, a batch or a dataset
            return
        if hasattr(source, "select") and hasattr(source, "execute"):  # of Ibis or DuckDB
            source = source.select(*map(_column_of(source), self.wanted))
        self._stream(source)

    def _stream(self, source: Any) -> None:
        """What can be read but once is kept."""
        self.con.register("given", source.__arrow_c_stream__())
        self._check([column for column, *_ in self.run("DESCRIBE given")])
        self.run(f'CREATE TEMP TABLE "log" AS SELECT {self.columns()} FROM given')

    def _files(self, source: Any) -> None:
        paths, hive = paths_of(source)
        listed = "[" + ", ".join(map(_literal, paths)) + "]"
        with open(paths[0], "rb") as file:
            magic = file.read(16)
        if magic.startswith(b"SQLite format 3") or magic[8:12] == b"DUCK":
            kind = "sqlite" if magic.startswith(b"SQLite") else "duckdb"
            raise ValueError(
                f'{paths[0]} is a database: give "{kind}:///{paths[0]}" and query="...", a SELECT '
                "or the name of a table"
            )
        if magic.startswith(b"PAR1"):
            self.sql = f"read_parquet({listed}{', hive_partitioning = true' if hive else ''})"
            parts = [part.split("=")[0] for part in Path(paths[0]).parts if "=" in part]
            self._same(paths, parts if hive else [])
            return
        pieces: dict[tuple[str, ...], list[str]] = {}
        for path in paths:
            pieces.setdefault(_header(path, self._check), []).append(path)
        self.sql = " UNION ALL BY NAME ".join(
            f"SELECT {self.columns()} FROM read_csv([{', '.join(map(_literal, some))}], "
            f"auto_detect = false, header = true, delim = '{delimiter}', quote = '\"', "
            f"escape = '\"', nullstr = {list(MISSING)}, max_line_size = {LONGEST}, "
            "hive_partitioning = false, columns = {"
            + ", ".join(f"{_text(name)}: 'VARCHAR'" for name in header) + "})"
            for (delimiter, *header), some in pieces.items()
        )  # fmt: skip
        self.sql = f"({self.sql})"

    def _same(self, paths: Sequence[str], parts: Sequence[str]) -> None:
        """Parquet files have the wanted columns, of the same types."""
        listed = "[" + ", ".join(map(_literal, paths)) + "]"
        found = self.run(
            f"SELECT file_name, name, duckdb_type, num_children FROM parquet_schema({listed})"
        )
        by_file: dict[str, dict[str, str]] = {path: {} for path in paths}
        twice: list[str] = []
        within = 0  # parts of a column that are still to come: these are none themselves
        for k, (file, name, kind, inside) in enumerate(found):
            if k == 0 or file != found[k - 1][0]:  # the root, whose parts are the columns
                within = 0
            elif within:
                within += (inside or 0) - 1
            else:
                within = inside or 0
                if name in by_file[file] and file == paths[0]:
                    twice.append(name)
                by_file[file][name] = kind
        first = by_file[paths[0]]
        self._check([*first, *parts, *twice])
        for file, columns in by_file.items():
            for name in self.wanted:
                if name in parts or columns.get(name) == first.get(name):
                    continue
                has = f"as {columns[name]}" if name in columns else "not at all"
                raise ValueError(
                    f"{paths[0]} has the column {name!r} as {first.get(name)}, {file} {has}: "
                    "give files that agree, or a query that makes them"
                )

    def _url(self, url: str, scheme: str, query: str | None) -> None:
        if scheme not in SCHEMES:
            raise ValueError(
                f"a log at {scheme}://: URLs of {', '.join(SCHEMES[:3])} are read; of others "
                "give a connection or a cursor"
            )
        if query is None:
            raise ValueError(f"{address(url)}: give query=, a SELECT or the name of a table")
        if scheme in ("sqlite", "duckdb"):
            path = url.partition("://")[2].removeprefix("/").partition("?")[0]
            check_source(path, f"a {scheme} database")
            if scheme == "duckdb":
                try:
                    self.con = self.connected(path, read_only=True)
                except self.error as problem:
                    raise ValueError(f"{path} cannot be opened: {self.line(problem)}") from None
                self.sql = f"({_select('*', query, quoted)})"
                names = [c for c, *_ in self.run(f"DESCRIBE FROM {self.sql}")]
                return self._check(names)
            lite = sqlite3.connect(f"file:{quote(os.path.abspath(path))}?mode=ro", uri=True)
            self.open.callback(lite.close)
            return self._database(lite, query)
        parts = urlsplit(url)
        self.secrets = [url, *filter(None, [parts.password, quote(parts.password or "")])]
        try:
            from adbc_driver_postgresql import dbapi
        except ImportError:
            raise ValueError('PostgreSQL needs its driver: pip install "gim[log]"') from None
        try:
            con = self.open.enter_context(dbapi.connect(url))
            with con.cursor() as cursor:
                cursor.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
            con.commit()
        except Exception as problem:
            raise ValueError(f"{address(url)} cannot be opened: {self.line(problem)}") from None
        return self._database(con, query)

    def _database(self, con: Any, query: str | None) -> None:
        """A connection, or a cursor: of ADBC and DuckDB by Arrow, of others row by row."""
        cursor: Any = con if hasattr(con, "fetchmany") and not hasattr(con, "cursor") else None
        if cursor is None and query is None:
            raise ValueError("a connection needs query=, a SELECT or the name of a table")
        mark = "`" if re.search("mysql|maria", type(con).__module__) else '"'

        def named(part: str) -> str:
            return self.columns([part], mark)

        own = hasattr(con, "sql") and hasattr(con, "register")  # DuckDB's
        try:
            if query is not None and own:
                names = con.sql(_select("*", query, named)).columns
            elif query is not None:
                cursor = con.cursor() if cursor is None else cursor
                cursor.execute(_select("*", query, named) + " WHERE 1 = 0")
                names = [each[0] for each in cursor.description]
            elif cursor.description is None:
                raise ValueError("this cursor has asked nothing: give query=, a SELECT")
            else:
                names = [each[0] for each in cursor.description]
            self._check(names)
            if query is not None:
                names, sql = self.wanted, _select(self.columns(quoted=mark), query, named)
                self.told.append(sql)
                if own:
                    return self._stream(con.sql(sql))
                cursor.execute(sql)
            if hasattr(cursor, "fetch_record_batch"):
                return self._stream(cursor.fetch_record_batch())
            self._batches(self._fetched(cursor, [names.index(name) for name in self.wanted]))
        except (ValueError, ImportError):
            raise
        except Exception as problem:  # each driver has errors of its own
            raise ValueError(f"the query fails: {self.line(problem)}") from None
        return None

    def _fetched(self, cursor: Any, places: Sequence[int]) -> Iterator[dict[str, Any]]:
        while rows := cursor.fetchmany(PIECE):
            columns = list(zip(*rows, strict=True))
            yield {name: columns[k] for name, k in zip(self.wanted, places, strict=True)}

    def _rows(self, rows: Iterator[Any]) -> Iterator[dict[str, Any]]:
        """Tuples (s, a, r, s2[, done]), or mappings."""
        start = 0
        while piece := list(islice(rows, PIECE)):
            if isinstance(piece[0], Mapping) or hasattr(piece[0], "keys"):  # or a row of sqlite3
                self._check(list(piece[0].keys()))
                picked = [_of_mapping(row, self.wanted, start + i) for i, row in enumerate(piece)]
            else:
                self._check(FIELDS)
                places = [FIELDS.index(name) for name in self.wanted]
                picked = [_of_tuple(row, places, start + i) for i, row in enumerate(piece)]
            yield dict(zip(self.wanted, zip(*picked, strict=True), strict=True))
            start += len(piece)

    # -- Python's own values

    def _batches(self, batches: Iterator[Mapping[str, Any]]) -> None:
        """Columns in pieces: numbers as they are, all else as numbers of its labels."""
        kept: dict[str, list[Any]] = {name: [] for name in self.wanted}
        for batch in batches:
            for name, pieces in kept.items():
                pieces.append(array_of(batch[name]))
        if not any(kept.values()):
            raise ValueError("the log has no rows: it needs at least one")
        whole = {name: joined(pieces) for name, pieces in kept.items()}
        self.con.register("log", self._coded(whole))

    def _coded(self, columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Numbers and texts as they are; of all else the numbers of labels, which are kept."""
        found = dict(columns)
        for name, values in columns.items():
            if values.dtype.kind == "M":
                found[name] = values.astype("datetime64[us]")
            elif values.dtype.kind == "O" and not {type(x) for x in values} <= {str, type(None)}:
                found[name], self.labels[name] = coded(values.tolist())
        return found


def _duckdb() -> Any:
    """Imported when a log is read, not before."""
    import duckdb

    return duckdb


def coded(values: Sequence[Any]) -> tuple[NDArray[np.int64], list[Any]]:
    """Numbers of labels in the order in which they come, and the labels."""
    try:
        met = dict.fromkeys(values)
    except TypeError:  # lists, arrays
        values = list(map(label_of, values))
        met = dict.fromkeys(values)
    number = dict(zip(met, range(len(met)), strict=True))
    codes = np.fromiter(map(number.__getitem__, values), np.int64, len(values))
    return codes, [None if each != each else label_of(each) for each in met]


def array_of(values: Any) -> NDArray[Any]:
    """An array of numbers where all are, else of objects; lists and tuples stay single things."""
    if hasattr(values, "dtype"):
        array = np.asarray(values)
        return array.astype(np.float64) if array.dtype == np.float16 else array
    kinds = {type(value) for value in values}
    if kinds <= {int, float} or kinds <= {bool}:
        try:
            return np.array(values, np.float64 if float in kinds else None)
        except OverflowError:  # whole numbers of more than 64 bits
            pass
    return np.fromiter(values, object, len(values))


def joined(pieces: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Pieces of one column; of objects where they are not of one kind."""
    kinds = {piece.dtype.kind for piece in pieces}
    if len(kinds) == 1 or kinds <= set("iuf"):
        return np.concatenate(pieces)
    whole = [value for piece in pieces for value in piece.tolist()]
    return np.fromiter(whole, object, len(whole))


def one_column(name: str, values: Any) -> Any:
    """A column that a user has given: its values one by one, in an order."""
    if hasattr(values, "to_pylist"):  # of pyarrow
        values = values.to_pylist()
    if isinstance(values, Iterable) and not isinstance(values, (set, frozenset, Mapping)):
        listed = values if hasattr(values, "dtype") else list(values)
        if not np.ma.is_masked(values) and (column := array_of(listed)).ndim == 1:
            return column
    raise ValueError(f"column {name!r} is no list of values, one for each row")


def _of_mapping(row: Any, wanted: Sequence[str], i: int) -> list[Any]:
    if isinstance(row, Mapping):
        return [row.get(name) for name in wanted]
    if hasattr(row, "keys"):
        return [row[name] for name in wanted]
    raise ValueError(f"row {i + 1} of the log is {row!r}, others are mappings: give one kind")


def _of_tuple(row: Any, places: Sequence[int], i: int) -> list[Any]:
    if not isinstance(row, (tuple, list, np.ndarray)) or len(row) not in (4, 5):
        raise ValueError(f"row {i + 1} of the log is {row!r}: give (s, a, r, s2) or, with done, 5")
    if max(places) >= len(row):
        raise ValueError(f"row {i + 1} of the log has no 'done': give (s, a, r, s2, done)")
    return [row[place] for place in places]


# -- files and databases


def _are_paths(source: Any) -> bool:
    return isinstance(source, (list, tuple)) and bool(source) and all(
        isinstance(each, (str, Path)) for each in source
    )  # fmt: skip


def paths_of(source: Any) -> tuple[list[str], bool]:
    """The files that a path, a folder, a glob or a list of them stands for; by partition or not."""
    found: list[str] = []
    for each in source if _are_paths(source) else [source]:
        text, path = str(each), Path(each)
        if path.is_dir():
            files = [p for p in sorted(path.rglob("*")) if p.is_file() and p.name[0] not in "._"]
            ends = [".parquet"] if any(p.suffix == ".parquet" for p in files) else [".csv", ".gz"]
            some = [str(p) for p in files if p.suffix in ends]
            if not some:
                raise ValueError(
                    f"{text} is a folder: give a CSV or Parquet file, or a folder of some"
                )
            found += some
        elif not path.exists() and glob.has_magic(text):
            if not (some := sorted(glob.glob(text, recursive=True))):
                raise ValueError(f"no file is called {text}: a log is {KINDS}")
            found += some
        else:
            found.append(text)
    for file in found:
        try:
            check_source(file, "a CSV or Parquet file")
        except FileNotFoundError as problem:
            raise ValueError(str(problem)) from None
        if os.path.getsize(file) == 0:
            raise ValueError(f"{file} is empty: a log needs a header and at least one row")
    return found, any("=" in part for part in Path(found[0]).parts[:-1])


def _header(path: str, check: Callable[[Sequence[str], str], None]) -> tuple[str, ...]:
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
    check(header, path)
    return delimiter, *(
        f"{name} {k}" if name in header[:k] else name for k, name in enumerate(header)
    )


def _connection_of(source: Any) -> Any:
    """A connection or a cursor, or None."""
    if hasattr(source, "raw_connection"):  # an engine of SQLAlchemy
        return source.raw_connection()
    if hasattr(source, "exec_driver_sql"):  # a connection of it
        return source.connection
    if hasattr(source, "cursor") and hasattr(source, "commit"):
        return source
    return (
        source
        if hasattr(source, "fetchmany")
        and hasattr(source, "description")
        and hasattr(source, "execute")
        and not hasattr(source, "select")
        else None
    )


def _select(columns: str, query: str, named: Callable[[str], str]) -> str:
    """A SELECT of columns of a query, or of a table by its name."""
    query = query.strip().rstrip(";")
    if SELECT.match(query) and not re.fullmatch(r"\w+", query):
        return f"SELECT {columns} FROM ({query}) AS asked"
    if not query or ";" in query or re.match(r"\w+\s+\S", query):
        raise ValueError(f"query = {query!r}: give a SELECT, or the name of a table")
    table = query if '"' in query else ".".join(map(named, query.split(".")))
    return f"SELECT {columns} FROM {table} AS asked"


def _column_of(source: Any) -> Callable[[str], Any]:
    """How a column is named to a relation: DuckDB takes SQL, Ibis names."""
    return quoted if "duckdb" in type(source).__module__ else str


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


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
