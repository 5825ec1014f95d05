"""The default learner: its plan against a slow twin, its doubts by hand, noise it must bear."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import gim
from gim._compile.jit import plain
from gim.agents.analogist import GROWTH, RULE, act, doubts_of, unruly
from gim.agents.backups import moments_csr, moments_dense, sums_csr, sums_dense
from gim.agents.doubting import Doubts, Values, doubting_csr, doubting_dense, room_for
from gim.agents.unknowns import missing, parts, reward_noise
from gim.analogy.prior import no_prior, prior_of
from gim.analogy.structure import Triples, by_variables
from gim.belief.knowledge import knowledge_of
from gim.model.counts import count, new_counts
from gim.runs.run import prepare


def literal(N, doubts, ceiling):
    """Values q [H, S, A] of the plan, as the docstring of the agent says it."""
    (S, A), H = N.shape[:2], len(ceiling)
    r, one, spread, noise, rule, own, open_, more, hidden = (x.reshape(S, A) for x in doubts)
    q = np.full((H, S, A), -np.inf)
    v1, v0 = np.zeros(S), np.zeros(S)
    for h in reversed(range(H)):
        q0 = np.full((S, A), -np.inf)
        for s, a in np.ndindex(S, A):
            if r[s, a] == -np.inf:
                continue
            p = N[s, a] * one[s, a]
            mean = p @ v1
            variance = max(p @ v1**2 - mean**2, 0.0) + spread[s, a]
            better = open_[s, a] * (v1.max() - mean) ** 2
            apart = own[s, a] * variance + better + more[s, a] + noise[s, a]
            bonus = rule[s, a] * math.sqrt(variance) + math.sqrt(apart)
            q[h, s, a] = min(ceiling[h], r[s, a] + mean + bonus)
            q0[s, a] = min(ceiling[h], r[s, a] + p @ v0 + bonus)
            if hidden[s, a] > 0:  # the more so, the more steps are left to go on
                test = r[s, a] + p @ v0 + hidden[s, a] * (H - h) / H
                q[h, s, a] = min(ceiling[h], max(q[h, s, a], test))
        v1, v0 = q[h].max(axis=1), q0.max(axis=1)
    return q


def made_up(seed, tests):
    """Visits by next state and doubts of all kinds."""
    rng = np.random.default_rng(seed)
    S, A, H = 6, 4, 5
    N = rng.integers(0, 4, (S, A, S)) * rng.random((S, A, S))
    n = N.sum(axis=2)
    known = (n > 0) & (rng.random((S, A)) < 0.8)
    r = np.where(known, rng.normal(size=(S, A)), np.inf)
    r[rng.random((S, A)) < 0.1] = -np.inf
    r[:, 0] = np.where(np.isfinite(r[:, 0]), r[:, 0], 0.3)
    each = [np.where(known, rng.random((S, A)), 0.0) for _ in range(6)]
    hidden = np.where(rng.random((S, A)) < 0.3, 2 * rng.random((S, A)), 0.0) * known * tests
    one = np.where(known, 1 / np.where(n > 0, n, 1), 0.0)
    doubts = Doubts(*(x.ravel() for x in (r, one, *each, hidden)))
    return N, doubts, 1.5 * np.arange(H, 0, -1.0)


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("tests", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_a_plan_is_what_its_formula_says(seed, tests, form):
    N, doubts, ceiling = made_up(seed, tests)
    (S, A), H = N.shape[:2], len(ceiling)
    rows = N.reshape(S * A, S)
    read, induct = np.ascontiguousarray(rows.T), doubting_dense
    if form == "csr":
        induct, sparser = doubting_csr, sparse.csr_array(rows)
        read = (sparser.data, sparser.indices.astype(np.int64), sparser.indptr.astype(np.int64))

    def induce(into, steps, kernel=induct):
        q, *others = into
        filled = Values(q, q.reshape(H, -1), *others)
        kernel(read, doubts, ceiling, tests, filled, *steps, room_for(S, A))

    def nothing():
        return (np.zeros((H, S, A)), np.zeros((H + 1, S)), np.zeros((H, S), np.int64),
                np.zeros((H + 1, S)))  # fmt: skip

    plan, slow = nothing(), nothing()
    induce(plan, (0, H))
    induce(slow, (0, H), plain(induct))
    for one, other in zip(plan, slow, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    later = tuple(np.where(np.arange(len(x)) < 4, -7, x.T).T.astype(x.dtype) for x in plan)
    induce(later, (2, 4))  # inside an episode: some steps to come, by the plan before
    for part, whole in zip(later, plan, strict=True):
        assert np.array_equal(part[2:], whole[2:])
        assert (part[:2] == -7).all()
    expected = literal(N, doubts, ceiling)
    np.testing.assert_allclose(plan[0], expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(plan[1][:-1], expected.max(axis=2), rtol=1e-9, atol=1e-9)
    for h in range(H):
        chosen = expected[h, np.arange(S), plan[2][h]]
        np.testing.assert_allclose(chosen, expected[h].max(axis=1), rtol=1e-9, atol=1e-9)


def told(prior, terminal=None):
    """A belief of two states and three actions: one pair met twice, one four times."""
    counts = new_counts(2, 3)
    for s, a, r, t in ((0, 0, 1.0, 0), (0, 0, 3.0, 1), *[(0, 1, 0.5, 1)] * 4):
        count(counts, s, a, r, t)
    terminal = np.zeros(2, bool) if terminal is None else terminal
    return knowledge_of(counts, terminal, prior)


def asked_of(belief, episode=0, available=None):
    """`doubts_of` it, H = 5, where rewards go up to 4; visits surprise in one of five."""
    memory = SimpleNamespace(
        belief=belief, surprise=np.array([1.0]), surprise_weight=np.array([5.0])
    )
    task = SimpleNamespace(H=5, S=2, A=3, available=np.ones((2, 3), bool))
    if available is not None:
        task.available = available
    return doubts_of(memory, belief.evidence(), task, 4.0, episode), belief.evidence()


def test_without_a_prior_a_pair_goes_by_its_own_visits():
    found, _ = asked_of(told(no_prior(2, 3)), episode=8)
    assert found.r[:3].tolist() == [2.0, 0.5, np.inf]
    assert found.one[:3].tolist() == [0.5, 0.25, 0.0]
    assert found.spread[:3] == pytest.approx([1.0, 0.0, 0.0])  # of 1 and 3
    pooled = 2.0 / (1 + 3)
    assert found.own[:3] == pytest.approx([1 / 15, 1 / 25, 0.0])
    growth = GROWTH * 3.0
    noise = (1 + growth) * pooled / 5
    assert found.noise[:3] == pytest.approx([noise / 2, noise / 4, 0.0])
    assert found.open[:3] == pytest.approx([growth * 0.2 / 45, growth * 0.2 / 125, 0.0])
    assert not found.rule.any()
    assert not found.more.any()


def test_a_prediction_is_doubted_as_far_as_its_rule_and_its_pair_may_be_wrong():
    even, ones = np.full((2, 3, 2), 0.5), np.ones((2, 3))
    prior = prior_of(even, 6 * ones, doubt=0.1 * ones, r=2 * ones, r_n0=ones, r_doubt=0.2 * ones)
    prior = prior._replace(behind=8 * ones)
    belief = told(prior)
    found, seen = asked_of(belief)
    w = (seen.n - belief.counts.n) / 6
    share = np.where(seen.n > 0, 1 - belief.counts.n / seen.n, 0)
    assert (w[0, :2] < 1).all()
    met = np.array([True, True, False, True, True, False])  # the third action was never tried
    assert np.allclose(found.rule, np.where(met, RULE * share.ravel() / 3, 0.0))
    assert np.allclose(found.own, np.where(met, 1 / (5 * (seen.n.ravel() + 1)), 0.0))
    assert np.allclose(unruly(prior), 1 - 0.9 * 0.8)
    lawless = np.maximum(1 - w, 0.1).ravel()
    news = np.where((belief.counts.n > 0).ravel(), 0.2, 1.0)
    expected = GROWTH * lawless * news / (5 * (belief.counts.n.ravel() + 1) ** 2)
    assert np.allclose(found.open, np.where(met, expected, 0.0))
    assert found.r[3:].tolist() == [2.0, 2.0, np.inf]
    more = GROWTH * 0.2 * (4.0 - 2.0) ** 2 / 5  # up to what a reward may be
    assert found.more == pytest.approx([0.0, 0.0, 0.0, more, more, 0.0])


def test_what_ends_an_episode_is_worth_nothing_and_what_is_not_available_less():
    available = np.ones((2, 3), bool)
    available[0, 1] = False
    found, _ = asked_of(told(no_prior(2, 3), np.array([False, True])), available=available)
    assert found.r.tolist() == [2.0, -np.inf, np.inf, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("S", [1, 6, 7])
@pytest.mark.parametrize("tests", [True, False])
def test_sums_are_those_of_single_passes_to_the_bit(tests, S):
    """Of pairs with zeros among their next states."""
    rng, pairs = np.random.default_rng(0), 37
    N = rng.random((pairs, S)) * (rng.random((pairs, S)) < 0.6)
    v, v0 = rng.normal(size=(2, S))
    table = sparse.csr_array(N)
    csr = table.data, table.indices.astype(np.int64), table.indptr.astype(np.int64)
    dense = np.ascontiguousarray(N.T)
    for moments, sums, rows in (
        (moments_dense, sums_dense, dense),
        (moments_csr, sums_csr, csr),
    ):
        mean, square, later, unused = np.full((4, pairs), np.nan)
        moments(rows, v, mean, square)
        moments(rows, v0, later, unused)
        found = np.full((3, pairs), np.nan)
        sums(rows, v, v0, tests, *found)
        np.testing.assert_array_equal(found, [mean, square, later if tests else 0.0 * later])
        by_hand = np.zeros((2, pairs))
        for t in range(S):  # one next state after the other
            by_hand += N[:, t] * v[t], N[:, t] * (v[t] * v[t])
        np.testing.assert_array_equal([mean, square], by_hand)


def test_a_plan_in_an_episode_waits_for_as_long_as_it_takes(monkeypatch):
    """The numbers of a sweep by H steps, over what a step may cost; no wait in small worlds."""
    world = gim.make("shared_factors", S=12, A=4, horizon=20)
    plans = {}
    for entries in (1 << 21, 12 * 4 * 12 * 20 // 5, 1):
        monkeypatch.setattr("gim.agents.analogist.ENTRIES", entries)
        plans[entries] = gim.run("analogist", world, 4, seed=0).plans
    few, some, many = sorted(plans.values())
    assert few == 5  # before the first episode and after each
    assert few < some < many


def test_noise_of_rewards_is_pooled_over_pairs_met_twice():
    counts = new_counts(2, 2)
    counts.n[:] = [[3, 1], [2, 0]]
    counts.R[:] = [[1 + 2 + 6, 5], [4 + 4, 0]]
    counts.R2[:] = [[1 + 4 + 36, 25], [16 + 16, 0]]
    assert reward_noise(counts) == pytest.approx(((1 - 3) ** 2 + (2 - 3) ** 2 + (6 - 3) ** 2) / 3)
    counts.R2[0, 0] = 27  # three rewards of 3
    assert reward_noise(counts) == 0.0


def test_a_few_unlucky_rewards_do_not_close_a_pair_for_ever():
    """Noise as large as the prize: rewards keep a bonus by visits, whatever is inferred."""
    found = []
    for seed in (5100, 5101, 5106, 5107):
        mdp = gim.make("noisy_arms", S=4, A=12, seed=seed)
        returns = gim.run("analogist", mdp, episodes=600, seed=seed).returns
        found.append(returns[-200:].mean() / mdp.optimal_return())
    assert np.mean(found) > 0.93


def lock(seed, length=10, slip=0.1):
    """A combination lock: one action of each state leads on, nine times in ten, all others back."""
    rng = np.random.default_rng(seed)
    P, r = np.zeros((length + 1, 4, length + 1)), np.zeros((length + 1, 4))
    P[:, :, 0] = 1.0
    s, good = np.arange(length), rng.integers(4, size=length)
    P[s, good, 0], P[s, good, s + 1] = slip, 1.0 - slip
    r[0], r[length] = 0.02, 1.0
    return gim.TabularMDP(P, r, start=0, horizon=20)


def test_one_slip_does_not_close_a_way_for_ever():
    """Most runs slip at the first visit of some right action: few may have missed it."""
    found = []
    for seed in range(30):
        mdp = lock(seed)
        run = gim.run("analogist:infer=none", mdp, episodes=600, seed=seed)
        found.append(run.returns[-100:].mean() / mdp.optimal_return())
    assert np.sum(np.array(found) < 0.8) <= 2


def test_no_pair_is_tested_twice_while_a_plan_waits():
    n, now = np.array([[0, 4, 1]]), np.array([[1.0, 8.0, 1.0]])
    q, policy = np.array([[[3.0, 2.0, 1.0]]]), np.array([[0]])
    belief = SimpleNamespace(counts=SimpleNamespace(n=n))
    memory = SimpleNamespace(belief=belief, now=now, q=q, policy=policy)
    assert plain(act)(memory, 0, 0, None) == 0  # not yet tried
    n[0, 0] = 1
    assert plain(act)(memory, 0, 0, None) == 1  # tried since the plan: the best of the others
    policy[0, 0] = 1
    n[0, 1] = 9
    assert plain(act)(memory, 0, 0, None) == 1  # a pair met before the plan is no test


def lottery(seed):
    """Three actions, of which one that only its pay shows moves a state to the next."""
    rng = np.random.default_rng(seed)
    S = 40
    lucky, s = rng.integers(3, size=S), np.arange(S)
    to = np.where(np.arange(3) == lucky[:, None], np.minimum(s + 1, S - 1)[:, None], s[:, None])
    return to, np.where(np.arange(3) == lucky[:, None], -1.0, -10.0)


@pytest.mark.parametrize("known", [True, False])
def test_what_a_pair_pays_tells_what_it_does_where_that_is_known(known):
    to, pays = lottery(0)
    met = np.random.default_rng(1).random(to.shape) < 0.5
    sizes = np.append(0, np.cumsum(met.ravel()))
    states = np.arange(len(to))[:, None]
    triples = Triples(
        sizes, to[met], np.full(met.sum(), 2.0), np.ones(to.shape, bool), states,
        pays=pays if known else None,
    )  # fmt: skip
    fitted = by_variables(triples)
    unmet = np.flatnonzero(~met.ravel())
    right = fitted.rows(unmet).toarray()[np.arange(len(unmet)), to.ravel()[unmet]]
    assert (right.min() > 0.9) == known


def test_a_prediction_knows_how_many_pairs_are_behind_it():
    to, _ = lottery(0)
    sizes = np.arange(to.size + 1)
    states = np.arange(len(to))[:, None]
    triples = Triples(sizes, to.ravel(), np.ones(to.size), np.ones(to.shape, bool), states)
    fitted = by_variables(triples)
    pairs = np.arange(to.size)
    block = fitted.blocks[0]
    context = block.find(pairs)[1]
    many = np.bincount(block.stack.context[:, -1], minlength=context.max() + 1)[context]
    assert np.array_equal(fitted.support(pairs), np.log2(np.minimum(many, 8)).astype(int))
    assert (fitted.support(pairs, apart=True) <= fitted.support(pairs)).all()


@pytest.mark.parametrize(
    ("rewards", "seed", "steps"), [("known", 5001, 1000), ("learn", 8018, 3500)]
)
def test_taxi_is_solved_in_a_few_hundred_or_thousand_steps(rewards, seed, steps):
    """The published protocol; without analogy a learner takes some 4,000 steps.

    Where rewards must be learned, four places to pick up and four to put down have to be found.
    Who takes them for chance, not for ignorance, waits out one hopeless episode after the other:
    this run had found one place to put down after 5,500 steps.
    """
    mdp = gim.make("taxi")
    run = prepare(gim.Analogist(), mdp, 100_000, seed, rewards=rewards).pause_at(steps)
    probes = mdp.info["probes"]
    value = np.atleast_2d(mdp.value(np.asarray(run.best_policy())))[0, probes]
    assert np.allclose(value, mdp.plan().v[0, probes])


def asked(counts, given=False):
    told = SimpleNamespace(given=given)
    return SimpleNamespace(counts=counts, terminal=np.zeros(2, bool), rewards=told)


def test_the_range_says_what_is_still_missing():
    """(3 - best)^2 / 4: the less, the less there is above the best that was met.

    It is shared out among pairs by what each of them may hide.
    """
    counts, one, hidden = new_counts(2, 2), np.zeros(2, np.int64), np.array([0.0, 0.1, 0.0, 0.3])
    belief = asked(counts)
    counts.n[0], counts.R[0] = (2, 4), (0.0, 4.0)  # pay 0 and 1
    assert np.allclose(missing(belief, (-1.0, 3.0), one, hidden, 5), [0.0, 0.25, 0.0, 0.75])
    counts.n[1, 0], counts.R[1, 0] = 1, 3.0
    assert missing(belief, (-1.0, 3.0), one, hidden, 5).tolist() == [0.0] * 4


def test_what_one_visit_in_three_reaches_was_found():
    """Where rewards are kept by triple it is the best triple that counts, not its pair's mean."""
    counts, one, hidden = new_counts(2, 2, by_triple=True), np.zeros(2, np.int64), np.full(4, 0.1)
    for t, r in ((0, 0.0), (0, 0.0), (1, 3.0)):
        count(counts, 0, 0, r, t)
    assert not missing(asked(counts), (0.0, 3.0), one, hidden, 5).any()


