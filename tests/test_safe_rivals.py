"""Methods of the literature on Wet Chicken: as good as plain implementations from bare rows."""

from __future__ import annotations

import numpy as np
import pytest

import gim
from gim.envs.wet_chicken import baseline
from gim.logs.safe import safe_policy
from tests import naive_safe

RIVER, GAMMA = gim.make("wet_chicken"), 0.95
LOGS, LENGTH = 5, 600


def rows_of(seed):
    """An endless walk of the baseline: (s, a, r, t)."""
    rng, P, acted = np.random.default_rng(seed), RIVER.to_dense().transitions, baseline(0.1)
    s, rows = 0, []
    for _ in range(LENGTH):
        a = int(rng.choice(5, p=acted[s]))
        t = int(rng.choice(25, p=P[s, a]))
        rows.append((s, a, float(t // 5), t))
        s = t
    return rows


def worth(policy):
    """The discounted value of probabilities [25, 5] at the start."""
    P, pi = RIVER.to_dense().transitions, np.asarray(policy)
    r = np.einsum("sa,sat,t->s", pi, P, np.arange(25) // 5)
    return float(np.linalg.solve(np.eye(25) - GAMMA * np.einsum("sa,sat->st", pi, P), r)[0])


def plain_twin(name, data, seen):
    method = safe_policy(name)
    if name == "ramdp":
        return naive_safe.ramdp(data, GAMMA, method.kappa)
    if name == "r_min":
        return naive_safe.r_min(data, GAMMA, method.n)
    if name == "vi_lcb":
        return naive_safe.vi_lcb(data, GAMMA, method.delta, method.scale, 5 * len(seen))
    if name == "duipi":
        return naive_safe.duipi(data, GAMMA, method.xi, method.alpha, seen)
    return naive_safe.spibb(data, GAMMA, method.n, lower=name == "lower_spibb")


LOGGED = [rows_of(seed) for seed in range(40, 40 + LOGS)]


@pytest.mark.parametrize("name", ["ramdp", "r_min", "vi_lcb", "duipi", "spibb", "lower_spibb"])
def test_as_good_as_a_plain_implementation(name):
    found = []
    for rows in LOGGED:
        log = gim.from_log(rows)
        learned = gim.learn(log, safe=name, infer=None, discount=GAMMA)
        ours = np.eye(25, 5, -25)
        ours[:, 0] = 1.0  # where nobody was: the first action, as below
        pi = np.asarray(learned.policy)
        pi = pi if pi.ndim == 2 else np.eye(len(log.actions))[pi]
        for i, s in enumerate(log.states):
            ours[s] = 0.0
            ours[s, list(log.actions)] = pi[i]
        data = naive_safe.Data(rows, 25, 5)
        found.append((worth(ours), worth(plain_twin(name, data, list(log.states)))))
    mine, theirs = np.array(found).T
    error = theirs.std(ddof=1) / np.sqrt(LOGS)
    assert abs(mine.mean() - theirs.mean()) <= max(2 * error, 0.01)
    assert np.median(np.abs(mine - theirs)) < 0.01  # ties aside they are the same
