"""The default learner: its plan against a slow twin, and what it tests."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import gim
from gim.agents.analogist import act, hopeful_csr, hopeful_dense
from gim.inference.structure import Triples, candidates
from gim.jit import plain
from gim.model.rewards import most_to_come
from gim.planning.sweeps import rows_of
from gim.run import prepare

H, S, A = 6, 5, 3


def literal(N, n, r, noise, test, astray, ceiling, L, scales, width):
    """Q1 as the docstring of the module has it, of pairs that were all met or inferred."""
    scale, rare, of_rewards = scales
    p = N / n[:, :, None]
    V1, V0, q = np.zeros(S), np.zeros(S), np.zeros((H, S, A))
    for h in range(H - 1, -1, -1):
        variance = p @ V1**2 - (p @ V1) ** 2
        doubt = scale**2 * np.maximum(variance, 0) / n + of_rewards**2 * noise
        now = r + (H - h) * rare * width * L / n / 3 + np.sqrt(2 * L * doubt)
        costs = np.maximum(-p @ V0, 0.0)
        tested = np.where(test > 0, now + test + astray * costs + p @ V0, -np.inf)
        q[h] = np.minimum(np.maximum(now + p @ V1, tested), ceiling[h])
        V0 = np.minimum(now + p @ V0, ceiling[h]).max(axis=1)
        V1 = q[h].max(axis=1)
    return q


@pytest.mark.parametrize("shift", [0.0, -3.0])  # with costs the end is worth more than any state
@pytest.mark.parametrize("induct", [hopeful_dense, hopeful_csr, plain(hopeful_dense)])
def test_plan_with_one_test(induct, shift):
    rng = np.random.default_rng(4)
    N = rng.dirichlet(np.full(S, 0.5), (S, A)) * rng.integers(1, 9, (S, A, 1))
    n, r = N.sum(axis=2), rng.random((S, A)) + shift
    R, R2 = r * n, r**2 * n + 0.1
    test = rng.random((S, A)) * (rng.random((S, A)) < 0.4)
    astray = 2.0 * test
    low, high, L, scales, pooled = shift, shift + 1.0, 3.0, (0.2, 0.1, 0.3), 0.05
    noise = (0.1 + pooled) / (n + 1.0) / n
    plan = np.zeros((H, S, A)), np.zeros((H + 1, S)), np.zeros((H, S), np.int64)
    rows = rows_of(gim.TabularMDP(N / n[..., None], r).to_sparse().rows(), S, A)
    if induct is hopeful_csr:
        data, indices, indptr = rows
        rows = data * np.repeat(n.ravel(), np.diff(indptr)), indices, indptr
    else:
        rows = rows_of(N, S, A)
    frame = np.ones((S, A), bool), np.zeros(S, bool), (low, high)
    ceiling = most_to_come(H, high)
    seen = rows, n, R, R2, n
    induct(seen, frame, ceiling, test.ravel(), astray.ravel(), pooled, L, scales, plan)
    expected = literal(N, n, r, noise, test, astray, ceiling, L, scales, high - low)
    assert np.allclose(plan[0], expected)
    assert (plan[0].max(axis=2) == plan[1][:-1]).all()
    assert not np.allclose(plan[0], literal(N, n, r, noise, 0, astray, ceiling, L, scales, 1.0))


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
    fitted = candidates(triples)["variables"](triples)
    unmet = np.flatnonzero(~met.ravel())
    right = fitted.rows(unmet).toarray()[np.arange(len(unmet)), to.ravel()[unmet]]
    assert (right.min() > 0.9) == known


def test_a_prediction_knows_how_many_pairs_are_behind_it():
    to, _ = lottery(0)
    sizes = np.arange(to.size + 1)
    states = np.arange(len(to))[:, None]
    triples = Triples(sizes, to.ravel(), np.ones(to.size), np.ones(to.shape, bool), states)
    fitted = candidates(triples)["variables"](triples)
    pairs = np.arange(to.size)
    block = fitted.blocks[0]
    context = block.find(pairs)[1]
    many = np.bincount(block.stack.context[:, -1], minlength=context.max() + 1)[context]
    assert np.array_equal(fitted.support(pairs), np.log2(np.minimum(many, 8)).astype(int))
    assert (fitted.support(pairs, apart=True) <= fitted.support(pairs)).all()


def test_taxi_with_rewards_known_is_solved_in_a_few_hundred_steps():
    """The published protocol; without analogy a learner takes some 4,000 steps."""
    mdp = gim.make("taxi")
    run = prepare(gim.Analogist(), mdp, 100, 5001, rewards="known").pause_at(1000)
    probes = mdp.info["probes"]
    value = np.atleast_2d(mdp.value(np.asarray(run.best_policy())))[0, probes]
    assert np.allclose(value, mdp.plan().v[0, probes])
