"""What `available=` of a log forbids: no policy made from the log plays it, whoever did before.

Rows that break it still say how the world works. They count as observations; what is planned,
recommended, compared or kept goes without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim._base.arguments import several
from gim._base.params import brief

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

NAMED = 5  # states that a message names


def allowed_pairs(
    given: Any, states: Sequence[Any], actions: Sequence[Any], terminal: Bools, over: bool
) -> Bools:
    """The pairs [S, A] that may be played, from `available=` of `gim.from_log`.

    In each state that does not end episodes one is left at least. Of the recorded end that the last
    state stands for, if `over`, nobody is asked.
    """
    S, A = len(states), len(actions)
    if callable(given) and not hasattr(given, "__array__"):
        asked = states[:-1] if over else states
        may = np.ones((S, A), bool)
        may[: len(asked)] = [[bool(given(s, a)) for a in actions] for s in asked]
    else:
        may = _table(given, states, actions)
    banned = np.flatnonzero(~may.any(axis=1) & ~terminal)
    if banned.size:
        raise ValueError(
            f"available= bans every action of {some_of(states, banned)}: allow one that the log "
            f"has, such as {brief(actions[0])}, or leave rows of such states out"
        )
    may[~may.any(axis=1)] = True
    return may


def _table(given: Any, states: Sequence[Any], actions: Sequence[Any]) -> Bools:
    S, A = len(states), len(actions)
    if isinstance(given, str):
        if given != "all":
            raise ValueError(f'available = {given!r}: give "all", a mapping, a function or [S, A]')
        return np.ones((S, A), bool)
    if isinstance(given, Mapping):
        each = {s: given.get(s, ()) for s in states}
        may = [set(several(f"available[{s!r}]", its, "its actions")) for s, its in each.items()]
        return np.array([[a in its for a in actions] for its in may])
    table = np.asarray(given)
    if table.shape != (S, A) or table.dtype != bool:
        raise ValueError(f"available must be bool [{S}, {A}], in the order of the log's labels")
    return table.copy()


def restricted(chances: Floats, allowed: Bools) -> Floats:
    """A policy [S, A] without what is banned, renormalised; where nothing is left, all alike."""
    kept = np.where(allowed, chances, 0.0)
    kept = np.where(kept.any(axis=1, keepdims=True), kept, allowed)
    changed = (kept != chances).any(axis=1, keepdims=True)
    return np.where(changed, kept / kept.sum(axis=1, keepdims=True), chances)


def restriction(chances: Floats, allowed: Bools, where: Bools, log: Any) -> list[str]:
    """In words what `restricted` changes in some states [S] of a log, ends left out."""
    barred = (np.where(allowed, 0.0, chances).sum(axis=1) > 0) & where & ~log.terminal
    lost = np.flatnonzero(barred & ~np.where(allowed, chances, 0.0).any(axis=1))
    if not barred.any():
        return []
    text = (
        f"the baseline plays what available= bans in {some_of(log.states, np.flatnonzero(barred))}:"
        " it is taken without that, renormalised"
    )
    if lost.size:
        text += f"; where nothing is left, in {some_of(log.states, lost)}, it plays all that is "
        text += "allowed alike"
    return [text]


def check_allowed(policy: NDArray[Any], log: Any, who: str) -> None:
    """Raise if a policy, in any of its four forms, plays a banned pair of a log somewhere."""
    plays = np.zeros(log.allowed.shape, bool)
    if policy.dtype.kind == "f":
        plays |= (policy > 0).reshape(-1, *plays.shape).any(axis=0)
    else:
        plays[np.broadcast_to(np.arange(len(plays)), policy.shape), policy] = True
    wrong = np.argwhere(plays & ~log.allowed & ~log.terminal[:, None])
    if len(wrong):
        s, a = wrong[0].tolist()
        where = some_of(log.states, np.unique(wrong[:, 0]))
        raise ValueError(
            f"{who} plays what available= of the log bans in {where}: {brief(log.actions[a])} in "
            f"{brief(log.states[s])} to begin with; give one that plays what is allowed"
        )


def some_of(states: Sequence[Any], which: NDArray[np.int64]) -> str:
    """States by name, a few of them, and how many there are."""
    first = ", ".join(brief(states[s]) for s in which[:NAMED].tolist())
    if which.size == 1:
        return f"state {first}"
    return f"{which.size:,} states ({first}{', ...' if which.size > NAMED else ''})"
