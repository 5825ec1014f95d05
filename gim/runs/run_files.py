"""What the file of a run may hold: checked before any of it is put into a run.

A file can carry a valid checksum and still hold what no run has left there. Its memory is checked
by `gim._compile.memory`, its world and prior as any MDP is; here are the clock and all that is not
an array.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim._base.arguments import as_whole
from gim._compile.memory import COUNT

NUMBER = (int, float)
GENERATOR = {  # the state of numpy's PCG64, with the bits of each number
    "bit_generator": str,
    "has_uint32": 1,
    "uinteger": 32,
    "state": {"state": 128, "inc": 128},
}
CHANGE = {
    "since": 53,
    "what": [str],
    "nats": NUMBER,
    "visits": 53,
    "pairs": [53],
    "unit": str,
    "told": 53,
}
META = {
    "agent": str,
    "seed": 64,
    "episodes": 53,
    "horizon": 53,
    "thought": bool,
    "budget": (*NUMBER, None),
    "owed": bool,
    "mind": {
        "episode": 53,
        "plans": 53,
        "walk_plans": 53,
        "explored_at": (53, None),
        "notes": [str],
        "seconds": {str: NUMBER},
        "changes": [CHANGE],
    },
    "random": {"world": GENERATOR, "agent": GENERATOR, "thinking": GENERATOR},
    "priors": [dict],
}
ONE_OF = {"world": dict, "env": {"id": str, "kwargs": dict}}  # a table, or how to make it


def check_meta(meta: dict[str, Any]) -> None:
    """Refuse meta that no run has: incomplete, strange, of another type or out of range."""
    meta.setdefault("budget", None)  # earlier versions had none, and noticed no change
    meta.setdefault("owed", False)
    if isinstance(meta.get("mind"), dict):
        meta["mind"].setdefault("changes", [])
    kinds = [key for key in ONE_OF if key in meta]
    if len(kinds) != 1:
        raise ValueError("meta needs a world or an env, and only one of them")
    form = META | {kinds[0]: ONE_OF[kinds[0]]}
    _fits("meta", meta, form)
    names = {state["bit_generator"] for state in meta["random"].values()}
    if names != {"PCG64"}:
        raise ValueError(f"meta.random is of {', '.join(sorted(names))}: runs draw from PCG64")


def check_clock(
    clock: Any, returns: NDArray[Any], episodes: int, task: Any, ends: NDArray[Any] | None
) -> None:
    """Refuse a clock or returns that no run of so many episodes in this task can show.

    Args:
        clock: `gim.runs.loop.Clock`.
        returns: of the episodes that are over.
        episodes, task: what the run is of.
        ends: the states [S] that end an episode, or None where they are not known.
    """
    episode, h, s, steps = (int(x[0]) for x in (clock.episode, clock.h, clock.s, clock.steps))
    if returns.shape != (episode,) or returns.dtype != float:
        raise ValueError(
            f"returns has shape {returns.shape} of {returns.dtype}, not {(episode,)} of float64"
        )
    if not (np.isfinite(returns).all() and np.isfinite(clock.total[0])):
        raise ValueError("returns or the clock's total hold a number that is not finite")
    if not (0 <= episode <= episodes and 0 <= h < task.H and 0 <= s < task.S):
        raise ValueError(f"the clock stands at episode {episode}, step {h}, state {s}: no such")
    if h > 0 and (episode == episodes or (ends is not None and ends[s])):
        raise ValueError(f"the clock stands at step {h} of an episode that is over")
    if not episode + h <= steps <= min(COUNT, episode * task.H + h):
        raise ValueError(f"the clock counts {steps} steps in {episode} episodes of {task.H}")


def check_kept(
    kept: Mapping[str, NDArray[Any] | None], arrays: Mapping[str, NDArray[Any]], S: int, A: int
) -> None:
    """Refuse a trail, or counts of where episodes began, that no run of such a task has."""
    within: dict[str, tuple[float, float]] = {
        "trail": (-1, S * A - 1),
        "trail.next": (-1, S - 1),
        "trail.r": (-np.finfo(float).max, np.finfo(float).max),
        "starts": (0, COUNT),
    }
    for name, array in kept.items():
        if array is None or name not in arrays:
            if name in arrays:
                raise ValueError(f"the run holds {name}, but its world has a table")
            continue
        given, (least, most) = arrays[name], within[name]
        if given.shape != array.shape or given.dtype != array.dtype:
            form = f"{array.shape} of {array.dtype}"
            raise ValueError(f"{name} has shape {given.shape} of {given.dtype}, not {form}")
        if given.size and not least <= given.min() <= given.max() <= most:
            raise ValueError(f"{name} holds a number that is not from {least:g} to {most:g}")


def _fits(place: str, value: Any, form: Any) -> None:
    """Raise unless a value has a form.

    A form is a type, a number of bits, None, several of these, a list of one form, or a mapping of
    keys to forms; the key `str` stands for any number of them.
    """
    if isinstance(form, dict):
        if not isinstance(value, dict):
            raise ValueError(f"{place} is {_shown(value)}, not a table")
        if str in form:
            form = dict.fromkeys(value, form[str])
        if strange := form.keys() ^ value.keys():
            what = "lacks" if min(strange) in form else "should not hold"
            raise ValueError(f"{place} {what} {min(strange)!r}")
        for key, inner in form.items():
            _fits(f"{place}.{key}", value[key], inner)
    elif isinstance(form, list):
        if not isinstance(value, list):
            raise ValueError(f"{place} is {_shown(value)}, not a list")
        for i, item in enumerate(value):
            _fits(f"{place}[{i}]", item, form[0])
    elif not any(_is(value, one) for one in (form if isinstance(form, tuple) else (form,))):
        raise ValueError(f"{place} is {_shown(value)}, which no run has there")


def _is(value: Any, form: Any) -> bool:
    if form is None:
        return value is None
    if type(form) is int:
        number = as_whole(value)
        return number is not None and 0 <= number < 1 << form
    if form in NUMBER:
        return type(value) in NUMBER and abs(value) < np.inf  # NaN is not
    return type(value) is form


def _shown(value: Any) -> str:
    return repr(value) if len(repr(value)) < 60 else f"a {type(value).__name__}"
