"""What a trial tries: an agent in a world, or anything else that is measured there.

The `agent` of a trial is the spec of an agent; or, by its full name, that of a class of this kind,
such as ``gim_lab.experiments.logs.from_log.FromLog:size=500``. Both are stored, found again and run
on any engine in the same way, and the code of both is part of a trial's digest.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from time import thread_time
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from gim._base.params import Params, describe
from gim._base.registry import arguments, did_you_mean, parse, write
from gim.runs.agent import agents

if TYPE_CHECKING:
    from gim_lab.trials.trial import Trial

HERE = "gim_lab.experiments."  # no other module is imported because a spec names it
BEFORE = "gim.experiments."  # where these classes stood up to 0.2.0.dev0

Measured = tuple[dict[str, Any], dict[str, NDArray[Any]], dict[str, float]]


@dataclass(frozen=True)
class Subject(Params):
    """Base of all that is no agent: the fields are the parameters, in specs as well."""

    def measured(self, trial: Trial) -> Measured:
        """Columns and curves as `gim_lab.trials.measures` has them, and seconds by phase.

        Curves have a point for each episode of the trial, whatever an episode is to the subject.
        """
        raise TypeError(f"{type(self).__name__} must define measured(trial)")

    def __str__(self) -> str:
        kind = type(self)
        return write(f"{kind.__module__}.{kind.__qualname__}", arguments(self), nested=False)


def kind_of(name: str) -> Any:
    """The class that has this name."""
    if name.startswith(BEFORE):
        name = HERE + name.removeprefix(BEFORE)
    if not name.startswith(HERE):
        return agents[name]
    module, _, last = name.rpartition(".")
    try:
        found = getattr(import_module(module), last, None)
    except ModuleNotFoundError:
        found = None
    if not (isinstance(found, type) and issubclass(found, Subject)):
        raise ValueError(f"{name} is nothing that a trial can try: name an agent")
    return found


def subject_of(spec: str) -> Any:
    """The agent or the `Subject` that a spec names.

    Example:
        >>> subject_of("gim_lab.experiments.logs.from_log.FromLog:size=20").size
        20
    """
    name, args = parse(spec)
    if not name.startswith((HERE, BEFORE)):
        return agents.make(spec)
    kind = kind_of(name)
    known = [p.name for p in describe(kind)]
    for key in args:
        if key not in known:
            raise ValueError(f"{name} has no parameter {key!r}{did_you_mean(key, known)}")
    return kind(**args)


@contextmanager
def timed(spent: dict[str, float], phase: str) -> Iterator[None]:
    """Count the processor time spent inside."""
    before = thread_time()
    try:
        yield
    finally:
        spent[phase] += thread_time() - before
