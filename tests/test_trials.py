"""Trials, what is measured of them, and the engines that run them."""

import csv
import json
import math
import os
import sys
import time
from dataclasses import replace
from importlib.util import find_spec

import gymnasium
import numpy as np
import pytest
from threadpoolctl import threadpool_info

import gim
from gim._base.replacing import hold
from gim.agents.random import Random
from gim.runs.agent import agents
from gim.runs.run import prepare
from gim_lab import Results, Trial, execute, run_trial
from gim_lab.engines.base import TrialFailed
from gim_lab.engines.processes import Pool
from gim_lab.engines.ray import HELD, PREFIX, sweep
from gim_lab.engines.threads import one_thread
from gim_lab.trials.execute import Tally, grid
from gim_lab.trials.measures import curves, points
from gim_lab.trials.result import MACHINE, Result
from gim_lab.trials.sample_complexity import Watched
from gim_lab.trials.spec import instance, parameter, task_spec, world_spec
from tests.faults import WORKER, children
from tests.processes import PLAIN, python

SMALL = grid(["riverswim", "synthetic"], ["gim:m=3", "q_learning", "rmax:m=3"], 60, [0, 1])


@pytest.fixture(scope="module")
def serial() -> Results:
    return execute(SMALL, engine="serial")


# -- words, ids and digests


def test_equal_trials_are_equal_however_they_are_written():
    a = Trial("synthetic:rank=4,seed=3,S=20", "gim:rho=0.5,m=40", 100, 1)
    b = Trial("synthetic:seed=3,rank=4", "gim:rho=0.5", 100, np.int64(1))
    assert a == b
    assert a.digest == b.digest
    assert a.id == "synthetic-rank=4,seed=3/gim-rho=0.5/100/1"


def test_whatever_fixes_the_bits_changes_the_digest():
    given = {"task": "synthetic", "agent": "gim", "episodes": 10, "seed": 0, "epsilon": None}
    changes = {"task": "synthetic:seed=1", "agent": "gim:m=3", "episodes": 11, "seed": 1}
    changes |= {"epsilon": 0.1, "rewards": "known"}
    trials = [Trial(**given)] + [Trial(**given | {key: changes[key]}) for key in changes]
    assert len({trial.digest for trial in trials}) == len(trials)
    assert len({trial.id for trial in trials}) == len(trials)


def test_rewards_may_be_known():
    trial = Trial("noisy_arms:seed=3", "ucbvi", 20, 3, rewards="known")
    run = gim.run("ucbvi", gim.make("noisy_arms", seed=3), episodes=20, seed=3, rewards="known")
    result, plain = run_trial(trial), run_trial(Trial("noisy_arms:seed=3", "ucbvi", 20, 3))
    assert result.columns["cumulative_reward"] == pytest.approx(run.returns.sum(), abs=1e-9)
    assert result.columns["cumulative_reward"] > 2 * plain.columns["cumulative_reward"]
    assert (result.columns["rewards"], plain.columns["rewards"]) == ("known", "learn")
    assert trial.id.endswith("/rewards=known")


def test_a_saved_mdp_counts_by_its_content(tmp_path):
    mdp = gim.make("riverswim")
    mdp.save(tmp_path / "a.npz")
    mdp.save(tmp_path / "b.npz")
    trial, other = (Trial(str(tmp_path / f"{x}.npz"), "random", 5, 0) for x in "ab")
    assert trial.digest == other.digest
    before = trial.digest
    gim.make("riverswim", length=7).save(tmp_path / "a.npz")
    assert trial.digest != before
    assert run_trial(trial).columns["S"] == 7


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"agent": "gmi"}, "unknown agent 'gmi': did you mean 'gim'?"),
        ({"agent": "gim:m=-5"}, "m = -5: must be at least 1"),
        ({"episodes": 0}, "episodes = 0"),
        ({"seed": -1}, "seed = -1"),
        ({"epsilon": 1.5}, "epsilon = 1.5"),
        ({"rewards": "given"}, "rewards = 'given': give one of learn, known"),
    ],
)
def test_a_wrong_trial_is_refused_at_once(change, text):
    given = {"task": "riverswim", "agent": "gim", "episodes": 10, "seed": 0}
    with pytest.raises(ValueError, match=text.replace("?", r"\?")):
        Trial(**given | change)


