"""Labels of columns: what stands in them, in which order, and what states are made of."""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.mdp.columns import tell
from gim.mdp.variables import Variables

MOST_LABELS = 1 << 22  # different labels of a column
MOST_BINS = 1000  # of a column: each is a label
NAMED = 20  # odd labels that get a message each
OVER = "(end)"  # the label of a state that only says that an episode is over
WHOLE = re.compile(r"([+-]?\d+)\.0*")  # a whole number, written as one that is not


class Levels(NamedTuple):
    """The labels of one column, and of that of its next states."""

    labels: list[Any]  # in their order
    place: NDArray[np.int64]  # of each value met, among them; -1 where it is missing
    odd: dict[int, str]  # values, by number, that cannot be meant, and why
    told: bool = False  # whether their order is what was said, by bins or levels
    remarks: tuple[str, ...] = ()


def levels_of(
    column: str, values: Sequence[Any], often: Sequence[int], text: bool, told: Any = None
) -> Levels:
    """The labels behind the values met in a column.

    Text that is numbers throughout becomes numbers, so "1" and "01" are one label. Of labels that
    look alike the one that stands most often is meant.

    Args:
        column: its name, for messages.
        values: all different.
        often: how often each stands there.
        text: whether all came as text.
        told: the labels in their order, if that was said.
    """
    there = [k for k, label in enumerate(values) if not missing(label)]
    labels = [values[k] for k in there]
    read = (as_numbers(labels) if text else None) or [_whole(each) for each in labels]
    odd: dict[int, str] = {}
    if told is not None:
        met = list(told)
        by_text = {str(label): label for label in met}
        read = [by_text.get(str(label).strip(), label) for label in read]
        known = {label: label for label in met}
        for k, label in zip(there, read, strict=True):
            if label not in known:
                odd[k] = f"{label!r} is none of levels={met!r}: write it so, or add it"
        met += [label for label in dict.fromkeys(read) if label not in known]
    else:
        met = in_order(dict.fromkeys(read))
        total = dict.fromkeys(met, 0)
        for k, label in zip(there, read, strict=True):
            total[label] += int(often[k])
        for group in _groups(met, _look):
            meant = max(group, key=lambda i: total[met[i]])
            wrong = {met[i] for i in group if i != meant}
            for k, label in zip(there, read, strict=True):
                if label in wrong:
                    odd[k] = difference(label, met[meant])
    number = {label: i for i, label in enumerate(met)}
    if len(odd) > NAMED:
        of = dict(zip(there, read, strict=True))
        first = min(odd, key=lambda k: number[of[k]])
        odd = dict.fromkeys(odd, f"{odd[first]}; others likewise")
    place = np.full(len(values), -1)
    place[there] = [number[label] for label in read]
    remarks = () if told else _remarks(column, met)
    by_number: dict[Any, list[str]] = {}
    for k, label in zip(there, read, strict=True):
        by_number.setdefault(label, []).append(str(values[k]))
    if text and told is None and (twice := [x for x in by_number.values() if len(x) > 1]):
        remarks = (
            f"column {column!r}: {' and '.join(map(repr, sorted(twice[0], key=len)[:2]))} are read "
            "as one number: if they are two labels, put a letter in front",
            *remarks,
        )
    return Levels(met, place, odd, told is not None, remarks)


def in_order(labels: Any) -> list[Any]:
    """Labels in their order: by size where they are of one kind, else by kind and text."""
    met = list(labels)
    kinds = {str if isinstance(label, str) else type(label) for label in met}
    if kinds <= {int, float, bool} or len(kinds) == 1:
        plain = (str, int, float, bool)
        if kinds and issubclass(next(iter(kinds)), tuple):
            try:
                return sorted(met)
            except TypeError:  # of several kinds within
                pass
        return sorted(met, key=lambda label: label if isinstance(label, plain) else str(label))
    return sorted(met, key=lambda label: (type(label).__name__, str(label)))


def missing(label: Any) -> bool:
    """Whether a value is none."""
    return label is None or label != label or (isinstance(label, str) and label == "nan")


def _whole(label: Any) -> Any:
    """2.0 as 2: a column with gaps comes as floats."""
    return int(label) if isinstance(label, float) and label.is_integer() else label


def as_numbers(texts: Sequence[Any]) -> list[Any] | None:
    """Texts as numbers, whole ones where all are; None if one is no (finite) number."""
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return None
    if not all(map(math.isfinite, numbers)) or any("_" in text for text in texts):
        return None
    if all(number.is_integer() and abs(number) < 2**53 for number in numbers):
        return [int(number) for number in numbers]
    return list(numbers)


# -- labels that look alike: surely, or perhaps, one thing under two names


def difference(one: Any, other: Any) -> str:
    """What to say of two labels that are surely one."""
    blanks = isinstance(one, str) and isinstance(other, str) and one.split() == other.split()
    what = "blanks" if blanks else "form"
    return f"{one!r} and {other!r} differ in {what} only: write one label one way"


def _remarks(column: str, labels: Sequence[Any]) -> tuple[str, ...]:
    """Labels that differ in upper and lower case: they may be meant to."""
    groups = _groups(labels, lambda label: _look(label).casefold())
    cases = [[labels[i] for i in g] for g in groups if len({_look(labels[i]) for i in g}) > 1]
    return tuple(
        f"column {column!r}: {' and '.join(map(repr, some[:2]))} differ in upper and lower case "
        "only: if they are one label, write it one way"
        for some in cases
    )


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


# -- states, or actions


def made(
    columns: Mapping[str, Sequence[Any]], told: Mapping[str, Sequence[Any]], over: bool = False
) -> tuple[tuple[Any, ...], Variables | None]:
    """States, or actions: their labels, and what they are made of.

    Args:
        columns: the values of each by column, [n] each.
        told: the values of columns in their order, where that was said.
        over: adds a last one that stands for the end; it lies beyond the last value of each
            variable, and is like none of the others.
    """
    single = len(columns) == 1
    labels = (
        list(next(iter(columns.values()))) if single else list(zip(*columns.values(), strict=True))
    )
    everything = (*labels, OVER) if over else tuple(labels)
    if single and not told and not tell(labels):
        return everything, None
    codes, levels, ordinal = [], [], []
    for name, values in columns.items():
        if name in told:
            number = {label: k for k, label in enumerate(told[name])}
            codes.append(np.array([number[value] for value in values]))
            levels.append(list(told[name]))
            ordinal.append(True)
            continue
        distinct = list(dict.fromkeys(values))
        one = Variables({name: distinct})
        of = dict(zip(distinct, one.codes[:, 0].tolist(), strict=True))
        codes.append(np.array([of[value] for value in values]))
        levels.append(list(one.levels[0]))
        ordinal.append(one.ordinal[0])
    if over:
        codes = [np.append(code, len(level)) for code, level in zip(codes, levels, strict=True)]
        levels = [[*level, OVER] for level in levels]
    return everything, Variables.coded(np.stack(codes, axis=1), levels, list(columns), ordinal)
