"""Time rlberry-scool's UCBVI: ``rlberry_ucbvi.py PROBLEM.npz [EPISODES]``.

The problem holds P [S, A, S], r [S, A] and the horizon H; each episode starts in state 0. Prints
steps a second, planning included, as JSON. (This peer has no PSRL.)
"""

import json
import sys
from importlib.metadata import version
from statistics import median
from time import process_time

import numpy as np
from rlberry.envs.finite_mdp import FiniteMDP
from rlberry_scool.agents.ucbvi import UCBVIAgent

REPEATS = 5


class Task(FiniteMDP):
    """The peer's finite MDP, paying r(s, a)."""

    def reward_fn(self, state, action, next_state):
        """Pay the expectation."""
        return self.R[state, action]


def exact(P):
    """Round to multiples of 2^-30, so that rows sum to 1 without an error, as the peer asks."""
    k = np.round(P * 2**30)
    S, A, _ = P.shape
    k[np.arange(S)[:, None], np.arange(A), k.argmax(axis=2)] += 2**30 - k.sum(axis=2)
    return k / 2**30


def main(problem_file, episodes=40):
    """Print the median over the repeats, each with a fresh agent."""
    with np.load(problem_file) as problem:
        P, r, H = exact(problem["P"]), problem["r"], int(problem["H"])
    rates = []
    for seed in range(REPEATS):
        agent = UCBVIAgent(Task(r, P.copy()), gamma=1.0, horizon=H, seeder=seed)
        began = process_time()
        agent.fit(int(episodes))
        rates.append(int(episodes) * H / (process_time() - began))
    peer = f"rlberry-scool {version('rlberry-scool')}"
    print(json.dumps({"steps_per_second": median(rates), "peer": peer}))


main(*sys.argv[1:])
