"""`gim.from_log`: a table of what happened becomes counts."""

from __future__ import annotations

import shutil
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gim._base.arguments import several
from gim.logs import cluster
from gim.logs.bans import allowed_pairs
from gim.logs.declaring import declared
from gim.logs.joining import made
from gim.logs.log import Log
from gim.logs.minari import is_dataset
from gim.logs.order import (
    CENSORED,
    END,
    ENDED,
    RESUMED,
    Asking,
    Columns,
    Facts,
    total,
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
    single = {"reward": reward, "episode": episode, "step": step, "done": done}
    single["propensity"] = propensity
    columns = columns_of(state, next_state, action, unit, single, bins, levels)
    if keep not in (None, "rows", "counts"):
        raise ValueError(f'keep = {keep!r}: give "rows", "counts" or None')
    if engine not in (None, "duckdb", "ray") or (engine == "ray" and keep == "rows"):
        raise ValueError(f'engine = {engine!r}: give "ray", which keeps counts, or None')
    if engine == "ray":
        log = _by_workers(source, columns, bool(strict))
    else:
        with Table(source, columns.fields().values(), query) as table:
            if strict:
                _check_sample(table, columns)
            asking = Asking(table, columns)
            facts = asking.facts()
            kept = keep == "rows" or (keep is None and facts.n <= MOST_ROWS)
            if facts.n * WIDTH > SPILLS:
                _forecast(table, facts.n)
            part = counted(asking, facts, kept)
        for remark in asking.remarks:
            warnings.warn(remark, stacklevel=2)
        log = log_of(asking, [part], strict, facts.n)  # when DuckDB has let go of its memory
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


def columns_of(
    state: Any,
    after: Any,
    action: Any,
    unit: Any,
    single: Mapping[str, Any],
    bins: Any,
    levels: Any,
) -> Columns:
    """Which columns are what, checked."""
    names, actions = named("state", state), named("action", action)
    then = None if after is None else named("next_state", after)
    if then is not None and len(then) != len(names):
        raise ValueError(
            f"{len(names)} columns of state, but {len(then)} of next_state: name as many, or "
            "give next_state=None, which takes them from the next row of the episode"
        )
    for what, given in {"bins": bins, "levels": levels}.items():
        if not isinstance(given, (Mapping, type(None))):
            raise ValueError(f"{what} = {given!r}: give a mapping of columns to {what}")
        if unknown := set(given or {}) - {*names, *actions}:
            raise ValueError(f"{what}: {min(unknown)!r} is no column of state or action")
    for what, name in single.items():
        if not (isinstance(name, str) and name) and (name is not None or what == "reward"):
            raise ValueError(f"{what} = {name!r}: give the name of a column")
    told = {x: several(f"levels[{x!r}]", each, "labels") for x, each in (levels or {}).items()}
    there = {what: name for what, name in single.items() if name is not None}
    units = [] if unit is None else named("unit", unit)
    return Columns(names, then, actions, units, there, dict(bins or {}), told)


def named(what: str, given: Any) -> list[str]:
    """The names of columns that an argument gives."""
    wanted = "the name of a column, or a list of names"
    names = [given] if isinstance(given, str) else several(what, given, wanted)
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{what} = {given!r}: give {wanted}")
    if len(set(names)) < len(names):
        raise ValueError(f"{what} = {given!r}: a column stands twice")
    return names


def _check_sample(table: Table, columns: Columns) -> None:
    """What is wrong with the first rows, before all others are read."""
    told = len(table.told)
    limited = f"(SELECT 1 FROM {table.sql} LIMIT {SAMPLE + 1})"
    if table.run(f"SELECT count(*) FROM {limited}")[0][0] > SAMPLE:
        asking = Asking(table, columns, SAMPLE)
        asking.coded(asking.facts())
        fix = f"{FIX} (found in the first {SAMPLE:,} rows; others were not read)"
        if said := asking.said("SELECT id, s AS kind FROM coded", fix)[1]:
            raise ValueError(said)
    del table.told[told:]


def _forecast(table: Table, n: int) -> None:
    """Say beforehand how much disk it may take."""
    where = table.run("SELECT current_setting('temp_directory')")[0][0]
    needed, free = n * WIDTH / 2**30, shutil.disk_usage(where).free / 2**30
    text = f"to put {n:,} rows in order may take {needed:.1f} GiB of disk in {where}"
    if needed > free:
        raise ValueError(f"{text}, which has {free:.1f}: set TMPDIR to a place with more")
    warnings.warn(f"{text} for a while", stacklevel=3)


class Part(NamedTuple):
    """What the rows of a log, or of a part of it, come to."""

    found: dict[str, Any]  # sums by triple, or rows one by one
    episodes: dict[str, Any]  # sums by unit; nothing where there are rows
    kept: int  # rows
    censored: int
    problems: dict[str, int]  # rows left out, by reason
    fault: str  # the first of these in words
    names: tuple[Any, ...] = ()  # of episodes, where these are asked


def counted(asking: Asking, facts: Facts, rows: bool = False) -> Part:
    """What a part of a log comes to, of all of which these facts are known."""
    asking.coded(facts)
    often, problems, fault = asking.followed(rows), dict[str, int](), ""
    if min(often) < CENSORED:
        every = "SELECT id, kind FROM followed UNION ALL FROM out_of_order"
        problems, fault = asking.said(every, FIX)
    found, episodes = dict[str, Any](), dict[str, Any]()
    if often[0] and rows:
        found = asking.rows()
    elif often[0]:
        found, episodes = asking.sums(facts.large)
    return Part(found, episodes, often[0], often[CENSORED], problems, fault)


def log_of(asking: Asking, parts: Sequence[Part], strict: Any, n: int) -> Log:
    """The log that parts make together."""
    problems = Counter[str]()
    for part in parts:
        if part.fault and strict:
            raise ValueError(part.fault)
        problems.update(part.problems)
    censored, full = sum(part.censored for part in parts), [part for part in parts if part.kept]
    if not full:
        why = "next states are missing, and no next row says them"
        if problems or not censored:
            most = max(problems, key=problems.__getitem__, default="none is placed")
            why = f"the most frequent reason: {most}"
        raise ValueError(f"no row of {n} can be used; {why}")
    x, by = full[0][:2]
    if len(full) > 1:
        x = {name: np.concatenate([part.found[name] for part in full]) for name in x}
        by = {name: np.concatenate([part.episodes[name] for part in full]) for name in by}
    world, numbers = numbered(asking, x)
    world |= {"skipped": problems.total(), "problems": dict(problems), "censored": censored}
    world |= {"bins": dict(asking.edges), "sql": tuple(asking.table.told)}
    S, A, U = len(world["states"]), len(world["actions"]), len(world.get("units") or (None,))
    if not by:
        u, s, a, t = (each.astype(np.int32) for each in numbers)
        episode = np.cumsum(np.diff(x["began"], prepend=x["began"][0]) != 0, dtype=np.int32)
        r, done, resumed = x["r"].astype(np.float64), x["kind"] & ENDED > 0, x["kind"] & RESUMED > 0
        unit = u if "units" in world else None
        kept = Rows(episode, s, a, r, t, done, x.get("p"), resumed, unit)
        return Log(counts=tally(S, A, s, a, r, t), kept=kept, **world)
    seen = merged([Seen(*numbers, *(x[name] for name in Seen._fields[4:]))], S, A)
    units = np.searchsorted(np.unique(x["u"]), by["u"])
    each = together([Episodes(*(by[name] for name in Episodes._fields))], [units], U)
    return Log(counts=counts_of(seen, S, A), kept=None, summed=(seen, each), **world)


def numbered(ask: Asking, x: Mapping[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """States, actions and units as a log has them, and the numbers of rows among them."""
    c, s, t = ask.columns, x["s"], x["t"]
    met, over = np.union1d(s, t[t != END]), bool((t == END).any())
    acts, units = np.unique(x["a"]), np.unique(x["u"])
    if (S := met.size + over) * acts.size > MOST_PAIRS:
        raise ValueError(
            f"{S} states and {acts.size} actions make {S * acts.size} pairs, more than "
            f"{MOST_PAIRS}: bin columns that measure something with bins=, and leave out those "
            "that number rows"
        )
    told = {y: ask.levels[y].labels for y in [*c.state, *c.action] if ask.levels[y].told}
    world: dict[str, Any] = {"over": over, "levels": told | dict(c.levels)}
    world["states"], world["variables"] = made(ask.columns_of(met, c.state), world["levels"], over)
    of = ask.columns_of(acts, c.action)
    world["actions"], world["action_variables"] = made(of, world["levels"])
    if c.unit:
        world["units"], _ = made(ask.columns_of(units, c.unit), {})
    to = np.where(t == END, met.size, np.searchsorted(met, t))
    found = [(units, x["u"]), (met, s), (acts, x["a"])]
    return world, [*(np.searchsorted(of, each) for of, each in found), to]


# -- files counted by workers


def _by_workers(source: Any, columns: Columns, strict: bool) -> Log:
    """The counts of files, each of which holds whole episodes."""
    paths = paths_of(source)
    if "episode" not in columns.single and not columns.unit:
        raise ValueError('engine="ray" needs episode= or unit=: each file must hold whole ones')
    facts = total(cluster.mapped(_look, [(path, columns) for path in paths]))
    parts: list[Part] = cluster.mapped(_count, [(path, columns, facts) for path in paths])
    met: dict[Any, str] = {}
    for path, part in zip(paths, parts, strict=True):
        if part.fault and strict:
            raise ValueError(f"{path}: {part.fault}")
        for name in part.names:
            if met.setdefault(name, path) != path:
                raise ValueError(
                    f"an episode (or a unit without episodes) stands in {met[name]} and in {path}: "
                    "give files that hold whole ones, or leave engine= out"
                )
    with Table(paths[0], columns.fields().values()) as table:
        asking = Asking(table, columns)
        asking.coded(facts)
        return log_of(asking, parts, strict, facts.n)


def _look(path: str, columns: Columns) -> Facts:
    with Table(path, columns.fields().values()) as table:
        return Asking(table, columns).facts()


def _count(path: str, columns: Columns, facts: Facts) -> Part:
    with Table(path, columns.fields().values()) as table:
        asking = Asking(table, columns)
        part = counted(asking, facts)
        return part._replace(names=tuple(table.run("SELECT DISTINCT u, e FROM parted")))