def test_an_action_that_paid_nothing_in_many_states_hides_less():
    """Of three states, one action was met in two and the other in none: shares of 1/3 and 1."""
    counts, hidden = new_counts(3, 2), np.array([0.0, 0.1, 0.0, 0.1, 0.1, 0.1])
    counts.n[:2, 0] = 1
    found = missing(asked(counts), (-1.0, 3.0), np.zeros(3, np.int64), hidden, 5)
    assert np.allclose(found, np.array([0.0, 3.0, 0.0, 3.0, 1.0, 3.0]) * (9 / 4) / 10.0)


def test_what_was_found_in_one_part_of_the_world_is_missing_in_the_others():
    """By the steps that were spent in each, and the episode under way of two steps in either."""
    counts, hidden = new_counts(2, 2), np.array([0.0, 0.1, 0.2, 0.2])
    counts.n[:], counts.R[:] = [[6, 0], [2, 0]], [[0.0, 0.0], [6.0, 0.0]]
    found = missing(asked(counts), (-1.0, 3.0), np.array([0, 1]), hidden, 2)
    assert np.allclose(found, [0.0, 0.8 * 9 / 4, 0.0, 0.0])
    # nothing there, either: in .4 of the steps, for two pairs, one of an action met twice
    counts.R[1, 0] = 0.0
    found = missing(asked(counts), (-1.0, 3.0), np.array([0, 1]), hidden, 2)
    assert np.allclose(found, np.array([0.0, 0.8, 0.1, 0.3]) * 9 / 4)


