"""Windy grid: a wind blows upwards through the middle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from gim._base.params import OneOf, Within
from gim.envs.base import described, made_of, task
from gim.envs.gridworld import ACTIONS, MOVES
from gim.mdp.convert import from_outcomes
from gim.mdp.tabular import TabularMDP

WIND = (0, 0, 0, 1, 1, 1, 2, 2, 1, 0)  # cells upwards, by the column left
ROWS, START, GOAL = 7, (3, 0), (3, 7)
DIAGONALS = ((-1, -1), (-1, 1), (1, -1), (1, 1))
DIAGONAL_NAMES = ("up left", "up right", "down left", "down right")


@task("gim/WindyGrid-v0", examples=("horizon=10",))
def windy_grid(
    moves: Annotated[
        str, OneOf("four", "king", "nine"), "king adds diagonals, nine to stay"
    ] = "four",
    stochastic: Annotated[bool, "the wind varies by one cell up or down"] = False,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 100,
) -> TabularMDP:
    """Cross a windy grid (Sutton and Barto, 2018, Example 6.5).

    ## Description
    A grid of 7 rows and 10 columns. A step is the move plus the wind of the column that is left: 0,
    0, 0, 1, 1, 1, 2, 2, 1, 0 cells upwards; it ends at the edge where it would go beyond. The
    shortest way takes 15 steps; with king's moves 7, with or without staying (Exercise 6.9).

    ## Action Space
    `Discrete(4)`: 0 up, 1 down, 2 left, 3 right. `moves=king` adds 4 up left, 5 up right, 6 down
    left, 7 down right; `moves=nine` also 8, which leaves it to the wind.

    ## Observation Space
    `Discrete(70)`: the cells, row by row.

    ## Starting State
    Row 3, column 0, counted from 0.

    ## Rewards
    -1 for every step.

    ## Episode End
    Terminated at the goal, row 3, column 7; truncated after `horizon` steps, which the book does
    not do.

    ## Arguments
    `moves` and `horizon`; with `stochastic`, where there is any wind, it is a cell stronger with
    probability 1/3 and a cell weaker with 1/3 (Exercise 6.10).

    ## Version History
    * v0: first version
    """
    states = made_of(row=range(ROWS), col=range(len(WIND)))
    start, goal = states.labels.index(START), states.labels.index(GOAL)
    steps, names = [*MOVES], [*ACTIONS]
    if moves != "four":
        steps, names = [*steps, *DIAGONALS], [*names, *DIAGONAL_NAMES]
    if moves == "nine":
        steps, names = [*steps, (0, 0)], [*names, "stay"]

    def outcomes() -> Iterator[tuple[int, int, int, float, float]]:
        for s, (row, column) in enumerate(states.labels):
            if s == goal:
                continue
            wind = WIND[column]
            gusts = (-1, 0, 1) if stochastic and wind else (0,)
            for a, (down, across) in enumerate(steps):
                column2 = min(max(column + across, 0), len(WIND) - 1)
                for gust in gusts:
                    row2 = min(max(row + down - wind - gust, 0), ROWS - 1)
                    yield s, a, row2 * len(WIND) + column2, 1 / len(gusts), -1.0

    symbols = ["S" if s == start else "G" if s == goal else "." for s in range(len(states.codes))]
    layout = {"cells": states.codes.tolist(), "symbols": symbols}
    return from_outcomes(
        outcomes(),
        start=start,
        horizon=horizon,
        terminal=[goal],
        **described(states, names, layout=layout),
    )
