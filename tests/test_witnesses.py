"""Bounds beside what the very policy earned: fair witnesses, and one gate."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import gim
from benchmarks import truth
from gim.analogy.witnesses import Witness, of_trail, played, refuted

ENDS = 0.0, 10.0


def trail(rows, W=None):
    """[W, H] of the pairs of each episode; -2 stands for what an older episode has left."""
    rows = np.array(rows)
    return rows if W is None else rows[-W:]


def test_one_gate():
    told = Witness("these", 5.0, 4.0, 6.0)
    assert refuted((0.0, 4.0), [told]) is None
    assert refuted((6.0, 9.0), [told]) is None
    assert refuted((0.0, 3.9), [told]) is told
    assert refuted((6.1, 9.0), [told]) is told
    assert refuted((6.1, 9.0), [told], room=0.2) is None
    assert refuted((6.1, 9.0), []) is None


def test_episodes_that_were_played_are_an_interval_that_holds():
    rng, held = np.random.default_rng(0), 0
    for _ in range(300):
        found = played(SimpleNamespace(returns=rng.normal(3.0, 2.0, 12)), 0.9)
        held += found.lower <= 3.0 <= found.upper
    assert held >= 0.87 * 300
    assert found.what == "12 episodes in which it was played"
    for wrong in ([1.0], [1.0, np.nan]):
        with pytest.raises(ValueError, match=r"a witness is what gim\.evaluate gives"):
            played(wrong, 0.9)


def test_episodes_that_went_otherwise_count_with_all_they_could_have_returned():
    """The policy plays 1 in either state. Left out, those that went badly would flatter it."""
    policy = np.ones((2, 2), int)
    good, bad = [1, 3], [1, 2]  # s*A + a: in state 1 the learner still plays 0
    rows, returns = trail([good] * 90 + [bad] * 30), np.array([8.0] * 90 + [1.0] * 30)
    order = np.random.default_rng(0).permutation(120)
    rows, returns = rows[order], returns[order]
    kept = np.empty((100, 2), np.int64)
    for e in range(120):
        kept[e % 100] = rows[e]
    found = of_trail(policy, kept, returns, ENDS, 2, 0.9)
    share = (rows[-100:, 1] == 3).mean()
    assert found.lower <= 8 * share  # at the least 0 where it went otherwise
    assert found.upper >= 8 * share + 10 * (1 - share)
    assert "of them as it would play" in found.what
    same = of_trail(policy, trail([good] * 20), np.full(20, 8.0), ENDS, 2, 0.9)
    assert (same.lower, same.mean, same.upper) == (7.6, 8.0, 8.1)
    assert same.what == "the latest 19 episodes of this run"  # the next one may be half written


def test_what_stands_behind_the_end_of_an_episode_is_older():
    policy = np.array([[1, 1], [0, 0]])
    rows = trail([[1, -1]] * 12)  # over after a step
    assert of_trail(policy, rows, np.full(12, 2.0), ENDS, 2, 0.9).mean == 2.0
    rows = trail([[1, 1]] * 12)  # at the second step the policy plays 0
    assert of_trail(policy, rows, np.full(12, 2.0), ENDS, 2, 0.9) is None
    assert of_trail(policy[0], rows, np.full(12, 2.0), ENDS, 2, 0.9).mean == 2.0


def test_few_episodes_and_policies_that_draw_say_nothing():
    unkept = np.full((100, 2), -1)  # as runs of gim 0.2 are loaded
    assert of_trail(np.ones(2, int), unkept, np.ones(60), ENDS, 2, 0.9) is None
    rows, returns = trail([[1, 1]] * 9), np.ones(9)
    assert of_trail(np.ones(2, int), rows, returns, ENDS, 2, 0.9) is None
    rows, returns = trail([[1, 1]] * 30), np.ones(30)
    assert of_trail(np.full((2, 2), 0.5), rows, returns, ENDS, 2, 0.9) is None


@pytest.fixture(scope="module")
def run():
    made = truth.wearing()
    return gim.run("psrl", truth.Stepped(made), episodes=200, seed=3, horizon=made.horizon)


def test_a_run_is_a_witness_of_what_it_plays(run):
    found = gim.certify(run)
    true = truth.wearing().exact.policy_return(found.policy)
    assert found.witnesses
    assert found.bounded
    for each in found.witnesses:
        assert each.lower <= true <= each.upper
    pairs, returns = run.trail.pairs, run.returns
    assert "of this run" in found.witnesses[0].what
    H, A = run.task.H, run.task.A
    last = pairs[np.arange(190, 200) % 100]
    alike = [all(found.policy[h][row[h] // A] == row[h] % A for h in range(H)) for row in last]
    ten = of_trail(found.policy, pairs, returns, (-360.0, 0.0), A, 0.9)
    assert ten == found.witnesses[0] or not any(alike)


@pytest.mark.parametrize("kind", ["credible", "guaranteed"])
def test_a_contradiction_is_printed_instead_of_the_bound(run, kind):
    fine = gim.certify(run, kind=kind)
    low, high = fine.earns
    rng = np.random.default_rng(0)
    below = SimpleNamespace(returns=rng.normal(low - 50, 1.0, 200))
    found = gim.certify(run, kind=kind, witness=below)
    assert found.refuted == fine.earns
    assert found.why == "refuted"
    assert not found.bounded
    assert (found.lower, found.upper, found.loss) == (-np.inf, np.inf, np.inf)
    first = found.sentences[0]
    assert first.startswith(f"{kind}: contradicted, and so no bound: what was learned says")
    assert "200 episodes in which it was played say between" in first
    seen = gim.evaluate(fine.policy, truth.Stepped(truth.wearing()), 50, horizon=30)
    assert gim.certify(run, kind=kind, witness=seen).earns == fine.earns
    agrees = gim.certify(run, kind=kind, witness=rng.normal((low + high) / 2, 1.0, 200))
    assert agrees.earns == fine.earns
    assert len(agrees.witnesses) == len(fine.witnesses) + 1


def test_a_bound_that_is_wrong_meets_the_run_itself(run):
    """As if rewards that were counted were twenty more than those that were paid."""
    belief = run.belief
    counts = belief.knowledge.counts
    more = replace(
        belief,
        knowledge=belief.knowledge._replace(
            counts=counts._replace(R=counts.R + counts.n, R2=counts.R2 + 2 * counts.R + counts.n)
        ),
        task=replace(belief.task, reward_range=(-12.0, 5.0)),
    )
    found = gim.certify(more)
    assert found.refuted is not None
    assert "of this run" in found.sentences[0]


def test_a_log_is_a_witness_where_it_did_as_the_policy_does():
    rng, rows = np.random.default_rng(0), []
    for e in range(400):
        for step in range(3):
            a = int(rng.integers(2))
            rows.append((e, step, 0, a, float(a), 0))
    table = dict(zip(("e", "h", "s", "a", "r", "s2"), zip(*rows, strict=True), strict=True))
    log = gim.from_log(table, episode="e", step="h", reward_range=(0, 1))
    learned = gim.learn(log, horizon=3)
    (witness,) = learned._witnesses
    assert witness.lower <= 3.0 + 1e-9
    assert witness.upper >= 3.0 - 1e-9
    assert learned.value.bounded
    belief = learned.behind.belief
    nothing = {name: 0.0 * getattr(belief.counts, name) for name in ("R", "R2", "paid", "paid2")}
    wrong = belief._replace(counts=belief.counts._replace(**nothing))  # as if nothing was paid
    broken = replace(learned, behind=learned.behind._replace(belief=wrong))
    assert not broken.value.bounded
    assert broken.no_bound.startswith("no bound, since the log contradicts: what was learned says")
    assert broken.no_bound in broken.describe()
