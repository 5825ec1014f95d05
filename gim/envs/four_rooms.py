"""Four rooms, joined by four hallways."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gim._base.params import Within
from gim.envs.base import described, made_of, task
from gim.envs.gridworld import ACTIONS, MOVES
from gim.mdp.convert import from_outcomes
from gim.mdp.tabular import TabularMDP

MAP = """\
#############
#S....#.....#
#.....#.....#
#...........#
#.....#.....#
#.....#.....#
##.####.....#
#.....###G###
#.....#.....#
#.....#.....#
#...........#
#.....#.....#
#############"""


@task("gim/FourRooms-v0", examples=("horizon=6",))
def four_rooms(
    slip: Annotated[float, Within(0, 1), "chance to move in one of the other directions"] = 1 / 3,
    cost: Annotated[float, "cost of every step"] = 0.0,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 50,
) -> TabularMDP:
    """Find the way through four rooms (Sutton, Precup and Singh, 1999).

    ## Description
    The rooms example of the paper on options: 104 cells in four rooms, joined by hallways of one
    cell. The goal is the hallway between the two rooms on the right, the paper's G1.

    ## Action Space
    `Discrete(4)`: 0 up, 1 down, 2 left, 3 right. A step goes where it is meant to with probability
    2/3, and in each of the other three directions with 1/9; a step into a wall stays.

    ## Observation Space
    `Discrete(104)`: the cells that are not walls, row by row. Row and column are counted with the
    outer wall, from 0.

    ## Starting State
    The upper left corner, (1, 1).

    ## Rewards
    1 for reaching the goal, less `cost` for every step. The paper discounts by 0.9, which planners
    that are asked to discount take over; here the horizon makes haste.

    ## Episode End
    Terminated at the goal, (7, 9); truncated after `horizon` steps.

    ## Arguments
    `slip` (a third of it for each of the other directions), `cost` and `horizon`.

    ## Version History
    * v0: first version
    """
    grid = np.array([list(row) for row in MAP.splitlines()])
    free = grid.ravel() != "#"
    states = made_of(row=range(len(grid)), col=range(grid.shape[1])).take(free)
    number = {cell: s for s, cell in enumerate(states.labels)}
    symbols = grid.ravel()[free].tolist()
    goal = symbols.index("G")
    outcomes = []
    for s, (row, column) in enumerate(states.labels):
        if s == goal:
            continue
        reached = [number.get((row + down, column + across), s) for down, across in MOVES]
        for a in range(len(MOVES)):
            for direction, t in enumerate(reached):
                p = 1 - slip if direction == a else slip / 3
                outcomes.append((s, a, t, p, (t == goal) - cost))
    walls = np.argwhere(grid == "#").tolist()
    layout = {"cells": states.codes.tolist(), "symbols": symbols, "walls": walls}
    return from_outcomes(
        outcomes,
        start=symbols.index("S"),
        horizon=horizon,
        discount=0.9,
        terminal=[goal],
        **described(states, ACTIONS, layout=layout),
    )
