"""What a planner asks for and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


class Dynamics(Protocol):
    """A finite MDP as planners see it; `gim.TabularMDP` is one.

    Each available pair has a row of transitions that sums to 1. A pair that is not available has
    an empty row and reward 0, and no planner ever chooses it; each state has an available one.
    Terminal states are absorbing and pay 0: their pairs are available loops.
    """

    @property
    def S(self) -> int:
        """Number of states."""

    @property
    def A(self) -> int:
        """Number of actions."""

    @property
    def horizon(self) -> int:
        """H, the number of steps of an episode."""

    @property
    def discount(self) -> float | None:
        """For whoever asks for a discounted method without naming a discount."""

    @property
    def transitions(self) -> Any:
        """p(s'|s,a): an array [S, A, S], or a `csr_array` with the row of (s, a) at s*A + a."""

    @property
    def rewards(self) -> Floats:
        """r(s,a), the expectation, [S, A]."""

    @property
    def available(self) -> Bools:
        """Which pairs can be played, [S, A]."""

    @property
    def terminal(self) -> Bools:
        """Which states end an episode, [S]."""

    @property
    def start(self) -> Floats:
        """The distribution of the first state, [S]."""


@dataclass(frozen=True, eq=False)
class Plan:
    """The best way to act in an MDP, and how surely it is known.

    Over a horizon, row h of each array is for step h, with H - h steps to go.
    """

    q: Floats
    """Value of each pair, [S, A] or [H, S, A]; -inf where it is not available."""
    v: Floats
    """Value of each state, [S] or [H, S]: the largest q."""
    policy: Ints
    """A best action, [S] or [H, S]; among exact ties the lowest."""
    iterations: int
    """Sweeps over all pairs."""
    error: float
    """No entry of v or q is further than this from the optimum's, and no value of the policy
    further than this from v."""
    method: str
    """What found it."""
    converged: bool
    """False if it ran out of iterations; `error` is met all the same."""
