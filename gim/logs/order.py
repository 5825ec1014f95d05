"""What DuckDB is asked of a log: labels as numbers, which row follows which, and what it comes to.

A row with a fault is left out whole: it does not say where the row before it led, nor does the row
after it begin anything. Three steps: `typed` has the columns of a log by what they are, `coded` the
number of each label and the first fault of each row, `followed` what came before and after it in
its episode. Sums of rewards are sums of whole numbers: in any order, by any number of threads or
machines, they are the same to the bit.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from gim.logs.faults import Faults
from gim.logs.labels import MOST_LABELS, Levels, bin_names, edges_of, levels_of, missing
from gim.logs.sources import Table, quoted

LARGEST = 1e100  # of a reward: squares must add up
CENSORED, TWICE, LATE, FAULTY = -1, -2, -3, -10  # kinds of rows: FAULTY less the fault's number
BEGUN, RESUMED, ENDED = 1, 2, 4  # bits of the kind of a row that is kept
END = -2  # in place of a next state: the episode is over, and what came then was not recorded
WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
REAL = ("FLOAT", "DOUBLE", "DECIMAL", "HUGEINT", "UBIGINT", "UHUGEINT")
FLAGS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
NUMBER = (
    "CASE WHEN isfinite(TRY_CAST(trim(step) AS DOUBLE)) THEN TRY_CAST(trim(step) AS DOUBLE) END"
)
TIME = "TRY_CAST(step AS TIMESTAMPTZ)"


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
    counts: dict[str, str | None] | None = None  # numbers of what was counted elsewhere, by name

    def names(self) -> list[str]:
        """All columns, once each."""
        return list(dict.fromkeys(column for _, column, _ in self.fields()))

    def fields(self) -> Iterator[tuple[str, str, str]]:
        """Each column by the name that it gets, with its own name and what it holds."""
        yield "reward", self.reward, "number"
        single = (
            ("episode", "label"),
            ("step", "step"),
            ("done", "flag"),
            ("propensity", "number"),
        )
        for name, holds in single:
            if (column := getattr(self, name)) is not None:
                yield name, column, holds
        for name, counted in (self.counts or {}).items():
            if counted is not None:
                yield name, counted, "number"
        several = (("s", self.state), ("t", self.after or []), ("a", self.action), ("u", self.unit))
        for letter, columns in several:
            for j, column in enumerate(columns):
                own = self.state[j] if letter == "t" else column
                yield f"{letter}{j}", column, "number" if own in self.bins else "label"


class Facts(NamedTuple):
    """What is known of a log after a first look, which adds up over its parts."""

    n: int
    large: float  # the largest reward, by size
    episodes: int  # rows with an episode
    steps: tuple[int, int, int, bool]  # steps, numbers and times among them; are all whole?
    spans: dict[str, tuple[float, float]]  # of columns that are binned, by column
    labels: dict[str, dict[Any, int]]  # how often each value stands there, by field


class Asking:
    """The SQL of one log.

    Args:
        table: where it is.
        columns: which columns are what.
        only: read no more than so many rows.
    """

    def __init__(self, table: Table, columns: Columns, only: int | None = None) -> None:
        self.table, self.columns, self.faults = table, columns, Faults()
        self.fields = {name: (column, holds) for name, column, holds in columns.fields()}
        self.levels: dict[str, Levels] = {}  # by column
        self.edges: dict[str, Any] = {}
        self.counts, self.ranked, joins = False, False, list[str]()
        each = ", ".join(
            f"{self._typed(column, holds, joins)} AS {name}"
            for name, (column, holds) in self.fields.items()
        )
        limit = "" if only is None else f" LIMIT {only}"
        sql = f"SELECT row_number() OVER () - 1 AS id, {each} FROM {table.sql} AS b"
        table.run(f"CREATE OR REPLACE TEMP VIEW typed AS {sql} {' '.join(joins)}{limit}")
        self.types = {name: kind for name, kind, *_ in table.run("DESCRIBE typed")}

    def _typed(self, column: str, holds: str, joins: list[str]) -> str:
        """A column as what it holds.

        A label is a whole number, a number, a truth value or text; a number is NaN where there is
        none, and infinite where what stands there is no number; a flag is True, False, 0 or 1, also
        as text, since a CSV file has nothing else.
        """
        name, kind = f"b.{quoted(column)}", self.table.types[column]
        own = self.table.labels.get(column)
        if holds == "label":
            if kind in (*WHOLE, "BOOLEAN"):
                return name
            return f"nullif({name}::DOUBLE, 'nan')" if kind.startswith(REAL) else f"{name}::VARCHAR"
        if own is not None:
            values = _number if holds == "number" else _flag
            values = self._rank(column, own) if holds == "step" else values
            alias = f"own{len(joins)}"
            places = {"v": np.arange(len(own)), "k": np.array([*map(values, own)], np.float64)}
            self.table.con.register(alias, places)
            joins.append(f"LEFT JOIN {alias} ON {name} = {alias}.v")
            x = f"{alias}.k"
            return {"number": f"coalesce({x}, 'nan')", "flag": f"{x} = 1", "step": x}[holds]
        numeric = kind in (*WHOLE, "BOOLEAN") or kind.startswith(REAL)
        if holds == "number":
            if numeric:
                return f"coalesce({name}::DOUBLE, 'nan')"
            x = f"trim({name}::VARCHAR)"
            none = f"coalesce({x}, '') IN ('', 'nan')"
            return f"CASE WHEN {none} THEN 'nan' ELSE coalesce(TRY_CAST({x} AS DOUBLE), 'inf') END"
        if holds == "flag":
            whens = " ".join(f"WHEN '{text}' THEN {truth}" for text, truth in FLAGS.items())
            return name if kind == "BOOLEAN" else f"CASE lower(trim({name}::VARCHAR)) {whens} END"
        real = kind.startswith(REAL)
        return f"CASE WHEN isfinite({name}::DOUBLE) THEN {name}::DOUBLE END" if real else name

    def _rank(self, column: str, labels: Sequence[Any]) -> Any:
        """How Python's own steps are put in order: numbers as they are, all else by rank."""
        if all(x is None or isinstance(x, (int, float)) for x in labels):
            return lambda x: math.nan if x is None or math.isinf(x) else x
        self.ranked = True
        try:
            there = sorted({_instant(x) for x in labels if not missing(x)})
        except TypeError:
            kinds = " and ".join(sorted({type(x).__name__ for x in labels}))
            raise ValueError(f"column {column!r} holds {kinds}: steps have one order") from None
        place = {x: k for k, x in enumerate(there)}
        return lambda x: place.get(_instant(x), math.nan)

    # -- a first look

    def facts(self) -> Facts:
        """Look at all rows once for sums, and once for labels."""
        steps = ["count(step)" if "step" in self.fields else "0", "0", "0", "true"]
        kind = self.types.get("step")
        if kind == "VARCHAR":
            steps[1:] = [f"count({NUMBER})", f"count({TIME})", f"bool_and({NUMBER} % 1 = 0)"]
        elif kind == "DOUBLE":
            steps[3] = "bool_and(step % 1 = 0)"
        binned = [name for name, (column, _) in self.fields.items() if column in self.columns.bins]
        finite = [f"CASE WHEN isfinite({name}) THEN {name} END" for name in binned]
        spans = [f"{which}({x})" for x in finite for which in ("min", "max")]
        large = f"max(CASE WHEN abs(reward) <= {LARGEST} THEN abs(reward) END)"
        there = "count(episode)" if "episode" in self.fields else "count(*)"
        asked = ", ".join(["count(*)", large, there, *steps, *spans])
        ((n, large, there, *rest),) = self.table.run(f"SELECT {asked} FROM typed")
        if n == 0:
            raise ValueError("the log has no rows: it needs at least one")
        ends = [math.nan if x is None else float(x) for x in rest[4:]]
        by_column = zip([self.fields[x][0] for x in binned], ends[::2], ends[1::2], strict=True)
        found = {column: (low, high) for column, low, high in by_column}
        told = (rest[0], rest[1], rest[2], bool(rest[3]))
        return Facts(n, float(large or 0.0), int(there), told, found, self._labels())

    def _labels(self) -> dict[str, dict[Any, int]]:
        """The labels of each field and how often they stand there, in one pass."""
        each = [name for name, (_, holds) in self.fields.items() if holds == "label"]
        if not self._codes_episodes():
            each = [name for name in each if name != "episode"]
        found: dict[str, dict[Any, int]] = {name: {} for name in each}
        if not each:
            return found
        which = ", ".join(f"GROUPING({name})" for name in each)
        sets = ", ".join(f"({name})" for name in each)
        rows = self.table.run(
            f"SELECT {', '.join(each)}, {which}, count(*) FROM typed "
            f"GROUP BY GROUPING SETS ({sets}) LIMIT {MOST_LABELS + 1}"
        )
        for row in rows:
            name = each[row[len(each) :].index(0)]
            value = self._own(name, row[each.index(name)])
            if not missing(value):
                found[name][row[each.index(name)]] = row[-1]
        if len(rows) > MOST_LABELS:
            column = self.fields[max(found, key=lambda name: len(found[name]))][0]
            raise ValueError(
                f"column {column!r} has more different values than {MOST_LABELS:,} leave room for: "
                "bin it with bins=, or leave it out"
            )
        return found

    def _codes_episodes(self) -> bool:
        """Whether episodes are labels: texts, or Python's own."""
        return self.columns.episode in self.table.labels or self.types.get("episode") == "VARCHAR"

    def _own(self, name: str, value: Any) -> Any:
        """A label as Python has it, where the column came as numbers of them."""
        labels = self.table.labels.get(self.fields[name][0])
        return value if labels is None or value is None else labels[value]

    # -- rows as numbers

    def coded(self, facts: Facts) -> None:
        """Make the view of rows with their numbers.

        In place of its state, s, a row with faults has FAULTY less the number of the first.
        """
        c, joins, faults = self.columns, list[str](), list[str]()

        def wrong(condition: str, column: str | None, reason: str) -> None:
            number = FAULTY - self.faults.number(column or "", reason)
            faults.append(f"WHEN {condition} THEN {number}")

        def label(name: str, after: str | None = None) -> None:
            """Number labels; mark rows that have none, or one that cannot be meant."""
            column, holds = self.fields[name]
            if holds == "number":
                low, high = facts.spans[column]
                self._bin(column, *((0.0, 1.0) if math.isnan(low) else (low, high)))
                text = "this is no finite number, but it is binned"
                wrong(f"NOT isfinite({name})", column, text)
                return
            odd = self._join(name, after, facts, joins)
            if name != "episode":
                wrong(f"c_{name}.k IS NULL", column, "nothing stands here, but a label must")
            faults.extend(f"WHEN c_{x}.odd > 0 THEN {FAULTY} - c_{x}.odd" for x in odd)

        wrong("isnan(reward)", c.reward, "the reward is missing (NaN)")
        wrong("isinf(reward)", c.reward, "the reward is no finite number")
        wrong(f"abs(reward) > {LARGEST}", c.reward, f"the reward is beyond {LARGEST:g}: rescale it")
        e, k, d = "episode", "NULL", "false"
        if c.episode is not None:
            if self._codes_episodes():
                e = "c_episode.k"
                label("episode")
            wrong(f"{e} IS NULL", c.episode, "the episode is missing")
        if c.step is not None:
            k, meant = self._step(facts)
            wrong(f"({k}) IS NULL", c.step, f"the step is no {meant}")
        if c.propensity is not None:
            text = "a propensity is above 0 and at most 1"
            wrong("NOT (propensity > 0 AND propensity <= 1)", c.propensity, text)
        for name, column in (c.counts or {}).items():
            if column is not None:
                text = "this is no whole number from 0 on, but it is counted"
                whole = f"isfinite({name}) AND {name} >= 0"
                whole += f" AND {name} % 1 = 0" * (name != "reward2")
                wrong(f"NOT ({whole})", column, text)
        if c.done is not None:
            wrong("done IS NULL", c.done, "a flag is True, False, 0 or 1")
            d = "coalesce(done, false)"
        for j in range(len(c.state)):
            label(f"s{j}", f"t{j}" if c.after else None)
        for name in [f"a{j}" for j in range(len(c.action))] + [f"u{j}" for j in range(len(c.unit))]:
            label(name)
        keys = {"s": self._key("s", c.state), "a": self._key("a", c.action), "f": "NULL"}
        if c.after is not None:
            keys["f"] = f"coalesce({self._key('t', c.state)}, CASE WHEN {d} THEN {END} END)"
            wrong(f"({keys['f']}) IS NULL", c.after[0], "the next state is missing")
        keys["u"] = self._key("u", c.unit)
        given = {"u": bool(c.unit), "e": c.episode is not None, "k": c.step is not None}
        needed = {"u": keys["u"], "e": e, "k": k}
        placed = " AND ".join(f"({x}) IS NOT NULL" for y, x in needed.items() if given[y])
        self.partition = [x for x in "ue" if given[x]] or ["e"] * given["k"]
        own = {"u": keys["u"], "e": e if given["e"] else "0"}
        each = [f"CASE WHEN {placed} THEN {own[x]} END AS {x}" for x in self.partition]
        more = {"k": (k, given["k"]), "f": (keys["f"], c.after), "d": (d, c.done)}
        more["p"] = ("propensity", c.propensity)
        each += [f"{x} AS {y}" for y, (x, wanted) in more.items() if wanted]
        sql = f"""SELECT id, {", ".join([*each, ""])}{keys["a"]} AS a,
    CASE {" ".join(faults)} ELSE {keys["s"]} END AS s,
    CASE WHEN abs(reward) <= {LARGEST} THEN reward END AS r
  FROM typed {" ".join(joins)}"""
        there = [sum(facts.labels[x].values()) for x in facts.labels if x[0] in "ue"]
        self.lost = bool(placed) and not c.step and min([facts.episodes, *there]) < facts.n
        if self.lost:
            none = " OR ".join(f"{x} IS NULL" for x in self.partition)
            sql = f"""SELECT *, coalesce(lag({none}) OVER (ORDER BY id), false) AS just_before,
    sum(({none})::INT) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS before FROM ({sql})"""
        self.table.run(f"CREATE OR REPLACE TEMP VIEW coded AS {sql}")

    def _step(self, facts: Facts) -> tuple[str, str]:
        """What rows are put in order by, and what it must be; whole numbers count steps."""
        n, numbers, times, whole = facts.steps
        kind = self.types["step"]
        if kind == "VARCHAR" and 2 * numbers <= n:
            return (TIME, "time") if 2 * times > n else ("step", "text")
        self.counts = whole and not self.ranked and kind in (*WHOLE, "DOUBLE", "VARCHAR")
        if kind == "VARCHAR":
            return NUMBER, "number"
        return "step", "number" if kind in (*WHOLE, "DOUBLE") and not self.ranked else "time"

    def _join(self, name: str, after: str | None, facts: Facts, joins: list[str]) -> list[str]:
        """Number the labels of a field and of its next states; the fields in which some are odd."""
        column, both = self.fields[name][0], [name, *([after] if after else [])]
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
            raw = list(facts.labels[each])
            own = [self._own(each, x) for x in raw]
            reasons = dict.fromkeys(odd[x] for x in own if x in odd)
            number = {why: self.faults.number(self.fields[each][0], why) for why in reasons}
            table = {
                "v": np.array(raw, object if raw and isinstance(raw[0], str) else None),
                "k": np.array([place[x] for x in own], np.int64),
                "odd": np.array([number.get(odd.get(x, ""), 0) for x in own], np.int64),
            }
            self.table.con.register(f"c_{each}", table)
            joins.append(f"LEFT JOIN c_{each} ON {each if raw else 'NULL'} = c_{each}.v")
            marked += [each] * bool(number)
        return marked

    def _bin(self, column: str, low: float, high: float) -> None:
        self.edges[column] = edges = edges_of(column, self.columns.bins[column], low, high)
        names = bin_names(edges)
        self.levels[column] = Levels(names, np.arange(len(names)), {}, told=True)

    def _key(self, letter: str, columns: Sequence[str]) -> str:
        """One number of several labels, of mixed radix; NULL where one is missing."""
        size, key = 1, ""
        for j, column in enumerate(columns):
            many, code = max(len(self.levels[column].labels), 1), f"c_{letter}{j}.k"
            if column in self.edges:
                tree = _halved(f"{letter}{j}", self.edges[column].tolist())
                code = f"CASE WHEN isfinite({letter}{j}) THEN {tree} END"
            size, key = size * many, f"({key} * {many} + {code})" if key else code
        if size > 2**62:
            names = ", ".join(columns)
            raise ValueError(f"{names} have too many values together: bin them, or leave some out")
        return f"({key})::INT" if key and size < 2**30 else key

    def columns_of(self, keys: Any, columns: Sequence[str]) -> dict[str, list[Any]]:
        """The values of each column behind such numbers."""
        found = {}
        for column in reversed(columns):
            labels = self.levels[column].labels
            keys, code = np.divmod(keys, max(len(labels), 1))
            found[column] = [labels[x] for x in code.tolist()]
        return {column: found[column] for column in columns}

    # -- which row follows which

    def followed(self, rows: bool, named: bool, without: str | None = None) -> None:
        """Make the table of rows with what they led to, in their episode.

        The kind of a row that is kept is a sum of bits; of others it is below 0.

        Args:
            rows: whether rows are wanted one by one.
            named: whether their numbers are needed, as of those that stand twice.
            without: a table of rows that are out of order.
        """
        c, done, counted = self.columns, self.columns.done, self.counts
        look = ["lead(s, 1, -1) OVER w AS s1", "lag(s, 1, -1) OVER w AS s0"]  # -1: none
        kinds, gap1, gap0 = list[str](), "false", "false"
        last, first, d = "s1 = -1", "s0 = -1", "d" if done else "false"
        if c.step is not None:
            look.append("lag(k) OVER w AS k0")
            kinds.append(f"WHEN k = k0 THEN {TWICE}")
        if counted:
            look.append("lead(k) OVER w AS k1")
            gap1, gap0 = "k1 <> k + 1", "k <> k0 + 1"
        if self.lost:
            look += ["lead(before) OVER w AS before1", "lag(before) OVER w AS before0"]
            gap1, gap0 = "before1 <> before", "before <> before0"
        if done and c.episode is None:
            look.append("lag(d, 1, false) OVER w AS d0")
            last, first = f"{last} OR d", f"{first} OR d0"
        elif done:
            look.append("sum(d::INT) OVER (w ROWS UNBOUNDED PRECEDING) - d::INT > 0 AS late")
            kinds.append(f"WHEN late THEN {LATE}")
        kinds.append("WHEN s < 0 THEN s")
        before, to = f"{gap0} OR s0 < -1", "f"
        if c.after is not None:
            look.append("lag(f) OVER w AS f0")
            apart1, apart0 = "s >= 0 AND s1 >= 0 AND s1 <> f", "s >= 0 AND s0 >= 0 AND s <> f0"
            if c.episode is None:
                last, first = f"{last} OR {apart1}", f"{first} OR {apart0}"
            else:
                text = "the next row of the episode begins in another state"
                broken = FAULTY - self.faults.number(c.after[0], text)
                kinds.append(f"WHEN NOT last AND NOT ({gap1}) AND {apart1} THEN {broken}")
                before = f"{before} OR {apart0}"
        else:
            to = f"CASE WHEN last AND {d} THEN {END} ELSE s1 END"
            if counted:
                text = "the next step of the episode is missing"
                gone = FAULTY - self.faults.number(c.step or "", text)
                kinds.append(f"WHEN NOT last AND {gap1} THEN {gone}")
            ends = f"NOT last AND ({gap1} OR s1 < 0) OR last AND NOT {d}"
            kinds.append(f"WHEN {ends} THEN {CENSORED}")
        begun = f"CASE WHEN first THEN {BEGUN} WHEN {before} THEN {RESUMED} ELSE 0 END"
        if self.lost:
            begun = f"CASE WHEN just_before THEN {RESUMED} ELSE {begun} END"
        kept = f"{begun} + {ENDED} * d::INT" if done else begun
        numbered = rows or c.episode is None  # what is needed to number episodes
        own = [*self.partition, *["k"] * (c.step is not None and numbered)]
        own += [*["id"] * named, *["first"] * numbered, *["p"] * bool(c.propensity)]
        by = f"PARTITION BY {', '.join(self.partition)} " if self.partition else ""
        source = "coded" if named else "(SELECT * EXCLUDE (id) FROM coded)"
        source += f" WHERE id NOT IN (SELECT id FROM {without})" if without else ""
        keys = [*["k"] * (c.step is not None), *["id"] * named]
        self.order = f"{by}ORDER BY {', '.join(keys)}"
        self.table.run(f"""CREATE OR REPLACE TEMP TABLE followed AS
  SELECT {", ".join([*own, ""])}s, a, {to} AS t, r,
    (CASE {" ".join(kinds)} ELSE {kept} END)::SMALLINT AS kind
  FROM (SELECT *, {last} AS last, {first} AS first FROM (SELECT *, {", ".join(look)}
    FROM {source} WINDOW w AS ({self.order})))""")

    # -- what it comes to

    def kinds(self) -> dict[int, int]:
        """Rows of each kind: those kept together as kind 0."""
        return dict(
            self.table.run("SELECT least(kind, 0)::INT AS x, count(*) FROM followed GROUP BY x")
        )

    def sums(self, large: float) -> tuple[dict[str, Any], dict[str, Any]]:
        """Sums by triple, and by episodes of each unit."""
        e = max(math.frexp(large)[1], -400)
        one, two, likely = 2.0 ** (61 - e), 2.0 ** (61 - 2 * e), 2.0**60
        u = "u" if "u" in self.partition else "0 AS u"
        p = (
            f"sum((p * {likely!r})::BIGINT)::DOUBLE / {likely!r}"
            if self.columns.propensity
            else "0.0"
        )
        total = f"sum(round(r * {one!r})::BIGINT)::DOUBLE / {one!r}"
        triples = self.table.arrays(f"""SELECT {u}, s, a, t, kind, count(*) AS n, {total} AS paid,
    sum(round(r * r * {two!r})::BIGINT)::DOUBLE / {two!r} AS paid2, {p} AS likely
  FROM followed WHERE kind >= 0 GROUP BY ALL ORDER BY ALL""")
        part, rows = "e", "followed"
        if self.columns.episode is None:
            part = "part"
            rows = f"""(SELECT *, sum(first::INT) OVER ({self.order} ROWS UNBOUNDED PRECEDING)
    AS part FROM followed)"""
        episodes = self.table.arrays(f"""SELECT u, count(*) AS n, sum(steps)::BIGINT AS steps,
    max(steps) AS longest, sum(total) AS total, sum(total * total) AS squares, min(total) AS least,
    max(total) AS most, min(low) AS low, max(high) AS high, sum(gaps)::BIGINT AS gaps
  FROM (SELECT {u}, {part}, count(*) AS steps, {total} AS total, min(r) AS low, max(r) AS high,
      count(*) FILTER (kind & {RESUMED} > 0) AS gaps
    FROM {rows} WHERE kind >= 0 GROUP BY ALL ORDER BY ALL)
  GROUP BY u ORDER BY u""")
        return triples, episodes


def _halved(x: str, edges: Sequence[float], first: int = 0) -> str:
    """The number of the bin of x, by halving; an edge belongs to the bin above it."""
    if not edges:
        return str(first)
    half = len(edges) // 2
    below, above = _halved(x, edges[:half], first), _halved(x, edges[half + 1 :], first + half + 1)
    return f"CASE WHEN {x} < {edges[half]!r} THEN {below} ELSE {above} END"


def _number(value: Any) -> float:
    if value is None or value == "":
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.inf


def _flag(value: Any) -> float:
    return FLAGS.get(str(value).strip().lower(), math.nan)


def _instant(value: Any) -> Any:
    """Times with a zone by the instant, so that they can be compared."""
    aware = isinstance(value, datetime.datetime) and value.tzinfo is not None
    return value.astimezone(datetime.UTC) if aware else value
