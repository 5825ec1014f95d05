"""Rules learned in one world, used in another of any size."""

from functools import cache

import numpy as np
import pytest

import gim
from gim.analogy.analogy import Analogy
from gim.analogy.base import Frame
from gim.analogy.structure import Triples
from gim.analogy.structure.moves import FREE, values_of
from gim.analogy.structure.relocation import located
from gim.analogy.transfer import counted
from gim.model.counts import counts_of

SMALL = "gridworld:height=5,width=5,slip=0.2,horizon=25,start=12"
LARGE = "gridworld:height=9,width=11,slip=0.2,horizon=60,start=0"
OTHER = "gridworld:height=5,width=6,slip=0.2,horizon=15,start=0"


@cache
def learned(world, episodes=40, seed=3):
    return gim.run("analogist", world, episodes, seed).model


def inferred(world, episodes, models):
    run = gim.run("psrl", world, episodes, seed=2)
    mdp = gim.make(world)
    made_of = (mdp.variables, mdp.action_variables)
    frame = Frame(mdp.available, mdp.terminal, mdp.reward_range, models, *made_of)
    counts = run.agent.belief(run.memory).counts
    return mdp, Analogy().infer(counts, frame, np.random.default_rng(0))


def error(mdp, found):
    if found is None:
        return 2.0
    return float(np.abs(found.rows.toarray() - mdp.rows().toarray()).sum(axis=1).mean())


def test_rules_of_a_small_world_predict_a_large_one_from_a_few_steps():
    few = LARGE.replace("horizon=60", "horizon=20")
    mdp, alone = inferred(few, 1, ())
    _, told = inferred(few, 1, (learned(SMALL),))
    assert told.name == "rules of model 0"
    assert error(mdp, told) < 0.25
    assert error(mdp, told) < 0.5 * error(mdp, alone)


def test_rules_that_do_not_hold_are_left():
    turned = gim.make(SMALL)  # the same variables, but every action does another's work
    turned = turned.with_(transitions=turned.transitions[:, [2, 3, 1, 0]])
    wrong = learned(turned)
    _, alone = inferred(LARGE, 3, ())
    _, told = inferred(LARGE, 3, (wrong,))
    assert told.name == alone.name
    assert np.array_equal(told.n0, alone.n0)


def test_several_models_are_judged_each():
    turned = gim.make(SMALL)
    turned = turned.with_(transitions=turned.transitions[:, [2, 3, 1, 0]])
    few = LARGE.replace("horizon=60", "horizon=20")
    _, told = inferred(few, 1, (learned(turned), learned(SMALL)))
    assert told.name == "rules of model 1"


def test_counts_of_several_models_add_up():
    one, other = learned(SMALL, 10, 1), learned(SMALL, 10, 2)
    both = counts_of(one, other)
    assert np.array_equal(both.n, one.visits + other.visits)
    assert np.allclose(both.R, one.visits * one.rewards + other.visits * other.rewards)
    N = both.next.reshape(25, 4, 25)
    assert np.allclose(N.sum(axis=2), both.n)
    run = gim.run("ucbvi", SMALL, 5, prior=[one, other])
    assert (run.agent.belief(run.memory).counts.n >= both.n).all()


def test_what_is_carried_over_are_the_visits():
    model = learned(SMALL)
    assert np.allclose(counted(model).n, model.visits)


def test_a_prior_may_be_a_run_or_a_file(tmp_path):
    run = gim.run("analogist", SMALL, 10)
    run.model.save(tmp_path / "model.npz")
    run.save(tmp_path / "run.npz")
    first = gim.run("analogist", OTHER, 1, prior=run.model).returns
    for prior in (run, [run.model], tmp_path / "model.npz", str(tmp_path / "run.npz")):
        assert (gim.run("analogist", OTHER, 1, prior=prior).returns == first).all()


def test_a_run_with_models_of_other_worlds_goes_on_from_its_file(tmp_path):
    models = [learned(SMALL, 10, 1), learned(SMALL, 10, 2)]
    whole = gim.run("analogist", OTHER, 4, prior=models)
    half = gim.run("analogist", OTHER, 4, prior=models, callback=lambda report: True)
    half.save(tmp_path / "half.npz")
    assert (gim.run(resume=tmp_path / "half.npz").returns == whole.returns).all()


@pytest.mark.parametrize("agent", ["ucbvi", "gim"])
def test_who_cannot_judge_needs_a_model_of_the_same_size(agent):
    with pytest.raises(ValueError, match="the prior has 25 states and 4 actions, the world 99"):
        gim.run(agent, LARGE, 3, prior=learned(SMALL, 5))


def test_other_variables_and_other_things_are_refused():
    with pytest.raises(ValueError, match="the same variables"):
        gim.run("analogist", "riverswim", 3, prior=learned(SMALL, 5))
    with pytest.raises(ValueError, match="prior= is a dict"):
        gim.run("analogist", SMALL, 3, prior={})


def test_codes_that_no_state_has_are_nowhere():
    triples = Triples([0, 1, 2], [0, 1], [1.0, 1.0], np.ones((2, 1), bool), [[0], [2]])
    values = values_of(triples, (0,))
    assert located(values, np.array([[2], [1], [0], [3]])).tolist() == [1, FREE, 0, FREE]
