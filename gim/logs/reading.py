"""`gim.from_log`: a table of what happened becomes counts."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gim._base.arguments import several
from gim.logs.bans import allowed_pairs
from gim.logs.faults import Faults
from gim.logs.labels import Keys
from gim.logs.log import Log, Rows
from gim.logs.minari import is_dataset
from gim.logs.order import END, followed
from gim.logs.start import range_of, start_in
from gim.logs.table import Part, Table
from gim.model.tally import tally

MOST_PAIRS = 1 << 24  # pairs of a state and an action that are counted
Names = str | Sequence[str]


def from_log(
    source: Any,
    *,
    state: Names = "s",
    action: Names = "a",
    reward: str = "r",
    next_state: Names | None = "s2",
    episode: str | None = None,
    step: str | None = None,
    done: str | None = None,
    propensity: str | None = None,
    available: Any = None,
    bins: Mapping[str, Any] | None = None,
    strict: bool = True,
    start: Any = None,
    reward_range: tuple[float, float] | None = None,
) -> Log:
    """Read a log of transitions.

    Args:
        source: the path of a CSV or Parquet file, a frame of pandas or polars, a pyarrow table, a
            mapping of names to columns, rows: tuples (s, a, r, s2[, done]) or mappings, or a
            dataset in the form of Minari, whose episodes and ends are known.
        state, action: the column of the state, of the action; several make it of variables.
        reward: the column of the reward.
        next_state: the column or columns of the next state; None: it is the state of the next row
            of the episode. The last row of an unfinished episode then leads nowhere: it is left out
            and counted (`log.censored`).
        episode: the column that tells episodes apart, in any order. Without one, an episode ends
            where `done` says so, and where a next state is not the next row's state.
        step: the column of the step within the episode, by which rows are put in order.
        done: the column that says whether the row ended its episode: True, False, 0 or 1.
        propensity: the column of the probability with which the action was chosen.
        available: which actions may be played: "all"; a mapping of states to their actions; a
            function of a state and an action; or an array, bool [S, A]. What it leaves out is
            banned, also where it was done (`log.banned` rows): no policy made from the log plays
            it, though its rows count as observations.
        bins: numeric columns to be binned: the number of bins, or their edges, by column.
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
    names, actions, after = _names("state", state), _names("action", action), None
    if next_state is not None:
        after = _names("next_state", next_state)
        if len(after) != len(names):
            raise ValueError(
                f"{len(names)} columns of state, but {len(after)} of next_state: name as many, or "
                "give next_state=None, which takes them from the next row of the episode"
            )
    if not isinstance(bins, (Mapping, type(None))):
        raise ValueError(f"bins = {bins!r}: give a mapping of columns to bins")
    bins = dict(bins or {})
    if unknown := set(bins) - {*names, *actions}:
        raise ValueError(f"bins: {min(unknown)!r} is no column of state or action")
    of_states = [
        Part(name, None if after is None else after[j], bins.get(name))
        for j, name in enumerate(names)
    ]
    of_actions = [Part(name, None, bins.get(name)) for name in actions]
    more = {"reward": reward, "episode": episode, "step": step, "done": done}
    more["propensity"] = propensity
    for what, name in more.items():
        if not (isinstance(name, str) and name) and (name is not None or what == "reward"):
            raise ValueError(f"{what} = {name!r}: give the name of a column")
    table = Table(source, [*of_states, *of_actions], more)
    faults = Faults(table.n, bool(strict))
    table.checked(faults)
    levels, here, there = zip(*(part.codes(faults) for part in of_states), strict=True)
    keys = Keys(of_states, levels)
    s_key, t_key = keys(here), None if after is None else keys(there)
    levels, played, _ = zip(*(part.codes(faults) for part in of_actions), strict=True)
    of_action = Keys(of_actions, levels)
    a_key = of_action(played)
    del here, there, played
    for remark in (remark for part in [*of_states, *of_actions] for remark in part.remarks):
        warnings.warn(remark, stacklevel=2)
    where = (names if after is None else after)[0]
    order = followed(table, faults, s_key, t_key, where)
    faults.settle()
    if not order.rows.size:
        raise ValueError(_nothing_left(table.n, faults, order.censored))
    met, (s, t) = keys.numbered(s_key[order.rows], order.next)
    met_actions, (a,) = of_action.numbered(a_key[order.rows])
    over = bool((t == END).any())
    t[t == END] = met.size
    _check_size(met.size + over, met_actions.size)
    states, acts = keys.made(met, "state", over), of_action.made(met_actions, "action")
    p = table.columns["propensity"][order.rows] if propensity is not None else None
    r = table.columns["reward"][order.rows]
    rows = Rows(order.episode, s, a, r, t, order.done, p, order.resumed)
    told = None if reward_range is None else range_of(reward_range, r)
    log = Log(
        counts=tally(len(states.labels), len(acts.labels), s, a, r, t),
        states=tuple(states.labels),
        actions=tuple(acts.labels),
        variables=states.variables,
        action_variables=acts.variables,
        rows=rows,
        bins={part.name: part.edges for part in [*of_states, *of_actions] if part.bins is not None},
        skipped=int(faults.bad.sum()),
        problems=faults.reasons,
        censored=order.censored,
        over=over,
        given_start=None if start is None else start_in(start, states.labels, over),
        reward_range=told,
    )
    if available is None:
        return log
    may = allowed_pairs(available, log.states, log.actions, log.terminal, over)
    return replace(log, available=may)


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


def _nothing_left(n: int, faults: Faults, censored: int) -> str:
    if censored and not faults.reasons:
        return f"no row of {n} can be used: next states are missing, and no next row says them"
    reason = max(faults.reasons, key=faults.reasons.__getitem__, default="none is placed")
    return f"no row of {n} can be used; the most frequent reason: {reason}"
