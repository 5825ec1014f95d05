"""Clusters: states of one cluster behave alike under every action."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gim._base.params import Within
from gim.envs.base import check_entries, rewards_of_states, task
from gim.mdp.tabular import TabularMDP


@task("gim/Clusters-v0", examples=("S=10,A=4,clusters=3",))
def clusters(
    S: Annotated[int, Within(1), "states"] = 100,
    A: Annotated[int, Within(1), "actions"] = 20,
    clusters: Annotated[int, Within(1), "clusters of states"] = 8,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 10,
    seed: Annotated[int, Within(0), "draws the MDP"] = 0,
) -> TabularMDP:
    """Draw an MDP in which clusters of states share their dynamics.

    ## Description
    p(.|s,a) = q(.|c(s),a): every state belongs to one cluster, drawn uniformly, and every row
    q(.|c,a) is Dirichlet(0.1) over the states. As in block MDPs and state aggregation, but with
    clusters that do not show. The numbers are this project's.

    ## Action Space
    `Discrete(A)`.

    ## Observation Space
    `Discrete(S)`: states without any order; `info["cluster"]` keeps the cluster of each.

    ## Starting State
    State 0.

    ## Rewards
    By state only: u^6 for a uniform u, scaled to a maximum of 1. States of a cluster pay
    differently.

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `S`, `A`, `clusters`, `horizon` and `seed`.

    ## Version History
    * v0: first version
    """
    check_entries("clusters", S * A * S)
    rng = np.random.default_rng(seed)
    cluster = rng.integers(clusters, size=S)
    q = rng.dirichlet(np.full(S, 0.1), (clusters, A))  # [clusters, A, S]
    r = rewards_of_states(rng, S, A)
    info = {"cluster": cluster.tolist()}
    return TabularMDP(q[cluster], r, start=0, horizon=horizon, info=info)
