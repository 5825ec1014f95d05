"""What DuckDB is asked of a log: labels as numbers, which row follows which, and how often.

A row with a fault is left out whole: it does not say where the row before it led, nor does the row
after it begin anything. `coded` gives each row its numbers and the first fault that holds of it,
`followed` what came before and after it in its episode, `counted` what that comes to. Sums of
rewards are sums of whole numbers: in any order, by any number of threads, they are the same.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gim.logs.faults import Faults
from gim.logs.labels import MOST_LABELS, Levels, bin_names, edges_of, levels_of, missing
from gim.logs.sources import Table

LARGEST = 1e100  # of a reward: squares must add up
KEPT, CENSORED, TWICE, LATE = -1, 0, -2, -3  # in place of a fault
END = -2  # in place of a next state: the episode is over, and what came then was not recorded
WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
REAL = ("FLOAT", "DOUBLE", "DECIMAL", "HUGEINT", "UBIGINT", "UHUGEINT")
TIMES = ("DATE", "TIME", "INTERVAL")  # as DuckDB's names of them begin
FLAGS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
WIDTH = 72  # bytes that a row takes while rows are put in order


class Columns(NamedTuple):
    """Which columns of a log are what."""

    state: list[str]
    after: list[str] | None  # of the next state; None: the next row of the episode says
    action: list[str]
    unit: list[str]
    reward: str
    episode: str | None
    step: str | None
    done: str | None
    propensity: str | None
    bins: dict[str, Any]
    levels: dict[str, Any]

    def wanted(self) -> list[str]:
        """All of them, once each."""
        more = [self.reward, self.episode, self.step, self.done, self.propensity]
        named = [*self.state, *(self.after or []), *self.action, *self.unit, *filter(None, more)]
        return list(dict.fromkeys(named))


class Facts(NamedTuple):
    """What is known of a log after a first look: sums, and the labels of each column."""

    n: int
    large: float  # the largest reward, by size
    lost: int  # rows without an episode or unit
    step: tuple[int, int, int, bool]  # steps, those that are numbers, times; are all whole?
    spans: dict[str, tuple[float, float]]  # of columns that are binned
    labels: dict[str, dict[Any, int]]  # values as DuckDB has them, and how often, by column


def name(column: str) -> str:
    """A column in SQL."""
    return 'b."' + column.replace('"', '""') + '"'


class Asking:
    """The SQL of one log.

    Args:
        table: where it is.
        columns: which columns are what.
        only: read no more than so many rows.
    """

    def __init__(self, table: Table, columns: Columns, only: int | None = None) -> None:
        self.table, self.columns, self.faults = table, columns, Faults()
        limit = "" if only is None else f" LIMIT {only}"
        self.source = f"(SELECT * FROM {table.sql}{limit})" if only else table.sql
        self.joins: list[str] = []
        self.looked: dict[tuple[str, str], str] = {}  # where Python's own are looked up
        self.code: dict[tuple[str, str], str] = {}  # the number of a label, by column and where
        self.levels: dict[str, Levels] = {}
        self.edges: dict[str, Any] = {}
        self.partition, self.steps_count, self.lost = "", False, False

    # -- columns

    def label(self, column: str) -> str:
        """A label as a whole number, a number, a truth value or text."""
        kind = self.table.types[column]
        if kind in WHOLE:
            return f"{name(column)}::BIGINT"
        if kind.startswith(REAL):
            return f"{name(column)}::DOUBLE"
        return name(column) if kind == "BOOLEAN" else f"{name(column)}::VARCHAR"

    def number(self, column: str) -> str:
        """A number; NaN where there is none, infinite where what stands there is no number."""
        kind = self.table.types[column]
        if column in self.table.labels:
            return self._looked_up(
                column, "number", [_number(x) for x in self.table.labels[column]]
            )
        if kind in (*WHOLE, "BOOLEAN") or kind.startswith(REAL):
            return f"coalesce({name(column)}::DOUBLE, 'nan'::DOUBLE)"
        if kind != "VARCHAR":
            return f"CASE WHEN {name(column)} IS NULL THEN 'nan'::DOUBLE ELSE 'inf'::DOUBLE END"
        text = f"trim({name(column)})"
        return (
            f"CASE WHEN coalesce({text}, '') IN ('', 'nan') THEN 'nan'::DOUBLE "
            f"ELSE coalesce(TRY_CAST({text} AS DOUBLE), 'inf'::DOUBLE) END"
        )

    def flag(self, column: str) -> str:
        """True, False, 0 or 1, also as text, since a CSV file has nothing else; else NULL."""
        if column in self.table.labels:
            meant = [FLAGS.get(str(x).strip().lower(), math.nan) for x in self.table.labels[column]]
            return f"({self._looked_up(column, 'flag', meant)} = 1)"
        if self.table.types[column] == "BOOLEAN":
            return name(column)
        whens = " ".join(f"WHEN '{text}' THEN {truth}" for text, truth in FLAGS.items())
        return f"CASE lower(trim({name(column)}::VARCHAR)) {whens} END"

    def step(self, found: tuple[int, int, int, bool]) -> tuple[str, bool, str]:
        """What rows are put in order by, whether whole numbers count steps, and what it must be."""
        column = self.columns.step
        if column is None:
            return "NULL", False, ""
        kind, (n, numbers, times, whole) = self.table.types[column], found
        if column in self.table.labels:
            labels = self.table.labels[column]
            there = [x for x in labels if x is not None and not isinstance(x, (int, float))]
            if not there or kind != "BIGINT":
                return f"nullif({self.number(column)}, 'inf'::DOUBLE)", whole, "number"
            try:
                place = {label: k for k, label in enumerate(sorted(map(_timed, there)))}
            except TypeError:
                some = " and ".join(sorted({type(x).__name__ for x in labels}))
                raise ValueError(f"column {column!r} holds {some}: steps have one order") from None
            ranks = [float(place.get(_timed(x), math.nan)) for x in labels]
            return self._looked_up(column, "step", ranks), False, "time or text like the others"
        if kind in WHOLE:
            return name(column), True, "number"
        if kind.startswith(REAL):
            number = f"nullif(nullif({name(column)}::DOUBLE, 'nan'::DOUBLE), 'inf'::DOUBLE)"
            return number, whole, "number"
        if kind != "VARCHAR":
            return name(column), False, "time" if kind.startswith(TIMES) else "label"
        if 2 * numbers > n or n == 0:
            return _text_number(column), whole, "number"
        if 2 * times > n:
            return f"TRY_CAST({name(column)} AS TIMESTAMPTZ)", False, "time"
        return name(column), False, "text"

    def _looked_up(self, column: str, role: str, values: Sequence[float]) -> str:
        """What stands for each of Python's own labels, of which a column has the numbers."""
        if (column, role) not in self.looked:
            alias = f"own{len(self.looked)}"
            array = np.array(values, np.float64)
            self.table.con.register(
                alias, {"v": np.arange(array.size), "k": array, "no": np.isnan(array)}
            )
            self.joins.append(f"LEFT JOIN {alias} ON {name(column)} = {alias}.v")
            self.looked[column, role] = alias
        alias = self.looked[column, role]
        nothing = "'nan'::DOUBLE" if role == "number" else "NULL"
        return f"CASE WHEN {alias}.no OR {alias}.no IS NULL THEN {nothing} ELSE {alias}.k END"

    # -- a first look

    def facts(self) -> Facts:
        """Look at all rows once for sums, and once for labels."""
        c = self.columns
        r = self.number(c.reward)
        own = self.table.types.get(c.step or "", "")
        asked = ["count(*)", f"max(CASE WHEN abs({r}) <= {LARGEST} THEN abs({r}) END)"]
        gone = [f"{name(column)} IS NULL" for column in [*c.unit, *filter(None, [c.episode])]]
        asked.append(f"count(*) FILTER ({' OR '.join(gone)})" if gone else "0")
        if c.step is None or own.startswith(TIMES):
            asked += ["0", "0", "0", "false"]
        elif own == "VARCHAR":
            number, time = _text_number(c.step), f"TRY_CAST({name(c.step)} AS TIMESTAMPTZ)"
            asked += [f"count({name(c.step)})", f"count({number})", f"count({time})"]
            asked.append(f"bool_and({number} = round({number}))")
        else:
            number = f"nullif({self.number(c.step)}, 'inf'::DOUBLE)"
            asked += [
                f"count({name(c.step)})",
                "0",
                "0",
                f"bool_and({number} = round({number}) OR isnan({number}))",
            ]
        for column in c.bins:
            number = self.number(column)
            finite = f"CASE WHEN isfinite({number}) THEN {number} END"
            asked += [f"min({finite})", f"max({finite})"]
        joined = f"{self.source} AS b {' '.join(self.joins)}"
        found = self.table.run(f"SELECT {', '.join(asked)} FROM {joined}").fetchone()
        n, large, lost, *rest = found
        if n == 0:
            raise ValueError("the log has no rows: it needs at least one")
        spans = {
            column: tuple(math.nan if x is None else float(x) for x in rest[4 + 2 * j : 6 + 2 * j])
            for j, column in enumerate(c.bins)
        }
        step = (rest[0], rest[1], rest[2], bool(rest[3]))
        return Facts(n, large or 0.0, lost, step, spans, self._labels())  # type: ignore[arg-type]

    def _labels(self) -> dict[str, dict[Any, int]]:
        """The labels of each column and how often they stand there, in one pass."""
        c = self.columns
        binned = [*c.bins, *(c.after[c.state.index(b)] for b in c.bins if c.after and b in c.state)]
        each = [x for x in [*c.state, *(c.after or []), *c.action, *c.unit] if x not in binned]
        each += self._coded_episode()
        each = list(dict.fromkeys(each))
        found: dict[str, dict[Any, int]] = {column: {} for column in each}
        if not each:
            return found
        inner = ", ".join(f"{self.label(column)} AS c{j}" for j, column in enumerate(each))
        names = [f"c{j}" for j in range(len(each))]
        which = [f"GROUPING({column})" for column in names]
        sets = ", ".join(f"({column})" for column in names)
        asked = self.table.run(
            f"SELECT {', '.join(names)}, {', '.join(which)}, count(*) FROM (SELECT {inner} FROM "
            f"{self.source} AS b) GROUP BY GROUPING SETS ({sets})"
        )
        k = len(each)
        while rows := asked.fetchmany(1 << 16):
            for row in rows:
                j = row[k : 2 * k].index(0)
                if row[j] is not None and not missing(self._own(each[j], row[j])):
                    found[each[j]][row[j]] = row[-1]
            for column, labels in found.items():
                if len(labels) > MOST_LABELS and column != c.episode:
                    raise ValueError(
                        f"column {column!r} has more than {MOST_LABELS} different values: bin it "
                        "with bins=, or leave it out"
                    )
        return found

    def _coded_episode(self) -> list[str]:
        """The column of the episode, if it holds labels."""
        column = self.columns.episode or ""
        text = column in self.table.labels or self.table.types.get(column) == "VARCHAR"
        return [column] if text else []

    # -- rows as numbers

    def coded(self, facts: Facts) -> str:
        """Rows with their numbers, and the first fault that holds of each."""
        c, faults = self.columns, list[str]()

        def wrong(condition: str, column: str, reason: str) -> None:
            faults.append(f"WHEN {condition} THEN {self.faults.number(column, reason)}")

        def labelled(column: str, after: str | None = None) -> None:
            """Number labels; mark rows that have none, or one that cannot be meant."""
            if column in c.bins:
                self._bin(column, *facts.spans[column])
                text = "this is no finite number, but it is binned"
                wrong(f"NOT isfinite({self.number(column)})", column, text)
                return
            odd = self._number_labels(column, after, facts)
            nothing = "nothing stands here, but a label must"
            wrong(f"{self.code[column, column]} IS NULL", column, nothing)
            faults.extend(f"WHEN {alias}.odd > 0 THEN {alias}.odd" for alias in odd)

        r, e, k, u, d, p = self.number(c.reward), "0", "NULL", "0", "false", "NULL"
        wrong(f"isnan({r})", c.reward, "the reward is missing (NaN)")
        wrong(f"isinf({r})", c.reward, "the reward is no finite number")
        wrong(f"abs({r}) > {LARGEST}", c.reward, f"the reward is beyond {LARGEST:g}: rescale it")
        placed = []
        if c.episode is not None:
            e = self._episode(facts, faults)
            wrong(f"{e} IS NULL", c.episode, "the episode is missing")
            placed.append(f"{e} IS NOT NULL")
        if c.step is not None:
            k, self.steps_count, meant = self.step(facts.step)
            wrong(f"({k}) IS NULL", c.step, f"the step is no {meant}")
            placed.append(f"({k}) IS NOT NULL")
        if c.propensity is not None:
            p = self.number(c.propensity)
            text = "a propensity is above 0 and at most 1"
            wrong(f"NOT ({p} > 0 AND {p} <= 1)", c.propensity, text)
        if c.done is not None:
            flag = self.flag(c.done)
            wrong(f"({flag}) IS NULL", c.done, "a flag is True, False, 0 or 1")
            d = f"coalesce({flag}, false)"
        for j, column in enumerate(c.state):
            labelled(column, None if c.after is None else c.after[j])
        for column in [*c.action, *c.unit]:
            labelled(column)
        s, a = self._key(c.state, c.state), self._key(c.action, c.action)
        t = "NULL"
        if c.after is not None:
            t = self._key(c.state, c.after)
            wrong(f"({t}) IS NULL AND NOT {d}", c.after[0], "the next state is missing")
        if c.unit:
            u = self._key(c.unit, c.unit)
            placed.append(f"({u}) IS NOT NULL")
        if placed:
            self.partition = "PARTITION BY u, e "
            u, e = (f"CASE WHEN {' AND '.join(placed)} THEN {x} END" for x in (u, e))
        rows = f"SELECT row_number() OVER () - 1 AS id, {self.table.columns()} FROM {self.source}"
        sql = f"""SELECT id, {u} AS u, {e} AS e, {k} AS k, {s} AS s, {t} AS t, {a} AS a,
    CASE WHEN abs({r}) <= {LARGEST} THEN {r} END AS r, {d} AS d, {p} AS p,
    CASE {" ".join(faults)} END AS fault
  FROM ({rows}) AS b {" ".join(self.joins)}"""
        there = [sum(facts.labels[x].values()) for x in [*c.unit, *self._coded_episode()]]
        self.lost = c.step is None and (facts.lost > 0 or any(n < facts.n for n in there))
        if not self.lost:
            return sql
        return f"""SELECT *, coalesce(lag(e IS NULL) OVER (ORDER BY id), false) AS just_before,
    sum((e IS NULL)::INT) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS before FROM ({sql})"""

    def _episode(self, facts: Facts, faults: list[str]) -> str:
        """What tells episodes apart: numbers as they are, labels by their numbers."""
        column = self.columns.episode or ""
        if self._coded_episode():
            odd = self._number_labels(column, None, facts)
            faults.extend(f"WHEN {alias}.odd > 0 THEN {alias}.odd" for alias in odd)
            return self.code[column, column]
        real = self.table.types[column].startswith(("FLOAT", "DOUBLE"))
        return f"nullif({name(column)}, 'nan')" if real else name(column)

    def _number_labels(self, column: str, after: str | None, facts: Facts) -> list[str]:
        """Number the labels of a column and of its next states; where odd ones are marked."""
        both = [column, *([after] if after else [])]
        often: dict[Any, int] = {}
        for each in both:
            for value, n in facts.labels[each].items():
                label = self._own(each, value)
                often[label] = often.get(label, 0) + n
        values, text = list(often), all(isinstance(x, str) for x in often)
        told = self.columns.levels.get(column)
        levels = levels_of(column, values, list(often.values()), text, told)
        self.levels[column] = levels
        place = dict(zip(values, levels.place.tolist(), strict=True))
        odd, marked = {values[i]: why for i, why in levels.odd.items()}, []
        for each in both:
            alias, raw = f"code{len(self.joins)}", list(facts.labels[each])
            own = [self._own(each, x) for x in raw]
            reasons = dict.fromkeys(odd[x] for x in own if x in odd)
            number = {why: self.faults.number(each, why) for why in reasons}
            kind = np.array(raw).dtype if raw and not isinstance(raw[0], str) else object
            table = {
                "v": np.array(raw, kind) if raw else np.zeros(0, np.int64),
                "k": np.array([place[x] for x in own], np.int64),
                "odd": np.array([number.get(odd.get(x, ""), 0) for x in own], np.int64),
            }
            self.table.con.register(alias, table)
            v = self.label(each) if raw else "NULL"
            self.joins.append(f"LEFT JOIN {alias} ON {v} = {alias}.v")
            self.code[column, each] = f"{alias}.k"
            marked += [alias] * bool(number)
        return marked

    def _own(self, column: str, value: Any) -> Any:
        """A label as Python has it, where the column came as numbers of them."""
        return self.table.labels[column][value] if column in self.table.labels else value

    def _bin(self, column: str, low: float, high: float) -> None:
        """Number the bins of a column and of its next states, by halving."""
        c = self.columns
        low, high = (0.0, 1.0) if math.isnan(low) else (low, high)
        edges = edges_of(column, c.bins[column], low, high)
        self.edges[column] = edges
        names = bin_names(edges)
        self.levels[column] = Levels(names, np.arange(len(names)), {}, told=True)

        def within(x: str, first: int, last: int) -> str:
            if first == last:
                return str(first)
            half = (first + last) // 2
            below, above = within(x, first, half), within(x, half + 1, last)
            return f"CASE WHEN {x} < {float(edges[half])!r} THEN {below} ELSE {above} END"

        after = c.after[c.state.index(column)] if c.after and column in c.state else column
        for each in (column, after):
            x = self.number(each)
            found = f"CASE WHEN isfinite({x}) THEN {within(x, 0, len(edges))} END"
            self.code[column, each] = found

    def _key(self, columns: Sequence[str], read: Sequence[str]) -> str:
        """One number of several, of mixed radix; NULL where one is missing."""
        size, key = 1, ""
        for column, each in zip(columns, read, strict=True):
            many, code = max(len(self.levels[column].labels), 1), self.code[column, each]
            size, key = size * many, f"({key} * {many} + {code})" if key else code
        if size > 2**62:
            names = ", ".join(columns)
            raise ValueError(f"{names} have too many values together: bin them, or leave some out")
        return key

    def columns_of(self, keys: Any, columns: Sequence[str]) -> dict[str, list[Any]]:
        """The values of each column behind such numbers."""
        found = {}
        for column in reversed(columns):
            labels = self.levels[column].labels
            keys, code = np.divmod(keys, max(len(labels), 1))
            found[column] = [labels[x] for x in code.tolist()]
        return {column: found[column] for column in columns}

    # -- which row follows which

    def followed(self, coded: str, without: str | None) -> str:
        """Rows with what they led to, in their episode; `kind` is a fault, or KEPT or CENSORED."""
        c, number = self.columns, self.faults.number
        given, chained = c.after is not None, c.episode is not None and c.after is not None
        lead = ["s", "fault", "id", *["k"] * self.steps_count, *["before"] * bool(self.lost)]
        lag = [
            "id",
            "fault",
            "d",
            "t",
            *["k"] * (c.step is not None),
            *["before"] * bool(self.lost),
        ]
        look = [f"lead({x}) OVER w AS {x}1" for x in lead] + [
            f"lag({x}) OVER w AS {x}0" for x in lag
        ]
        late = "false"
        if c.episode is not None and c.done is not None:
            look.append("sum(d::INT) OVER (w ROWS UNBOUNDED PRECEDING) - d::INT > 0 AS late")
            late = "late"
        chain = "fault{0} IS NULL AND fault{1} IS NULL AND t{0} <> s{1}"
        cut1 = cut0 = "false"
        if c.episode is None:
            cut1 = f"(d OR ({chain.format('', '1')}))" if given else "d"
            cut0 = f"(d0 OR ({chain.format('0', '')}))" if given else "d0"
        gap1, gap0 = [], []
        if self.steps_count:
            gap1.append("k1 <> k + 1")
            gap0.append("k <> k0 + 1")
        if self.lost:
            gap1.append("before1 <> before")
            gap0.append("before <> before0")
        skips = f"NOT last AND {gap1[0]}" if self.steps_count else "false"
        between1, between0 = " OR ".join(gap1) or "false", " OR ".join(gap0) or "false"
        if given:
            text = "the next row of the episode begins in another state"
            broken = number((c.after or [""])[0], text)
            to = f"coalesce(t, CASE WHEN d THEN {END} END)"
            apart = f"WHEN NOT last AND NOT ({between1}) AND fault1 IS NULL AND s1 <> {to} "
            apart += f"THEN {broken} "
            kind = (
                f"CASE WHEN fault IS NOT NULL THEN fault {apart if chained else ''}ELSE {KEPT} END"
            )
            from0 = f"coalesce(t0, CASE WHEN d0 THEN {END} END)"
            lost0 = f"(fault0 IS NOT NULL{f' OR s <> {from0}' if chained else ''})"
        else:
            to = f"CASE WHEN last AND d THEN {END} ELSE s1 END"
            gone = number(c.step or "", "the next step of the episode is missing (whole numbers "
                             "count steps; times and texts only order)")  # fmt: skip
            kind = f"""CASE WHEN fault IS NOT NULL THEN fault WHEN {skips} THEN {gone}
    WHEN NOT last AND ({between1} OR fault1 IS NOT NULL) OR last AND NOT d THEN {CENSORED}
    ELSE {KEPT} END"""
            lost0 = "fault0 IS NOT NULL"
        just = "just_before OR " if self.lost else ""
        twice = "k = k0" if c.step is not None else "false"
        away = f" WHERE id NOT IN (SELECT id FROM {without})" if without else ""
        return f"""SELECT id, u, e, k, s, a, {to} AS f, r, d, p, first, fault,
    {just}(NOT first AND ({between0} OR {lost0})) AS resumed,
    CASE WHEN {twice} THEN {TWICE} WHEN {late} THEN {LATE} ELSE {kind} END AS kind
  FROM (SELECT *, id1 IS NULL OR {cut1} AS last, id0 IS NULL OR {cut0} AS first
    FROM (SELECT *, {", ".join(look)} FROM ({coded}){away}
      WINDOW w AS ({self.partition}ORDER BY {"k, " * (c.step is not None)}id)))"""

    # -- what it comes to

    def counted(self, followed: str, large: float) -> tuple[str, str, str]:
        """A table of sums by triple and by episode; what to ask of it for either."""
        c, e = self.columns, max(math.frexp(large)[1], -400)
        one, two = 2.0 ** (61 - e), 2.0 ** (61 - 2 * e)

        def total(x: str, scale: float) -> str:
            return f"sum(round({x} * {scale!r})::BIGINT)::DOUBLE / {scale!r}"

        part = "e"
        if c.episode is None:
            followed = f"""SELECT *, sum(first::INT) OVER ({self.partition}ORDER BY
    {"k, " * (c.step is not None)}id ROWS UNBOUNDED PRECEDING) AS part FROM ({followed})"""
            part = "part"
        likely = total("p", 2.0**60) if c.propensity is not None else "0.0"
        table = f"""SELECT kind, u, s, a, f, GROUPING({part}) = 0 AS whole, count(*) AS n,
    {total("r", one)} AS paid, {total("r * r", two)} AS paid2, min(r) AS least, max(r) AS most,
    count(*) FILTER (first AND NOT resumed) AS begun, count(*) FILTER (d) AS ended,
    {likely} AS likely, count(*) FILTER (resumed) AS gaps
  FROM ({followed}) GROUP BY GROUPING SETS ((kind, u, s, a, f), (kind, u, {part}))"""
        triples = f"""SELECT u, s, a, f, n, paid, paid2, least, most, begun, ended, likely
  FROM counted WHERE NOT whole AND kind = {KEPT} ORDER BY u, s, a, f"""
        episodes = f"""SELECT u, count(*) AS n, sum(n)::BIGINT AS steps, max(n) AS longest,
    sum(paid) AS total, sum(paid * paid) AS squares, min(paid) AS least, max(paid) AS most,
    sum(gaps)::BIGINT AS gaps
  FROM counted WHERE whole AND kind = {KEPT} GROUP BY u ORDER BY u"""
        return table, triples, episodes


def _text_number(column: str) -> str:
    number = f"TRY_CAST(trim({name(column)}) AS DOUBLE)"
    return f"CASE WHEN isfinite({number}) THEN {number} END"


def _number(value: Any) -> float:
    if value is None or value == "":
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.inf


def _timed(value: Any) -> Any:
    """Times with a zone by the instant, and dates as times, so that they can be compared."""
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC) if value.tzinfo else value
    return value
