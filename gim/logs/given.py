"""Policies that a user gives beside a log: arrays, or functions and mappings of its labels."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim.logs.bans import check_allowed
from gim.logs.log import Log
from gim.planning.checks import checked_policy


def given_policy(given: Any, log: Log, horizon: int | None) -> NDArray[Any]:
    """A policy as an array: actions [S] or [H, S], probabilities [S, A] or [H, S, A].

    One that plays what is banned is an error: a number for another policy would answer nobody.
    """
    everything = np.ones((log.S, log.A), bool)
    world: Any = SimpleNamespace(S=log.S, A=log.A, available=everything)
    pi: NDArray[Any] = checked_policy(world, by_labels(given, log), horizon)
    check_allowed(pi, log, "the policy")
    return pi


def by_labels(given: Any, log: Log) -> Any:
    """The actions [S] of a function or a mapping of states to actions; all else as it is.

    Where nobody acts any more, at an end, it is not asked.
    """
    (states, actions), played = log.names(), np.flatnonzero(~log.terminal).tolist()
    if isinstance(given, Mapping):
        for s in played:
            if states[s] not in given:
                raise ValueError(f"the policy says nothing of state {states[s]!r}")
        given = given.__getitem__
    if not callable(given) or hasattr(given, "__array__"):
        return given
    found = np.zeros(log.S, np.int64)
    for s in played:
        found[s] = actions.find(given(states[s]), "this log")
    return found
