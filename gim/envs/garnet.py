"""Garnet: random MDPs without any structure."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gim._base.params import Within
from gim.envs.base import LISTED, check_entries, task
from gim.mdp.convert import from_outcomes
from gim.mdp.tabular import TabularMDP


@task("gim/Garnet-v0", examples=("S=10,A=3,horizon=10",))
def garnet(
    S: Annotated[int, Within(1), "states"] = 60,
    A: Annotated[int, Within(1), "actions"] = 6,
    branching: Annotated[int, Within(1), "successors of each pair"] = 4,
    paying: Annotated[float, Within(0, 1), "share of the pairs that pay"] = 0.2,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 20,
    seed: Annotated[int, Within(0), "draws the MDP"] = 0,
) -> TabularMDP:
    """Draw a Garnet MDP (after Archibald, McKinnon and Thomas, 1995).

    ## Description
    Each pair has `branching` successors drawn without replacement, with probabilities Dirichlet(1).
    Nothing that is learned of one pair says anything about another: a world in which analogies
    must do no harm. The sizes are this project's.

    ## Action Space
    `Discrete(A)`.

    ## Observation Space
    `Discrete(S)`.

    ## Starting State
    State 0.

    ## Rewards
    The share `paying` of the pairs, drawn without replacement, pays u each, uniform in [0, 1); the
    others pay 0.

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `S`, `A`, `branching` (S at the most), `paying`, `horizon` and `seed`.

    ## Version History
    * v0: first version
    """
    if branching > S:
        raise ValueError(f"garnet: branching = {branching} of S = {S} states: give S at the most")
    check_entries("garnet", S * A * branching, LISTED)
    rng = np.random.default_rng(seed)
    t = np.stack([rng.choice(S, branching, replace=False) for _ in range(S * A)])
    p = rng.dirichlet(np.ones(branching), S * A)  # [S*A, branching]
    r = np.zeros(S * A)
    some = rng.choice(S * A, round(paying * S * A), replace=False)
    r[some] = rng.random(some.size)
    s, a = np.divmod(np.repeat(np.arange(S * A), branching), A)
    outcomes = np.column_stack([s, a, t.ravel(), p.ravel(), np.repeat(r, branching)])
    return from_outcomes(outcomes, S=S, A=A, start=0, horizon=horizon)
