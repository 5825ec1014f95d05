"""Inexact policy iteration: sweeps in place move the policy, a Krylov method values it.

Howard's policy iteration (1960) solves for each policy's value and needs few policies; but in a
large sparse MDP a solution is dear, and a greedy step moves the policy no further than one step
can see. Here a handful of Gauss-Seidel sweeps over all pairs, forth and back, carry news as far as
the order of states allows; and the value of the policy that they lead to is only brought some two
digits closer, by BiCGSTAB (Gargiani et al. 2024 have GMRES). It starts from values that are too
low: those grow by what a policy does reach, while values that are too high keep each other up.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from gim.planning.desk import MAX_ITER, Desk
from gim.planning.krylov import improve, pack, solve
from gim.planning.linear import fits, solve_linear, under
from gim.planning.types import Dynamics, Plan

SWEEPS = 2  # in place, between two values of a policy
MANY = 8  # actions with which one sweep over all costs as much as two iterations of BiCGSTAB
CLOSER = 0.02  # the factor by which these bring down the residual, if actions are not more
CLOSEST = 1e-10
LIMIT = 200  # of its iterations
STEPS = 8  # without a new least error, after which it has to come closer


def inexact_policy_iteration(
    mdp: Dynamics,
    discount: float,
    tolerance: float = 1e-8,
    max_iter: int = MAX_ITER,
    v0: ArrayLike | None = None,
) -> Plan:
    """Sweep in place, and in between bring the value of the policy closer by a Krylov method.

    For large sparse MDPs, and for discounts up to .9999 and beyond. Where BiCGSTAB fails, the value
    is solved for if that is within bounds, and else left to the sweeps, which always get there.
    Arguments and result are those of `value_iteration`.
    """
    desk = Desk(mdp, discount, tolerance, max_iter, as_csr=True)
    return desk.iterate("inexact_policy_iteration", _look_down, Inexact(desk), v0)


def _look_down(desk: Desk) -> None:
    """Start from what can surely be had: each state has an action that pays this or more."""
    desk.v[:] = desk.sweeper.r.max(axis=1).min() / (1 - desk.discount)


class Inexact:
    """The value of the last policy, about, and then some sweeps in place.

    After sweeps of another kind it begins from what they have shown can surely be had. The next
    states of each row must be sorted.
    """

    def __init__(self, desk: Desk) -> None:
        S, A = desk.sweeper.shape
        if desk.iterations:
            desk.best += desk.discount / (1 - desk.discount) * min(desk.low, 0.0)
        weights, columns, _ = desk.sweeper.places()
        self.N = weights, columns, np.empty(S + 1, np.int64)
        self.sweeps = min(SWEEPS, MANY // A)
        self.pay = np.empty(S)
        self.room = tuple(np.empty((7, S)))
        self.backward = False
        self.closer = max(CLOSEST, CLOSER ** max(1.0, A / (2 * MANY)))
        self.least, self.steps = math.inf, 0  # the least error so far, and for how many steps
        self.wait, self.pause = 0, 1  # steps until it is tried again, after the next failure

    def __call__(self, desk: Desk) -> None:
        """Set v from what the last sweep led to."""
        desk.v[:] = desk.best
        if desk.iterations > 1:  # the first policy has seen a single step
            self._come_closer(desk)
        for _ in range(min(self.sweeps, desk.max_iter - desk.iterations - 1)):
            r, rows = desk.sweeper.r, desk.sweeper.rows
            change = improve(rows, r, desk.discount, self.backward, desk.v)
            self.backward = not self.backward
            desk.iterations += 1
            if change <= desk.enough:
                break

    def _come_closer(self, desk: Desk) -> None:
        """Bring v closer to the value of the policy; leave it where that fails."""
        self.steps = 0 if desk.error < self.least else self.steps + 1
        self.least = min(self.least, desk.error)
        if self.steps >= STEPS:
            self.steps, self.closer = 0, max(self.closer / 10, CLOSEST)
        if self.wait > 0:
            self.wait -= 1
            return
        pack(desk.sweeper.rows, desk.sweeper.r, desk.discount, desk.policy, self.N, self.pay)
        goal = max(self.closer, min(0.5, desk.enough / 2 / desk.change))
        _, fell = solve(self.N, self.pay, goal, LIMIT, desk.v, self.room)
        if not fell <= 0.5 and not _solved(desk):
            self.wait, self.pause = self.pause, 2 * self.pause


def _solved(desk: Desk) -> bool:
    """Set v to the value of the policy by a direct solution, if that is within bounds."""
    P, r = under(desk.mdp, desk.policy)
    if not fits(P):
        return False
    try:
        desk.v[:] = solve_linear(P, r, desk.discount)
    except ArithmeticError:
        return False
    return True
