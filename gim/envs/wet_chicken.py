"""Wet Chicken: paddle as near to the waterfall as one dares."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from gim._base.params import Within
from gim.envs.base import described, made_of, task
from gim.mdp.convert import from_outcomes
from gim.mdp.tabular import TabularMDP

ACTIONS = ("drift", "hold", "paddle back", "left", "right")
MOVES = ((0, 0), (-1, 0), (-2, 0), (0, -1), (0, 1))  # in x, downstream, and y, across
CURRENT = 3.0  # the largest, at the right bank


@task("gim/WetChicken-v0", examples=("horizon=10",))
def wet_chicken(
    length: Annotated[int, Within(1), "places along the river"] = 5,
    width: Annotated[int, Within(1), "places across the river"] = 5,
    turbulence: Annotated[float, Within(3), "the largest, at the left bank"] = 3.5,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 100,
) -> TabularMDP:
    """Paddle in a river above a waterfall (Tresp, 1994; in two dimensions Hans and Udluft, 2009).

    ## Description
    The discrete river of 5 x 5 places with which the literature on safe policies from logs is
    compared (Scholl, Dietrich, Otte and Udluft, 2022), with gamma 0.95. Whoever is at (x, y) is
    carried downstream by the current v = 3 y / `width`, shaken by the turbulence b = `turbulence`
    - v: x^ = x + paddling + v + b u for u uniform in [-1, 1], rounded. Over the edge (x^ >=
    `length`) one begins again at (0, 0); below 0 one stays at x = 0. The current is strong and
    steady at the right bank, weak and turbulent at the left.

    ## Action Space
    `Discrete(5)`: 0 drift, 1 hold (one place back), 2 paddle back (two places back), 3 left and 4
    right (one place across, as far as there is water).

    ## Observation Space
    `Discrete(length * width)`: x, the place along the river, and y, across; y runs faster.

    ## Starting State
    (0, 0).

    ## Rewards
    By the next state: its x. Over the edge pays 0.

    ## Episode End
    Truncated after `horizon` steps. The literature discounts instead; planners that are asked to
    discount use its 0.95. Discounted, the best policy is worth 43.08 at the start and the uniform
    one 20.66.

    ## Arguments
    `length`, `width`, `turbulence` and `horizon`. `gim.envs.wet_chicken.baseline` is the policy
    from whose logs the literature learns.

    ## Version History
    * v0: first version
    """
    states = made_of(x=range(length), y=range(width))
    outcomes: list[tuple[int, int, int, float, float]] = []
    for s, (x, y) in enumerate(states.labels):
        current = CURRENT * y / width
        shake = turbulence - current
        for a, (down, across) in enumerate(MOVES):
            low, high = x + down + current - shake, x + down + current + shake
            y2 = min(max(y + across, 0), width - 1)
            edges = np.append(np.arange(length) - 0.5, length - 0.5).clip(low, high)
            edges[0] = low  # below 0 one stays at 0
            p = np.diff(edges) / (2 * shake)
            outcomes += [(s, a, x2 * width + y2, p[x2], x2) for x2 in range(length)]
            outcomes.append((s, a, 0, (high - edges[-1]) / (2 * shake), 0.0))
    layout = {"cells": states.codes.tolist()}
    return from_outcomes(
        outcomes,
        start=0,
        horizon=horizon,
        discount=0.95,
        **described(states, ACTIONS, layout=layout),
    )


def baseline(epsilon: float = 0.1) -> NDArray[np.float64]:
    """The policy [25, 5] from whose logs the literature learns, on the river of 5 x 5 places.

    It makes for the middle of the river and tries to stay there; with probability `epsilon` it
    plays any action. At 0.1 its discounted value at the start is 29.75.
    """
    policy = np.full((25, 5), epsilon / 5)
    for s in range(25):
        x, y = divmod(s, 5)
        if x > 2:
            a = ACTIONS.index("paddle back")  # too near to the edge
        elif y != 2:
            a = ACTIONS.index("right" if y < 2 else "left")
        else:
            a = x  # drift from 0, hold at 1, paddle back at 2
        policy[s, a] += 1 - epsilon
    return policy
