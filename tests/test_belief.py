"""What a run believes: a mean, draws, standard deviations, weights; and how often that is right."""

from __future__ import annotations

import numpy as np
import pytest

import gim
from gim.analogy.analogy import Analogy
from gim.analogy.prior import no_prior
from gim.belief.belief import Belief
from gim.belief.certificate.certificate import Believes
from gim.belief.knowledge import knowledge_of
from gim.mdp.variables import Variables
from gim.model.counts import new_counts
from gim.model.task import Task

GRID = "gridworld:height=4,width=4,slip=0.2,horizon=15"


@pytest.fixture(scope="module")
def run():
    return gim.run("analogist", GRID, episodes=25, seed=2)


@pytest.fixture(scope="module")
def belief(run):
    return run.belief


def test_a_run_that_counts_believes_something(run, belief):
    assert isinstance(belief, Belief)
    assert isinstance(run, Believes)
    assert isinstance(belief, Believes)
    assert belief.belief is belief
    assert run.belief is belief  # as long as nothing more was seen
    assert gim.run("q_learning", "riverswim", episodes=2).belief is None
    learned = gim.learn(gim.from_log([(0, "go", 1.0, 1), (1, "go", 0.0, 0)] * 20), horizon=3)
    assert isinstance(learned.belief, Belief)


def test_the_mean_is_a_model(run, belief):
    mean = belief.mean
    assert isinstance(mean, gim.LearnedModel)
    assert np.allclose(mean.rows().sum(axis=1), 1.0)
    assert np.array_equal(mean.visits, belief.knowledge.counts.n)
    assert mean.horizon == run.mdp.horizon
    assert np.array_equal(mean.available, run.mdp.available)
    assert mean.start @ run.mdp.start == pytest.approx(1.0)
    counted = gim.run("psrl", GRID, episodes=25, seed=2).belief
    n = counted.knowledge.counts.n
    N = counted.knowledge.counts.next.reshape(16, 4, 16)
    met = (n > 0) & ~counted.knowledge.terminal[:, None]
    P = counted.mean.rows().toarray().reshape(16, 4, 16)
    assert np.allclose(P[met], (N / np.maximum(n, 1)[:, :, None])[met])  # nothing is inferred


def test_a_draw_is_a_whole_model_and_rests_on_its_seed(belief):
    one, same, other = belief.draw(3), belief.draw(3), belief.draw(4)
    for model in (one, other):
        assert isinstance(model, gim.LearnedModel)
        rows = model.rows()
        assert np.allclose(rows.sum(axis=1), 1.0)
        assert rows.min() >= 0
        assert np.isfinite(model.rewards).all()
        assert model.plan().v.shape == (15, 16)  # it can be planned in
    assert abs(one.rows() - same.rows()).max() == 0
    assert np.array_equal(one.rewards, same.rewards)
    assert abs(one.rows() - other.rows()).max() > 0
    mean = belief.mean.rows().toarray()
    far = [np.abs(belief.draw(k).rows().toarray() - mean).sum(axis=1) for k in range(10)]
    n = belief.weight.ravel()
    far, some = np.mean(far, axis=0), belief.mean.available.ravel() & (n > 0)
    few, many = some & (n < np.median(n[some])), some & (n >= np.quantile(n[some], 0.75))
    assert far[few].mean() > far[many].mean()


def test_standard_deviations_are_those_of_draws():
    """Of r + p.v, where all that is known of a pair are its own visits."""
    counts = new_counts(3, 2)
    counts.n[:] = [[8, 40], [20, 20], [20, 20]]
    counts.next.reshape(3, 2, 3)[:] = [
        [[4, 4, 0], [10, 10, 20]], [[5, 15, 0], [0, 20, 0]], [[0, 0, 20], [10, 0, 10]],
    ]  # fmt: skip
    known = knowledge_of(counts, np.zeros(3, bool), no_prior(3, 2))
    belief = Belief(known, Task(3, 2, 5, np.ones((3, 2), bool), (0.0, 1.0)))
    v = np.array([1.0, 4.0, -2.0])
    p = counts.next.reshape(3, 2, 3) / counts.n[:, :, None]
    variance = (p @ v**2 - (p @ v) ** 2) / (counts.n + 1)  # of a Dirichlet
    np.testing.assert_allclose(belief.sd(v), np.sqrt(variance))
    assert belief.sd(v)[1, 1] == 0.0  # it went nowhere else in twenty visits
    assert not belief.sd(np.full(3, 7.0)).any()
    np.testing.assert_allclose(belief.sd(3.0 * v), 3.0 * np.sqrt(variance))


def test_standard_deviations_shrink_with_what_is_seen(belief):
    v = np.random.default_rng(0).normal(size=16)
    few, later = belief.sd(v), gim.run("analogist", GRID, episodes=200, seed=2).belief.sd(v)
    goes_on = belief.mean.available & ~belief.knowledge.terminal[:, None]
    assert few.shape == (16, 4)
    assert (few[goes_on] > 0).all()
    assert later[goes_on].mean() < 0.6 * few[goes_on].mean()
    with pytest.raises(ValueError, match=r"v has shape \(3,\), not \(16,\): one value of each"):
        belief.sd(np.ones(3))


