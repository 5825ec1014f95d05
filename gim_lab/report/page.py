"""One self-contained HTML file: the ledger, then every artefact beside what the paper says.

Plotly's own script is written into the page, and a content-security policy forbids it any request.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from gim._base.escapes import escape
from gim_lab.claims.ledger import VERDICTS, Entry, Judgement, by_section, settings_of
from gim_lab.experiments.artefact import Artefact, Figure, Picture, Table
from gim_lab.experiments.graphs import NODE
from gim_lab.experiments.reproduction import Findings, Made
from gim_lab.experiments.scale import SCALES
from gim_lab.experiments.settings import setting_title
from gim_lab.report.style import GREY, Look, looks, names_in, names_of
from gim_lab.report.text import REHEARSAL, short_title, verdict_under

POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
ENDS = (".", "?", "!")  # of a sentence
SENTENCE = 60  # letters from which on a cell is text to read
PARTS = {True: "yes", False: "no", None: "untold"}


def page(findings: Findings) -> str:
    """The whole page."""
    given = looks(names_of(findings.artefacts))
    figures = {
        figure.name: _figure_data(figure, given)
        for artefact in findings.artefacts
        for figure in artefact.figures
    }
    sections = [_artefact(each, findings, given) for each in findings.artefacts]
    body = "\n".join([_head(findings), _ledger(findings), *sections])
    # "</script" would end the script that carries the data, "<!--<script" would hide its end.
    data = json.dumps({"figures": figures, "node": NODE}, allow_nan=False)
    data = data.replace("<", "\\u003c")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{escape(findings.title)}</title>
<link rel="icon" href="data:,">
<style>{_resource("page.css")}</style>
</head>
<body>
{body}
<script type="application/json" id="data">{data}</script>
<script>{_plotly()}</script>
<script>{_resource("page.js")}</script>
</body>
</html>
"""


def _head(findings: Findings) -> str:
    links = "".join(
        f'<a href="#{escape(each.key)}">{escape(short_title(each))}</a>'
        for each in findings.artefacts
    )
    rehearsed = findings.scale and not SCALES[findings.scale].whole
    about = f"Scale {findings.scale}." if rehearsed else ""
    made = ", ".join(f"{name} {number}" for name, number in findings.versions.items())
    command = f"<code>{escape(findings.command)}</code>"
    took = f" in {_spell(findings.seconds)}" if findings.seconds else ""
    remarks = "".join(
        f"<p><strong>{escape(each)}{'' if each.endswith(ENDS) else '.'}</strong></p>\n"
        for each in findings.remarks
    )
    ledger = '<a href="#ledger">Ledger</a>' if findings.entries else ""
    return f"""<header>
<h1>{escape(findings.title)}</h1>
<p class="soft">{escape(about)} Made by {command}{took}, with {escape(made)}.</p>
{remarks}<nav aria-label="Artefacts">{ledger}{links}</nav>
</header>"""


def _spell(seconds: float) -> str:
    minutes, left = divmod(round(seconds), 60)
    return f"{minutes} min {left} s" if minutes else f"{left} s"


def _ledger(findings: Findings) -> str:
    entries = findings.entries
    if not entries:
        return ""
    warning = (
        "" if SCALES[findings.scale].whole else f"<p><strong>{escape(REHEARSAL)}</strong></p>\n"
    )
    settings = settings_of(entries)
    counts = "".join(
        f"<li>{escape(setting_title(setting).capitalize())}: {_counts(entries, setting)}</li>"
        for setting in settings
    )
    heads = "".join(f"<th>{escape(setting_title(setting))}</th>" for setting in settings)
    sections = by_section(entries)
    lines: list[str] = []
    for section, inside in sections.items():
        lines += [_section(section, settings)] if len(sections) > 1 else []
        lines += [_entry(entry, settings) for entry in inside]
    rows = "\n".join(lines)
    return f"""<section id="ledger">
<h2>The ledger of claims</h2>
<p>Each statement about the experiments, checked by code on these results; those of the paper twice:
with the settings of the authors' published code, and with fair ones; and where the text can be read
in several ways, with the reading that is kindest to it. A part holds or does not hold if its 95 %
interval says so, and is undecided otherwise.</p>
{warning}<ul class="counts">{counts}</ul>
<table>
<thead><tr><th>claim</th><th>where</th>{heads}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
</section>"""


def _counts(entries: list[Entry], setting: str) -> str:
    found = [verdict_under(entry, setting) for entry in entries]
    return " ".join(
        f"{_pill(verdict, f'{found.count(verdict)} × {verdict}')}"
        for verdict in VERDICTS
        if verdict in found
    )


def _section(title: str, settings: list[str]) -> str:
    return f'<tr><th colspan="{2 + len(settings)}">{escape(title)}</th></tr>'


def _entry(entry: Entry, settings: list[str]) -> str:
    cells = "".join(
        f'<td data-label="{escape(setting_title(setting))}">{_judgement(judgement)}</td>'
        for setting, judgement in ((each, entry.judgements.get(each)) for each in settings)
    )
    return (
        f'<tr><td>{escape(entry.statement)}<br><span class="soft">{escape(entry.rule)}</span></td>'
        f'<td data-label="where">{escape(entry.source)}</td>{cells}</tr>'
    )


