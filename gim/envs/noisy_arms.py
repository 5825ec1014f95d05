"""Noisy arms: one action of each state pays, under noise as large as the prize."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gim._base.params import Within
from gim.envs.base import check_entries, task
from gim.mdp.tabular import TabularMDP


@task("gim/NoisyArms-v0", examples=("S=4,A=5",))
def noisy_arms(
    S: Annotated[int, Within(1), "states"] = 10,
    A: Annotated[int, Within(1), "actions"] = 40,
    noise: Annotated[float, Within(0), "standard deviation of every reward"] = 1.0,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 10,
    seed: Annotated[int, Within(0), "draws the MDP"] = 0,
) -> TabularMDP:
    """Find the one action of each state that pays.

    ## Description
    A bandit in every state. The paying action of one state says nothing about that of another, and
    a single reward says little about its own pair: rewards that are inferred from other pairs, or
    believed too soon, lead astray. Where a step leads does not matter: rows are Dirichlet(1) over
    the states. A world of this project.

    ## Action Space
    `Discrete(A)`.

    ## Observation Space
    `Discrete(S)`.

    ## Starting State
    State 0.

    ## Rewards
    1 for one action of each state, drawn uniformly, and 0 for the others, with Gaussian noise of
    standard deviation `noise` on all.

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `S`, `A`, `noise`, `horizon` and `seed`.

    ## Version History
    * v0: first version
    """
    check_entries("noisy_arms", S * A * S)
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(S), (S, A))
    r = np.zeros((S, A))
    r[np.arange(S), rng.integers(A, size=S)] = 1.0
    return TabularMDP(P, r, start=0, horizon=horizon, noise=noise)
