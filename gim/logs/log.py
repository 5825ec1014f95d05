"""The type `Log`: what happened, counted, with what it covers and who acted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._base.escapes import shown
from gim.analogy.prior import no_prior
from gim.analogy.unseen import Beginnings
from gim.belief.knowledge import Knowledge, believed_model
from gim.logs.bans import restricted
from gim.mdp.names import Names
from gim.mdp.policy import Policy
from gim.mdp.policy.alignment import NONE, matched, some_of, unmatched
from gim.mdp.variables import Variables
from gim.model.counts import Counts
from gim.model.learned import LearnedModel
from gim.model.tally import tally
from gim.model.task import Task

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Rows(NamedTuple):
    """The transitions one by one, episode by episode, [n] each."""

    episode: NDArray[np.int32]  # from 0, rising
    s: NDArray[np.int32]
    a: NDArray[np.int32]
    r: Floats
    t: NDArray[np.int32]  # the next state
    done: Bools  # whether the log says that the episode ended here
    propensity: Floats | None  # of the action, where the log has it
    resumed: Bools  # whether what came just before, in the episode, is missing or left out


class Coverage(NamedTuple):
    """How much of the pairs a log has seen."""

    seen: int  # pairs
    of: int  # pairs of the states that do not end an episode
    median: float  # visits of a pair that was seen
    most: int  # visits of the pair seen most often


@dataclass(frozen=True)
class Log:
    """A log of transitions, read by `gim.from_log`.

    Attributes:
        counts: n(s,a), R(s,a) and n(s'|s,a), the same as a run's; rewards by triple, too.
        states, actions: the labels, [S] and [A]; tuples where several columns make one.
        variables, action_variables: what they are made of, where that is known.
        rows: the transitions one by one.
        available: [S, A] the pairs that may be played, if that was said; None: nobody knows.
        bins: the edges of columns that were binned; an edge belongs to the bin above it.
        skipped: rows left out because something was wrong with them.
        problems: how many of them for which reason.
        censored: rows left out since nobody saw where they led: the last of unfinished episodes,
            and those before a row that is left out or missing.
        over: whether the last state stands for the end of an episode that was not recorded.
        given_start: [S] where episodes begin, if that was said, and what is missing to 1 in states
            that the log does not have; None: where its own do.
        reward_range: the least and the largest reward of a step, if that was said.
    """

    counts: Counts
    states: tuple[Any, ...]
    actions: tuple[Any, ...]
    variables: Variables | None
    action_variables: Variables | None
    rows: Rows
    available: Bools | None = None
    bins: dict[str, Any] = field(default_factory=dict)
    skipped: int = 0
    problems: dict[str, int] = field(default_factory=dict)
    censored: int = 0
    over: bool = False
    given_start: Floats | None = None
    reward_range: tuple[float, float] | None = None

    @property
    def S(self) -> int:
        """Number of states."""
        return len(self.states)

    @property
    def A(self) -> int:
        """Number of actions."""
        return len(self.actions)

    def __len__(self) -> int:
        return len(self.rows.s)

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
        ends[self.rows.t[self.rows.done]] = True
        return ends & ~self.left

    @cached_property
    def truncated(self) -> int:
        """Episodes that are marked as done in a state that was left at other times."""
        return int((~self.terminal[self.rows.t[self.rows.done]]).sum())

    @cached_property
    def allowed(self) -> Bools:
        """[S, A] the pairs that may be played: `available`, or all where nobody said."""
        return np.ones((self.S, self.A), bool) if self.available is None else self.available

    @cached_property
    def banned(self) -> int:
        """Rows that play what `available=` does not allow; they count as observations."""
        return int((~self.allowed[self.rows.s, self.rows.a]).sum())

    @cached_property
    def behaviour(self) -> Floats:
        """[S, A] the policy that made the log: how often each action was chosen in each state.

        With propensities, their mean over the visits of each pair. In a state never left: any
        allowed action alike. What was done is there, banned or not; `policy()` and the baseline of
        `gim.learn` go without what is banned.
        """
        weight = self.counts.n.astype(np.float64)
        if self.rows.propensity is not None:
            pair = self.rows.s.astype(np.int64) * self.A + self.rows.a
            total = np.bincount(pair, self.rows.propensity, self.S * self.A)
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
        begun = self.starts[~self.rows.resumed[self.starts]]
        begun = begun if begun.size else self.starts
        return np.bincount(self.rows.s[begun], minlength=self.S).astype(np.float64)

    @cached_property
    def beginnings(self) -> Beginnings:
        """Where episodes begin, and how well that is known."""
        may, told = ~self.terminal, self.given_start
        if told is not None:
            return Beginnings(told, np.zeros(0), may, listed=False)
        once = float((np.bincount(self.rows.t, minlength=self.S) == 1).sum())
        return Beginnings(self.start, self.begun, may, listed=False, once=once)

    @cached_property
    def as_met(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The states and the actions in the order in which rows have them, then all others.

        What is drawn goes by it: figures must not depend on how labels sort.
        """
        states = np.column_stack([self.rows.s, self.rows.t]).ravel()
        return _by_first(states, self.S), _by_first(self.rows.a, self.A)

    @cached_property
    def returns(self) -> Floats:
        """[episodes] the sum of rewards of each."""
        return np.add.reduceat(self.rows.r, self.starts)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """[episodes] the transitions of each."""
        return np.diff(np.append(self.starts, len(self)))

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
        whole = self.rows._replace(resumed=self.rows.resumed | dropped)
        kept: Any = [None if each is None else each[keep] for each in whole]
        kept[0] = np.unique(kept[0], return_inverse=True)[1].ravel().astype(np.int32)
        rows = Rows(*kept)
        counts = tally(self.S, self.A, rows.s, rows.a, rows.r, rows.t)
        return replace(self, rows=rows, counts=counts)

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
        keep = ~(self.rows.t == self.S - 1) if self.over else np.ones(len(self), bool)
        s, a, t = s_of[self.rows.s[keep]], a_of[self.rows.a[keep]], s_of[self.rows.t[keep]]
        impossible = ~task.available[s, a]
        if impossible.any():
            k = int(impossible.argmax())
            raise ValueError(
                f"the log plays {actions[int(a[k])]!r} in {states[int(s[k])]!r}, which the "
                "world does not allow"
            )
        counts = tally(task.S, task.A, s, a, self.rows.r[keep], t)
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
            f"{_many(len(self.starts), 'episode')}>"
        )

    def describe(self) -> str:
        """What the log holds, as text: a line for each fact."""
        seen, of, median, most = self.coverage
        low, middle, high = np.quantile(self.returns, (0.0, 0.5, 1.0))
        lines = [
            f"transitions  {len(self)} in {_many(len(self.starts), 'episode')}, the longest "
            f"of {self.lengths.max()}",
            f"states       {self.S}, {int(self.left.sum())} of them left, "
            f"{int(self.terminal.sum())} that end an episode",
            f"actions      {self.A}",
            f"pairs        {seen} of {of} seen, {median:g} visits in the median, {most} at most",
            f"returns      {self.returns.mean():.4g} in the mean, {middle:.4g} in the median, "
            f"{low:.4g} to {high:.4g}",
        ]
        for kind, made_of in (("states", self.variables), ("actions", self.action_variables)):
            if made_of is not None:
                lines.append(f"{kind:<12} {str(made_of)[1:-1]}")
        for column, edges in self.bins.items():
            lines.append(
                f"bins         {shown(column)}: {', '.join(f'{edge:.6g}' for edge in edges)}"
            )
        if self.available is None:
            lines.append(
                "possible     in each state the actions seen there, and those inferred by analogy"
            )
        else:
            goes_on = self.available[~self.terminal]
            lines.append(f"possible     {int(goes_on.sum())} of {goes_on.size} pairs, as was said")
        if self.banned:
            lines.append(
                f"banned       {_many(self.banned, 'row')} with what available= leaves out: they "
                "count as observations, but no policy plays so"
            )
        if self.truncated:
            lines.append(
                f"cut off      {_many(self.truncated, 'episode')} that end in a state left"
            )
        if gaps := int(self.rows.resumed.sum()):
            lines.append(
                f"gaps         {_many(gaps, 'row')} after one that is left out or missing: what "
                "episodes say of policies ends there"
            )
        if self.censored:
            lines.append(f"censored     {_many(self.censored, 'row')} without a next state")
        for reason, n in self.problems.items():
            lines.append(f"left out     {_many(n, 'row')}, {shown(reason)}")
        return "\n".join(lines)


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
