"""Declared studies and the commands `gim run` and `gim compare`."""

import os
import re
import signal
import sys
from pathlib import Path

import pytest

import gim
from gim.cli import main
from gim_lab import Store, Study
from gim_lab.cli.compare import split_agents
from tests.faults import WORKER, children, ended, wait_for

EXAMPLE = Path(__file__).parent.parent / "examples" / "study.toml"
GOOD = """
episodes = 20
runs = 2
tasks = ["riverswim"]
agents = ["q_learning", "random"]
"""


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# -- what a study is


def test_grids_multiply():
    study = Study.of(
        {
            "tasks": ["riverswim", {"name": "synthetic", "rank": [2, 4], "episodes": 7}],
            "agents": ["psrl", {"name": "gim:beta=0.1", "m": [5, 10], "rho": [0.5, 0.8]}],
            "episodes": 5,
            "seeds": [3, 8],
        }
    )
    assert [each.episodes for each in study.tasks] == [5, 7, 7]
    assert study.agents == (
        "psrl",
        "gim:m=5,rho=0.5,beta=0.1",
        "gim:m=5,beta=0.1",
        "gim:m=10,rho=0.5,beta=0.1",
        "gim:m=10,beta=0.1",
    )
    trials = study.trials()
    assert len(trials) == 3 * 5 * 2
    assert (trials[-1].task, trials[-1].episodes) == ("synthetic:rank=4,seed=8", 7)
    assert [trial.seed for trial in trials[:4]] == [3, 8, 3, 8]


def test_a_nested_method_can_be_a_grid():
    table = {"name": "gim", "completion": ["als(rank=2)", "als(rank=3)"]}
    study = Study.of({"tasks": ["riverswim"], "agents": [table]})
    assert len(set(study.agents)) == 2


def test_the_example_is_a_study():
    study = Study.load(EXAMPLE)
    assert len(study.trials()) == 3 * 5 * 5


@pytest.mark.parametrize(
    ("text", "because"),
    [
        ("episods = 20" + GOOD, "unknown key 'episods': did you mean 'episodes'?"),
        (GOOD.replace("q_learning", "q_lerning"), "unknown agent 'q_lerning': did you mean"),
        (GOOD.replace('"random"', '{name = "gim", m = [5, -1]}'), "m = -1: must be at least 1"),
        (GOOD.replace('"random"', '{name = "gim", n = 5}'), "agent gim has no parameter 'n'"),
        (GOOD.replace('"random"', '{agent = "gim"}'), "a table with name"),
        (GOOD.replace('"random"', '{name = "gim", m = []}'), "m is an empty list"),
        (GOOD.replace('"random"', '{name = "gim", m = {a = 1}}'), "m is a table"),
        (GOOD.replace('"random"', '{name = "gim:m=3", m = 4}'), "'m' stands twice"),
        (GOOD.replace("riverswim", "rivreswim"), "unknown world 'rivreswim': did you mean"),
        (GOOD.replace("riverswim", "riverswim:lenth=5"), "has no parameter 'lenth'"),
        (GOOD.replace("riverswim", "missing.npz"), "missing.npz does not exist"),
        (GOOD.replace("riverswim", "garbage.npz"), "garbage.npz is not a gim file"),
        (GOOD.replace("runs = 2", "runs = 0"), "runs = 0: give a whole number"),
        (GOOD.replace("runs = 2", "runs = 2.5"), "runs = 2.5: give a whole number"),
        (GOOD.replace("runs = 2", "seeds = [1, 1]"), "different whole numbers"),
        (GOOD + "seeds = [1]", "leave runs out"),
        (GOOD + "epsilon = 2", "epsilon = 2"),
        (GOOD + 'rewards = "given"', "rewards = 'given'"),
        (GOOD + 'epsilon = "a"', "epsilon = 'a'"),
        (GOOD + "description = 3", "description = 3: give a text"),
        (GOOD + "title = 3", "title = 3: give a text"),
        (GOOD.replace("tasks", "# tasks"), "tasks is missing"),
        (GOOD.replace("[", "", 1), "not valid TOML"),
    ],
)
def test_a_wrong_study_is_refused_in_one_line(refuses, text, because):
    Path("study.toml").write_text(text)
    Path("garbage.npz").write_text("hello")
    refuses("run", "study.toml", because=f"study.toml.*{re.escape(because)}")


def test_an_unreadable_study_is_refused(refuses, tmp_path):
    refuses("run", "none.toml", because="none.toml does not exist")
    (tmp_path / "folder").mkdir()
    refuses("run", "folder", because="is a folder")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    refuses("run", "binary.toml", because="binary.toml")
    (tmp_path / "study.toml").write_text(GOOD)
    refuses("run", "study.toml", "--out", "study.toml", because="study.toml is a file")
    refuses("run", "study.toml", "--out", "study.toml/x", because="study.toml is a file")
    refuses("run", "study.toml", "--engine", "rya", because="did you mean 'ray'")
    refuses("run", "study.toml", "--address", "x", because="no option 'address'")
    refuses("run", "study.toml", "--workers", "0", because="workers = 0")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_a_locked_study_is_refused(refuses, tmp_path):
    (tmp_path / "study.toml").write_text(GOOD)
    (tmp_path / "study.toml").chmod(0)
    refuses("run", "study.toml", because="Permission denied")


