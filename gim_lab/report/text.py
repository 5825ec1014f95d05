"""Titles and the ledger as text: short for the terminal and the README, in full for the docs."""

from __future__ import annotations

from collections.abc import Sequence

from gim._base.terminal import table
from gim_lab.claims.ledger import Entry, Judgement, by_section, settings_of
from gim_lab.experiments.artefact import Artefact
from gim_lab.experiments.settings import setting_title

REHEARSAL = (
    "These verdicts are a rehearsal, with fewer runs and episodes than the paper's; those of "
    "--scale paper count."
)
MARKS = {True: "✓", False: "✗", None: "?"}


def short_title(artefact: Artefact) -> str:
    """The number of a figure or table; what a study is about."""
    first, _, rest = artefact.title.partition(": ")
    return rest if first == "Study" else first


def verdict_under(entry: Entry, setting: str) -> str:
    """The verdict of a claim under a setting, or nothing where it was not judged under that."""
    return entry.judgements[setting].verdict if setting in entry.judgements else ""


def ledger_lines(entries: Sequence[Entry], width: int | None = None) -> str:
    """A line per claim, for a terminal of this width."""
    settings = settings_of(entries)
    rows = [
        [*(verdict_under(entry, s) for s in settings), f"{entry.statement} ({entry.source})"]
        for entry in entries
    ]
    heads = [*(setting_title(s) for s in settings), "claim"]
    return table(rows, heads, align="<" * len(heads), width=width)


def ledger_markdown(entries: Sequence[Entry], in_full: bool = True) -> str:
    """A table of verdicts for each section, and below it every claim with its numbers."""
    lines: list[str] = []
    sections = by_section(entries)
    for section, inside in sections.items():
        lines += [f"**{section}**", ""] if len(sections) > 1 else []
        lines += [*_verdicts(inside), ""]
    if not in_full:
        return "\n".join(lines).rstrip() + "\n"
    for entry in entries:
        lines += [f"### {entry.statement}", "", f"`{entry.key}`. {entry.source}. {entry.rule}", ""]
        for setting, judgement in entry.judgements.items():
            title = setting_title(setting).capitalize() or "Verdict"
            lines += [f"{title}: **{judgement.verdict}** ({_how_many(judgement)})", ""]
            lines += [f"- {MARKS[p.holds]} {p.what}: {p.numbers}" for p in judgement.parts]
            lines += [""]
    return "\n".join(lines).rstrip() + "\n"


def _verdicts(entries: Sequence[Entry]) -> list[str]:
    settings = settings_of(entries)
    titles = [setting_title(setting) for setting in settings]
    lines = [
        f"| claim | where | {' | '.join(titles)} |",
        f"| --- | --- | {' | '.join('---' for _ in titles)} |",
    ]
    for entry in entries:
        found = [entry.judgements.get(setting) for setting in settings]
        cells = [f"{j.verdict} ({_how_many(j)})" if j else "" for j in found]
        lines.append(f"| {entry.statement} | {entry.source} | {' | '.join(cells)} |")
    return lines


def _how_many(judgement: Judgement) -> str:
    """How many parts hold; for a single part its numbers stand below."""
    holding = sum(part.holds is True for part in judgement.parts)
    return judgement.summary if len(judgement.parts) > 1 else f"{holding} of 1"
