"""What is planned for: rewards over a horizon, discounted without end, or on average by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from gim.planning.average import average_plan
from gim.planning.chain import chain_values
from gim.planning.checks import checked_discount, checked_horizon, checked_weight
from gim.planning.choose import plan
from gim.planning.evaluation import evaluate, expected_visits, solve_chain, solve_policy
from gim.planning.finite import backward_induction
from gim.planning.linear import under
from gim.planning.types import Dynamics, Floats

FAR = 1 - 1e-6  # a discount that stands for the average, where only weights of states are asked for


@dataclass(frozen=True)
class Criterion:
    """What is summed: over a horizon, discounted without end, or on average.

    Example:
        >>> Criterion.of(None, 0.9, False, own_horizon=20)
        Criterion(horizon=None, discount=0.9, average=False)
    """

    horizon: int | None
    discount: float | None
    average: bool

    @classmethod
    def of(
        cls, horizon: int | None, discount: float | None, average: bool, own_horizon: int
    ) -> Criterion:
        """Checked; with none of the three it is over the world's own horizon."""
        if average:
            if horizon is not None or discount is not None:
                raise ValueError(
                    "the average has no end and no discount: leave out horizon, discount"
                )
            return cls(None, None, True)
        if horizon is None and discount is not None:
            return cls(None, checked_discount(discount), False)
        weight = None if discount is None else checked_weight(discount)
        return cls(checked_horizon(own_horizon if horizon is None else horizon), weight, False)

    @property
    def gamma(self) -> float:
        """The weight of each step against the one before."""
        return 1.0 if self.discount is None else self.discount

    def plan(self, mdp: Dynamics) -> Any:
        """The best plan without limits: its policy is [S] or [H, S]."""
        if self.average:
            return average_plan(mdp)
        if self.horizon is None:
            return plan(mdp, discount=self.discount)
        return backward_induction(mdp, self.horizon, self.gamma)

    def worth(self, mdp: Dynamics, policy: Any) -> float:
        """The value of a policy from the start."""
        return float(self.sums(mdp, policy, [mdp.rewards])[0])

    def best(self, mdp: Dynamics) -> float:
        """The largest value from the start."""
        found = self.plan(mdp)
        return float(mdp.start @ (found.gain if self.average else found.first))

    def ahead(self, mdp: Dynamics, policy: Any, step: int = 0) -> Floats:
        """What comes after a step under a policy, discounted, by the state it leads to, [S].

        On average that is the bias.
        """
        if self.average:
            return chain_values(*under(mdp, policy)).bias
        if self.horizon is None:
            return self.gamma * solve_policy(mdp, policy, self.gamma)
        weight = None if self.discount is None else self.gamma
        values = evaluate(mdp, policy, self.horizon, weight)
        return self.gamma * values[step + 1] if step + 1 < self.horizon else np.zeros(mdp.S)

    def losses(self, mdp: Dynamics) -> tuple[Any, Floats]:
        """The best plan, and what each pair loses if it is played once: [S, A] or [H, S, A]."""
        found = self.plan(mdp)
        best = found.bias if self.average else found.v
        return found, np.maximum(best[..., None] - found.q, 0.0)

    def visits(self, mdp: Dynamics, policy: Any) -> Floats:
        """How often a policy comes by, discounted, [S] or [H, S]; on average a share of steps."""
        if self.horizon is not None:
            weights = self.gamma ** np.arange(self.horizon)
            return expected_visits(mdp, policy, self.horizon).sum(axis=2) * weights[:, None]
        P, _ = under(mdp, policy)
        P = sparse.csr_array(P)
        gamma = FAR if self.average else self.gamma
        system = sparse.eye_array(mdp.S, format="csc") - gamma * P.T.tocsc()
        often = np.asarray(splu(sparse.csc_array(system)).solve(mdp.start))
        return np.maximum(often, 0.0) * (1 - gamma if self.average else 1.0)

    def sums(self, mdp: Dynamics, policy: Any, tables: Sequence[Floats]) -> Floats:
        """What each of these [S, A] comes to under a policy, from the start."""
        policy = np.asarray(policy)
        if self.horizon is not None:
            visits = expected_visits(mdp, policy, self.horizon)
            weights = self.gamma ** np.arange(self.horizon)
            often = np.tensordot(weights, visits, axes=1)
            return np.array([float((often * table).sum()) for table in tables])
        chances = np.eye(mdp.A)[policy] if policy.dtype.kind in "iu" else policy
        P, _ = under(mdp, chances)
        paid = [(chances * table).sum(axis=1) for table in tables]
        if self.average:
            each = [chain_values(P, r).gain for r in paid]
        else:
            each = [solve_chain(P, r, self.gamma) for r in paid]
        return np.array([float(mdp.start @ v) for v in each])
