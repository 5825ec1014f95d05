"""The front door as a type checker sees it: `make types` reads this file, and pytest runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type

import numpy as np
import pytest

import gim
from gim.loading import KINDS, Loaded


def test_run_gives_a_run_or_several(tmp_path: Path) -> None:
    one = gim.run("random", "riverswim", episodes=2)
    assert_type(one, gim.Run)
    assert type(one) is gim.Run
    several = gim.run(gim.Random(), gim.make("riverswim"), 2, seeds=range(2))
    assert_type(several, gim.Runs)
    assert type(several) is gim.Runs
    resumed = gim.run(resume=one)
    assert_type(resumed, gim.Run)
    assert resumed is one


def test_a_world_is_a_table_an_environment_or_a_name() -> None:
    worlds: list[gim.World] = ["riverswim", gim.make("riverswim")]
    worlds.append(gim.make("riverswim").to_gymnasium())
    for world in worlds:
        assert gim.run("random", world, episodes=1).returns.size == 1


def test_what_is_loaded_is_known_by_its_kind(tmp_path: Path) -> None:
    run = gim.run("psrl", "riverswim", episodes=2)
    model = run.model
    assert model is not None
    things: dict[str, Any] = {
        "mdp": gim.make("riverswim"),
        "model": model,
        "policy": run.best_policy(),
        "run": run,
    }
    assert things.keys() == KINDS.keys()
    for kind, thing in things.items():
        thing.save(tmp_path / kind)
        assert type(gim.load(tmp_path / kind)) is type(thing)
        for other in things.keys() - {kind}:
            with pytest.raises(ValueError, match=f"holds a '{kind}', not a '{other}'"):
                gim.load(tmp_path / kind, other)
    assert_type(gim.load(tmp_path / "mdp", "mdp"), gim.TabularMDP)
    assert_type(gim.load(tmp_path / "model", "model"), gim.LearnedModel)
    assert_type(gim.load(tmp_path / "policy", "policy"), gim.Policy)
    assert_type(gim.load(tmp_path / "run", "run"), gim.Run)
    assert_type(gim.load(tmp_path / "run"), Loaded)


def test_a_policy_is_an_array_to_all_that_takes_one() -> None:
    mdp, policy = gim.make("riverswim"), gim.run("optimal", "riverswim", episodes=1).best_policy()
    assert mdp.policy_return(policy) == pytest.approx(mdp.optimal_return())
    assert mdp.value(policy)[0] @ mdp.start == pytest.approx(mdp.optimal_return())
    assert mdp.average_reward(policy) == pytest.approx(mdp.optimal_return() / mdp.horizon)
    assert mdp.expected_visits(policy).sum() == pytest.approx(mdp.horizon)
    assert np.asarray(policy).shape == (mdp.horizon, mdp.S)


def test_all_names_are_there() -> None:
    assert sorted(gim.__all__) == sorted(set(gim.__all__))
    for name in gim.__all__:
        assert getattr(gim, name) is not None
