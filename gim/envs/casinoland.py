"""CasinoLand: four rooms, and above each a lever that pays more or less often."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gim._base.params import Within
from gim.envs.base import task
from gim.mdp.tabular import TabularMDP

CHANCE = (0.4, 0.5, 0.2, 0.9)  # that the lever of each room pays
PRIZE = (198.75, 160.0, 500.0, 72.22)
ROOMS = len(CHANCE)


@task("gim/CasinoLand-v0")
def casinoland(
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 10,
) -> TabularMDP:
    """Find the best lever (after Strehl & Littman, 2004), with the numbers of the paper's code.

    ## Description
    Four rooms in a row; a lever room above each. Which lever is best shows only after many pulls.
    The paper's text has six rooms and three levers; this is what its code has.

    ## Action Space
    `Discrete(4)`. In a room: 0 stays, 1 goes up to the lever, 2 goes one room right (the last
    stays), 3 one room left (the first stays). In a lever room: 0 goes down, 1 pulls, 2 stays and
    costs 100, 3 stays.

    ## Observation Space
    `Discrete(8)`: 0 to 3 are the rooms, 4 to 7 the lever rooms above them. Variables: `room`, and
    `lever`, whether it is the lever room.

    ## Starting State
    Room 0.

    ## Transitions
    All moves are certain. A pull drops to the room below with the lever's chance (0.4, 0.5, 0.2,
    0.9) and stays otherwise.

    ## Rewards
    A pull pays its expectation (0.4 * 198.75, 0.5 * 160, 0.2 * 500, 0.9 * 72.22). Action 2 in a
    lever room pays -100.

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `horizon` (10).

    ## Version History
    * v0: first version
    """
    P = np.zeros((2 * ROOMS, 4, 2 * ROOMS))
    r = np.zeros((2 * ROOMS, 4))
    for room, (chance, prize) in enumerate(zip(CHANCE, PRIZE, strict=True)):
        lever = ROOMS + room
        for a, goes in enumerate((room, lever, min(room + 1, ROOMS - 1), max(room - 1, 0))):
            P[room, a, goes] = 1.0
        for a, goes in ((0, room), (2, lever), (3, lever)):
            P[lever, a, goes] = 1.0
        P[lever, 1, room], P[lever, 1, lever] = chance, 1 - chance
        r[lever, 1], r[lever, 2] = chance * prize, -100.0
    cells = [[1, i] for i in range(ROOMS)] + [[0, i] for i in range(ROOMS)]
    made_of = {"room": [i for _, i in cells], "lever": [above == 0 for above, _ in cells]}
    return TabularMDP(
        P,
        r,
        start=0,
        horizon=horizon,
        state_labels=[f"{kind} {i}" for kind in ("room", "lever") for i in range(ROOMS)],
        action_labels=("stay/down", "up/pull", "right/pay", "left/stay"),
        variables=made_of,
        info={"layout": {"cells": cells}},
    )
