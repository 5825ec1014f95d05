"""The ledger of claims: what the paper says of its experiments, judged by code on the results.

A claim holds if all of its parts do, and in part if some do; the summary then says which. It does
not hold if none does and one is refuted. It is undecided if the data refute and confirm nothing.
Every claim is judged under each of its settings: those of the paper with the authors' and with fair
ones, and where the text can be read in more than one way with the kindest reading besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gim_lab.claims.claim import Claim, Part, claims
from gim_lab.experiments.catalogue import catalogue
from gim_lab.experiments.cells import ResultsByCell, distinct

HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold"
UNDECIDED = "undecided"
VERDICTS = (HOLDS, IN_PART, FAILS, UNDECIDED)
NAMED = 8  # parts that a summary names at the most


@dataclass(frozen=True)
class Judgement:
    """What came of checking a claim under one setting."""

    verdict: str
    summary: str  # of the numbers, in a line
    parts: list[Part]


@dataclass(frozen=True)
class Entry:
    """A line of the ledger."""

    key: str
    statement: str
    source: str
    rule: str
    section: str
    judgements: dict[str, Judgement]  # by setting

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


def verdict(parts: Sequence[Part]) -> str:
    """All of the parts hold, or some; none does and one is refuted; or nothing can be told."""
    holds = [part.holds for part in parts]
    if holds and all(holds):
        return HOLDS
    if any(holds):
        return IN_PART
    return FAILS if False in holds else UNDECIDED


def summary(parts: Sequence[Part]) -> str:
    """How many parts hold and how many are undecided; if some do and some do not, which."""
    if len(parts) == 1:
        return parts[0].numbers
    holding = [part.what for part in parts if part.holds]
    others = [part.what for part in parts if not part.holds]
    undecided = sum(part.holds is None for part in parts)
    text = f"{len(holding)} of {len(parts)}"
    if undecided:
        text += f", {undecided} undecided"
    if not holding or not others:
        return text
    if len(others) < len(holding):
        return f"{text}: all but {_listed(others)}"
    return f"{text}: {_listed(holding)}"


def judge(claim: Claim, results: ResultsByCell, setting: str) -> Judgement:
    """Check one claim under one setting."""
    parts = claim.check(results, setting)
    return Judgement(verdict(parts), summary(parts), parts)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    text = "; ".join(names[:NAMED])
    return f"{text} and {more} more" if more > 0 else text


def ledger(results: ResultsByCell, ran: Iterable[str]) -> list[Entry]:
    """Every claim whose experiments were run, judged under its settings, in the paper's order.

    Args:
        results: what was run.
        ran: keys of the experiments that were run.
    """
    have = set(ran)
    return [
        Entry(
            claim.key,
            claim.statement,
            claim.source,
            claim.rule,
            claim.section,
            {
                setting: judge(claim, results, setting)
                for setting in claim.settings
                if have.issuperset(claim.needed(setting))
            },
        )
        for claim in all_claims()
        if have.issuperset(claim.needs)
    ]


def all_claims() -> list[Claim]:
    """Every claim that is registered, in the order of the experiments that they need."""
    place = {key: i for i, key in enumerate(catalogue())}
    last = len(place)  # of what is not there: it is never judged

    def order(claim: Claim) -> tuple[int, int]:
        return max(place.get(key, last) for key in claim.needs), claim.number

    return sorted((claims.make(name) for name in claims.names()), key=order)


def by_section(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """The entries of each section, in order."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.section, []).append(entry)
    return found


def settings_of(entries: Iterable[Entry]) -> list[str]:
    """The settings under which these were judged, each once."""
    return distinct(setting for entry in entries for setting in entry.judgements)
