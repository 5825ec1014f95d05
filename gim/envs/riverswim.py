"""RiverSwim: a long swim against the current to a large reward."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gim._base.params import Within
from gim.envs.base import check_entries, task
from gim.mdp.tabular import TabularMDP

LEFT, RIGHT = 0, 1


@task("gim/RiverSwim-v0")
def riverswim(
    length: Annotated[int, Within(2), "states of the river"] = 6,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 20,
) -> TabularMDP:
    """Swim up a river (Strehl & Littman, 2004), with the numbers of the paper's code.

    ## Description
    A chain of states. Swimming left goes with the current and always succeeds; swimming right
    mostly fails. The left end pays a little, the right end two thousand times as much for each
    success, but a learner that takes the first reward it meets never finds the second.

    ## Action Space
    `Discrete(2)`: 0 swims left, 1 swims right.

    ## Observation Space
    `Discrete(length)`: the place in the river, 0 is the left end. Variable: `position`.

    ## Starting State
    State 2, the third from the left (state 1 in a river of length 2).

    ## Transitions
    Left: one state to the left, certainly. Right, from the left end: 0.7 stay, 0.3 on; from the
    right end: 0.7 back, 0.3 stay; elsewhere: 0.1 back, 0.6 stay, 0.3 on.

    ## Rewards
    5 for swimming left at the left end. Swimming right at the right end pays 3000: the
    expectation of 10,000 for each success, paid at every try.

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `length` (6) and `horizon` (20).

    ## Version History
    * v0: first version
    """
    check_entries("riverswim", length * 2 * length)
    P = np.zeros((length, 2, length))
    last = length - 1
    for s in range(length):
        P[s, LEFT, max(s - 1, 0)] = 1.0
    P[0, RIGHT, :2] = 0.7, 0.3
    for s in range(1, last):
        P[s, RIGHT, s - 1 : s + 2] = 0.1, 0.6, 0.3
    P[last, RIGHT, -2:] = 0.7, 0.3
    r = np.zeros((length, 2))
    r[0, LEFT] = 5.0
    r[last, RIGHT] = 0.3 * 10_000
    return TabularMDP(
        P,
        r,
        start=min(2, last),
        horizon=horizon,
        state_labels=range(length),
        action_labels=("left", "right"),
        variables={"position": range(length)},
        info={"layout": {"cells": [[0, s] for s in range(length)]}},
    )
