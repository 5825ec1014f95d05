"""From a model to a policy, in the ways that agents ask for.

"finite" is the paper's objective, the best time-dependent policy over the horizon. "discounted" and
"lookahead" (one step) are what the published code does; it also plans on rows that do not sum to 1,
which no bound covers, so there plain value iteration runs until it stands still or 10,000 sweeps
are over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from gim._base.params import OneOf
from gim.planning import backward_induction, plan

Planner = Annotated[
    str, OneOf("finite", "discounted", "lookahead"), "how the policy is computed from the model"
]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Model:
    """Bare arrays as a planner sees them; the rows need not be distributions."""

    transitions: Any  # [S, A, S], or CSR of S*A rows
    rewards: Floats  # [S, A]
    available: NDArray[np.bool_]  # [S, A]
    horizon: int

    @property
    def S(self) -> int:
        """Number of states."""
        return self.rewards.shape[0]

    @property
    def A(self) -> int:
        """Number of actions."""
        return self.rewards.shape[1]

    @property
    def discount(self) -> float | None:
        """None of its own."""
        return None

    @property
    def terminal(self) -> NDArray[np.bool_]:
        """None is set apart: a terminal state is a loop that pays 0."""
        return np.zeros(self.S, bool)

    @property
    def start(self) -> Floats:
        """Planning does not depend on it."""
        return np.full(self.S, 1 / self.S)


def planned_policy(model: Model, planner: str, gamma: float) -> NDArray[np.integer]:
    """The policy [H, S] that the planner finds best in the model."""
    if planner == "finite":
        return backward_induction(model).actions
    if planner == "lookahead":
        q = looked_ahead(model, gamma)
    elif np.allclose(_sums(model)[model.available], 1):
        return np.tile(plan(model, discount=gamma).policy, (model.horizon, 1))
    else:
        q = _sweep(model, gamma)
    return np.tile(q.argmax(axis=1), (model.horizon, 1))


def looked_ahead(model: Model, gamma: float) -> Floats:
    """r(s,a) plus the discounted best reward of the next state, [S, A]; -inf if not available."""
    return _backup(model, np.where(model.available, model.rewards, -np.inf).max(axis=1), gamma)


def _sums(model: Model) -> Floats:
    return np.asarray(model.transitions.sum(axis=-1)).reshape(model.rewards.shape)


def _backup(model: Model, v: Floats, gamma: float) -> Floats:
    q = model.rewards + gamma * (model.transitions @ v).reshape(model.rewards.shape)
    return np.where(model.available, q, -np.inf)


def _sweep(model: Model, gamma: float) -> Floats:
    v = np.zeros(model.S)
    for _ in range(10_000):
        q = _backup(model, v, gamma)
        new = q.max(axis=1)
        if np.abs(new - v).max() < 1e-4 or new.max() > 1e100:
            break
        v = new
    return q
