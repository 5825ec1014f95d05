"""Labels that look alike: surely, or perhaps, one thing under two names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

WHOLE = re.compile(r"([+-]?\d+)\.0*")  # a whole number, written as one that is not


def surely_alike(labels: Sequence[Any]) -> list[list[int]]:
    """Groups of labels, by place, that stand for one: "low " and "low", or 1, "1" and "1.0"."""
    return _groups(labels, _look)


def difference(one: Any, other: Any) -> str:
    """What to say of two such labels."""
    blanks = isinstance(one, str) and isinstance(other, str) and one.split() == other.split()
    what = "blanks" if blanks else "form"
    return f"{one!r} and {other!r} differ in {what} only: write one label one way"


def case_differences(labels: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Groups of labels that differ in upper and lower case: they may be meant to."""
    groups = _groups(labels, lambda label: _look(label).casefold())
    return [
        tuple(labels[i] for i in group)
        for group in groups
        if len({_look(labels[i]) for i in group}) > 1
    ]


def _groups(labels: Sequence[Any], look: Any) -> list[list[int]]:
    """Places of labels with the same look, where there are several."""
    if all(type(label) in (int, float) for label in labels):
        return []  # equal numbers are one label
    found: dict[str, list[int]] = {}
    for i, label in enumerate(labels):
        found.setdefault(look(label), []).append(i)
    return [group for group in found.values() if len(group) > 1]


def _look(label: Any) -> str:
    if isinstance(label, tuple):
        return repr(tuple(map(_look, label)))
    seen = unicodedata.normalize("NFC", str(label))  # an accent as a letter of its own, or not
    text = " ".join("".join(c for c in seen if unicodedata.category(c) != "Cf").split())
    whole = WHOLE.fullmatch(text)
    return whole[1] if whole else text
