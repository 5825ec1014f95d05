"""What notebooks and pages show of our objects: tables, curves, one piece of HTML each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gim._base.averages import equal_groups, size_for
from gim._base.escapes import escape

WIDE, HIGH, POINTS = 260, 48, 80  # of a curve
CELL = "text-align:left;padding:.1em .8em .1em 0"


SCREEN = '<meta name="viewport" content="width=device-width, initial-scale=1">'
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff; }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }
td, th { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #8884; }
pre { overflow-x: auto; font-size: .85rem; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
.lead { font-size: 1.15rem; } .soft { color: #666; } figure { margin: 1rem 0; overflow-x: auto; }
tr.new td { font-weight: 600; } svg text { font: 11px system-ui, sans-serif; fill: currentColor; }
@media (prefers-color-scheme: dark) { body { color: #eee; background: #181818; }
  .soft { color: #aaa; } }
"""


def facts(title: str, rows: Iterable[Sequence[Any]], more: str = "") -> str:
    """A title over rows of a name and a value (or more); `more` is HTML to put below.

    Example:
        >>> facts("a < b", [["S", 6]]).count("<td")
        2
    """
    lines = "".join(
        "<tr>" + "".join(f'<td style="{CELL}">{escape(_short(v))}</td>' for v in row) + "</tr>"
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


def document(title: str, body: str) -> str:
    """A whole page: one file without scripts, and nothing is fetched."""
    head = f'<meta charset="utf-8">{SCREEN}<title>{escape(title)}</title><style>{STYLE}</style>'
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'
