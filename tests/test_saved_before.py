"""What version 0.2.0.dev0 has saved loads, and its runs go on, wherever modules stand now."""

from __future__ import annotations

import hashlib
import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

import gim
from gim._base import files
from gim.cli import main
from gim_lab import Store
from gim_lab.experiments.reproduction import stored

SAVED = Path(__file__).parent / "saved"
TOLD = json.loads((SAVED / "told.json").read_text())
PLAIN = ["gim", "ucbvi", "q_learning", "psrl"]  # they infer nothing, so their bits stay


@pytest.mark.parametrize("name", TOLD["runs"])
def test_a_run_loads_where_it_stood(name):
    told = TOLD["runs"][name]
    run = gim.load(SAVED / f"run_{name}.npz", "run")
    assert run.returns.size == told["done"]
    assert str(run.agent) == told["agent"]
    assert run.episodes == told["episodes"]


@pytest.mark.filterwarnings("ignore:1 state never had")
@pytest.mark.parametrize("name", PLAIN)
def test_a_run_goes_on_bit_for_bit(name):
    whole = gim.run(resume=SAVED / f"run_{name}.npz")
    bits = whole.returns.astype("<f8").tobytes()
    assert hashlib.sha256(bits).hexdigest() == TOLD["runs"][name]["returns"]


def test_a_run_that_infers_goes_on():
    run = gim.run(resume=SAVED / "run_analogist.npz")
    assert run.finished
    assert run.returns.size == TOLD["runs"]["analogist"]["episodes"]


@pytest.mark.parametrize("suffix", ["npz", "csv", "json"])
def test_a_policy_loads(suffix):
    policy = gim.load(SAVED / f"policy.{suffix}", "policy")
    assert np.array_equal(np.asarray(policy), TOLD["policy"])


def test_a_model_and_an_mdp_load():
    model, mdp = gim.load(SAVED / "model.npz", "model"), gim.load(SAVED / "mdp.npz", "mdp")
    assert [x.hex() for x in model.rewards.ravel().tolist()] == TOLD["model"]
    assert str(mdp.name) == "riverswim:length=5"
    assert mdp.transitions.shape == (5, 2, 5)


def test_a_folder_of_a_reproduction_is_reported_again(tmp_path, capsys):
    """Its trials name what measures by the module in which it stood then."""
    pytest.importorskip("plotly")
    folder = tmp_path / "logs"
    shutil.copytree(SAVED / "logs", folder)
    assert any("gim.experiments" in trial for trial in trials_of(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are of other code
        found = stored(folder)
        assert len(Store(folder).results()) == 6
    assert [artefact.key for artefact in found.artefacts] == ["logs"]
    assert main(["report", str(folder)]) == 0
    assert (folder / "report.html").exists()
    assert "report.html" in capsys.readouterr().out


def trials_of(folder):
    found = [files.load(path, "trial").meta for path in (folder / "trials").iterdir()]
    return [meta["trial"]["agent"] for meta in found]
