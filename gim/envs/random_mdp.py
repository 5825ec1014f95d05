"""Random MDPs with one goal: the benchmark of safe policy improvement from logs."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._base.params import Within
from gim.envs.base import check_entries, task
from gim.mdp.tabular import TabularMDP
from gim.planning import plan

Floats = NDArray[np.float64]
GAMMA = 0.95
SWEEPS = 60  # of value iteration, after which no goal is harder to reach than another by chance


@task("gim/RandomMDP-v0", examples=("S=8,A=2,horizon=10",))
def random_mdp(
    S: Annotated[int, Within(2), "states"] = 50,
    A: Annotated[int, Within(1), "actions"] = 4,
    branching: Annotated[int, Within(1), "successors of each pair"] = 4,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 50,
    seed: Annotated[int, Within(0), "draws the MDP"] = 0,
) -> TabularMDP:
    """Draw a random MDP with a goal (Laroche, Trichelair and Tachet des Combes, 2019).

    ## Description
    Each pair has `branching` successors drawn without replacement, with probabilities Dirichlet(1).
    The goal is the state that is hardest to reach from state 0: the one to which the best policy
    is worth least, discounted by 0.95.

    ## Action Space
    `Discrete(A)`.

    ## Observation Space
    `Discrete(S)`.

    ## Starting State
    State 0.

    ## Rewards
    1 for entering the goal, else 0.

    ## Episode End
    Terminated in the goal, truncated after `horizon` steps. The literature discounts by 0.95 and
    cuts nothing; planners that are asked to discount use that.

    ## Arguments
    `S`, `A`, `branching` (S at the most), `horizon` and `seed`. `softened` is the policy from
    whose logs the literature learns.

    ## Version History
    * v0: first version
    """
    if branching > S:
        raise ValueError(f"random_mdp: branching = {branching} of S = {S}: give S at the most")
    check_entries("random_mdp", S * A * S)
    rng = np.random.default_rng(seed)
    rows = np.zeros((S * A, S))
    for row in rows:
        row[rng.choice(S, branching, replace=False)] = rng.dirichlet(np.ones(branching))
    goal = _hardest(rows, S)
    P = rows.reshape(S, A, S)
    P[goal] = np.eye(S)[goal]
    paid = np.zeros((S, A, S))
    paid[:, :, goal] = 1.0
    paid[goal] = 0.0
    ends = np.arange(S) == goal
    return TabularMDP(P, paid, horizon=horizon, discount=GAMMA, start=0, terminal=ends)


def softened(mdp: TabularMDP, ratio: float) -> Floats:
    """The policy [S, A] from whose logs the literature learns.

    A softmax of the best values, as cold as it takes to be worth `ratio` of the way from the
    uniform policy to the best, at the start and discounted.
    """
    P = mdp.to_dense().transitions
    best = plan(mdp, discount=GAMMA).v
    q = mdp.rewards + GAMMA * (P @ best)
    q -= q.max(axis=1, keepdims=True)

    def soft(cold: float) -> Floats:
        weight = np.exp(cold * q)
        return weight / weight.sum(axis=1, keepdims=True)

    def worth(cold: float) -> float:
        pi = soft(cold)
        stay = np.eye(mdp.S) - GAMMA * np.einsum("sa,sat->st", pi, P)
        return float(mdp.start @ np.linalg.solve(stay, (pi * mdp.rewards).sum(axis=1)))

    chance = worth(0.0)
    target = chance + ratio * (float(mdp.start @ best) - chance)
    most = 1.0
    while worth(most) < target and most < 1e6:  # beyond, it is the best policy
        most *= 2.0
    if worth(most) <= target:
        return soft(most)
    from scipy import optimize  # long to import, and seldom needed

    return soft(optimize.brentq(lambda cold: worth(cold) - target, 0.0, most, xtol=1e-12))


def _hardest(P: Floats, S: int) -> int:
    """The goal, of all but state 0, to which the best policy is worth least there."""
    v, rows = np.zeros((S, S)), sparse.csr_array(P)  # v [state, goal]
    for _ in range(SWEEPS):
        v = GAMMA * (rows @ v).reshape(S, -1, S).max(axis=1)
        np.fill_diagonal(v, 1.0)
    return 1 + int(np.argmin(v[0, 1:]))
