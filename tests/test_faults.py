"""Crashes: killed at random moments, a run goes on and ends with the very same bits."""

import os
import sys
import time
import warnings
from functools import partial

import numpy as np
import pytest

from gim.experiments import Store, execute
from gim.experiments.execute import grid
from tests.faults import WORKER, Victim, children, ended, ray_or_skip, stored, wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to find processes")

AGENTS = ["gim:m=10", "rmax:m=10", "q_learning"]
TRIALS = grid(["synthetic", "casinoland"], AGENTS, 100_000, range(10))


@pytest.fixture(scope="module")
def undisturbed():
    return execute(TRIALS, engine="serial")


def test_kill_9_at_ten_random_moments(undisturbed, tmp_path):
    rng = np.random.default_rng(0)
    folder, before = tmp_path / "results", {}
    for k in range(10):
        engine = ("processes", "serial")[k % 2]
        victim = Victim(TRIALS, folder, engine)
        if rng.random() < 0.8:  # after a few more trials; else while it starts
            wait_for(victim.begun)
            victim.wait_for_trials(len(before) + rng.integers(4))
        time.sleep(rng.uniform(0, 0.15))
        workers = children(victim.process.pid, WORKER)
        victim.kill()
        wait_for(partial(ended, workers), 10)  # none outlives its parent
        assert not victim.begun() & before.keys(), "a finished trial was run twice"
        now = stored(folder)
        assert before.items() <= now.items(), "a finished trial was written twice"
        before = now
    assert 10 < len(before) < len(TRIALS)
    last = Victim(TRIALS, folder)
    last.end()
    assert last.begun() == {trial.digest for trial in TRIALS} - before.keys()
    assert before.items() <= stored(folder).items()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no file is damaged
        assert len(Store(folder).results()) == len(TRIALS)
        assert execute(TRIALS, folder, engine="serial").same_bits(undisturbed)


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
