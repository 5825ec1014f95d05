"""What a planner asks for and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gim._base.arguments import number
from gim._base.limits import check_memory

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


class Steps(Protocol):
    """What a plan asks when its values are read: `gim.planning.sweeper.Sweeper` is one."""

    @property
    def shape(self) -> tuple[int, int]:
        """S and A."""

    def follow(self, discount: float, v: Floats, policy: Any, out: Floats) -> Floats:
        """Value of each state if this policy [S] is followed for a step and v comes after."""

    def values(self, discount: float, v: Floats, q: Floats) -> Floats:
        """Value of each pair if v comes after, into q [S, A]."""


@dataclass(frozen=True, eq=False)
class Plan:
    """The best way to act in an MDP, and how surely it is known.

    Over a horizon, row h of each array is for step h, with H - h steps to go. What a plan keeps is
    small: the actions, and the values of the first step. `policy`, `v` and `q` are made when they
    are first read, from the arrays of the MDP: these must not be changed in place before that.

    Example:
        >>> import gim
        >>> plan = gim.plan(gim.make("riverswim"))
        >>> plan.policy.shape, plan.v.shape, plan.q.shape, plan.actions.dtype
        ((20, 6), (20, 6), (20, 6, 2), dtype('uint8'))
        >>> bool((plan.v[0] == plan.first).all())
        True
    """

    actions: NDArray[Any]
    """The policy in the smallest unsigned type that holds it, [S] or [H, S]."""
    first: Floats
    """Value of each state at the first step, [S]; without an end that is v."""
    iterations: int
    """Sweeps over all pairs."""
    error: float
    """No entry of v or q is further than this from the optimum's, and no value of the policy
    further than this from v."""
    method: str
    """What found it."""
    converged: bool
    """False if it ran out of iterations; `error` is met all the same."""
    discount: float
    """The weight of each step against the one before."""
    steps: Steps = field(repr=False)
    """The MDP that was planned, as sweeps take it."""
    before: Floats | None = field(default=None, repr=False)
    """Without an end, what the last sweep started from, [S]: q is r + discount P `before`."""

    @cached_property
    def policy(self) -> Ints:
        """A best action, int64 [S] or [H, S]; among exact ties the lowest."""
        return self.actions.astype(np.int64)

    @cached_property
    def v(self) -> Floats:
        """Value of each state, [S] or [H, S]: the largest q."""
        return self.first if self.before is not None else self._ahead[:-1]

    @cached_property
    def q(self) -> Floats:
        """Value of each pair, [S, A] or [H, S, A]; -inf where it is not available."""
        after = self._ahead[1:] if self.before is None else self.before[None]
        pairs = self.steps.shape[0] * self.steps.shape[1]
        check_memory(f"{len(after):,} steps of {pairs:,} pairs", 8 * len(after) * pairs)
        q = np.empty((len(after), *self.steps.shape))
        for h, v in enumerate(after):
            self.steps.values(self.discount, v, q[h])
        return q if self.before is None else q[0]

    def freedom(self, within: float) -> Bools:
        """The actions that lose at most so much, bool [S, A] or [H, S, A].

        What is lost if one is played here and the plan is followed from there on. Losses of several
        steps add up: to lose at most `within` in all, give a part of it for each step.

        Example:
            >>> import gim
            >>> plan = gim.plan(gim.make("inventory"))
            >>> plan.freedom(0.5)[0, :3].sum(axis=1).tolist()
            [4, 4, 5]
        """
        return free(self.v, self.q, within, 2 * self.error)

    @cached_property
    def _ahead(self) -> Floats:
        """Values of all steps, [H + 1, S]; the last row is 0. Following the policy gives them."""
        H, S = self.actions.shape
        v = np.zeros((H + 1, S))
        for h in reversed(range(H)):
            self.steps.follow(self.discount, v[h + 1], self.actions[h], v[h])
        return v


def free(v: Floats, q: Floats, within: float, slack: float) -> Bools:
    """The pairs whose q is at most `within` below v; `slack` is what cannot be told apart."""
    if not number("within", within) >= 0:
        raise ValueError(f"within = {within}: a loss is a number from 0 on")
    return np.asarray(v[..., None] - q <= within + slack)
