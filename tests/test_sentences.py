"""The table of the paper's sentences names rows that exist, and leaves none out."""

from __future__ import annotations

import re
from pathlib import Path

from gim_lab.claims.claim import claims
from gim_lab.claims.ledger import all_claims
from gim_lab.experiments.experiment import experiments

PAGE = Path(__file__).parent.parent / "docs" / "sentences.md"


def rows() -> list[tuple[str, str]]:
    found = re.findall(r"^\| (.*) \| (.*) \|$", PAGE.read_text(), re.M)
    return [(said, row) for said, row in found if said not in ("the paper says", "---")]


def test_every_sentence_has_a_row_or_a_reason():
    assert len(rows()) > 60
    for said, row in rows():
        named = re.findall(r"`([a-z0-9_]+)`", row)
        assert named or row.startswith("none: "), f"{said}: neither a row nor why it has none"
        assert all(name in claims or name in experiments for name in named), f"{said}: {named}"


def test_every_claim_of_the_paper_stands_beside_its_sentence():
    text = " ".join(row for _, row in rows())
    there = [each for each in all_claims() if type(each).__module__.startswith("gim_lab.")]
    ours = [each.key for each in there if each.source.startswith("not claimed")]
    missing = [each.key for each in there if f"`{each.key}`" not in text]
    assert missing == ours == ["beats_today"]
