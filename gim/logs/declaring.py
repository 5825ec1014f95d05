"""States that nobody has logged: what there can be besides what a log has met."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from gim._base.arguments import several
from gim._base.params import brief
from gim.logs.joining import counted_in, world_of_labels
from gim.logs.log import Log
from gim.mdp.names import label_of

LISTED = 1 << 15  # states that are listed, whether they were met or not


def declared(log: Log, states: Any, variables: Any) -> Log:
    """A log with what there can be besides what it has met.

    States are listed where there are not too many; else policies find an answer when asked.

    Args:
        log: as it was read.
        states: labels, or None.
        variables: the values of each column of the state, or None.
    """
    labels: list[Any] = []
    listed = states is not None
    if states is not None:
        labels = list(map(label_of, several("states", states, "labels")))
    levels: dict[str, list[Any]] | None = None
    if variables is not None:
        names = list(log.variables.names) if log.variables is not None else []
        if not isinstance(variables, Mapping) or set(variables) != set(names):
            raise ValueError(
                f"variables = {brief(variables)}: give the values of each column of the state, "
                f"which are {', '.join(names) or 'none: name columns of numbers or several'}"
            )
        levels = {
            x: [*map(label_of, several(f"variables[{x!r}]", variables[x], "values"))] for x in names
        }
        met = log.states[: len(log.states) - log.over]
        columns = zip(*met, strict=True) if len(names) > 1 else [met]
        for name, values in zip(names, columns, strict=True):
            meant = {str(value): value for value in values}  # "False" is meant as the log has it
            levels[name] = [meant.get(str(value), value) for value in levels[name]]
            if lost := sorted(set(values) - set(levels[name]), key=str):
                raise ValueError(f"the log has {name} = {lost[0]!r}, which variables= leaves out")
        listed = math.prod(map(len, levels.values())) <= LISTED
        if listed:
            each = itertools.product(*levels.values())
            labels += [values if len(names) > 1 else values[0] for values in each]
    if len(labels) > LISTED:
        raise ValueError(
            f"states= lists {len(labels):,} states, more than {LISTED:,}: give variables="
        )
    log = replace(log, declared=levels, listed=listed)
    own = log.states[: len(log.states) - log.over]
    width = {len(x) if isinstance(x, tuple) else 0 for x in [*own, *labels]}
    if len(width) > 1:
        raise ValueError("states= are made of other columns than those of the log")
    if set(labels) <= set(own):
        return log
    world, numbers = world_of_labels([log], [*own, *labels], log.actions, log.over)
    units = np.arange(len(log.units or (None,)))
    return replace(
        log, **world, **counted_in([log], world | {"units": log.units}, numbers, [units])
    )
