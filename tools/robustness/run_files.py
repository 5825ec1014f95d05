"""Run files that lie: valid in form and checksum, with one array or field that no run has left.

Each is opened and, if it is taken, played on in the checked mode of the loop. It must be refused in
one sentence, or do no harm: no index outside an array, no exception but a ValueError.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._base import files
from gim.mdp.tabular import TabularMDP
from gim.runs.agent import agents
from gim.runs.run import prepare, unpack_run
from gim.testing.agents import small_worlds

EPISODES = 12
JUNK: tuple[Any, ...] = (None, -1, 10**30, float("nan"), "x", [], {}, True, 2.5)


class Case(NamedTuple):
    """One change of a run's file."""

    place: str  # which array or field
    change: str  # what was done to it
    arrays: dict[str, NDArray[Any]]
    meta: dict[str, Any]


def paused(spec: str, world: TabularMDP | None = None) -> files.Packed:
    """What the file of a run of this agent holds in the middle of an episode."""
    world = small_worlds()[1] if world is None else world
    run = prepare(agents.make(spec), world, EPISODES, 3)
    return run.pause_at(EPISODES * world.horizon // 3).pack()


def cases(packed: files.Packed, rng: np.random.Generator) -> Iterator[Case]:
    """Every array with other values, shapes and dtypes; every field of the meta with junk."""
    for name, array in packed.arrays.items():
        for change, other in mutated(array, rng):
            yield Case(name, change, packed.arrays | {name: other}, packed.meta)
        rest = {key: value for key, value in packed.arrays.items() if key != name}
        yield Case(name, "left out", rest, packed.meta)
    yield Case(
        "memory.strange", "added", packed.arrays | {"memory.strange": np.zeros(3)}, packed.meta
    )
    for path in fields(packed.meta):
        for junk in (JUNK[int(rng.integers(len(JUNK)))], JUNK[int(rng.integers(len(JUNK)))]):
            yield Case(
                ".".join(map(str, path)), f"= {junk!r}", packed.arrays, put(packed.meta, path, junk)
            )


def mutated(array: NDArray[Any], rng: np.random.Generator) -> Iterator[tuple[str, NDArray[Any]]]:
    """The array with values, sizes and types that it should not have."""
    kind = array.dtype.kind
    values: tuple[Any, ...] = {
        "i": (-1, -(10**6), 10**6, 2**62, -(2**62)),
        "f": (np.nan, np.inf, -np.inf, -1.0, 1e300),
        "U": ("", "x"),
    }.get(kind, (True, False))
    for value in values:
        if array.size and (kind != "i" or abs(value) <= np.iinfo(array.dtype).max):
            other = array.copy()
            other.flat[int(rng.integers(array.size))] = value
            yield f"one is {value}", other
            yield f"all are {value}", np.full_like(array, value)
    yield "empty", np.zeros(0, array.dtype)
    yield "one longer", np.append(array.ravel(), array.ravel()[:1])
    yield "one axis more", array[None]
    yield "another dtype", np.zeros(array.shape, np.float32 if kind != "f" else np.int64)
    if array.size > 1:
        yield "shuffled", rng.permutation(array.ravel()).reshape(array.shape)


def fields(meta: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to everything in the meta, tables and lists included."""
    if path:
        yield path
    inner = (
        meta.items()
        if isinstance(meta, dict)
        else enumerate(meta)
        if isinstance(meta, list)
        else ()
    )
    for key, value in inner:
        yield from fields(value, (*path, key))


def put(meta: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """The meta with one thing replaced."""
    meta = copy.deepcopy(meta)
    place: Any = meta
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return meta


def outcome(case: Case) -> str:
    """`refused`, or `harmless` if it was taken and its run went on to its end.

    Anything but a ValueError is let through: that is what must not happen.
    """
    try:
        arrays = {name: array.copy() for name, array in case.arrays.items()}  # a run writes to them
        run = unpack_run(arrays, copy.deepcopy(case.meta))
    except (ValueError, LookupError, TypeError, AttributeError):  # as `gim.load` takes them
        return "refused"
    if run.episodes > 1000 * EPISODES or run.task.H > 1000:
        return "taken"
    run._driver.check_indices()
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of overflows: the numbers are absurd
            run.go()
    except ValueError:
        return "refused"
    return "harmless"
