"""Gate: a region where everything is different, behind a way that is seldom taken."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gim._base.params import Within
from gim.envs.base import check_entries, rewards_of_states, task
from gim.envs.shared_factors import shared_factors
from gim.mdp.tabular import TabularMDP


@task("gim/Gate-v0", examples=("S=8,A=4,behind=3",))
def gate(
    S: Annotated[int, Within(3), "states in all"] = 40,
    A: Annotated[int, Within(1), "actions"] = 20,
    behind: Annotated[int, Within(1), "states behind the gate"] = 10,
    opens: Annotated[float, Within(0, 1), "chance that the gate lets through"] = 0.1,
    back: Annotated[
        float, Within(0, 1), "chance of each step behind to fall back to the start"
    ] = 0.1,
    J: Annotated[int, Within(1), "kinds of state before the gate"] = 2,
    K: Annotated[int, Within(1), "distributions over next states before the gate"] = 5,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 10,
    seed: Annotated[int, Within(0), "draws the MDP"] = 0,
) -> TabularMDP:
    """Draw a world of two regions, of which the second is like nothing in the first.

    ## Description
    The first S - `behind` states are a world of shared factors, `shared_factors` of the same seed.
    One pair of them, drawn uniformly, is the gate: with probability `opens` it leads behind, to a
    state drawn uniformly at each passage, and otherwise where it would lead anyway. Behind, every
    row is drawn by itself: Dirichlet(0.1) over the states behind, with probability 1 - `back`, and
    the start state otherwise. So nearly all that is ever seen is of low rank, and what is inferred
    from it is wrong in the states that are hardly ever seen: nothing seen before can tell, and a
    certificate must not be given. A world of this project.

    ## Action Space
    `Discrete(A)`.

    ## Observation Space
    `Discrete(S)`: the states behind the gate are the last.

    ## Starting State
    State 0.

    ## Rewards
    By state only: u^6 for a uniform u, scaled to a maximum of 1 on either side of the gate.

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `S`, `A`, `behind` (at most S - 2), `opens`, `back`, `J`, `K`, `horizon` and `seed`.
    `info["gate"]` is the pair (s, a) of the gate.

    ## Version History
    * v0: first version
    """
    if behind > S - 2:
        raise ValueError(f"gate: behind = {behind} of S = {S} states: leave two before the gate")
    check_entries("gate", S * A * S)
    before = S - behind
    base = shared_factors(S=before, A=A, J=J, K=K, seed=seed)
    rng = np.random.default_rng([seed, 1])  # not the numbers that drew the factors
    P, r = np.zeros((S, A, S)), np.zeros((S, A))
    P[:before, :, :before], r[:before] = base.transitions, base.rewards
    s, a = int(rng.integers(before)), int(rng.integers(A))
    P[s, a] *= 1 - opens
    P[s, a, before:] = opens / behind
    P[before:, :, before:] = (1 - back) * rng.dirichlet(np.full(behind, 0.1), (behind, A))
    P[before:, :, 0] = back
    r[before:] = rewards_of_states(rng, behind, A)
    return TabularMDP(P, r, start=0, horizon=horizon, info={"gate": [s, a]})
