import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gim_lab.claims import ledger
from gim_lab.claims.claim import claims
from gim_lab.claims.ledger import (
    FAILS,
    HOLDS,
    IN_PART,
    UNDECIDED,
    Part,
    all_claims,
    judge,
    summary,
    verdict,
)
from gim_lab.claims.parts import at_least, at_most, below, greater, inside
from gim_lab.claims.samples import settled
from gim_lab.experiments.catalogue import chosen
from gim_lab.experiments.paper.settings import TITLES
from gim_lab.experiments.scale import SCALES
from gim_lab.experiments.settings import AUTHORS, FAIR, KINDEST
from gim_lab.experiments.statistics import Estimate
from gim_lab.report.text import ledger_lines, ledger_markdown
from gim_lab.testing import check_claim
from gim_lab.testing.made_up import NEVER, made_up_results

SMOKE = replace(SCALES["smoke"], runs=6)  # enough for intervals


def parts(*holds):
    return [Part(str(i), each, "") for i, each in enumerate(holds)]


@pytest.mark.parametrize(
    ("holds", "expected"),
    [
        ((True, True), HOLDS),
        ((True, False), IN_PART),
        ((False, False), FAILS),
        ((None, None), UNDECIDED),
        ((True, None), IN_PART),  # what is undecided is not confirmed
        ((False, None), FAILS),  # one place refutes what is claimed of all
        ((), UNDECIDED),
    ],
)
def test_the_verdict_is_all_some_or_none_of_the_parts(holds, expected):
    assert verdict(parts(*holds)) == expected


@given(st.lists(st.sampled_from([True, False, None]), max_size=6), st.randoms())
def test_the_order_of_the_parts_does_not_matter(holds, random):
    mixed = list(holds)
    random.shuffle(mixed)
    assert verdict(parts(*holds)) == verdict(parts(*mixed))


# -- parts, by hand


def test_a_range_is_met_missed_or_left_open_by_the_interval():
    def estimate(low, high):
        return Estimate((low + high) / 2, low, high, 5)

    assert inside(estimate(0.1, 0.2), low=0.0) is True
    assert inside(estimate(-0.2, -0.1), low=0.0) is False
    assert inside(estimate(-0.1, 0.1), low=0.0) is None
    assert inside(estimate(0.0, 0.0), low=0.0) is False  # equal is not above
    assert inside(estimate(0.1, 0.2), low=0.0, high=0.15) is None
    assert inside(estimate(0.2, 0.3), low=0.0, high=0.15) is False
    assert inside(estimate(0.1, 0.15), low=0.0, high=0.15) is True
    assert inside(Estimate(0.5, math.nan, math.nan, 1), low=0.0) is None  # one run decides nothing


def test_greater_asks_for_an_interval_above_zero():
    a = np.array([0.9, 0.8, 0.95, 0.85, 0.9])
    better = greater("x", a, a - np.array([0.1, 0.11, 0.09, 0.1, 0.1]), ("A", "B"))
    assert better.holds is True
    assert better.numbers.startswith("A 0.880, B 0.780, difference +0.100 (+0.0")
    unsure = greater("x", a, a - np.array([0.1, -0.1, 0.1, -0.1, 0.02]), ("A", "B"))
    assert unsure.holds is None
    assert greater("x", a, a, ("A", "B")).holds is False
    assert greater("x", a, a + 0.1, ("A", "B")).holds is False
    assert greater("x", a, a - 0.1, ("A", "B"), at_most=0.05).holds is False
    assert greater("x", a, a - 0.1, ("A", "B"), by=0.2).holds is False


def test_greater_does_not_judge_runs_that_never_finished():
    a = np.array([0.9, math.nan])
    part = greater("x", np.array([0.9, 0.8]), a, ("A", "B"))
    assert (part.holds, part.numbers) == (None, "B: not all runs finished")


def test_at_least_at_most_and_below():
    means = np.array([0.90, 0.93, 0.96] * 10)
    assert at_least("x", means, 0.9).holds is True
    assert at_least("x", means, 0.93).holds is None
    assert at_least("x", means, 0.96).holds is False
    assert [below("x", means, limit).holds for limit in (0.9, 0.93, 0.96)] == [False, None, True]
    assert at_most("x", means, 0.96).holds is True
    assert at_most("x", means, 0.9).holds is False
    assert at_most("x", np.array([math.nan]), 1).holds is None


def test_the_summary_says_which_parts_hold():
    assert summary(parts(True, True)) == "2 of 2"
    assert summary(parts(False, False)) == "0 of 2"
    assert summary(parts(True, False, None)) == "1 of 3, 1 undecided: 0"
    assert summary(parts(None, None)) == "0 of 2, 2 undecided"
    assert summary(parts(True, True, False)) == "2 of 3: all but 2"
    assert summary([Part("x", True, "0.93 (0.92 to 0.94)")]) == "0.93 (0.92 to 0.94)"
    assert summary(parts(*[True] * 10, *[False] * 10)).endswith("; 7 and 2 more")


