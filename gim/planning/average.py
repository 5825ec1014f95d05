"""Planning for the long run: the best average reward of a step, without end and without a discount.

Three methods. *Relative value iteration* (White 1963), for MDPs with a single end component; nine
tenths of each step are taken, so that no period keeps it swinging (Schweitzer 1971). *Policy
iteration* (Howard 1960), of which the multichain form first betters the gain, and among actions
that keep it the bias (Puterman 1994, 9.2). *Linear programming* (Denardo and Fox 1968).

None is taken at its word. `gim.planning.chain` bounds the gain of the policy. That of any other is
bounded like this: within an end component no policy earns more than the largest of r + P h - h over
its pairs, whatever h is (Odoni 1969); and where there are several components, what is at least as
much as staying pays, and as any move leads to, is a bound. `error` is the larger of the two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from gim.planning.chain import ChainValues, chain_values, drift, solver_of
from gim.planning.checks import checked_max_iter, checked_policy, checked_tolerance
from gim.planning.classes import NONE, EndComponents, end_components
from gim.planning.desk import MAX_ITER
from gim.planning.linear import entries_of, flat, under
from gim.planning.sweeper import Sweeper
from gim.planning.sweeps import EPS
from gim.planning.types import Bools, Dynamics, Floats, Ints, free

LAZY = 0.9  # the share of steps that relative value iteration takes
MANY_STATES = 2000  # above, sweeps are tried before policies are solved for
STALLED = 200  # sweeps that must at least halve the span
MOST_POLICIES = 1000  # that policy iteration looks at; some ten are usual


@dataclass(frozen=True, eq=False)
class AveragePlan:
    """The best way to act without end, by the average reward of a step.

    Example:
        >>> import gim
        >>> plan = gim.make("riverswim").plan(average=True)
        >>> plan.policy, plan.gain.round(1), plan.multichain
        (array([1, 1, 1, 1, 1, 1]), array([668.8, 668.8, 668.8, 668.8, 668.8, 668.8]), False)
    """

    policy: Ints
    """A best action of each state, int64 [S]."""
    gain: Floats
    """The average reward of a step, by the state one starts from, [S]: the same everywhere unless
    `multichain`."""
    bias: Floats
    """By how much all steps of the policy together bring more than the gain does, [S]; on average
    over each of its recurrent classes 0."""
    error: float
    """No entry of the gain is further than this from the best there is, nor from the policy's."""
    bias_error: float
    """No entry of the bias is further than this from the policy's; inf: not known."""
    iterations: int
    """Sweeps, or policies."""
    method: str
    """What found it."""
    converged: bool
    """Whether the tolerance is met, or as much of it as rounding allows."""
    multichain: bool
    """Whether an episode may stay in one of several parts, each with a gain of its own."""
    classes: Ints
    """The recurrent class of each state under the policy, [S]; -1 where it is transient."""
    mdp: Dynamics = field(repr=False)
    """What was planned."""

    @cached_property
    def q(self) -> Floats:
        """r - gain + P bias, [S, A]: to play a pair once and follow the plan from there on.

        It is in units of rewards in all, not by step; -inf where a pair is not available, or loses
        a part of the gain for ever.
        """
        more, _ = _drift(self.mdp, self.bias)
        lost, slack = _drift(self.mdp, self.gain, paid=False)
        q = self.mdp.rewards - self.gain[:, None] + more + self.bias[:, None]
        keeps = lost >= -slack - 2 * self.error
        return np.where(self.mdp.available & keeps, q, -np.inf)

    def freedom(self, within: float) -> Bools:
        """The actions that keep the gain and lose at most so much in all, bool [S, A].

        What is lost if one is played once and the plan is followed from there on.
        """
        _, slack = _drift(self.mdp, self.bias)
        return free(self.bias, self.q, within, 2 * (self.error + float(slack.max())))


