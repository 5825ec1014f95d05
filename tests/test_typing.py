"""The front door as a type checker sees it: `make types` reads this file, and pytest runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type, get_type_hints

import numpy as np
import pytest

import gim
from gim.belief.belief import Belief
from gim.logs.loading import Loaded
from gim.mdp.gymnasium_env import TabularEnv
from gim.mdp.tabular import Options
from gim.model.loading import KINDS
from gim.runs.priors_given import Rewards


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
        "belief": run.belief,
        "log": gim.from_log([(0, 0, 0.0, 1), (1, 0, 1.0, 0)] * 9),
    }
    things["family"] = gim.series("analogist", [gim.make("riverswim")] * 2, 2).family
    things["learned"] = gim.learn(things["log"], horizon=3, infer=None)
    assert things.keys() == KINDS.keys()
    for kind, thing in things.items():
        thing.save(tmp_path / kind)
        assert type(gim.load(tmp_path / kind)) is type(thing)
        for other in things.keys() - {kind}:
            with pytest.raises(ValueError, match=f"holds a '{kind}', not a '{other}'"):
                gim.load(tmp_path / kind, other)  # type: ignore[call-overload]
    assert_type(gim.load(tmp_path / "mdp", "mdp"), gim.TabularMDP)
    assert_type(gim.load(tmp_path / "model", "model"), gim.LearnedModel)
    assert_type(gim.load(tmp_path / "policy", "policy"), gim.Policy)
    assert_type(gim.load(tmp_path / "run", "run"), gim.Run)
    assert_type(gim.load(tmp_path / "log", "log"), gim.Log)
    assert_type(gim.load(tmp_path / "learned", "learned"), gim.Learned)
    assert_type(gim.load(tmp_path / "run"), Loaded)


def test_no_kind_but_those_that_there_are_is_loaded(tmp_path: Path) -> None:
    gim.make("riverswim").save(tmp_path / "river")
    with pytest.raises(ValueError, match="holds a 'mdp', not a 'polcy'"):
        gim.load(tmp_path / "river", "polcy")  # type: ignore[call-overload]


def test_what_a_run_tells_has_its_own_types() -> None:
    run = gim.run("ucbvi", "riverswim", episodes=2)
    assert_type(run.analogies(), list[gim.Rule])
    belief = run.belief
    assert_type(belief, Belief | None)
    assert type(belief) is Belief
    env = gim.make("riverswim").to_gymnasium()
    assert_type(env, TabularEnv)
    assert type(env) is TabularEnv


def test_a_run_starts_from_what_was_learned_elsewhere(tmp_path: Path) -> None:
    log = gim.from_log([(0, "left", 0.0, 1), (1, "right", 1.0, 0)])
    run = gim.run("ucbvi", "riverswim", episodes=1)
    run.save(tmp_path / "run")
    model = run.model
    assert model is not None
    each: list[gim.LearnedModel | gim.Run | gim.Log | str | Path]
    each = [model, run, log, str(tmp_path / "run"), tmp_path / "run"]
    for prior in each:
        assert gim.run("ucbvi", "riverswim", episodes=1, prior=prior).finished
    assert gim.run("ucbvi", "riverswim", episodes=1, prior=each).finished
    assert gim.run("ucbvi", "riverswim", episodes=1, prior=[model]).finished
    with pytest.raises(ValueError, match="prior= is a int"):
        gim.run("ucbvi", "riverswim", episodes=1, prior=3)  # type: ignore[call-overload]


def test_rewards_are_learned_or_known_as_a_table_or_a_function() -> None:
    mdp = gim.make("riverswim")
    table = [[0.0] * mdp.A] * mdp.S
    by_next = np.zeros((mdp.S, mdp.A, mdp.S))
    given: list[Rewards] = ["learn", "known", table, by_next, [[[0.0] * mdp.S] * mdp.A] * mdp.S]
    given.append(lambda s, a, t: float(s == t))
    for rewards in given:
        assert gim.run("ucbvi", mdp, episodes=1, rewards=rewards).finished
    with pytest.raises(ValueError, match="rewards= are not numbers"):
        gim.run("ucbvi", mdp, episodes=1, rewards=object())  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="rewards = 'knwon'"):
        gim.run("ucbvi", mdp, episodes=1, rewards="knwon")  # type: ignore[arg-type]
    log = gim.from_log([(0, 0, 0.0, 1), (1, 1, 1.0, 0)])
    assert gim.learn(log, horizon=2, rewards=[[0.0, 1.0], [1.0, 0.0]]).value.estimate >= 0
    with pytest.raises(ValueError, match="rewards= are not numbers"):
        gim.learn(log, horizon=2, rewards=object())  # type: ignore[arg-type]


def test_a_certificate_is_of_one_of_two_kinds() -> None:
    run = gim.run("ucbvi", "riverswim", episodes=2)
    assert gim.certify(run, kind="guaranteed").kind == "guaranteed"
    with pytest.raises(ValueError, match="kind = 'sure'"):
        gim.certify(run, kind="sure")  # type: ignore[arg-type]


def test_a_step_function_takes_the_options_of_a_table() -> None:
    def step(s: int, a: int) -> list[tuple[float, int, float]]:
        return [(1.0, s, 0.0)]

    mdp = gim.from_step(step, range(2), range(2), horizon=3, noise=1.0, name="still")
    assert (mdp.horizon, mdp.name) == (3, "still")
    with pytest.raises(TypeError, match="horizo"):
        gim.from_step(step, range(2), range(2), horizo=3)  # type: ignore[call-arg]
    taken = get_type_hints(gim.TabularMDP.__init__)
    named = {"start", "terminal"}  # by `from_step` itself, in the user's own names
    made = {"transitions", "rewards", "available", "axes", "return"}
    options = get_type_hints(Options)
    assert options == {key: taken[key] for key in taken.keys() - named - made}


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
