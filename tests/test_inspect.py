"""`gim inspect` and the rehearsal behind it: it warns where inference hurts, and only there."""

from __future__ import annotations

import numpy as np
import pytest

import gim
from gim.cli import main
from gim.model.completion.base import completions
from gim.model.rehearsal import rehearse

ALS = completions.make("als(rank=10,ridge=0.03)")


def rehearsed(mdp, **given):
    return rehearse(mdp, ALS, np.random.default_rng(0), **given)


def test_it_warns_on_frozen_lake_and_not_on_low_rank_dynamics():
    assert rehearsed(gim.from_gymnasium("FrozenLake-v1")).hurts
    found = rehearsed(gim.make("synthetic", seed=1))
    assert not found.hurts
    assert found.l1 < 1.1 * found.state_mean


def test_more_samples_infer_better():
    mdp = gim.make("mixtures", S=20, A=15, rank=2, seed=3)
    errors = [rehearsed(mdp, m=m).l1 for m in (10, 100, 1000)]
    assert errors[0] > 1.5 * errors[1] > 2 * errors[2]


def test_nothing_hidden_nothing_lost():
    found = rehearsed(gim.make("riverswim"), m=2000, rho=1.0)
    assert found.gap < 0.01


def test_the_command_prints_facts_spectrum_and_verdict(capsys):
    assert main(["inspect", "mixtures:S=8,A=6"]) == 0
    out = capsys.readouterr().out
    for words in ("diameter D", "Assumption 1", "kappa", "mu0, Keshavan", "█", "Rehearsal"):
        assert words in out
    assert main(["inspect", "FrozenLake-v1"]) == 0
    assert "Warning: completion hurts here" in capsys.readouterr().out


def test_the_command_saves_the_picture(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert main(["inspect", "table1", "--plot", str(tmp_path / "values.png")]) == 0
    assert (tmp_path / "values.png").stat().st_size > 2000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["riverswim", "--rho", "2"], "--rho 2.0"),
        (["riverswim", "--m", "0"], "--m = 0"),
        (["rivrswim"], "did you mean"),
        (["Blackjack-v1"], "Blackjack-v1"),
        (["riverswim", "--completion", "alz"], "did you mean 'als'"),
        (["riverswim", "--plot", "/nowhere/x.png"], "/nowhere"),
    ],
)
def test_bad_input_is_one_line_and_status_2(words, message, capsys):
    assert main(["inspect", *words]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error
