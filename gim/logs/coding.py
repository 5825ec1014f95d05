"""Labels as codes and texts as numbers, batch by batch."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim.logs.sources import pyarrow
from gim.mdp.names import label_of

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

MOST_LABELS = 1 << 22  # different labels of a column
NONE = -1  # the code of a label that is missing
FLAGS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


class Coder:
    """Numbers the labels of one column (or of a state's and a next state's) as they come."""

    def __init__(self, column: str) -> None:
        self.column = column
        self.codes: dict[Any, int] = {}
        self.text = True  # all labels came as text: numbers among them are still to be read
        self.merged: tuple[str, ...] = ()  # texts that are one number, of the first such

    def __call__(self, values: Any, column: str | None = None) -> Codes:
        """The codes of these values, -1 where one is missing; `column` is theirs, for a message."""
        if hasattr(values, "dictionary_encode"):
            pa = pyarrow("pyarrow")
            if not pa.types.is_dictionary(values.type):
                try:
                    values = values.dictionary_encode()
                except pa.ArrowException:
                    raise ValueError(
                        f"column {(column or self.column)!r} holds {values.type}, which is no "
                        "label: give texts or numbers, one column for each part"
                    ) from None
            levels = values.dictionary.to_pylist()
            places = values.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        elif values.dtype.kind in "biuf":
            found, places = np.unique(values, return_inverse=True)
            levels = found.tolist()
        else:
            labels = [label_of(_plain(value)) for value in values]
            numbers = {label: i for i, label in enumerate(dict.fromkeys(labels))}
            levels = list(numbers)
            places = np.fromiter(map(numbers.__getitem__, labels), np.int64, len(labels))
        known = np.fromiter(map(self._code, levels), np.int32, len(levels))
        return np.append(known, np.int32(NONE))[places]  # place -1 is the last

    def _code(self, label: Any) -> int:
        if label is None or label != label or label == "nan":
            return NONE
        self.text = self.text and isinstance(label, str)
        code = self.codes.setdefault(label, len(self.codes))
        if code >= MOST_LABELS:
            raise ValueError(
                f"column {self.column!r} has more than {MOST_LABELS} different values: bin it "
                "with bins=, or leave it out"
            )
        return code

    def levels(self) -> tuple[list[Any], NDArray[np.int32]]:
        """The labels in their order, and the place of each code among them.

        Text that is numbers throughout becomes numbers, so "1" and "01" are one label.
        """
        labels = list(self.codes)
        read = (as_numbers(labels) if self.text else None) or [_whole(each) for each in labels]
        met = list(dict.fromkeys(read))
        if self.text and len(met) < len(read):
            many = Counter(read)
            twice = next(label for label in read if many[label] > 1)
            self.merged = tuple(labels[i] for i, label in enumerate(read) if label == twice)
        kinds = {str if isinstance(label, str) else type(label) for label in met}
        if kinds <= {int, float, bool} or len(kinds) == 1:
            met.sort(key=_order)
        else:
            met.sort(key=lambda label: (type(label).__name__, str(label)))
        place = {label: i for i, label in enumerate(met)}
        return met, np.fromiter((place[label] for label in read), np.int32, len(read))


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _order(label: Any) -> Any:
    return label if isinstance(label, (str, int, float, bool)) else str(label)


def _whole(label: Any) -> Any:
    """2.0 as 2: a column with gaps comes as floats."""
    return int(label) if isinstance(label, float) and label.is_integer() else label


def as_numbers(texts: Sequence[str]) -> list[Any] | None:
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


def numbers(values: Any) -> Floats:
    """Numbers [n]; NaN where there is none, inf where what stands there is no number."""
    if hasattr(values, "dictionary_encode"):
        pa, pc = pyarrow("pyarrow"), pyarrow("pyarrow.compute")
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        try:
            if pa.types.is_string(values.type):
                values = pc.utf8_trim_whitespace(values)
            cast = pc.cast(values, pa.float64()).fill_null(math.nan)
            return np.array(cast.to_numpy(zero_copy_only=False), np.float64)
        except pa.ArrowException:
            values = np.fromiter(values.to_pylist(), object, len(values))
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    return np.fromiter(map(_number, values), np.float64, len(values))


def _number(value: Any) -> float:
    if value is None or value == "":
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.inf


def truth(label: Any) -> bool | None:
    """A flag: True, False, 0 or 1, also as text, since a CSV file has nothing else; None: none."""
    return FLAGS.get(str(label).strip().lower())
