"""`gim.from_counts`: a log that was counted elsewhere, in a warehouse or by a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gim.logs.log import Log
from gim.logs.order import Asking
from gim.logs.reading import Names, Part, columns_of, log_of
from gim.logs.sources import Table
from gim.logs.start import start_in


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
        sums = {"reward2": "r * r / n", "n": "", "begun": "0", "ended": "0"}
        asked = [f"{x if x in columns.single else y} AS {x}" for x, y in sums.items() if x != "n"]
        found.run(
            f"CREATE TEMP VIEW counted AS SELECT u, s, a, f, r, n::BIGINT AS n, {', '.join(asked)} "
            "FROM coded JOIN typed USING (id) WHERE n > 0"
        )
        triples = found.arrays("""SELECT u, s, a, f AS t, sum(n)::BIGINT AS n, sum(r) AS paid,
    sum(reward2) AS paid2, sum(begun)::BIGINT AS begun, sum(ended)::BIGINT AS ended, 0.0 AS likely
  FROM counted GROUP BY ALL ORDER BY ALL""")
        # Of the least and the largest reward, and of returns, nothing but means is known.
        episodes = found.arrays("""SELECT *, ceil(steps / n)::BIGINT AS longest, 0 AS gaps,
    least AS low, most AS high
  FROM (SELECT u, greatest(sum(begun), 1)::BIGINT AS n, sum(n)::BIGINT AS steps, sum(r) AS total,
      sum(reward2) AS squares, min(r / n) AS least, max(r / n) AS most
    FROM counted GROUP BY u ORDER BY u)""")
        if not triples["n"].size:
            raise ValueError("the counts are all 0: there must be one at least")
        log = log_of(asking, [Part(triples, episodes, 1, 0, {}, "")], True, 1)
    if starts is None or begun is not None:
        return log
    return replace(log, given_start=start_in(starts, log.states, log.over))