def test_where_every_step_costs_an_end_is_missing():
    counts, one, hidden = new_counts(2, 2), np.zeros(2, np.int64), np.array([0.0, 1.0, 0.0, 1.0])
    belief = asked(counts, given=True)
    counts.n[0, 0], counts.R[0, 0] = 3, -3.0
    assert missing(belief, (-6.0, -1.0), one, hidden, 5).tolist() == [0.0, 0.5, 0.0, 0.5]
    belief.terminal[1] = True
    assert missing(belief, (-6.0, -1.0), one, hidden, 5).tolist() == [0.0] * 4
    belief.rewards.given = False
    assert missing(belief, (-6.0, -1.0), one, hidden, 5).tolist() == [0.0] * 4


@pytest.mark.parametrize("dense", [True, False])
def test_parts_are_what_an_episode_never_leaves(dense):
    """0 and 1 are joined by a visit, 2 and 3 by a prediction; both lead to the end, 4.

    What is hardly likely joins nothing (3 to 0), nor does a prediction that is not made (5 to 0).
    """
    counts = new_counts(6, 1) if dense else new_counts(6, 1, by_triple=True)
    for s, t in ((0, 1), (1, 4)):
        count(counts, s, 0, 0.0, t)
    q = np.zeros((6, 1, 6))
    q[2, 0, 3] = q[5, 0, 0] = 1.0
    q[3, 0, [4, 0]] = 0.995, 0.005
    terminal = np.arange(6) == 4
    n0 = np.array([[0.0], [0.0], [1.0], [1.0], [0.0], [0.0]])
    part = parts(knowledge_of(counts, terminal, prior_of(q, n0)))
    assert part[0] == part[1]
    assert part[2] == part[3]
    assert len({part[0], part[2], part[4], part[5]}) == 4