def test_words_of_worlds():
    assert task_spec("synthetic:seed=0,rank=2") == "synthetic"
    assert world_spec("synthetic:rank=4,seed=9") == "synthetic:rank=4"
    assert world_spec("FrozenLake-v1:map_name=8x8") == "FrozenLake-v1:map_name=8x8"
    assert instance("gridworld", 3) == "gridworld:seed=3"
    assert instance("gridworld:seed=5", 3) == "gridworld:seed=5"
    assert instance("riverswim", 3) == "riverswim"
    assert instance("my.npz", 3) == "my.npz"
    assert parameter("rmax", "m", agents) == 40
    assert parameter("q_learning", "m", agents) is None


# -- measures


def test_measures_are_those_of_the_run_itself():
    trial = Trial("riverswim", "gim:m=4", 300, 5)
    run = prepare(agents.make("gim:m=4"), gim.make("riverswim"), 300, 5).go()
    got = run_trial(trial).columns
    best, returns = run.mdp.optimal_return(), run.returns
    assert got["cumulative_reward"] == math.fsum(returns)
    assert got["mean_return"] == pytest.approx(returns.mean(), rel=1e-14)
    assert got["score"] == pytest.approx(run.score, rel=1e-14)
    assert got["regret"] == pytest.approx(np.sum(best - returns), rel=1e-12)
    assert got["total_eps"] == run.explored_at + 1
    after = returns[run.explored_at + 1 :]
    assert got["post_mean_return"] == pytest.approx(after.mean(), rel=1e-14)
    assert got["final_policy_value"] == run.mdp.policy_return(run.policy)
    assert (got["plans"], got["walk_plans"]) == (run.plans, run.walk_plans)
    assert got["seconds_total"] == pytest.approx(sum(got[k] for k in MACHINE[:4]))
    assert got["peak_memory_mb"] > 20


def test_a_run_that_never_finishes_exploring_says_so():
    got = run_trial(Trial("synthetic", "gim", 5, 0)).columns
    assert got["explored"] is False
    assert math.isnan(got["total_eps"])
    assert math.isnan(got["post_mean_return"])
    assert math.isnan(got["final_policy_value"])


class Coin(gymnasium.Env):
    """Pays 1 for guessing a coin; there is no table of it."""

    observation_space = action_space = gymnasium.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        coin = int(self.np_random.integers(2))
        return coin, float(coin == action), False, False, {}


def test_a_world_without_a_table_has_returns_but_no_score():
    if "gim-test/Coin-v0" not in gymnasium.registry:
        gymnasium.register("gim-test/Coin-v0", Coin, max_episode_steps=4)
    results = [run_trial(Trial("gim-test/Coin-v0", "random", 50, 3)) for _ in range(2)]
    got = results[0].columns
    assert results[0].bits() == results[1].bits()
    assert 1 < got["mean_return"] < 3
    assert all(math.isnan(got[name]) for name in ("score", "optimal_return", "regret"))
    with pytest.raises(ValueError, match="needs the exact MDP"):
        run_trial(Trial("gim-test/Coin-v0", "random", 5, 0, 0.1))


