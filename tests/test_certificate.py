"""Certificates: bounds that hold, bounds that would not, and honesty where nothing is known."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import gim
from gim._base.params import describe
from gim.analogy.prior import prior_of
from gim.belief.belief import Belief
from gim.belief.certificate import Aim, certified
from gim.belief.certificate.credible import at_most
from gim.belief.certificate.sentences import of_pairs
from gim.belief.knowledge import knowledge_of
from gim.model.counts import new_counts
from gim.runs.agent import Agent, agents
from gim.runs.run import prepare, task_of
from tests.certificates import AGENT, KINDS, belief_in, believed, certificate_of, forget
from tests.sampled_counts import sampled

COUNTING = [name for name in agents.names() if agents[name].belief is not Agent.belief]


def test_a_pair_is_inferred_where_its_prediction_is_worth_its_visits():
    """Worth 2 visits beside 3, 2 and none of its own; then all, and of a state that ends."""
    mdp = gim.TabularMDP(np.full((5, 1, 5), 0.2), np.zeros((5, 1)), horizon=2)
    counts = new_counts(5, 1)
    counts.n[:, 0] = 3, 2, 0, 3, 0
    counts.next.reshape(5, 5)[:, 0] = counts.n[:, 0]
    worth = np.array([[2.0], [2.0], [2.0], [np.inf], [2.0]])
    ends = np.array([False, False, False, False, True])
    known = knowledge_of(counts, ends, prior_of(np.full((5, 1, 5), 0.2), worth))
    for kind in KINDS:
        found = gim.certify(Belief(known, task_of(mdp)), kind=kind)
        assert found.inferred.ravel().tolist() == [False, True, True, True, False]
        assert found.unmet.ravel().tolist() == [False, False, True, False, False]


# -- the credible kind


def test_a_quantile_of_draws_leaves_the_stated_share_below():
    """Of 100 draws the 91st, of 19 the 19th: the place that one more takes with that chance."""
    values = np.arange(100.0)[:, None]
    assert at_most(values, 0.9) == [90.0]
    assert at_most(values, 0.5) == [50.0]
    assert at_most(np.arange(19.0), 0.95) == 18.0
    rng = np.random.default_rng(0)
    drawn = rng.normal(size=(20_001, 100))
    kept = rng.normal(size=20_001) <= at_most(drawn.T, 0.9)
    assert kept.mean() == pytest.approx(91 / 101, abs=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_shrink_with_data(kind):
    mdp = gim.make("shared_factors", S=24, A=16, J=2, seed=7)
    few, many = (certificate_of(mdp, visits, kind=kind) for visits in (4, 60))
    assert many.value.mean() < 0.6 * few.value.mean()
    assert many.loss < few.loss


@pytest.mark.parametrize("kind", KINDS)
def test_the_plan_is_made_on_all_that_is_believed(kind):
    """Where rewards are noisy the mean of a few is a poor guide; the belief has better ones."""
    mdp = gim.make("shared_factors", S=12, A=10, seed=1)
    run = gim.run(AGENT, mdp.with_(noise=0.5), episodes=200, seed=4)
    found = gim.certify(run, kind=kind)
    model = run.belief.mean
    assert np.array_equal(found.policy, np.asarray(run.best_policy()))
    assert found.expected == pytest.approx(model.policy_return(found.policy))
    assert model.start @ found.V[0] == pytest.approx(model.optimal_return())
    assert found.expected > 0.95 * model.optimal_return()


# -- where nothing can be known


def test_states_never_left_are_guaranteed_nothing_and_it_says_so():
    mdp = gim.make("shared_factors", S=24, A=16, J=2, seed=3)
    found = certificate_of(mdp, 6, kind="guaranteed", blank=range(4))
    assert found.unmet[:4].all()
    assert found.unbounded[:4].all()
    assert (found.unbounded == found.unmet).all()
    assert np.allclose(found.l1[:4], 2.0)
    assert np.allclose(found.value[:, :4], np.ptp(found.V[1:-1], axis=1)[:, None, None])
    many = int(found.unmet.sum())
    assert f"a nominal coverage of 90 %, but the {many} never met have none" in str(found)
    assert found.against(mdp).inferred == found.inferred.sum() - many


def test_what_is_believed_of_states_never_left_is_credible():
    """Nothing but the action says what follows there, and which candidate is right is open."""
    held = []
    for seed in range(4):
        mdp = gim.make("shared_factors", S=24, A=16, J=2, seed=seed)
        found = certificate_of(mdp, 6, blank=range(4), seed=seed)
        assert found.unmet[:4].all()
        assert not found.unbounded.any()
        off = np.abs(mdp.rows() - found.model.rows()).sum(axis=1).reshape(24, 16)
        held.append(off <= found.l1)
    assert np.mean(held) >= 0.88
    assert np.mean(held, axis=(0, 2))[:4].mean() >= 0.7  # the least known of all


@pytest.mark.parametrize("kind", KINDS)
def test_of_an_action_hardly_ever_tried_little_is_said(kind):
    mdp = gim.make("shared_factors", S=24, A=16, J=2, seed=3)
    belief = belief_in(mdp, 6)
    forget(belief.knowledge.counts, slice(1, None), 5)
    found = certified(believed(mdp, belief.knowledge.counts), 0.9, kind)
    if kind == "guaranteed":
        assert found.unbounded[:, 5].sum() >= 23
    else:
        others = np.delete(found.l1, 5, axis=1)
        assert np.median(found.l1[1:, 5]) > 1.5 * np.median(others)


def test_bounds_hold_in_a_region_behind_a_gate():
    """Its few visits contradict what holds everywhere else."""
    kept, behind = [], []
    for seed in range(3):
        mdp = gim.make("gate", S=30, A=12, behind=8, seed=seed)
        counts, N, n = sampled(mdp, 8, seed)
        rng = np.random.default_rng(seed)
        keep = rng.random((8, 12)) < 0.3  # of the pairs behind, twice each
        n[22:] = 2 * keep
        for s in range(8):
            for a in range(12):
                N[22 + s, a] = rng.multinomial(2, mdp.transitions[22 + s, a]) * keep[s, a]
        counts.n[:], counts.next[:] = n, N.ravel()
        counts.R[:], counts.R2[:] = n * mdp.rewards, n * mdp.rewards**2
        found = certified(believed(mdp, counts, seed=seed))
        off = np.abs(mdp.rows() - found.model.rows()).sum(axis=1).reshape(30, 12)
        behind.append((off <= found.l1 + 1e-9)[22:][found.unmet[22:]].mean())
        true = found.against(mdp)
        kept.append([true.value, true.l1])
    assert np.mean(kept, axis=0).min() > 0.83  # 0.9 less two standard errors of three worlds
    assert np.mean(behind) > 0.83


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_seen_is_useless_and_says_so(kind):
    mdp = gim.make("riverswim")
    found = certified(believed(mdp, new_counts(6, 2)), 0.9, kind)
    assert found.inferred.all()
    assert found.unmet.all()
    assert found.useless
    least, most = mdp.horizon * np.array(mdp.reward_range)
    assert found.lower == least
    assert found.upper == most
    said = {"credible": "how far that is from the best is not known yet: more episodes would tell"}
    assert said.get(kind, "no useful bound, more episodes are needed") in str(found)
    assert "12 pairs are inferred, never met" in str(found)
    if kind == "guaranteed":
        assert found.unbounded.all()
        assert "none has a bound on its error: none was ever met" in str(found)
        assert found.against(mdp).inferred == 0
        assert np.isnan(found.against(mdp).value)


@pytest.mark.parametrize("kind", KINDS)
def test_one_state_one_action_one_step(kind):
    for horizon in (1, 3):
        mdp = gim.TabularMDP(np.ones((1, 1, 1)), np.full((1, 1), 2.0), horizon=horizon)
        run = gim.run("ucbvi", mdp, episodes=5)
        found = gim.certify(run, kind=kind)
        assert found.value.shape == (horizon - 1, 1, 1)
        assert np.allclose([found.lower, found.upper, found.loss], [2 * horizon, 2 * horizon, 0])
        assert "every pair has enough visits of its own; nothing is inferred" in str(found)


@pytest.mark.parametrize("kind", KINDS)
def test_an_end_that_was_not_found_may_be_the_best(kind):
    """On a cliff every step costs, and only the goal ends it: the optimum must be enclosed."""
    run = gim.run("analogist", "CliffWalking-v1:max_episode_steps=100", episodes=2)
    found = gim.certify(run, kind=kind)
    assert found.lower <= run.mdp.policy_return(found.policy)
    assert kind == "credible" or found.upper >= run.mdp.optimal_return()
    assert found.loss >= run.mdp.optimal_return() - run.mdp.policy_return(found.policy)


# -- of a run


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_certified_and_not_disturbed(kind):
    mdp = gim.make("shared_factors", S=12, A=10, seed=1)
    whole = gim.run(AGENT, mdp, episodes=300, seed=4)
    paused = gim.run(AGENT, mdp, 300, seed=4, callback=lambda report: True)
    gim.certify(paused, kind=kind)
    rest = gim.run(resume=paused)
    assert np.array_equal(whole.returns, rest.returns)
    one, two = (gim.certify(run, 0.8, kind) for run in (whole, rest))
    for name in ("value", "l1", "policy", "unbounded", "earns", "loss"):
        assert np.array_equal(getattr(one, name), getattr(two, name)), name
    assert str(one) == str(two)
    assert "80 %" in str(one)


@pytest.mark.parametrize("kind", KINDS)
def test_a_share_of_the_pairs_and_another_of_returns(kind):
    """One certificate says what two say, each of its own share."""
    run = gim.run(AGENT, "shared_factors:S=12,A=8,seed=3", 60, seed=1)
    pairs, returns = gim.certify(run, 0.8, kind), gim.certify(run, 0.95, kind)
    both = gim.certify(run, 0.95, kind, of_pairs=0.8)
    assert (both.value == pairs.value).all()
    assert (both.l1 == pairs.l1).all()
    assert (both.value > 0).any()
    assert (both.value <= returns.value).all()
    assert both.earns == returns.earns
    assert both.loss == returns.loss
    assert (both.share, both.of_pairs) == (0.95, 0.8)
    assert f"{kind}: with probability 95 %" in str(both) or kind == "guaranteed"
    assert "a nominal coverage of 80 %" in str(both)
    with pytest.raises(ValueError, match="of_pairs = 1: give a share between 0 and 1"):
        gim.certify(run, 0.95, kind, of_pairs=1)


def test_a_saved_run_is_certified_alike(tmp_path):
    run = gim.run(AGENT, "shared_factors:S=12,A=10", episodes=200)
    run.save(tmp_path / "run.npz")
    one, two = (gim.certify(each) for each in (run, gim.load(tmp_path / "run.npz")))
    assert one.inferred.sum() > 50
    assert (one.value[:, one.inferred] > 0).any()
    assert np.array_equal(one.value, two.value)
    assert one.loss == two.loss


def test_any_policy_can_be_certified():
    """A random one loses much and is known to; the plan, given as chances, is the plan."""
    mdp = gim.make("shared_factors", S=12, A=10, seed=2)
    belief = belief_in(mdp, 40)
    plan = gim.certify(belief)
    chance = replace(belief, policy=mdp.uniform_policy())
    for kind in KINDS:
        found = gim.certify(chance, kind=kind)
        assert found.expected == pytest.approx(found.model.policy_return(mdp.uniform_policy()))
        assert found.lower <= mdp.policy_return(mdp.uniform_policy()) <= found.upper
        assert found.loss >= mdp.optimal_return() - mdp.random_return() > 2 * plan.loss
        asked = belief.certify(mdp.uniform_policy(), kind=kind)
        assert (asked.earns, asked.loss) == (found.earns, found.loss)
    same = replace(belief, policy=np.eye(10)[plan.policy])
    assert gim.certify(same).loss == pytest.approx(plan.loss)
    begin = np.eye(12)[5]
    there = gim.certify(replace(belief, start=begin))
    assert there.expected == pytest.approx(there.model.value(there.policy)[0, 5])
    assert there.expected <= plan.V[0, 5] + 1e-9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("horizon", [None, 6])
def test_discounted_returns_are_enclosed(kind, horizon):
    gamma, held = 0.8, []
    for seed in range(2, 12):
        mdp = gim.make("shared_factors", S=12, A=10, seed=seed)
        found = gim.certify(belief_in(mdp, 40, aim=Aim(horizon, gamma)), kind=kind)
        true = found.against(mdp)
        values = gim.plan(mdp, gamma, horizon).v
        best = mdp.start @ (values if horizon is None else values[0])
        assert true.returns + true.loss == pytest.approx(best)
        assert found.policy.shape == ((12,) if horizon is None else (6, 12))
        assert found.value.shape == (1 if horizon is None else 5, 12, 10)
        assert found.expected == pytest.approx(found.aim.returned(found.model, found.policy))
        told = found.earns[0] <= true.returns <= found.earns[1], best <= found.upper
        held.append([*told, true.loss <= found.loss, true.value])
    least = 0.71 if kind == "credible" else 1.0  # 0.9 less two standard errors of ten worlds
    assert np.mean(held, axis=0)[:3].min() >= least
    assert np.nanmean(held, axis=0)[3] >= 0.85


def test_without_an_end_the_steps_left_out_weigh_nothing():
    aim = Aim(None, 0.9)
    assert 0.9**aim.steps <= 1e-5 < 0.9 ** (aim.steps - 1)
    assert aim.most(2.0)[0] == pytest.approx(20.0)
    assert aim.most(-2.0)[0] == 0.0
    assert Aim(3, 0.5).most(2.0).tolist() == [3.5, 3.0, 2.0]
    assert Aim(3).most(2.0).tolist() == [6.0, 4.0, 2.0]


@pytest.mark.parametrize("options", [{"horizon": 4}, {"discount": 0.8}])
def test_what_is_learned_from_a_log_has_a_certificate(options):
    rng = np.random.default_rng(0)
    rows = [(s, a, 1.0 * (t == 2), t) for s, a, t in rng.integers(0, (3, 2, 3), (200, 3)).tolist()]
    learned = gim.learn(gim.from_log(rows), infer=None, **options)
    found = learned.certificate
    assert found.kind == "credible"
    assert found.lower <= learned.value.estimate <= found.upper
    assert "no pair pays less than" in str(found)
    assert "certificate  credible: with probability 90 %" in learned.describe()
    paid = gim.learn(gim.from_log(rows), infer=None, rewards=np.full((3, 2), 2.0), **options)
    least, most = paid.certificate.earns
    assert least == pytest.approx(most, rel=1e-4)  # every step pays 2, wherever it leads
    assert most == pytest.approx(8.0 if "horizon" in options else 10.0, rel=1e-4)


def test_a_policy_into_a_state_never_left():
    """Half of the starts are in a state that was never left."""
    held, wide = [], []
    for seed in range(5):
        mdp = gim.make("shared_factors", S=12, A=10, seed=seed)
        both = belief_in(mdp, 20, seed, [0], start=np.eye(12)[0] / 2 + np.eye(12)[1] / 2)
        known = replace(both, start=np.eye(12)[1])
        found = [gim.certify(each) for each in (both, known)]
        for belief, each in zip((both, known), found, strict=True):
            true = float(belief.start @ mdp.value(each.policy)[0])
            held.append(each.lower <= true <= each.upper)
        wide.append([np.ptp(each.earns) for each in found])
    assert np.mean(held) >= 0.6  # five worlds of one kind, both starts of each alike
    assert np.mean(wide) > 0.5  # of a world that may pay 1 a step, of which half is not known
    sure = gim.certify(both, kind="guaranteed")
    assert sure.useless
    assert sure.lower <= found[1].expected / 2


def test_the_same_belief_is_certified_alike():
    belief = belief_in(mdp := gim.make("shared_factors", S=12, A=10, seed=2), 5)
    found, same = gim.certify(belief), gim.certify(replace(belief))
    assert found.lower <= mdp.policy_return(found.policy) <= found.upper
    assert (found.earns, found.loss) == (same.earns, same.loss)
    assert found.earns != gim.certify(replace(belief, seed=1)).earns


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", COUNTING)
def test_any_agent_that_counts_can_be_certified(name):
    few = ":m=9" if "m" in {p.name for p in describe(agents[name])} else ""
    seed = COUNTING.index(name)  # what befalls one would befall all from the same seed
    run = gim.run(name + few, "shared_factors:S=12,A=10", episodes=300, seed=seed)
    for kind in KINDS:
        found = gim.certify(run, 0.95, kind)
        slack = 0.0 if kind == "guaranteed" else 0.02 * found.upper  # one in twenty may miss
        assert found.lower - slack <= run.mdp.policy_return(found.policy) <= found.upper
        assert run.mdp.optimal_return() <= found.upper + slack


def test_what_cannot_be_certified_is_refused():
    run = gim.run("q_learning", "riverswim", episodes=5)
    with pytest.raises(ValueError, match=r"q_learning.* counts no transitions"):
        gim.certify(run)
    run = gim.run("ucbvi", "riverswim", episodes=5)
    for share in (1.5, 0, "much", True):
        with pytest.raises(ValueError, match=f"share = '?{share}"):
            gim.certify(run, share=share)
    with pytest.raises(ValueError, match="kind = 'sure': give 'credible' or 'guaranteed'"):
        gim.certify(run, kind="sure")
    with pytest.raises(ValueError, match="8 states and 4 actions: not the same"):
        gim.certify(run).against(gim.make("casinoland"))


def test_what_is_taken_for_granted_is_said():
    run = gim.run("ucbvi", "riverswim", episodes=50)
    assert gim.certify(run).assumed == ()
    trusting = gim.run("ucbvi", "riverswim", episodes=5, prior=run.model)
    found = gim.certify(trusting)
    assert found.assumed == ("the visits of the prior were made in this very world",)
    assert str(found).endswith("this holds if the visits of the prior were made in this very world")
    assert found.loss < gim.certify(gim.run("ucbvi", "riverswim", episodes=5)).loss
    judging = gim.run(AGENT, "riverswim", episodes=5, prior=run.model)
    assert gim.certify(judging).assumed == ()
    unknown = Belief(run.memory.belief, replace(run.task, reward_range=None))
    (said,) = gim.certify(unknown).assumed
    assert said == "no pair pays less than -3,000 or more than 6,000"  # seen: from 0 to 3,000


def test_a_larger_share_has_wider_bounds():
    run = gim.run("ucbvi", "riverswim", episodes=100)
    loose, tight = gim.certify(run, 0.999), gim.certify(run, 0.5)
    assert loose.earns[0] < tight.earns[0] < tight.earns[1] < loose.earns[1]


def test_ends_found_after_an_inference_are_worth_nothing():
    rng = np.random.default_rng(3)
    P = rng.dirichlet(np.full(20, 0.3), (20, 6))
    ends = [3, 8, 11, 15, 19]
    P[:, :, ends] *= 0.05
    P /= P.sum(axis=2, keepdims=True)
    P[ends] = np.eye(20)[ends][:, None]
    r = rng.random((20, 6))
    r[ends] = 0
    mdp = gim.TabularMDP(P, r, terminal=ends)
    words = [
        "ucbvi:growth=0,infer=analogy(candidates=means)",
        "psrl:infer=analogy(candidates=means)",
        "two_phase:m=3",
    ]
    kept = dict.fromkeys(KINDS, 0)
    for word in words:
        run = prepare(agents.make(word), mdp, 150, 1)
        for steps in range(60, 1000, 31):
            run.pause_at(steps)
            assert not run.model.rewards[run.model.terminal].any()  # and it is a valid MDP
            if word.startswith("ucbvi") and not run.memory.belief.visits[0] % 10:
                known = run.memory.belief.terminal
                assert not run.memory.belief.evidence().n[known].any()
        for kind in KINDS:
            found = gim.certify(run, 0.95, kind)
            assert not found.inferred[run.agent.belief(run.memory).terminal].any()
            kept[kind] += found.lower <= mdp.policy_return(found.policy) <= found.upper
    assert kept["guaranteed"] == 3
    assert kept["credible"] >= 1  # what is inferred of it is worth little, and plans are flattered


@pytest.mark.parametrize(
    ("inferred", "unmet", "silent", "said"),
    [
        (1, 0, 0, "1 pair is inferred, met already; bounds on errors"),
        (4, 1, 0, "4 pairs are inferred, 1 of them never met; bounds"),
        (4, 4, 0, "4 pairs are inferred, never met; bounds"),
        (4, 2, 2, "but the 2 never met have none"),
        (4, 4, 4, "none has a bound on its error: none was ever met"),
        (0, 0, 0, "nothing is inferred"),
    ],
)
def test_of_pairs_it_says_what_would_help(inferred, unmet, silent, said):
    first = np.arange(6)
    masks = {"inferred": first < inferred, "unmet": first < unmet, "unbounded": first < silent}
    assert said in of_pairs(SimpleNamespace(**masks, of_pairs=0.9))


def test_what_is_as_large_as_may_be_is_certified(monkeypatch):
    """Three steps, no prior: three successors at the most, and 16 for each of 2 x 1 pairs."""
    run = gim.run(
        "mbie_eb", gim.TabularMDP(np.full((2, 1, 2), 0.5), np.zeros((2, 1)), horizon=1), 3
    )
    belief = run.belief
    assert belief.knowledge.counts.n.sum() == 3
    monkeypatch.setattr("gim.belief.belief.LARGEST", 3 + 16 * 2)
    assert belief.certifiable
    monkeypatch.setattr("gim.belief.belief.LARGEST", 3 + 16 * 2 - 1)
    assert not belief.certifiable
