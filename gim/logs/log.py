"""The type `Log`: what happened, counted, with what it covers and who acted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._base import files, html
from gim._base.escapes import shown
from gim.analogy.prior import no_prior
from gim.analogy.unseen import Beginnings
from gim.belief.knowledge import Knowledge, believed_model
from gim.logs.bans import restricted
from gim.logs.joining import joined
from gim.logs.triples import Episodes, Rows, Seen, counts_of, merged, together
from gim.mdp.names import Names, label_of, plain
from gim.mdp.policy import Policy
from gim.mdp.policy.alignment import NONE, matched, some_of, unmatched
from gim.mdp.variables import Variables
from gim.model.counts import Counts
from gim.model.learned import LearnedModel
from gim.model.tally import tally
from gim.model.task import Task

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
TOLD = ("skipped", "problems", "censored", "over", "reward_range", "declared")  # as a file has them


class Coverage(NamedTuple):
    """How much of the pairs a log has seen."""

    seen: int  # pairs
    of: int  # pairs of the states that do not end an episode
    median: float  # visits of a pair that was seen
    most: int  # visits of the pair seen most often


@dataclass(frozen=True)
class Log:
    """A log of transitions, read by `gim.from_log`.

    A log keeps its rows, or what they come to (`keep="counts"`): then memory does not grow with
    rows, and what needs them one by one says so.

    Attributes:
        counts: n(s,a), R(s,a) and n(s'|s,a), the same as a run's; rewards by triple, too.
        states, actions: the labels, [S] and [A]; tuples where several columns make one.
        variables, action_variables: what they are made of, where that is known.
        kept: the transitions one by one, or None; `rows` are these, or an error.
        summed: what was seen by triple and unit, and the episodes, where rows are not kept.
        units: the labels of units (shops, machines), or None; tuples of several columns.
        available: [S, A] the pairs that may be played, if that was said; None: nobody knows.
        bins: the edges of columns that were binned; an edge belongs to the bin above it.
        levels: the labels of columns whose order was told, or that were binned.
        sql: what was asked of DuckDB, in order.
        skipped: rows left out because something was wrong with them.
        problems: how many of them for which reason.
        censored: rows left out since nobody saw where they led: the last of unfinished episodes,
            and those before a row that is left out or missing.
        over: whether the last state stands for the end of an episode that was not recorded.
        given_start: [S] where episodes begin, if that was said, and what is missing to 1 in states
            that the log does not have; None: where its own do.
        reward_range: the least and the largest reward of a step, if that was said.
        declared: the values that each variable of a state can have, where that was said; a policy
            then answers in all states that are made of them.
        listed: whether it was said that there are no other states.
    """

    counts: Counts
    states: tuple[Any, ...]
    actions: tuple[Any, ...]
    variables: Variables | None
    action_variables: Variables | None
    kept: Rows | None
    summed: tuple[Seen, Episodes] | None = None
    units: tuple[Any, ...] | None = None
    available: Bools | None = None
    bins: dict[str, Any] = field(default_factory=dict)
    levels: dict[str, Any] = field(default_factory=dict)
    sql: tuple[str, ...] = ()
    skipped: int = 0
    problems: dict[str, int] = field(default_factory=dict)
    censored: int = 0
    over: bool = False
    given_start: Floats | None = None
    reward_range: tuple[float, float] | None = None
    declared: dict[str, list[Any]] | None = None
    listed: bool = False

    @property
    def S(self) -> int:
        """Number of states."""
        return len(self.states)

    @property
    def A(self) -> int:
        """Number of actions."""
        return len(self.actions)

    def __len__(self) -> int:
        return int(self.counts.n.sum())

    @property
    def rows(self) -> Rows:
        """The transitions one by one; an error where only counts are kept."""
        if self.kept is None:
            raise ValueError(
                "this log keeps counts, and what looks at rows one by one (importance sampling, "
                'halves or parts of a log) needs these: read it with keep="rows"'
            )
        return self.kept

    @cached_property
    def triples(self) -> Seen:
        """What was seen: each triple of each unit once, in the order of their numbers."""
        if self.summed is not None:
            return self.summed[0]
        rows, n = self.rows, len(self.rows.s)
        one, first = np.ones(n, np.int64), np.zeros(n, np.int64)
        first[self.starts] = ~rows.resumed[self.starts]
        unit = first * 0 if rows.unit is None else rows.unit.astype(np.int64)
        s, a, t = (each.astype(np.int64) for each in (rows.s, rows.a, rows.t))
        likely = np.zeros(n) if rows.propensity is None else rows.propensity
        paid = (rows.r, rows.r**2)
        ended = rows.done.astype(np.int64)
        whole = Seen(unit, s, a, t, one, *paid, first, ended, likely)
        return merged([whole], self.S, self.A)

    @cached_property
    def episodes(self) -> Episodes:
        """How many episodes of each unit there are, how long they are and what they returned."""
        if self.summed is not None:
            return self.summed[1]
        rows, one = self.rows, np.ones(len(self.starts), np.int64)
        gaps = np.add.reduceat(rows.resumed.astype(np.int64), self.starts)
        low, high = (f.reduceat(rows.r, self.starts) for f in (np.minimum, np.maximum))
        paid = (self.returns, self.returns**2, self.returns, self.returns)
        each = Episodes(one, self.lengths, self.lengths, *paid, low, high, gaps)
        unit = one * 0 if rows.unit is None else rows.unit[self.starts].astype(np.int64)
        return together([each], [unit], len(self.units or (None,)))

    def by_unit(self) -> Mapping[Any, Log]:
        """The log of each unit, by label, where `unit=` told them apart.

        All of them have the states and actions of the whole, with its numbers, so that counts of
        one can be laid beside those of another; a unit may have none of a state. A log is made when
        it is asked for and not kept. What was left out is told of the whole alone.

        Example:
            >>> import gim
            >>> rows = {"s": [0, 1, 0], "a": [0, 0, 1], "r": [1, 2, 3], "s2": [1, 0, 1]}
            >>> log = gim.from_log(rows | {"shop": ["east", "west", "west"]}, unit="shop")
            >>> {unit: part.counts.n.tolist() for unit, part in log.by_unit().items()}
            {'east': [[1, 0], [0, 0]], 'west': [[0, 1], [1, 0]]}
        """
        if self.units is None:
            raise ValueError("this log has no units: read it with unit=, the column that tells")
        return _ByUnit(self)

    @property
    def left(self) -> Bools:
        """[S] states in which an action was seen."""
        return np.asarray(self.counts.n.any(axis=1))

    @cached_property
    def terminal(self) -> Bools:
        """[S] states that ended an episode and were never left.

        One that was left in another episode does not end anything: that episode was cut off there.
        """
        ends = np.zeros(self.S, bool)
        ends[self.triples.t[self.triples.ended > 0]] = True
        return ends & ~self.left

    @cached_property
    def truncated(self) -> int:
        """Episodes that are marked as done in a state that was left at other times."""
        return int(self.triples.ended[~self.terminal[self.triples.t]].sum())

    @cached_property
    def allowed(self) -> Bools:
        """[S, A] the pairs that may be played: `available`, or all where nobody said."""
        return np.ones((self.S, self.A), bool) if self.available is None else self.available

    @cached_property
    def banned(self) -> int:
        """Rows that play what `available=` does not allow; they count as observations."""
        return int(self.counts.n[~self.allowed].sum())

    @cached_property
    def behaviour(self) -> Floats:
        """[S, A] the policy that made the log: how often each action was chosen in each state.

        With propensities, their mean over the visits of each pair. In a state never left: any
        allowed action alike. What was done is there, banned or not; `policy()` and the baseline of
        `gim.learn` go without what is banned.
        """
        weight = self.counts.n.astype(np.float64)
        if self.triples.likely.any():
            pair = self.triples.s * self.A + self.triples.a
            total = np.bincount(pair, self.triples.likely, self.S * self.A)
            weight = total.reshape(self.S, self.A) / np.maximum(weight, 1.0)
        weight = np.where(self.left[:, None], weight, self.allowed)
        return weight / weight.sum(axis=1, keepdims=True)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The places in `rows` at which episodes begin."""
        episode = self.rows.episode
        return np.flatnonzero(np.append(True, np.diff(episode) != 0))

    @cached_property
    def start(self) -> Floats:
        """[S] how often an episode begins in each state, as was said or as they did."""
        first = self.begun if self.given_start is None else self.given_start
        return np.asarray(first / first.sum())

    @cached_property
    def begun(self) -> Floats:
        """[S] episodes that began in each state, as far as beginnings were kept."""
        seen = self.triples
        if not seen.begun.any() and self.kept is not None:  # the first of what is left of each
            return np.bincount(self.rows.s[self.starts], minlength=self.S).astype(np.float64)
        often = seen.begun if seen.begun.any() else seen.n
        return np.bincount(seen.s, often, self.S).astype(np.float64)

    @cached_property
    def beginnings(self) -> Beginnings:
        """Where episodes begin, and how well that is known."""
        may, told = ~self.terminal, self.given_start
        if told is not None:
            return Beginnings(told, np.zeros(0), may, listed=self.listed)
        once = float((np.bincount(self.triples.t, self.triples.n, self.S) == 1).sum())
        return Beginnings(self.start, self.begun, may, listed=self.listed, once=once)

    @cached_property
    def as_met(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The states and the actions in the order in which rows have them, then all others.

        What is drawn goes by it: figures must not depend on how labels sort.
        """
        of: Any = self.triples if self.kept is None else self.kept
        states = np.column_stack([of.s, of.t]).ravel()
        return _by_first(states, self.S), _by_first(of.a, self.A)

    @cached_property
    def returns(self) -> Floats:
        """[episodes] the sum of rewards of each."""
        return np.add.reduceat(self.rows.r, self.starts)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """[episodes] the transitions of each."""
        return np.diff(np.append(self.starts, len(self.rows.s)))

    @property
    def longest(self) -> int:
        """The transitions of the longest episode."""
        return int(self.episodes.longest.max())

    @property
    def paid(self) -> tuple[float, float]:
        """The least and the largest reward of a step that was seen."""
        return float(self.episodes.low.min()), float(self.episodes.high.max())

    @cached_property
    def unbroken(self) -> NDArray[np.int64]:
        """[episodes] the transitions of each before the first gap; 0: its beginning is missing."""
        found, gaps = self.lengths.copy(), np.flatnonzero(self.rows.resumed)
        episode = self.rows.episode[gaps]
        np.minimum.at(found, episode, gaps - self.starts[episode])
        return found

    @cached_property
    def coverage(self) -> Coverage:
        """How much of the pairs was seen, and how often."""
        n = self.counts.n
        of = n.shape[1] * int((~self.terminal).sum())
        return Coverage(int((n > 0).sum()), of, float(np.median(n[n > 0])), int(n.max()))

    def part(self, episodes: NDArray[Any]) -> Log:
        """The same with only some episodes, by a mask or their numbers; states keep theirs."""
        chosen = np.zeros(len(self.starts), bool)
        chosen[episodes] = True
        keep = chosen[np.repeat(np.arange(chosen.size), self.lengths)]
        if not keep.any():
            raise ValueError("none of the episodes: choose at least one")
        return self.only(keep)

    def only(self, keep: NDArray[np.bool_]) -> Log:
        """The same with only some rows, by a mask; states keep their numbers."""
        dropped = np.append(False, ~keep[:-1])[: keep.size]
        dropped[self.starts] = False  # what is before belongs to another episode
        return self._of(self.rows._replace(resumed=self.rows.resumed | dropped), keep)

    def _of(self, rows: Rows, keep: NDArray[Any]) -> Log:
        """The same of some of these rows, by a mask or their places."""
        kept: Any = [None if each is None else each[keep] for each in rows]
        kept[0] = np.unique(kept[0], return_inverse=True)[1].ravel().astype(np.int32)
        rows = Rows(*kept)
        counts = tally(self.S, self.A, rows.s, rows.a, rows.r, rows.t)
        return replace(self, kept=rows, counts=counts)

    def __add__(self, other: Log) -> Log:
        """Both logs as one: what was counted yesterday, and what has come since.

        Labels are matched; those that only one has are new to the other. Rows are kept if both
        have theirs. What was told of the logs (bins, levels, bans, ranges) must be the same.
        """
        if not isinstance(other, Log):
            return NotImplemented
        return Log(**joined(self, other))

    def save(self, path: str | Path) -> None:
        """Save to one file, which `gim.load` reads; it holds labels and counts, and rows if kept.

        Example:
            >>> import gim, tempfile
            >>> log = gim.from_log([("low", "buy", -1.0, "high"), ("high", "wait", 2.0, "low")])
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     log.save(f"{folder}/log.npz")
            ...     gim.load(f"{folder}/log.npz")
            <Log of 2 transitions: 2 states, 2 actions, 2 of 4 pairs seen, 1 episode>
        """
        files.save(path, "log", *self.pack())

    def pack(self) -> files.Packed:
        """Arrays and JSON that `unpack` turns into the same log."""
        arrays = {f"seen.{name}": each for name, each in self.triples._asdict().items()}
        arrays |= {f"episodes.{name}": each for name, each in self.episodes._asdict().items()}
        rows = {} if self.kept is None else self.kept._asdict()
        arrays |= {f"rows.{name}": each for name, each in rows.items() if each is not None}
        arrays |= {f"bins.{name}": edges for name, edges in enumerate(self.bins.values())}
        for name in ("available", "given_start"):
            if (each := getattr(self, name)) is not None:
                arrays[name] = each
        meta: dict[str, Any] = {name: getattr(self, name) for name in (*TOLD, "listed")}
        for name in ("states", "actions", "units"):
            labels = getattr(self, name)
            meta[name] = None if labels is None else [plain(label) for label in labels]
        for name in ("variables", "action_variables"):
            if (made_of := getattr(self, name)) is not None:
                arrays[name], meta[name] = made_of.pack()
        meta |= {"bins": list(self.bins), "levels": {x: list(y) for x, y in self.levels.items()}}
        return files.Packed(arrays, meta)

    @classmethod
    def unpack(cls, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> Log:
        """The inverse of `pack`."""

        def part(name: str) -> dict[str, NDArray[Any]]:
            return {k[len(name) + 1 :]: v for k, v in arrays.items() if k.startswith(f"{name}.")}

        found: dict[str, Any] = {name: meta[name] for name in TOLD}
        found["listed"] = bool(meta.get("listed"))  # versions before did not keep it
        for name in ("states", "actions", "units"):
            labels = meta[name]
            found[name] = None if labels is None else tuple(map(label_of, labels))
        for name in ("variables", "action_variables"):
            told = meta.get(name)
            found[name] = None if told is None else Variables.unpack(arrays[name], told)
        found |= {name: arrays.get(name) for name in ("available", "given_start")}
        found["bins"] = dict(zip(meta["bins"], part("bins").values(), strict=True))
        found["levels"], found["sql"] = dict(meta["levels"]), ()
        if (told := found["reward_range"]) is not None:
            found["reward_range"] = (float(told[0]), float(told[1]))
        summed = Seen(**part("seen")), Episodes(**part("episodes"))
        S, A, rows = len(found["states"]), len(found["actions"]), part("rows")
        _check(summed, rows, S, A, len(found["units"] or (None,)))
        if not rows:
            return cls(counts=counts_of(summed[0], S, A), kept=None, summed=summed, **found)
        told_rows: dict[str, Any] = {"propensity": None} | rows
        kept = Rows(**told_rows)
        counts = tally(S, A, kept.s, kept.a, kept.r, kept.t)
        return cls(counts=counts, kept=kept, **found)

    def names(self) -> tuple[Names, Names]:
        """States and actions as a `Policy` names them."""
        return (
            Names("state", self.S, self.states, names=_columns(self.variables, self.over)),
            Names("action", self.A, self.actions, names=_columns(self.action_variables, False)),
        )

    def policy(self) -> Policy:
        """The behaviour as a policy, in the log's own labels, without what is banned."""
        states, actions = self.names()
        return Policy(
            restricted(self.behaviour, self.allowed),
            states,
            actions,
            seen=self.left | self.terminal,
            declared=self.declared,
        )

    def as_prior(self, task: Task, states: Names, actions: Names) -> LearnedModel:
        """What a log says of a world, as a model; see `gim.run(..., prior=log)`.

        Its labels must be those of the world; a recorded end that the world has no state for is
        left out.

        Args:
            task: sizes and available pairs of the world.
            states, actions: what the world calls them.
        """
        s_of, a_of = found_in(self, states, actions)
        seen = self.triples
        if self.over:
            seen = seen.where(seen.t < self.S - 1)
        seen = seen._replace(s=s_of[seen.s], a=a_of[seen.a], t=s_of[seen.t])
        impossible = ~task.available[seen.s, seen.a]
        if impossible.any():
            k = int(impossible.argmax())
            raise ValueError(
                f"the log plays {actions[int(seen.a[k])]!r} in {states[int(seen.s[k])]!r}, which "
                "the world does not allow"
            )
        counts = counts_of(seen, task.S, task.A)
        terminal = np.zeros(task.S, bool)
        known = np.flatnonzero(self.terminal[: len(s_of)])
        terminal[s_of[known]] = True
        visits = np.array([counts.n.sum()])
        belief = Knowledge(counts, terminal, no_prior(0, 0), visits, np.array([0]))
        return believed_model(belief, task)

    def __repr__(self) -> str:
        seen, of, *_ = self.coverage
        return (
            f"<Log of {_many(len(self), 'transition')}: {_many(self.S, 'state')}, "
            f"{_many(self.A, 'action')}, {seen} of {of} pairs seen, "
            f"{_many(int(self.episodes.n.sum()), 'episode')}>"
        )

    def _repr_html_(self) -> str:
        return html.text("Log", self.describe())

    def describe(self) -> str:
        """What the log holds, as text: a line for each fact."""
        seen, of, median, most = self.coverage
        episodes = self.episodes
        middle = "" if self.kept is None else f", {np.median(self.returns):.4g} in the median"
        units, goes_on = self.units, ~self.terminal
        may = "in each state the actions seen there, and those inferred by analogy"
        if self.available is not None:
            may = (
                f"{int(self.allowed[goes_on].sum())} of {goes_on.sum() * self.A} pairs, as was said"
            )
        facts = [
            ("transitions", f"{len(self)} in {_many(int(episodes.n.sum()), 'episode')}, "
             f"the longest of {self.longest}"),
            ("states", f"{self.S}, {int(self.left.sum())} of them left, {int(self.terminal.sum())} "
             "that end an episode"),
            ("actions", f"{self.A}"),
            ("pairs", f"{seen} of {of} seen, {median:g} visits in the median, {most} at most"),
            ("returns", f"{episodes.mean:.4g} in the mean{middle}, {episodes.least.min():.4g} to "
             f"{episodes.most.max():.4g}"),
            ("units", units and f"{len(units):,}, of {int(episodes.steps.min()):,} to "
             f"{int(episodes.steps.max()):,} transitions"),
            ("kept", self.kept is None and "counts, no rows: nothing is said by importance "
             "sampling, or by halves of the log"),
            ("states", self.variables and str(self.variables)[1:-1]),
            ("actions", self.action_variables and str(self.action_variables)[1:-1]),
            *(("bins", f"{shown(column)}: {', '.join(f'{edge:.6g}' for edge in edges)}")
              for column, edges in self.bins.items()),
            ("possible", may),
            ("banned", self.banned and f"{_many(self.banned, 'row')} with what available= leaves "
             "out: they count as observations, but no policy plays so"),
            ("cut off", self.truncated and f"{_many(self.truncated, 'episode')} that end in a "
             "state left"),
            ("gaps", (gaps := int(episodes.gaps.sum())) and f"{_many(gaps, 'row')} after one that "
             "is left out or missing: what episodes say of policies ends there"),
            ("censored", self.censored and f"{_many(self.censored, 'row')} without a next state"),
            *(("left out", f"{_many(n, 'row')}, {shown(why)}") for why, n in self.problems.items()),
        ]  # fmt: skip
        return "\n".join(f"{what:<12} {text}" for what, text in facts if text)


def _check(
    summed: tuple[Seen, Episodes], rows: Mapping[str, NDArray[Any]], S: int, A: int, U: int
) -> None:
    """Refuse a file whose numbers are those of no log."""
    seen, episodes = summed
    limits = {"unit": U, "s": S, "a": A, "t": S}
    tables = [seen._asdict(), rows] if rows else [seen._asdict()]
    for table in tables:
        if len({len(each) for each in table.values()}) != 1 or not len(table["s"]):
            raise ValueError("holds a log whose columns differ in length, or are empty")
        for name, n in limits.items():
            if name in table and not ((table[name] >= 0) & (table[name] < n)).all():
                raise ValueError(
                    f"holds a log with a number of {name} that is not from 0 to {n - 1}"
                )
    if any(each.shape != (U,) for each in episodes) or not (seen.n > 0).all():
        raise ValueError("holds a log whose counts are none")


class _ByUnit(Mapping[Any, Log]):
    """The logs of units, each made when it is asked for."""

    def __init__(self, log: Log) -> None:
        self.log, seen = log, log.triples
        self.place = {unit: k for k, unit in enumerate(log.units or ())}
        ends = np.arange(len(self.place) + 1)
        self.of_triples = np.searchsorted(seen.unit, ends)
        self.order = np.zeros(0, np.int64)
        if log.kept is not None and log.kept.unit is not None:
            self.order = np.argsort(log.kept.unit, kind="stable")
            self.of_rows = np.searchsorted(log.kept.unit[self.order], ends)

    def __getitem__(self, unit: Any) -> Log:
        k, log = self.place[unit], self.log
        alone = replace(log, units=None, skipped=0, problems={}, censored=0)
        if log.kept is not None:
            rows = self.order[self.of_rows[k] : self.of_rows[k + 1]]
            return alone._of(log.kept._replace(unit=None), rows)
        part = slice(self.of_triples[k], self.of_triples[k + 1])
        seen = log.triples.where(part)
        seen = seen._replace(unit=seen.unit * 0)
        own: Any = [each[k : k + 1] for each in log.episodes]
        return replace(alone, counts=counts_of(seen, log.S, log.A), summed=(seen, Episodes(*own)))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.place)

    def __len__(self) -> int:
        return len(self.place)


def _columns(variables: Variables | None, over: bool) -> tuple[str, ...] | None:
    """The names of variables, where labels are tuples of them."""
    several = variables is not None and len(variables.names) > 1 and not over
    return variables.names if several and variables is not None else None


def _by_first(codes: NDArray[Any], n: int) -> NDArray[np.int64]:
    """The numbers 0 to n - 1, those that occur first by where they first do."""
    first = np.full(n, codes.size, np.int64)
    met, place = np.unique(codes, return_index=True)
    first[met] = place
    return np.argsort(first, kind="stable")


def _many(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def found_in(log: Log, states: Names, actions: Names) -> tuple[Any, Any]:
    """The numbers that a world gives to the log's states (without a recorded end) and actions."""
    found = []
    for own, theirs, n in zip(log.names(), (states, actions), (-log.over, 0), strict=True):
        number = matched(own, theirs)[: n or None]
        if (lost := np.flatnonzero(number == NONE)).size:
            raise ValueError(
                f"{lost.size:,} of the {number.size:,} {own.kind}s of the log are no {own.kind} of "
                f"the world: {unmatched(own, lost)}; those of the world are {some_of(theirs)}"
            )
        found.append(number)
    return found[0], found[1]
