"""Teleports: a grid with cells from which every step leads somewhere else."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gim._base.params import Within
from gim.envs.base import described, made_of, task
from gim.envs.gridworld import ACTIONS, open_grid, steps
from gim.mdp.convert import from_outcomes
from gim.mdp.tabular import TabularMDP


@task("gim/Teleports-v0", examples=("size=3,teleports=2,horizon=8",))
def teleports(
    size: Annotated[int, Within(3, 200), "rows and columns"] = 8,
    teleports: Annotated[int, Within(0), "cells that teleport"] = 4,
    slip: Annotated[float, Within(0, 1), "chance to slip, half to each side"] = 0.4,
    cost: Annotated[float, "cost of every step"] = 0.2,
    goal_reward: Annotated[float, "paid for a step that ends in a goal"] = 1.0,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 20,
    seed: Annotated[int, Within(0), "draws the teleports and the first state"] = 0,
) -> TabularMDP:
    """Walk on a slippery grid where a few cells lead far away.

    ## Description
    `gridworld` with its goals, but from a few cells every action leads to another cell, as from the
    special cells A and B of Sutton and Barto's (2018) Example 3.5. Neither the place nor the exit
    of a teleport follows from anything else. The numbers are those of `gridworld`.

    ## Action Space
    `Discrete(4)`: 0 up, 1 down, 2 left, 3 right, slippery as in `gridworld`; in a teleport all four
    lead to its exit for certain.

    ## Observation Space
    `Discrete(size^2)`: the cells, row by row.

    ## Starting State
    Drawn once for the world by its seed, uniformly over the cells.

    ## Rewards
    By the next state: every step costs `cost`, and one that ends in a goal pays `goal_reward`
    besides.

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `size`, `teleports` (cells that are no goals; the exit of each is any other cell), `slip`,
    `cost`, `goal_reward`, `horizon` and `seed`. `info["exits"]` keeps pairs of a cell and its exit.

    ## Version History
    * v0: first version
    """
    states = made_of(row=range(size), col=range(size))
    symbols = [*"".join(open_grid(size, size))]
    n = len(symbols)
    plain = [s for s in range(n) if symbols[s] == "."]
    if teleports > len(plain):
        raise ValueError(
            f"teleports: teleports = {teleports}: only {len(plain)} cells are no goals"
        )
    rng = np.random.default_rng(seed)
    start = int(rng.integers(n))
    entries = rng.choice(plain, teleports, replace=False)
    exits = (entries + rng.integers(1, n, size=teleports)) % n  # any cell but the entry itself
    leads = dict(zip(entries.tolist(), exits.tolist(), strict=True))
    outcomes = []
    for s, a, t, p in steps(states.labels, slip):
        t2 = leads.get(s, t)
        outcomes.append((s, a, t2, p, goal_reward * (symbols[t2] == "G") - cost))
    layout = {"cells": states.codes.tolist(), "symbols": symbols}
    about = described(states, ACTIONS, layout=layout, exits=[list(pair) for pair in leads.items()])
    return from_outcomes(outcomes, start=start, horizon=horizon, **about)
