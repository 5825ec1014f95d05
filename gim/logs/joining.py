"""Two logs as one, by their labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gim.logs.labels import in_order
from gim.logs.triples import Rows, Seen, counts_of, merged, together
from gim.mdp.columns import tell
from gim.mdp.variables import Variables
from gim.model.tally import tally

OVER = "(end)"  # the label of a state that only says that an episode is over


def joined(one: Any, other: Any) -> dict[str, Any]:
    """What two logs are as one; see `Log.__add__`."""
    differ = [
        name for name in ("reward_range", "declared") if getattr(one, name) != getattr(other, name)
    ]
    differ += ["levels"] * ({k: list(v) for k, v in one.levels.items()}
                            != {k: list(v) for k, v in other.levels.items()})  # fmt: skip
    differ += ["units"] * ((one.units is None) != (other.units is None))
    differ += [
        name
        for name in ("variables", "action_variables")
        if _columns_of(getattr(one, name)) != _columns_of(getattr(other, name))
    ]
    if one.available is not None or other.available is not None:
        differ.append("available")
    if differ:
        raise ValueError(
            f"these logs differ in {' and '.join(differ)}: read both in one way (and give "
            "available= to the one that reads all)"
        )
    both, over = (one, other), one.over or other.over
    states = [each for log in both for each in log.states[: len(log.states) - log.over]]
    world, numbers = world_of_labels(both, states, [*one.actions, *other.actions], over)
    units = [np.zeros(1, np.int64)] * 2
    if one.units is not None and other.units is not None:
        labels = in_order(dict.fromkeys([*one.units, *other.units]))
        world["units"] = tuple(labels)
        place = {label: k for k, label in enumerate(labels)}
        units = [np.array([place[label] for label in log.units or ()]) for log in both]
    problems = dict(one.problems)
    for reason, n in other.problems.items():
        problems[reason] = problems.get(reason, 0) + n
    world |= {"problems": problems, "reward_range": one.reward_range, "declared": one.declared}
    world["listed"] = one.listed and other.listed
    world |= {name: getattr(one, name) + getattr(other, name) for name in ("skipped", "censored")}
    return world | counted_in(both, world, numbers, units)


def counted_in(
    logs: Sequence[Any], world: dict[str, Any], numbers: Sequence[Any], units: Sequence[Any]
) -> dict[str, Any]:
    """What logs have seen, in a world's numbers of states, actions and units: rows if all have."""
    S, A, U = len(world["states"]), len(world["actions"]), len(world.get("units") or (None,))
    rows, seen, first = list[Rows](), list[Seen](), 0
    for log, s, a, u in zip(logs, *numbers, units, strict=True):
        each = log.triples
        seen.append(each._replace(s=s[each.s], a=a[each.a], t=s[each.t], unit=u[each.unit]))
        if log.kept is not None:
            x, unit = log.kept, None if log.kept.unit is None else u[log.kept.unit].astype(np.int32)
            own = {"s": s[x.s].astype(np.int32), "t": s[x.t].astype(np.int32)}
            own |= {"a": a[x.a].astype(np.int32), "episode": x.episode + np.int32(first)}
            rows.append(x._replace(unit=unit, **own))
            first += len(log.starts)
    if len(rows) == len(logs):
        both: Any = [None if any(x is None for x in each) else np.concatenate(each)
                     for each in zip(*rows, strict=True)]  # fmt: skip
        kept = Rows(*both)
        counts = tally(S, A, kept.s, kept.a, kept.r, kept.t)
        return {"counts": counts, "kept": kept, "summed": None}
    all_seen = merged(seen, S, A)
    episodes = together([log.episodes for log in logs], units, U)
    return {"counts": counts_of(all_seen, S, A), "kept": None, "summed": (all_seen, episodes)}


def made(
    columns: Mapping[str, Sequence[Any]], told: Mapping[str, Sequence[Any]], over: bool = False
) -> tuple[tuple[Any, ...], Variables | None]:
    """States, or actions: their labels, and what they are made of.

    Args:
        columns: the values of each by column, [n] each.
        told: the values of columns in their order, where that was said.
        over: adds a last one that stands for the end; it lies beyond the last value of each
            variable, and is like none of the others.
    """
    single, each = len(columns) == 1, list(columns.values())
    labels = list(each[0]) if single else list(zip(*each, strict=True))
    everything = (*labels, OVER) if over else tuple(labels)
    if single and not told and not tell(labels):
        return everything, None
    codes, levels, ordinal = [], [], []
    for name, values in columns.items():
        distinct = list(told.get(name) or dict.fromkeys(values))
        one = None if name in told else Variables({name: distinct})
        places = range(len(distinct)) if one is None else one.codes[:, 0].tolist()
        code = dict(zip(distinct, places, strict=True))
        codes.append(np.array([code[value] for value in values]))
        levels.append(distinct if one is None else list(one.levels[0]))
        ordinal.append(one is None or one.ordinal[0])
    if over:
        codes = [np.append(code, len(level)) for code, level in zip(codes, levels, strict=True)]
        levels = [[*level, OVER] for level in levels]
    return everything, Variables.coded(np.stack(codes, axis=1), levels, list(columns), ordinal)


def world_of_labels(
    logs: Sequence[Any], states: Iterable[Any], actions: Iterable[Any], over: bool
) -> tuple[dict[str, Any], list[Any]]:
    """States and actions of these labels, and the numbers of those of each log among them."""
    one, numbers = logs[0], []
    world: dict[str, Any] = {"over": over, "levels": one.levels, "bins": one.bins}
    kinds = (("states", "variables", states, over), ("actions", "action_variables", actions, False))
    for kind, variables, each, more in kinds:
        labels = in_order(dict.fromkeys(each))
        of: Variables | None = getattr(one, variables)
        several_columns = of is not None and len(of.names) > 1
        columns = list(zip(*labels, strict=True)) if several_columns else [labels]
        names = of.names if of is not None else (kind,)
        told = {name: one.levels[name] for name in names if name in one.levels}
        named = {name: list(column) for name, column in zip(names, columns, strict=True)}
        world[kind], world[variables] = made(named, told, more)
        place = {label: k for k, label in enumerate(world[kind])}
        numbers.append([np.array([place[label] for label in getattr(log, kind)]) for log in logs])
    return world, numbers


def _columns_of(made_of: Variables | None) -> Any:
    return None if made_of is None else made_of.names
