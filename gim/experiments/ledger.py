"""The ledger of claims: what the paper says of its experiments, judged by code on the results.

All parts of a claim hold: the claim holds; none: it does not; some: it holds in part; none can be
told: not finished. Every claim is judged under each of its settings: those of the paper with the
authors' and with fair ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gim.experiments.catalogue import catalogue
from gim.experiments.cells import ResultsByCell, distinct
from gim.experiments.claim import Claim, Part, claims

HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold"
NOT_FINISHED = "not finished"
VERDICTS = (HOLDS, IN_PART, FAILS, NOT_FINISHED)


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
    judgements: dict[str, Judgement]  # by setting

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


def verdict(parts: Sequence[Part]) -> str:
    """All, some or none of the parts that can be told hold."""
    told = [part.holds for part in parts if part.holds is not None]
    if not told:
        return NOT_FINISHED
    if all(told):
        return HOLDS if len(told) == len(parts) else IN_PART
    return IN_PART if any(told) else FAILS


def judge(claim: Claim, results: ResultsByCell, setting: str) -> Judgement:
    """Check one claim under one setting."""
    parts = claim.check(results, setting)
    holding = sum(part.holds is True for part in parts)
    untold = sum(part.holds is None for part in parts)
    summary = f"{holding} of {len(parts)} parts hold"
    if untold:
        summary += f", {untold} not finished"
    return Judgement(verdict(parts), parts[0].numbers if len(parts) == 1 else summary, parts)


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
            {setting: judge(claim, results, setting) for setting in claim.settings},
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


def settings_of(entries: Iterable[Entry]) -> list[str]:
    """The settings under which these were judged, each once."""
    return distinct(setting for entry in entries for setting in entry.judgements)
