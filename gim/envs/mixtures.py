"""MDPs whose dynamic matrices have exactly the rank asked for."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gim._base.params import OneOf, Within
from gim.envs.base import check_entries, rewards_of_states, task
from gim.mdp.tabular import TabularMDP


@task("gim/Mixtures-v0", examples=("S=6,A=3",))
def mixtures(
    S: Annotated[int, Within(2), "states"] = 20,
    A: Annotated[int, Within(1), "actions"] = 10,
    rank: Annotated[int, Within(1), "primitive actions: the rank of every matrix"] = 2,
    rewards: Annotated[str, OneOf("pair", "state"), "what a reward depends on"] = "pair",
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 10,
    seed: Annotated[int, Within(0), "draws the MDP"] = 0,
) -> TabularMDP:
    """Draw an MDP whose actions are mixtures of a few primitive ones.

    ## Description
    p(.|s,a) = sum over k of w_k(a) p_k(.|s): every action plays primitive action k with
    probability w_k(a). Each dynamic matrix is the product of an S x rank and a rank x A matrix, so
    it has exactly the rank asked for, unlike those of `synthetic`, which lose it by clipping.
    w(a) is Dirichlet(1), p_k(.|s) is Dirichlet(0.3). At rank 1 all actions are alike.

    ## Action Space
    `Discrete(A)`.

    ## Observation Space
    `Discrete(S)`.

    ## Starting State
    State 0.

    ## Rewards
    `pair`: the expectation r(s,a) = sum over k of w_k(a) u_k(s) for uniform u, again of this rank.
    `state`: u^6 of the state, scaled to a maximum of 1 (a matrix of rank 1).

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `S`, `A`, `rank` (at most min(S, A)), `rewards`, `horizon` and `seed`.

    ## Version History
    * v0: first version
    """
    check_entries("mixtures", S * A * S)
    if rank > min(S, A):
        raise ValueError(f"mixtures: rank = {rank}: an {S} x {A} matrix has at most {min(S, A)}")
    rng = np.random.default_rng(seed)
    w = rng.dirichlet(np.ones(rank), A)  # [A, rank]
    p = rng.dirichlet(np.full(S, 0.3), (rank, S))  # [rank, S, S]
    P = np.einsum("ak,kst->sat", w, p)
    r = rng.random((S, rank)) @ w.T if rewards == "pair" else rewards_of_states(rng, S, A)
    return TabularMDP(P, r, start=0, horizon=horizon, info={"asked": {"rank": rank}})
