"""Random MDPs for tests: small, with terminal states, missing actions and ties among them."""

from __future__ import annotations

import numpy as np

from gim import TabularMDP


def random_mdp(seed, S=None, A=None, horizon=None, terminal=False, missing=False, sparse=False):
    rng = np.random.default_rng(seed)
    S = S or int(rng.integers(2, 7))
    A = A or int(rng.integers(1, 5))
    P = rng.dirichlet(np.full(S, 0.4), size=(S, A))
    r = rng.normal(size=(S, A)).round(2)
    given = {"horizon": horizon or int(rng.integers(2, 12)), "name": f"random {seed}"}
    if terminal and S > 2:
        P[S - 1] = np.eye(S)[S - 1]
        r[S - 1] = 0
        given["terminal"] = [S - 1]
    if missing and A > 1:
        available = rng.random((S, A)) < 0.7
        available[np.arange(S), rng.integers(A, size=S)] = True
        given["available"] = available
        if terminal and S > 2:
            available[S - 1] = True
    mdp = TabularMDP(P, r, **given)
    return mdp.to_sparse() if sparse else mdp


def eventful(seed):
    """A world with everything that an agent may trip over."""
    mdp = random_mdp(seed, S=5, A=3, horizon=7, terminal=True, missing=True)
    return mdp.with_(noise=0.2)


def costly(seed):
    """The same, but every step costs, so that an end is the best there is."""
    mdp = eventful(seed)
    return mdp.with_(rewards=np.where(mdp.available, mdp.rewards - 4, 0) * ~mdp.terminal[:, None])