@pytest.mark.parametrize("episodes", [1, 7, 1000, 1001, 2500])
def test_curves_are_thinned_and_totals_kept(episodes):
    returns = np.random.default_rng(0).normal(size=episodes)
    got = curves(returns)
    edges = got["episode"]
    size = -(-episodes // 1000)
    assert edges.size == -(-episodes // size) <= 1000
    assert edges[-1] == episodes
    assert (np.diff(edges) > 0).all()
    for k in range(edges.size):
        assert got["return"][k] == pytest.approx(returns[edges[k] - size : edges[k]].mean())
        assert got["cumulative"][k] == pytest.approx(returns[: edges[k]].sum())
    assert (np.diff(points(2500)) <= 3).all()
    assert np.ptp(np.diff(points(2500))[:-1]) == 0  # a curve of 1s and 2s would swing by itself


# -- sample complexity


@pytest.mark.parametrize("agent", ["psrl", "gim:m=3", "rmax:m=3", "q_learning", "optimal"])
def test_sample_complexity_is_definition_2(agent):
    """The slow twin looks at the policy before every episode."""
    episodes, seed, epsilon = 120, 3, 0.1
    run = prepare(agents.make(agent), gim.make("riverswim"), episodes, seed)
    best, H, values = run.mdp.optimal_return(), run.task.H, []
    for episode in range(episodes):
        policy = run.pause_at(episode * H).policy
        values.append(math.nan if policy is None else run.mdp.policy_return(policy))
    count = sum(not value >= best - epsilon * best for value in values)
    result = run_trial(Trial("riverswim", agent, episodes, seed, epsilon))
    assert result.columns["sample_complexity"] == count
    assert np.array_equal(result.curves["value"], values, equal_nan=True)
    exact = agent not in ("q_learning", "rmax:m=3")
    assert result.columns["sample_complexity_exact"] is exact


def test_watching_does_not_change_the_run():
    plain = run_trial(Trial("gridworld", "rmax:m=3", 200, 1))
    watched = run_trial(Trial("gridworld", "rmax:m=3", 200, 1, 0.2))
    assert plain.columns["cumulative_reward"] == watched.columns["cumulative_reward"]
    assert np.array_equal(plain.curves["return"], watched.curves["return"])


def test_few_checkpoints_for_a_long_run():
    run = prepare(agents.make("q_learning"), gim.make("riverswim"), 5000, 0)
    watched = Watched.of(run, 0.1)
    watched.go()
    assert 1 < len(watched.since) <= 1001
    assert watched.since[0] == 0
    assert (np.diff(watched.since) > 0).all()


# -- the table


def test_the_table_selects_and_groups(serial):
    assert len(serial) == len(SMALL) == 12
    assert serial.column("seed").tolist() == [trial.seed for trial in SMALL]
    part = serial.where(agent="gim:m=3,rho=0.8", world="synthetic")
    assert part.column("task").tolist() == ["synthetic", "synthetic:seed=1"]
    assert next(key for key, _ in serial.groups("world", "agent")) == ("riverswim", "gim:m=3")
    assert [len(part) for _, part in serial.groups("agent")] == [4, 4, 4]
    assert serial.where(seed=[0, 1]).same_bits(serial)
    assert len(serial.where(agent=["gim:m=3", "q_learning"])) == 8
    assert serial.curve("cumulative").shape == (12, 60)
    ends = serial.curve("cumulative")[:, -1]
    assert ends == pytest.approx(serial.column("cumulative_reward"), rel=1e-13)
    m = serial.parameter("m")
    assert np.array_equal(
        m, [3.0] * 2 + [math.nan] * 2 + [3.0] * 4 + [math.nan] * 2 + [3.0] * 2, equal_nan=True
    )
    assert (serial[:3] + serial[3:]).same_bits(serial)
    with pytest.raises(ValueError, match="did you mean 'score'"):
        serial.column("scores")
    with pytest.raises(ValueError, match="no curve 'x'"):
        serial.curve("x")


def test_curves_of_unequal_length_are_not_stacked(serial):
    more = execute([Trial("riverswim", "random", 20, 0)], engine="serial")
    with pytest.raises(ValueError, match="equal length"):
        (serial + more).curve("return")


def test_parquet_keeps_every_bit(serial, tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet needs the extra lab")
    serial.to_parquet(tmp_path / "x.parquet")
    assert Results.from_parquet(tmp_path / "x.parquet").same_bits(serial)
    (tmp_path / "y.parquet").write_text("nonsense")
    with pytest.raises(ValueError, match="not a Parquet file"):
        Results.from_parquet(tmp_path / "y.parquet")


# -- engines


def test_csv_json_and_frames_hold_every_number(serial, tmp_path):
    serial.to_csv(tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["score"]) for row in rows] == serial.column("score").tolist()
    assert [row["agent"] for row in rows] == serial.column("agent").tolist()
    serial.to_json(tmp_path / "a.json")
    runs = json.loads((tmp_path / "a.json").read_text())
    assert [run["seed"] for run in runs] == serial.column("seed").tolist()
    assert runs[0]["curve_cumulative"] == serial.curves["cumulative"][0].tolist()
    assert {run["total_eps"] for run in runs} >= {None}  # Q-learning never ends exploring
    if find_spec("pandas") is None:
        with pytest.raises(ValueError, match="pip install pandas"):
            serial.to_pandas()
    else:
        assert serial.to_pandas()["score"].tolist() == serial.column("score").tolist()


@pytest.mark.processes
def test_two_processes_give_the_same_bits(serial):
    results = execute(SMALL, engine="processes", workers=2)
    assert results.same_bits(serial)


def test_folders_of_ray_are_removed_once_nobody_holds_them(tmp_path):
    long_ago = time.time() - 1000
    for name in ("left", "in-use", "young", "without"):
        folder = tmp_path / f"{PREFIX}{name}"
        (folder / "ray").mkdir(parents=True)
        if name != "without":
            (folder / HELD).touch()
        if name != "young":
            os.utime(folder, (long_ago, long_ago))
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / f"{PREFIX}left")
    with (tmp_path / f"{PREFIX}in-use" / HELD).open("rb") as file:
        assert hold(file)
        sweep(tmp_path)
    names = {path.name.removeprefix(PREFIX) for path in tmp_path.iterdir()}
    assert names == {"in-use", "young", "without", "link"}


def test_a_trial_that_is_listed_twice_is_run_once():
    steps = []
    trial = Trial("riverswim", "random", 10, 0)
    results = execute([trial, trial], engine="serial", progress=steps.append)
    assert len(results) == 2
    assert [step.done for step in steps] == [0, 1]


def test_a_single_thread_inside_and_as_before_outside():
    before = [library["num_threads"] for library in threadpool_info()]
    with one_thread():
        assert [library["num_threads"] for library in threadpool_info()] == [1] * len(before)
    assert [library["num_threads"] for library in threadpool_info()] == before
    if sys.platform == "linux":
        assert before, "no BLAS library with threads was found"


@pytest.mark.processes
@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_a_failing_trial_is_told_by_name(engine):
    trials = [Trial("riverswim:length=1", "random", 5, 0)]
    with pytest.raises((TrialFailed, ValueError), match="length = 1"):
        execute(trials, engine=engine, workers=1)


def test_engines_are_checked_before_work():
    trial = Trial("riverswim", "random", 5, 0)
    with pytest.raises(ValueError, match="did you mean 'processes'"):
        execute([trial], engine="proceses")
    with pytest.raises(ValueError, match="workers = 0"):
        execute([trial], workers=0)
    with pytest.raises(ValueError, match="no option 'address'"):
        execute([trial], engine="serial", address="x")


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to find the workers")
def test_a_killed_worker_process_loses_nothing(serial):
    killed = []

    def kill_one(step):
        if step.done == 1 and not killed:
            killed.append(children(os.getpid(), WORKER)[0])
            os.kill(killed[0], 9)

    results = execute(SMALL, workers=1, progress=kill_one)
    assert killed
    assert results.same_bits(serial)
    assert children(os.getpid(), WORKER) == []


SCRIPT = """
from __future__ import annotations
from dataclasses import dataclass
from typing import Annotated
import gim
from gim.agents.random import Random
from gim_lab import Trial, execute

@dataclass(frozen=True)
class Mine(Random, name="mine"):
    "An agent of one's own."
    depth: Annotated[int, "how deep"] = 1

if __name__ == "__main__":
    results = execute([Trial("riverswim", "mine:depth=2", 3, 0)], workers=1)
    print(results.column("agent")[0])
"""


@pytest.mark.processes
@pytest.mark.parametrize("guard", [True, False])
def test_agents_of_a_script_are_found_by_workers(tmp_path, guard):
    script = tmp_path / "mine.py"
    script.write_text(SCRIPT if guard else SCRIPT.replace('if __name__ == "__main__"', "if True"))
    done = python(script, folder=tmp_path, **PLAIN)
    if guard:
        assert done.stdout == "mine:depth=2\n", done.stderr
    else:
        assert 'put that part under if __name__ == "__main__"' in done.stderr


def test_an_agent_of_a_console_cannot_be_sent_out(monkeypatch):
    monkeypatch.setattr(Random, "__module__", "__main__")
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    with pytest.raises(ValueError, match='take engine="serial"'):
        execute([Trial("riverswim", "random", 3, 0)], workers=1)


def test_different_agents_are_compiled_at_the_same_time_and_each_by_one_worker():
    """While one worker compiles an agent, another is given trials of other agents only."""
    trials = [
        Trial(task, agent, episodes=3, seed=0)
        for task in ("riverswim", "casinoland")
        for agent in ("gim", "rmax", "random")
    ]
    pool = Pool(trials)
    first, second = pool.take(None), pool.take(None)
    assert [trials[i].id for i in (first, second)] == ["riverswim/gim/3/0", "casinoland/rmax/3/0"]
    assert trials[pool.take("riverswim")].agent == "random"  # the other two are taken
    pool._now_compiled(second)  # for its task only
    assert trials[pool.take("riverswim")].id == "riverswim/rmax/3/0"
    pool.end()
    assert pool.take(None) is None  # and nobody waits for ever


def test_no_time_left_is_told_before_every_agent_was_heard_of():
    """Else a quick one promises an end within seconds, and one that compiles an end in hours."""
    told = []
    trials = [Trial("riverswim", agent, 3, 0) for agent in ("random", "q_learning")]
    execute(trials, engine="serial", progress=told.append)
    assert [status.unheard for status in told] == [2, 1, 0]
    assert [status.share for status in told][::2] == [0, 1]
    assert 0 < told[1].share <= 0.5  # half of the bar is for what was not heard of yet


def test_progress_goes_by_the_time_that_the_episodes_of_an_agent_take():
    quick, slow = (Trial("riverswim", agent, 10, 0) for agent in ("random", "analogist"))
    columns = {"score": 0.5, "seconds_total": 1.0}
    tally = Tally([quick, slow, replace(quick, seed=1), replace(slow, seed=1)])
    tally.add(quick, Result(columns, {}))
    told = tally.add(slow, Result(columns | {"seconds_total": 9.0}, {}))
    assert told.share == 0.5
    assert tally.add(replace(quick, seed=1), Result(columns, {})).share == 0.55


def test_the_share_that_is_done_never_falls():
    """Many quick trials, then a slow agent is heard of: what it takes was not known before."""
    quick = [Trial("riverswim", "random", 10, seed) for seed in range(20)]
    slow = [Trial("riverswim", "analogist", 10, seed) for seed in range(4)]
    tally, shares = Tally([*quick, *slow]), []
    for trial, seconds in [(t, 0.01) for t in quick] + [(t, 10.0) for t in slow]:
        columns = {"score": 0.5, "seconds_total": seconds}
        shares.append(tally.add(trial, Result(columns, {})).share)
    assert shares == sorted(shares)
    assert shares[19] <= 0.5
    assert shares[-2] == pytest.approx(30.2 / 40.2)
    assert shares[-1] == 1
