"""Duplicates: many actions, but few that differ."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gim._base.params import OneOf, Within
from gim.envs.base import check_entries, rewards_of_states, task
from gim.envs.shared_factors import shared_factors
from gim.mdp.tabular import TabularMDP


@task("gim/Duplicates-v0", examples=("S=8,A=4,copies=2",))
def duplicates(
    S: Annotated[int, Within(2), "states"] = 30,
    A: Annotated[int, Within(1), "actions, copies included"] = 20,
    copies: Annotated[int, Within(1), "actions that are one and the same"] = 5,
    rows: Annotated[str, OneOf("random", "low_rank"), "what the different actions are"] = "random",
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 10,
    seed: Annotated[int, Within(0), "draws the MDP"] = 0,
) -> TabularMDP:
    """Draw a world in which actions come in copies.

    ## Description
    Of A actions only A / `copies` differ; which are copies of which is drawn by the seed. The rows
    of those that differ are Dirichlet(0.1) over the states each, unrelated (`random`), or those of
    `shared_factors` with its J = 2 kinds of state (`low_rank`). Whoever notices learns `copies`
    times faster. A world of this project.

    ## Action Space
    `Discrete(A)`: `info["copy_of"]` keeps which of the different actions each is.

    ## Observation Space
    `Discrete(S)`.

    ## Starting State
    State 0.

    ## Rewards
    By state only: u^6 for a uniform u, scaled to a maximum of 1.

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `S`, `A`, `copies` (a divisor of A), `rows`, `horizon` and `seed`.

    ## Version History
    * v0: first version
    """
    if A % copies:
        raise ValueError(f"duplicates: copies = {copies} does not divide A = {A}: give a divisor")
    check_entries("duplicates", S * A * S)
    n = A // copies
    rng = np.random.default_rng([seed, 1])  # not the numbers that draw the factors
    copy_of = rng.permutation(np.repeat(np.arange(n), copies))
    if rows == "low_rank":
        P = shared_factors(S=S, A=n, seed=seed).transitions
    else:
        P = rng.dirichlet(np.full(S, 0.1), (S, n))
    r = rewards_of_states(rng, S, A)
    info = {"copy_of": copy_of.tolist()}
    return TabularMDP(P[:, copy_of], r, start=0, horizon=horizon, info=info)
