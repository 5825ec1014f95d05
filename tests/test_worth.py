"""What a prediction is worth: likelihoods as urns give them, and the mixture by plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gim.analogy.worth import (
    DOUBTS,
    LEAKS,
    LEAST,
    VISITS,
    HeldOut,
    likelihoods,
    prior_of_worth,
    strata_of,
    worth_of,
)

S = 6
PREDICTED = np.array([0.5, 0.3, 0.2, 0.0, 0.0, 0.0])


def urn(alpha, drawn):
    """ln of the chance to draw these, one by one, from an urn that returns each ball twice."""
    alpha, chance = list(alpha), 0.0
    for t in drawn:
        chance += math.log(alpha[t] / sum(alpha)) if alpha[t] > 0 else -math.inf
        alpha[t] += 1.0
    return chance


def held_out(pairs, behind=np.inf):
    """As the kernel takes them: of each pair the successors that were met, in order."""
    counts = [np.bincount(drawn, minlength=S) for drawn in pairs]
    met = [np.flatnonzero(N) for N in counts]
    first = np.append(0, np.cumsum([len(t) for t in met]))
    N = np.concatenate([c[t] for c, t in zip(counts, met, strict=True)]).astype(float)
    q = np.concatenate([PREDICTED[t] for t in met])
    return HeldOut(np.arange(len(pairs)), first, N, q, np.full(len(pairs), behind))


def drawn_pairs(rng, n, like):
    """Pairs of 1 to 8 visits, which go as predicted or anywhere."""
    chances = PREDICTED if like else np.full(S, 1 / S)
    return [rng.choice(S, size=rng.integers(1, 9), p=chances) for _ in range(n)]


@pytest.mark.parametrize("behind", [np.inf, 3.0])
def test_likelihoods_are_those_of_urns(behind):
    """What a rule was seen for bounds what it is worth: 1 / (1 / n0 + 1 / behind) visits."""
    rng = np.random.default_rng(0)
    pairs = drawn_pairs(rng, 4, True) + drawn_pairs(rng, 4, False)
    visits = np.array([0.5, 4.0, 32.0])
    held = held_out(pairs, behind)
    spike, slab = likelihoods(held.first, held.N, held.q, held.behind, visits, LEAKS, S)
    for k, drawn in enumerate(pairs):
        assert slab[k] == pytest.approx(urn(np.full(S, 1 / S), drawn))
        for i, leak in enumerate(LEAKS):
            for v, n0 in enumerate(visits):
                worth = 1 / (1 / n0 + 1 / behind)
                expected = urn(worth * ((1 - leak) * PREDICTED + leak / S), drawn)
                assert spike[i, v, k] == pytest.approx(expected)
    assert np.isinf(spike[0]).any()  # what was said to be impossible has happened
    assert np.isfinite(spike[1:]).all()


def grid_of(held, leak, visits):
    """ln P of each pair [n0s, doubts, K] by plain loops, and ln of no prediction [K]."""
    spike, slab = likelihoods(held.first, held.N, held.q, held.behind, visits, LEAKS, S)
    found = np.empty((visits.size, DOUBTS.size, slab.size))
    for v, d, k in np.ndindex(found.shape):
        holds = math.exp(spike[leak, v, k]) if np.isfinite(spike[leak, v, k]) else 0.0
        found[v, d, k] = math.log(DOUBTS[d] * math.exp(slab[k]) + (1 - DOUBTS[d]) * holds)
    return found, slab


def means(logs, visits):
    """The posterior means of 1/(n0 + 1) and of the doubt, and ln of the evidence."""
    chance = np.exp(logs - logs.max())
    total = float(np.log(chance.sum()) + logs.max())
    chance /= chance.sum()
    return (chance.sum(axis=1) @ (1 / (visits + 1)), chance.sum(axis=0) @ DOUBTS, total)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("behind", [np.inf, 5.0])
def test_the_posterior_is_that_of_plain_loops(seed, behind):
    """Of two strata: what all say, or with even odds beforehand what each says alone."""
    rng = np.random.default_rng(seed)
    pairs = drawn_pairs(rng, 12, True) + drawn_pairs(rng, 4 + 4 * seed, False)
    held, stratum = held_out(pairs, behind), np.repeat([0, 2], [12, 4 + 4 * seed])
    found = worth_of(held, S, stratum, 3, 40.0)
    visits = np.append(VISITS[VISITS < 40.0], 40.0)
    before = prior_of_worth(visits)
    evidence = []
    for leak in range(LEAKS.size):
        logs, _ = grid_of(held, leak, visits)
        evidence.append(means(before + logs.sum(axis=2), visits)[2])
    leak = int(np.argmax(evidence))
    assert found.leak == LEAKS[leak]
    logs, slab = grid_of(held, leak, visits)
    all_apart, all_doubt, total = means(before + logs.sum(axis=2), visits)
    gain = total - slab.sum()
    for k in (0, 2):
        of = stratum == k
        apart, doubt, alone = means(before + logs[:, :, of].sum(axis=2), visits)
        shared = total - means(before + logs[:, :, ~of].sum(axis=2), visits)[2]
        share = 1 / (1 + math.exp(alone - shared))
        expected = share * all_apart + (1 - share) * apart
        assert 1 / (found.n0[k] + 1) == pytest.approx(expected, rel=1e-9)
        assert found.doubt[k] == pytest.approx(share * all_doubt + (1 - share) * doubt, rel=1e-9)
        gain += math.log(0.5 + 0.5 * math.exp(alone - shared))
    assert 1 / (found.n0[1] + 1) == pytest.approx(all_apart)  # a stratum that nobody is in
    assert found.doubt[1] == pytest.approx(all_doubt)
    assert found.gain == pytest.approx(gain)


def test_the_prior_says_half_that_pairs_of_a_rule_do_not_differ():
    chance = np.exp(prior_of_worth(VISITS))
    assert chance.sum() == pytest.approx(1.0)
    assert chance[-1].sum() == pytest.approx(0.5)
    assert np.allclose(chance[:-1].sum(axis=1), 0.05)
    weights = chance[0] / chance[0].sum()
    assert weights[DOUBTS <= 0.03].sum() == pytest.approx(0.155, abs=0.005)  # Beta(1/2, 1/2)


def test_strata_that_differ_have_a_worth_of_their_own():
    rng = np.random.default_rng(5)
    pairs = drawn_pairs(rng, 60, True) + drawn_pairs(rng, 60, False)
    found = worth_of(held_out(pairs), S, np.repeat([0, 1], 60), 2, 100.0)
    assert found.n0[0] > 8  # they go as predicted
    assert found.doubt[0] < 0.05
    assert found.doubt[1] > 0.5


def test_pairs_met_once_leave_it_open_what_a_rule_is_worth():
    """They tell nothing of n0, and a few agreeing pairs do not tell that there is no exception."""
    rng = np.random.default_rng(6)
    once = [rng.choice(S, size=1, p=PREDICTED) for _ in range(8)]
    often = [rng.choice(S, size=40, p=PREDICTED) for _ in range(100)]
    few, many = (worth_of(held_out(x), S, np.zeros(len(x), int), 1, 100.0) for x in (once, often))
    assert 1 < few.n0[0] < 20
    assert many.n0[0] > 60
    assert few.doubt[0] > 0.05
    assert many.doubt[0] < 0.01
    both = worth_of(held_out(often + once), S, np.repeat([0, 1], [100, 8]), 2, 100.0)
    assert both.doubt[1] < few.doubt[0] / 2  # what all others are worth, they are, too


def test_a_rule_seen_a_few_times_is_not_doubted_for_what_it_does_not_know_yet():
    """Six visits of eight went to the first state where one in two does: no difference of pairs."""
    rng = np.random.default_rng(7)
    true = np.array([0.25, 0.55, 0.2, 0.0, 0.0, 0.0])
    pairs = [rng.choice(S, size=12, p=true) for _ in range(30)]
    told, knowing = (
        worth_of(held_out(pairs, b), S, np.zeros(30, int), 1, 100.0) for b in (np.inf, 8.0)
    )
    assert knowing.n0[0] > 2 * told.n0[0]


@pytest.mark.parametrize("K", [0, 1, LEAST, 2 * LEAST - 1, 2 * LEAST, 3 * LEAST, 20 * LEAST])
def test_strata_have_equal_shares_of_what_was_held_out(K):
    held = np.random.default_rng(K).permutation(K).astype(float)
    everything = np.linspace(-1, K + 1, 50).reshape(5, 10)
    of_all, of_held, strata = strata_of(everything, held)
    assert strata == min(6, max(1, K // LEAST))
    assert of_all.shape == everything.shape
    sizes = np.bincount(of_held, minlength=strata)
    assert sizes.size == strata
    assert sizes.max(initial=0) - sizes.min(initial=K) <= 1
    for x, k in zip(everything.ravel(), of_all.ravel(), strict=True):
        below = held[of_held < k]
        assert below.size == 0 or below.max() < x
        above = held[of_held > k]
        assert above.size == 0 or above.min() > x
