"""Labels of columns: what stands in them, in which order, and which are one under two names."""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST_LABELS = 1 << 22  # different labels of a column
MOST_BINS = 1000  # of a column: each is a label
NAMED = 20  # odd labels that get a message each
WHOLE = re.compile(r"([+-]?\d+)\.0*")  # a whole number, written as one that is not


class Levels(NamedTuple):
    """The labels of one column, and of that of its next states."""

    labels: list[Any]  # in their order
    place: dict[Any, int]  # of each value met, among them
    odd: dict[Any, str]  # values that cannot be meant, and why
    told: bool = False  # whether their order is what was said, by bins or levels
    remarks: Sequence[str] = ()


def levels_of(column: str, often: Mapping[Any, int], told: Sequence[Any] | None = None) -> Levels:
    """The labels behind the values met in a column.

    Text that is numbers throughout becomes numbers, so "1" and "01" are one label. Of labels that
    look alike the one that stands most often is meant.

    Args:
        column: its name, for messages.
        often: how often each value stands there.
        told: the labels in their order, if that was said.
    """
    numbers = as_numbers(often) if all(isinstance(x, str) for x in often) else None
    read = dict(zip(often, numbers or map(_whole, often), strict=True))
    odd, remarks = {}, list[str]()
    if told is not None:
        meant = {str(label): label for label in told}
        read = {x: meant.get(str(label).strip(), label) for x, label in read.items()}
        met = list(dict.fromkeys([*told, *read.values()]))
        known, others = set(told), f"is none of levels={list(told)!r}: write it so, or add it"
        odd = {x: f"{label!r} {others}" for x, label in read.items() if label not in known}
    else:
        met, total = in_order(dict.fromkeys(read.values())), Counter[Any]()
        for x, label in read.items():
            total[label] += often[x]
        alike = {label: max(group, key=total.__getitem__)
                 for group in _groups(met, _look) for label in group}  # fmt: skip
        odd = {x: difference(label, alike[label]) for x, label in read.items()
               if alike.get(label, label) != label}  # fmt: skip
        if numbers and len(met) < len(read):
            twice = next(x for x in _groups(list(read), read.__getitem__))
            remarks.append(f"{' and '.join(map(repr, sorted(twice, key=len)[:2]))} are read as one "
                           "number: if they are two labels, put a letter in front")  # fmt: skip
        remarks += [
            f"{' and '.join(map(repr, some[:2]))} differ in upper and lower case only: if they are "
            "one label, write it one way"
            for some in _groups(met, lambda label: _look(label).casefold())
            if len(set(map(_look, some))) > 1
        ]
    place = {label: k for k, label in enumerate(met)}
    if len(odd) > NAMED:
        odd = dict.fromkeys(odd, f"{odd[min(odd, key=lambda x: place[read[x]])]}; others likewise")
    places = {x: place[label] for x, label in read.items()}
    told_of = [f"column {column!r}: {remark}" for remark in remarks]
    return Levels(met, places, odd, told is not None, told_of)


def in_order(labels: Iterable[Any]) -> list[Any]:
    """Labels in their order: by size where they are of one kind, else by kind and text."""
    met = list(labels)
    kinds = {str if isinstance(label, str) else type(label) for label in met}
    if len(kinds) > 1 and not kinds <= {int, float, bool}:
        return sorted(met, key=lambda label: (type(label).__name__, str(label)))
    try:
        return sorted(met)
    except TypeError:  # it has no order, or is of several kinds within
        return sorted(met, key=str)


def missing(label: Any) -> bool:
    """Whether a value is none."""
    try:
        return label is None or bool(label != label) or (isinstance(label, str) and label == "nan")
    except TypeError:  # what pandas puts where nothing is
        return True


def as_numbers(texts: Iterable[Any]) -> list[Any] | None:
    """Texts as numbers, whole ones where all are; None if one is no (finite) number."""
    try:
        numbers = [math.nan if "_" in text else float(text) for text in texts]
    except ValueError:
        return None
    if not all(map(math.isfinite, numbers)):
        return None
    if all(number.is_integer() and abs(number) < 2**53 for number in numbers):
        return list(map(int, numbers))
    return list(numbers)


def difference(one: Any, other: Any) -> str:
    """What to say of two labels that are surely one."""
    blanks = isinstance(one, str) and isinstance(other, str) and one.split() == other.split()
    what = "blanks" if blanks else "form"
    both = f"{one!r} and {other!r}".replace("  ", " \N{OPEN BOX}")  # pages show two blanks as one
    return f"{both} differ in {what} only: write one label one way"


def _whole(label: Any) -> Any:
    """2.0 as 2: a column with gaps comes as floats."""
    return int(label) if isinstance(label, float) and label.is_integer() else label


def _groups(labels: Sequence[Any], look: Callable[[Any], Any]) -> list[list[Any]]:
    """Labels with the same look, where there are several."""
    if {type(label) for label in labels} <= {int, float}:
        return []  # equal numbers are one label
    found: dict[Any, list[Any]] = {}
    for label in labels:
        found.setdefault(look(label), []).append(label)
    return [group for group in found.values() if len(group) > 1]


def _look(label: Any) -> str:
    if isinstance(label, tuple):
        return repr(tuple(map(_look, label)))
    seen = unicodedata.normalize("NFC", str(label))  # an accent as a letter of its own, or not
    text = " ".join("".join(c for c in seen if unicodedata.category(c) != "Cf").split())
    whole = WHOLE.fullmatch(text)
    return whole[1] if whole else text


# -- bins


def edges_of(column: str, given: Any, low: float, high: float) -> NDArray[np.float64]:
    """The inner edges of bins: those given, or those of so many bins of one width."""
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        if not 2 <= given <= MOST_BINS:
            raise ValueError(f"bins of {column!r} = {given}: give 2 to {MOST_BINS}, or the edges")
        return np.unique(np.linspace(low, high, given + 1)[1:-1])
    try:
        edges = np.asarray(given, np.float64).ravel()
    except (TypeError, ValueError):
        edges = np.zeros(0)
    if not edges.size or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
        raise ValueError(f"bins of {column!r} = {given!r}: give a number, or edges that rise")
    return edges


def bin_names(edges: NDArray[np.float64]) -> list[str]:
    """What bins are called: "< 2", "2 to 5", ">= 5"; an edge belongs to the bin above it."""
    text = [f"{edge:.6g}" for edge in edges]
    inner = [f"{low} to {high}" for low, high in itertools.pairwise(text)]
    return [f"< {text[0]}", *inner, f">= {text[-1]}"]
