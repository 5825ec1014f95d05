"""Where a log comes from: files, frames, tables and rows, all read as batches of columns.

A batch is a mapping of column names to arrays of numpy or of pyarrow, all of one length. Files are
read in pieces, so a log may be larger than memory as text.
"""

from __future__ import annotations

import csv
import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from gim._base.files import check_source
from gim._base.registry import did_you_mean
from gim.logs import minari

Batch = Mapping[str, Any]
BLOCK = 1 << 22  # bytes of CSV, or a quarter of so many rows, that are read at a time
FIELDS = ("s", "a", "r", "s2", "done")  # what the tuples of a log hold, in their order
MISSING = ("", "NaN", "nan", "null", "NULL")  # how CSV writes that there is nothing


def pyarrow(module: str) -> Any:
    """A module of pyarrow, or one line on how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ValueError('reading a log needs pyarrow: pip install "gim[log]"') from None


def batches_of(source: Any, wanted: Sequence[str]) -> Iterator[Batch]:
    """The wanted columns of a source, in pieces."""
    if isinstance(source, (str, Path)):
        return _file(Path(source), wanted)
    if minari.is_dataset(source):
        check_columns(wanted, minari.COLUMNS)
        return minari.batches(source)
    if hasattr(source, "column_names") and hasattr(source, "to_batches"):  # a pyarrow table
        check_columns(wanted, source.column_names)
        pieces = source.select(list(wanted)).to_batches(max_chunksize=BLOCK >> 2)
        return ({name: piece[name] for name in wanted} for piece in pieces)
    if hasattr(source, "columns") and hasattr(source, "__getitem__"):  # pandas, polars
        check_columns(wanted, list(map(str, source.columns)))
        return iter([{name: source[name].to_numpy() for name in wanted}])
    if isinstance(source, Mapping):
        check_columns(wanted, list(source))
        columns = {name: _one_column(name, source[name]) for name in wanted}
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"the columns of the log differ in length: {lengths}")
        return iter([columns])
    if isinstance(source, Iterable):
        return _rows(source, wanted)
    raise ValueError(
        f"a log of type {type(source).__name__}: give the path of a CSV or Parquet file, a frame, "
        "a table, or rows (s, a, r, s2)"
    )


def check_columns(wanted: Sequence[str], there: Sequence[str]) -> None:
    """Every wanted column is there, once."""
    for name in wanted:
        if name not in there:
            raise ValueError(f"the log has no column {name!r}{did_you_mean(name, there)}")
        if list(there).count(name) > 1:
            raise ValueError(f"the log has {list(there).count(name)} columns {name!r}: rename one")


def _file(path: Path, wanted: Sequence[str]) -> Iterator[Batch]:
    try:
        check_source(path, "a CSV or Parquet file")
    except FileNotFoundError as problem:
        raise ValueError(str(problem)) from None
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty: a log needs a header and at least one row")
    with path.open("rb") as file:
        is_parquet = file.read(4) == b"PAR1"
    return _parquet(path, wanted) if is_parquet else _csv(path, wanted)


def _parquet(path: Path, wanted: Sequence[str]) -> Iterator[Batch]:
    parquet, pa = pyarrow("pyarrow.parquet"), pyarrow("pyarrow")
    try:
        with parquet.ParquetFile(path) as file:
            check_columns(wanted, file.schema_arrow.names)
            for piece in file.iter_batches(BLOCK >> 2, columns=list(wanted), use_threads=False):
                yield {name: piece[name] for name in wanted}
    except pa.ArrowException as problem:
        raise ValueError(f"{path} cannot be read: {_line(problem)}") from None


def _csv(path: Path, wanted: Sequence[str]) -> Iterator[Batch]:
    """All columns as text: what they hold is decided when all of it is known."""
    pa, reader = pyarrow("pyarrow"), pyarrow("pyarrow.csv")
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            header = next(csv.reader(lines), [])
    except (UnicodeDecodeError, csv.Error):
        raise ValueError(f"{path} is no CSV in UTF-8") from None
    if not header:
        raise ValueError(
            f"{path} begins with an empty line: a log begins with the names of columns"
        )
    check_columns(wanted, header)
    convert = reader.ConvertOptions(
        include_columns=list(wanted),
        column_types={name: pa.string() for name in wanted},
        null_values=list(MISSING),
        strings_can_be_null=True,
        quoted_strings_can_be_null=True,
    )
    read = reader.ReadOptions(block_size=BLOCK, use_threads=False)
    parse = reader.ParseOptions(newlines_in_values=False)
    try:
        with reader.open_csv(path, read, parse, convert) as pieces:
            for piece in pieces:
                yield {name: piece[name] for name in wanted}
    except pa.ArrowException as problem:
        reason = _line(problem)
        if "straddl" in reason:  # pyarrow's word for a row that does not fit into a piece
            reason = f"a row is longer than {BLOCK >> 20} MiB"
        raise ValueError(f"{path} cannot be read: {reason}") from None


def _rows(source: Iterable[Any], wanted: Sequence[str]) -> Iterator[Batch]:
    """Tuples (s, a, r, s2[, done]), or mappings."""
    rows, start = iter(source), 0
    while piece := list(islice(rows, BLOCK >> 4)):
        if isinstance(piece[0], Mapping):
            check_columns(wanted, list(piece[0]))
            picked = [_of_mapping(row, wanted, start + i) for i, row in enumerate(piece)]
        else:
            check_columns(wanted, FIELDS)
            places = [FIELDS.index(name) for name in wanted]
            picked = [_of_tuple(row, places, start + i) for i, row in enumerate(piece)]
        columns = list(zip(*picked, strict=True))
        yield {name: _column(column) for name, column in zip(wanted, columns, strict=True)}
        start += len(piece)


def _of_mapping(row: Any, wanted: Sequence[str], i: int) -> list[Any]:
    if not isinstance(row, Mapping):
        raise ValueError(f"row {i + 1} of the log is {row!r}, others are mappings: give one kind")
    return [row.get(name) for name in wanted]


def _of_tuple(row: Any, places: Sequence[int], i: int) -> list[Any]:
    if not isinstance(row, (tuple, list, np.ndarray)) or len(row) not in (4, 5):
        raise ValueError(f"row {i + 1} of the log is {row!r}: give (s, a, r, s2) or, with done, 5")
    if max(places) >= len(row):
        raise ValueError(f"row {i + 1} of the log has no 'done': give (s, a, r, s2, done)")
    return [row[place] for place in places]


def _one_column(name: str, values: Any) -> Any:
    """A column that a user has given: its values one by one, in an order."""
    if hasattr(values, "to_pylist"):  # of pyarrow
        values = values.to_pylist()
    if isinstance(values, Iterable) and not isinstance(values, (set, frozenset, Mapping)):
        listed = values if hasattr(values, "dtype") else list(values)
        if not np.ma.is_masked(values) and (column := _column(listed)).ndim == 1:
            return column
    raise ValueError(f"column {name!r} is no list of values, one for each row")


def _column(values: Any) -> Any:
    """An array of numbers where all are, else of objects; lists and tuples stay single things."""
    if hasattr(values, "dtype"):
        return np.asarray(values)
    kinds = {type(value) for value in values}
    if kinds <= {int, float} or kinds <= {bool}:
        try:
            return np.array(values, np.float64 if float in kinds else None)
        except OverflowError:  # whole numbers of more than 64 bits
            pass
    return np.fromiter(values, object, len(values))


def _line(problem: Exception) -> str:
    return " ".join(str(problem).split())
