"""What notebooks show of our objects: a small table, a curve, all in one piece of HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gim._base.averages import equal_groups, size_for
from gim._base.escapes import escape

WIDE, HIGH, POINTS = 260, 48, 80  # of a curve
STYLE = "text-align:left;padding:.1em .8em .1em 0"


def facts(title: str, rows: Iterable[Sequence[Any]], more: str = "") -> str:
    """A title over rows of a name and a value (or more); `more` is HTML to put below.

    Example:
        >>> facts("a < b", [["S", 6]]).count("<td")
        2
    """
    lines = "".join(
        "<tr>" + "".join(f'<td style="{STYLE}">{escape(_short(v))}</td>' for v in row) + "</tr>"
        for row in rows
    )
    return f"<div><strong>{escape(title)}</strong><table>{lines}</table>{more}</div>"


def curve(values: ArrayLike, low: float | None = None, high: float | None = None) -> str:
    """A curve as a small picture, between two values (by default its own least and largest)."""
    given = np.asarray(values, np.float64)
    y = given[equal_groups(given.size, size_for(given.size, POINTS))].mean(axis=1)
    if y.size < 2 or not np.isfinite(y).all():
        return ""
    bottom, top = float(y.min() if low is None else low), float(y.max() if high is None else high)
    share = np.clip((y - bottom) / ((top - bottom) or 1.0), -0.1, 1.1)
    x = np.linspace(2, WIDE - 2, y.size)
    points = " ".join(
        f"{a:.1f},{HIGH - 6 - b * (HIGH - 12):.1f}" for a, b in zip(x, share, strict=True)
    )
    return (
        f'<svg width="{WIDE}" height="{HIGH}" role="img" aria-label="return by episode">'
        f'<polyline points="{points}" fill="none" stroke="#0072B2" stroke-width="1.6"/></svg>'
    )


def text(title: str, lines: str) -> str:
    """Text that is laid out already, such as a table for the terminal."""
    return f"<div><strong>{escape(title)}</strong><pre>{escape(lines)}</pre></div>"


def of_run(run: Any) -> str:
    """A `Run`: who, how long, how well, and its learning curve."""
    rows = [["agent", run.agent], ["seed", run.seed], ["episodes", run.returns.size]]
    limits: tuple[float | None, float | None] = (None, None)
    if run.returns.size:
        rows.append(["mean return", float(run.returns.mean())])
    if run.mdp is not None and run.returns.size:
        limits = (run.mdp.random_return(), run.mdp.optimal_return())
        rows += [["score", run.score], ["random, optimum", "{:,.5g}, {:,.5g}".format(*limits)]]
    return facts("Run", rows, curve(run.returns, *limits))


def _short(value: Any) -> str:
    return f"{value:,.5g}" if isinstance(value, float | np.floating) else str(value)
