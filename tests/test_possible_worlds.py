"""The worlds that a belief holds possible: how far what is asked of them differs, by hand."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from gim.analogy.base import Posterior
from gim.analogy.prior import no_prior, prior_of
from gim.analogy.ridge import Paid
from gim.analogy.unseen import Beginnings
from gim.belief.aim import Aim
from gim.belief.belief import Belief
from gim.belief.knowledge import knowledge_of
from gim.belief.worlds import Worlds
from gim.model.counts import new_counts
from gim.model.rewards import by_pair
from gim.model.task import Task
from gim.planning import backward_induction


class Says:
    """An inference that says of any counts the same."""

    def __init__(self, prior, other=None):
        self.told = Posterior(prior, None, other)

    def posterior(self, counts, frame, rng):
        return self.told


class Pays:
    """A second belief of rewards: the same of every triple, as sure as that."""

    between = 0.0

    def __init__(self, r, variance=1.0):
        self.r, self.variance = r, variance

    def predict(self, pair, t):
        return Paid(np.full(len(pair), self.r), np.full(len(pair), self.variance))

    def drawn(self, pair, t, draws, rng):
        return np.sqrt(self.variance) * rng.standard_normal((draws, 1)) * np.ones(len(pair))


def belief_of(N, r=None, horizon=3, range_=(0.0, 1.0), terminal=None, **given):
    """Visits [S, A, S] that paid r [S, A, S] each."""
    N = np.asarray(N, float)
    S, A, _ = N.shape
    paid = N * (0.0 if r is None else np.broadcast_to(r, N.shape))
    squares = np.where(N > 0, paid**2 / np.maximum(N, 1), 0.0)
    counts = new_counts(S, A, by_triple=True)
    counts.n[:], counts.next[:] = N.sum(axis=2), N.ravel()
    counts.R[:], counts.R2[:] = paid.sum(axis=2), squares.sum(axis=2)
    counts.paid[:], counts.paid2[:] = paid.ravel(), squares.ravel()
    ends = np.zeros(S, bool) if terminal is None else np.array(terminal)
    known = knowledge_of(counts, ends, no_prior(S, A))
    task = Task(S, A, horizon, np.ones((S, A), bool), range_)
    given.setdefault("start", np.eye(S)[0])
    return Belief(known, task, **given)


TWO = [[[2, 6], [4, 0]], [[0, 10], [5, 5]]]  # visits of two states and two actions
R = np.array([[[0.0, 0.0], [0.5, 0.5]], [[1.0, 1.0], [0.0, 0.0]]])


def worth_of(worlds, policy):
    return lambda model, start: np.array([worlds.worth(model, policy, start)])


def test_what_a_policy_earns_in_the_mean_of_two_states():
    """Play 0: from 0 to 1 with 3/4, and there 1 a step for ever."""
    worlds = belief_of(TWO, R).worlds
    found = worlds.spread(worth_of(worlds, np.zeros((3, 2), int)))
    assert found.mean[0] == pytest.approx(0.0 + 3 / 4 + (3 / 4 + 1 / 4 * 3 / 4))
    other = worlds.spread(worth_of(worlds, np.ones((3, 2), int)))
    assert other.mean[0] == pytest.approx(3 * 0.5)
    assert found.rewards[0] == other.rewards[0] == 0.0
    assert found.drawn[:, 0].std() > 0
    assert found.total(0.3)[0] == pytest.approx(
        np.sqrt(np.mean((found.drawn[:, 0] - found.mean[0]) ** 2) + 0.09)
    )


def test_without_an_end_values_are_those_of_a_discount():
    worlds = belief_of(TWO, R, aim=Aim(None, 0.9)).worlds
    P = np.array([[0.25, 0.75], [0.0, 1.0]])
    v = np.linalg.solve(np.eye(2) - 0.9 * P, [0.0, 1.0])
    assert worlds.worth(worlds.whole.model(), np.zeros(2, int), np.eye(2)[0]) == pytest.approx(v[0])
    assert worlds.optimum(worlds.whole.model(), np.eye(2)[0]) == pytest.approx(v[0], rel=1e-6)


def test_a_pair_of_its_own_is_drawn_as_its_visits_say():
    """One step decides: to the better state with 6 of 8, about what pairs do in general."""
    found = []
    for seed in range(12):
        worlds = belief_of(TWO, R, horizon=2, seed=seed).worlds
        found.append(worlds.spread(worth_of(worlds, np.zeros((2, 2), int))).drawn[:, 0])
    drawn, (c, mu) = np.concatenate(found), worlds.whole.lawless
    one, of = 6 + c * mu[1], 8 + c
    assert drawn.mean() == pytest.approx(one / of, abs=4 * drawn.std() / drawn.size**0.5)
    assert drawn.std() == pytest.approx(np.sqrt(one * (of - one) / of**2 / (of + 1)), rel=0.15)


def test_nothing_is_open_where_nothing_ever_differed():
    N = np.zeros((2, 2, 2))
    N[0, 0, 1] = N[0, 1, 0] = N[1, 0, 1] = N[1, 1, 0] = 10**6
    worlds = belief_of(N, R).worlds
    policy = worlds.policy

    def ask(model, start):
        return np.array([worlds.worth(model, policy, start), worlds.optimum(model, start)])

    found = worlds.spread(ask)
    assert found.mean == pytest.approx([2.0, 2.0])
    assert np.allclose(found.total(), 0.0, atol=1e-5)


def two_beliefs(r0, r1, n0=5.0, doubt=1.0, **given):
    """Of the second action of state 0, never met, two rules say what it pays."""
    N = np.array(TWO, float)
    N[0, 1] = 0
    q = np.zeros((2, 2, 2))
    q[0, 1] = [1.0, 0.0]
    told = np.zeros((2, 2))
    told[0, 1] = n0
    told_r = {"r_n0": (told > 0) * 1.0, "r_doubt": np.full((2, 2), doubt)}
    prior = prior_of(q, told, r=np.full((2, 2), r0), **told_r)
    return belief_of(N, R, infer=Says(prior, Pays(r1, 0.0)), range_=(0.0, 4.0), **given)


def test_two_beliefs_of_rewards_are_half_their_difference_apart():
    """Played three times, one step each: 3 or 1, so 2 on average, and 1 a step apart."""
    worlds = two_beliefs(3.0, 1.0).worlds
    found = worlds.spread(worth_of(worlds, np.ones((3, 2), int)))
    assert found.mean[0] == pytest.approx(3 * 2.0)
    assert found.rewards[0] == pytest.approx(3 * 1.0)
    met = worlds.spread(worth_of(worlds, np.zeros((3, 2), int)))
    assert met.rewards[0] == pytest.approx(0.0)  # what paid alike whenever it was met
    assert worlds.whole.less.min() >= 0.0
    place = np.flatnonzero(worlds.whole.pattern.pair == 1)
    assert worlds.whole.less[place].tolist() == [1.0]


@pytest.mark.parametrize("doubt", [0.0, 0.1, 1.0])
def test_a_second_belief_of_rewards_counts_as_the_first_is_doubted(doubt):
    worlds = two_beliefs(3.0, 1.0, doubt=doubt).worlds
    found = worlds.spread(worth_of(worlds, np.ones((3, 2), int)))
    assert found.mean[0] == pytest.approx(3 * (3.0 - doubt))
    assert found.rewards[0] == pytest.approx(3 * doubt)


def test_no_reward_that_is_drawn_lies_beyond_what_was_told():
    worlds = two_beliefs(9.0, 8.0).worlds  # told are 0 to 4
    assert max(model.rewards.max() for model, _ in worlds.drawn) == 4.0


def test_a_plan_takes_the_lesser_of_two_rewards():
    """On average 2 a step beats the way to state 1; the lesser, 0, does not."""
    assert (np.asarray(two_beliefs(4.0, 0.0).deployed)[:2, 0] == 0).all()
    assert (np.asarray(two_beliefs(4.0, 3.0).deployed)[:2, 0] == 1).all()


def test_with_equal_beliefs_and_no_doubt_the_policy_is_the_best_plan():
    rng = np.random.default_rng(0)
    for seed in range(4):
        N, r = rng.poisson(3.0, (6, 3, 6)) + np.eye(6)[:, None], rng.random((6, 3, 6))
        worlds = belief_of(N, r, horizon=7, seed=seed).worlds
        assert not worlds.whole.doubt.any()
        best = backward_induction(worlds.whole.model())
        assert np.array_equal(worlds.policy, best.policy)
        assert worlds.worth(worlds.whole.model(), worlds.policy, worlds.start) == pytest.approx(
            best.v[0, 0]
        )


@pytest.mark.parametrize("endless", [False, True])
@pytest.mark.parametrize("behind", [0.0, np.inf])
def test_a_plan_avoids_pairs_whose_rule_is_doubted(behind, endless):
    """Two ways to the same states, never tried; the better one by a rule that was seen never."""
    N = np.zeros((3, 2, 3))
    N[1, :, 1], N[2, :, 2] = 20, 20
    q = np.zeros((3, 2, 3))
    q[0, 0], q[0, 1] = [0.0, 0.5, 0.5], [0.0, 0.55, 0.45]
    told = np.zeros((3, 2))
    told[0] = 10.0
    rests_on = np.full((3, 2), np.inf)
    rests_on[0, 1] = behind
    prior = prior_of(q, told, behind=rests_on)
    r = np.zeros((3, 2, 3))
    r[1] = 1.0
    aim = Aim(None, 0.8) if endless else None
    worlds = belief_of(N, r, infer=Says(prior), horizon=4, aim=aim).worlds
    assert worlds.whole.doubt[0, 1] == (1.0 if behind == 0 else 0.0)
    played = np.atleast_2d(worlds.policy)[0, 0]
    assert played == (0 if behind == 0 else 1)


# -- returns of an episode


@pytest.mark.parametrize("discount", [1.0, 0.7])
def test_how_often_pairs_are_played_is_the_sum_over_all_ways(discount):
    """Every way of three steps with its chance, by a policy that draws."""
    start = np.array([0.4, 0.6])
    worlds = belief_of(TWO, R, start=start, aim=Aim(3, discount)).worlds
    model = worlds.whole.model()
    P = model.transitions.toarray().reshape(2, 2, 2)
    policy = np.random.default_rng(0).dirichlet(np.ones(2), (3, 2))
    mean = often = 0.0
    for ways in itertools.product(itertools.product(range(2), range(2)), repeat=3):
        chance, earned = start[ways[0][0]], 0.0
        for h, (s, a) in enumerate(ways):
            chance *= policy[h, s, a] * (P[s, a, ways[h + 1][0]] if h < 2 else 1.0)
            earned += discount**h * model.rewards[s, a]
        mean = mean + chance * earned
        times = np.zeros(4)
        for h, (s, a) in enumerate(ways):
            times[2 * s + a] += discount**h
        often = often + chance * times
    assert worlds.worth(model, policy, start) == pytest.approx(mean)
    found, _ = worlds._along(model, policy)
    assert found == pytest.approx(often)


# -- what few visits cannot exclude


@pytest.mark.parametrize("n", [1, 3, 30, 3000])
@pytest.mark.parametrize("paid", [0.0, 10.0, 4.0])
def test_rewards_at_either_end_count_as_if_they_had_been_met(n, paid):
    """One state and one action that paid the same n times, in a range from 0 to 10, four steps."""
    worlds = belief_of([[[n]]], paid, horizon=4, range_=(0.0, 10.0)).worlds
    w = 20.0 / (n - 1 + 10)
    total = n + 2 * w
    mean = (n * paid + w * 0.0 + w * 10.0) / total
    variance = (w * paid**2 + w * (10 - paid) ** 2) / total / (total + 1)
    off, wide = worlds.unseen(np.zeros(1, int), (0.0, 10.0))
    assert off == pytest.approx(4 * (mean - paid))
    assert wide == pytest.approx(4 * np.sqrt(variance))
    policy = np.zeros(1, int)
    assert worlds.unseen(policy, (0.0, 10.0), policy) == (0.0, 0.0)  # nothing between the same two


def test_a_next_state_of_any_kind_counts_as_if_it_had_been_met():
    """Two states that stay, worth 0 and 3: as a Beta(n, w) of half the way between them."""
    N = np.zeros((2, 1, 2))
    N[0, 0, 0], N[1, 0, 1] = 8, 12
    known = by_pair([[0.0], [1.0]])
    belief = belief_of(N, horizon=3, range_=(0.0, 1.0))
    worlds = replace(belief, knowledge=belief.knowledge._replace(rewards=known)).worlds
    w = 20.0 / (7 + 11 + 10)
    off, wide = worlds.unseen(np.zeros(2, int), (0.0, 1.0))
    assert off == 0.0  # rewards are known
    assert wide == pytest.approx(3 * np.sqrt(w / (8 + w) * (3 / 2) ** 2 / (8 + w + 1)))


def test_what_nobody_has_listed_is_like_what_was_met_or_anything():
    """One state worth 4, and one more of any kind: half the variance of a range from 0 to 4."""
    begins = Beginnings(np.array([0.5]), np.zeros(0), np.ones(1, bool), listed=False)
    belief = belief_of([[[10_000]]], 1.0, horizon=4, begins=begins)
    worlds = belief.worlds
    assert worlds.start.tolist() == [1.0]
    assert worlds.spread(worth_of(worlds, np.zeros(1, int))).mean[0] == pytest.approx(4.0)
    assert worlds._nowhere() == pytest.approx(0.5, abs=1e-3)
    _, wide = worlds.unseen(np.zeros(1, int), (0.0, 1.0))
    assert wide == pytest.approx(0.5 * 4 / np.sqrt(12 * 2), rel=0.02)
    assert worlds.unseen(np.zeros(1, int), (1.0, 1.0))[1] == pytest.approx(0.0, abs=1e-9)


def test_the_more_states_were_met_the_less_one_that_nobody_has_listed_may_be():
    """Ten that stay where they are, worth 0 to 9 over one step, begun in the fifth."""
    N, r = 10_000.0 * np.eye(10)[:, None], np.arange(10.0)[:, None, None]
    begins = Beginnings(0.5 * np.eye(10)[5], np.zeros(0), np.ones(10, bool), listed=False)
    worlds = belief_of(N, r, horizon=1, range_=(0.0, 20.0), begins=begins).worlds
    _, wide = worlds.unseen(np.zeros(10, int), (0.0, 20.0))
    square = ((np.arange(10.0) - 5.0) ** 2).sum() + 20.0**2 / 12
    assert wide == pytest.approx(0.5 * np.sqrt(square / 11), rel=0.02)


@pytest.mark.parametrize("doubt", [0.0, 0.2, 1.0])
def test_where_a_rule_of_rewards_is_exact_other_rewards_count_as_it_is_doubted(doubt):
    rewards, none = np.array([[4.0]]), np.array([[0.0]])
    prior = prior_of(np.ones((1, 1, 1)), none + 1.0, r=rewards, r_n0=none + 1.0)
    wide = []
    for noise in (0.0, 1.0):
        told = prior._replace(r_doubt=none + doubt, r_noise=none + noise)
        worlds = belief_of([[[5]]], 4.0, infer=Says(told), horizon=1, range_=(0.0, 10.0)).worlds
        assert worlds.whole.unruled.tolist() == [1.0 if noise else doubt]
        wide.append(worlds.unseen(np.zeros(1, int), (0.0, 10.0))[1])
    assert wide[0] == pytest.approx(np.sqrt(doubt) * wide[1])


def test_which_of_two_equal_actions_is_played_does_not_rest_on_last_bits():
    """Twelve pairs that were seen alike, but for rounding."""
    rng = np.random.default_rng(0)
    N = np.broadcast_to(rng.integers(1, 6, (4, 1, 4)), (4, 3, 4)).astype(float)
    r = np.broadcast_to(rng.random((4, 1, 4)), N.shape)
    told = two_beliefs(3.0, 1.0).infer
    q = np.broadcast_to(rng.dirichlet(np.ones(4), (4, 1)), N.shape)
    for seed in range(4):
        off = q * (1.0 + 4e-16 * np.random.default_rng(seed).standard_normal(q.shape))
        prior = prior_of(off / off.sum(axis=2, keepdims=True), np.full((4, 3), 2.0))
        said = Says(prior, told.told.other)
        assert not np.asarray(belief_of(N, r, horizon=6, infer=said).deployed).any()


def test_what_is_hidden_is_what_one_triple_pays():
    """The best that was met paid 3 of 4; one that was not, in half of the steps, may pay 4."""
    N = np.zeros((2, 1, 2))
    N[0, 0, 0], N[1, 0, 1] = 9, 9
    prior = prior_of(np.array([[[0.5, 0.5]], [[0.0, 1.0]]]), np.array([[9.0], [9.0]]))
    r = np.array([[[3.0, 3.0]], [[1.0, 1.0]]])
    whole = belief_of(N, r, infer=Says(prior), horizon=1, range_=(0.0, 4.0)).worlds.whole
    (k,) = np.flatnonzero(whole._never)
    assert (whole.pattern.pair[k], whole.pattern.next[k]) == (0, 1)
    paid, chances = [], []
    for seed in range(400):
        rows, pays = whole.drawn_world(np.random.default_rng(seed))
        paid.append(pays[0, 0])
        chances.append(rows.toarray()[0, 1])
    more = (np.array(paid) - 3.0) / np.array(chances)  # 0, or what it pays besides
    assert np.unique(more.round(6)).tolist() == [0.0, 1.0]
    assert np.mean(more > 0.5) == pytest.approx(1 / 4, abs=0.07)


def test_first_states_are_drawn_about_those_seen():
    """Worth 0 in the one, 3 in the other, where 30 and 10 of 40 episodes began."""
    N = np.zeros((2, 1, 2))
    N[0, 0, 0] = N[1, 0, 1] = 500
    r = np.zeros((2, 1, 2))
    r[1] = 1.0
    seen, rules = np.array([30.0, 10.0]), []
    for seed in range(8):
        begins = Beginnings(seen / 40, seen, np.ones(2, bool))
        worlds = belief_of(N, r, start=None, begins=begins, seed=seed).worlds
        found = worlds.spread(worth_of(worlds, np.zeros((3, 2), int)))
        assert found.mean[0] == pytest.approx(3 / 4)
        rules.append(found.drawn[:, 0].var())
    expected = 3 * np.sqrt(0.75 * 0.25 / 41)
    assert np.sqrt(np.mean(rules)) == pytest.approx(expected, rel=0.2)


# -- halves


def test_of_what_a_half_says_nothing_the_whole_speaks():
    """An inference that speaks of many visits only: worlds drawn by halves have its rule, too."""

    class OfAll(Says):
        def posterior(self, counts, frame, rng):
            return self.told if counts.n.sum() > 20 else Posterior(no_prior(2, 2))

    told = two_beliefs(3.0, 1.0, n0=1e6)
    worlds = replace(told, infer=OfAll(told.infer.told.prior, told.infer.told.other)).worlds
    assert [each.posterior.prior.speaks for each in worlds.sources] == [True] + 4 * [False]
    rows = np.array([model.transitions.toarray()[1] for model, _ in worlds.drawn])
    assert np.allclose(rows, [1.0, 0.0], atol=0.01)
    assert len(belief_of(TWO, R).worlds.sources) == 1  # nothing is inferred, from halves neither


def test_what_others_have_judged_and_met_is_not_doubted_by_halves_nor_hidden():
    """A unit of a family that has met three pairs of four; another one has met the fourth."""
    told = two_beliefs(3.0, 1.0)
    N = np.array(TWO, float)
    N[1, 1] = 0
    for others, hidden in ((0.0, [3]), (7.0, [])):
        shown = N.reshape(4, 2).copy()
        shown[3, 0] += others
        said = told.infer.told._replace(shown=sparse.csr_array(shown))
        infer = Says(said.prior)
        infer.told = said
        worlds = belief_of(N, R, infer=infer).worlds
        assert len(worlds.sources) == 1
        assert worlds.apart() == []
        whole = worlds.whole
        assert np.unique(whole.pattern.pair[whole.hidden]).tolist() == hidden


def test_what_a_triple_paid_does_not_stand_beside_what_its_pair_pays():
    """A pair pays 2 on average, they say; it went once to the state that pays 4, not to 0."""
    prior = prior_of(
        np.full((2, 1, 2), 0.5),
        np.full((2, 1), 10.0),
        r=np.full((2, 1), 2.0),
        r_n0=np.full((2, 1), 10.0),
    )
    N = np.zeros((2, 1, 2))
    N[0, 0, 1] = 1
    whole = belief_of(N, 4.0, infer=Says(prior), range_=(0.0, 4.0)).worlds.whole
    assert whole.model().rewards[0, 0] == pytest.approx((4 + 10 * 2) / 11)


def test_a_plan_of_luck_alone_is_flattered():
    """Forty actions that pay 0 or 1 alike: the best of few visits promises what it cannot keep."""
    rng = np.random.default_rng(0)
    paid = rng.integers(0, 2, (40, 3))
    N, r = np.full((1, 40, 1), 3.0), paid.mean(axis=1)[None, :, None]
    belief = belief_of(N, r, horizon=1)
    counts = belief.knowledge.counts
    counts.R2[:], counts.paid2[:] = paid.sum(axis=1)[None], paid.sum(axis=1)
    worlds = belief.worlds
    assert worlds.optimum(worlds.whole.model(), worlds.start) == 1.0
    drawn = worlds.spread(worth_of(worlds, worlds.policy)).drawn
    assert drawn.mean() < 0.99
    found = belief.certify()
    assert found.lower <= 0.5 <= found.upper


# -- draws of whole worlds


def test_worlds_drawn_whole_are_distributions_with_the_right_means():
    N = np.array(TWO, float) * 20
    belief = belief_of(N, R)
    worlds = belief.worlds
    found = np.array([worlds.drawn_world(worlds.rng(k), k)[0].toarray() for k in range(400)])
    assert np.allclose(found.sum(axis=2), 1.0)
    assert (found >= 0).all()
    n = N.sum(axis=2).ravel()
    c, mu = worlds.whole.lawless
    assert mu == pytest.approx(N.sum(axis=(0, 1)) / N.sum(), abs=0.01)
    mean = (N.reshape(4, 2) + c * mu) / (n + c)[:, None]
    error = found.std(axis=0) / np.sqrt(400)
    assert (np.abs(found.mean(axis=0) - mean) <= 5 * error + 1e-9).all()
    assert np.array_equal(worlds.drawn_world(worlds.rng(3), 3)[0].toarray(), found[3])


def test_ends_stay_where_they_are_and_pay_nothing():
    N = np.array(TWO, float)
    belief = belief_of(N, R, terminal=[False, True])
    model = belief.mean
    for each in (model, *(belief.draw(k) for k in range(3))):
        assert each.terminal.tolist() == [False, True]
        assert np.allclose(each.rows().toarray()[2:], [[0, 1], [0, 1]])
        assert not each.rewards[1].any()
    assert not belief.weight[1].any()
    assert not belief.sd(np.arange(2.0))[1].any()


def test_the_same_seed_gives_the_same_worlds():
    def spread(seed):
        worlds = belief_of(TWO, R, seed=seed).worlds
        return worlds.spread(worth_of(worlds, np.zeros((3, 2), int)))

    one, same, other = spread(1), spread(1), spread(2)
    assert np.array_equal(one.drawn, same.drawn)
    assert not np.array_equal(one.drawn, other.drawn)


def test_an_inference_that_fails_is_left_out():
    class Fails:
        def posterior(self, counts, frame, rng):
            raise ArithmeticError("no")

    worlds = belief_of(TWO, R, infer=Fails()).worlds
    alone = belief_of(TWO, R).worlds
    assert isinstance(worlds, Worlds)
    both = [each.whole.model().transitions for each in (worlds, alone)]
    assert sparse.issparse(both[0])
    assert np.array_equal(both[0].toarray(), both[1].toarray())
