"""The study of logs: its worlds, its numbers on results known beforehand, and trials of it."""

from __future__ import annotations

import numpy as np
import pytest

from gim.analogy.experience import CONVINCING, convincing
from gim.envs.random_mdp import _hardest
from gim.logs.case import inferred
from gim.logs.safe import safe_policy
from gim.logs.truth import placed
from gim.planning import evaluate
from gim_lab import Trial, execute
from gim_lab.experiments.catalogue import chosen, groups
from gim_lab.experiments.cells import ResultsByCell, pick
from gim_lab.experiments.logs import study
from gim_lab.experiments.logs.from_log import NAMES, FromLog
from gim_lab.experiments.logs.places import GAMMA, PLACES, one_by_one, side_by_side
from gim_lab.experiments.logs.study import COUNTS, DEFAULT, INFERRED, Logs, cvar
from gim_lab.experiments.scale import SCALES
from gim_lab.testing.made_up import made_up_result
from gim_lab.trials.result import Result
from gim_lab.trials.results import Results
from gim_lab.trials.running import run_trial

RIVER = PLACES["wet_chicken"]


def test_the_study_is_no_part_of_the_paper():
    assert chosen(["logs"]) == [Logs()]
    assert "logs" not in groups()["all"]


def test_wet_chicken_is_that_of_the_literature():
    mdp, acted = RIVER.world(0)
    assert RIVER.optimum(0) == pytest.approx(43.08, abs=0.01)
    assert RIVER.worth(0, acted) == pytest.approx(29.75, abs=0.01)
    assert RIVER.worth(0, mdp.uniform_policy()) == pytest.approx(20.66, abs=0.01)


@pytest.mark.parametrize("ratio", [0.1, 0.5, 0.9])
def test_random_mdps_have_the_baseline_that_was_asked_for(ratio):
    place = PLACES[f"random_mdp_{ratio:g}"]
    mdp, acted = place.world(7)
    P = mdp.to_dense().transitions
    assert ((P > 0).sum(axis=2)[~mdp.terminal] <= 4).all()
    value, chance = (
        float(mdp.start @ evaluate(mdp, pi, discount=GAMMA)) for pi in (acted, mdp.uniform_policy())
    )
    assert value == pytest.approx(chance + ratio * (place.optimum(7) - chance), abs=1e-6)


def test_the_goal_is_the_state_that_is_hardest_to_reach():
    rng = np.random.default_rng(3)
    P, worth = rng.dirichlet(np.full(7, 0.3), (7, 2)), []
    for goal in range(1, 7):
        v = [0.0] * 7
        for _ in range(300):
            best = [max(sum(P[s, a] * v) for a in range(2)) for s in range(7)]
            v = [1.0 if s == goal else GAMMA * best[s] for s in range(7)]
        worth.append(v[0])
    assert _hardest(P.reshape(14, 7), 7) == 1 + int(np.argmin(worth))
    mdp, _ = PLACES["random_mdp_0.5"].world(3)
    goal = int(np.flatnonzero(mdp.terminal)[0])
    assert mdp.rewards[goal].tolist() == [0.0] * 4
    table = mdp.to_dense()
    into = (table.transitions[:, :, goal] > 0) & (np.arange(50) != goal)[:, None]
    assert into.any()
    assert (table.rewards_next[:, :, goal] == into).all()


def test_logs_are_what_the_world_and_the_policy_make():
    log = RIVER.log(4000, 0)
    mdp, acted = RIVER.world(0)
    assert len(log) == 4000
    assert len(log.starts) == 1
    at = log.states.index((2, 2))
    often = log.counts.n[at].sum()
    shares = {action: log.behaviour[at, a] for a, action in enumerate(log.actions)}
    own = dict(zip(mdp.action_labels, acted[2 * 5 + 2], strict=True))
    for action, share in shares.items():
        assert share == pytest.approx(own[action], abs=4 * np.sqrt(0.25 / often))
    store = PLACES["inventory"].log(500, 1)
    assert store.lengths.tolist() == [50] * 10
    some = PLACES["random_mdp_0.9"].log(10, 3)
    assert len(some.starts) == 10
    assert some.rows.done.sum() == 10


def test_both_ways_to_play_follow_the_same_probabilities():
    mdp, acted = PLACES["random_mdp_0.1"].world(1)
    found = []
    for play, size in ((one_by_one, 20_000), (side_by_side, 300)):
        e, s, a, t = play(mdp, acted, size, np.random.default_rng(5))
        assert (s[1:] == t[:-1])[e[1:] == e[:-1]].all()
        assert (s[np.flatnonzero(np.diff(e)) + 1] == 0).all()
        N = np.zeros((50, 4, 50))
        np.add.at(N, (s, a, t), 1)
        n = N.sum(axis=2)
        assert (N[mdp.to_dense().transitions == 0] == 0).all()
        off = np.abs(N - n[:, :, None] * mdp.to_dense().transitions)
        assert (off <= 5 * np.sqrt(np.maximum(n, 1))[:, :, None]).all()
        found.append(n.sum(axis=1) / n.sum())
    assert found[0] == pytest.approx(found[1], abs=0.03)


@pytest.mark.parametrize("seed", [1, 2])
def test_inference_pays_on_the_river(seed):
    """No method by counts alone comes near, though six places and more were never met."""
    returns = {}
    mdp, _ = RIVER.world(seed)
    log = RIVER.log(2_000, seed)
    for infer in (None, "analogy"):
        behind = inferred(log, infer, log.behaviour, None, GAMMA, "learn")
        for name in ("r_min", "ramdp", "lower_spibb", DEFAULT):
            policy = safe_policy(name)(behind.case)
            returns[name, infer] = RIVER.worth(seed, placed(policy, log, mdp))
        if infer:
            assert behind.belief.prior.speaks
            assert convincing(behind.belief.prior, log.counts) > 10 * CONVINCING
    others = [value for (_, infer), value in returns.items() if infer is None]
    assert returns[DEFAULT, "analogy"] > max(others) + 0.5