@pytest.mark.parametrize("small", [0.02, 0.3])
def test_small_rewards_at_the_start_do_not_end_the_search(small):
    """A chain: one action goes back to the start and pays a little there, the other goes on.

    All pairs met pay next to nothing, so analogy says that the others do, too; that the range
    reaches to 1 tells that one does not. Twenty episodes are enough to find the end; without that
    clue a hundred are not.
    """
    last = 24
    outcomes = [((x,), 0, (0,), 1.0, small * (x == 0)) for x in range(last + 1)]
    for x in range(last + 1):
        outcomes += [
            ((x,), 1, (min(x + 1, last),), 0.8, 1.0 * (x == last)),
            ((x,), 1, (x,), 0.2, 0),
        ]
    chain = gim.from_outcomes(outcomes, start=(0,), horizon=60)
    returns = gim.run(gim.Analogist(), chain, episodes=40, seed=3).returns
    assert returns[-10:].mean() > 0.8 * chain.optimal_return()


@pytest.mark.parametrize(
    ("now", "n", "chosen"),
    [
        ((1.5, 0.0, 0.0), (3, 3, 3), 0),  # the plan's own action is still to be tested
        ((0.0, 0.0, 0.0), (0, 3, 3), 0),  # or was never tried
        ((1.0, 1.5, 0.0), (3, 3, 3), 1),  # one visit or less: another that may be tested
        ((1.0, 1.5, 1.5), (3, 3, 3), 2),  # the best of them
        ((1.0, 1.5, 1.0), (3, 3, 0), 2),
        ((1.0, 1.0, 1.0), (3, 3, 3), 0),  # none
    ],
)
def test_no_pair_is_tested_twice_by_one_plan(now, n, chosen):
    memory = SimpleNamespace(
        belief=SimpleNamespace(counts=SimpleNamespace(n=np.array([(9, 9, 9), n]))),
        now=np.array([(0.0, 0.0, 0.0), now]),
        policy=np.array([[2, 2], [1, 0]]),
        q=np.array([[[0.0] * 3] * 2, [[0.0] * 3, [5.0, 3.0, 4.0]]]),
    )
    assert plain(act)(memory, 1, 1, None) == chosen
