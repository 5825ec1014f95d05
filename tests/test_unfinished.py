"""Trials that take long are kept while they are played, and gone on with to the same bits."""

import json
import os
import signal
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path

import pytest

import gim
from gim.cli import main
from gim_lab import Store, Trial, execute
from gim_lab.trials.execute import Stopped
from gim_lab.trials.running import Unfinished, run_trial
from tests.faults import PATIENCE, ROOT, WORKER, children, ended, wait_for

OFTEN = 1e-9  # minutes: at every look
LONG = Trial("riverswim", "psrl", 400, 3)


@pytest.fixture(autouse=True)
def looks(monkeypatch):
    """Looks at every pause, so that short trials have some."""
    monkeypatch.setattr("gim.runs.runs.REPORT", 0.0)


def stopped_after(episodes, number=signal.SIGINT):
    def look(report):
        if report.episode >= episodes:
            signal.raise_signal(number)

    return look


@pytest.mark.parametrize("agent", ["psrl", "analogist", "rlsvi"])
def test_an_interrupted_trial_goes_on_to_the_same_bits(tmp_path, agent):
    trial = Trial("riverswim", agent, 300, 3)
    kept = Unfinished(str(tmp_path / "sub" / "x.npz"), 1e6)
    with pytest.raises(gim.Interrupted):
        run_trial(trial, stopped_after(40), kept)
    there = gim.load(kept.path)
    assert 40 <= there.returns.size < 300
    went = []
    result = run_trial(trial, lambda report: went.append(report.episode), kept)
    assert min(went) >= there.returns.size
    assert result.bits() == run_trial(trial).bits()


def test_what_is_damaged_or_of_another_run_is_begun_anew(tmp_path):
    kept = Unfinished(str(tmp_path / "x.npz"), 1e6)
    Path(kept.path).write_bytes(b"PK\x03\x04 and no more")
    with pytest.warns(UserWarning, match="the trial begins anew"):
        result = run_trial(LONG, None, kept)
    assert result.bits() == run_trial(LONG).bits()
    gim.run("psrl", "riverswim", 400, 4).save(kept.path)
    with pytest.warns(UserWarning, match="holds a run with seed 4, not 3; the trial begins anew"):
        result = run_trial(LONG, None, kept)
    assert result.bits() == run_trial(LONG).bits()


def test_trials_that_watch_their_run_are_not_kept(tmp_path):
    kept = Unfinished(str(tmp_path / "x.npz"), OFTEN)
    watched = Trial("riverswim", "psrl", 30, 3, epsilon=0.1)
    assert run_trial(watched, None, kept).bits() == run_trial(watched).bits()
    assert not any(tmp_path.iterdir())


def test_a_study_goes_on_in_the_middle_of_a_trial(tmp_path, monkeypatch):
    def press(self, seconds, plain=gim.Run._report):
        if self.returns.size >= 50:
            signal.raise_signal(signal.SIGTERM)
        return plain(self, seconds)

    trials = [LONG, Trial("riverswim", "psrl", 400, 4)]
    with monkeypatch.context() as patch:
        patch.setattr(gim.Run, "_report", press)
        with pytest.raises(Stopped):
            execute(trials, tmp_path, "serial", save_every=1000.0)
    (kept,) = (tmp_path / "unfinished").iterdir()
    assert kept.stem == LONG.digest
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = execute(trials, tmp_path, "serial", save_every=1000.0)
    assert results.same_bits(execute(trials, engine="serial"))
    assert not (tmp_path / "unfinished").exists()
    assert len(Store(tmp_path).results()) == 2


SCRIPT = """
import json, sys
import gim.runs.runs
from gim.cli import main
sys.exit(main(json.loads(sys.argv[1])))
"""


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to find the workers")
def test_a_killed_study_goes_on_in_the_middle_of_its_trials(tmp_path):
    words = ["compare", "riverswim", "--agents", "ucbvi", "--runs", "1", "--episodes", "20000"]
    words += ["--out", str(tmp_path / "out"), "--workers", "1", "--save-every", "1e-9"]
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, json.dumps(words)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
    )
    folder = tmp_path / "out" / "unfinished"
    wait_for(lambda: process.poll() is not None or any(folder.glob("*.npz")))
    workers = children(process.pid, WORKER)
    process.kill()
    assert process.wait(PATIENCE) == -signal.SIGKILL
    wait_for(partial(ended, workers))
    (kept,) = folder.glob("*.npz")
    played = gim.load(kept).returns.size
    assert 0 < played < 20000
    assert main(words) == 0
    assert not folder.exists()
    trial = Trial("riverswim", "ucbvi", 20000, 0)
    assert Store(tmp_path / "out").get(trial).bits() == run_trial(trial).bits()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "add --out DIR"),
        (["--out", "x", "--engine", "ray"], "leave --engine ray out"),
        (["--out", "x", "--save-every", "0"], "give a number of minutes"),
    ],
)
def test_what_it_needs(words, told, capsys):
    command = ["compare", "riverswim", "--agents", "random", "--save-every", "5"]
    assert main([*command, *words]) == 2
    assert told in capsys.readouterr().err
    with pytest.raises(ValueError, match="needs a store"):
        execute([LONG], engine="serial", save_every=5.0)