def _judgement(judgement: Judgement | None) -> str:
    if judgement is None:
        return ""
    parts = "".join(
        f'<li class="{PARTS[part.holds]}">{escape(part.what)}: {escape(part.numbers)}</li>'
        for part in judgement.parts
    )
    return (
        f"{_pill(judgement.verdict)}<details><summary>{escape(judgement.summary)}</summary>"
        f"<ul>{parts}</ul></details>"
    )


def _pill(verdict: str, text: str | None = None) -> str:
    return f'<span class="pill {verdict.replace(" ", "-")}">{escape(text or verdict)}</span>'


def _artefact(artefact: Artefact, findings: Findings, given: dict[str, Look]) -> str:
    pictures = "\n".join(_picture(picture) for picture in artefact.pictures)
    figures = "\n".join(_figure(figure, given) for figure in artefact.figures)
    tables = "\n".join(_table(table) for table in artefact.tables)
    notes = "".join(f"<li>{escape(note)}</li>" for note in artefact.notes)
    heading = f"<h3>{escape(artefact.heading)}</h3>"
    says = f"{heading}<p>{_marked(artefact.statement)}</p>" if artefact.statement else ""
    chosen = f"<h3>Our choices</h3><ul>{notes}</ul>" if notes else ""
    beside = f"{says}{chosen}{_provenance(findings.made.get(artefact.key), findings)}"
    aside = f'<aside class="says">{beside}</aside>' if beside else ""
    return f"""<section id="{escape(artefact.key)}">
<h2>{escape(artefact.title)}</h2>
<div class="{"artefact" if beside else "artefact alone"}">
{aside}
<div>{pictures}{figures}{tables}</div>
</div>
</section>"""


def _provenance(made: Made | None, findings: Findings) -> str:
    if made is None:
        return ""
    rows = {
        "command": f"<code>{escape(made.command)}</code>",
        "trials": f"{made.trials:,}" + (f", {made.runs} runs each" if made.runs else ""),
        "seeds": escape(made.seeds),
        "computing": f"{made.seconds:,.1f} s" if made.trials else "nothing is run",
        "with": escape(", ".join(f"{k} {v}" for k, v in findings.versions.items())),
    }
    inside = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows.items())
    return f'<details class="made"><summary>How it was made</summary><dl>{inside}</dl></details>'


def _marked(text: str) -> str:
    """Text in which `code` is set as code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(parts))


def _picture(picture: Picture) -> str:
    drawn = "".join(
        f"<figure>{each.svg}<figcaption>{escape(each.caption)}</figcaption></figure>"
        for each in picture.drawings
    )
    return f"""<div class="picture" id="{escape(picture.name)}">
<h3>{escape(picture.title)}</h3>
<div class="drawings">{drawn}</div>
</div>"""


def _figure(figure: Figure, given: dict[str, Look]) -> str:
    buttons = "".join(
        f'<button type="button" aria-pressed="true" data-name="{escape(name)}">'
        f'<i class="{look.dash}" data-light="{look.light}" data-dark="{look.dark}"></i>'
        f"{escape(name)}</button>"
        for name, look in ((name, given[name]) for name in names_in(figure))
    )
    kind = "plots graph" if figure.panels[0].graph else "plots"
    plots = "".join(
        f'<div class="plot" role="img" aria-label="{escape(panel.title or figure.title)}"></div>'
        for panel in figure.panels
    )
    note = f'<p class="soft">{escape(figure.note)}</p>' if figure.note else ""
    return f"""<div class="figure" id="{escape(figure.name)}">
<h3>{escape(figure.title)}</h3>
<div class="legend">{buttons}</div>
<div class="{kind}">{plots}</div>{note}
</div>"""


def _figure_data(figure: Figure, given: dict[str, Look]) -> dict[str, Any]:
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
    return {"panels": panels, "looks": shown | {"states": GREY._asdict()}}


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")


def _table(table: Table) -> str:
    heads = "".join(
        f'<th scope="col"><button type="button">{escape(name)}</button></th>'
        for name in table.columns
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td data-label="{escape(name)}"><span>{_cell(value)}</span></td>'
            for name, value in zip(table.columns, row, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    note = f'<p class="soft">{escape(table.note)}</p>' if table.note else ""
    sentences = any(isinstance(v, str) and len(v) > SENTENCE for row in table.rows for v in row)
    long = " words" if sentences else ""
    return f"""<h3>{escape(table.title)}</h3>
<div class="scroll"><table class="sortable{long}"><thead><tr>{heads}</tr></thead>
<tbody>{rows}</tbody></table></div>{note}"""


def _cell(value: Any) -> str:
    """A number, or text; "0.5 ± 0.1" may be broken before its second half only."""
    text = f"{value:,.6g}" if isinstance(value, float) else str(value)
    mean, sign, half = escape(text).partition(" ± ")
    return f'{mean} <span class="half">±&nbsp;{half}</span>' if sign else mean


def _resource(name: str) -> str:
    return resources.files("gim_lab.report").joinpath(name).read_text("utf-8")


def _plotly() -> str:
    try:
        script = resources.files("plotly").joinpath("package_data", "plotly.min.js")
    except ModuleNotFoundError:
        raise ValueError('the report page needs plotly: pip install "gim[lab]"') from None
    return script.read_text("utf-8")
