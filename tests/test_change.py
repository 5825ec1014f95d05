"""Changes of the world are noticed, told, and what they made untrue is forgotten."""

from __future__ import annotations

import math
import warnings

import gymnasium
import numpy as np
import pytest

import gim
from benchmarks.change import Changing, grid
from benchmarks.change import main as change_benchmark
from gim.agents import analogist
from gim.analogy.analogy import Analogy
from gim.analogy.base import Frame
from gim.analogy.prior import no_prior, prior_of
from gim.belief.change import Called, Change, changed
from gim.belief.comparison import Comparison, Latest, likely_changed, moments, visits_of
from gim.belief.knowledge import knowledge_of
from gim.belief.noticing import change_within, forget
from gim.belief.weighing import ANEW
from gim.logs.page import page
from gim.mdp.names import Names
from gim.model.counts import new_counts, transitions
from gim.model.tally import tally

S, A = 4, 2
CALLED = Called(Names("state", S), Names("action", A))


def steps(seed, n=60, blocks=12, sizes=(S, A)):
    rng = np.random.default_rng(seed)
    pair, t = rng.integers(0, sizes[0] * sizes[1], n), rng.integers(0, sizes[0], n)
    return Latest(pair, t, rng.normal(size=n).round(1), np.sort(rng.integers(0, blocks, n)))


def counted(latest, sizes=(S, A)):
    return tally(*sizes, *np.divmod(latest.pair, sizes[1]), latest.r, latest.next)


def comparison(seed, prior, first=(3, 7, 10)):
    latest = steps(seed)
    found = Comparison(counted(latest), prior, latest, np.array(first), np.zeros(len(first)))
    return latest, found


def some_prior(seed):
    q = np.random.default_rng(seed).dirichlet(np.ones(S), S * A)
    n0, behind = np.full((S, A), 5.0), np.full((S, A), 60.0)
    return prior_of(q.reshape(S, A, S), n0, doubt=np.full((S, A), 0.1), behind=behind)


def one_by_one(latest, first, alpha):
    """ln of what the past says of the present, step by step, under Dirichlet(alpha [S*A, S])."""
    counts, total = alpha.copy(), np.zeros(S * A)
    for pair, t, block in zip(latest.pair, latest.next, latest.block, strict=True):
        if block >= first:
            total[pair] += math.log(counts[pair, t] / counts[pair].sum())
        counts[pair, t] += 1
    return total


@pytest.mark.parametrize("seed", range(3))
def test_the_past_predicts_step_by_step(seed):
    """A pair's own visits, and a mixture of them with its rule: as Bayes would, one at a time."""
    prior = some_prior(seed)
    latest, found = comparison(seed, prior)
    c = found.spread
    leak = 1.0 / (60.0 + 2.0)
    rule = 5.0 * ((1.0 - leak) * prior.rows().toarray() + leak / S)
    for j, first in enumerate((3, 7, 10)):
        own = one_by_one(latest, first, np.full((S * A, S), c / S))
        assert found.own[j] == pytest.approx(own[found.pairs])
        before = one_by_one(latest, 0, rule), one_by_one(latest, 0, np.full((S * A, S), c / S))
        holds, fails = math.log(0.9) + before[0], math.log(0.1) + before[1]
        then = one_by_one(latest, first, rule)
        expected = np.logaddexp(holds, fails) - np.logaddexp(holds - then, fails - own)
        assert found.past[j] == pytest.approx(expected[found.pairs])


