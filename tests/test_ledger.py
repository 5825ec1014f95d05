import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gim.experiments import ledger
from gim.experiments.catalogue import chosen
from gim.experiments.claim import claims
from gim.experiments.ledger import (
    FAILS,
    HOLDS,
    IN_PART,
    NOT_FINISHED,
    Part,
    all_claims,
    judge,
    verdict,
)
from gim.experiments.parts import at_least, at_most, greater, spread
from gim.experiments.report.text import ledger_lines, ledger_markdown
from gim.experiments.scale import SCALES
from gim.experiments.settings import AUTHORS, FAIR, SETTINGS
from gim.testing import check_claim
from gim.testing.made_up import made_up_results

SMOKE = SCALES["smoke"]


def parts(*holds):
    return [Part(str(i), each, "") for i, each in enumerate(holds)]


@pytest.mark.parametrize(
    ("holds", "expected"),
    [
        ((True, True), HOLDS),
        ((True, False), IN_PART),
        ((False, False), FAILS),
        ((None, None), NOT_FINISHED),
        ((True, None), IN_PART),  # what is not finished does not hold
        ((False, None), FAILS),
        ((), NOT_FINISHED),
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


def test_greater_asks_for_an_interval_above_zero():
    a = np.array([0.9, 0.8, 0.95, 0.85, 0.9])
    better = greater("x", a, a - np.array([0.1, 0.11, 0.09, 0.1, 0.1]), ("A", "B"))
    assert better.holds is True
    assert better.numbers.startswith("A 0.880, B 0.780, difference +0.100 (+0.0")
    assert greater("x", a, a - np.array([0.1, -0.1, 0.1, -0.1, 0.02]), ("A", "B")).holds is False
    assert greater("x", a, a, ("A", "B")).holds is False
    assert greater("x", a, a + 0.1, ("A", "B")).holds is False


def test_greater_does_not_judge_runs_that_never_finished():
    a = np.array([0.9, math.nan])
    part = greater("x", np.array([0.9, 0.8]), a, ("A", "B"))
    assert (part.holds, part.numbers) == (None, "B: not all runs finished")


def test_spread_at_least_and_at_most():
    means = np.array([0.90, 0.93, 0.96])
    assert spread("x", means, 0.06).holds
    assert not spread("x", means, 0.05).holds
    assert spread("x", np.array([90.0, 110.0]), 0.2, 0, share=True).holds
    assert spread("x", np.array([90.0, 110.0]), 0.2, 0, share=True).numbers.endswith(
        "20% of the mean"
    )
    assert spread("x", np.array([1.0, math.nan]), 1).holds is None
    assert at_least("x", means, 0.93).holds
    assert not at_least("x", means, 0.94).holds
    assert at_most("x", means, 0.93).holds
    assert at_most("x", np.array([math.nan]), 1).holds is None


# -- claims, on results made so that the answer is known


def judged(key, columns, setting=FAIR, scale=SMOKE):
    claim = claims.make(key)
    found = made_up_results(chosen(claim.needs), scale, columns)
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


def test_times_are_judged_with_riverswim_turned_round():
    def columns(trial):
        slow = trial.agent.startswith("gim") == trial.task.startswith("riverswim")
        return {"seconds_total": 0.02 if slow else 0.01}

    assert judged("faster_than_rmax", columns).verdict == HOLDS
    always = by_agent(gim={"seconds_total": 0.01}, others={"seconds_total": 0.02})
    assert judged("faster_than_rmax", always).verdict == IN_PART


def test_growth_compares_the_largest_with_the_smallest():
    def columns(trial):
        large = "S=50" in trial.task
        return {"seconds_total": 0.08 if large and trial.agent.startswith("rmax") else 0.01}

    finding = judged("growth", columns)
    assert finding.verdict == HOLDS
    assert finding.parts[0].numbers.startswith("8.00")
    assert finding.parts[1].numbers.startswith("1.00")


def test_plans_are_counted_per_known_state():
    once = by_agent(gim={"plans": 1}, rmax={"plans": 9, "S": 8})
    assert judged("plans", once).verdict == HOLDS
    per_pair = by_agent(gim={"plans": 1}, rmax={"plans": 33, "S": 8})
    assert judged("plans", per_pair).verdict == IN_PART


def test_sooner_counts_runs_that_never_finish_with_all_their_episodes():
    never = {"explored": False, "total_eps": math.nan}
    finding = judged("sooner", by_agent(gim={"total_eps": 20.0}, rmax=never))
    assert finding.verdict == HOLDS
    assert "finished: RMax 0, GIM 2 of 2 runs" in finding.parts[0].numbers
    assert judged("sooner", lambda trial: never).verdict == NOT_FINISHED
    assert judged("sooner", by_agent(gim=never, rmax={"total_eps": 20.0})).verdict == FAILS


def test_slightly_worse_is_less_than_one_percent():
    assert judged("slightly_worse", by_agent(gim={"post_score": 0.985}, rmax={"post_score": 0.99}))
    near = by_agent(gim={"post_score": 0.985}, rmax={"post_score": 0.99})
    assert judged("slightly_worse", near).verdict == HOLDS
    far = by_agent(gim={"post_score": 0.975}, rmax={"post_score": 0.99})
    assert judged("slightly_worse", far).verdict == FAILS
    open_ = by_agent(gim={"post_score": 0.975}, rmax={"post_score": math.nan})
    assert judged("slightly_worse", open_).verdict == NOT_FINISHED


def test_sensitivity_is_the_spread_over_m():
    def columns(trial):
        m = int(trial.agent.split("m=")[1].split(",")[0]) if "m=" in trial.agent else 40
        slope = 1e-4 if trial.agent.startswith("gim") else 1e-3
        return {"score": 0.95 - slope * m, "total_eps": 1e4 * slope * m}

    assert judged("less_sensitive", columns).verdict == HOLDS


def test_walks_and_samples():
    def curious(trial):
        return {"total_eps": 10.0 if "exploration=curious" in trial.agent else 20.0}

    assert judged("fewer_steps", curious).verdict == HOLDS
    fewer = by_agent(gim={"sample_complexity": 10.0}, rmax={"sample_complexity": 20.0})
    assert judged("saves_samples", fewer).verdict == HOLDS


def test_kappa_is_computed_from_the_tasks():
    finding = judged("kappa", lambda trial: {})
    numbers = {part.what: part.numbers for part in finding.parts}
    assert len(numbers) == 4
    river = next(part for part in finding.parts if part.what == "RiverSwim")
    assert river.holds is not None


@pytest.mark.parametrize("name", claims.names())
def test_every_claim_passes_its_checks(name):
    check_claim(claims.make(name))


# -- as a whole


def test_only_claims_whose_experiments_were_run_are_judged():
    found = made_up_results(chosen(["fig1"]), SMOKE)
    entries = ledger.ledger(found, ["fig1"])
    assert [entry.key for entry in entries] == [c.key for c in all_claims() if c.needs == ("fig1",)]
    assert all(set(entry.judgements) == set(SETTINGS) for entry in entries)


def test_the_ledger_as_text():
    found = made_up_results(chosen(["fig1"]), SMOKE)
    entries = ledger.ledger(found, ["fig1"])
    short = ledger_markdown(entries, in_full=False)
    assert short.count("\n") == len(entries) + 2
    assert "| authors' settings | fair settings |" in short
    full = ledger_markdown(entries)
    assert full.startswith(short)
    assert full.count("### ") == len(entries)
    assert "GIM gains the most reward on all four tasks." in ledger_lines(entries)
