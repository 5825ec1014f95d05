"""What a world calls its states and its actions: labels, tuples of variables, or bare numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from gim._base.arguments import as_whole, several

AMBIGUOUS = -1  # in place of a number: several have this tuple of variables
MOST = 2**31  # beyond, a number is no state and no action of any table
SHOWN = 5  # names that a message gives as examples


class Names:
    """The names of n states, or of n actions.

    A thing goes by its label, by the tuple of its variables, or by its number 0..n-1; where there
    are labels, a number is one only if a label says so. Labels that are tuples of one length are
    variables; labels that are the numbers themselves are none.

    Args:
        kind: "state" or "action", for messages.
        n: how many there are.
        labels: n different ones, or None.
        variables: n tuples, or None.
        names: of the variables; by default "0", "1", ...

    Example:
        >>> cells = Names("state", 3, [(0, 0), (0, 1), (1, 0)], names=("row", "column"))
        >>> cells.find((0, 1)), cells.find({"row": 1, "column": 0}), cells.find(2), cells[2]
        (1, 2, 2, (1, 0))
    """

    def __init__(
        self,
        kind: str,
        n: int,
        labels: Sequence[Any] | None = None,
        variables: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        if n > MOST:
            raise ValueError(f"{n} {kind}s are more than any table has: the limit is {MOST}")
        self.kind, self.n = kind, n
        self.labels = labels_of(f"{kind} labels", labels, n)
        if variables is None and self.labels and _alike(self.labels):
            variables, self.labels = self.labels, None
        if self.labels is not None and self.labels == tuple(range(n)):
            self.labels = None
        self.variables, self.names = self._checked(variables, names)

    def _checked(self, variables: Any, names: Any) -> tuple[Any, Any]:
        if variables is None:
            return None, None
        tuples: tuple[Any, ...] = tuple(label_of(values) for values in variables)
        if len(tuples) != self.n or not _alike(tuples):
            raise ValueError(f"{self.kind} variables must be {self.n} tuples of one length")
        k = len(tuples[0])
        names = tuple(map(str, range(k) if names is None else names))
        if len(names) != k or len(set(names)) < k:
            raise ValueError(f"{k} variables need {k} different names, not {names}")
        return tuples, names

    @cached_property
    def _numbers(self) -> dict[Hashable, int]:
        """The number of each name."""
        found: dict[Hashable, int] = {}
        for k, values in enumerate(self.variables or ()):
            found[values] = AMBIGUOUS if values in found else k
        return found | {label: k for k, label in enumerate(self.labels or ())}

    def find(self, thing: Any, of: str = "this policy") -> int:
        """The number of what goes by this name; `of` what it is, for the message."""
        try:
            k = self._numbers.get(thing)
        except TypeError:  # an array, a list, a mapping
            k = None
        if k is None and self._numbers:
            if isinstance(thing, Mapping) and self.names and set(self.names) <= set(thing):
                thing = [thing[name] for name in self.names]
            k = self._numbers.get(label_of(thing))
        if k is None and self.labels is None and (k := as_whole(thing)) is not None:
            k = k if 0 <= k < self.n else None
        if k is None:
            raise ValueError(f"{thing!r} is no {self.kind} of {of}: {self._hint(thing)}")
        if k == AMBIGUOUS:
            raise ValueError(f"{thing!r} stands for several {self.kind}s: use policy.index")
        return k

    def _hint(self, thing: Any) -> str:
        if self.labels is None and self.variables is None:
            return f"they are the numbers 0 to {self.n - 1}"
        known = self.labels if self.labels is not None else self.variables
        some = ", ".join(repr(name) for name in islice(known, SHOWN))
        more = ", ..." if self.n > SHOWN else ""
        number = as_whole(thing) is not None and self.labels is not None
        return f"they are {some}{more}" + ("; policy.index takes numbers" if number else "")

    def __getitem__(self, k: int) -> Any:
        """The name of number k: its label, else its variables, else k."""
        if self.labels is not None:
            return self.labels[k]
        if not 0 <= k < self.n:  # so that bare numbers, too, come to an end
            raise IndexError(f"{k} is no {self.kind}: there are {self.n}")
        return k if self.variables is None else self.variables[k]

    def __len__(self) -> int:
        return self.n

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Names) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def _parts(self) -> tuple[Any, ...]:
        return self.kind, self.n, self.labels, self.variables, self.names

    def to_json(self) -> Any:
        """A number where these are numbers, a list of labels, or a mapping with variables."""
        labels = None if self.labels is None else [plain(label) for label in self.labels]
        if self.variables is None:
            return self.n if labels is None else labels
        found = {"names": list(self.names), "values": [plain(row) for row in self.variables]}
        return found if labels is None else found | {"labels": labels}

    @classmethod
    def from_json(cls, kind: str, given: Any) -> Names:
        """The inverse of `to_json`."""
        n = as_whole(given)
        if n is not None and n > 0:
            return cls(kind, n)
        parts = {"labels": given} if isinstance(given, list) else given
        if not isinstance(parts, Mapping) or set(parts) - {"labels", "names", "values"}:
            raise ValueError(f"{kind}s must be a number above 0, a list of labels, or variables")
        labels, values = parts.get("labels"), parts.get("values")
        for name, rows in (("labels", labels), ("values", values), ("names", parts.get("names"))):
            if rows is not None and not (isinstance(rows, list) and rows and _is_plain(rows)):
                raise ValueError(f"{name} of {kind}s must be a list of numbers, texts or lists")
        if labels is None and values is None:
            raise ValueError(f"{kind}s have neither labels nor values")
        n = len(labels if labels is not None else values)  # type: ignore[arg-type]
        return cls(kind, n, labels, values, parts.get("names"))


def label_of(given: Any) -> Hashable:
    """A label as it is kept: numpy's numbers as Python's, lists as tuples, the rest as it is.

    What cannot be looked up (a set, or NaN, which equals nothing) becomes text.
    """
    if isinstance(given, (np.generic, np.ndarray)):
        given = given.tolist()
    if isinstance(given, (list, tuple)):
        return tuple(label_of(part) for part in given)
    try:
        hash(given)
    except TypeError:
        return str(given)
    return given if given == given else str(given)


def labels_of(name: str, given: Sequence[Any] | None, n: int) -> tuple[Hashable, ...] | None:
    """Labels, n of them, that differ from each other, as things and as text."""
    if given is None:
        return None
    if isinstance(given, (set, frozenset)):
        raise ValueError(f"{name} are a set, which has no order: give a list")
    labels = tuple(label_of(label) for label in several(name, given, f"{n} labels"))
    if len(labels) != n:
        raise ValueError(f"{name} has {len(labels)} labels for {n}")
    for kept in (labels, tuple(map(str, labels))):
        if len(set(kept)) < n:
            twice, _ = Counter(kept).most_common(1)[0]
            raise ValueError(f"{name}: {twice!r} stands twice")
    return labels


def plain(label: Hashable) -> Any:
    """A label as JSON holds it: text, a number, true, false, null, or a list of such; else text."""
    if isinstance(label, tuple):
        return [plain(part) for part in label]
    if isinstance(label, str):
        return str.__str__(label)  # of an enumeration, too, what it stands for
    for kind in (bool, int, float):
        if isinstance(label, kind):
            return kind(label)
    return None if label is None else str(label)


def _alike(labels: Sequence[Hashable]) -> bool:
    """Whether these are tuples of one length, 1 or more."""
    lengths = {len(label) if isinstance(label, tuple) else 0 for label in labels}
    return len(lengths) == 1 and lengths != {0}


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (str, int, float))
