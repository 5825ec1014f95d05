"""`gim.from_log`: a table of what happened becomes counts."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gim._base.arguments import several
from gim.logs.bans import allowed_pairs
from gim.logs.faults import NAMED
from gim.logs.labels import made
from gim.logs.log import Log, Rows
from gim.logs.minari import is_dataset
from gim.logs.order import CENSORED, END, KEPT, LATE, TWICE, WIDTH, Asking, Columns
from gim.logs.sources import Table
from gim.logs.start import range_of, start_in
from gim.logs.triples import Episodes, Triples, counts_of
from gim.model.tally import tally

MOST_PAIRS = 1 << 24  # pairs of a state and an action that are counted
MOST_ROWS = 1 << 22  # rows up to which they are kept one by one, unless it is said
SAMPLE = 10_000  # rows that are checked before all others are read
SPILLS = 1 << 30  # bytes of rows in order, from which on it is said how much disk they may take
FIX = "strict=False leaves such rows out"
Names = str | Sequence[str]


def from_log(
    source: Any,
    *,
    query: str | None = None,
    state: Names = "s",
    action: Names = "a",
    reward: str = "r",
    next_state: Names | None = "s2",
    episode: str | None = None,
    step: str | None = None,
    done: str | None = None,
    propensity: str | None = None,
    unit: Names | None = None,
    available: Any = None,
    bins: Mapping[str, Any] | None = None,
    levels: Mapping[str, Sequence[Any]] | None = None,
    keep: str | None = None,
    strict: bool = True,
    start: Any = None,
    reward_range: tuple[float, float] | None = None,
) -> Log:
    """Read a log of transitions, by DuckDB.

    Args:
        source: the path of a CSV or Parquet file, a folder, a glob or a list of them; a frame of
            pandas or polars, eager or lazy; a table, dataset or stream of Arrow, or what offers
            `__arrow_c_stream__`; a relation of DuckDB or Ibis; a connection or cursor (DB-API,
            ADBC, SQLAlchemy), or a URL (`sqlite:///`, `duckdb:///`, `postgresql://`); a mapping of
            names to columns; rows: tuples (s, a, r, s2[, done]) or mappings; or a dataset in the
            form of Minari, whose episodes and ends are known.
        query: what to ask of a database: a SELECT, or the name of a table.
        state, action: the column of the state, of the action; several make it of variables.
        reward: the column of the reward.
        next_state: the column or columns of the next state; None: it is the state of the next row
            of the episode. The last row of an unfinished episode then leads nowhere: it is left out
            and counted (`log.censored`).
        episode: the column that tells episodes apart, in any order. Without one, an episode ends
            where `done` says so, and where a next state is not the next row's state.
        step: the column by which rows are put in order: numbers, times (with zones, too) or texts.
            Whole numbers count steps, so that one that is missing is a gap; all else only orders.
        done: the column that says whether the row ended its episode: True, False, 0 or 1.
        propensity: the column of the probability with which the action was chosen.
        unit: the column or columns that tell units apart (shops, machines). Episodes are those of
            one unit; `log.by_unit()` has the log of each.
        available: which actions may be played: "all"; a mapping of states to their actions; a
            function of a state and an action; or an array, bool [S, A]. What it leaves out is
            banned, also where it was done (`log.banned` rows): no policy made from the log plays
            it, though its rows count as observations.
        bins: numeric columns to be binned: the number of bins, or their edges, by column.
        levels: the labels of columns in their order: {"stock": ["empty", "low", "full"]} makes the
            stock a variable that rises.
        keep: "rows" keeps transitions one by one; "counts" what they come to, and memory does not
            grow with rows; None: rows, up to some four million of them.
        strict: whether a row that cannot be used is an error; False leaves it out and counts it,
            and does not say of the row before where it led, nor of the row after where it began.
        start: where episodes begin, if the log's own do not tell (it may be one long one): a state,
            a list of states, each alike, or a mapping of states to their chances. States that the
            log does not have count as states of which nothing is known. None: where they did.
        reward_range: the least and the largest reward that a step may pay, (-1, 10). Without it
            there is no bound on what a policy earns that rests on it.

    Example:
        >>> log = from_log([("low", "buy", -1.0, "high"), ("high", "wait", 2.0, "low")] * 3)
        >>> log
        <Log of 6 transitions: 2 states, 2 actions, 2 of 4 pairs seen, 1 episode>
        >>> log.states, log.counts.n.tolist()
        (('high', 'low'), [[0, 3], [3, 0]])
    """
    if is_dataset(source):
        episode, step, done = episode or "episode", step or "step", done or "done"
    names, after = _names("state", state), None
    if next_state is not None:
        after = _names("next_state", next_state)
        if len(after) != len(names):
            raise ValueError(
                f"{len(names)} columns of state, but {len(after)} of next_state: name as many, or "
                "give next_state=None, which takes them from the next row of the episode"
            )
    actions, units = _names("action", action), [] if unit is None else _names("unit", unit)
    of_columns = {"bins": bins, "levels": levels}
    for what, given in of_columns.items():
        if not isinstance(given, (Mapping, type(None))):
            raise ValueError(f"{what} = {given!r}: give a mapping of columns to {what}")
        if unknown := set(given or {}) - {*names, *actions}:
            raise ValueError(f"{what}: {min(unknown)!r} is no column of state or action")
    more: dict[str, Any] = {"reward": reward, "episode": episode, "step": step, "done": done}
    more["propensity"] = propensity
    for what, name in more.items():
        if not (isinstance(name, str) and name) and (name is not None or what == "reward"):
            raise ValueError(f"{what} = {name!r}: give the name of a column")
    if keep not in (None, "rows", "counts"):
        raise ValueError(f'keep = {keep!r}: give "rows", "counts" or None')
    told = {
        name: list(several(f"levels[{name!r}]", x, "labels")) for name, x in (levels or {}).items()
    }
    columns = Columns(names, after, actions, units, **more, bins=dict(bins or {}), levels=told)
    with Table(source, columns.wanted(), query) as table:
        if strict:
            _check_sample(table, columns)
        log = _Reading(table, columns, bool(strict), keep).log()
    if reward_range is not None:
        log = replace(log, reward_range=range_of(reward_range, log.paid))
    if start is not None:
        log = replace(log, given_start=start_in(start, log.states, log.over))
    if available is None:
        return log
    may = allowed_pairs(available, log.states, log.actions, log.terminal, log.over)
    return replace(log, available=may)


class _Reading:
    """One log being read."""

    def __init__(self, table: Table, columns: Columns, strict: bool, keep: str | None) -> None:
        self.table, self.columns, self.strict = table, columns, strict
        self.asking = Asking(table, columns)
        self.facts = self.asking.facts()
        self.coded = self.asking.coded(self.facts)
        self.keeps = keep == "rows" or (keep is None and self.facts.n <= MOST_ROWS)
        for remark in (x for levels in self.asking.levels.values() for x in levels.remarks):
            warnings.warn(remark, stacklevel=3)
        if self.facts.n * WIDTH > SPILLS:
            self._forecast()

    def _forecast(self) -> None:
        """Say beforehand how much disk it may take."""
        where = self.table.run("SELECT current_setting('temp_directory')").fetchone()[0]
        needed, free = self.facts.n * WIDTH / 2**30, shutil.disk_usage(where).free / 2**30
        text = f"to put {self.facts.n:,} rows in order may take {needed:.1f} GiB of disk in {where}"
        if needed > free:
            raise ValueError(f"{text}, which has {free:.1f}: set TMPDIR to a place with more")
        warnings.warn(f"{text} for a while", stacklevel=4)

    def log(self) -> Log:
        """All of it."""
        often, out, followed = self._followed()
        bad = {k: often.get(k, 0) + out.get(k, 0) for k in {*often, *out} if k > 0}
        if bad and self.strict:
            rows = f"SELECT id, kind FROM ({followed}) WHERE kind > 0"
            rows += " UNION ALL SELECT id, kind FROM out_of_order" if out else ""
            first = self.table.run(f"{rows} ORDER BY id LIMIT {NAMED}").fetchall()
            raise ValueError(self.asking.faults.said(first, sum(bad.values()), FIX))
        reasons = self.asking.faults.counted(bad)
        if not often.get(KEPT):
            raise ValueError(_nothing_left(self.facts.n, reasons, often.get(CENSORED, 0)))
        log = self._rows() if self.keeps else self._sums()
        skipped = sum(bad.values())
        more: dict[str, Any] = {
            "skipped": skipped,
            "problems": reasons,
            "censored": often.get(CENSORED, 0),
        }
        return replace(log, **more, bins=dict(self.asking.edges), sql=tuple(self.table.told))

    def _followed(self) -> tuple[dict[int, int], dict[int, int], str]:
        """Rows by kind, those that are out of order by reason, and what asks for all others.

        A row that stands twice, or after the end of its episode, is taken out of the order before
        it is said what follows what.
        """
        texts = {TWICE: "this step of the episode stands twice"}
        texts[LATE] = "an action after the end of its episode"
        column = {TWICE: self.columns.step or "", LATE: self.columns.done or ""}
        run, out, without = self.table.run, dict[int, int](), None
        while True:
            followed = self.asking.followed(self.coded, without)
            if self.keeps:
                run(f"CREATE OR REPLACE TEMP TABLE followed AS {followed}")
                followed = "FROM followed"
                asked = run("SELECT kind, count(*) FROM followed GROUP BY kind")
            else:
                table, *_ = self.asking.counted(followed, self.facts.large)
                run(f"CREATE OR REPLACE TEMP TABLE counted AS {table}")
                asked = run(
                    "SELECT kind, sum(n)::BIGINT FROM counted WHERE NOT whole GROUP BY kind"
                )
            often = dict(asked.fetchall())
            wrong = TWICE if TWICE in often else LATE if LATE in often else None
            if wrong is None:
                return often, out, followed
            if without is None:
                without = "out_of_order"
                run(f"CREATE OR REPLACE TEMP TABLE {without} (id BIGINT, kind INT)")
            number = self.asking.faults.number(column[wrong], texts[wrong])
            run(
                f"INSERT INTO {without} SELECT id, coalesce(fault, {number}) FROM ({followed}) "
                f"WHERE kind = {wrong}"
            )
            out = dict(run(f"SELECT kind, count(*) FROM {without} GROUP BY kind").fetchall())

    def _rows(self) -> Log:
        """The log with its rows, in the order in which they happened."""
        c, by_step = self.columns, "k, " if self.columns.step else ""
        found = self.table.run(
            f"SELECT id, u, s, a, f, r, d, p, first, resumed, kind FROM followed "
            f"WHERE u IS NOT NULL ORDER BY u, e, {by_step}id"
        ).fetchnumpy()
        keep = np.asarray(found["kind"]) == KEPT
        episode = np.cumsum(_plain(found["first"], bool)) - 1
        x = {
            name: _plain(found[name][keep])
            for name in ("id", "u", "s", "a", "f", "r", "d", "resumed")
        }
        episode = np.unique(episode[keep], return_inverse=True)[1].ravel()
        if c.episode is not None or c.unit:  # episodes in the order in which they began
            begins = np.flatnonzero(np.append(True, np.diff(episode) != 0))
            first = np.minimum.reduceat(x["id"], begins)
            if (np.diff(first) < 0).any():
                rank = np.empty(first.size, np.int64)
                rank[np.argsort(first, kind="stable")] = np.arange(first.size)
                episode = rank[episode]
                order = np.argsort(episode, kind="stable")
                episode, x = episode[order], {name: each[order] for name, each in x.items()}
                keep = np.flatnonzero(keep)[order]
        p = _plain(found["p"][keep], np.float64) if c.propensity is not None else None
        world, (u, s, a, t) = self._numbered(x["u"], x["s"], x["a"], x["f"])
        r = x["r"].astype(np.float64)
        small = (each.astype(np.int32) for each in (episode, s, a, t))
        e, s, a, t = small
        unit = u.astype(np.int32) if c.unit else None
        rows = Rows(e, s, a, r, t, x["d"].astype(bool), p, x["resumed"].astype(bool), unit)
        counts = tally(len(world["states"]), len(world["actions"]), s, a, r, t)
        return Log(counts=counts, kept=rows, **world)

    def _sums(self) -> Log:
        """The log without its rows."""
        _, triples, episodes = self.asking.counted("", self.facts.large)
        found = self.table.run(triples).fetchnumpy()
        columns = [_plain(found[name]) for name in ("u", "s", "a", "f")]
        world, numbers = self._numbered(*columns)
        sums = [_plain(found[name]) for name in Triples._fields[4:]]
        seen = Triples(*(each.astype(np.int64) for each in numbers), *sums)
        asked = self.table.run(episodes).fetchnumpy()
        told = Episodes(*(_plain(asked[name]) for name in Episodes._fields))
        counts = counts_of(seen, len(world["states"]), len(world["actions"]))
        return Log(counts=counts, kept=None, summed=(seen, told), **world)

    def _numbered(self, u: Any, s: Any, a: Any, t: Any) -> tuple[dict[str, Any], list[Any]]:
        """States, actions and units as a log has them, and the numbers of these keys among them."""
        c, ask = self.columns, self.asking
        met, over = np.union1d(s, t[t != END]), bool((t == END).any())
        acts, units = np.unique(a), np.unique(u)
        _check_size(met.size + over, acts.size)
        told = {x: ask.levels[x].labels for x in [*c.state, *c.action] if ask.levels[x].told}
        told |= c.levels
        world: dict[str, Any] = {"over": over, "levels": told}
        world["states"], world["variables"] = made(ask.columns_of(met, c.state), told, over)
        world["actions"], world["action_variables"] = made(ask.columns_of(acts, c.action), told)
        if c.unit:
            world["units"], _ = made(ask.columns_of(units, c.unit), {})
        to = np.where(t == END, met.size, np.searchsorted(met, t))
        numbers = [np.searchsorted(units, u), np.searchsorted(met, s), np.searchsorted(acts, a), to]
        return world, numbers


def _plain(column: Any, dtype: Any = None) -> Any:
    """A column without its mask: nothing is missing in it."""
    return np.asarray(getattr(column, "data", column), dtype)


def _check_sample(table: Table, columns: Columns) -> None:
    """What is wrong with the first rows, before all others are read."""
    limited = f"(SELECT 1 FROM {table.sql} LIMIT {SAMPLE + 1})"
    if table.run(f"SELECT count(*) FROM {limited}").fetchone()[0] <= SAMPLE:
        return
    asking = Asking(table, columns, SAMPLE)
    wrong = f"FROM ({asking.coded(asking.facts())}) WHERE fault IS NOT NULL"
    n = table.run(f"SELECT count(*) {wrong}").fetchone()[0]
    if n:
        first = table.run(f"SELECT id, fault {wrong} ORDER BY id LIMIT {NAMED}").fetchall()
        text = asking.faults.said(first, n, FIX)
        raise ValueError(f"{text} (found in the first {SAMPLE:,} rows; others were not read)")
    table.told.clear()


def _names(what: str, given: Any) -> list[str]:
    wanted = "the name of a column, or a list of names"
    names = [given] if isinstance(given, str) else several(what, given, wanted)
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{what} = {given!r}: give {wanted}")
    if len(set(names)) < len(names):
        raise ValueError(f"{what} = {given!r}: a column stands twice")
    return names


def _check_size(S: int, A: int) -> None:
    if S * A > MOST_PAIRS:
        raise ValueError(
            f"{S} states and {A} actions make {S * A} pairs, more than {MOST_PAIRS}: bin columns "
            "that measure something with bins=, and leave out those that number rows"
        )


def _nothing_left(n: int, reasons: Mapping[str, int], censored: int) -> str:
    if censored and not reasons:
        return f"no row of {n} can be used: next states are missing, and no next row says them"
    reason = max(reasons, key=reasons.__getitem__, default="none is placed")
    return f"no row of {n} can be used; the most frequent reason: {reason}"