def test_a_study_is_run_kept_and_gone_on_with(capsys):
    Path("study.toml").write_text(GOOD)
    assert main(["run", "study.toml", "--engine", "serial"]) == 0
    out, _ = capsys.readouterr()
    assert "riverswim: 20 episodes, 2 runs (score 1 is the optimum, 0.0" in out
    assert "kept in study" in out
    before = Store("study").results()
    assert len(before) == 4
    Path("study.toml").write_text(GOOD.replace("runs = 2", "runs = 3"))
    assert main(["run", "study.toml", "--out", "study", "--engine", "serial"]) == 0
    assert len(Store("study").results()) == 6


# -- gim compare


def test_commas_separate_agents_but_not_parameters():
    assert split_agents(["gim,rmax:m=40,r_max=1,psrl"]) == ["gim", "rmax:m=40,r_max=1", "psrl"]
    assert split_agents(["gim:completion=als(rank=2,ridge=1),m=5", "psrl, gim"]) == [
        "gim:completion=als(rank=2,ridge=1),m=5",
        "psrl",
        "gim",
    ]
    with pytest.raises(ValueError, match="names no agent"):
        split_agents([","])


def test_compare_shows_a_table(capsys):
    gim.make("riverswim", length=4).save("mine.npz")
    words = ["compare", "riverswim", "mine.npz", "FrozenLake-v1", "--agents", "optimal,random"]
    assert main([*words, "--runs", "5", "--episodes", "40", "--engine", "serial"]) == 0
    out, _ = capsys.readouterr()
    assert out.count("40 episodes, 5 runs") == 3
    rows = [line.split() for line in out.splitlines() if line.startswith("optimal ")]
    assert len(rows) == 3
    assert 0.5 < float(rows[0][1]) < 1.5
    low, high = map(float, rows[0][2].split(".."))
    assert low <= float(rows[0][1]) <= high
    assert set(Path().iterdir()) == {Path("mine.npz")}


def test_few_runs_show_no_interval(capsys):
    words = ["compare", "riverswim", "--agents", "optimal,random", "--runs", "4"]
    assert main([*words, "--episodes", "20", "--engine", "serial"]) == 0
    out, _ = capsys.readouterr()
    assert ".." not in out
    assert "nan" not in out
    assert "4 runs are too few to tell optimal from random: make 5 or more" in out


def test_one_run_shows_no_interval(capsys):
    words = ["compare", "riverswim", "--agents", "optimal,random", "--runs", "1"]
    assert main([*words, "--episodes", "20", "--engine", "serial"]) == 0
    out, _ = capsys.readouterr()
    assert "1 run (score 1 is the optimum" in out
    assert "±" not in out
    assert "one run does not tell optimal from random: make more" in out


def test_compare_refuses_in_one_line(refuses):
    refuses("compare", "riverswim", "--agents", "gim,rmx", because="did you mean 'rmax'")
    refuses("compare", "riverswin", "--agents", "gim", because="did you mean 'riverswim'")
    refuses("compare", "riverswim", because="--agents")
    refuses("compare", "riverswim", "--agents", "gim", "--runs", "0", because="--runs 0")
    refuses("compare", "x.npz", "--agents", "gim", "--out", "o", because="x.npz does not exist")
    refuses("compare", "synthetic:rank=99", "--agents", "gim", because="at most 10")


def test_run_k_of_a_random_task_is_its_instance_k(capsys):
    words = ["compare", "gridworld", "gridworld:seed=4", "--agents", "random", "--runs", "2"]
    assert main([*words, "--episodes", "5", "--out", "o", "--engine", "serial"]) == 0
    tasks = Store("o").results().column("task")
    fixed = ["gridworld:seed=4", "gridworld:seed=4"]
    assert sorted(tasks) == ["gridworld", "gridworld:seed=1", *fixed]


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to find the workers")
def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(capsys, monkeypatch):
    workers = []

    def press(store, trial, result, put=Store.put):
        put(store, trial, result)
        if not workers:
            workers.extend(children(os.getpid(), WORKER))
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Store, "put", press)
    words = ["compare", "riverswim", "--agents", "random", "--runs", "9", "--episodes", "1000000"]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it
    try:
        assert main([*words, "--out", "my results", "--workers", "2"]) == 75
    finally:
        signal.signal(signal.SIGINT, before)
    out, err = capsys.readouterr()
    assert out == ""
    assert re.search(r"stopped after \d of 9 trials; to go on: gim compare riverswim", err)
    assert "--out 'my results'" in err
    assert workers, "there was no worker"
    wait_for(lambda: ended(workers))
    assert len(Store("my results").results()) == 1
