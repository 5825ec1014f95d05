"""Button: an ordinary grid, and one cell in which an otherwise useless action pays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np

from gim._base.params import Within
from gim.envs.base import described, made_of, task
from gim.envs.gridworld import ACTIONS, steps
from gim.mdp.convert import from_outcomes
from gim.mdp.tabular import TabularMDP

PRESS = len(ACTIONS)


@task("gim/Button-v0", examples=("size=3,horizon=8",))
def button(
    size: Annotated[int, Within(1, 200), "rows and columns"] = 8,
    prize: Annotated[float, "paid for pressing in the cell of the button"] = 1.0,
    lure: Annotated[float, "paid for entering the last cell"] = 0.1,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 40,
    seed: Annotated[int, Within(0), "draws the cell of the button"] = 0,
) -> TabularMDP:
    """Find the one cell in which pressing pays.

    ## Description
    A deterministic grid. What holds in one cell holds in all, but for one exception worth more
    than all the rest: a learner that trusts the pattern never presses there. A world of this
    project, made to break analogies.

    ## Action Space
    `Discrete(5)`: 0 up, 1 down, 2 left, 3 right, certain; a step off the grid stays. 4 presses, and
    stays.

    ## Observation Space
    `Discrete(size^2)`: the cells, row by row.

    ## Starting State
    State 0, the first cell.

    ## Rewards
    `prize` for pressing in the cell that the seed draws, uniformly over all cells (kept as
    `info["button"]`), and `lure` for entering the last cell from another one.

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `size`, `prize`, `lure`, `horizon` and `seed`.

    ## Version History
    * v0: first version
    """
    cells = made_of(row=range(size), col=range(size))
    last = size * size - 1
    place = int(np.random.default_rng(seed).integers(size * size))

    def outcomes() -> Iterator[tuple[int, int, int, float, float]]:
        for s, a, t, p in steps(cells.labels, slip=0.0):
            yield s, a, t, p, lure * (s != t == last)
        for s in range(size * size):
            yield s, PRESS, s, 1.0, prize * (s == place)

    layout = {"cells": cells.codes.tolist()}
    about = described(cells, (*ACTIONS, "press"), layout=layout, button=place)
    return from_outcomes(outcomes(), start=0, horizon=horizon, **about)
