"""Plans within limits, by the linear program of how often each pair is played.

The unknowns x are expected numbers of plays; what flows into a state flows out of it; the rewards
and every cost are linear in x, and the chances of a policy are proportional to it (d'Epenoux 1963,
Derman 1970; Altman 1999 for all of it). Over a horizon there is an x for each step, [H, S, A];
discounted one for all, [S, A]; for the average x is the rate of plays, and a second one, y, leads
to where one stays (Hordijk and Kallenberg 1984).

With limits the best policy may have to draw its actions: in as many states, over all, as there are
limits that bind. The dual of a limit is its price, by how much the value would rise if it were one
unit higher.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gim._base.limits import check_memory
from gim.planning.criterion import Criterion
from gim.planning.linear import entries_of, flat
from gim.planning.planners import Model
from gim.planning.types import Dynamics, Floats

NEVER = 1e-13  # the share of all plays up to which a state counts as never met
MOST_ENTRIES = 20_000_000  # of a linear program
UNATTAINED = 1e-6  # of the size of values: the accuracy with which programs are solved
CLOSE = 1e-9  # by how much a least cost must exceed its limit, relatively
LARGE = 200_000  # entries, from which on interior points come before the simplex
TIGHT = 1e-10  # what HiGHS may violate; it takes no less
INFEASIBLE = 2  # a status of scipy's


@dataclass(frozen=True)
class Solved:
    """The best within limits."""

    policy: Floats  # [S, A] or [H, S, A]
    value: float
    costs: Floats  # [k]
    prices: Floats  # [k], 0 where a limit does not bind


class Conflict(NamedTuple):
    """Limits that cannot be kept together, while any of them less can be."""

    which: list[int]
    least: float  # what the last of them comes to at the least while the others are kept


class Infeasible(ValueError):
    """No policy keeps all limits: those that cannot be kept alone, or else some that conflict."""

    def __init__(self, conflicts: list[Conflict]) -> None:
        super().__init__(f"limits {[each.which for each in conflicts]} cannot be kept")
        self.conflicts = conflicts


def solve_within(
    mdp: Dynamics, costs: Sequence[Floats], limits: Sequence[float], over: Criterion
) -> Solved:
    """The policy of the largest value whose costs are at most their limits.

    Args:
        mdp: the MDP; what counts is from where its episodes start.
        costs: [k] tables [S, A].
        limits: [k] what each sum may come to at the most, in the terms of the criterion.
        over: the criterion.

    Raises:
        Infeasible: no policy keeps all limits.
    """
    program = _Program(mdp, over)
    found = program.best(-mdp.rewards, costs, limits)
    if found is None:
        raise _explained(program, costs, limits)
    x, prices = found
    chances, met = program.chances(x)
    # Where nobody comes, what is best at these prices.
    priced = mdp.rewards - sum(
        (p * c for p, c in zip(prices, costs, strict=True)), np.zeros(mdp.rewards.shape)
    )
    spare = over.plan(Model(mdp.transitions, priced, mdp.available, over.horizon or 1)).policy
    policy = np.where(met[..., None], chances, np.eye(mdp.A)[spare])
    sums = over.sums(mdp, policy, [mdp.rewards, *costs])
    told = program.sums(x, [mdp.rewards, *costs])
    room = UNATTAINED * (1 + np.abs(told))
    if over.average and (sums[0] < told[0] - room[0] or (sums[1:] > told[1:] + room[1:]).any()):
        raise ValueError(
            "no policy that is the same at every step attains the best average within these "
            "limits: an episode would have to stay in one of several parts by lot; give discount= "
            "or horizon="
        )
    return Solved(policy, float(sums[0]), sums[1:], prices)


def _explained(
    program: _Program, costs: Sequence[Floats], limits: Sequence[float]
) -> Infeasible | ArithmeticError:
    """Each limit that is too low by itself; else a smallest set: what can go goes, one by one."""

    def least(k: int, others: Sequence[int]) -> float | None:
        rest = [j for j in others if j != k]
        found = program.best(costs[k], [costs[j] for j in rest], [limits[j] for j in rest])
        return None if found is None else float(program.sums(found[0], [costs[k]])[0])

    alone = [(k, least(k, [])) for k in range(len(limits))]
    single = [
        Conflict([k], low)
        for k, low in alone
        if low is not None and low > limits[k] + CLOSE * (1 + abs(limits[k]))
    ]
    if single:
        return Infeasible(single)
    which = list(range(len(limits)))
    for k in range(len(limits)):
        if least(k, which) is None:  # the others conflict without it
            which.remove(k)
    low = least(which[-1], which)
    if low is None:
        return ArithmeticError("the linear program was not solved, neither way")
    return Infeasible([Conflict(which, low)])


class _Program:
    """The flow of plays under a criterion: what x must satisfy, and what it means."""

    def __init__(self, mdp: Dynamics, over: Criterion) -> None:
        self.mdp, self.over = mdp, over
        S, A, H = mdp.S, mdp.A, over.horizon or 1
        entries = (entries_of(mdp) + S * A) * (H if not over.average else 3)
        if entries > MOST_ENTRIES:
            raise ValueError(
                f"a linear program with some {entries:,} entries is too large: give discount= in "
                "place of a horizon, or bin the states"
            )
        check_memory(f"a linear program with {entries:,} entries", 32 * entries)
        self.usable = np.flatnonzero(mdp.available)
        P = sparse.csr_array(flat(mdp))[self.usable].T.tocsr()
        n = self.usable.size
        out = sparse.csr_array((np.ones(n), (self.usable // A, np.arange(n))), shape=(S, n))
        if over.average:
            stay = sparse.hstack([out - P, sparse.csr_array((S, n))])
            self.flow = sparse.vstack([stay, sparse.hstack([out, out - P])], format="csr")
            self.right = np.append(np.zeros(S), mdp.start)
        elif over.horizon is None:
            self.flow, self.right = (out - over.gamma * P).tocsr(), mdp.start
        else:
            steps = sparse.eye_array(H)
            before = sparse.eye_array(H, k=-1)
            self.flow = (sparse.kron(steps, out) - sparse.kron(before, P)).tocsr()
            self.right = np.append(mdp.start, np.zeros((H - 1) * S))

    def weights(self, table: Floats) -> Floats:
        """What one play counts for, in the order of x."""
        one = table.ravel()[self.usable]
        if self.over.average:
            return np.append(one, np.zeros(one.size))
        if self.over.horizon is None:
            return one
        return np.outer(self.over.gamma ** np.arange(self.over.horizon), one).ravel()

    def best(
        self, table: Floats, costs: Sequence[Floats], limits: Sequence[float]
    ) -> tuple[Floats, Floats] | None:
        """The x with the least sum of a table within limits, and their prices, if there is one."""
        from scipy.optimize import linprog  # long to import, and seldom needed

        rows = np.array([self.weights(cost) for cost in costs]) if len(costs) else None
        right = np.array(limits, np.float64) if len(costs) else None
        ways = ("highs", "highs-ipm")
        for way in ways[:: -1 if self.flow.nnz > LARGE else 1]:
            found = linprog(
                self.weights(table),
                rows,
                right,
                self.flow,
                self.right,
                (0, None),
                method=way,
                options={
                    "primal_feasibility_tolerance": TIGHT,
                    "dual_feasibility_tolerance": TIGHT,
                },
            )
            if found.status == 0:
                prices = -found.ineqlin.marginals if len(costs) else np.zeros(0)
                return found.x, np.maximum(prices, 0.0)
            if found.status == INFEASIBLE:
                return None
        raise ArithmeticError(f"the linear program was not solved: {found.message}")

    def sums(self, x: Floats, tables: Sequence[Floats]) -> Floats:
        """What each table comes to under x."""
        return np.array([float(self.weights(table) @ x) for table in tables])

    def chances(self, x: Floats) -> tuple[Floats, Any]:
        """The policy of x, [S, A] or [H, S, A], and where it is met, [S] or [H, S]."""
        S, A, n = self.mdp.S, self.mdp.A, self.usable.size
        blocks = np.zeros((x.size // n, S * A))
        blocks[:, self.usable] = np.maximum(x, 0.0).reshape(-1, n)
        plays = blocks.reshape(-1, S, A)
        often = plays.sum(axis=2)
        met = often > NEVER * often.sum()
        if self.over.average:  # where one does not stay, on the way
            plays = np.where(met[0][:, None], plays[0], plays[1])[None]
            often, met = plays.sum(axis=2), met.any(axis=0)[None]
        chances = plays / np.where(met, often, 1.0)[..., None]
        return (chances, met) if self.over.horizon is not None else (chances[0], met[0])
