"""What a prediction is worth: likelihoods as urns give them, and the mixture by plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gim.inference import worth
from gim.inference.worth import LEAKS, LEAST, ROUNDS, VISITS, HeldOut, likelihoods, strata_of
from gim.inference.worth import worth_of as fitted_worth

S = 6
PREDICTED = np.array([0.5, 0.3, 0.2, 0.0, 0.0, 0.0])


def urn(alpha, drawn):
    """ln of the chance to draw these, one by one, from an urn that returns each ball twice."""
    alpha, chance = list(alpha), 0.0
    for t in drawn:
        chance += math.log(alpha[t] / sum(alpha)) if alpha[t] > 0 else -math.inf
        alpha[t] += 1.0
    return chance


def held_out(pairs):
    """As the kernel takes them: of each pair the successors that were met, in order."""
    counts = [np.bincount(drawn, minlength=S) for drawn in pairs]
    met = [np.flatnonzero(N) for N in counts]
    first = np.append(0, np.cumsum([len(t) for t in met]))
    N = np.concatenate([c[t] for c, t in zip(counts, met, strict=True)]).astype(float)
    q = np.concatenate([PREDICTED[t] for t in met])
    return HeldOut(np.arange(len(pairs)), first, N, q)


def drawn_pairs(rng, n, like):
    """Pairs of 1 to 8 visits, which go as predicted or anywhere."""
    chances = PREDICTED if like else np.full(S, 1 / S)
    return [rng.choice(S, size=rng.integers(1, 9), p=chances) for _ in range(n)]


def test_likelihoods_are_those_of_urns():
    rng = np.random.default_rng(0)
    pairs = drawn_pairs(rng, 4, True) + drawn_pairs(rng, 4, False)
    visits = np.array([0.5, 4.0, 32.0])
    held = held_out(pairs)
    spike, slab = likelihoods(held.first, held.N, held.q, visits, LEAKS, S)
    for k, drawn in enumerate(pairs):
        assert slab[k] == pytest.approx(urn(np.full(S, 1 / S), drawn))
        for i, leak in enumerate(LEAKS):
            for v, n0 in enumerate(visits):
                expected = urn(n0 * ((1 - leak) * PREDICTED + leak / S), drawn)
                assert spike[i, v, k] == pytest.approx(expected)
    assert np.isinf(spike[0]).any()  # what was said to be impossible has happened
    assert np.isfinite(spike[1:]).all()


def naive_mixture(spike, slab):
    """Expectation and maximisation for each n0 in turn: its place, the doubt, the likelihood."""
    best = (-1, 0.0, -math.inf)
    for i, row in enumerate(spike):
        doubt = 0.2
        for _ in range(ROUNDS):
            shares = 0.0
            for a, b in zip(row, slab, strict=True):
                if math.isinf(a):
                    shares += 1.0
                else:
                    shares += (
                        doubt * math.exp(b) / (doubt * math.exp(b) + (1 - doubt) * math.exp(a))
                    )
            doubt = (shares + 0.5) / (len(slab) + 1)
        total = sum(
            math.log(doubt * math.exp(b) + (1 - doubt) * (0.0 if math.isinf(a) else math.exp(a)))
            for a, b in zip(row, slab, strict=True)
        )
        if total > best[2]:
            best = (i, doubt, total)
    return best


@pytest.mark.parametrize("seed", range(4))
def test_the_mixture_is_that_of_plain_loops(seed):
    rng = np.random.default_rng(seed)
    held = held_out(drawn_pairs(rng, 12, True) + drawn_pairs(rng, 4 * seed, False))
    visits = np.append(VISITS[VISITS < 40.0], 40.0)
    spike, slab = likelihoods(held.first, held.N, held.q, visits, LEAKS, S)
    for of_leak in spike:
        doubts, totals = worth._fitted(of_leak, slab)
        i, doubt, total = naive_mixture(of_leak, slab)
        assert i == totals.argmax()
        assert (doubts[i], totals[i]) == pytest.approx((doubt, total))


def test_each_stratum_has_its_own_worth_and_one_without_pairs_that_of_all():
    rng = np.random.default_rng(5)
    pairs = drawn_pairs(rng, 60, True) + drawn_pairs(rng, 60, False)
    held, stratum = held_out(pairs), np.repeat([0, 2], 60)
    found = fitted_worth(held, S, stratum, 3, 100.0)
    assert found.n0[0] > 8  # they go as predicted
    assert found.doubt[0] < 0.05
    assert found.doubt[2] > 0.5
    visits = np.append(VISITS[VISITS < 100.0], 100.0)
    spike, slab = likelihoods(held.first, held.N, held.q, visits, LEAKS, S)
    fits = [naive_mixture(of_leak, slab) for of_leak in spike]
    best = int(np.argmax([total for _, _, total in fits]))
    assert found.leak == LEAKS[best]
    assert (found.n0[1], found.doubt[1]) == pytest.approx((visits[fits[best][0]], fits[best][1]))
    usual = fits[best][0]
    for k in (0, 2):
        here = stratum == k
        each = [naive_mixture(row[None], slab[here])[1:] for row in spike[best][:, here]]
        most = max(total for _, total in each)
        good = [i for i, (_, total) in enumerate(each) if total >= most - 1.0]
        i = min(good, key=lambda i: abs(i - usual))
        assert (found.n0[k], found.doubt[k]) == pytest.approx((visits[i], each[i][0]))
        assert found.likelihood[here].sum() == pytest.approx(each[i][1])
    assert np.array_equal(found.blank, slab)
    assert found.gain == pytest.approx(found.likelihood.sum() - slab.sum())


def test_a_stratum_that_tells_nothing_new_has_the_worth_of_all():
    """Pairs met once say nothing of n0, and thirty without an exception not that there is none."""
    rng = np.random.default_rng(6)
    often = [rng.choice(S, size=40, p=PREDICTED) for _ in range(100)]
    once = [rng.choice(S, size=1, p=PREDICTED) for _ in range(LEAST)]
    found = fitted_worth(held_out(often + once), S, np.repeat([0, 1], [100, LEAST]), 2, 100.0)
    assert found.n0.tolist() == [100.0, 100.0]
    assert found.doubt[0] == found.doubt[1] < 0.01


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
