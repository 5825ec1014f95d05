"""Crashes: ended at any point of a write, a study goes on and ends bit for bit as without."""

import os
import sys
import warnings
from functools import partial

import pytest

from gim.experiments import Trial, execute
from gim.experiments.execute import grid
from tests.faults import Victim, children, ended, ray_or_skip, stored, wait_for
from tools.robustness import faults

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to find processes"),
]

AGENTS = ["gim:m=10", "rmax:m=10", "q_learning"]
TRIALS = grid(["synthetic", "casinoland"], AGENTS, 100_000, range(10))


STUDY = faults.study()


@pytest.fixture(scope="module")
def calm():
    return execute(STUDY, engine="serial")


@pytest.fixture(scope="module")
def undisturbed():
    return execute(TRIALS, engine="serial")


@pytest.mark.parametrize("fault", faults.faults(STUDY, short=True), ids=lambda fault: fault.name)
def test_a_study_survives(fault, calm):
    assert faults.outcome(fault, STUDY, calm) == "same bits"


@pytest.mark.parametrize("writes", [1, 4])
def test_no_worker_outlives_a_killed_parent_and_the_rest_is_run(tmp_path, calm, writes):
    folder = tmp_path / "results"
    endless = Trial("riverswim", "random", 10**8, 0)  # keeps a worker busy
    workers = Victim([endless, *STUDY], folder, ends_at=writes).die()
    assert workers, "there was no worker"
    wait_for(partial(ended, workers))
    before = stored(folder)
    assert len(before) == writes - 1
    last = Victim(STUDY, folder)
    last.end()
    assert last.begun() == {trial.digest for trial in STUDY} - before.keys()
    assert before.items() <= stored(folder).items(), "a finished trial was written twice"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no file is damaged
        assert execute(STUDY, folder, engine="serial").same_bits(calm)


def test_a_killed_ray_worker_loses_nothing(undisturbed, tmp_path):
    ray_or_skip()
    folder, killed = tmp_path / "results", []

    def kill_one(step):
        workers = children(os.getpid(), "ray::_work")
        if step.done >= 2 and len(killed) < 2 and workers:
            killed.append(workers[-1])
            os.kill(workers[-1], 9)

    results = execute(TRIALS, folder, engine="ray", workers=2, progress=kill_one)
    assert len(killed) == 2, "no worker was found to be killed"
    assert results.same_bits(undisturbed)
    assert len(stored(folder)) == len(TRIALS)
    assert ended(killed)
