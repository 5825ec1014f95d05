"""`gim.from_counts`: a log that was counted elsewhere, in a warehouse or by a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gim.logs.log import Log
from gim.logs.order import COUNTED, Asking
from gim.logs.reading import Names, columns_of, numbered
from gim.logs.sources import Table
from gim.logs.start import start_in
from gim.logs.triples import Episodes, Seen, counts_of, merged, together


def from_counts(
    table: Any,
    *,
    state: Names,
    action: Names,
    next_state: Names,
    n: str = "n",
    reward: str = "reward_sum",
    reward2: str | None = None,
    unit: Names | None = None,
    starts: str | Mapping[Any, float] | None = None,
    ends: str | None = None,
    query: str | None = None,
) -> Log:
    """A log from counts: a row for each state, action and next state that was seen.

    Args:
        table: where the counts are, as for `gim.from_log`.
        state, action, next_state: their columns; several make them of variables.
        n: the column that says how often it was seen.
        reward: that of the sum of the rewards it paid.
        reward2: that of the sum of their squares; None: each time it paid the same.
        unit: the column or columns that tell units apart.
        starts: where episodes began: the column that says how many did so with this row, or a
            mapping of states to chances. None: nobody knows, and they may begin anywhere.
        ends: the column that says how often the episode ended with this row.
        query: what to ask of a database.

    Example:
        >>> rows = {"s": ["low", "high"], "a": ["buy", "wait"], "s2": ["high", "low"]}
        >>> rows |= {"n": [30, 20], "paid": [-30.0, 40.0]}
        >>> log = from_counts(rows, state="s", action="a", next_state="s2", reward="paid")
        >>> log.counts.n.tolist(), log.counts.R.tolist()
        ([[0, 20], [30, 0]], [[0.0, 40.0], [-30.0, 0.0]])
    """
    begun = starts if isinstance(starts, str) else None
    single = {"reward": reward, "n": n, "reward2": reward2, "begun": begun, "ended": ends}
    columns = columns_of(state, next_state, action, unit, single, None, None)
    with Table(table, columns.fields().values(), query) as found:
        asking = Asking(found, columns)
        asking.coded(asking.facts())
        fix = "counts have no rows to leave out"
        if said := asking.said("SELECT id, s AS kind FROM coded", fix)[1]:
            raise ValueError(said)
        asked = [name for name in COUNTED if name in columns.single]
        x = found.arrays(
            f"SELECT u, s, a, f AS t, r, {', '.join(asked)} FROM coded JOIN typed USING (id) "
            "WHERE n > 0 ORDER BY id"
        )
        sql = tuple(found.told)
    if not x["n"].size:
        raise ValueError("the counts are all 0: there must be one at least")
    world, numbers = numbered(asking, x)
    whole = {name: x[name].astype(np.int64) for name in ("n", "begun", "ended") if name in x}
    none, r = np.zeros(x["n"].size, np.int64), x["r"].astype(np.float64)
    paid2 = x["reward2"] if reward2 else r * r / whole["n"]
    begins, ended = whole.get("begun", none), whole.get("ended", none)
    S, A, U = len(world["states"]), len(world["actions"]), len(world.get("units") or (None,))
    u, s, a, t = (each.astype(np.int64) for each in numbers)
    seen = merged([Seen(u, s, a, t, whole["n"], r, paid2, begins, ended, np.zeros(r.size))], S, A)
    mean = r / whole["n"]  # of the least and the largest reward nothing else is known
    each = Episodes(begins, whole["n"], none, r, paid2, mean, mean, mean, mean, none)
    episodes = together([each], [numbers[0].astype(np.int64)], U)
    alone = np.maximum(episodes.n, 1)
    episodes = episodes._replace(n=alone, longest=-(-episodes.steps // alone))
    log = Log(counts=counts_of(seen, S, A), kept=None, summed=(seen, episodes), sql=sql, **world)
    if starts is None or begun is not None:
        return log
    return replace(log, given_start=start_in(starts, log.states, log.over))
