"""`gim.from_log`: a table of what happened becomes counts."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gim._base.arguments import several
from gim.logs import cluster
from gim.logs.bans import allowed_pairs
from gim.logs.declaring import declared
from gim.logs.faults import NAMED
from gim.logs.labels import made
from gim.logs.log import Log
from gim.logs.minari import is_dataset
from gim.logs.order import (
    BEGUN,
    CENSORED,
    END,
    ENDED,
    FAULTY,
    LATE,
    RESUMED,
    TWICE,
    Asking,
    Columns,
    Facts,
)
from gim.logs.sources import Table, paths_of
from gim.logs.start import range_of, start_in
from gim.logs.triples import Episodes, Rows, Seen, counts_of, merged, together
from gim.model.tally import tally

MOST_PAIRS = 1 << 24  # pairs of a state and an action that are counted
MOST_ROWS = 1 << 22  # rows up to which they are kept one by one, unless it is said
SAMPLE = 10_000  # rows that are checked before all others are read
WIDTH = 100  # bytes that a row takes while rows are put in order
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
    engine: str | None = None,
    strict: bool = True,
    states: Any = None,
    variables: Mapping[str, Any] | None = None,
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
        engine: None reads by DuckDB alone; "ray" lets workers of Ray, on a cluster or processes of
            this machine, count one file each, and merges what they found. Counts are kept, and no
            episode may stand in two files. A worker that is lost has its files counted again.
        strict: whether a row that cannot be used is an error; False leaves it out and counts it,
            and does not say of the row before where it led, nor of the row after where it began.
        states: labels of states that there can be besides those that were met: what is inferred
            speaks of them, and policies answer there.
        variables: the same by the values that each column of the state can have. All states that
            are made of them are listed, where there are not too many; else a policy finds an
            answer when it is asked, as in the states most like the one it is asked about.
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
    names, after = named("state", state), None
    if next_state is not None:
        after = named("next_state", next_state)
        if len(after) != len(names):
            raise ValueError(
                f"{len(names)} columns of state, but {len(after)} of next_state: name as many, or "
                "give next_state=None, which takes them from the next row of the episode"
            )
    actions, units = named("action", action), [] if unit is None else named("unit", unit)
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
    if engine not in (None, "duckdb", "ray") or (engine == "ray" and keep == "rows"):
        raise ValueError(f'engine = {engine!r}: give "ray", which keeps counts, or None')
    told = {
        name: list(several(f"levels[{name!r}]", x, "labels")) for name, x in (levels or {}).items()
    }
    columns = Columns(names, after, actions, units, **more, bins=dict(bins or {}), levels=told)
    if engine == "ray":
        log = _by_workers(source, columns, bool(strict))
    else:
        with Table(source, columns.names(), query) as table:
            if strict:
                _check_sample(table, columns)
            log = _Reading(table, columns, bool(strict), keep).log()
    if states is not None or variables is not None:
        log = declared(log, states, variables)
    if reward_range is not None:
        log = replace(log, reward_range=range_of(reward_range, log.paid))
    if start is not None:
        log = replace(log, given_start=start_in(start, log.states, log.over))
    if available is None:
        return log
    may = allowed_pairs(available, log.states, log.actions, log.terminal, log.over)
    return replace(log, available=may)


class Part(NamedTuple):
    """What the rows of a log, or of a part of it, come to."""

    triples: dict[str, Any]  # sums by triple
    episodes_of: dict[str, Any]  # sums by unit
    kept: int  # rows
    censored: int
    problems: dict[str, int]  # rows left out, by reason
    fault: str  # the first of these in words
    episodes: tuple[Any, ...]  # which there are, where that is asked


class _Reading:
    """One log being read."""

    def __init__(
        self,
        table: Table,
        columns: Columns,
        strict: bool,
        keep: str | None,
        facts: Facts | None = None,
    ) -> None:
        self.table, self.columns, self.strict = table, columns, strict
        self.asking = Asking(table, columns)
        self.facts = self.asking.facts() if facts is None else facts
        self.asking.coded(self.facts)
        self.keeps = keep == "rows" or (keep is None and self.facts.n <= MOST_ROWS)
        for remark in (x for levels in self.asking.levels.values() for x in levels.remarks):
            warnings.warn(remark, stacklevel=3)
        if self.facts.n * WIDTH > SPILLS:
            self._forecast()

    def _forecast(self) -> None:
        """Say beforehand how much disk it may take."""
        where = self.table.run("SELECT current_setting('temp_directory')")[0][0]
        needed, free = self.facts.n * WIDTH / 2**30, shutil.disk_usage(where).free / 2**30
        text = f"to put {self.facts.n:,} rows in order may take {needed:.1f} GiB of disk in {where}"
        if needed > free:
            raise ValueError(f"{text}, which has {free:.1f}: set TMPDIR to a place with more")
        warnings.warn(f"{text} for a while", stacklevel=4)

    def log(self) -> Log:
        """All of it."""
        part = self.part()
        if part.fault and self.strict:
            raise ValueError(part.fault)
        if not self.keeps or not part.kept:
            return log_of(self.asking, [part], self.facts.n)
        return replace(self._rows(), **_told(self.asking, [part]))

    def part(self) -> Part:
        """What its rows come to."""
        often, out = self._followed()
        for kind, n in often.items():
            if kind < FAULTY:
                out[FAULTY - kind] = out.get(FAULTY - kind, 0) + n
        fault = ""
        if out:
            rows = f"SELECT id, {FAULTY} - kind AS kind FROM followed WHERE kind < {FAULTY}"
            rows += " UNION ALL SELECT id, kind FROM out_of_order" if self.out else ""
            first = self.table.run(f"{rows} ORDER BY id LIMIT {NAMED}")
            fault = self.asking.faults.said(first, sum(out.values()), FIX)
        reasons, kept = self.asking.faults.counted(out), often.get(0, 0)
        sums = ({}, {}) if self.keeps or not kept else self.asking.sums(self.facts.large)
        return Part(*sums, kept, often.get(CENSORED, 0), reasons, fault, ())

    def _followed(self) -> tuple[dict[int, int], dict[int, int]]:
        """Rows by kind, and those that are out of order by reason.

        A row that stands twice, or after the end of its episode, is taken out of the order before
        it is said what follows what.
        """
        c, run = self.columns, self.table.run
        said = {TWICE: (c.step, "this step of the episode stands twice")}
        said[LATE] = (c.done, "an action after the end of its episode")
        ask, named = self.asking, self.keeps or c.step is None
        ask.followed(self.keeps, named)
        often, self.out = ask.kinds(), False
        if not named and min(often) < CENSORED:
            ask.followed(self.keeps, named=True)
        while wrong := TWICE if TWICE in often else LATE if LATE in often else 0:
            if not self.out:
                run("CREATE OR REPLACE TEMP TABLE out_of_order (id BIGINT, kind INT)")
            number = ask.faults.number(said[wrong][0] or "", said[wrong][1])
            kind = f"CASE WHEN s < 0 THEN {FAULTY} - s ELSE {number} END"
            run(f"INSERT INTO out_of_order SELECT id, {kind} FROM followed WHERE kind = {wrong}")
            ask.followed(self.keeps, True, "out_of_order")
            often, self.out = ask.kinds(), True
        return often, dict(
            run("SELECT kind, count(*) FROM out_of_order GROUP BY kind") if self.out else []
        )

    def _rows(self) -> Log:
        """The log with its rows, in the order in which they happened."""
        c, by = self.columns, [*self.asking.partition, *["k"] * bool(self.columns.step), "id"]
        u = "u" if c.unit else "0 AS u"
        p = "p" if c.propensity else "0 AS p"
        x = self.table.arrays(
            f"SELECT id, {u}, s, a, t, r, {p}, first, kind FROM followed ORDER BY {', '.join(by)}"
        )
        keep = x["kind"] >= 0
        episode = np.cumsum(x.pop("first"))[keep]
        x = {name: each[keep] for name, each in x.items()}
        begins = np.flatnonzero(np.append(True, np.diff(episode) != 0))
        began = np.minimum.reduceat(x["id"], begins)  # episodes in the order of their rows
        lengths = np.diff(np.append(begins, episode.size))
        order = np.argsort(np.repeat(began, lengths), kind="stable")
        x = {name: each[order] for name, each in x.items()}
        episode = np.repeat(np.arange(began.size), lengths[np.argsort(began)])
        world, numbers = numbered(self.asking, x)
        u, s, a, t = (each.astype(np.int32) for each in numbers)
        done, r = x["kind"] & ENDED > 0, x["r"].astype(np.float64)
        resumed, chance = x["kind"] & RESUMED > 0, x["p"] if c.propensity else None
        episode = episode.astype(np.int32)
        rows = Rows(episode, s, a, r, t, done, chance, resumed, u if c.unit else None)
        counts = tally(len(world["states"]), len(world["actions"]), s, a, r, t)
        return Log(counts=counts, kept=rows, **world)


def counted(table: Table, columns: Columns, facts: Facts) -> Part:
    """What a part of a log comes to, of all of which these facts are known."""
    reading = _Reading(table, columns, strict=False, keep="counts", facts=facts)
    part = reading.part()
    by = ", ".join(reading.asking.partition)
    return part._replace(episodes=tuple(table.run(f"SELECT DISTINCT {by} FROM followed")))


def log_of(asking: Asking, parts: Sequence[Part], n: int) -> Log:
    """The log that parts make together, without its rows."""
    full = [part for part in parts if part.kept]
    told = _told(asking, parts)
    if not full:
        raise ValueError(_nothing_left(n, told["problems"], told["censored"]))
    x, by = (
        {name: np.concatenate([of[name] for of in each]) for name in each[0]}
        for each in ([part.triples for part in full], [part.episodes_of for part in full])
    )
    world, (u, s, a, t) = numbered(asking, x)
    S, A = len(world["states"]), len(world["actions"])
    often, kind = x["n"], x["kind"]
    begun, ended = often * (kind & BEGUN > 0), often * (kind & ENDED > 0)
    seen = merged([Seen(u, s, a, t, often, x["paid"], x["paid2"], begun, ended, x["likely"])], S, A)
    units = np.searchsorted(np.unique(x["u"]), by["u"])
    each = Episodes(*(by[name] for name in Episodes._fields))
    summed = seen, together([each], [units], len(world.get("units") or (None,)))
    return Log(counts=counts_of(seen, S, A), kept=None, summed=summed, **world, **told)


def _by_workers(source: Any, columns: Columns, strict: bool) -> Log:
    """The counts of files, each of which holds whole episodes."""
    paths, _ = paths_of(source)
    if columns.episode is None and not columns.unit:
        raise ValueError('engine="ray" needs episode= or unit=: each file must hold whole ones')
    facts = cluster.total(cluster.mapped(_look, [(path, columns) for path in paths]))
    parts: list[Part] = cluster.mapped(_count, [(path, columns, facts) for path in paths])
    met: dict[Any, str] = {}
    for path, part in zip(paths, parts, strict=True):
        if part.fault and strict:
            raise ValueError(f"{path}: {part.fault}")
        for key in part.episodes:
            if key in met:
                raise ValueError(
                    f"an episode (or a unit without episodes) stands in {met[key]} and in {path}: "
                    "give files that hold whole ones, or leave engine= out"
                )
            met[key] = path
    with Table(paths[0], columns.names()) as table:
        asking = Asking(table, columns)
        asking.coded(facts)
        return log_of(asking, parts, facts.n)


def _look(path: str, columns: Columns) -> Facts:
    with Table(path, columns.names()) as table:
        return Asking(table, columns).facts()


def _count(path: str, columns: Columns, facts: Facts) -> Part:
    with Table(path, columns.names()) as table:
        return counted(table, columns, facts)


def _told(asking: Asking, parts: Sequence[Part]) -> dict[str, Any]:
    """What was left out of all parts, and how they were read."""
    problems: dict[str, int] = {}
    for part in parts:
        for reason, n in part.problems.items():
            problems[reason] = problems.get(reason, 0) + n
    told: dict[str, Any] = {"skipped": sum(problems.values()), "problems": problems}
    told |= {"censored": sum(part.censored for part in parts), "bins": dict(asking.edges)}
    return told | {"sql": tuple(asking.table.told)}


def numbered(ask: Asking, x: Mapping[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """States, actions and units as a log has them, and the numbers of rows among them."""
    c, s, t = ask.columns, x["s"], x["t"]
    met, over = np.union1d(s, t[t != END]), bool((t == END).any())
    acts, units = np.unique(x["a"]), np.unique(x["u"])
    _check_size(met.size + over, acts.size)
    told = {y: ask.levels[y].labels for y in [*c.state, *c.action] if ask.levels[y].told}
    told |= c.levels
    world: dict[str, Any] = {"over": over, "levels": told}
    world["states"], world["variables"] = made(ask.columns_of(met, c.state), told, over)
    world["actions"], world["action_variables"] = made(ask.columns_of(acts, c.action), told)
    if c.unit:
        world["units"], _ = made(ask.columns_of(units, c.unit), {})
    to = np.where(t == END, met.size, np.searchsorted(met, t))
    found = [(units, x["u"]), (met, s), (acts, x["a"])]
    return world, [*(np.searchsorted(of, each) for of, each in found), to]


def _check_sample(table: Table, columns: Columns) -> None:
    """What is wrong with the first rows, before all others are read."""
    limited = f"(SELECT 1 FROM {table.sql} LIMIT {SAMPLE + 1})"
    if table.run(f"SELECT count(*) FROM {limited}")[0][0] <= SAMPLE:
        return
    asking = Asking(table, columns, SAMPLE)
    asking.coded(asking.facts())
    wrong = table.run(f"SELECT id, {FAULTY} - s FROM coded WHERE s < {FAULTY} ORDER BY id")
    if wrong:
        text = asking.faults.said(wrong[:NAMED], len(wrong), FIX)
        raise ValueError(f"{text} (found in the first {SAMPLE:,} rows; others were not read)")
    table.told.clear()


def named(what: str, given: Any) -> list[str]:
    """The names of columns that an argument gives."""
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
