"""What the default learner does not know: chances that a pair leads elsewhere which only stayed."""

import math

import numpy as np
import pytest

import gim
from gim.agents import analogist, unknowns
from gim.agents.unknowns import STAYS, may_leave, noise_by_pair
from gim.inference.belief import belief_of
from gim.inference.prior import prior_of
from gim.jit import plain
from gim.model import counts as of_counts
from gim.model.counts import count, new_counts

SURPRISE = 0.3
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))


def literal(N, n):
    """Chances [S, A], by C(stays, k) / C(visits, k): how many orders begin with k stays."""
    S, A = N.shape[:2]
    stays = N[np.arange(S), :, np.arange(S)].astype(int)
    visits = N.sum(axis=2).astype(int)
    chance = [SURPRISE]
    for k in range(1, STAYS + 1):
        asked = left = 0.0
        for v, s in zip(visits.ravel().tolist(), stays.ravel().tolist(), strict=True):
            if v > k:
                begin = math.comb(s, k) / math.comb(v, k)
                asked += begin
                left += begin - math.comb(s, k + 1) / math.comb(v, k + 1)
        chance.append((left + chance[-1] * k / (k + 1)) / (asked + 1))
    found = np.zeros((S, A))
    for s, a in np.argwhere((visits > 0) & (stays == visits)):
        k = min(int(n[s, a]), STAYS)
        found[s, a] = chance[k] * min(1, STAYS / n[s, a])
    return found


def played(seed, S=6, A=5):
    """Counts of a lazy world: pairs stay with a chance of their own, some always."""
    rng = np.random.default_rng(seed)
    counts = new_counts(S, A)
    stays = rng.choice([0.0, 0.3, 0.8, 1.0], (S, A))
    for s, a in np.ndindex(S, A):
        for _ in range(rng.choice([0, 1, 2, 5, 40])):
            t = s if rng.random() < stays[s, a] else int(rng.integers(S))
            count(counts, s, a, 0.0, t)
    return counts


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("limit", [1 << 24, 0])  # dense; a hash table
def test_chances_to_leave_are_averages_over_all_orders(monkeypatch, seed, limit):
    monkeypatch.setattr(of_counts, "DENSE_LIMIT", limit)
    counts = played(seed)
    assert (counts.keys.size > 0) == (limit == 0)
    n = counts.n + np.random.default_rng(seed).choice([0.0, 0.5, 7.0, 200.0], counts.n.shape)
    N = np.asarray(of_counts.transitions(counts).todense() if limit == 0 else counts.next)
    expected = literal(N.reshape(6, 5, 6), n)
    assert (expected > 0).any()
    found = may_leave(counts, n, SURPRISE)
    np.testing.assert_allclose(found, expected.ravel(), rtol=1e-12)
    monkeypatch.setattr(unknowns, "_may_leave", plain(unknowns._may_leave))
    assert np.array_equal(may_leave(counts, n, SURPRISE), found)


def test_by_hand():
    """One pair stayed twice, one stayed and left, one was met once.

    After one stay 1 + 1/2 pairs are asked: of the second, half of the orders begin with the stay,
    and it leaves then. After two nobody is.
    """
    counts = new_counts(3, 1)
    for s, t in ((0, 0), (0, 0), (1, 1), (1, 2), (2, 2)):
        count(counts, s, 0, 0.0, t)
    first = (0.5 + 0.3 / 2) / (1.5 + 1)
    second = first * 2 / 3
    assert may_leave(counts, counts.n * 1.0, 0.3) == pytest.approx([second, 0.0, first])


def lazy(seed, side=5):
    """A grid whose moves fail in six of ten cases, with other names in every cell."""
    rng = np.random.default_rng(seed)
    S = side * side
    P, r = np.zeros((S, 4, S)), np.zeros((S, 4))
    for s in range(S):
        for a, (down, right) in zip(rng.permutation(4), MOVES, strict=True):
            row, column = np.clip(np.add(divmod(s, side), (down, right)), 0, side - 1)
            P[s, a, s] += 0.6
            P[s, a, row * side + column] += 0.4
    r[rng.choice(S, 3, replace=False)] = [[1.0], [0.6], [0.3]]
    return gim.TabularMDP(P, r, horizon=30, variables=None)


def test_steps_that_fail_do_not_close_ways(monkeypatch):
    """Without the chance to leave, three of ten such runs end at .4 to .8 of the optimum.

    More doubt, since the world is small, opens some of them again.
    """
    monkeypatch.setattr(analogist, "FEW", 0)

    def share(seed):
        mdp = lazy(seed)
        run = gim.run("analogist", mdp, 200, seed=seed)
        return mdp.policy_return(run.best_policy()) / mdp.optimal_return()

    assert min(share(2), share(3)) > 0.95
    monkeypatch.setattr(analogist, "may_leave", lambda counts, n, surprise: np.zeros(n.size))
    assert max(share(2), share(3)) < 0.9


def test_one_visit_does_not_tell_what_all_inferred_next_states_pay():
    """Two next states pay 1 and 5: the variance over visits is 8, that of a triple 0."""
    counts = new_counts(2, 4, by_triple=True)
    for a, visits in ((0, 1), (1, 1), (2, 9), (3, 0)):
        for k in range(visits):
            count(counts, 0, a, 1.0, k % 2)
    for t, r in ((0, 1.0), (1, 5.0)):
        count(counts, 1, 0, r, t)
    n0, r_n0 = np.full((2, 4), 4.0), np.zeros((2, 4))
    r_n0[0, 1] = 4.0  # of this one the rewards are inferred, too
    prior = prior_of(np.full((2, 4, 2), 0.5), n0, r=np.zeros((2, 4)), r_n0=r_n0)
    belief = belief_of(counts, np.zeros(2, bool), prior)
    found = noise_by_pair(belief, counts.n + n0, 0.1).reshape(2, 4)
    pooled = 8.0 / (8 + 1)  # action 2 was met nine times and always paid 1
    assert found[0] == pytest.approx([pooled, 0.1, 0.1, 0.1])
    assert found[1] == pytest.approx([pooled, 0.1, 0.1, 0.1])
    assert (noise_by_pair(belief, counts.n * 1.0, 0.1) == 0.1).all()  # nothing is inferred
