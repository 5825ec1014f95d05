"""Checks that any claim must pass, whatever it states."""

from __future__ import annotations

from gim_lab.claims.claim import Claim, claims
from gim_lab.claims.ledger import UNDECIDED, VERDICTS, Judgement, judge
from gim_lab.experiments.cells import ResultsByCell
from gim_lab.experiments.experiment import experiments
from gim_lab.experiments.scale import SCALES
from gim_lab.testing.made_up import NEVER, Columns, alike, made_up_results, varied
from gim_lab.trials.results import Results

SMOKE = SCALES["smoke"]


def check_claim(claim: Claim) -> None:
    """Check a claim.

    Its name finds it, it says what it states, where and by which rule, and the experiments that it
    needs are registered. Under each of its settings it gives a verdict, the same each time, with
    numbers for every part: on results that are all alike, on varied ones, on runs of which none
    finished exploring, and on results of which half are missing. Where nothing was run it is
    undecided, unless it asks for no result at all.
    """
    assert claims.make(claim.key) == claim, f"{claim.key} is another claim"
    for text in ("statement", "source", "rule"):
        assert getattr(claim, text, ""), f"{claim.key} has no {text}"
    assert claim.needs, f"{claim.key} needs no experiment: it would never be judged"
    assert claim.settings, f"{claim.key} has no settings: it would never be judged"
    for name in {n for each in claim.settings for n in claim.needed(each)}:
        key = experiments.make(name).key
        assert key == name, f"{claim.key} needs {name}: write {key}"
    for setting in claim.settings:
        _check_under(claim, setting)


def _check_under(claim: Claim, setting: str) -> None:
    def made_up(columns: Columns) -> ResultsByCell:
        needed = [experiments.make(name) for name in claim.needed(setting)]
        return made_up_results(needed, SMOKE, columns)

    full = _judged(claim, made_up(varied), setting)
    _judged(claim, made_up(alike), setting)
    _judged(claim, made_up(lambda trial: NEVER), setting)
    _judged(claim, ResultsByCell(made_up(varied).table[::2], SMOKE), setting)
    nothing = _judged(claim, ResultsByCell(Results.of([]), SMOKE), setting)
    where = f"{claim.key} under {setting!r}"
    assert nothing == full or nothing.verdict == UNDECIDED, (
        f"{where}: {nothing.verdict} although nothing was run: a part that is NaN holds=None"
    )


def _judged(claim: Claim, results: ResultsByCell, setting: str) -> Judgement:
    where = f"{claim.key} under {setting!r}"
    found = judge(claim, results, setting)
    assert found.verdict in VERDICTS, f"{where}: the verdict is {found.verdict!r}"
    assert found.parts, f"{where}: no parts"
    for part in found.parts:
        assert part.what, f"{where}: a part without a name"
        assert part.numbers, f"{where}: the part {part.what!r} has no numbers"
        known = part.holds is None or isinstance(part.holds, bool)
        assert known, f"{where}: the part {part.what!r} has holds={part.holds!r}"
    names = [part.what for part in found.parts]
    assert len(set(names)) == len(names), f"{where}: two parts of one name in {names}"
    assert judge(claim, results, setting) == found, f"{where}: judged twice, it differs"
    return found
