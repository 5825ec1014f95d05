"""What the entries of the fuzzer share: odd numbers, arrays that mostly fit, and what a no is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

Rng = np.random.Generator
ODD = (0, 1, -1, 2, 0.5, 1e300, -1e300, 1e-300, np.nan, np.inf, -np.inf, 2**31, 2**62, 7)


class Refused(Exception):
    """The entry said no, as it should."""


@contextmanager
def refusing(*more: type[Exception]) -> Iterator[None]:
    """Turn the errors that an entry may raise into `Refused`."""
    kinds: tuple[type[Exception], ...] = (ValueError, *more)
    try:
        yield
    except kinds as problem:
        if "\n" in str(problem).strip() or not str(problem):
            raise AssertionError(f"not one line: {problem!r}") from None
        raise Refused from None


def array(rng: Rng, *shape: int) -> Any:
    """Numbers that mostly fit, in a shape that mostly fits."""
    made = rng.random(shape)
    if rng.random() < 0.3:
        made.flat[int(rng.integers(made.size))] = rng.choice(ODD)
    kind = rng.integers(12)
    if kind == 0:
        return made.tolist()
    if kind == 1:
        return made.astype(str)
    if kind == 2:
        return made[..., None]
    if kind == 3:
        return made.reshape(-1)
    if kind == 4:
        return made.astype(object)
    if kind == 5:
        return (made > 0.5).astype(rng.choice(["bool", "int8", "float32", "complex128"]))
    return made
