"""Prototypes: states are mixtures of a few prototype states, action by action."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gim._base.params import Within
from gim.envs.base import check_entries, rewards_of_states, task
from gim.mdp.tabular import TabularMDP


@task("gim/Prototypes-v0", examples=("S=8,A=4",))
def prototypes(
    S: Annotated[int, Within(1), "states"] = 30,
    A: Annotated[int, Within(1), "actions"] = 20,
    J: Annotated[int, Within(1), "prototype rows of each action"] = 4,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 10,
    seed: Annotated[int, Within(0), "draws the MDP"] = 0,
) -> TabularMDP:
    """Draw an MDP in which every state is a mixture of J prototypes.

    ## Description
    p(.|s,a) = sum over j of w_j(s) q_j(.|a): the weights of a state, Dirichlet(0.4) over J, are the
    same for every action; each action has J rows of its own, Dirichlet(0.15) over the states. It
    is soft state aggregation (Singh, Jaakkola and Jordan, 1995). As in `shared_factors` with J
    kinds of state, every dynamic matrix has rank J at most, but the rows of two actions share
    nothing. The numbers are this project's.

    ## Action Space
    `Discrete(A)`.

    ## Observation Space
    `Discrete(S)`.

    ## Starting State
    State 0.

    ## Rewards
    By state only: u^6 for a uniform u, scaled to a maximum of 1.

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `S`, `A`, `J`, `horizon` and `seed`.

    ## Version History
    * v0: first version
    """
    check_entries("prototypes", S * A * S)
    rng = np.random.default_rng(seed)
    w = rng.dirichlet(np.full(J, 0.4), S)  # [S, J]
    q = rng.dirichlet(np.full(S, 0.15), (A, J))  # [A, J, S]
    P = np.einsum("sj,ajt->sat", w, q, optimize=True)
    return TabularMDP(P, rewards_of_states(rng, S, A), start=0, horizon=horizon)
