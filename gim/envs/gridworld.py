"""GridWorld: walk on a slippery floor to the goals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np

from gim._base.params import OneOf, Within
from gim.envs.base import LISTED, check_entries, task
from gim.mdp.convert import from_outcomes
from gim.mdp.tabular import TabularMDP

Cell = tuple[int, int]  # row and column

ACTIONS = ("up", "down", "left", "right")
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))
SIDES = ((2, 3), (2, 3), (0, 1), (0, 1))  # where a step slips to, by action


@task(
    "gim/GridWorld-v0",
    examples=("height=3,width=3", "map=S.#G/...S/#G..,terminal_goals=true,horizon=6"),
)
def gridworld(
    height: Annotated[int, Within(1), "rows"] = 4,
    width: Annotated[int, Within(1), "columns"] = 4,
    map: Annotated[str | None, "rows of # wall, . free, G goal, S start; parted by /"] = None,
    slip: Annotated[float, Within(0, 1), "chance to slip, half to each side"] = 0.4,
    cost: Annotated[float, "cost of every step"] = 0.2,
    goal_reward: Annotated[float, "paid for a step that ends in a goal"] = 1.0,
    terminal_goals: Annotated[bool, "goals end the episode"] = False,
    start: Annotated[int | None, Within(0), "first state; none draws one by the seed"] = None,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 10,
    seed: Annotated[int, Within(0), "draws the first state"] = 0,
    variables: Annotated[
        str, OneOf("given", "withheld", "shuffled"), "whether rows and columns are told"
    ] = "given",
) -> TabularMDP:
    """Walk on a slippery grid and collect at the goals.

    ## Description
    The paper's grid world: unless told otherwise, the goals do not end the episode, the agent
    goes on collecting.

    ## Action Space
    `Discrete(4)`: 0 up, 1 down, 2 left, 3 right. A step goes where it is meant to with
    probability `1 - slip`, and to either side with `slip / 2` each; a step into a wall stays.

    ## Observation Space
    `Discrete(S)`: the cells that are not walls, row by row. Their labels count from 1: (2,3) is
    the second row, third column. Variables: `row` and `col`, counted alike.

    ## Starting State
    The `S` of the map (any one of them, where it has several), the state given as `start`, or one
    drawn once for the world by its seed, uniformly over the cells that do not end the episode.

    ## Rewards
    By the next state: every step costs `cost`, and one that ends in a goal pays `goal_reward`
    besides.

    ## Episode End
    Terminated in a goal if `terminal_goals`; truncated after `horizon` steps.

    ## Arguments
    `height` and `width` give an open grid with goals at (2,2) and (3,3), each moved inside where
    the grid is smaller. `map` gives any other: rows of `#` wall, `.` free, `G` goal and `S` start,
    parted by newlines or `/`. Then `slip`, `cost`, `goal_reward`, `terminal_goals`, `start`,
    `horizon` and `seed` as above. `variables` may be `withheld`: then cells are numbers and nothing
    else; or `shuffled`: then each cell is told the row and column of another, drawn by the seed,
    which misleads who trusts them. The grid is the same.

    ## Version History
    * v0: first version

    Example:
        >>> import gim
        >>> gim.make("gridworld", map="S.#/..G", slip=0.0, start=None)
        <TabularMDP gridworld:map=S.#/..G,slip=0.0: S=5 A=4 H=10 dense>
    """
    check_entries("gridworld", height * width * 4 * 3, LISTED)
    rows = open_grid(height, width) if map is None else read_map(map)
    if map is not None and (height, width) not in ((4, 4), (len(rows), len(rows[0]))):
        raise ValueError(
            f"the map has {len(rows)} rows of {len(rows[0])}, not {height} of {width}: leave "
            "height and width out"
        )
    cells = [(i, j) for i, row in enumerate(rows) for j, c in enumerate(row) if c != "#"]
    symbols = [rows[i][j] for i, j in cells]
    goals = {s for s, symbol in enumerate(symbols) if symbol == "G"}
    ends = goals if terminal_goals else set()
    outcomes = [
        (s, a, t, p, goal_reward * (t in goals) - cost)
        for s, a, t, p in steps(cells, slip)
        if s not in ends
    ]
    walls = [[i, j] for i, row in enumerate(rows) for j, c in enumerate(row) if c == "#"]
    told = np.array(cells) + 1
    if variables == "shuffled":
        told = np.random.default_rng([seed, 2]).permutation(told)
    return from_outcomes(
        outcomes,
        S=len(cells),
        A=4,
        start=_start(start, symbols, ends, seed),
        horizon=horizon,
        terminal=sorted(ends),
        state_labels=[f"({i + 1},{j + 1})" for i, j in cells],
        action_labels=ACTIONS,
        variables=None
        if variables == "withheld"
        else dict(zip(("row", "col"), told.T, strict=True)),
        info={
            "layout": {"cells": [list(cell) for cell in cells], "symbols": symbols, "walls": walls}
        },
    )


def steps(cells: list[Cell], slip: float) -> Iterator[tuple[int, int, int, float]]:
    """All outcomes (s, a, s', p) of walking on these cells; all else is wall."""
    state = {cell: s for s, cell in enumerate(cells)}
    for s, (i, j) in enumerate(cells):
        for a, (left, right) in enumerate(SIDES):
            for direction, p in ((a, 1 - slip), (left, slip / 2), (right, slip / 2)):
                down, across = MOVES[direction]
                yield s, a, state.get((i + down, j + across), s), p


def open_grid(height: int, width: int) -> list[str]:
    """Rows without walls, with the goals of the paper's code: (2,2) and (3,3), counted from 1."""
    rows = [["."] * width for _ in range(height)]
    for k in (2, 3):
        rows[min(k, height) - 1][min(k, width) - 1] = "G"
    return ["".join(row) for row in rows]


def read_map(text: str) -> list[str]:
    """Rows of a map, checked."""
    rows = [row.strip() for row in text.replace("/", "\n").strip().splitlines()]
    if not any(rows):
        raise ValueError("the map is empty: give rows of # . G S, parted by / or newlines")
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"row {i + 1} of the map has {len(row)} cells, row 1 has {len(rows[0])}: "
                "make them equal"
            )
        for j, c in enumerate(row):
            if c not in "#.GS":
                raise ValueError(
                    f"cell ({i + 1},{j + 1}) of the map is {c!r}: use # for a wall, . for a free "
                    "cell, G for a goal, S for the start"
                )
    if set("".join(rows)) == {"#"}:
        raise ValueError("the map has walls only: leave a cell free")
    return rows


def _start(given: int | None, symbols: list[str], ends: set[int], seed: int) -> int | list[float]:
    marked = [symbol == "S" for symbol in symbols]
    if given is not None:
        if any(marked):
            raise ValueError("the map marks a start with S: leave start out, or take S away")
        return given
    if any(marked):
        return [mark / sum(marked) for mark in marked]
    choices = [s for s in range(len(symbols)) if s not in ends]
    if not choices:
        raise ValueError("every cell ends the episode: leave one free to start from")
    return choices[np.random.default_rng(seed).integers(len(choices))]
