"""Brings a policy to the names of where it is used: a world, a log, another policy.

The one place where that is done. What goes by the same name is the same state, or the same action,
in whatever order either side has them: first by label, then by the values of variables (by the
variables' names where both have the same ones), then by number. One variable is as good as a
label, and where nothing has a name the numbers are the names. Numbers stand for a place in order
only where there is nothing else to go by: a policy has numbers and nothing else, and there are as
many texts or tuples where it is used.

Steps go by number, so both sides must have equally many. What has no match is said in one line.
Bare arrays go by position; a function or a mapping of states to actions is asked by name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gim.mdp.names import Names
from gim.mdp.policy.policy import Policy

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
GivenPolicy: TypeAlias = ArrayLike | Policy | Mapping[Any, Any] | Callable[[Any], Any]

NONE = -1  # in place of a number: nothing has this name
SHOWN = 5  # names that a message lists
LONGEST = 60  # letters of one of them


class Place(NamedTuple):
    """Where a policy is used."""

    what: str  # "world", "log"
    states: Names
    actions: Names
    acts: Bools  # [S] where an action is needed: nobody acts at an end
    spare: Ints  # [S] what is played elsewhere: an action that can be
    horizon: int | None = None  # H; None: the policy must be the same at every step
    whole: bool = True  # whether there are no other states; a log has those that were met


def as_array(given: Any, place: Place) -> Any:
    """A policy as actions [S] or [H, S] or probabilities [S, A] or [H, S, A], by a place's numbers.

    Args:
        given: a `Policy`, matched by name; a function or a mapping of states to actions; all else
            is left as it is: an array goes by position.
        place: where it is used.

    Raises:
        ValueError: something that the place needs has no match.
    """
    if isinstance(given, Policy):
        return _aligned(given, place)
    if not goes_by_name(given):
        return given
    states, found = place.states, place.spare.astype(np.int64)
    for s in np.flatnonzero(place.acts).tolist():
        name = states[s]
        if isinstance(given, Mapping):
            name = name if name in given else _plain(name)
            if name not in given:
                raise ValueError(f"the policy says nothing of state {name!r}")
        action = given[name] if isinstance(given, Mapping) else given(name)
        found[s] = place.actions.find(action, f"this {place.what}")
    return found


def known_in(policy: Policy, place: Place) -> Bools:
    """[S] the states of a place of which a policy says something."""
    states = matched(place.states, policy.states, policy.states)
    seen = np.ones(len(policy.states), bool) if policy.seen is None else policy.seen
    return (states != NONE) & seen[states]


def fit(policy: Policy, place: Place) -> int:
    """How many states and actions have a match: what tells between two sets of names of a place."""
    states = matched(place.states, policy.states, policy.states)
    actions = matched(policy.actions, place.actions, policy.actions)
    return int((states != NONE).sum() + (actions != NONE).sum())


def goes_by_name(given: Any) -> bool:
    """Whether this is a policy in names, and not an array of numbers."""
    if isinstance(given, (Policy, Mapping)):
        return True
    return callable(given) and not hasattr(given, "__array__")


def matched(wanted: Names, among: Names, bare: Names | None = None) -> Ints:
    """The number in `among` of each name in `wanted`, [n]; NONE where none is the same.

    Args:
        wanted, among: of states, or of actions.
        bare: which of both goes by the other's order if it has numbers and nothing else.

    Example:
        >>> matched(Names("state", 3, ["low", "mid", "high"]), Names("state", 2, ["high", "low"]))
        array([ 1, -1,  0])
    """
    if wanted is among or wanted == among:
        return np.arange(len(wanted))
    best, most = np.full(len(wanted), NONE, np.int64), 0
    for keys in _keys(wanted):
        for others in _keys(among, wanted.names):
            if keys.ordered and others.ordered and not _both_numbers(wanted, among, bare):
                continue
            number: dict[Hashable, int] = {}
            for k, key in enumerate(others.keys):
                number[key] = NONE if key in number else k
            found = np.array([number.get(key, NONE) for key in keys.keys], np.int64)
            if (hits := int(np.count_nonzero(found != NONE))) > most:
                best, most = found, hits
    if not most and _in_order(wanted, among, bare):
        return np.arange(len(wanted))
    return best


def unmatched(names: Names, missing: Ints) -> str:
    """The first names of those that have no match, for a message."""
    some = ", ".join(_short(_plain(names[int(k)])) for k in missing[:SHOWN])
    return f"{some}{', ...' if missing.size > SHOWN else ''}"


def _short(name: Hashable) -> str:
    text = repr(name)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def some_of(names: Names) -> str:
    """The first names and how many there are, for a message."""
    return f"{unmatched(names, np.arange(min(len(names), SHOWN + 1)))} ({len(names):,} in all)"


def _aligned(policy: Policy, place: Place) -> NDArray[Any]:
    if None not in (policy.horizon, place.horizon) and policy.horizon != place.horizon:
        raise ValueError(
            f"this policy is for {policy.horizon} steps and the horizon is {place.horizon}: make "
            f"one for {place.horizon} steps, or give a horizon of {policy.horizon}"
        )
    states = matched(place.states, policy.states, policy.states)
    lost = np.flatnonzero((states == NONE) & place.acts)
    if lost.size:
        raise ValueError(
            f"this policy does not fit the {place.what}: {lost.size:,} of the "
            f"{len(place.states):,} states there have no match in it: "
            f"{unmatched(place.states, lost)}; its own are {some_of(policy.states)}"
        )
    if place.whole:
        _check_places(policy.states, place)
    actions = matched(policy.actions, place.actions, policy.actions)
    array = np.asarray(policy)
    if np.array_equal(states, np.arange(len(policy.states))) and np.array_equal(
        actions, np.arange(len(place.actions))
    ):
        return array
    asked = states != NONE
    if array.dtype.kind != "f":
        found = actions[array[..., states]]
        _check_played(policy, place, np.unique(array[..., states[place.acts]]), actions)
        return np.where(asked & (found != NONE), found, place.spare)
    _check_played(policy, place, _drawn(array[..., states[place.acts], :]), actions)
    kept = np.flatnonzero(actions != NONE)
    chances = np.zeros((*array.shape[:-2], len(place.states), len(place.actions)))
    chances[..., actions[kept]] = array[..., states, :][..., kept]
    elsewhere = np.flatnonzero(~(asked & place.acts))
    chances[..., elsewhere, :] = np.eye(len(place.actions))[place.spare[elsewhere]]
    return chances


def _drawn(chances: NDArray[Any]) -> Ints:
    """The actions that are drawn somewhere."""
    return np.flatnonzero((chances > 0).any(axis=tuple(range(chances.ndim - 1))))


def _check_played(policy: Policy, place: Place, played: Ints, actions: Ints) -> None:
    lost = played[actions[played] == NONE]
    if lost.size:
        raise ValueError(
            f"this policy does not fit the {place.what}: {lost.size:,} of the actions that it "
            f"plays have no match there: {unmatched(policy.actions, lost)}; those of the "
            f"{place.what} are {some_of(place.actions)}"
        )


def _check_places(states: Names, place: Place) -> None:
    """Numbers alone do not tell one world from another: there must be equally many."""
    if _bare(states) and _bare(place.states) and len(states) > len(place.states):
        raise ValueError(
            f"this policy is for {len(states):,} states without names, the {place.what} has "
            f"{len(place.states):,}: {len(states) - len(place.states):,} have no match"
        )


class _Keys(NamedTuple):
    """One way of calling things."""

    keys: Sequence[Hashable]
    ordered: bool  # whether they are nothing but places in an order


def _keys(names: Names, like: tuple[str, ...] | None = None) -> list[_Keys]:
    """The ways of calling them, the best first; variables in the order of those `like` them."""
    found = []
    if names.labels is not None:
        found.append(_Keys([_plain(label) for label in names.labels], False))
    if names.variables is not None:
        rows = names.variables
        if like and like != names.names and sorted(like) == sorted(names.names):
            order = [names.names.index(name) for name in like]
            rows = [tuple(row[j] for j in order) for row in rows]
        found.append(_Keys([_plain(row) for row in rows], False))
    if names.labels is None and (names.variables is None or len(names.variables[0]) > 1):
        found.append(_Keys(range(len(names)), True))
    return found


def _plain(name: Hashable) -> Hashable:
    """A tuple of one as what it holds."""
    return name[0] if isinstance(name, tuple) and len(name) == 1 else name


def _bare(names: Names) -> bool:
    """Whether they have numbers and nothing else."""
    return names.labels is None and names.variables is None


def _both_numbers(wanted: Names, among: Names, bare: Names | None) -> bool:
    """Whether these go by number, though one of them may have variables."""
    return (_bare(wanted) or _bare(among)) and (bare is None or _bare(bare))


def _in_order(wanted: Names, among: Names, bare: Names | None) -> bool:
    """Whether the numbers of `bare`, if it has nothing else, can only be places in the order."""
    named = among if bare is wanted else wanted
    if bare is None or not _bare(bare) or _bare(named):
        return False
    if any(isinstance(key, (int, float)) for keys in _keys(named) for key in keys.keys):
        return False  # they could have been found by number, and were not
    if bare is wanted and bare.kind == "action":
        return len(bare) <= len(named)  # an array tells only of the actions that it plays
    return len(bare) == len(named)