# -- claims, on results made so that the answer is known


def judged(key, columns, setting=FAIR, scale=SMOKE):
    claim = claims.make(key)
    found = made_up_results(chosen(claim.needed(setting)), scale, columns)
    return judge(claim, found, setting)


def by_agent(**values):
    """Columns by the name with which an agent's word begins."""

    def columns(trial):
        name = trial.agent.split(":")[0]
        return values.get(name, values.get("others", {}))

    return columns


def test_gim_gains_the_most_where_it_does():
    ahead = by_agent(gim={"score": 0.95}, others={"score": 0.9})
    assert judged("gains_most", ahead).verdict == HOLDS
    behind = by_agent(rmax={"score": 0.96}, gim={"score": 0.95}, others={"score": 0.9})
    finding = judged("gains_most", behind)
    assert finding.verdict == FAILS
    assert "RMax 0.960" in finding.parts[0].numbers
    assert judged("gains_most", lambda trial: {"score": 0.9}).verdict == FAILS  # a tie is no gain


def test_it_holds_in_part_if_on_one_task_only():
    def columns(trial):
        river = trial.task.startswith("riverswim")
        return {"score": 0.95 if river and trial.agent.startswith("gim") else 0.9}

    finding = judged("gains_most", columns)
    assert finding.verdict == IN_PART
    assert [part.what for part in finding.parts if part.holds] == ["RiverSwim"]


def test_the_two_settings_are_judged_apart():
    def columns(trial):
        published = "exploration=published" in trial.agent
        return {"score": 0.95 if published else 0.9}

    assert judged("gains_most", columns, AUTHORS).verdict == HOLDS
    assert judged("gains_most", columns, FAIR).verdict == FAILS


def test_the_kindest_reading_is_that_with_the_highest_score():
    def columns(trial):
        score = 0.95 if "strict=true" in trial.agent else 0.9
        return {"score": score if trial.agent.startswith("gim") else 0.92}

    assert judged("gains_most", columns, FAIR).verdict == FAILS
    finding = judged("gains_most", columns, KINDEST)
    assert finding.verdict == HOLDS
    assert finding.parts[0].numbers.startswith("GIM (strict) 0.950, RMax 0.920")
    assert "to the letter 0.900" in finding.parts[0].numbers


def test_times_are_judged_by_their_ratio():
    faster = by_agent(gim={"seconds_total": 0.01}, others={"seconds_total": 0.02})
    finding = judged("faster_than_rmax", faster)
    assert finding.verdict == HOLDS
    assert len(finding.parts) == 3
    assert "RMax over GIM 2.00 (2.00 to 2.00)" in finding.parts[0].numbers
    assert judged("slower_on_riverswim", faster).verdict == FAILS
    slower = by_agent(gim={"seconds_total": 0.02}, others={"seconds_total": 0.01})
    assert judged("faster_than_rmax", slower).verdict == FAILS
    assert judged("slower_on_riverswim", slower).verdict == HOLDS
    much = by_agent(gim={"seconds_total": 0.03}, others={"seconds_total": 0.01})
    assert judged("slower_on_riverswim", much).verdict == FAILS  # not slightly


def test_growth_compares_the_largest_with_the_smallest():
    def columns(trial):
        large = "S=50" in trial.task
        return {"seconds_total": 0.08 if large and trial.agent.startswith("rmax") else 0.01}

    assert judged("rmax_grows", columns).parts[0].numbers.startswith("8.00 times")
    assert judged("rmax_grows", columns).verdict == HOLDS
    assert judged("gim_stays", columns).verdict == HOLDS

    def all_grow(trial):
        return {"seconds_total": 0.03 if "S=50" in trial.task else 0.01}

    assert judged("rmax_grows", all_grow).verdict == FAILS
    assert judged("gim_stays", all_grow).verdict == FAILS


def test_completion_is_negligible_in_long_runs_only():
    def columns(trial):
        return {"seconds_completing": 0.0002 if trial.task.startswith("synthetic") else 0.005}

    assert judged("completion_negligible", columns).verdict == HOLDS
    assert judged("completion_fades", columns).verdict == HOLDS
    assert judged("completion_fades", lambda trial: {}).verdict == FAILS


def test_plans_are_counted_per_known_state():
    once = by_agent(gim={"plans": 1}, rmax={"plans": 9, "S": 8})
    assert judged("plans_once", once).verdict == HOLDS
    assert judged("plans_of_rmax", once).verdict == HOLDS
    per_pair = by_agent(gim={"plans": 2}, rmax={"plans": 33, "S": 8})
    assert judged("plans_once", per_pair).verdict == FAILS
    assert judged("plans_of_rmax", per_pair).verdict == FAILS