def test_what_is_believed_of_a_pair_is_worth_its_visits_and_more(belief):
    n, goes_on = belief.knowledge.counts.n, ~belief.knowledge.terminal
    assert (belief.weight[goes_on] >= n[goes_on]).all()
    assert (belief.weight[goes_on] > n[goes_on]).any()
    silent = gim.run("psrl", GRID, episodes=25, seed=2).belief
    open_ = ~silent.knowledge.terminal
    assert np.array_equal(silent.weight[open_], silent.knowledge.counts.n[open_])


def test_later_steps_leave_a_belief_as_it_was():
    run = gim.run("analogist", GRID, episodes=60, seed=5, callback=lambda report: True)
    assert not run.finished
    belief = run.belief
    before = {name: np.array(part) for name, part in belief.knowledge.counts._asdict().items()}
    ends, trail = belief.knowledge.terminal.copy(), belief.done.pairs.copy()
    again = gim.run("analogist", GRID, episodes=60, seed=5, callback=lambda report: True).belief
    gim.run(resume=run)
    assert run.finished
    for name, part in belief.knowledge.counts._asdict().items():
        assert np.array_equal(part, before[name]), name
    assert np.array_equal(belief.knowledge.terminal, ends)
    assert np.array_equal(belief.done.pairs, trail)
    assert run.belief is not belief
    assert run.belief.knowledge.counts.n.sum() > belief.knowledge.counts.n.sum()
    assert abs(belief.draw(0).rows() - again.draw(0).rows()).max() == 0  # asked for later
    assert belief.certify().earns == again.certify().earns
    with pytest.raises(AttributeError):
        belief.seed = 3


def test_asking_what_a_run_believes_does_not_change_it():
    plain = gim.run("analogist", GRID, episodes=12, seed=1)
    paused = gim.run("analogist", GRID, episodes=12, seed=1, callback=lambda report: True)
    paused.belief.certify()
    paused.belief.draw(1)
    assert np.array_equal(plain.returns, gim.run(resume=paused).returns)


@pytest.mark.parametrize("kind", ["credible", "guaranteed"])
def test_any_policy_is_certified(run, belief, kind):
    mdp = run.mdp
    found = belief.certify(kind=kind)
    assert np.array_equal(found.policy, belief.deployed)
    assert found.lower <= mdp.policy_return(found.policy) <= found.upper
    even = mdp.uniform_policy()
    other = belief.certify(even, share=0.8, kind=kind)
    assert (other.share, other.kind) == (0.8, kind)
    assert other.earns[0] <= mdp.policy_return(even) <= other.earns[1]
    assert other.loss >= mdp.optimal_return() - mdp.policy_return(even)
    assert not other.witnesses  # the run did not play it
    with pytest.raises(ValueError, match="policy"):
        belief.certify(np.zeros((3, 3)))


def test_rules_are_those_of_the_run(run, belief):
    assert [str(rule) for rule in belief.rules()] == [str(rule) for rule in run.analogies()]
    assert belief.rules()


def line_of(n, theta, rng, S=60):
    """A line of places: each step on with chance theta, else back; n of them were tried once."""
    counts, places = new_counts(S, 1, by_triple=True), rng.choice(np.arange(1, S - 1), n, False)
    for s in places:
        t = s + 1 if rng.random() < theta else s - 1
        counts.n[s] += 1
        counts.next[s * S + t] += 1
    task = Task(
        S, 1, 10, np.ones((S, 1), bool), (0.0, 1.0), variables=Variables(np.arange(S)[:, None])
    )
    known = knowledge_of(counts, np.zeros(S, bool), no_prior(S, 1))
    return Belief(known, task, Analogy()), places


def test_draws_of_one_rule_are_calibrated():
    """Its chance lies in the central 90 % of draws at a pair never met, for n from 10 to 50."""
    held, wide = [], {}
    for k in range(60):
        rng, n = np.random.default_rng(k), (10, 20, 50)[k % 3]
        theta = rng.random()
        belief, places = line_of(n, theta, rng)
        s = next(s for s in range(1, 59) if s not in places)
        drawn = [belief.draw(seed).rows().toarray()[s, s + 1] for seed in range(30)]
        low, high = np.quantile(drawn, [0.05, 0.95])
        held.append(low <= theta <= high)
        wide.setdefault(n, []).append(high - low)
    assert np.mean(held) >= 0.85
    assert np.mean(wide[50]) < np.mean(wide[10])


def test_of_five_visits_no_rule_is_believed():
    """Too few to hold out: then nothing is known of a pair never met, and draws go anywhere."""
    belief, places = line_of(5, 0.7, np.random.default_rng(0))
    s = next(s for s in range(1, 59) if s not in places)
    assert belief.weight[s, 0] == 0
    assert belief.sd(np.arange(60.0))[s, 0] > 20
    drawn = np.array([belief.draw(seed).rows().toarray()[s] for seed in range(40)])
    c, mu = belief.worlds.whole.lawless  # five visits, and one anywhere
    assert mu.min() == pytest.approx(1 / 60 / 6)
    off = np.sqrt(mu * (1.0 - mu) / (c + 1.0) / 40)
    assert (np.abs(drawn.mean(axis=0) - mu) < 5 * off).all()
    assert np.count_nonzero(drawn.sum(axis=0) > 0.2) > 15
