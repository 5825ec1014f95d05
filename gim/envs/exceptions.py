"""Exceptions: low rank everywhere, but for one action of each state."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gim._base.params import Within
from gim.envs.base import check_entries, task
from gim.envs.shared_factors import shared_factors
from gim.mdp.tabular import TabularMDP


@task("gim/Exceptions-v0", examples=("S=10,A=6",))
def exceptions(
    S: Annotated[int, Within(2), "states"] = 50,
    A: Annotated[int, Within(1), "actions"] = 40,
    J: Annotated[int, Within(1), "kinds of state"] = 2,
    K: Annotated[int, Within(1), "distributions over next states"] = 5,
    p: Annotated[float, Within(0, 1), "chance that a special action leads to the treasure"] = 0.1,
    treasure: Annotated[float, "what the treasure state pays"] = 5.0,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 10,
    seed: Annotated[int, Within(0), "draws the MDP"] = 0,
) -> TabularMDP:
    """Draw a world of shared factors in which one action of each state breaks the pattern.

    ## Description
    The world `shared_factors` of the same seed, in which one action of each state, drawn uniformly,
    leads with probability `p` to a treasure state instead. The treasure is the state that no pair
    led to easily: the one whose largest p(s'|s,a) is least. A learner that infers the special
    actions from the others never learns that there is a way to it, and gets less than half of the
    optimum. A world of this project.

    ## Action Space
    `Discrete(A)`.

    ## Observation Space
    `Discrete(S)`.

    ## Starting State
    State 0.

    ## Rewards
    By state only: u^6 for a uniform u, scaled to a maximum of 1, and `treasure` in the treasure
    state.

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `S`, `A`, `J`, `K`, `p`, `treasure`, `horizon` and `seed`. `info["treasure"]` is the treasure
    state, `info["special"]` the special action of each state.

    ## Version History
    * v0: first version
    """
    check_entries("exceptions", S * A * S)
    base = shared_factors(S=S, A=A, J=J, K=K, seed=seed)
    rng = np.random.default_rng([seed, 1])  # not the numbers that drew the factors
    special = rng.integers(A, size=S)
    P, r = base.transitions.copy(), base.rewards.copy()
    found = int(P.max(axis=(0, 1)).argmin())
    P[np.arange(S), special] *= 1 - p
    P[np.arange(S), special, found] += p
    r[found] = treasure
    info = {"treasure": found, "special": special.tolist()}
    return TabularMDP(P, r, start=0, horizon=horizon, info=info)
