"""What an experiment comes to: figures and tables as plain data, for any page or plot to draw."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Series:
    """One line (or, without a line, one set of marks) of a panel."""

    name: str  # of the agent, or whatever the legend shows
    x: list[float | None]
    y: list[float | None]  # None leaves a gap
    low: list[float | None] | None = (
        None  # of the interval, where there are runs enough; the note names it
    )
    high: list[float | None] | None = None
    text: list[str] | None = None  # shown on hover, a line per point
    marks: bool = False  # mark the points, as in a sweep
    hollow: list[bool] | None = None  # marks that stand for runs not all finished
    kind: str = "line"  # or "step": a level around each x, for what has no values between


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    x: str
    y: str
    series: list[Series]
    log_x: bool = False


@dataclass(frozen=True)
class Figure:
    """Panels side by side, with one legend."""

    name: str  # of its files
    title: str
    panels: list[Panel]
    note: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of numbers and texts."""

    title: str
    columns: list[str]
    rows: list[list[Any]]
    note: str = ""


@dataclass(frozen=True)
class Drawing:
    """One drawing with what it shows."""

    caption: str
    svg: str


@dataclass(frozen=True)
class Picture:
    """Drawings side by side."""

    name: str  # of its files
    title: str
    drawings: list[Drawing]
    wide: bool = False  # one that takes all the width there is


@dataclass(frozen=True)
class Artefact:
    """A table or figure of the paper, made again, beside what the paper says of it."""

    key: str
    title: str
    statement: str  # what the paper says, in short
    figures: list[Figure] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # where we had to choose
    heading: str = "The paper"  # over the statement
    pictures: list[Picture] = field(default_factory=list)  # stand before the figures
