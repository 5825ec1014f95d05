"""Whether an episode surprised: the cheap question before a look for a change."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gim.analogy.prior import no_prior, prior_of
from gim.belief.knowledge import knowledge_of
from gim.belief.surprise import FAR, surprising
from gim.model.counts import new_counts
from gim.model.tally import tally
from gim.runs.loop import Trail

S, A, H = 5, 2, 12


def world(seed):
    return np.random.default_rng(seed).dirichlet(np.full(S, 0.3), S * A)


def steps(p, n, rng):
    pair = rng.integers(0, S * A, n)
    return pair, np.array([rng.choice(S, p=p[i]) for i in pair])


def belief_and_trail(past, episode, r, prior=None, r_past=None):
    """What was counted, the episode among it, and the trail of that episode alone."""
    pair, t = (np.append(x, y) for x, y in zip(past, episode, strict=True))
    paid = np.append(np.ones(len(past[0])) if r_past is None else r_past, r)
    counts = tally(S, A, *np.divmod(pair, A), paid, t)
    belief = knowledge_of(counts, np.zeros(S, bool), prior or no_prior(S, A))
    return belief, Trail(episode[0][None], episode[1][None], np.asarray(r, float)[None])


def expected_surprise(counts, pair, t, worth, q):
    """The same sums, one distribution at a time."""
    excess = variance = 0.0
    for i, k in zip(pair, t, strict=True):
        x = counts.next.reshape(S * A, S)[i] + 1.0 / S + worth * q[i]
        x[k] -= 1.0
        p = x / x.sum()
        told = -np.log(p)
        excess += told[k] - p @ told
        variance += p @ told**2 - (p @ told) ** 2
    return excess, math.sqrt(variance)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ruled", [False, True])
def test_the_sums_are_those_of_one_distribution_at_a_time(seed, ruled):
    rng, p = np.random.default_rng(seed), world(seed)
    prior, q = None, np.zeros((S * A, S))
    if ruled:
        q = world(seed + 9)
        prior = prior_of(q.reshape(S, A, S), np.full((S, A), 4.0), doubt=np.full((S, A), 0.25))
    answers = set()
    for other in (p, world(seed + 20)) * 4:
        episode = steps(other, H, rng)
        belief, trail = belief_and_trail(steps(p, 200, rng), episode, np.ones(H), prior)
        excess, sd = expected_surprise(belief.counts, *episode, 3.0 * ruled, q)
        assert surprising(belief, trail, 0) == (excess > FAR * sd)
        answers.add(excess > FAR * sd)
    assert answers == {False, True}


def test_the_same_world_seldom_surprises_and_another_does():
    told = {"same": 0, "other": 0}
    for seed in range(60):
        rng, p = np.random.default_rng(seed), world(seed)
        for name, of in (("same", p), ("other", world(1000 + seed))):
            belief, trail = belief_and_trail(steps(p, 2_000, rng), steps(of, H, rng), np.ones(H))
            told[name] += surprising(belief, trail, 0)
    assert told["same"] <= 6
    assert told["other"] >= 54


def test_a_reward_unlike_the_others_surprises():
    rng, p = np.random.default_rng(1), np.eye(S)[np.arange(S * A) % S]  # nothing is random
    past, episode = steps(p, 200, rng), steps(p, H, rng)
    belief, trail = belief_and_trail(past, episode, np.ones(H))
    assert not surprising(belief, trail, 0)
    for some in (1, H):
        r = np.where(np.arange(H) < some, 2.0, 1.0)
        belief, trail = belief_and_trail(past, episode, r)
        assert surprising(belief, trail, 0)
        assert not surprising(belief._replace(rewards=given(belief)), trail, 0)
    noise = rng.normal(size=200)
    belief, trail = belief_and_trail(past, episode, np.full(H, 0.5), r_past=noise)
    assert not surprising(belief, trail, 0)


def given(belief):
    return belief.rewards._replace(r=np.ones((S, A)))


def test_where_triples_are_hashed_it_is_not_asked():
    sparse = new_counts(S, A)._replace(next=np.zeros(64), keys=np.full(64, -1, np.int64))
    belief = knowledge_of(sparse, np.zeros(S, bool), no_prior(S, A))
    nothing = np.full((1, H), -1, np.int64)
    assert surprising(belief, Trail(nothing, nothing, np.zeros((1, H))), 0)
