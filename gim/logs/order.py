"""What DuckDB is asked of a log: labels as numbers, which row follows which, and what it comes to.

A row with a fault is left out whole: it does not say where the row before it led, nor does the row
after it begin anything. Four steps: `typed` has the columns of a log by what they are, `coded` the
number of each label and the first fault of each row, `followed` what came before and after it in
its episode, `parted` the numbers of episodes that nobody named. Sums of rewards are sums of whole
numbers: in any order, by any number of threads or machines, they are the same to the bit.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gim.logs.labels import MOST_LABELS, Levels, bin_names, edges_of, levels_of, missing
from gim.logs.sources import NUMERIC, Field, Table

CENSORED, TWICE, LATE, FAULTY = -1, -2, -3, -10  # kinds of rows: FAULTY less the fault's number
BEGUN, RESUMED, ENDED = 1, 2, 4  # bits of the kind of a row that is kept
END = -2  # in place of a next state: the episode is over, and what came then was not recorded
LARGEST = 1e100  # of a reward: squares must add up
NAMED = 20  # rows that an error names
NUMBER = (
    "CASE WHEN isfinite(TRY_CAST(trim(step) AS DOUBLE)) THEN TRY_CAST(trim(step) AS DOUBLE) END"
)
COUNTED = ("reward2", "n", "begun", "ended")  # of what was counted elsewhere
TIME = "TRY_CAST(step AS TIMESTAMPTZ)"


class Columns(NamedTuple):
    """Which columns of a log are what."""

    state: list[str]
    after: list[str] | None  # of the next state; None: the next row of the episode says
    action: list[str]
    unit: list[str]
    single: dict[str, str]  # reward, episode, step, done, propensity, counts: those there are
    bins: Mapping[str, Any]
    levels: Mapping[str, Sequence[Any]]

    def fields(self) -> dict[str, Field]:
        """Each column by the name that it gets, with its own name and what it holds."""
        holds = {"episode": "label", "step": "step", "done": "flag"}
        found = {x: Field(column, holds.get(x, "number")) for x, column in self.single.items()}
        several = {"s": self.state, "t": self.after or [], "a": self.action, "u": self.unit}
        for letter, columns in several.items():
            for j, column in enumerate(columns):
                binned = (self.state[j] if letter == "t" else column) in self.bins
                found[f"{letter}{j}"] = Field(column, "number" if binned else "label")
        return found


class Facts(NamedTuple):
    """What is known of a log after a first look, which adds up over its parts."""

    large: float  # the largest reward, by size
    spans: dict[str, tuple[float, float]]  # of columns that are binned, by field
    labels: dict[str, Counter[Any]]  # how often each value stands there, by field
    n: int
    episodes: int  # rows with an episode
    steps: int  # and with a step
    numbers: int  # texts among the steps that are numbers
    times: int  # and that are times
    broken: int  # steps that are no whole numbers


class Asking:
    """The SQL of one log.

    Args:
        table: where it is.
        columns: which columns are what.
        only: read no more than so many rows.
    """

    def __init__(self, table: Table, columns: Columns, only: int | None = None) -> None:
        self.table, self.columns, self.fields = table, columns, columns.fields()
        self.reasons: list[tuple[str, str]] = []  # why rows cannot be used: a column, what is wrong
        self.levels: dict[str, Levels] = {}  # by column
        self.edges: dict[str, Any] = {}
        self.k, self.p = "k, " * ("step" in self.fields), ", p" * ("propensity" in self.fields)
        self.remarks: list[str] = []  # what may not be meant
        self.counts = False  # whether steps are numbers of which none may be missing
        each = [f"{table.typed(*field)} AS {name}" for name, field in self.fields.items()]
        limit = "" if only is None else f" LIMIT {only}"
        sql = f"SELECT row_number() OVER () - 1 AS id, {', '.join(each)} FROM {table.sql} AS b"
        table.run(f"CREATE OR REPLACE TEMP VIEW typed AS {sql}{limit}")
        self.types = {name: kind for name, kind, *_ in table.run("DESCRIBE typed")}
        labels = [name for name, field in self.fields.items() if field.holds == "label"]
        texts = columns.single.get("episode") in table.own or self.types.get("episode") == "VARCHAR"
        self.labels = [name for name in labels if texts or name != "episode"]

    def facts(self) -> Facts:
        """Look at all rows once: sums, and the labels of each field."""
        each, kind = self.labels, self.types.get("step")
        binned = [name for name, field in self.fields.items() if field.column in self.columns.bins]
        asked = ["count(*)", "count(episode)" if "episode" in self.fields else "count(*)"]
        text = [f"count({NUMBER})", f"count({TIME})", f"count_if({NUMBER} % 1 <> 0)"]
        real = ["0", "0", "count_if(step % 1 <> 0)" if kind == "DOUBLE" else "0"]
        asked += ["count(step)" if kind else "0", *(text if kind == "VARCHAR" else real)]
        asked.append(f"max(abs(reward)) FILTER (abs(reward) <= {LARGEST})")
        asked += [f"{end}({x}) FILTER (isfinite({x}))" for x in binned for end in ("min", "max")]
        which = f"GROUPING({', '.join(each)})" if each else "0"
        sets = ", ".join(f"({name})" for name in [*each, ""])
        rows = self.table.run(
            f"SELECT {', '.join([*each, which, *asked])} FROM typed GROUP BY GROUPING SETS ({sets})"
            f" LIMIT {MOST_LABELS + 1}"
        )
        sums: Any = (0,)
        k, labels = len(each), {name: Counter[Any]() for name in each}
        for row in rows:
            place = k - ((1 << k) - 1 - row[k]).bit_length()  # of the field; k: of all rows
            if place == k:
                sums = row[k + 1 :]
            elif not missing(self._own(each[place], row[place])):
                labels[each[place]][row[place]] = row[k + 1]
        if len(rows) > MOST_LABELS:
            most = max(labels, key=lambda name: len(labels[name]))
            raise ValueError(
                f"column {self.fields[most].column!r} has more different values than "
                f"{MOST_LABELS:,} leave room for: bin it with bins=, or leave it out"
            )
        if sums[0] == 0:
            raise ValueError("the log has no rows: it needs at least one")
        low, high = ([end if x is None else x for x in sums[7 + i :: 2]]
                     for i, end in enumerate((math.inf, -math.inf)))  # fmt: skip
        spans = dict(zip(binned, zip(low, high, strict=True), strict=True))
        return Facts(float(sums[6] or 0.0), spans, labels, *sums[:6])

    def _own(self, name: str, value: Any) -> Any:
        """A label as Python has it, where the column came as numbers of them."""
        own = self.table.own.get(self.fields[name].column)
        return value if own is None or value is None else own[value]

    def wrong(self, name: str, reason: str) -> int:
        """The kind of rows that cannot be used, since something is wrong with a field."""
        self.reasons.append((self.fields[name].column, reason))
        return FAULTY - len(self.reasons)

    def said(self, rows: str, fix: str) -> tuple[dict[str, int], str]:
        """How many rows have which fault, and the first of them in words; rows count from 1."""
        kind, wrong = f"{FAULTY} - kind - 1 AS fault", f"FROM ({rows}) WHERE kind < {FAULTY}"
        often, alike = Counter[str](), dict[tuple[str, str], list[int]]()
        for k, n in self.table.run(f"SELECT {kind}, count(*) {wrong} GROUP BY ALL ORDER BY fault"):
            often[": ".join(self.reasons[k])] += n
        first = self.table.run(f"SELECT {kind}, id + 1 {wrong} ORDER BY id LIMIT {NAMED}")
        for k, row in first:
            alike.setdefault(self.reasons[k], []).append(row)
        each = [f"{_rows(some)}, column {x!r}: {why}" for (x, why), some in alike.items()]
        if more := often.total() - len(first):
            each.append(f"and {more:,} more row{'s' * (more > 1)}")
        return dict(often), f"{'; '.join(each)}; {fix}" if each else ""

    # -- rows as numbers

    def coded(self, facts: Facts) -> None:
        """Make the view of rows with their numbers; the first fault of a row is its state, s."""
        c, has = self.columns, self.fields
        joins, faults = list[str](), list[str]()
        for j in range(len(c.state)):
            self._label([f"s{j}", *[f"t{j}"] * bool(c.after)], facts, joins, faults)
        for name in has:
            if name[0] in "au" or (name == "episode" and name in self.labels):
                self._label([name], facts, joins, faults)
        k, meant = self._step(facts) if "step" in has else ("", "")
        e = "c_episode.k" if "episode" in self.labels else "episode" if "episode" in has else "0"
        d = "coalesce(done, false)" if "done" in has else ""
        s, a, u = (self._key(*x) for x in (("s", c.state), ("a", c.action), ("u", c.unit)))
        f = f"coalesce({self._key('t', c.state)}, CASE WHEN {d or 'false'} THEN {END} END)"
        known = [
            ("reward", "isnan(reward)", "the reward is missing (NaN)"),
            ("reward", "isinf(reward)", "the reward is no finite number"),
            ("reward", f"abs(reward) > {LARGEST}", f"the reward is beyond {LARGEST:g}: rescale it"),
            ("episode", f"{e} IS NULL", "the episode is missing"),
            ("step", f"({k}) IS NULL", f"the step is no {meant}"),
            ("propensity", "NOT (propensity > 0 AND propensity <= 1)",
             "a propensity is above 0 and at most 1"),
            ("done", "done IS NULL", "a flag is True, False, 0 or 1"),
            (COUNTED[0], "NOT (isfinite(reward2) AND reward2 >= 0)", "this is no sum of squares"),
        ]  # fmt: skip
        text = "this is no whole number from 0 on, but it is counted"
        known += [(x, f"NOT (isfinite({x}) AND {x} >= 0 AND {x} % 1 = 0)", text)
                  for x in COUNTED[1:]]  # fmt: skip
        first = [f"WHEN {condition} THEN {self.wrong(name, reason)}"
                 for name, condition, reason in known if name in has]  # fmt: skip
        if c.after:
            faults.append(f"WHEN {f} IS NULL THEN {self.wrong('t0', 'the next state is missing')}")
        given = [x for x, there in ((u, c.unit), (e, "episode" in has), (f"({k})", k)) if there]
        lost = " OR ".join(f"{x} IS NULL" for x in given) or "false"
        self.by = ["u"] * bool(c.unit) + ["e"] * ("episode" in has or (k != "" and not c.unit))
        each = {x: f"CASE WHEN NOT ({lost}) THEN {y} END" for x, y in (("u", u), ("e", e))}
        each |= {"k": k, "d": d, "f": f if c.after else "", "a": a}
        each |= {"s": f"CASE {' '.join([*first, *faults])} ELSE {s} END"}
        each |= {"r": f"CASE WHEN abs(reward) <= {LARGEST} THEN reward END"}
        each |= {"p": "propensity" * ("propensity" in has)}
        columns = ", ".join(f"{x} AS {name}" for name, x in each.items() if x)
        sql = f"SELECT id, {columns} FROM typed {' '.join(joins)}"
        there = [facts.episodes, *(x.total() for y, x in facts.labels.items() if y[0] in "ue")]
        self.lost = not k and min(there) < facts.n
        if self.lost:
            sql = f"""SELECT *, coalesce(lag(u IS NULL) OVER (ORDER BY id), false) AS just_before,
    sum((u IS NULL)::INT) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS before FROM ({sql})"""
        self.table.run(f"CREATE OR REPLACE TEMP VIEW coded AS {sql}")

    def _step(self, facts: Facts) -> tuple[str, str]:
        """What rows are put in order by, and what it must be; whole numbers count steps."""
        kind = self.types["step"]
        if kind == "VARCHAR" and 2 * facts.numbers <= facts.steps:
            if 2 * facts.times > facts.steps:
                return TIME, "time"
            ((low, high),) = self.table.run("SELECT min(step), max(step) FROM typed")
            if re.search(r"\d", f"{low}{high}"):
                self.remarks.append(
                    f"column {self.fields['step'].column!r} is put in order as text, from {low!r} "
                    f"to {high!r}: write times as 2024-01-31, and numbers as numbers"
                )
            return "step", "text"
        self.counts = not facts.broken and kind.startswith((*NUMERIC, "VARCHAR"))
        return (NUMBER, "number") if kind == "VARCHAR" else ("step", "number or time")

    def _label(
        self, names: Sequence[str], facts: Facts, joins: list[str], faults: list[str]
    ) -> None:
        """Number the labels of a field, and of that of its next states."""
        column, holds = self.fields[names[0]]
        if holds == "number":
            low, high = facts.spans[names[0]]
            ends = (low, high) if low <= high else (0.0, 1.0)
            self.edges[column] = edges_of(column, self.columns.bins[column], *ends)
            self.levels[column] = Levels(bin_names(self.edges[column]), {}, {}, told=True)
            kind = self.wrong(names[0], "this is no finite number, but it is binned")
            faults.append(f"WHEN NOT isfinite({names[0]}) THEN {kind}")
            return
        own = {x: {raw: self._own(x, raw) for raw in facts.labels[x]} for x in names}
        often = Counter[Any]()
        for name in names:
            for raw, label in own[name].items():
                often[label] += facts.labels[name][raw]
        levels = self.levels[column] = levels_of(column, often, self.columns.levels.get(column))
        self.remarks += levels.remarks
        if names[0] != "episode":
            kind = self.wrong(names[0], "nothing stands here, but a label must")
            faults.append(f"WHEN c_{names[0]}.k IS NULL THEN {kind}")
        for name in names:
            there = list(own[name].values())
            reasons = dict.fromkeys(levels.odd[x] for x in there if x in levels.odd)
            kinds = {why: self.wrong(name, why) for why in reasons}
            text = any(isinstance(raw, str) for raw in own[name])
            table = {"v": np.array([*own[name]], object if text else None)}
            table["k"] = np.array([levels.place[x] for x in there], np.int64)
            table["odd"] = np.array([kinds.get(levels.odd.get(x, ""), 0) for x in there], np.int64)
            self.table.con.register(f"c_{name}", table)
            joins.append(f"LEFT JOIN c_{name} ON {name if there else 'NULL'} = c_{name}.v")
            faults += [f"WHEN c_{name}.odd < 0 THEN c_{name}.odd"] * bool(kinds)

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
        return f"({key or 0})::{'INT' if size < 2**30 else 'BIGINT'}"

    def columns_of(self, keys: Any, columns: Sequence[str]) -> dict[str, list[Any]]:
        """The values of each column behind such numbers."""
        found = {}
        for column in reversed(columns):
            labels = self.levels[column].labels
            keys, code = np.divmod(keys, max(len(labels), 1))
            found[column] = [labels[x] for x in code.tolist()]
        return {column: found[column] for column in columns}

    # -- which row follows which

    def followed(self, rows: bool) -> Counter[int]:
        """Make the table of rows with what they led to; how many rows there are of each kind.

        A row that stands twice, or after the end of its episode, is taken out of the order before
        it is said what follows what. Rows that are kept count as one kind, 0.
        """
        run = self.table.run
        said = {TWICE: ("step", "this step of the episode stands twice")}
        said[LATE] = ("done", "an action after the end of its episode")
        run("CREATE OR REPLACE TEMP TABLE out_of_order (id BIGINT, kind INT)")
        full = rows or "step" not in self.fields  # rows need no numbers where nothing is wrong
        self._follow(full)
        kinds = "SELECT least(kind, 0)::INT, count(*) FROM {} GROUP BY ALL"
        if not full and run("SELECT 1 FROM followed WHERE kind < -1 LIMIT 1"):
            self._follow(full := True)
        while wrong := max((x for x, _ in run(kinds.format("followed")) if x in said), default=0):
            kind = f"CASE WHEN s < 0 THEN s ELSE {self.wrong(*said[wrong])} END"
            run(f"INSERT INTO out_of_order SELECT id, {kind} FROM followed WHERE kind = {wrong}")
            self._follow(True, "WHERE id NOT IN (SELECT id FROM out_of_order)")
        found = Counter[int]()
        for table in ("followed", "out_of_order"):
            found.update(dict(run(kinds.format(table))))
        return found

    def _follow(self, full: bool, where: str = "") -> None:
        """The kind of a row that is kept is a sum of bits; of others it is below 0."""
        c, has, counted = self.columns, self.fields, self.counts
        done, named, d = "done" in has, "episode" in has, "d" if "done" in has else "false"
        look = ["lead(s, 1, -1) OVER w AS s1", "lag(s, 1, -1) OVER w AS s0"]  # -1: none
        last, first, gap1, gap0, kinds = "s1 = -1", "s0 = -1", "false", "false", list[str]()
        if "step" in has:
            look.append("lag(k) OVER w AS k0")
            kinds.append(f"WHEN k = k0 THEN {TWICE}")
        if counted:
            look.append("lead(k) OVER w AS k1")
            gap1, gap0 = "k1 <> k + 1", "k <> k0 + 1"
        if self.lost:
            look += ["lead(before) OVER w AS before1", "lag(before) OVER w AS before0"]
            gap1, gap0 = "before1 <> before", "before <> before0"
        if done and not named:
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
            if named:
                kind = self.wrong("t0", "the next row of the episode begins in another state")
                kinds.append(f"WHEN NOT last AND NOT ({gap1}) AND {apart1} THEN {kind}")
                before = f"{before} OR {apart0}"
            else:
                last, first = f"{last} OR {apart1}", f"{first} OR {apart0}"
        else:
            to = f"CASE WHEN last AND {d} THEN {END} ELSE s1 END"
            if counted:
                kind = self.wrong("step", "the next step of the episode is missing")
                kinds.append(f"WHEN NOT last AND {gap1} THEN {kind}")
            ends = f"NOT last AND ({gap1} OR s1 < 0) OR last AND NOT {d}"
            kinds.append(f"WHEN {ends} THEN {CENSORED}")
        begun = f"CASE WHEN first THEN {BEGUN} WHEN {before} THEN {RESUMED} ELSE 0 END"
        if self.lost:
            begun = f"CASE WHEN just_before THEN {RESUMED} ELSE {begun} END"
        keys = f"{self.k}id" if full else "k"
        order = f"{'PARTITION BY ' * bool(self.by)}{', '.join(self.by)} ORDER BY {keys}"
        own = "".join(f"{x}, " for x in self.by)
        own += f"{keys}, first, " * (full or not named)  # what is needed to number episodes
        self.table.run(f"""CREATE OR REPLACE TEMP TABLE followed AS
  SELECT {own}s, a, {to} AS t, r{self.p},
    (CASE {" ".join(kinds)} ELSE {begun} + {ENDED} * {d}::INT END)::SMALLINT AS kind
  FROM (SELECT *, {last} AS last, {first} AS first FROM (SELECT *, {", ".join(look)}
    FROM coded {where} WINDOW w AS ({order})))""")
        part = "0" if named else f"sum(first::INT) OVER ({order} ROWS UNBOUNDED PRECEDING)"
        more = "".join(f", 0 AS {x}" for x in "ue" if x not in self.by)
        sql = f"SELECT *{more}, {part} AS part FROM followed"
        self.table.run(f"CREATE OR REPLACE TEMP VIEW parted AS {sql}")

    # -- what it comes to

    def rows(self) -> dict[str, Any]:
        """The rows that are kept, episodes in the order in which they begin."""
        return self.table.arrays(f"""SELECT u, s, a, t, r, kind{self.p},
    min(id) OVER (PARTITION BY u, e, part) AS began
  FROM parted WHERE kind >= 0 ORDER BY began, {self.k}id""")

    def sums(self, large: float) -> tuple[dict[str, Any], dict[str, Any]]:
        """Sums by triple, and by episodes of each unit."""
        e = max(math.frexp(large)[1], -400)
        one, two, likely = 2.0 ** (61 - e), 2.0 ** (61 - 2 * e), 2.0**60
        p = f"sum((p * {likely!r})::BIGINT)::DOUBLE / {likely!r}" if self.p else "0.0"
        total = f"sum(round(r * {one!r})::BIGINT)::DOUBLE / {one!r}"
        u = "u" if "u" in self.by else "0 AS u"
        triples = self.table.arrays(f"""SELECT {u}, s, a, t, count(*) AS n, {total} AS paid,
    sum(round(r * r * {two!r})::BIGINT)::DOUBLE / {two!r} AS paid2, {p} AS likely,
    count(*) FILTER (kind & {BEGUN} > 0) AS begun, count(*) FILTER (kind & {ENDED} > 0) AS ended
  FROM followed WHERE kind >= 0 GROUP BY ALL ORDER BY ALL""")
        episodes = self.table.arrays(f"""SELECT u, count(*) AS n, sum(steps)::BIGINT AS steps,
    max(steps) AS longest, sum(total) AS total, sum(total * total) AS squares, min(total) AS least,
    max(total) AS most, min(low) AS low, max(high) AS high, sum(gaps)::BIGINT AS gaps
  FROM (SELECT u, e, part, count(*) AS steps, {total} AS total, min(r) AS low, max(r) AS high,
      count(*) FILTER (kind & {RESUMED} > 0) AS gaps
    FROM parted WHERE kind >= 0 GROUP BY ALL ORDER BY ALL)
  GROUP BY u ORDER BY u""")
        return triples, episodes


def total(parts: Sequence[Facts]) -> Facts:
    """What is known of all parts together."""
    labels = {name: Counter[Any]() for name in parts[0].labels}
    for part in parts:
        for name, often in part.labels.items():
            labels[name].update(often)
    spans = {x: (min(part.spans[x][0] for part in parts), max(part.spans[x][1] for part in parts))
             for x in parts[0].spans}  # fmt: skip
    sums: Any = map(sum, zip(*(part[3:] for part in parts), strict=True))
    return Facts(max(part.large for part in parts), spans, labels, *sums)


def _rows(rows: list[int]) -> str:
    """Rows by number: row 3; rows 3 and 4; rows 3, 4 and 8."""
    *some, last = map(str, rows)
    return f"rows {', '.join(some)} and {last}" if some else f"row {last}"


def _halved(x: str, edges: Sequence[float], first: int = 0) -> str:
    """The number of the bin of x, by halving; an edge belongs to the bin above it."""
    if not edges:
        return str(first)
    half = len(edges) // 2
    below, above = _halved(x, edges[:half], first), _halved(x, edges[half + 1 :], first + half + 1)
    return f"CASE WHEN {x} < {edges[half]!r} THEN {below} ELSE {above} END"