def test_sooner_counts_runs_that_never_finish_with_all_their_episodes():
    never = {"explored": False, "total_eps": math.nan}
    finding = judged("sooner", by_agent(gim={"total_eps": 20.0}, rmax=never))
    assert finding.verdict == HOLDS
    assert "finished: RMax 0, GIM 6 of 6 runs" in finding.parts[0].numbers
    assert judged("sooner", lambda trial: never).verdict == UNDECIDED
    assert judged("sooner", by_agent(gim=never, rmax={"total_eps": 20.0})).verdict == FAILS
    # GIM's number is too small where it never finished: that it looks sooner says nothing
    late = by_agent(gim=never, rmax={"total_eps": 1e6})
    assert judged("sooner", late).verdict == UNDECIDED


def test_slightly_worse_is_less_than_one_percent():
    near = by_agent(gim={"post_score": 0.985}, rmax={"post_score": 0.99})
    assert judged("slightly_worse", near).verdict == HOLDS
    far = by_agent(gim={"post_score": 0.975}, rmax={"post_score": 0.99})
    assert judged("slightly_worse", far).verdict == FAILS
    open_ = by_agent(gim={"post_score": 0.975}, rmax={"post_score": math.nan})
    assert judged("slightly_worse", open_).verdict == UNDECIDED


def by_m(gim, rmax):
    """Columns in which score and TotalEps move with m at these rates."""

    def columns(trial):
        m = int(trial.agent.split("m=")[1].split(",")[0]) if "m=" in trial.agent else 40
        slope = gim if trial.agent.startswith("gim") else rmax
        return {"score": 0.99 - slope * m, "total_eps": 1e4 * slope * m}

    return columns


@pytest.mark.parametrize("key", ["less_sensitive", "robust_exploring"])
def test_sensitivity_is_how_far_a_run_moves_over_m(key):
    assert judged(key, by_m(1e-4, 1e-3)).verdict == HOLDS
    assert judged(key, by_m(1e-3, 1e-4)).verdict == FAILS


def test_reward_falls_with_m_and_stays_above_a_limit_or_not():
    assert judged("lower_with_m", by_m(1e-4, 1e-3)).verdict == HOLDS
    assert judged("lower_with_m", by_m(-1e-4, -1e-3)).verdict == FAILS
    assert judged("always_high", by_m(1e-4, 1e-3)).verdict == HOLDS
    assert judged("always_high", by_m(1e-3, 1e-4)).verdict == FAILS


def by_rank(**columns):
    """Columns of the highest rank; those of the others are as ever."""
    return lambda trial: columns if "rank=10" in trial.task else {}


def test_rank_is_judged_from_the_lowest_to_the_highest():
    assert judged("rank_drop", by_rank(score=0.87)).verdict == HOLDS
    assert judged("rank_drop", by_rank(score=0.80)).verdict == FAILS  # not slight
    assert judged("rank_drop", by_rank(score=0.95)).verdict == FAILS  # a rise is no drop
    assert judged("rank_episodes", by_rank(total_eps=22.0)).verdict == HOLDS
    assert judged("rank_episodes", by_rank(total_eps=30.0)).verdict == FAILS
    assert judged("rank_post", by_rank(post_score=0.90)).verdict == HOLDS
    assert judged("full_rank", by_rank(final_score=0.90)).verdict == FAILS


def test_gim_may_change_as_much_as_rmax_does():
    def columns(trial):
        high = any(f"{name}={value}" in trial.task for name, value in HIGHEST.items())
        return {"score": 0.8 if high else 0.9, "post_score": 0.85 if high else 0.95}

    HIGHEST = {"mu0": 8, "mu1": 9, "kappa": 16}
    assert judged("unchanged", columns).verdict == HOLDS  # both change by 0.1

    def gim_only(trial):
        return columns(trial) if trial.agent.startswith("gim") else {}

    def without_rmax(trial):
        return {} if trial.agent.startswith("gim") else NEVER

    assert judged("unchanged", without_rmax).verdict == HOLDS  # GIM alone, which does not change
    finding = judged("unchanged", gim_only)
    assert finding.verdict == IN_PART  # TotalEps stays
    assert {p.what for p in finding.parts if p.holds} == {f"{name}, TotalEps" for name in HIGHEST}


