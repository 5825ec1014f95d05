"""Plans within limits: against a program written out here, and limits that cannot be kept."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import gim
from gim.model.constrained import cost_table
from tests.random_mdps import random_mdp

CRITERIA = ({"horizon": 4}, {"discount": 0.9}, {"average": True}, {"horizon": 3, "discount": 0.8})


def written_out(mdp, costs, limits, horizon=None, discount=None, average=False):
    """The largest value within limits, by one row for each equation; None if there is none."""
    S, A, H = mdp.S, mdp.A, horizon or 1
    P = mdp.rows().toarray().reshape(S, A, S)
    gamma = 1.0 if discount is None else discount
    n = H * S * A * (2 if average else 1)
    rows, right = [], []

    def at(h, s, a):
        return (h * S + s) * A + a

    for h in range(H):
        for t in range(S):
            row, y = np.zeros(n), np.zeros(n)
            for s in range(S):
                for a in range(A):
                    if s == t:
                        row[at(h, s, a)] += 1
                    if average:
                        row[at(0, s, a)] -= P[s, a, t]
                        y[at(0, s, a)] += s == t
                        y[S * A + at(0, s, a)] += (s == t) - P[s, a, t]
                    elif horizon is None:
                        row[at(0, s, a)] -= gamma * P[s, a, t]
                    elif h > 0:
                        row[at(h - 1, s, a)] -= P[s, a, t]
            rows.append(row)
            right.append(mdp.start[t] if h == 0 and not average else 0.0)
            if average:
                rows.append(y)
                right.append(mdp.start[t])

    def counted(table):
        weights = [gamma**h if horizon else 1.0 for h in range(H)]
        each = np.concatenate([w * table.ravel() for w in weights])
        return np.append(each, np.zeros(S * A)) if average else each

    most = [None if ok else 0.0 for ok in np.tile(mdp.available.ravel(), n // (S * A))]
    found = linprog(
        -counted(mdp.rewards),
        [counted(cost) for cost in costs],
        limits,
        np.array(rows),
        right,
        [(0, high) for high in most],
    )
    return -found.fun if found.status == 0 else None


def case(seed):
    """A world, costs that may be negative, and limits around what a random policy costs."""
    rng = np.random.default_rng(seed)
    mdp = random_mdp(seed, S=int(rng.integers(2, 6)), A=3, terminal=seed % 3 == 0, missing=seed % 2)
    mdp = mdp.with_(start=np.where(mdp.terminal, 0, 1) / (~mdp.terminal).sum())
    over = CRITERIA[seed % 4]
    costs = {name: rng.normal(size=(mdp.S, mdp.A)) for name in ("power", "labour", "waste")}
    tables = [cost_table(name, cost, mdp) for name, cost in costs.items()]
    sums = gim.planning.criterion.Criterion.of(
        over.get("horizon"), over.get("discount"), "average" in over, 1
    ).sums(mdp, mdp.uniform_policy(), tables)
    limits = sums + rng.normal(0, 0.3, 3) * (0.2 + np.abs(sums))
    return mdp, over, costs, tables, dict(zip(costs, limits.tolist(), strict=True))


@pytest.mark.parametrize("part", range(10))
def test_two_hundred_cases(part):
    """The value is that of the program written out; a case that has none names its limits."""
    for seed in range(20 * part, 20 * part + 20):
        mdp, over, costs, tables, limits = case(seed)
        truth = written_out(mdp, tables, list(limits.values()), **over)
        if truth is None:
            with pytest.raises(ValueError, match="no policy keeps these limits") as said:
                gim.constrained(mdp, costs, limits, **over)
            named = [name for name in costs if name in str(said.value)]
            assert named, seed
            some = [k for k, name in enumerate(costs) if name in named]
            few = [tables[k] for k in some]
            assert written_out(mdp, few, [[*limits.values()][k] for k in some], **over) is None
            continue
        found = gim.constrained(mdp, costs, limits, **over)
        assert found.value == pytest.approx(truth, abs=1e-6), seed
        assert found.free >= found.value - 1e-7
        for name, cost in found.costs.items():
            assert cost <= limits[name] + 1e-6, (seed, name)
            assert found.prices[name] == 0 or cost == pytest.approx(limits[name], abs=1e-5)
        if over == CRITERIA[1]:  # what was computed of the policy is what the policy does
            assert mdp.start @ mdp.value(found.policy, 0.9) == pytest.approx(found.value)


def test_a_price_is_what_a_unit_more_brings():
    mdp, over, costs, _, limits = case(9)
    found = gim.constrained(mdp, costs, limits, **over)
    name = max(found.prices, key=found.prices.__getitem__)
    assert found.prices[name] > 0
    more = gim.constrained(mdp, costs, limits | {name: limits[name] + 1e-4}, **over)
    assert more.value - found.value == pytest.approx(1e-4 * found.prices[name], rel=1e-3)


def shop(mean=3.0):
    """A shop with a stock of at most 15, orders of at most 7 and Poisson demand."""
    chances = np.exp(-mean) * np.cumprod([1.0, *(mean / k for k in range(1, 16))])
    P, R = np.zeros((16, 8, 16)), np.zeros((16, 8))
    for s in range(16):
        for a in range(8):
            y = min(s + a, 15)
            for t in range(y + 1):
                p = chances[y - t] if t else 1 - chances[:y].sum()
                P[s, a, t] += p
                R[s, a] += p * (5 * (y - t) - 2.5 * a - 0.3 * t - 2 * (a > 0))
    return gim.TabularMDP(P, R, start=np.full(16, 1 / 16), horizon=30)


def test_a_shop_that_is_seldom_empty():
    """At most 2 % of days end with an empty stock: 155.8, against 176.0 without the limit."""
    mdp = shop()
    found = gim.constrained(mdp, {"empty": lambda s, a, t: float(t == 0)}, {"empty": 0.02 * 30})
    assert round(found.value, 1) == 155.8
    assert found.costs["empty"] == pytest.approx(0.6)
    assert round(found.free, 1) == 176.0
    assert mdp.policy_return(found.policy) == pytest.approx(found.value)
    drawn = np.asarray(found.policy)
    assert ((drawn > 1e-9) & (drawn < 1 - 1e-9)).any(axis=2).sum() <= 1  # one limit, one lottery
    assert "22.4" in str(found)
    assert "at most" in found._repr_html_()


def test_what_was_learned_can_be_limited():
    run = gim.run("ucbvi", "inventory:capacity=12,largest=6", episodes=40, seed=0)
    orders = {"orders": lambda s, a: float(a > 0)}
    found = gim.constrained(run, orders, {"orders": 0.4}, average=True)
    assert found.costs["orders"] <= 0.4 + 1e-6
    low, high = found.bounds["orders"]
    assert 0.2 < low < 0.4 <= high < 0.5
    low, high = found.bounds["value"]
    assert low <= found.value < high
    assert gim.constrained(run.model, orders, {"orders": 0.4}, average=True).bounds is None
    often = gim.planning.expected_visits(run.mdp, np.asarray(found.policy), 400)[200:]
    assert often[:, :, 1:].sum() / 200 == pytest.approx(0.4, abs=0.03)


def test_functions_are_asked_by_name():
    rows = [("low", "buy", -1.0, "high"), ("high", "wait", 2.0, "low")] * 30
    rows += [("low", "wait", 0.0, "low"), ("high", "buy", -1.0, "high")] * 30
    learned = gim.learn(gim.from_log(rows), average=True)
    asked = {"bought": lambda state, action: float((state, action) == ("low", "buy"))}
    found = gim.constrained(learned, asked, {"bought": 0.25}, average=True)
    assert found.costs["bought"] <= 0.25 + 1e-9
    assert found.bounds["bought"][0] > 0
    assert "from" in str(found)
    one = gim.TabularMDP(np.full((2, 1, 2), 0.5), [[0.0], [1.0]], variables={"wear": [4, 7]})
    assert cost_table("wear", lambda wear, action: wear, one).tolist() == [[4.0], [7.0]]


class Drawn:
    """A belief of two worlds."""

    def __init__(self, worlds):
        self.worlds, self.mean = worlds, worlds[0]

    def draw(self, seed):
        return self.worlds[seed % len(self.worlds)]


def test_a_belief_that_draws_bounds_each_cost():
    one, other = shop(3.0), shop(3.5)
    found = gim.constrained(Drawn([one, other]), {"empty": lambda s, a, t: t == 0}, {"empty": 0.6})
    low, high = found.bounds["empty"]
    assert low == pytest.approx(0.6)
    assert high > 0.7
    assert found.bounds["value"][0] <= found.value <= found.bounds["value"][1]


def test_what_is_wrong_is_said():
    mdp = shop()
    empty, orders = (lambda s, a, t: t == 0), (lambda s, a: a)
    with pytest.raises(ValueError, match="differ in their names: b"):
        gim.constrained(mdp, {"a": empty}, {"a": 1, "b": 2})
    with pytest.raises(ValueError, match="give a mapping"):
        gim.constrained(mdp, [empty], [1])
    with pytest.raises(ValueError, match=r"has shape \(3,\)"):
        gim.constrained(mdp, {"a": [1, 2, 3]}, {"a": 1})
    with pytest.raises(ValueError, match="is no world"):
        gim.constrained("inventory?", {"a": empty}, {"a": 1})
    with pytest.raises(ValueError, match="leave out horizon"):
        gim.constrained(mdp, {"a": empty}, {"a": 1}, discount=0.9, average=True)
    with pytest.raises(
        ValueError, match=r"empty comes to .* its limit is 0\.001; orders comes to 0"
    ):
        gim.constrained(mdp, {"empty": empty, "orders": orders}, {"empty": 0.001, "orders": -1})
    with pytest.raises(ValueError, match=r"with empty at most 0\.6, orders comes to 82\.78"):
        gim.constrained(mdp, {"empty": empty, "orders": orders}, {"empty": 0.6, "orders": 20})
