"""Maintenance: when to repair a machine that wears out."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gim._base.params import Within
from gim.envs.base import described, made_of, task
from gim.mdp.convert import from_outcomes
from gim.mdp.tabular import TabularMDP

ACTIONS = ("run", "repair")


@task("gim/Maintenance-v0", examples=("levels=4,horizon=10",))
def maintenance(
    levels: Annotated[int, Within(2), "levels of wear"] = 8,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 50,
) -> TabularMDP:
    """Repair a machine before it is worn out (Delage and Mannor, 2010, Figure 3).

    ## Description
    The machine replacement problem of the literature on robust MDPs. The machine runs at one of 8
    levels of wear, or is in one of two kinds of repair, a normal (R1) and a long one (R2).

    ## Action Space
    `Discrete(2)`: 0 lets it run: one level more wear with probability 0.8, else as before; the last
    level is the last. A normal repair ends with 0.8, the machine is as new; a long one does not end
    by itself. 1 asks for a repair: normal with probability 0.6, long with 0.1, and with 0.3 no one
    comes and the machine wears on by a level. A long repair turns into a normal one with 0.6; a
    normal one goes on.

    ## Observation Space
    `Discrete(levels + 2)`: the levels of wear, then R1 and R2. Two variables, the kind of repair
    and the wear; in repair the wear is 0.

    ## Starting State
    As new: no wear.

    ## Rewards
    By the state left: -20 at the last level of wear, -2 in a normal repair, -10 in a long one.

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `levels` and `horizon`.

    ## Version History
    * v0: first version
    """
    states = made_of(repair=("none", "R1", "R2"), wear=range(levels))
    states = states.take([*range(levels), levels, 2 * levels])
    last, normal, long = levels - 1, levels, levels + 1
    chances = [(normal, 0, normal, 0.2), (normal, 0, 0, 0.8), (normal, 1, normal, 1.0)]
    chances += [(long, 0, long, 1.0), (long, 1, long, 0.4), (long, 1, normal, 0.6)]
    for s in range(levels):
        worse = min(s + 1, last)
        chances += [(s, 0, s, 0.2), (s, 0, worse, 0.8)]
        chances += [(s, 1, worse, 0.3), (s, 1, normal, 0.6), (s, 1, long, 0.1)]
    paid = np.zeros(levels + 2)
    paid[[last, normal, long]] = -20.0, -2.0, -10.0
    return from_outcomes(
        [(s, a, t, p, paid[s]) for s, a, t, p in chances],
        start=0,
        horizon=horizon,
        **described(states, ACTIONS),
    )
