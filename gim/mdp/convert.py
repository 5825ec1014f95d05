"""Ways into a `TabularMDP`: a list of outcomes, a step function, a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from contextlib import nullcontext
from itertools import product
from typing import Any, Unpack

import gymnasium
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._base.arguments import number as real
from gim._base.arguments import several, whole
from gim._base.limits import bounded_memory, too_large
from gim._base.registry import did_you_mean
from gim.mdp.gymnasium_table import (
    NoTable,
    actions_of_env,
    check_wrappers,
    endings,
    layout_of,
    limit_of,
    read_table,
    variables_of_env,
)
from gim.mdp.tabular import Options, TabularMDP

__all__ = ["NoTable", "from_gymnasium", "from_outcomes", "from_step"]

DENSE_BYTES = 2**20  # up to here a dense table is always kept: small ones plan faster so
LARGE = 2**24  # pairs from which on memory is looked at beforehand

FOLLOWS = "(probability, next state, reward) each"
Outcome = tuple[Any, Any, Any, float, float]  # s, a, s', p, r
Step = Callable[[Any, Any], Iterable[tuple[float, Any, float]] | None]


def from_outcomes(
    outcomes: Iterable[Outcome], *, S: int | None = None, A: int | None = None, **options: Any
) -> TabularMDP:
    """Build an MDP from a list of what may happen.

    Args:
        outcomes: (s, a, s', p, r): playing a in s leads to s' with probability p and pays r. A
            pair that is not listed does not exist. Where the same (s, a, s') stands more than
            once, the probabilities add up and the reward is their expectation. States, or actions,
            may also be tuples or strings: they are numbered as they come, become the labels, and
            `start` and `terminal` are given in the same way; tuples become variables.
        S, A: numbers of states and actions; by default just those that are met.
        options: what else `TabularMDP` takes: start, horizon, terminal, labels, ...

    The table is stored sparse where that is smaller and a dense one would take over a megabyte.

    Example:
        >>> mdp = from_outcomes([(0, 0, 1, 0.9, 0), (0, 0, 0, 0.1, 0), (1, 0, 1, 1, 2)], horizon=3)
        >>> mdp.rewards
        array([[0.],
               [2.]])
        >>> cells = [((0, 0), "right", (0, 1), 1, -1), ((0, 1), "left", (0, 0), 1, -1)]
        >>> from_outcomes(cells, horizon=3).variables
        <Variables of 2: x0 0..0, x1 0..1>
    """
    if not isinstance(outcomes, np.ndarray):
        rows = several("outcomes", outcomes, "a list of (s, a, s', p, r)")
        outcomes, options = _unlabelled(rows, options)
    s, a, t, p, r = _columns(outcomes)
    S, A = _count("S", "state", S, np.append(s, t)), _count("A", "action", A, a)
    with bounded_memory() if S * A > LARGE else nullcontext():
        try:
            return _table(S, A, (s, a, t, p, r), options)
        except MemoryError as problem:
            raise ValueError(f"{S} states and {A} actions: {too_large(problem)}") from None


def _table(S: int, A: int, columns: tuple[NDArray[Any], ...], options: Any) -> TabularMDP:
    """Build it from columns of numbers, in the smaller form."""
    s, a, t, p, r = columns
    available = np.zeros((S, A), bool)
    available[s, a] = True
    some = p > 0
    pair, t, p, r = _merged((s * A + a)[some], t[some], p[some], r[some])
    P: Any = sparse.csr_array((p, (pair, t)), shape=(S * A, S))
    R: Any = sparse.csr_array((r, (pair, t)), shape=(S * A, S))
    by_pair = np.zeros(S * A)
    by_pair[pair] = r
    if alike := bool((by_pair[pair] == r).all()):  # every outcome of a pair pays the same
        R = by_pair.reshape(S, A)
    dense, small = S * A * S * 8, p.size * 12 + S * A * 4  # bytes of either form
    if dense <= max(DENSE_BYTES, small):
        P = P.toarray().reshape(S, A, S)
        R = R if alike else R.toarray().reshape(S, A, S)
    return TabularMDP(P, R, available=available, **options)


def from_step(
    step: Step,
    states: Collection[Hashable],
    actions: Collection[Hashable],
    *,
    start: Any = None,
    terminal: Collection[Hashable] = (),
    **options: Unpack[Options],
) -> TabularMDP:
    """Build an MDP from a function that tells what may happen.

    Args:
        step: `step(state, action)` gives all that may follow, as (p, next state, reward) each;
            None or an empty list says that the action does not exist in that state.
        states, actions: all of them; they become the labels.
        start: the first state, or a mapping of states to probabilities; the first of `states` by
            default.
        terminal: the states that end an episode; `step` is not asked about them.
        options: what else `TabularMDP` takes: horizon, discount, noise, ...

    Example:
        >>> def walk(place, move):
        ...     return [(1.0, min(max(place + move, 0), 3), -1.0)]
        >>> mdp = from_step(walk, states=range(4), actions=(-1, 1), terminal=[3], horizon=9)
        >>> mdp.optimal_return()
        -3.0
    """
    number = _numbered("state", states)
    moves = _numbered("action", actions)
    ends = {
        state: _find("terminal state", state, number)
        for state in several("terminal", terminal, "a list of states")
    }
    if not callable(step):
        raise ValueError(f"step = {step!r}: give a function of a state and an action")
    outcomes = []
    for state, action in product((s for s in number if s not in ends), moves):
        where = f"step({state!r}, {action!r})"
        follow = step(state, action)
        for outcome in several(where, () if follow is None else follow, FOLLOWS):
            try:
                p, follows, r = outcome
            except (TypeError, ValueError):
                raise ValueError(f"{where} gave {outcome!r}: give {FOLLOWS}") from None
            t = _find(f"next state of {where}", follows, number)
            outcomes.append((number[state], moves[action], t, p, r))
    options = {"state_labels": list(number), "action_labels": list(moves)} | options
    return from_outcomes(
        outcomes,
        S=len(number),
        A=len(moves),
        start=_first(start, number),
        terminal=list(ends.values()),
        **options,
    )


def from_gymnasium(env: Any, horizon: int | None = None) -> TabularMDP:
    """Read the transition table of a Gymnasium environment, such as the toy-text ones.

    States that an episode enters as terminated become absorbing. Where an episode can enter the
    same state as terminated and also go on in it, one more state is added for the end, and
    `info["extra_state"]` is its number. Only what can happen from the start decides this. Several
    outcomes with the same (s, a, s') that pay differently pay their expectation. The cells of a
    grid become the variables row and col, Taxi's states its four variables.

    Args:
        env: an environment with discrete spaces, `P` and `initial_state_distrib`; or an id.
        horizon: H; by default the environment's time limit.

    Raises:
        NoTable: the environment has no such table, or does not follow it.

    Example:
        >>> import gim
        >>> mdp = gim.from_gymnasium("FrozenLake-v1")
        >>> mdp.S, mdp.A, mdp.horizon, int(mdp.terminal.sum())
        (16, 4, 100, 5)
    """
    if isinstance(env, str):
        made = gymnasium.make(env)
        try:
            return from_gymnasium(made, horizon)
        finally:
            made.close()
    check_wrappers(env)
    inner, limit = env.unwrapped, limit_of(env)
    name = type(inner).__name__ if env.spec is None else env.spec.id
    if isinstance(ours := getattr(inner, "mdp", None), TabularMDP):
        wanted = limit if horizon is None else horizon
        return ours if wanted == ours.horizon else ours.with_(horizon=wanted)
    outcomes, ended = read_table(name, inner)
    if horizon is None and limit is None:
        raise ValueError(f"{name} has no time limit: give one, such as horizon=100")
    S, A = int(inner.observation_space.n), int(inner.action_space.n)
    start = np.asarray(inner.initial_state_distrib, float)
    terminal, extra = endings(outcomes, ended, start)
    info: dict[str, Any] = {"gymnasium": name}
    options: dict[str, Any] = {}
    if (called := actions_of_env(inner)) is not None and len(called) == A:
        options["action_labels"] = called
    if extra:
        info["extra_state"] = S
        options["state_labels"] = [*range(S), "end"]
        outcomes[ended & ~terminal[outcomes[:, 2].astype(int)], 2] = S
        start, terminal = np.append(start, 0.0), np.append(terminal, True)
    else:
        info |= layout_of(inner)
        made_of = variables_of_env(inner)
        if made_of is not None and len(made_of) == S:
            options["variables"] = made_of
    keep = ~terminal[outcomes[:, 0].astype(int)]
    return from_outcomes(
        outcomes[keep],
        S=S + extra,
        A=A,
        start=start,
        horizon=limit if horizon is None else horizon,
        terminal=terminal,
        name=name,
        info=info,
        **options,
    )


def _unlabelled(rows: list[Any], options: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Outcomes in numbers, and what the labels that stood there say besides."""
    first = rows[0] if rows and isinstance(rows[0], (tuple, list)) else ()
    if not any(isinstance(part, (tuple, str)) for part in first[:2]):
        return rows, options
    if any(not isinstance(row, (tuple, list)) or len(row) != 5 for row in rows):
        return rows, options  # for `_columns` to complain
    if isinstance(first[0], (tuple, str)):
        number = _numbered("state", [row[0] for row in rows] + [row[2] for row in rows], True)
        rows = [(number[row[0]], row[1], number[row[2]], *row[3:]) for row in rows]
        start = options.get("start")
        if not isinstance(start, (list, np.ndarray)):
            start = _first(start, number)
        ends = several("terminal", options.get("terminal", ()), "a list of states")
        ends = [_find("terminal state", state, number) for state in ends]
        options = {"state_labels": list(number)} | options | {"start": start, "terminal": ends}
    if isinstance(first[1], (tuple, str)):
        number = _numbered("action", [row[1] for row in rows], True)
        rows = [(row[0], number[row[1]], *row[2:]) for row in rows]
        options = {"action_labels": list(number)} | options
    return rows, options


def _columns(outcomes: Any) -> tuple[NDArray[Any], ...]:
    """The five columns of a list of outcomes, checked."""
    rows = outcomes if isinstance(outcomes, np.ndarray) else list(outcomes)
    try:
        table = np.asarray(rows, np.float64)
    except (TypeError, ValueError):
        table = np.zeros(0)
    if table.ndim != 2 or table.shape[1] != 5 or not len(table):
        raise ValueError("outcomes must be a list of (s, a, s', p, r), five numbers each")
    whole = table[:, :3]
    for bad, rule in (
        (~np.isfinite(table).all(axis=1), "holds NaN or an infinite number"),
        ((whole != np.abs(np.floor(whole))).any(axis=1), "needs whole s, a, s' from 0 on"),
        ((whole > 2**53).any(axis=1), "has an s, a or s' larger than any table"),
        (table[:, 3] < 0, "has a negative probability"),
    ):
        if bad.any():
            k = int(np.flatnonzero(bad)[0])
            row = rows[k].tolist() if isinstance(rows[k], np.ndarray) else rows[k]
            raise ValueError(f"outcome {k}, {tuple(row)}, {rule}")
    s, a, t = whole.astype(np.int64).T
    return s, a, t, table[:, 3], table[:, 4]


def _merged(
    pair: NDArray[Any], t: NDArray[Any], p: NDArray[Any], r: NDArray[Any]
) -> tuple[NDArray[Any], ...]:
    """Outcomes with the same (s, a, s') as one: their probability, their expected reward."""
    order = np.lexsort((t, pair))
    pair, t, p, r = pair[order], t[order], p[order], r[order]
    new = (np.diff(pair, prepend=-1) != 0) | (np.diff(t, prepend=-1) != 0)
    first = np.flatnonzero(new)
    if first.size == p.size:
        return pair, t, p, r
    total = np.add.reduceat(p, first)
    mean = np.add.reduceat(p * r, first) / total
    low, high = np.minimum.reduceat(r, first), np.maximum.reduceat(r, first)
    r = np.where(low == high, low, mean)  # equal rewards stay exact
    return pair[first], t[first], total, r


def _count(name: str, what: str, given: int | None, met: NDArray[Any]) -> int:
    n = int(met.max()) + 1
    if given is None:
        return n
    if whole(name, given) < n:
        raise ValueError(f"{what} {n - 1} is out of range: {name} = {given}")
    return int(given)


def _numbered(what: str, given: Iterable[Hashable], often: bool = False) -> dict[Any, int]:
    """Things and their numbers; each may stand there once, or as often as it likes."""
    things = several(f"{what}s", given, "a list of them")
    try:
        met = dict.fromkeys(things)
    except TypeError as problem:
        raise ValueError(f"a {what} is no number, text or tuple: {problem}") from None
    if not met:
        raise ValueError(f"give at least one {what}")
    if len(met) < len(things) and not often:
        twice = next(thing for k, thing in enumerate(things) if things.index(thing) != k)
        raise ValueError(f"{what} {twice!r} stands twice")
    return {thing: k for k, thing in enumerate(met)}


def _find(what: str, thing: Any, number: Mapping[Any, int]) -> int:
    if not isinstance(thing, Hashable) or thing not in number:
        hint = did_you_mean(str(thing), map(str, number)) if len(number) < 20 else ""
        raise ValueError(f"{what} {thing!r} is not one of the states given{hint}")
    return number[thing]


def _first(start: Any, number: Mapping[Any, int]) -> Any:
    if start is None:
        return 0
    if not isinstance(start, Mapping):
        return _find("start", start, number)
    share = np.zeros(len(number))
    for state, p in start.items():
        share[_find("start", state, number)] += real(f"start[{state!r}]", p)
    return share
