"""Plans within limits, by the linear program of how often each pair is played.

The unknowns x are expected numbers of plays; what flows into a state flows out of it; the rewards
and every cost are linear in x, and the chances of a policy are proportional to it (d'Epenoux 1963,
Derman 1970; Altman 1999 for all of it). Discounted there is an x for each pair, [S, A]; for the
average x is the rate of plays, and a second one, y, leads to where one stays (Hordijk and
Kallenberg 1984). Over a horizon there is an x for each step, [H, S, A], and the program is
decomposed (Dantzig and Wolfe 1960): every x is a mixture of those of policies without lotteries, a
small program mixes the policies known so far, and a plan at its prices finds the one that would
help most.

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
from gim.planning.evaluation import expected_visits
from gim.planning.finite import backward_induction
from gim.planning.linear import entries_of, flat
from gim.planning.planners import Model
from gim.planning.types import Dynamics, Floats

NEVER = 1e-13  # the share of all plays up to which a state counts as never met
MOST_ENTRIES = 20_000_000  # of a linear program
UNATTAINED = 1e-6  # of the size of values: the accuracy with which programs are solved
CLOSE = 1e-9  # by how much a least cost must exceed its limit, relatively
MOST_POLICIES = 2000  # that are mixed; some ten for each limit are usual
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
    program = _Program(mdp, over) if over.horizon is None else _Steps(mdp, over)
    found = program.best(-mdp.rewards, costs, limits)
    if found is None:
        raise _explained(program, costs, limits)
    x, prices = found
    x = program.corner(x, costs, limits)
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
        S, A = mdp.S, mdp.A
        entries = (entries_of(mdp) + S * A) * (3 if over.average else 1)
        if entries > MOST_ENTRIES:
            raise ValueError(
                f"a linear program with some {entries:,} entries is too large: bin the states, or "
                "give a horizon, which is planned in parts"
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
        else:
            self.flow, self.right = (out - over.gamma * P).tocsr(), mdp.start

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
        rows = np.array([self.weights(cost) for cost in costs]) if len(costs) else None
        right = np.array(limits, np.float64) if len(costs) else None
        found = _solved(self.weights(table), rows, right, self.flow, self.right, (0, None))
        if found is None:
            return None
        prices = -found.ineqlin.marginals if len(costs) else np.zeros(0)
        return found.x, np.maximum(prices, 0.0)

    def corner(self, x: Floats, costs: Sequence[Floats], limits: Sequence[float]) -> Floats:
        """The same or as good, with no more lotteries than limits; the simplex ends in one."""
        return x

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


class _Steps(_Program):
    """The flow over a horizon, as a mixture of policies."""

    def __init__(self, mdp: Dynamics, over: Criterion) -> None:
        self.mdp, self.over = mdp, over
        self.usable = np.flatnonzero(mdp.available)
        self.policies: list[Any] = []  # [H, S] each
        self.often: list[Floats] = []  # [S, A] plays of each, discounted
        self.add(-mdp.rewards)

    def add(self, table: Floats) -> Floats:
        """The policy with the least sum of a table, and how often it plays each pair."""
        H, gamma, mdp = self.over.horizon, self.over.gamma, self.mdp
        model = Model(mdp.transitions, -table, mdp.available, H or 1)
        self.policies.append(backward_induction(model, H, gamma).actions)
        visits = expected_visits(mdp, self.policies[-1].astype(np.int64), H)
        self.often.append(np.tensordot(gamma ** np.arange(H or 1), visits, axes=1))
        return self.often[-1]

    def best(
        self, table: Floats, costs: Sequence[Floats], limits: Sequence[float]
    ) -> tuple[Floats, Floats] | None:
        """First the least excess over the limits; where that is none, the least sum."""
        k, most = len(costs), np.array(limits, np.float64)
        scale, over = 1 + np.abs(most), np.zeros(k)
        for phase in (0, 1) if k else (1,):
            while True:
                m = len(self.often)
                paid = np.array([[float((o * c).sum()) for o in self.often] for c in costs])
                aims = np.array([float((o * table).sum()) for o in self.often]) * phase
                found = _solved(
                    np.append(aims, (1 - phase) / scale),
                    np.hstack([paid.reshape(k, m), -np.eye(k)]) if k else None,
                    most if k else None,
                    np.append(np.ones(m), np.zeros(k))[None],
                    np.ones(1),
                    [(0, None)] * m + [(0, x if phase else None) for x in over],
                )
                if found is None:
                    return None
                prices = np.maximum(-found.ineqlin.marginals, 0.0) if k else np.zeros(0)
                priced = phase * table + sum(
                    (p * c for p, c in zip(prices, costs, strict=True)), np.zeros(table.shape)
                )
                level = float(found.eqlin.marginals[0])
                if m >= MOST_POLICIES:
                    raise ArithmeticError(f"{m:,} policies were mixed, and more would help")
                if float((self.add(priced) * priced).sum()) >= level - CLOSE * (1 + abs(level)):
                    break
            if phase == 0:
                over = found.x[m:]
                if (over > CLOSE * scale).any():
                    return None
        x = np.zeros((self.over.horizon or 1, self.usable.size))
        for j in np.flatnonzero(found.x[:m] > NEVER).tolist():
            visits = expected_visits(self.mdp, self.policies[j].astype(np.int64), len(x))
            x += found.x[j] * visits.reshape(len(x), -1)[:, self.usable]
        return x.ravel(), prices

    def corner(self, x: Floats, costs: Sequence[Floats], limits: Sequence[float]) -> Floats:
        """A mixture draws wherever its policies differ: so the simplex once more, on its pairs."""
        S, A, n = self.mdp.S, self.mdp.A, self.usable.size
        used = np.flatnonzero(x > 0)
        step, pair = used // n, self.usable[used % n]
        ahead = sparse.coo_array(sparse.csr_array(flat(self.mdp))[pair])
        goes = step[ahead.row] + 1 < len(x) // n
        into = (step[ahead.row] + 1)[goes] * S + ahead.col[goes]
        places = (
            np.append(step * S + pair // A, into),
            np.append(np.arange(used.size), ahead.row[goes]),
        )
        flow = sparse.csr_array((np.append(np.ones(used.size), -ahead.data[goes]), places))
        right = np.zeros(flow.shape[0])
        right[: min(S, right.size)] = self.mdp.start[: right.size]
        rows = np.array([self.weights(cost)[used] for cost in costs]).reshape(len(costs), -1)
        most = np.maximum(limits, rows @ x[used]) if len(costs) else None
        paid = self.weights(-self.mdp.rewards)[used]
        try:
            found = _solved(paid, rows if len(costs) else None, most, flow, right, (0, None))
        except ArithmeticError:
            found = None
        if found is None:
            return x
        corner = np.zeros(x.size)
        corner[used] = found.x
        return corner


def _solved(costs: Any, rows: Any, most: Any, flow: Any, right: Any, bounds: Any) -> Any:
    """What scipy's HiGHS finds; None where nothing keeps the limits."""
    from scipy.optimize import linprog  # long to import, and seldom needed

    tight = {"primal_feasibility_tolerance": TIGHT, "dual_feasibility_tolerance": TIGHT}
    for way in ("highs", "highs-ipm"):
        found = linprog(costs, rows, most, flow, right, bounds, method=way, options=tight)
        if found.status == 0:
            return found
        if found.status == INFEASIBLE:
            return None
    raise ArithmeticError(f"the linear program was not solved: {found.message}")
