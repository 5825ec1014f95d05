"""Walls: a grid in which some cells, drawn at random, are in the way."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gim._base.params import Within
from gim.envs.base import described, made_of, task
from gim.envs.gridworld import ACTIONS, MOVES, Cell, gridworld, open_grid
from gim.mdp.tabular import TabularMDP


@task("gim/Walls-v0", examples=("size=3,walls=2,horizon=8",))
def walls(
    size: Annotated[int, Within(3, 200), "rows and columns"] = 8,
    walls: Annotated[int, Within(0), "cells that are walls"] = 12,
    slip: Annotated[float, Within(0, 1), "chance to slip, half to each side"] = 0.4,
    cost: Annotated[float, "cost of every step"] = 0.2,
    goal_reward: Annotated[float, "paid for a step that ends in a goal"] = 1.0,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 20,
    seed: Annotated[int, Within(0), "draws the walls and the first state"] = 0,
) -> TabularMDP:
    """Walk on a slippery grid with walls in unexpected places.

    ## Description
    `gridworld` with its goals, but some other cells are walls. Every step follows one rule, "this
    way unless something is there", and where something is must be found out cell by cell. Walls are
    drawn one after the other, uniformly among the cells whose loss leaves all others connected. A
    world of this project, with the numbers of `gridworld`.

    ## Action Space
    `Discrete(4)`: 0 up, 1 down, 2 left, 3 right, slippery as in `gridworld`; a step into a wall
    stays.

    ## Observation Space
    `Discrete(size^2 - walls)`: the cells that are not walls, row by row.

    ## Starting State
    Drawn once for the world by its seed, uniformly over the cells.

    ## Rewards
    By the next state: every step costs `cost`, and one that ends in a goal pays `goal_reward`
    besides.

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `size`, `walls`, `slip`, `cost`, `goal_reward`, `horizon` and `seed`.

    ## Version History
    * v0: first version
    """
    rows = [list(row) for row in open_grid(size, size)]
    free = [(i, j) for i in range(size) for j in range(size)]
    rng = np.random.default_rng([seed, 1])  # not the numbers that draw the first state
    for built in range(walls):
        order = (free[k] for k in rng.permutation(len(free)))
        fits = (c for c in order if rows[c[0]][c[1]] == "." and connected({*free} - {c}))
        if (cell := next(fits, None)) is None:
            raise ValueError(
                f"walls: walls = {walls}: only {built} fit in a grid of {size} x {size}"
            )
        rows[cell[0]][cell[1]] = "#"
        free.remove(cell)
    text = "/".join("".join(row) for row in rows)
    mdp = gridworld(
        map=text, slip=slip, cost=cost, goal_reward=goal_reward, horizon=horizon, seed=seed
    )
    states = made_of(row=range(size), col=range(size)).take([i * size + j for i, j in free])
    return mdp.with_(**described(states, ACTIONS, **mdp.info))


def connected(cells: set[Cell]) -> bool:
    """Whether one can walk from each of these cells to all others."""
    far = set(cells)  # not found so far
    border = [far.pop()]
    while border:
        i, j = border.pop()
        near = {(i + down, j + across) for down, across in MOVES} & far
        far -= near
        border += near
    return not far
