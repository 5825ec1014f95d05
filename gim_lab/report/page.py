"""One self-contained HTML file: the ledger, then every artefact beside what the paper says.

`page.html` is its template, in which all that is shown is escaped. Plotly's own script is written
into the page, and a content-security policy forbids it any request.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from gim._base.escapes import escape
from gim_lab.claims.ledger import VERDICTS, by_section, settings_of
from gim_lab.experiments.artefact import Figure, Table
from gim_lab.experiments.reproduction import Findings
from gim_lab.experiments.scale import SCALES
from gim_lab.experiments.settings import setting_title
from gim_lab.report.style import Look, looks, names_in, names_of
from gim_lab.report.text import REHEARSAL, short_title, verdict_under

SENTENCE = 60  # letters from which on a cell is text to read
PARTS = {True: "yes", False: "no", None: "untold"}


def page(findings: Findings) -> str:
    """The whole page."""
    try:
        from jinja2 import Environment
        from markupsafe import Markup
    except ModuleNotFoundError:
        raise ValueError('the report page needs jinja2: pip install "gim[lab]"') from None

    def shown(value: Any) -> Markup:
        return value if isinstance(value, Markup) else Markup(escape(value))

    def marked(text: str) -> Markup:
        """Text in which `code` is set as code."""
        parts = escape(text).split("`")
        return Markup("".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(parts)))

    def cell(value: Any) -> Markup:
        """A number, or text; "0.5 ± 0.1" may be broken before its second half only."""
        text = f"{value:,.6g}" if isinstance(value, float) else str(value)
        mean, sign, half = escape(text).partition(" ± ")
        return Markup(f'{mean} <span class="half">±&nbsp;{half}</span>' if sign else mean)

    given, entries = looks(names_of(findings.artefacts)), findings.entries
    figures = {f.name: _drawn(f, given) for each in findings.artefacts for f in each.figures}
    data = json.dumps({"figures": figures}, allow_nan=False)
    settings = settings_of(entries)
    counts = {}
    for setting in settings:
        told = [verdict_under(entry, setting) for entry in entries]
        counts[setting] = [(each, told.count(each)) for each in VERDICTS if each in told]
    made = Environment(autoescape=True, finalize=shown, keep_trailing_newline=True)
    made.filters |= {
        "cell": cell,
        "has_sentences": _has_sentences,
        "marked": marked,
        "names_in": names_in,
        "setting_title": setting_title,
        "short_title": short_title,
        "spell": _spell,
    }
    return made.from_string(_resource("page.html")).render(
        found=findings,
        whole=not findings.scale or SCALES[findings.scale].whole,
        versions=", ".join(f"{name} {number}" for name, number in findings.versions.items()),
        rehearsal=REHEARSAL,
        settings=settings,
        sections=by_section(entries),
        counts=counts,
        marks=PARTS,
        looks=given,
        # "</script" would end the script that carries the data, "<!--<script" would hide its end.
        data=Markup(data.replace("<", "\\u003c")),
        css=Markup(_resource("page.css")),
        js=Markup(_resource("page.js")),
        plotly=Markup(_plotly()),
    )


def _spell(seconds: float) -> str:
    minutes, left = divmod(round(seconds), 60)
    return f"{minutes} min {left} s" if minutes else f"{left} s"


def _has_sentences(table: Table) -> bool:
    return any(isinstance(v, str) and len(v) > SENTENCE for row in table.rows for v in row)


def _drawn(figure: Figure, given: dict[str, Look]) -> dict[str, Any]:
    """What the page's script draws, with the looks of its lines; numbers to six digits."""
    shown = {name: given[name]._asdict() for name in names_in(figure)}
    panels = []
    for panel in figure.panels:
        series = [
            {
                key: [_short(v) for v in value] if key in ("x", "y", "low", "high") else value
                for key, value in vars(each).items()
                if value is not None
            }
            for each in panel.series
        ]
        panels.append(vars(panel) | {"series": series})
    return {"panels": panels, "looks": shown}


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def _resource(name: str) -> str:
    return resources.files("gim_lab.report").joinpath(name).read_text("utf-8")


def _plotly() -> str:
    try:
        script = resources.files("plotly").joinpath("package_data", "plotly.min.js")
    except ModuleNotFoundError:
        raise ValueError('the report page needs plotly: pip install "gim[lab]"') from None
    return script.read_text("utf-8")
