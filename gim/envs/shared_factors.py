"""MDPs whose states (or actions) share a few kinds of behaviour."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from gim._base.params import OneOf, Within
from gim.envs.base import check_entries, rewards_of_states, task
from gim.mdp.tabular import TabularMDP


@task("gim/SharedFactors-v0", examples=("S=6,A=4",))
def shared_factors(
    S: Annotated[int, Within(2), "states"] = 50,
    A: Annotated[int, Within(1), "actions"] = 40,
    J: Annotated[int, Within(1), "kinds of state (or of action)"] = 2,
    K: Annotated[int, Within(1), "distributions over next states"] = 5,
    shared: Annotated[str, OneOf("state", "action"), "who belongs to the J kinds"] = "state",
    blocks: Annotated[int, Within(1), "parts of the next states, each with kinds of its own"] = 1,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 10,
    seed: Annotated[int, Within(0), "draws the MDP"] = 0,
) -> TabularMDP:
    """Draw an MDP in which a few kinds of state behave alike under every action.

    ## Description
    p(s'|s,a) = sum over j, k of alpha_j(s) beta_jk(a) q_k(s'): each state is a mixture of J kinds,
    each kind answers an action by a mixture of K distributions over next states. alpha(s) and
    beta_j(a) are Dirichlet(0.3), q_k is Dirichlet(0.1). With `shared="action"` the actions are
    mixtures of J kinds instead: alpha_j(a) beta_jk(s).

    Every dynamic matrix then has rank J at most, with the same column space: the states that are
    known say much about the others. With J of S or more (A or more for actions) nothing is shared
    but the K distributions.

    With `blocks=b` the next states are split in b blocks, as equal as can be. Every pair leads into
    each of them with probability 1/b, and inside a block alpha, beta and q are drawn for it alone.
    Every dynamic matrix still has rank J at most, but two matrices of different blocks share
    nothing: with many blocks the matrices are low-rank each, and unrelated. (Rows of alpha sum to
    one in every block, so that the states' unfolding has rank 1 + b (J - 1) at most.)

    ## Action Space
    `Discrete(A)`.

    ## Observation Space
    `Discrete(S)`.

    ## Starting State
    State 0.

    ## Rewards
    By state only: u^6 for a uniform u, scaled to a maximum of 1, so the dynamics matter.

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `S`, `A`, `J`, `K`, `shared`, `blocks` (S at the most), `horizon` and `seed`.

    ## Version History
    * v0: first version
    """
    check_entries("shared_factors", S * A * S)
    if blocks > S:
        raise ValueError(f"blocks = {blocks} of S = {S} next states: give S at the most")
    rng = np.random.default_rng(seed)
    n_shared, n_other = (S, A) if shared == "state" else (A, S)
    parts = []
    for states in np.array_split(np.arange(S), blocks):
        alpha = rng.dirichlet(np.full(J, 0.3), n_shared)  # [n_shared, J]
        beta = rng.dirichlet(np.full(K, 0.3), (n_other, J))  # [n_other, J, K]
        q = rng.dirichlet(np.full(states.size, 0.1), K)  # [K, states of the block]
        parts.append(np.einsum("xj,yjk,kt->xyt", alpha, beta, q, optimize=True) / blocks)
    P = np.concatenate(parts, axis=2)
    P = P if shared == "state" else P.transpose(1, 0, 2)
    return TabularMDP(P, rewards_of_states(rng, S, A), start=0, horizon=horizon)
