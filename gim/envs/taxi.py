"""Taxi of any size: fetch a passenger, and take them where they want to go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np

from gim._base.params import Within
from gim.envs.base import Made, described, made_of, task
from gim.mdp.convert import from_outcomes
from gim.mdp.tabular import TabularMDP

ACTIONS = ("south", "north", "east", "west", "pickup", "dropoff")
MOVES = ((1, 0), (-1, 0), (0, 1), (0, -1))
PICKUP, DROPOFF = 4, 5
TAXI = "taxi"  # where a passenger under way is

# The 10x10 city of Diuk, Cohen and Littman (2008): | is a wall, a capital a depot.
LARGE = """\
R:.:.|.:.:G:.:.|C:.
.:.:.|.:.:.:.:.|.:.
.:.:.|.:.:.|.:.|.:.
.:.:.|W:.:.|.:.|.:.
.:.:.:.:.:.|M:.:.:.
.:.:.:.:.:.|.:.:.:.
.|.:.:.|.:.:.:.|.:.
.|.:.:.|.:.:.:.|.:.
Y|.:.:.|.:.:.:.|.:.
.|.:.:.|B:.:.:.|.:P"""

# Their protocol: the steps after which a plan is optimal from these six states, as (row, column,
# passenger, destination). Published in 5x5, mean of 100 runs, rewards given: R-MAX 4,151, factored
# R-MAX 1,676, DOORmax 529; in 10x10: factored R-MAX 19,866, DOORmax 821.
PROBES = (
    (2, 2, "Y", "R"),
    (2, 2, "Y", "G"),
    (2, 2, "Y", "B"),
    (2, 2, "R", "B"),
    (0, 4, "Y", "R"),
    (0, 3, "B", "G"),
)


@task("gim/Taxi-v0", examples=("size=3,horizon=10",))
def taxi(
    size: Annotated[int, Within(3, 200), "rows and columns; 5 and 10 are published"] = 5,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 200,
) -> TabularMDP:
    """Drive a taxi (Dietterich, 2000); at size 5 it is Gymnasium's Taxi.

    ## Description
    A passenger waits at a depot and wants to go to another. At size 5 states, actions, rewards, the
    start and the end are those of Gymnasium's Taxi-v4 without rain and whims. Size 10 is the city
    of Diuk, Cohen and Littman (2008), with 8 depots and 7,200 states. Other sizes stretch the map
    of size 5: four depots, walls of two fifths of the side. `gim.envs.taxi.probes` gives the six
    states of their protocol.

    ## Action Space
    `Discrete(6)`: 0 south, 1 north, 2 east, 3 west, 4 pick up, 5 drop off; all certain. A step into
    a wall stays. A passenger can be set down at any depot.

    ## Observation Space
    `Discrete(size^2 (depots + 1) depots)`: row and column of the taxi, the depot of the passenger
    (or in the taxi, the last), the depot of the destination, which runs fastest. The first two are
    ordinal, the others nominal. Depots are counted in reading order.

    ## Starting State
    The taxi anywhere, the passenger at any depot but the destination, all equally likely.

    ## Rewards
    -1 for every step, -10 for picking up or dropping off in vain, 20 for the delivery.

    ## Episode End
    Terminated by the delivery; truncated after `horizon` steps.

    ## Arguments
    `size` and `horizon`.

    ## Version History
    * v0: first version

    Example:
        >>> import gim
        >>> mdp = gim.make("taxi")
        >>> mdp.state_label(0), mdp.action_label(4)
        ("(0, 0, 'R', 'R')", 'pickup')
    """
    states, depots, walls = city(size)
    number = {label: s for s, label in enumerate(states.labels)}
    names = {place: name for name, place in depots.items()}

    def drive(row: int, column: int, a: int) -> tuple[int, int]:
        down, across = MOVES[a]
        between = (row, column - (across < 0))  # the cell whose eastern side is crossed
        if across and between in walls:
            return row, column
        return min(max(row + down, 0), size - 1), min(max(column + across, 0), size - 1)

    def outcomes() -> Iterator[tuple[int, int, int, float, float]]:
        for (row, column, passenger, goal), s in number.items():
            here = names.get((row, column))
            if here == passenger == goal:  # delivered
                continue
            for a in range(4):
                yield s, a, number[(*drive(row, column, a), passenger, goal)], 1.0, -1.0
            if here == passenger:
                yield s, PICKUP, number[row, column, TAXI, goal], 1.0, -1.0
            else:
                yield s, PICKUP, s, 1.0, -10.0
            if passenger == TAXI and here is not None:
                paid = 20.0 if here == goal else -1.0
                yield s, DROPOFF, number[row, column, here, goal], 1.0, paid
            else:
                yield s, DROPOFF, s, 1.0, -10.0

    waits = np.array([passenger not in (TAXI, goal) for _, _, passenger, goal in number])
    return from_outcomes(
        outcomes(),
        start=waits / waits.sum(),
        horizon=horizon,
        terminal=[number[*place, name, name] for name, place in depots.items()],
        **described(states, ACTIONS, probes=[number[p] for p in PROBES if p in number]),
    )


def probes(size: int = 5, xy: bool = False) -> list[int]:
    """The numbers of the six probe states.

    Args:
        size: of the city.
        xy: take the first two numbers as x, from the left, and y, from below, the way the city is
            drawn where they were published; else as row and column.

    Example:
        >>> probes()
        [248, 249, 251, 243, 88, 73]
    """
    labels = city(size)[0].labels
    places = [(size - 1 - y, x) if xy else (x, y) for x, y, _, _ in PROBES]
    return [labels.index((*place, *probe[2:])) for place, probe in zip(places, PROBES, strict=True)]


def city(size: int) -> tuple[Made, dict[str, tuple[int, int]], set[tuple[int, int]]]:
    """The states, the places of the depots by name, and the cells with a wall to their east."""
    rows = LARGE.splitlines() if size == 10 else streets(size)
    cells = {(i, j): row[2 * j] for i, row in enumerate(rows) for j in range(size)}
    depots = {name: cell for cell, name in cells.items() if name != "."}
    walls = {cell for cell in cells if rows[cell[0]][2 * cell[1] + 1 : 2 * cell[1] + 2] == "|"}
    place = {"row": range(size), "col": range(size)}
    states = made_of(**place, passenger=[*depots, TAXI], destination=[*depots])
    return states, depots, walls


def streets(size: int) -> list[str]:
    """The map of Gymnasium's Taxi, stretched."""
    long = 2 * size // 5
    depots = {(0, 0): "R", (0, size - 1): "G", (size - 1, 0): "Y", (size - 1, size - 2): "B"}

    def side(i: int, j: int) -> str:
        above = i < long and j == long - 1
        below = i >= size - long and j in (long // 2 - 1, long)
        return "|" if above or below else ":"

    return [
        "".join(depots.get((i, j), ".") + side(i, j) for j in range(size))[:-1] for i in range(size)
    ]
