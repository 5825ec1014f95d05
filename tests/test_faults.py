"""Crashes: ended at any point of a write, a study goes on and ends bit for bit as without."""

import sys
import warnings
from functools import partial

import pytest

from gim_lab import Trial, execute
from gim_lab.engines import serial
from gim_lab.trials.running import run_trial
from tests.faults import ended, killed_at_write, stored, wait_for
from tools.robustness import faults

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to find processes"),
]

STUDY = faults.study()


@pytest.fixture(scope="module")
def calm():
    return execute(STUDY, engine="serial")


@pytest.mark.parametrize("fault", faults.faults(STUDY, short=True), ids=lambda fault: fault.name)
def test_a_study_survives(fault, calm):
    assert faults.outcome(fault, STUDY, calm) == "same bits"


@pytest.mark.parametrize("writes", [1, 4])
def test_no_worker_outlives_a_killed_parent_and_the_rest_is_run(
    tmp_path, calm, writes, monkeypatch
):
    folder = tmp_path / "results"
    endless = Trial("riverswim", "random", 10**8, 0)  # keeps a worker busy
    workers = killed_at_write(writes, [endless, *STUDY], folder)
    assert workers, "there was no worker"
    wait_for(partial(ended, workers))
    before = stored(folder)
    assert len(before) == writes - 1
    begun = []
    monkeypatch.setattr(serial, "run_trial", lambda trial: begun.append(trial) or run_trial(trial))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no file is damaged
        assert execute(STUDY, folder, engine="serial").same_bits(calm)
    assert {trial.digest for trial in begun} == {trial.digest for trial in STUDY} - before.keys()
    assert before.items() <= stored(folder).items(), "a finished trial was written twice"
