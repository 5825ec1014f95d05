"""The columns of a log, read in pieces and kept as codes and numbers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim.logs.alike import case_differences, difference, surely_alike
from gim.logs.coding import NONE, Coder, numbers, truth
from gim.logs.faults import NAMED, Faults
from gim.logs.sources import batches_of

LARGEST = 1e100  # of a reward: squares must add up
MOST_BINS = 10**6  # of a column: each is a label


class Part:
    """One column that states or actions are made of; `next` is its column of the next state."""

    def __init__(self, name: str, next: str | None, bins: Any) -> None:
        self.name, self.next, self.bins = name, next, bins
        self.coder = Coder(name)
        self.edges: NDArray[np.float64] | None = None
        self.remarks: list[str] = []  # on labels that may be what they are
        self.read: dict[str, list[NDArray[Any]]] = {name: []}
        if next is not None:
            self.read[next] = []

    def add(self, batch: Mapping[str, Any]) -> None:
        """Take in a batch: codes, or numbers that are to be binned."""
        for column, pieces in self.read.items():
            values = batch[column]
            pieces.append(self.coder(values, column) if self.bins is None else numbers(values))

    def codes(
        self, faults: Faults
    ) -> tuple[list[Any], NDArray[np.int64], NDArray[np.int64] | None]:
        """The values behind the codes, and the codes of each row and of its next state.

        A missing value is -1: a fault of the row, unless it is the next state's.
        """
        whole = {column: np.concatenate(pieces) for column, pieces in self.read.items()}
        self.read = {}
        if self.bins is not None:
            return self._binned(whole, faults)
        levels, place = self.coder.levels()
        place = np.append(place, np.int32(NONE))
        found = {column: place[codes] for column, codes in whole.items()}
        faults.mark(found[self.name] < 0, self.name, "nothing stands here, but a label must")
        check_spelling(levels, found, faults)
        if texts := self.coder.merged:
            self.remarks.append(
                f"column {self.name!r}: {' and '.join(map(repr, texts[:2]))} are read as one "
                "number: if they are two labels, put a letter in front"
            )
        for labels in case_differences(levels):
            shown = " and ".join(map(repr, labels[:2]))
            self.remarks.append(
                f"column {self.name!r}: {shown} differ in upper and lower case only: if they are "
                "one label, write it one way"
            )
        return levels, found[self.name], found.get(self.next or "")

    def _binned(self, whole: dict[str, Any], faults: Faults) -> Any:
        here = whole[self.name]
        faults.mark(~np.isfinite(here), self.name, "this is no finite number, but it is binned")
        self.edges = edges_of(self.name, self.bins, here[np.isfinite(here)])
        found = {
            column: np.where(
                np.isfinite(values), np.searchsorted(self.edges, values, side="right"), NONE
            )
            for column, values in whole.items()
        }
        return bin_names(self.edges), found[self.name], found.get(self.next or "")


class Table:
    """All rows of a log: codes of what labels, numbers of what is measured, [n] each.

    Args:
        source: see `gim.from_log`.
        parts: the columns of states, then those of actions.
        more: names of the columns "reward", "episode", "step", "done" and "propensity", or None.
    """

    def __init__(self, source: Any, parts: Sequence[Part], more: Mapping[str, str | None]) -> None:
        coders = {k: Coder(more[k] or "") for k in ("episode", "done") if more[k] is not None}
        measured = [k for k in ("reward", "step", "propensity") if more[k] is not None]
        kept: dict[str, list[NDArray[Any]]] = {k: [] for k in [*coders, *measured]}
        wanted = [column for part in parts for column in part.read]
        wanted = list(dict.fromkeys([*wanted, *(name for name in more.values() if name)]))
        self.n = 0
        for batch in batches_of(source, wanted):
            self.n += len(batch[wanted[0]])
            for part in parts:
                part.add(batch)
            for kind, coder in coders.items():
                kept[kind].append(coder(batch[more[kind] or ""]))
            for kind in measured:
                kept[kind].append(numbers(batch[more[kind] or ""]))
        if self.n == 0:
            raise ValueError("the log has no rows: it needs at least one")
        self.columns = {kind: np.concatenate(kept.pop(kind)) for kind in list(kept)}
        self.names, self.coders = more, coders

    def checked(self, faults: Faults) -> None:
        """Mark rows in which one of these columns cannot be used."""
        name, found = self.names, self.columns
        r = found["reward"]
        faults.mark(np.isnan(r), name["reward"] or "", "the reward is missing (NaN)")
        faults.mark(np.isinf(r), name["reward"] or "", "the reward is no finite number")
        large = np.abs(r) > LARGEST
        faults.mark(large, name["reward"] or "", f"the reward is beyond {LARGEST:g}: rescale it")
        if "episode" in found:
            faults.mark(found["episode"] < 0, name["episode"] or "", "the episode is missing")
            episodes = list(self.coders["episode"].codes)
            check_spelling(episodes, {name["episode"] or "": found["episode"]}, faults)
        if "step" in found:
            faults.mark(~np.isfinite(found["step"]), name["step"] or "", "the step is no number")
        if "propensity" in found:
            p = found["propensity"]
            text = "a propensity is above 0 and at most 1"
            faults.mark(~((p > 0) & (p <= 1)), name["propensity"] or "", text)
        if "done" in found:
            found["done"] = self._flags(faults)

    def _flags(self, faults: Faults) -> NDArray[np.bool_]:
        codes, column = self.columns["done"], self.names["done"] or ""
        meant = [truth(label) for label in self.coders["done"].codes]
        unclear = np.array([*(flag is None for flag in meant), True])[codes]
        faults.mark(unclear, column, "a flag is True, False, 0 or 1")
        return np.array([*(flag is True for flag in meant), False])[codes]


def check_spelling(levels: list[Any], found: Mapping[str, NDArray[Any]], faults: Faults) -> None:
    """Mark rows with a label that is surely another one, written differently, column by column.

    Of labels that look alike the one that stands most often is meant.
    """
    groups = surely_alike(levels)
    if not groups:
        return
    often = np.zeros(len(levels), np.int64)
    for codes in found.values():
        often += np.bincount(codes[codes >= 0], minlength=often.size)
    odd: dict[int, str] = {}
    for group in groups:
        meant = max(group, key=often.__getitem__)
        odd |= {i: difference(levels[i], levels[meant]) for i in group if i != meant}
    if len(odd) > NAMED:
        odd = dict.fromkeys(odd, f"{next(iter(odd.values()))}; others likewise")
    is_odd = np.zeros(len(levels) + 1, bool)  # the last: of those missing
    is_odd[list(odd)] = True
    for column, codes in found.items():
        rows = np.flatnonzero(is_odd[codes])
        texts = np.array([odd[i] for i in codes[rows].tolist()])
        for text in dict.fromkeys(texts.tolist()):
            faults.mark(rows[texts == text], column, text)


def edges_of(column: str, given: Any, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The inner edges of bins: those given, or those of so many bins of one width."""
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        if not 2 <= given <= MOST_BINS:
            raise ValueError(f"bins of {column!r} = {given}: give 2 to {MOST_BINS}, or the edges")
        low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
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
