"""The framework: how counts and prior meet, and the paper's completion as an inference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pytest

import gim
from gim._base.params import describe
from gim._compile import jit
from gim.analogy import ByCompletion, Frame, Inference, inferences
from gim.analogy.base import no_prior, prior_of
from gim.belief.knowledge import mean_rewards, new_belief, news_after
from gim.model import counts as counting
from gim.model.counts import dense, new_counts
from gim.runs.agent import agents
from gim.runs.run import prepare, task_of
from tests.random_mdps import random_mdp

PARAMETERS = {name: {p.name for p in describe(agents[name])} for name in agents.names()}
AGENTS = [name for name, known in PARAMETERS.items() if "infer" in known]
# Their plans last beyond an episode, and when they were to infer they make another, whatever was
# said: so what they play depends on when they are asked to.
PLAN_WHEN_ASKED = ("two_phase", "ucrl2")


@dataclass(frozen=True)
class Said(Inference, name="test_said"):
    """Says what the test wants it to say, and notes when it was asked."""

    prior: Annotated[Any, "what to say; none: nothing"] = None
    asked: Annotated[Any, "visits when asked"] = None

    def __call__(self, counts, frame, rng):
        if self.asked is not None:
            self.asked.append(int(counts.n.sum()))
        return no_prior(*counts.n.shape) if self.prior is None else self.prior


@pytest.fixture(autouse=True, scope="module")
def unregistered():
    yield
    inferences._made.pop("test_said")


def truth_as_prior(mdp, n0=1000.0, r_n0=1000.0):
    one = np.ones((mdp.S, mdp.A))
    return prior_of(mdp.to_dense().transitions, n0 * one, r=mdp.rewards, r_n0=r_n0 * one)


def with_infer(name, infer, **settings):
    return agents[name](infer=infer, **settings)


# -- words


def test_an_inference_is_written_as_a_word():
    agent = agents.make("ucbvi:infer=by_completion(completion=als(rank=2),m=9)")
    assert agent.infer.m == 9
    assert agent.infer.completion.rank == 2
    assert str(agent) == "ucbvi:infer=by_completion(completion=als(rank=2),m=9)"
    assert gim.runs.agent.agents.make("psrl:infer=by_completion").infer == ByCompletion()
    with pytest.raises(ValueError, match="did you mean 'by_completion'"):
        agents.make("rmax:infer=by_compleiton")
    with pytest.raises(ValueError, match=r"rho = 2\.0: must be at most 1"):
        ByCompletion(rho=2.0)


# -- counts plus prior


def test_evidence_by_hand():
    mdp = random_mdp(1, S=2, A=1, horizon=4)
    belief = new_belief(task_of(mdp), Said())
    belief.counts.n[:] = [[3], [0]]
    belief.counts.R[:], belief.counts.R2[:] = [[6.0], [0.0]], [[14.0], [0.0]]
    belief.counts.next[:] = [1, 2, 0, 0]
    prior = prior_of(
        np.array([[[0.5, 0.5]], [[0.25, 0.75]]]),
        n0=np.array([[2.0], [4.0]]),
        r=np.array([[4.0], [9.0]]),
        r_n0=np.array([[1.0], [0.0]]),
    )
    seen = belief._replace(prior=prior).evidence()
    assert np.allclose(seen.N, [[[2, 3]], [[1, 3]]])
    assert np.allclose(seen.n, [[5], [4]])
    assert np.allclose(seen.R, [[10], [0]])
    assert np.allclose(seen.R2, [[30], [0]])
    assert np.allclose(seen.n_r, [[4], [0]])
    assert np.allclose(mean_rewards(seen, 7.0), [[2.5], [7.0]])  # nothing known: the largest


def test_without_a_prior_nothing_is_copied():
    belief = new_belief(task_of(random_mdp(2)), None)
    seen = belief.evidence()
    assert np.shares_memory(seen.N, belief.counts.next)
    assert seen.R is belief.counts.R
    assert sum(array.size for array in belief.prior) <= 1  # where no judge begins


@pytest.mark.parametrize("name", AGENTS)
def test_an_inference_that_says_nothing_changes_nothing(name):
    mdp = random_mdp(3, S=5, A=3, horizon=7, terminal=True, missing=True)
    asked = []
    plain = gim.run(with_infer(name, None), mdp, 150, seed=4)
    silent = gim.run(with_infer(name, Said(asked=asked)), mdp, 150, seed=4)
    assert len(asked) > 5
    if name in PLAN_WHEN_ASKED:
        assert plain.plans < silent.plans <= plain.plans + len(asked)
    else:
        assert np.array_equal(plain.returns, silent.returns)
        assert np.array_equal(plain.policy, silent.policy)
        assert plain.plans == silent.plans


def test_an_inference_that_says_nothing_changes_nothing_of_who_learns_nothing_later():
    mdp, asked = random_mdp(3, S=5, A=3, horizon=7, terminal=True, missing=True), []
    plain, silent = (
        gim.run(with_infer("two_phase", infer, m=3, learn_on=False), mdp, 150, seed=4)
        for infer in (None, Said(asked=asked))
    )
    assert len(asked) == 1
    assert np.array_equal(plain.returns, silent.returns)


def test_it_is_asked_again_when_visits_have_doubled():
    mdp = random_mdp(4, S=4, A=2, horizon=8)
    asked = []
    gim.run(with_infer("ucbvi", Said(truth_as_prior(mdp), asked)), mdp, 100, seed=1)
    assert asked == [8, 16, 32, 64, 128, 256, 512]
    asked = []
    gim.run(with_infer("ucbvi", Said(None, asked)), mdp, 100, seed=1)
    steps = np.divide(asked[1:], asked[:-1])
    assert asked[0] == 8
    assert ((steps >= 1.1 - 0.02) & (steps <= 1.1 + 8 / np.array(asked[:-1]))).all()


def test_nothing_is_inferred_of_what_cannot_be_played():
    mdp = random_mdp(5, S=4, A=3, horizon=9, terminal=True, missing=True)
    run = gim.run(with_infer("ucbvi", Said(truth_as_prior(mdp))), mdp, 60, seed=1)
    prior = run.memory.belief.prior
    ends = run.memory.belief.terminal
    assert ends.any()
    assert not prior.n0[~mdp.available].any()
    assert not prior.n0[ends].any()
    assert not prior.r_n0[ends].any()
    assert (prior.n0[mdp.available & ~ends[:, None]] == 1000).all()


def test_a_wrong_prior_is_refused():
    mdp = random_mdp(6, S=3, A=2, horizon=5)
    good = truth_as_prior(mdp)
    q = good.q.copy()
    q[good.first[-2] :] *= 0.5
    for prior, message in (
        (good._replace(n0=np.ones((2, 2))), r"n0 has shape \(2, 2\), not \(3, 2\)"),
        (good._replace(n0=-good.n0), "n0 has entries that are negative or not a number"),
        (good._replace(r=good.r * np.nan), "r has entries that are negative or not a number"),
        (good._replace(q=q), r"q\[2, 1\] sums to 0.5, not 1: normalise it, or set n0\[2, 1\] to 0"),
    ):
        with pytest.raises(ValueError, match=message):
            gim.run(with_infer("psrl", Said(prior)), mdp, 5)


# -- what agents make of it


# MORMAX takes m visits of its own for better than any prediction where they promise less.
@pytest.mark.parametrize("name", [name for name in AGENTS if name != "mormax"])
def test_who_is_told_the_truth_plays_well_at_once(name):
    mdp = gim.make("riverswim")
    told = gim.run(with_infer(name, Said(truth_as_prior(mdp))), mdp, 60, seed=2)
    left_alone = gim.run(with_infer(name, None), mdp, 60, seed=2)
    assert mdp.policy_return(told.policy) >= 0.99 * mdp.optimal_return()
    assert mdp.score(told.returns[5:]) >= 0.85
    assert mdp.score(told.returns) > mdp.score(left_alone.returns) + 0.02


@pytest.mark.parametrize("name", ["rmax", "ucbvi", "mbie_eb"])
def test_rewards_of_which_nothing_is_known_are_the_largest(name):
    """Dynamics are told, rewards are not: no pair may be written off before it was tried."""
    mdp = random_mdp(7, S=4, A=3, horizon=6)
    run = prepare(with_infer(name, Said(truth_as_prior(mdp, r_n0=0.0))), mdp, 400, 1)
    run.pause_at(mdp.horizon + 1)
    memory, top = run.memory, mdp.reward_range[1]
    fresh = memory.belief.counts.n == 0
    assert fresh.sum() > 3
    assert (mean_rewards(memory.belief.evidence(), top)[fresh] == top).all()
    if name == "rmax":
        assert memory.known.mask.any()
        assert not memory.known.mask[fresh].any()
    run.go()
    assert mdp.policy_return(run.policy) >= mdp.optimal_return() - 0.05 * mdp.horizon


def test_rmax_takes_what_is_inferred_well_for_known():
    mdp = random_mdp(8, S=5, A=3, horizon=6)
    told = gim.run(with_infer("rmax", Said(truth_as_prior(mdp, n0=40.0))), mdp, 50, seed=1)
    assert told.memory.known.mask.all()
    assert told.explored_at == 0
    assert told.plans <= 2 + np.log2(told.steps)  # at the start, and at each inference
    almost = gim.run(with_infer("rmax", Said(truth_as_prior(mdp, n0=39.0))), mdp, 50, seed=1)
    mask, n = almost.memory.known.mask, almost.memory.belief.counts.n
    assert mask.any()
    assert (n[mask] >= 1).all()


# -- the paper's completion


def counted(mdp, n):
    """Counts as exact as n visits of each pair can be."""
    counts = new_counts(mdp.S, mdp.A)
    n = np.broadcast_to(n, (mdp.S, mdp.A))
    counts.n[:] = n
    counts.next[:] = (n[:, :, None] * mdp.transitions).ravel()
    counts.R[:] = n * mdp.rewards
    return counts


def frame_of(mdp):
    return Frame(mdp.available, mdp.terminal, mdp.reward_range)


def low_rank_world():
    return gim.make("shared_factors", S=20, A=15, J=2, K=4, seed=3)


def test_completion_predicts_what_was_not_visited():
    mdp = low_rank_world()
    unseen = np.random.default_rng(1).random((mdp.S, mdp.A)) < 0.15
    unseen[:, 0] = False
    counts = counted(mdp, np.where(unseen, 0, 100))
    infer = ByCompletion("als(rank=2,ridge=0)", m=50)
    prior = infer(counts, frame_of(mdp), np.random.default_rng(0))
    assert np.array_equal(prior.n0, 50.0 * unseen)
    assert np.array_equal(prior.r_n0, 50.0 * unseen)
    assert (
        np.abs(dense(prior.rows(), prior.n0.shape) - mdp.transitions).sum(axis=2)[unseen].max()
        < 1e-4
    )


def test_completion_waits_for_rho():
    mdp = low_rank_world()
    order = np.random.default_rng(2).permutation(mdp.S * mdp.A).reshape(mdp.S, mdp.A)
    pairs = order.size
    for share, speaks in ((0.79, False), (0.8, True), (1.0, False)):
        counts = counted(mdp, np.where(order < share * pairs, 40, 39))
        prior = ByCompletion()(counts, frame_of(mdp), np.random.default_rng(0))
        assert prior.n0.any() == speaks
        assert not prior.n0[counts.n >= 40].any()
        assert not prior.r_n0.any()  # every reward was seen


def test_completion_says_nothing_of_blind_states_or_without_success():
    mdp = low_rank_world()
    n = np.full((mdp.S, mdp.A), 40)
    n[4] = 39
    n[5, 3] = 3
    prior = ByCompletion()(counted(mdp, n), frame_of(mdp), np.random.default_rng(0))
    assert np.argwhere(prior.n0).tolist() == [[5, 3]]
    hasty = ByCompletion("als(rank=3,max_iterations=1)")
    assert not hasty(counted(mdp, n), frame_of(mdp), np.random.default_rng(0)).n0.any()


@pytest.mark.parametrize("name", AGENTS)
def test_known_pairs_keep_their_own_estimates(name):
    mdp = low_rank_world()
    more = "m=3," if "m" in PARAMETERS[name] else ""
    run = gim.run(f"{name}:{more}infer=by_completion(m=3,rho=0.2)", mdp, 150, seed=1)
    belief = run.memory.belief
    spoken = belief.prior.n0 > 0
    assert spoken.sum() > 10
    own = ~spoken & (belief.counts.n > 0)
    seen, P = belief.evidence(), belief.counts.next.reshape(mdp.S, mdp.A, mdp.S)
    assert own.sum() > 20
    assert np.array_equal(seen.N[own], P[own])
    assert (belief.prior.n0[spoken] == 3).all()
    assert run.seconds["inferring"] > 0


def test_an_inference_works_on_sparse_counts(monkeypatch):
    mdp = low_rank_world()
    word = "ucbvi:infer=by_completion(m=2,rho=0.2)"
    dense = gim.run(word, mdp, 80, seed=1)
    monkeypatch.setattr(counting, "DENSE_LIMIT", 0)
    sparse = gim.run(word, mdp, 80, seed=1)
    begun = np.flatnonzero(dense.returns != sparse.returns)[0]
    assert begun > 10  # the same until there is an inference, which then completes blocks
    prior, counts = sparse.memory.belief.prior, sparse.memory.belief.counts
    speaks = prior.n0.ravel() > 0
    rows = np.diff(prior.first)[speaks]
    assert speaks.sum() > 20
    assert rows.min() > 0
    pair = np.repeat(np.arange(speaks.size), np.diff(prior.first))
    assert np.allclose(np.bincount(pair, prior.q, speaks.size)[speaks], 1.0)
    met = counts.keys[counts.keys >= 0]
    seen = set(zip(met // (mdp.S * mdp.A), met % mdp.S, strict=True))
    assert set(zip(pair // mdp.A, prior.next, strict=True)) <= seen  # nowhere but where it was seen


def test_an_inference_must_define_its_call():
    class Mute(Inference):
        pass

    inferences._made.pop("mute")
    with pytest.raises(TypeError, match="Mute must define __call__"):
        Mute()(None, None, None)


@pytest.mark.parametrize(
    ("n", "again"),
    [
        ([0, 0, 0, 5], 1.5),  # most pairs were never met
        ([0, 0, 40, 5], 2.0),  # half were: as visits double
        ([3, 1, 4, 5], 2.0),  # every visit is news
        ([40, 40, 40, 40], 4.0),  # 13.3 of 20 each; 16 at twice the visits, 17.8 at four times
        ([9000, 9000, 9000, 9000], 16.0),  # there is nothing to be said any more
        ([9000, 9000, 9000, 0], 2.0),  # unless the last pair is met
    ],
)
def test_what_was_met_often_is_no_news(n, again):
    assert news_after(np.array(n)) == again


def test_what_is_compiled_while_thinking_counts_as_compiling():
    run = gim.run("q_learning", "riverswim", episodes=2)
    space: dict = {}
    exec("def more(x):\n    return x + 1", space)
    more, before = jit.entry(space["more"]), run.seconds["compiling"]
    with run.mind.timed("planning"):
        assert more(1) == 2
    assert run.seconds["compiling"] > before
    assert run.seconds["planning"] < run.seconds["compiling"] - before
