"""The engine `ray`, all on one start of it: the same bits, on loopback, whoever is lost."""

import importlib
import importlib.util
import os
import re
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from gim.runs.agent import agents
from gim_lab import Trial, execute
from gim_lab.trials.execute import grid
from tests.faults import children, ended, listening, stored

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install gim[ray]"
    ),
]

DEATHS = 2
SMALL = grid(["riverswim", "synthetic"], ["gim:m=3", "q_learning", "rmax:m=3"], 60, [0, 1])
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


@pytest.fixture(scope="module")
def mortal():
    """Only now and not for long: other tests ask for all agents that are registered."""
    yield importlib.import_module("tests.mortal")
    agents._made.pop("mortal")


@pytest.fixture(scope="module")
def seen(mortal, tmp_path_factory):
    """A study on Ray, one trial of which ends its worker twice, and what was seen meanwhile."""
    folder = tmp_path_factory.mktemp("ray")
    seen = SimpleNamespace(folder=folder / "results", looked=False)
    seen.trials = [Trial("riverswim", f"mortal:deaths={DEATHS}", 60, 0), *SMALL]

    def look(step):
        if step.done == 1 and sys.platform == "linux":
            (server,) = children(os.getpid(), "gcs_server")
            words = Path(f"/proc/{server}/cmdline").read_bytes().decode()
            seen.looked = True
            seen.addresses = listening([os.getpid(), *children(os.getpid())])
            seen.environment = Path(f"/proc/{server}/environ").read_bytes()
            seen.private = Path(re.search(r"[^=\0]*/gim-ray-[^/\0]*", words)[0])
            seen.mode = seen.private.stat().st_mode & 0o777

    seen.term = signal.getsignal(signal.SIGTERM)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(mortal.DRIVER, str(os.getpid()))
        patch.setenv(mortal.GRAVES, str(folder))
        seen.results = execute(seen.trials, seen.folder, engine="ray", workers=2, progress=look)
        seen.serial = execute(seen.trials, engine="serial")
    seen.dead = [int(grave.read_text()) for grave in mortal.graves(folder)]
    return seen


def test_ray_gives_the_same_bits_and_loses_nothing_with_a_worker(seen):
    assert len(set(seen.dead)) == DEATHS, "no worker has died"
    assert seen.results.same_bits(seen.serial)
    assert len(stored(seen.folder)) == len(seen.trials)
    if sys.platform == "linux":
        assert ended(seen.dead)


def test_ray_stays_on_loopback_and_leaves_nothing_behind(seen):
    assert "RAY_USAGE_STATS_ENABLED" not in os.environ
    assert signal.getsignal(signal.SIGTERM) is seen.term
    if sys.platform == "linux":
        assert seen.looked
        assert seen.mode == 0o700
        assert not seen.private.exists(), "its logs are left behind"
        assert seen.addresses
        assert seen.addresses <= LOOPBACK
        assert b"RAY_USAGE_STATS_ENABLED=0" in seen.environment


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9", "nowhere"])
def test_a_cluster_that_is_not_there_is_told_at_once(address):
    with pytest.raises(ValueError, match=f"there is no Ray at '{address}'"):
        execute([Trial("riverswim", "random", 3, 0)], engine="ray", address=address)
