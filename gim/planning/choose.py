"""One question, `plan`, and the fastest method that answers it.

Which one that is, without an end, does not show in the size of an MDP but in what sweeps do to it.
Where it mixes fast, a handful of sweeps along a policy bring all changes to one number, and a leap
does the rest: nothing is faster. Where it does not, they would go on for 1 / (1 - discount) of
themselves, and a linear system is solved instead: exactly if rows are dense, by a Krylov method if
they are sparse.
"""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import Literal, overload

from scipy import sparse

from gim.planning.average import METHODS as AVERAGE
from gim.planning.average import AveragePlan, average_plan
from gim.planning.checks import check_room, checked_horizon, checked_max_iter
from gim.planning.desk import MAX_ITER, Desk
from gim.planning.discounted import (
    FollowOrSolve,
    greedily,
    modified_policy_iteration,
    policy_iteration,
    value_iteration,
)
from gim.planning.finite import backward_induction
from gim.planning.inexact import Inexact, inexact_policy_iteration
from gim.planning.types import Dynamics, Plan

DISCOUNTED = {
    "value_iteration": value_iteration,
    "modified_policy_iteration": modified_policy_iteration,
    "policy_iteration": policy_iteration,
    "inexact_policy_iteration": inexact_policy_iteration,
}
METHODS = ("auto", "backward_induction", *DISCOUNTED)


@overload
def plan(
    mdp: Dynamics,
    discount: float | None = None,
    horizon: int | None = None,
    tolerance: float = 1e-8,
    method: str = "auto",
    max_iter: int | None = None,
    average: Literal[False] = False,
) -> Plan: ...
@overload
def plan(
    mdp: Dynamics,
    discount: None = None,
    horizon: None = None,
    tolerance: float = 1e-8,
    method: str = "auto",
    max_iter: int | None = None,
    *,
    average: Literal[True],
) -> AveragePlan: ...
def plan(
    mdp: Dynamics,
    discount: float | None = None,
    horizon: int | None = None,
    tolerance: float = 1e-8,
    method: str = "auto",
    max_iter: int | None = None,
    average: bool = False,
) -> Plan | AveragePlan:
    """The optimal plan, by the fastest method: over a horizon, or without end if discounted.

    Args:
        mdp: the MDP.
        discount: the weight of each step against the one before. With a discount and no horizon
            there is no end: q [S, A], v [S], policy [S].
        horizon: H, the number of steps: q [H, S, A], v [H, S], policy [H, S]. If neither is given
            it is the MDP's own.
        tolerance: without an end, how far a value may be from the optimum's.
        method: "auto", "backward_induction", "value_iteration", "modified_policy_iteration",
            "policy_iteration" or "inexact_policy_iteration"; the last four take the MDP's own
            discount if none is given.
        max_iter: the largest number of sweeps over all pairs.
        average: plan for the average reward of a step, without end and without a discount: see
            `gim.planning.average`, whose methods it takes and whose plan it gives.

    Example:
        >>> import gim
        >>> mdp = gim.make("riverswim")
        >>> gim.plan(mdp).policy.shape, gim.plan(mdp, discount=0.95).policy
        ((20, 6), array([1, 1, 1, 1, 1, 1]))
    """
    if not all(hasattr(mdp, name) for name in ("S", "A", "transitions", "rewards")):
        raise ValueError(f"a {type(mdp).__name__} cannot be planned: give a TabularMDP or a model")
    methods = ("auto", *AVERAGE) if average else METHODS
    if method not in methods:
        close = difflib.get_close_matches(str(method), methods, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"choose from {', '.join(methods)}"
        raise ValueError(f"unknown method {method!r}: {hint}")
    limit = MAX_ITER if max_iter is None else max_iter
    if average:
        if discount is not None or horizon is not None:
            raise ValueError("the average has no end and no discount: leave out horizon, discount")
        return average_plan(mdp, tolerance, method, max_iter)
    if method == "auto":
        if discount is not None and horizon is None:
            return _as_seen(mdp, discount, tolerance, limit)
        method = "backward_induction"
    if method == "backward_induction":
        H = checked_horizon(mdp.horizon if horizon is None else horizon)
        if max_iter is not None and checked_max_iter(max_iter) < H:
            raise ValueError(f"{H} steps take {H} sweeps, more than max_iter {max_iter}: raise it")
        check_room(H, mdp.S)
        return backward_induction(mdp, H, 1.0 if discount is None else discount)
    if horizon is not None:
        raise ValueError(f"{method} has no horizon: leave it out, or use backward_induction")
    if discount is None and (discount := mdp.discount) is None:
        raise ValueError(f"{method} needs a discount: pass discount=0.95, or another below 1")
    return DISCOUNTED[method](mdp, discount, tolerance, limit)


def _as_seen(mdp: Dynamics, discount: float, tolerance: float, max_iter: int) -> Plan:
    """The optimal plan without an end, by what sweeps show."""
    desk = Desk(mdp, discount, tolerance, max_iter, as_csr=sparse.issparse(mdp.transitions))
    step = _AsSeen(desk)
    return replace(desk.iterate("", greedily(step), step, None), method=step.method)


class _AsSeen:
    """Follow policies; from the first that mixes slowly on, if rows are sparse, go by Krylov."""

    def __init__(self, desk: Desk) -> None:
        self.following = FollowOrSolve(desk)
        self.inexact: Inexact | None = None

    def __call__(self, desk: Desk) -> None:
        """Set v from what the last sweep led to."""
        if self.inexact is None and self.following.stalls and desk.sweeper.sparse:
            self.inexact = Inexact(desk)
        (self.inexact or self.following)(desk)

    @property
    def method(self) -> str:
        """What it has come to."""
        return f"{'inexact' if self.inexact else 'modified'}_policy_iteration"
