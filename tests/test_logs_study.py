"""The study of logs: its worlds, its numbers on results known beforehand, and a run of it."""

from __future__ import annotations

import numpy as np
import pytest

from gim.experiments.catalogue import chosen, groups
from gim.experiments.logs import study
from gim.experiments.logs.places import GAMMA, PLACES, logged
from gim.experiments.logs.study import Found, Logs, cvar, harm_table, of_place
from gim.experiments.scale import SCALES
from gim.logs.case import inferred
from gim.logs.safe import safe_policy
from gim.logs.truth import placed
from gim.planning import evaluate

BY_TITLE = {place.title: place for place in PLACES}


def test_the_study_is_no_part_of_the_paper():
    assert chosen(["logs"]) == [Logs()]
    assert "logs" not in groups()["all"]


def test_wet_chicken_is_that_of_the_literature():
    place = BY_TITLE["Wet Chicken"]
    mdp, acted = place.world(0)
    assert place.optimum(0) == pytest.approx(43.08, abs=0.01)
    assert place.worth(0, acted) == pytest.approx(29.75, abs=0.01)
    assert place.worth(0, mdp.uniform_policy()) == pytest.approx(20.66, abs=0.01)


@pytest.mark.parametrize("ratio", [0.1, 0.5, 0.9])
def test_random_mdps_have_the_baseline_that_was_asked_for(ratio):
    mdp, acted = BY_TITLE[f"random MDPs, ratio {ratio:g}"].world(7)
    P = mdp.to_dense().transitions
    assert ((P > 0).sum(axis=2)[~mdp.terminal] <= 4).all()
    value, chance = (
        float(mdp.start @ evaluate(mdp, pi, discount=GAMMA)) for pi in (acted, mdp.uniform_policy())
    )
    best = BY_TITLE[f"random MDPs, ratio {ratio:g}"].optimum(7)
    assert value == pytest.approx(chance + ratio * (best - chance), abs=1e-6)


def test_logs_are_what_the_world_and_the_policy_make():
    place = BY_TITLE["Wet Chicken"]
    log = place.log(4000, 0)
    mdp, acted = place.world(0)
    assert len(log) == 4000
    assert len(log.starts) == 1
    at = log.states.index((2, 2))
    often = log.counts.n[at].sum()
    shares = {action: log.behaviour[at, a] for a, action in enumerate(log.actions)}
    own = dict(zip(mdp.action_labels, acted[2 * 5 + 2], strict=True))
    for action, share in shares.items():
        assert share == pytest.approx(own[action], abs=4 * np.sqrt(0.25 / often))
    same = logged(mdp, acted, 4000, 0, episodes=False, endless=True)
    assert (same.counts.n == log.counts.n).all()
    store = BY_TITLE["inventory"].log(500, 1)
    assert store.lengths.tolist() == [50] * 10
    some = BY_TITLE["random MDPs, ratio 0.9"].log(10, 3)
    assert len(some.starts) == 10
    assert some.rows.done.sum() == 10


@pytest.mark.parametrize("seed", [1, 2])
def test_inference_pays_on_the_river(seed):
    """No method by counts alone comes near, though six places and more were never met."""
    place, returns = BY_TITLE["Wet Chicken"], {}
    mdp, _ = place.world(seed)
    log = place.log(2_000, seed)
    for infer in (None, "analogy"):
        behind = inferred(log, infer, log.behaviour, None, GAMMA, "learn")
        for name in ("r_min", "ramdp", "lower_spibb", study.DEFAULT):
            policy = safe_policy(name)(behind.case)
            returns[name, infer] = place.worth(seed, placed(policy, log, mdp))
    others = [value for (_, infer), value in returns.items() if infer is None]
    assert returns[study.DEFAULT, "analogy"] > max(others) + 1.0
    assert returns[study.DEFAULT, "analogy"] > 38.0


def test_means_and_worst_runs(monkeypatch):
    """On made-up numbers: inference adds .1, but in the worst run."""

    def made_up(place, size, seed):
        k = seed - study.FIRST
        better = 0.1 if k else -0.5
        names = {"behaviour": 0.0, study.DEFAULT: 0.5, study.OURS: 0.5 + better}
        return Found(names, covered=k > 0)

    monkeypatch.setattr(study, "found", made_up)
    quick = SCALES["quick"]
    table = of_place(BY_TITLE["Wet Chicken"], quick)
    row = next(row for row in table.rows if row[0] == study.OURS)
    assert row[1] == "0.48 (0.00)"
    assert {line[-1] for line in harm_table(quick).rows} == {"no harm"}
    assert {line[-1] for line in study.bounds_table(quick).rows} == {"holds"}
    assert cvar(np.arange(1000.0)) == pytest.approx(4.5)


def test_worst_runs_are_compared_in_pairs():
    runs = np.random.default_rng(0).normal(size=400)
    same = study.cvar_difference(runs, runs)
    assert same == (0.0, 0.0, 0.0)
    mean, low, high = study.cvar_difference(runs + 0.5, runs)
    assert (mean, low, high) == pytest.approx((0.5, 0.5, 0.5))
    broken = runs.copy()
    broken[:40] -= 3.0  # a tenth of the runs: all of the worst hundredth
    mean, low, high = study.cvar_difference(broken, runs)
    assert low <= mean <= high < study.HARM_WORST


def test_who_comes_joins_the_shorter_queue():
    mdp, acted = BY_TITLE["queues"].world(0)
    assert acted.sum(axis=1) == pytest.approx(np.ones(mdp.S))
    shorter = [1 if x <= y else 2 for x, y in (mdp.variables.values(s) for s in range(mdp.S))]
    assert (acted.argmax(axis=1) == shorter).all()
    best, chance = BY_TITLE["queues"].optimum(0), BY_TITLE["queues"].worth(0, mdp.uniform_policy())
    assert chance < BY_TITLE["queues"].worth(0, acted) < best
