"""Policies that a user gives beside a log: arrays, or functions and mappings of its labels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim.logs.bans import check_allowed
from gim.logs.log import Log
from gim.mdp.policy.alignment import Place, as_array
from gim.planning.checks import checked_policy


def given_policy(given: Any, log: Log, horizon: int | None) -> NDArray[Any]:
    """A policy as an array: actions [S] or [H, S], probabilities [S, A] or [H, S, A].

    One that plays what is banned is an error: a number for another policy would answer nobody.
    """
    everything = np.ones((log.S, log.A), bool)
    world: Any = SimpleNamespace(S=log.S, A=log.A, available=everything)
    pi: NDArray[Any] = checked_policy(world, by_labels(given, log, horizon), horizon)
    check_allowed(pi, log, "the policy")
    return pi


def by_labels(given: Any, log: Log, horizon: int | None = None) -> Any:
    """A policy in the log's numbers: a `Policy`, a function or a mapping by label, all else as is.

    Where nobody acts any more, at an end, it is not asked.
    """
    spare = log.allowed.argmax(axis=1)
    place = Place("log", *log.names(), ~log.terminal, spare, horizon, whole=False)
    return as_array(given, place)