def test_walks_and_samples():
    def curious(trial):
        return {"total_eps": 10.0 if "exploration=curious" in trial.agent else 20.0}

    assert judged("fewer_steps", curious).verdict == HOLDS
    fewer = by_agent(gim={"sample_complexity": 10.0}, others={"sample_complexity": 20.0})
    for key in ("saves_samples", "fewer_samples", "rmax_late"):
        assert judged(key, fewer).verdict == HOLDS
        assert judged(key, lambda trial: {}).verdict == FAILS  # as many is not fewer
    assert judged("model_based_samples", fewer).verdict == FAILS
    rmax = by_agent(rmax={"sample_complexity": 10.0}, others={"sample_complexity": 20.0})
    assert judged("model_based_samples", rmax).verdict == HOLDS
    assert judged("rmax_late", rmax).verdict == FAILS


def test_completion_in_other_learners():
    def columns(trial):
        return {"sample_complexity": 10.0 if "infer=" in trial.agent else 20.0}

    finding = judged("framework_saves", columns)
    assert (finding.verdict, len(finding.parts)) == (HOLDS, 12)


def test_a_policy_is_settled_when_it_is_first_as_good_as_in_the_end():
    cell = chosen(["samples"])[0].cells(SMOKE)[0]
    found = made_up_results(chosen(["samples"]), SMOKE)
    assert (settled(found, cell) == found.curves(cell, "value")[0][0]).all()  # all alike
    values = found.table.curves["value"]
    row = found.row(cell.trials[0])
    late = np.linspace(0.0, 10.0, values[row].size)
    values[row] = late
    at = found.curves(cell, "value")[0]
    assert settled(found, cell)[0] == at[np.argmax(late >= 9.5)]  # 5 % of an optimum of 10


def test_related_dynamics_lose_less_with_a_small_rho():
    def columns(trial):
        small = "rho=0.7" in trial.agent
        return {"final_score": 0.97 - small * (0.2 if "rank=10" in trial.task else 0.05)}

    assert judged("related_rho", lambda trial: NEVER).verdict == UNDECIDED
    finding = judged("related_rho", columns)
    assert [part.what for part in finding.parts if part.holds] == ["ρ = 0.7 instead of 1"]


# -- claims that are computed: what comes out is known


def computed(key):
    return {part.what: part for part in judged(key, lambda trial: {}).parts}


def test_table_1_is_as_printed_and_larger_grids_have_higher_ranks():
    assert judged("table1_as_printed", lambda trial: {}).verdict == HOLDS
    finding = judged("larger_is_low_rank", lambda trial: {})
    assert finding.verdict == FAILS
    assert "mean 2.67; side 12" in finding.parts[0].numbers
    assert finding.parts[0].numbers.endswith("mean 3.67")


def test_kappa_is_the_supremum_over_the_matrices():
    found = computed("kappa")
    assert found["RiverSwim"].numbers.startswith("supremum 600.00")  # rewards of 5 and 3,000
    assert not any(part.holds for part in found.values())


def test_assumptions_and_conditions_of_theorem_2():
    assert [part.holds for part in computed("diameter").values()] == [False, True, True, False]
    assert all(part.holds for part in computed("scenarios").values())


def test_memory_grows_with_the_model():
    assert judged("space", lambda trial: {}).verdict == HOLDS


def test_a_finer_tolerance_means_more_updates_of_rtdp_rmax():
    assert judged("plans_of_rtdp", lambda trial: {}).verdict == FAILS


def test_knowledge_is_spread_state_by_state():
    finding = judged("spreads_evenly", lambda trial: {})
    assert [part.what for part in finding.parts] == list(TITLES.values())


@pytest.mark.parametrize("name", claims.names())
def test_every_claim_passes_its_checks(name):
    check_claim(claims.make(name))


# -- as a whole


def test_only_claims_whose_experiments_were_run_are_judged():
    found = made_up_results(chosen(["fig1"]), SMOKE)
    entries = ledger.ledger(found, ["fig1"])
    assert [entry.key for entry in entries] == [c.key for c in all_claims() if c.needs == ("fig1",)]
    assert all(set(entry.judgements) == {AUTHORS, FAIR} for entry in entries)
    read = ledger.ledger(made_up_results(chosen(["fig1", "readings"]), SMOKE), ["fig1", "readings"])
    assert {entry.key for entry in read if KINDEST in entry.judgements} == {
        "gains_most",
        "near_optimal",
        "beats_today",
    }


def test_the_ledger_as_text():
    found = made_up_results(chosen(["fig1"]), SMOKE)
    entries = ledger.ledger(found, ["fig1"])
    short = ledger_markdown(entries, in_full=False)
    sections = ledger.by_section(entries)
    assert len(sections) == 2
    assert short.count("\n| ") == len(entries) + 2 * len(sections)
    assert "| authors' settings | fair settings |" in short
    full = ledger_markdown(entries)
    assert full.startswith(short)
    assert full.count("### ") == len(entries)
    assert "GIM gains the most reward on all four tasks." in ledger_lines(entries)
