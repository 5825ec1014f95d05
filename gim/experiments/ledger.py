"""The ledger of claims: what the paper says of its experiments, judged by code on the results.

A claim is broken into parts, each of which holds, does not hold, or cannot be told because the runs
it asks about did not finish. All parts hold: the claim holds; none: it does not; some: it holds in
part; none can be told: not finished. Every claim is judged twice, with the authors' settings and
with fair ones.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from gim.experiments import claims as package
from gim.experiments.catalogue import experiments
from gim.experiments.cells import ResultsByCell
from gim.experiments.settings import SETTINGS

HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold"
NOT_FINISHED = "not finished"
VERDICTS = (HOLDS, IN_PART, FAILS, NOT_FINISHED)


@dataclass(frozen=True)
class Part:
    """One thing that must be so for a claim to hold."""

    what: str
    holds: bool | None  # None: cannot be told, since runs did not finish
    numbers: str


@dataclass(frozen=True)
class Claim:
    """A statement of the paper and how it is checked."""

    key: str
    statement: str  # in our words
    source: str  # where the paper makes it
    rule: str  # when a part of it holds
    needs: tuple[str, ...]  # keys of the experiments whose results it is checked on
    check: Callable[[ResultsByCell, str], list[Part]]  # (results, setting) -> parts


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
    """Every claim whose experiments were run, judged under both settings.

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
            {setting: judge(claim, results, setting) for setting in SETTINGS},
        )
        for claim in claims()
        if have.issuperset(claim.needs)
    ]


@cache
def claims() -> tuple[Claim, ...]:
    """The `CLAIMS` of every file of `gim.experiments.claims`, in the paper's order."""
    found: list[Claim] = []
    for module in pkgutil.iter_modules(package.__path__):
        made = importlib.import_module(f"{package.__name__}.{module.name}")
        found += getattr(made, "CLAIMS", ())
    place = {key: i for i, key in enumerate(experiments())}
    return tuple(sorted(found, key=lambda claim: max(map(place.__getitem__, claim.needs))))