@pytest.mark.parametrize("seed", [8000, 8001])
def test_nothing_is_inferred_where_there_is_nothing_to_infer(seed):
    log = PLACES["random_mdp_0.9"].log(50, seed)
    behind = inferred(log, "analogy", log.behaviour, None, GAMMA, "learn")
    assert not behind.belief.prior.speaks


def test_a_trial_is_the_same_however_logs_are_put_together(tmp_path):
    spec = str(FromLog("random_mdp_0.5", 10))
    assert spec == "gim_lab.experiments.logs.from_log.FromLog:place=random_mdp_0.5,size=10"
    both = run_trial(Trial("random_mdp", spec, 2, 30))
    assert {"behaviour", "optimum", "lower", "upper", *NAMES} <= both.curves.keys()
    trials = [Trial("random_mdp", spec, 1, seed) for seed in (30, 31)]
    apart = execute(trials, tmp_path, engine="serial")
    for name in (*NAMES, "behaviour", "optimum", "return"):
        assert both.curves[name].tolist() == np.concatenate(apart.curves[name]).tolist()
    assert both.curves[DEFAULT].tolist() == both.curves["return"].tolist()
    assert both.columns["mean_return"] == pytest.approx(both.curves["return"].mean())
    stored = list(tmp_path.glob("trials/*.npz"))
    before = [path.stat().st_mtime_ns for path in stored]
    again = execute(trials, tmp_path, engine="serial")
    assert again.same_bits(apart)
    assert [path.stat().st_mtime_ns for path in stored] == before


def test_the_digest_of_a_trial_knows_the_code_of_the_study():
    learned = Trial("wet_chicken", str(FromLog("wet_chicken", 500, None)), 1, 0).code.modules
    played = Trial("wet_chicken", "random", 1, 0).code.modules
    study = {name for name in learned if name.startswith("gim_lab/experiments/logs")}
    assert study == {*learned} - {*played}
    assert "gim/logs" in played


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("gim_lab.experiments.logs.from_log.FromLog:sice=3", "did you mean 'size'"),
        ("gim_lab.experiments.logs.from_log.Nothing", "is nothing that a trial can try"),
        ("gim_lab.experiments.nowhere.Nothing", "is nothing that a trial can try"),
        ("gim_lab.experiments.logs.study.Logs", "is nothing that a trial can try"),
        ("os.path.join", "unknown agent"),
    ],
)
def test_what_cannot_be_tried_is_refused(spec, told):
    with pytest.raises(ValueError, match=told):
        Trial("wet_chicken", spec, 1, 0)


def made_up(curves):
    """Results of all trials at scale quick; `curves` gives those of each log, by setting and k."""
    quick, results = SCALES["quick"], []
    for cell in Logs().cells(quick):
        for trial in cell.trials:
            logs = [curves(cell.setting, trial.seed + i) for i in range(trial.episodes)]
            lists = {name: np.array([log[name] for log in logs]) for name in logs[0]}
            one = made_up_result(trial)
            results.append(Result(one.columns, one.curves | lists | {"return": lists[DEFAULT]}))
    return ResultsByCell(Results.of(results), quick), Logs().cells(quick)


def test_means_and_worst_runs():
    """On made-up numbers: inference adds .1, but in the first run."""

    def curves(setting, seed):
        gain = 0.0 if setting == COUNTS else 0.1 if seed > study.FIRST else -0.5
        besides = {"behaviour": 0.0, "optimum": 1.0, "lower": 0.0, "upper": 0.7}
        return dict.fromkeys(NAMES, 0.5 + gain) | besides

    results, cells = made_up(curves)
    table = study.of_place(results, pick(cells, panel="Wet Chicken"))
    row = next(row for row in table.rows if row[0] == f"{DEFAULT}, {INFERRED}")
    assert row[1] == "0.48 (0.00)"
    assert next(row for row in table.rows if row[0] == f"plain, {COUNTS}")[1] == "0.50 (0.50)"
    assert {line[-1] for line in study.harm_table(results, cells).rows} == {"no harm"}
    assert {line[3] for line in study.bounds_table(results, cells).rows} == {"1.000"}
    assert cvar(np.arange(1000.0)) == pytest.approx(4.5)


def test_harm_is_seen():
    def curves(setting, seed):
        besides = {"behaviour": 0.0, "optimum": 1.0, "lower": 0.0, "upper": 0.2}
        lost = 0.02 + 0.001 * (seed % 3)
        return dict.fromkeys(NAMES, 0.5 - (lost if setting == INFERRED else 0)) | besides

    results, cells = made_up(curves)
    assert {line[-1] for line in study.harm_table(results, cells).rows} == {"harms"}
    assert {line[-1] for line in study.bounds_table(results, cells).rows} == {"fails"}


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
    place = PLACES["queues"]
    mdp, acted = place.world(0)
    assert acted.sum(axis=1) == pytest.approx(np.ones(mdp.S))
    shorter = [1 if x <= y else 2 for x, y in (mdp.variables.values(s) for s in range(mdp.S))]
    assert (acted.argmax(axis=1) == shorter).all()
    assert place.worth(0, mdp.uniform_policy()) < place.worth(0, acted) < place.optimum(0)
