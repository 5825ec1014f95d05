"""Two halves of what was counted: they add up to it, and each visit goes to one by chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gim.model.counts import count, grown, new_counts, table_fault, transitions
from gim.model.halves import halved, without_empty


def counted(S, A, steps, rng, by_triple=True, hashed=False, noise=0.0):
    """Steps from anywhere to anywhere, each of which pays by where it leads."""
    counts = new_counts(S, A, by_triple)
    if hashed:
        counts = as_hashed(counts)
    pays = rng.normal(size=S)
    for _ in range(steps):
        s, a, t = int(rng.integers(S)), int(rng.integers(A)), int(rng.integers(S) ** 2 // S)
        if count(counts, s, a, float(pays[t] + noise * rng.standard_normal()), t):
            counts = grown(counts)
    return counts


def as_hashed(counts):
    """The same room as a small table of keys, as of a world too large for [S, A, S]."""
    room = 16
    paid = np.zeros(room if counts.paid.size else 0)
    return counts._replace(
        next=np.zeros(room),
        keys=np.full(room, -1, np.int64),
        taken=np.zeros(1, np.int64),
        paid=paid,
        paid2=paid.copy(),
    )


def triples(counts, name="next"):
    """What is kept of each triple that was met, by its key."""
    S, A = counts.n.shape
    values = getattr(counts, name)
    keys = counts.keys if counts.keys.size else np.arange(S * A * S)
    return {int(k): float(v) for k, v, n in zip(keys, values, counts.next, strict=True) if n > 0}


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    S=st.integers(1, 6),
    A=st.integers(1, 3),
    steps=st.integers(0, 60),
    by_triple=st.booleans(),
    hashed=st.booleans(),
    noise=st.sampled_from([0.0, 1.0]),
)
def test_two_halves_add_up(seed, S, A, steps, by_triple, hashed, noise):
    rng = np.random.default_rng(seed)
    whole = counted(S, A, steps, rng, by_triple, hashed, noise)
    before = {name: np.array(getattr(whole, name)) for name in whole._fields}
    one, two = halved(whole, rng)
    for name, was in before.items():
        assert np.array_equal(getattr(whole, name), was), f"{name} was changed"
    assert np.array_equal(one.n + two.n, whole.n)
    np.testing.assert_allclose(one.R + two.R, whole.R, atol=1e-9)
    for half in (one, two):
        assert not (hashed and table_fault(half))
        assert (half.n >= 0).all()
        assert (half.next >= 0).all()
        N = transitions(half)
        N = N.toarray().reshape(S, A, S) if hashed else N
        assert np.array_equal(N.sum(axis=2), half.n)
        r = half.R / np.maximum(half.n, 1)
        assert (half.n * r**2 - 1e-9 * (1 + half.R2) <= half.R2).all()  # squares of some rewards
    for name in ("next", "paid")[: 1 + by_triple]:
        parts, all_ = [triples(half, name) for half in (one, two)], triples(whole, name)
        for key, value in all_.items():
            assert sum(part.get(key, 0.0) for part in parts) == pytest.approx(value, abs=1e-9)
        assert not (parts[0].keys() | parts[1].keys()) - all_.keys()


@pytest.mark.parametrize("hashed", [False, True])
def test_what_always_paid_alike_does_so_in_a_half(hashed):
    """Where rewards do not scatter nothing is drawn: each half has seen what all paid."""
    rng = np.random.default_rng(0)
    whole = counted(5, 2, 300, rng, hashed=hashed)
    paid = triples(whole, "paid")
    mean = {key: paid[key] / n for key, n in triples(whole).items()}
    for half in halved(whole, rng):
        N, sums, squares = (triples(half, name) for name in ("next", "paid", "paid2"))
        for key, n in N.items():
            assert sums[key] == pytest.approx(n * mean[key])
            assert squares[key] == pytest.approx(n * mean[key] ** 2)


def test_a_visit_goes_to_either_half_by_chance():
    """Of 10 visits Binomial(10, 1/2) go to one half, and of each triple by itself."""
    whole = new_counts(2, 1)
    whole.n[:], whole.next[:] = [[10], [16]], [10, 0, 6, 10]
    found = np.array([halved(whole, np.random.default_rng(k))[0].next for k in range(4000)])
    assert not found[:, 1].any()
    for place, n in ((0, 10), (2, 6), (3, 10)):
        assert found[:, place].mean() == pytest.approx(n / 2, abs=4 * np.sqrt(n / 4 / 4000))
        assert found[:, place].var() == pytest.approx(n / 4, rel=0.1)
    apart = np.corrcoef(found[:, [0, 2, 3]].T)
    assert np.abs(apart - np.eye(3)).max() < 0.07


@pytest.mark.parametrize("by_triple", [False, True])
def test_rewards_of_a_half_scatter_as_single_ones_did(by_triple):
    """Sixteen rewards of variance 4: eight of them, drawn without putting back."""
    whole = new_counts(1, 1, by_triple)
    rewards = np.random.default_rng(0).normal(3.0, 2.0, 16)
    for r in rewards:
        count(whole, 0, 0, float(r), 0)
    sums, shares = [], []
    for k in range(6000):
        half, _ = halved(whole, np.random.default_rng(k))
        n = half.n[0, 0]
        sums.append(half.R[0, 0] - n * rewards.mean())
        shares.append(n * (16 - n) / 16)
        assert half.R[0, 0] == pytest.approx(half.paid[0] if by_triple else half.R[0, 0])
    assert np.mean(sums) == pytest.approx(0, abs=4 * np.std(sums) / np.sqrt(6000))
    assert np.var(sums) == pytest.approx(rewards.var(ddof=1) * np.mean(shares), rel=0.08)


def test_visits_of_a_model_that_are_no_whole_numbers_are_split_evenly():
    whole = new_counts(1, 1)
    whole.n[:], whole.next[:] = 2, [2.5]
    for k in range(10):
        one, two = halved(whole, np.random.default_rng(k))
        assert one.next[0] + two.next[0] == pytest.approx(2.5)
        assert (one.next[0] - 0.25) % 1 == pytest.approx(0)


def test_a_triple_without_a_visit_keeps_no_key():
    rng = np.random.default_rng(0)
    whole = counted(4, 2, 60, rng, hashed=True)
    size = np.count_nonzero(whole.next > 0)
    empty = whole.next.copy()
    empty[np.flatnonzero(empty > 0)[:3]] = 0.0
    found = without_empty(whole._replace(next=empty))
    assert found.taken[0] == np.count_nonzero(found.keys >= 0) == size - 3
    assert triples(found) == triples(whole._replace(next=empty))
    dense = counted(4, 2, 60, rng)
    assert without_empty(dense) is dense


def test_the_same_luck_gives_the_same_halves():
    whole = counted(4, 2, 80, np.random.default_rng(1), noise=1.0)
    one, same, other = (halved(whole, np.random.default_rng(k)) for k in (5, 5, 6))
    for first, second in zip(one, same, strict=True):
        for name in first._fields:
            assert np.array_equal(getattr(first, name), getattr(second, name))
    assert not np.array_equal(one[0].next, other[0].next)
