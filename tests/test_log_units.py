"""Units of a log: told apart, counted together and one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import gim
from gim.model.counts import transitions


def shop_rows(seed=0, shops=4, days=40):
    """Shops with stocks of their own, day by day, all shops in turn."""
    rng = np.random.default_rng(seed)
    stock, rows = rng.integers(0, 6, shops), []
    for day in range(days):
        for shop in range(shops):
            order = int(rng.integers(0, 3))
            after = max(0, min(5, stock[shop] + order) - int(rng.poisson(1 + shop / 2)))
            pay = float(5 * (stock[shop] + order - after) - order)
            rows.append((f"shop {shop}", day, int(stock[shop]), order, pay, int(after)))
            stock[shop] = after
    names = ("shop", "day", "stock", "order", "profit", "next")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


WHAT = {"state": "stock", "action": "order", "reward": "profit", "unit": "shop", "step": "day"}


@pytest.mark.parametrize("keep", ["rows", "counts"])
@pytest.mark.parametrize("after", ["next", None])
def test_the_log_of_each_unit_is_that_of_its_rows(keep, after):
    rows = shop_rows()
    log = gim.from_log(rows, next_state=after, keep=keep, **WHAT)
    assert log.units == ("shop 0", "shop 1", "shop 2", "shop 3")
    parts = log.by_unit()
    assert list(parts) == list(log.units)
    seen = Counter()
    for unit in log.units:
        own = [k for k, shop in enumerate(rows["shop"]) if shop == unit]
        alone = {name: [column[k] for k in own] for name, column in rows.items()}
        other = gim.from_log(alone, next_state=after, **(WHAT | {"unit": None}))
        part = parts[unit]
        assert (part.states, part.actions) == (log.states, log.actions)
        N = transitions(part.counts).reshape(log.S, log.A, log.S)
        for (s, a, t), n in triples(other).items():
            i, k = log.states.index(s), log.states.index(t)
            assert N[i, log.actions.index(a), k] == n
            seen[i, log.actions.index(a), k] += n
        assert N.sum() == len(other) == len(part)
        assert part.longest == other.longest == 40 - (after is None)
        assert part.episodes.n.tolist() == other.episodes.n.tolist() == [1]
        assert part.start[log.states.index(alone["stock"][0])] == 1
        assert part.paid == other.paid
    N = transitions(log.counts).reshape(log.S, log.A, log.S)
    assert {tuple(at): int(N[tuple(at)]) for at in np.argwhere(N > 0).tolist()} == seen


def triples(log):
    N = transitions(log.counts).reshape(log.S, log.A, log.S)
    return {
        (log.states[s], log.actions[a], log.states[t]): int(N[s, a, t])
        for s, a, t in np.argwhere(N > 0).tolist()
    }


def test_several_columns_tell_a_unit_and_one_that_is_missing_is_a_fault():
    rows = shop_rows(shops=2)
    rows["town"] = ["east" if shop == "shop 0" else "west" for shop in rows["shop"]]
    log = gim.from_log(rows, next_state="next", **(WHAT | {"unit": ["town", "shop"]}))
    assert log.units == (("east", "shop 0"), ("west", "shop 1"))
    assert len(log.by_unit()["west", "shop 1"]) == 40
    rows["shop"][2] = None
    with pytest.raises(ValueError, match="row 3, column 'shop': nothing stands here"):
        gim.from_log(rows, next_state="next", **WHAT)
    with pytest.raises(ValueError, match="has no units"):
        gim.from_log(shop_rows(shops=1), next_state="next", **(WHAT | {"unit": None})).by_unit()


def test_episodes_of_one_name_are_those_of_their_units():
    rows = shop_rows(shops=2, days=20) | {"week": [k // 2 // 5 for k in range(40)]}
    log = gim.from_log(rows, next_state=None, episode="week", **WHAT)
    assert log.episodes.n.tolist() == [4, 4]
    assert log.lengths.tolist() == [4] * 8
    assert log.censored == 8
