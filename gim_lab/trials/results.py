"""Results as a tidy table: a row per trial, a column per measure, and the curves beside them."""

from __future__ import annotations

import csv
import importlib
import io
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim._base import html
from gim._base.escapes import cell
from gim._base.files import replacing
from gim._base.registry import did_you_mean
from gim.envs import tasks
from gim.runs.agent import agents
from gim_lab.trials import spec
from gim_lab.trials.result import Result

NORMAL = {"agent": spec.agent_spec, "task": spec.task_spec, "world": spec.world_spec}
CURVE = "curve_"  # what the column of a curve begins with in a Parquet file


class Results:
    """A tidy table: `columns` are arrays [runs] by name, `curves` lists of arrays by name.

    Columns are those of `gim_lab.trials.measures` and the trial's own: `task`, `agent`,
    `episodes`, `seed`, and `world`, the task without the seed of its instance.

    Example:
        >>> from gim_lab import Trial, execute
        >>> trials = [Trial("riverswim", agent, 20, seed)
        ...           for agent in ("optimal", "random") for seed in range(3)]
        >>> results = execute(trials, engine="serial")
        >>> results.where(agent="optimal").column("seed")
        array([0, 1, 2])
        >>> [agent for agent, part in results.groups("agent")]
        ['optimal', 'random']
        >>> results.curve("cumulative").shape
        (6, 20)
    """

    def __init__(
        self, columns: dict[str, NDArray[Any]], curves: dict[str, list[NDArray[Any]]]
    ) -> None:
        self.columns, self.curves = columns, curves

    @classmethod
    def of(cls, results: Iterable[Result]) -> Results:
        """A table of these results, in their order; what one of them lacks is NaN or empty."""
        rows = list(results)
        names = dict.fromkeys(name for row in rows for name in row.columns)
        columns = {name: _column([row.columns.get(name) for row in rows]) for name in names}
        curves = dict.fromkeys(name for row in rows for name in row.curves)
        empty = np.zeros(0)
        return cls(
            columns, {name: [row.curves.get(name, empty) for row in rows] for name in curves}
        )

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __repr__(self) -> str:
        kinds = {name: len(set(self.columns[name])) for name in ("world", "agent") if len(self)}
        return (
            f"<Results: {len(self)} runs, " + ", ".join(f"{n} {k}s" for k, n in kinds.items()) + ">"
        )

    def _repr_html_(self) -> str:
        rows = [
            [world, agent, len(part), float(part.column("score").mean())]
            for (world, agent), part in self.groups("world", "agent")
        ]
        heads = ["world", "agent", "runs", "mean score"]
        return html.facts(repr(self)[1:-1], [heads, *rows] if len(self) else [])

    # -- looking

    def column(self, name: str) -> NDArray[Any]:
        """One column, [runs]."""
        if name not in self.columns:
            raise ValueError(
                f"the results have no column {name!r}{did_you_mean(name, self.columns)}"
            )
        return self.columns[name]

    def curve(self, name: str) -> NDArray[np.float64]:
        """One curve of every run, [runs, points]; the runs must be of equal length."""
        if name not in self.curves:
            raise ValueError(f"the results have no curve {name!r}{did_you_mean(name, self.curves)}")
        lengths = {curve.size for curve in self.curves[name]}
        if len(lengths) > 1:
            raise ValueError(
                f"the curves {name!r} have {sorted(lengths)} points: select runs of equal length, "
                "such as results.where(episodes=...)"
            )
        return np.stack(self.curves[name])

    def parameter(self, name: str) -> NDArray[Any]:
        """A parameter of the agent, or else of the task, in every run; NaN or "" without one.

        Example: ``results.parameter("m")``, ``results.parameter("rank")``.
        """
        values = []
        for agent, task in zip(self.column("agent"), self.column("task"), strict=True):
            value = spec.parameter(str(agent), name, agents)
            values.append(spec.parameter(str(task), name, tasks) if value is None else value)
        return _column(values)

    # -- selecting

    def where(self, **wanted: Any) -> Results:
        """The runs in which these columns have this value, or one of these values.

        Specs are brought to normal form first: `agent="gim:m=40"` finds `gim`.
        """
        keep = np.ones(len(self), bool)
        for name, value in wanted.items():
            normal = NORMAL.get(name, lambda same: same)
            several = isinstance(value, list | tuple | set | range | np.ndarray)
            values = [normal(v) for v in value] if several else [normal(value)]
            keep &= np.isin(self.column(name), values)
        return self[keep]

    def groups(self, *names: str) -> Iterator[tuple[Any, Results]]:
        """Each value of a column (or tuple of values), in order of appearance, with its runs."""
        keys = list(zip(*(self.column(name).tolist() for name in names), strict=True))
        rows: dict[Any, list[int]] = {}
        for i, key in enumerate(keys):
            rows.setdefault(key, []).append(i)
        for key, picked in rows.items():
            yield key[0] if len(names) == 1 else key, self[picked]

    def __getitem__(self, rows: Any) -> Results:
        """Some runs: a mask [runs], a slice, or their indices."""
        picked = np.arange(len(self))[rows].reshape(-1)
        return Results(
            {name: column[picked] for name, column in self.columns.items()},
            {name: [curves[i] for i in picked] for name, curves in self.curves.items()},
        )

    def __add__(self, other: Results) -> Results:
        """Both, one below the other."""
        return Results.of([*self.rows(), *other.rows()])

    def rows(self) -> list[Result]:
        """The table as single results."""
        columns = {name: column.tolist() for name, column in self.columns.items()}
        return [
            Result(
                {name: column[i] for name, column in columns.items()},
                {name: curves[i] for name, curves in self.curves.items()},
            )
            for i in range(len(self))
        ]

    def same_bits(self, other: Results) -> bool:
        """Whether all but the columns of time, memory and host agree, to the last bit."""
        return [row.bits() for row in self.rows()] == [row.bits() for row in other.rows()]

    # -- ways out and in

    def to_csv(self, path: str | Path) -> None:
        """Write a row per run, without the curves; texts are escaped (`gim._base.escapes.cell`)."""
        lines = io.StringIO(newline="")
        rows = csv.writer(lines)
        rows.writerow(map(cell, self.columns))
        for row in zip(*(column.tolist() for column in self.columns.values()), strict=True):
            rows.writerow([cell(value) if isinstance(value, str) else value for value in row])
        with replacing(path) as file:
            file.write(lines.getvalue().encode())

    def to_json(self, path: str | Path) -> None:
        """Write a list of runs, each with its columns and its curves; NaN is null."""
        with replacing(path) as file:
            file.write((json.dumps(self._records(), allow_nan=False) + "\n").encode())

    def to_pandas(self) -> Any:
        """A pandas DataFrame, a row per run; curves are columns of arrays."""
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            raise ValueError("a DataFrame needs pandas: pip install pandas") from None
        curves = {CURVE + name: list(values) for name, values in self.curves.items()}
        return pandas.DataFrame(self.columns | curves)

    def _records(self) -> list[dict[str, Any]]:
        return [
            {name: _plain(value) for name, value in row.columns.items()}
            | {
                CURVE + name: [_plain(v) for v in values.tolist()]
                for name, values in row.curves.items()
            }
            for row in self.rows()
        ]

    def to_parquet(self, path: str | Path) -> None:
        """Write one Parquet file, atomically: curves are list columns named ``curve_...``."""
        arrow, parquet = _arrow()
        columns = {name: arrow.array(column.tolist()) for name, column in self.columns.items()}
        for name, curves in self.curves.items():
            columns[CURVE + name] = arrow.array([curve.tolist() for curve in curves])
        with replacing(path) as file:
            parquet.write_table(arrow.table(columns), file)

    @classmethod
    def from_parquet(cls, path: str | Path) -> Results:
        """Read what `to_parquet` wrote."""
        arrow, parquet = _arrow()
        try:
            table = parquet.ParquetFile(path).read()
        except arrow.ArrowInvalid as problem:
            raise ValueError(f"{path} is not a Parquet file: {problem}") from None
        columns, curves = {}, {}
        for name in table.column_names:
            values = table.column(name).to_pylist()
            if name.startswith(CURVE):
                curves[name.removeprefix(CURVE)] = [np.array(value) for value in values]
            else:
                columns[name] = _column(values)
        return cls(columns, curves)


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _column(values: Sequence[Any]) -> NDArray[Any]:
    """An array of one plain kind; None is NaN among numbers and the empty string among texts."""
    kinds = {type(value) for value in values if value is not None}
    if kinds and not kinds <= {bool, int, float, str}:
        return np.array(values, dtype=object)
    if str in kinds:
        return np.array(["" if value is None else str(value) for value in values])
    if None in values:
        return np.array([np.nan if value is None else value for value in values], np.float64)
    return np.array(values)


def _arrow() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ValueError('Parquet needs pyarrow: pip install "gim[lab]"') from None
