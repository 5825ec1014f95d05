"""Statistics: hand-computed cases, a slow twin, and intervals that cover what they promise."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from gim_lab.experiments.statistics import (
    LEAST,
    Estimate,
    compare,
    curve_band,
    exploration_length,
    hint,
    interval_of,
    mean_interval,
)

values = st.lists(st.floats(-100, 100), min_size=1, max_size=12)


def test_one_run_has_no_interval():
    one = mean_interval([0.5])
    assert (one.mean, one.runs) == (0.5, 1)
    assert math.isnan(one.low)
    assert str(one) == "0.500"
    assert curve_band([[1.0, 2.0]]).low is None


@pytest.mark.parametrize("runs", range(2, LEAST + 2))
def test_few_runs_have_no_interval_and_notes_say_so(runs):
    x = np.random.default_rng(0).normal(size=(runs, 3))
    none = runs < LEAST
    assert (curve_band(x).low is None) == none
    assert (curve_band(x).high is None) == none
    for made in (mean_interval(x[:, 0]), compare(x[:, 0], x[:, 1])[0]):
        assert math.isnan(made.low) == math.isnan(made.high) == none
        assert ("(" in str(made)) != none
    assert interval_of(runs) == (
        "no interval of fewer than 5" if none else "95 % bootstrap interval"
    )


def test_few_runs_tell_nobody_apart():
    """The least of three differences is above 0 in one case of eight by chance alone."""
    made = compare([2.0, 2.1, 2.2], [1.0, 1.0, 1.0])
    assert not made.apart
    assert made.needed == LEAST
    said = "3 runs are too few to tell x from y: make 5 or more"
    assert hint("x", "y", made) == said


def test_equal_runs_have_a_sharp_interval():
    assert mean_interval([0.3] * 5)[1:3] == pytest.approx((0.3, 0.3))


def test_a_slow_bootstrap_agrees():
    x = np.random.default_rng(0).normal(size=15)
    rng = np.random.default_rng(1)
    means = sorted(np.mean(rng.choice(x, 15)) for _ in range(20_000))
    tail = stats.norm.cdf(math.sqrt(15 / 14) * stats.t.ppf(0.025, 14))
    low, high = means[round(20_000 * tail)], means[round(20_000 * (1 - tail))]
    got = mean_interval(x)
    assert (got.low, got.high) == pytest.approx((low, high), abs=0.04)


@pytest.mark.parametrize(("runs", "least"), [(5, 0.90), (20, 0.92)])
def test_intervals_cover_the_truth(runs, least):
    """The plain percentile interval covers 0.83 of the time at 5 runs; this one must do better."""
    x = np.random.default_rng(7).normal(size=(runs, 1500))
    band = curve_band(x, seed=3)
    covered = np.mean((band.low <= 0) & (band.high >= 0))
    assert least <= covered <= 0.97


def test_the_seed_fixes_every_bit():
    x = np.random.default_rng(0).normal(size=10)
    assert mean_interval(x, seed=4) == mean_interval(x, seed=4)
    assert mean_interval(x, seed=4) != mean_interval(x, seed=5)


def test_a_band_is_the_interval_of_every_point():
    x = np.random.default_rng(0).normal(size=(8, 3000)).cumsum(axis=1)
    band = curve_band(x, seed=2)
    for k in (0, 1500, 2999):
        one = mean_interval(x[:, k], seed=2)
        assert (band.mean[k], band.low[k], band.high[k]) == pytest.approx(one[:3], rel=1e-12)


@settings(max_examples=30, deadline=None)
@given(values)
def test_estimates_lie_within_the_values(x):
    got = mean_interval(x)
    assert min(x) - 1e-9 <= got.mean <= max(x) + 1e-9
    if len(x) >= LEAST:
        assert min(x) - 1e-9 <= got.low <= got.high <= max(x) + 1e-9


def test_a_nan_is_never_dropped():
    assert math.isnan(mean_interval([1.0, math.nan]).mean)


def test_pairing_finds_what_the_means_alone_would_not():
    """The worlds differ by 10, the agents by 0.1 on every world."""
    worlds = 10 * np.arange(10.0)
    noise = np.random.default_rng(0).normal(0, 0.05, 10)
    got = compare(worlds + 0.1 + noise, worlds)
    assert got.apart
    assert got.difference.mean == pytest.approx(0.1 + noise.mean())
    assert got.effect == pytest.approx((0.1 + noise.mean()) / noise.std(ddof=1))
    assert got.wins >= 0.9
    assert hint("a", "b", got) is None


def test_too_few_runs_get_a_hint():
    a, b = [0.9, 0.7, 0.8, 0.85, 0.81], [0.85, 0.75, 0.82, 0.8, 0.8]
    got = compare(a, b)
    d = np.subtract(a, b)
    needed = math.ceil(((1.959964 + 0.841621) * d.std(ddof=1) / d.mean()) ** 2)
    assert not got.apart
    assert got.needed == needed
    assert hint("x", "y", got) == f"5 runs do not tell x from y: about {needed:,} would"
    assert hint("x", "y", compare([1.0], [2.0])) == "one run does not tell x from y: make more"
    same = compare([1.0, 2.0], [1.0, 2.0])
    assert hint("x", "y", same) == "2 runs do not tell x from y: they did the same"
    assert (same.effect, same.wins) == (0.0, 0.5)


def test_the_number_of_runs_hinted_at_is_about_enough():
    """Of that many runs, four in five tell a true difference of this size."""
    effect, found = 0.5, 0
    z = 1.959964 + 0.841621
    needed = math.ceil((z / effect) ** 2)
    rng = np.random.default_rng(0)
    draws = rng.normal(effect, 1, size=(needed, 400))
    band = curve_band(draws)
    found = np.mean(band.low > 0)
    assert 0.74 <= found <= 0.88


def test_unequal_seeds_are_refused():
    with pytest.raises(ValueError, match="equal seeds"):
        compare([1, 2], [1])
    with pytest.raises(ValueError, match="one number per run"):
        mean_interval([[1, 2]])


def test_a_run_that_never_finished_counts_as_not_finished():
    whole = exploration_length([100, 300], 1000)
    assert (whole.mean, whole.finished, whole.runs, str(whole)) == (200, 2, 2, "200")
    part = exploration_length([100, math.nan, 300, math.nan], [1000, 1000, 1000, 2000])
    assert (part.mean, part.finished, part.runs) == (850, 2, 4)
    assert str(part) == ">850 (2/4)"
    assert str(exploration_length([math.nan], 1000)) == "never"


def test_an_estimate_reads_well():
    assert str(Estimate(0.5, 0.4, 0.6, 3)) == "0.500 (0.400..0.600)"