def average_plan(
    mdp: Dynamics,
    tolerance: float = 1e-8,
    method: str = "auto",
    max_iter: int | None = None,
) -> AveragePlan:
    """The plan with the best average reward of a step, without end.

    Args:
        mdp: the MDP. A terminal state is one that nothing leaves and that pays 0: what can only
            end has a gain of 0.
        tolerance: how far the gain may be from the best.
        method: "auto", "relative_value_iteration", "policy_iteration" or "linear_programming".
        max_iter: the largest number of sweeps, or of policies.

    Example:
        >>> import gim
        >>> average_plan(gim.make("queues")).method
        'policy_iteration'
    """
    checked_tolerance(tolerance)
    limit = None if max_iter is None else checked_max_iter(max_iter)
    ends = end_components(mdp)
    solver = _Solver(mdp, ends, tolerance, limit)
    if method == "auto":
        if mdp.S > MANY_STATES and ends.number == 1:
            found = solver.relative_value_iteration(STALLED)
            if found.converged:
                return found
            other = solver.policy_iteration(found.policy)
            return min(found, other, key=lambda plan: plan.error)
        return solver.policy_iteration()
    return METHODS[method](solver)


class _Solver:
    """An MDP and what its methods share."""

    def __init__(
        self, mdp: Dynamics, ends: EndComponents, tolerance: float, limit: int | None
    ) -> None:
        self.mdp, self.ends, self.tolerance, self.limit = mdp, ends, tolerance, limit

    def relative_value_iteration(self, stalled: int = MAX_ITER) -> AveragePlan:
        """Sweep until what each adds is the same everywhere (White 1963)."""
        mdp = self.mdp
        if self.ends.number > 1:
            raise ValueError(
                f"an episode may stay in {self.ends.number} parts of this MDP, each with an "
                'average of its own: relative value iteration needs one; try "policy_iteration"'
            )
        sweeper = Sweeper(mdp)
        v, best, policy = np.zeros(mdp.S), np.zeros(mdp.S), np.zeros(mdp.S, np.int64)
        limit = MAX_ITER if self.limit is None else self.limit
        sweeps, mark, wait = 0, np.inf, 0
        while True:
            low, high, largest = sweeper.back_up(1.0, v, best, policy)
            sweeps += 1
            rounding = (np.sqrt(sweeper.longest) + 4) * EPS * largest
            wait = 0 if high - low < mark / 2 else wait + 1
            mark = mark if wait else high - low
            close = (high - low) / 2 + rounding <= self.tolerance or high - low <= 4 * rounding
            if close or wait > stalled or sweeps >= limit:
                break
            v += LAZY * (best - v)
            v -= v[0]
        bounds = np.full(mdp.S, low - rounding), np.full(mdp.S, high + rounding)
        return self._plan(policy, "relative_value_iteration", sweeps, bounds)

    def policy_iteration(self, policy: Ints | None = None) -> AveragePlan:
        """Better the gain; where nothing does, the bias (Howard 1960; Puterman 1994, 9.2)."""
        mdp, states = self.mdp, np.arange(self.mdp.S)
        pays = np.where(mdp.available, mdp.rewards, -np.inf)
        pi = pays.argmax(axis=1) if policy is None else np.array(policy)
        last, told_apart = pi, float(np.ptp(mdp.rewards))
        for tried in range(1, (self.limit or MOST_POLICIES) + 1):
            found = chain_values(*under(mdp, pi))
            if not found.error <= told_apart and tried > 1:  # beyond what doubles can solve
                pi = last
                break
            last = pi
            gained, slack = _drift(mdp, found.gain, paid=False)
            slack += 0.0 if self.ends.number == 1 and not np.ptp(found.gain) else 4 * found.error
            gained = np.where(mdp.available, gained, -np.inf)
            better = gained.max(axis=1) > (gained + slack)[states, pi]
            if better.any():
                pi = np.where(better, gained.argmax(axis=1), pi)
                continue
            keeps = gained >= gained.max(axis=1, keepdims=True) - slack
            more, slack = _drift(mdp, found.bias)
            q = np.where(keeps, pays + more, -np.inf)
            better = q.max(axis=1) > (q + 2 * slack)[states, pi]
            if not better.any():
                break
            pi = np.where(better, q.argmax(axis=1), pi)
        return self._plan(pi, "policy_iteration", tried)

    def linear_programming(self) -> AveragePlan:
        """The least gain that no action betters, and what proves it: how often each is played."""
        from scipy.optimize import linprog  # long to import, and seldom needed

        mdp, n = self.mdp, self.mdp.S * self.mdp.A
        usable = mdp.available.ravel()
        P = sparse.csr_array(flat(mdp))[usable]
        here = sparse.csr_array(
            (np.ones(n), (np.arange(n), np.arange(n) // mdp.A)), shape=(n, mdp.S)
        )[usable]
        moves = P - here
        rows = sparse.vstack(
            [sparse.hstack([moves, 0 * moves]), sparse.hstack([-here, moves])], format="csr"
        )
        right = np.concatenate([np.zeros(usable.sum()), -mdp.rewards.ravel()[usable]])
        costs = np.append(np.ones(mdp.S), np.zeros(mdp.S))
        for way in ("highs", "highs-ipm"):
            solved = linprog(costs, rows, right, bounds=(None, None), method=way)
            if solved.status == 0:
                break
        else:
            raise ArithmeticError(f"the linear program was not solved: {solved.message}")
        rates = np.zeros((2, n))
        rates[:, usable] = -solved.ineqlin.marginals.reshape(2, -1)
        y, x = rates.reshape(2, mdp.S, mdp.A)
        stays = x.max(axis=1) > 1e-12
        by = np.where(mdp.available, np.where(stays[:, None], x, y), -1.0)
        plan = self._plan(by.argmax(axis=1), "linear_programming", int(solved.nit))
        return plan if plan.converged else self.policy_iteration(plan.policy)

    def _plan(
        self,
        policy: Ints,
        method: str,
        iterations: int,
        bounds: tuple[Floats, Floats] | None = None,
    ) -> AveragePlan:
        """The plan of a policy; `bounds` on the best gain and its own, where a method has them."""
        mdp = self.mdp
        found = chain_values(*under(mdp, policy))
        most = gain_ceiling(mdp, self.ends, found.gain, found.bias)
        gain, error = found.gain, found.error
        if bounds is not None:
            most = np.minimum(most, bounds[1])
            if not error <= (width := float(bounds[1][0] - bounds[0][0]) / 2):
                gain, error = (bounds[0] + bounds[1]) / 2, width
        error = max(error, float(np.maximum(most - gain, 0.0).max()))
        converged = error <= max(self.tolerance, 8 * float(_drift(mdp, found.bias)[1].max()))
        return AveragePlan(
            policy.astype(np.int64),
            gain,
            found.bias,
            error,
            found.bias_error,
            iterations,
            method,
            bool(converged),
            self.ends.number > 1,
            found.classes,
            mdp,
        )


METHODS: dict[str, Callable[[_Solver], AveragePlan]] = {
    "relative_value_iteration": _Solver.relative_value_iteration,
    "policy_iteration": _Solver.policy_iteration,
    "linear_programming": _Solver.linear_programming,
}


def gain_ceiling(mdp: Dynamics, ends: EndComponents, gain: Floats, h: Floats) -> Floats:
    """What no policy's gain exceeds, [S]: from any h; close if it is the bias of a best policy.

    Args:
        mdp: the MDP.
        ends: its end components.
        gain: a guess at the best gain, [S], for where to stay.
        h: relative values, [S].
    """
    more, slack = _drift(mdp, h)
    here = np.where(ends.within, mdp.rewards + more + slack, -np.inf).max(axis=1)
    inside = ends.label != NONE
    most = np.full(ends.number, -np.inf)
    np.maximum.at(most, ends.label[inside], here[inside])
    if ends.number == 1:
        return np.full(mdp.S, most[0])
    # To stay pays `most`. What is not below that, nor below what any move leads to, is a ceiling;
    # a guess that is short of it by c at most is raised by c for each move on the way.
    np.maximum.at(most, ends.label[inside], gain[inside])
    ceiling = np.where(inside, most[ends.label], gain)
    moves = mdp.available & ~ends.within
    gained, slack = _drift(mdp, ceiling, paid=False)
    short = np.where(moves, np.maximum(gained + slack, 0.0), 0.0)
    return ceiling + _largest_sum(mdp, ends, moves, short) if short.any() else ceiling


def _largest_sum(mdp: Dynamics, ends: EndComponents, moves: Bools, costs: Floats) -> float:
    """The largest expected sum of what moves cost [S, A], each between end components or outside.

    By policy iteration on the MDP in which each end component is one state: since no other is left,
    every policy comes to an end, and the system is never singular.
    """
    S, inside = mdp.S, ends.label != NONE
    node = ends.label.copy()
    node[~inside] = ends.number + np.arange((~inside).sum())
    pairs = np.flatnonzero(moves)
    pairs = pairs[np.argsort(node[pairs // mdp.A], kind="stable")]
    source = node[pairs // mdp.A]
    joined = sparse.csr_array((np.ones(S), (np.arange(S), node)), shape=(S, int(node.max()) + 1))
    P, cost = sparse.csr_array(flat(mdp)[pairs]) @ joined, costs.ravel()[pairs]
    left, first = np.unique(source, return_index=True)  # the nodes that can be left
    total, choice = np.zeros((2, P.shape[1])), first.copy()
    pays = np.stack([np.ones(len(cost)), cost])  # the moves themselves, and what they cost
    for k in (0, 1):
        for _ in range(MOST_POLICIES):
            total[k, left] = solver_of(P[choice][:, left])(pays[k, choice])
            ahead = pays[k] + P @ total[k]
            best = np.maximum.reduceat(ahead, first)
            better = best > total[k, left] * (1 + 1e-9)
            if not better.any():
                break
            choice = np.where(better, np.lexsort((-ahead, source))[first], choice)
        over = float((best - total[k, left]).max()) + EPS * float(total[k].max())
        # What 1 more a move would add covers what is left over.
        if k == 0 and not (over < 0.5 and total[0].min() >= 0):
            return np.inf
    return float(total[1].max() + 2 * max(over, 0.0) * total[0].max())


def gain_and_bias(mdp: Dynamics, policy: ArrayLike) -> ChainValues:
    """Gain and bias of a policy, int [S] or float [S, A], with bounds; see `gim.planning.chain`.

    Example:
        >>> import gim
        >>> river = gim.make("riverswim")
        >>> gain_and_bias(river, [0] * 6).gain.round(9)
        array([5., 5., 5., 5., 5., 5.])
    """
    return chain_values(*under(mdp, checked_policy(mdp, policy, None)))


def _drift(mdp: Dynamics, v: Floats, paid: bool = True) -> tuple[Floats, Floats]:
    """The expectation of v[t] - v[s], and how far rounding may take that, with what is paid."""
    P, A = flat(mdp), mdp.A
    if sparse.issparse(P):
        moved, size = drift(P, v, np.repeat(v, A))
    else:
        change = v - v[:, None]
        moved = np.einsum("sat,st->sa", mdp.transitions, change)
        size = np.einsum("sat,st->sa", mdp.transitions, np.abs(change))
    shape = mdp.rewards.shape
    terms = np.sqrt(entries_of(mdp) / (mdp.S * A)) + 4
    slack = terms * EPS * (size.reshape(shape) + (np.abs(mdp.rewards) if paid else 0.0))
    return moved.reshape(shape), slack