@pytest.mark.parametrize("seed", range(3))
def test_what_a_rule_says_is_read_from_its_rows(seed):
    prior = some_prior(seed)
    q = prior.rows().toarray()
    _, found = comparison(seed, prior)
    leak = 1.0 / (60.0 + 2.0)
    rows = q[found.key_pair]
    plain = rows[np.arange(len(rows)), found.key_next]
    assert found.q == pytest.approx((1 - leak) * plain + leak / S)
    for a in range(A):
        as_if = q[found.key_pair // A * A + a, found.key_next]
        assert np.exp(found.said[1 + 6 + a]) == pytest.approx((1 - leak) * as_if + leak / S)
    x, pairs = np.arange(S), q[found.pairs]
    mean = pairs @ x
    sd = math.sqrt(np.mean(pairs @ x**2 - mean**2))
    tilt = pairs * np.exp((x - mean[:, None]) / sd)  # z = 1
    shifted = (tilt / tilt.sum(axis=1, keepdims=True))[found.of, found.key_next]
    assert np.exp(found.said[1 + 4]) == pytest.approx((1 - leak) * shifted + leak / S)


@pytest.mark.parametrize("seed", range(3))
def test_a_pair_without_a_past_learns_from_its_own_visits(seed):
    latest, found = comparison(seed, some_prior(seed))
    for j, first in enumerate((3, 7, 10)):
        late = Latest(*(each[latest.block >= first] for each in latest))
        blank = one_by_one(late, 0, np.full((S * A, S), found.spread / S))
        assert found.anew[j] == pytest.approx(blank[found.pairs])
        of_pairs = found.anew[j].sum(), found.anew[j, found.pairs % A == 1].sum()
        assert found.sums[ANEW, j, [0, 2]] == pytest.approx(of_pairs)
        before = latest.pair[latest.block < first]
        assert (found.met[j] == (np.isin(found.pairs, before) | (before_window(found) > 0))).all()


def before_window(found):
    return found.n - np.bincount(found.of[found.key], minlength=len(found.pairs))


def test_what_a_rule_had_from_few_visits_is_held_against_it_with_care():
    """Steps of one world, of which a rule has seen forty, are no change to it."""
    rng, told = np.random.default_rng(0), 0
    called = Called(Names("state", 8), Names("action", 2))
    worth, doubt, behind = (np.full((8, 2), x) for x in (30.0, 0.05, 40.0))
    for _ in range(20):
        t = rng.binomial(7, rng.uniform(0.2, 0.8, 2)[:, None], (2, 400))
        n = np.array([np.bincount(each[:40], minlength=8) for each in t])
        rule = np.tile((n + 0.1) / 40.8, (8, 1, 1))
        t, a = np.concatenate([t[:, :40].T.ravel(), t[:, 40:].T.ravel()]), np.tile([0, 1], 400)
        pair = 2 * rng.integers(0, 8, 800) + a
        block = np.append(np.zeros(80, int), np.arange(1, 721))
        latest = Latest(pair, t, np.zeros(800), block)
        prior = prior_of(rule, worth, doubt=doubt, behind=behind)
        told += changed(counted(latest, (8, 2)), prior, latest, called, "row") is not None
    assert told == 0


def test_visits_are_looked_up_dense_and_sparse():
    latest = steps(5)
    dense = counted(latest)
    keys = np.unique(latest.pair * S + latest.next)
    sparse = new_counts(S, A)._replace(
        next=np.zeros(128), keys=np.full(128, -1, np.int64), paid=np.zeros(0), paid2=np.zeros(0)
    )
    from gim.model.hash_table import rehash

    rehash(keys, dense.next[keys], sparse.keys, sparse.next)
    assert (visits_of(sparse, np.append(keys, 0)) == visits_of(dense, np.append(keys, 0))).all()


def test_groups_that_changed_stand_out():
    assert likely_changed(np.array([9.0, -4.0, -3.0, 12.0])).tolist() == [True, False, False, True]
    assert likely_changed(np.array([-1.0, -2.0])).sum() == 1  # never none
    assert moments(2).tolist() == [1]
    assert moments(1).size == 0


@pytest.mark.parametrize("sparse", [False, True])
def test_what_changed_is_forgotten(sparse):
    sizes = (S, A) if not sparse else (5_000, 2)
    latest = steps(1, sizes=sizes) if not sparse else steps(1, 400, 12, sizes)
    latest = latest._replace(pair=latest.pair % 8)
    counts = counted(latest, sizes)
    assert bool(counts.keys.size) == sparse
    belief = knowledge_of(counts, np.ones(sizes[0], bool), no_prior(*sizes))
    change = Change(6, ("",), 9.0, 3, (1, 4, 5))
    forget(belief, latest, change)
    keep = (latest.block >= 6) | ~np.isin(latest.pair, change.pairs)
    expected = counted(Latest(*(each[keep] for each in latest)), sizes)
    for name in ("n", "R", "R2"):
        assert getattr(counts, name) == pytest.approx(getattr(expected, name))
    both = transitions(counts), transitions(expected)
    if sparse:
        both = both[0].toarray(), both[1].toarray()
        assert counts.taken[0] == expected.taken[0]
    assert (both[0] == both[1]).all()
    assert not belief.terminal[latest.pair[latest.block >= 6] // sizes[1]].any()
    assert belief.infer_at[0] == belief.visits[0]


def pays(reward, n=160, at=80):
    """Steps of a world of which one action pays something else from a step on."""
    rng = np.random.default_rng(3)
    pair, t = rng.integers(0, S * A, n), rng.integers(0, S, n)
    r = np.where(pair % A == 1, 2.0, 1.0)
    r[at:] = np.where(pair[at:] % A == 1, reward, 1.0)
    return Latest(pair, t, r, np.arange(n))


def test_rewards_that_change_are_told():
    latest = pays(5.0)
    found = changed(counted(latest), no_prior(S, A), latest, CALLED, "row")
    assert found is not None
    assert found.what == ("1 pays otherwise",)
    assert abs(found.since - 80) <= 4
    assert {pair % A for pair in found.pairs} == {1}
    assert changed(counted(latest), no_prior(S, A), latest, CALLED, "row", paid=False) is None
    still = pays(2.0)
    assert changed(counted(still), no_prior(S, A), still, CALLED, "row") is None


def test_one_step_or_one_block_tells_nothing():
    latest = steps(0)
    for some in (latest.before(0), latest.before(1)):
        assert changed(counted(some), no_prior(S, A), some, CALLED) is None
        frame = Frame(np.ones((S, A), bool), np.zeros(S, bool), (0.0, 1.0))
        episodes = np.zeros(some.pair.size, int)
        assert change_within(some, episodes, Analogy(), frame, CALLED, "row") is None


# -- runs


def changing(change):
    return Changing(grid(), grid(exchanged=True), change)


gymnasium.register("gim-tests/Changing-v0", changing, max_episode_steps=25)


def learn(change, episodes, agent="analogist", seed=0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gim.run(
            agent, gymnasium.make("gim-tests/Changing-v0", change=change), episodes, seed
        )


@pytest.fixture(scope="module")
def run():
    return learn(60, 75)


def test_a_run_notices_that_actions_were_exchanged(run):
    since = run.belief.since
    assert since.since == 60
    assert since.what == ("2 acts as 3 and 3 as 2",)
    assert {pair % 4 for pair in since.pairs} == {2, 3}
    assert any("the world has changed: since episode 60" in note for note in run.notes)


def test_what_is_deployed_and_certified_is_of_the_world_since(run):
    after = grid(exchanged=True)
    best, chance = after.optimal_return(), after.random_return()
    worth = after.policy_return(np.asarray(run.best_policy()))
    assert worth > chance + 0.9 * (best - chance)
    certificate = gim.certify(run)
    assert certificate.earns[0] <= worth <= certificate.earns[1]


def test_a_run_that_noticed_is_saved_with_it(run, tmp_path):
    run.save(tmp_path / "run.npz")
    again = gim.load(tmp_path / "run.npz")
    assert again.mind.changes == run.mind.changes
    assert again.belief.since == run.belief.since
    for one, other in zip(again.trail, run.trail, strict=True):
        assert (one == other).all()


def test_nothing_is_noticed_where_nothing_changes(monkeypatch):
    with_it = learn(10**6, 40, seed=1)
    assert with_it.belief.since is None
    assert with_it.mind.changes == []
    monkeypatch.setattr(analogist, "notice", lambda belief, mind: None)
    without = learn(10**6, 40, seed=1)
    assert (with_it.returns == without.returns).all()
    assert (with_it.memory.q == without.memory.q).all()


def test_a_resumed_run_goes_on_bit_for_bit(tmp_path):
    mdp = gim.make("gridworld:height=4,width=4")
    whole = gim.run("analogist", mdp, 30, seed=2)
    half = gim.run("analogist", mdp, 30, seed=2, callback=lambda report: report.episode >= 10)
    half.save(tmp_path / "run.npz")
    again = gim.run(resume=tmp_path / "run.npz")
    assert (again.returns == whole.returns).all()
    for one, other in zip(again.trail, whole.trail, strict=True):
        assert (one == other).all()


@pytest.mark.parametrize("agent", ["psrl", "ucbvi"])
def test_plain_learners_are_asked_afterwards_and_stay_as_they_are(agent):
    run = learn(60, 90, agent)
    before = run.memory.belief.counts.n.copy()
    assert run.belief.since.since == pytest.approx(60, abs=2)
    assert run.belief.knowledge.counts.n.sum() < before.sum()
    assert (run.memory.belief.counts.n == before).all()
    assert learn(10**6, 60, agent).belief.since is None


# -- logs


def rows_of_shop(means, seed=0, rows=200):
    """Stock, order, profit and next stock: orders up to 9, or any; demand is Poisson."""
    rng, found, s = np.random.default_rng(seed), [], 5
    for mean in means:
        for _ in range(rows):
            a = int(np.clip(9 - s, 0, 7)) if rng.random() < 0.7 else int(rng.integers(0, 8))
            have = min(s + a, 15)
            t = have - min(have, int(rng.poisson(mean)))
            found.append((s, a, 5.0 * (have - t) - 2.5 * a - 0.3 * t - 2 * (a > 0), t))
            s = t
    return found


def test_a_log_is_learned_from_since_demand_has_doubled(tmp_path):
    found = gim.learn(gim.from_log(rows_of_shop([3.0, 6.0])), horizon=30)
    assert abs(found.since.since - 200) <= 20
    assert found.since.unit == "row"
    assert found.belief.since is found.since
    assert "smaller in the mean" in str(found.since)
    assert len(found.log) <= 400 - found.since.since + 20
    assert "the world has changed: since row" in found.describe()
    assert "The world has changed: since row" in page(found, "shop")
    found.belief.save(tmp_path / "belief.npz")
    assert gim.load(tmp_path / "belief.npz").since == found.since
    alone = gim.learn(gim.from_log(rows_of_shop([3.0, 3.0])), horizon=30)
    assert alone.since is None
    assert len(alone.log) == 400


@pytest.mark.parametrize("seed", range(3))
def test_forty_rows_of_doubled_demand_are_enough(seed):
    rows = rows_of_shop([3.0, 6.0], seed)[:240]
    found = gim.learn(gim.from_log(rows), horizon=30)
    assert abs(found.since.since - 200) <= 10


def test_many_shops_are_no_change():
    rows, shop = [], []
    for k, mean in enumerate(3.0 * np.exp(np.random.default_rng(0).normal(0, 0.45, 20))):
        rows += rows_of_shop([mean], k, 60)
        shop += [k] * 60
    columns = dict(zip("sarz", zip(*rows, strict=True), strict=True)) | {"shop": shop}
    names = {"state": "s", "action": "a", "reward": "r", "next_state": "z", "episode": "shop"}
    assert gim.learn(gim.from_log(columns, **names), horizon=30).since is None


def test_worlds_that_change_and_worlds_that_do_not(capsys):
    """The benchmark in short: one world of each kind that runs learn, one run that stays."""
    assert change_benchmark(["--changing", "1", "--still", "2", "--first", "8300"]) == 0
    shown = capsys.readouterr().out
    assert "left and right exchanged     1" in shown
    assert "1 of 1" in shown
    assert "in all: 0 of 2" in shown
