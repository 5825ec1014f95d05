"""Linear MDPs: every row is a mixture of a few."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gim._base.params import Within
from gim.envs.base import check_entries, rewards_of_states, task
from gim.mdp.tabular import TabularMDP


@task("gim/Linear-v0", examples=("S=8,A=4",))
def linear(
    S: Annotated[int, Within(1), "states"] = 30,
    A: Annotated[int, Within(1), "actions"] = 20,
    d: Annotated[int, Within(1), "distributions that every row is a mixture of"] = 4,
    low: Annotated[float, "what the worst of states would pay"] = 0.0,
    high: Annotated[float, "what the best of states pays"] = 1.0,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 10,
    seed: Annotated[int, Within(0), "draws the MDP"] = 0,
) -> TabularMDP:
    """Draw a linear MDP (Jin et al., 2020) whose features are not shown.

    ## Description
    p(.|s,a) = phi(s,a) M, with features phi(s,a) ~ Dirichlet(0.5) over d and rows of M ~
    Dirichlet(0.1) over the states. All S A rows lie in a space of dimension d, but nothing is
    known of a pair before it was played: neither its state nor its action says where in the space
    it lies. The numbers are this project's.

    ## Action Space
    `Discrete(A)`.

    ## Observation Space
    `Discrete(S)`.

    ## Starting State
    State 0.

    ## Rewards
    By state only: low + (high - low) x, with x = u^6 for a uniform u, scaled to a maximum of 1.

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `S`, `A`, `d`, `low`, `high`, `horizon` and `seed`.

    ## Version History
    * v0: first version
    """
    if not low < high:
        raise ValueError(f"linear: low = {low:g} is not below high = {high:g}")
    check_entries("linear", S * A * S)
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(d, 0.5), (S, A))  # [S, A, d]
    M = rng.dirichlet(np.full(S, 0.1), d)  # [d, S]
    r = low + (high - low) * rewards_of_states(rng, S, A)
    return TabularMDP(phi @ M, r, start=0, horizon=horizon)
