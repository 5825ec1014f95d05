"""The 2x3 grid of Table 1 of the paper."""

from __future__ import annotations

from typing import Annotated

from gim._base.params import Within
from gim.envs.base import task
from gim.envs.gridworld import ACTIONS, steps
from gim.mdp.convert import from_outcomes
from gim.mdp.tabular import TabularMDP


@task("gim/Table1-v0")
def table1(
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 10,
) -> TabularMDP:
    """Build the paper's example of related dynamics: a slippery grid of two rows and three columns.

    ## Description
    Rows of states 2 and 5 in the transition matrix to state 2 are equal, and its rank is 3.

    ## Action Space
    `Discrete(4)`: 0 up, 1 down, 2 left, 3 right. With probability 0.2 each a step slips to one of
    its sides; a step into a wall stays.

    ## Observation Space
    `Discrete(6)`: the cells, row by row. Their labels are the paper's, 1 to 6. Variables: `row` and
    `col`, from 1.

    ## Starting State
    State 0, the paper's 1.

    ## Rewards
    None: the example is about transitions.

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `horizon` (10).

    ## Version History
    * v0: first version

    Example:
        >>> import gim
        >>> gim.make("table1").transitions[:, :, 1]  # to the paper's state 2
        array([[0.2, 0.2, 0. , 0.6],
               [0.6, 0. , 0.2, 0.2],
               [0.2, 0.2, 0.6, 0. ],
               [0. , 0. , 0. , 0. ],
               [0.6, 0. , 0.2, 0.2],
               [0. , 0. , 0. , 0. ]])
    """
    cells = [(i, j) for i in range(2) for j in range(3)]
    return from_outcomes(
        [(s, a, t, p, 0.0) for s, a, t, p in steps(cells, slip=0.4)],
        horizon=horizon,
        state_labels=range(1, 7),
        action_labels=ACTIONS,
        variables={"row": [i + 1 for i, _ in cells], "col": [j + 1 for _, j in cells]},
        info={"layout": {"cells": [list(cell) for cell in cells]}},
    )
