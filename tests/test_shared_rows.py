"""A dense prior read apart from the counts: the same sums, evidence and plans as put together."""

import numpy as np
import pytest
from scipy import sparse

import gim
from gim._compile.jit import plain
from gim.agents import analogist
from gim.agents.backups import sums_apart, sums_csr
from gim.analogy.prior import no_prior, prior_of
from gim.belief import evidence as module
from gim.belief.evidence import Apart, evidence, is_dense, shared_rows
from gim.model.counts import new_counts
from gim.runs.run import prepare

S, A = 7, 5


def made_up(seed, rewards=True):
    """Counts and a prior whose rows are shared: by action, one by a single pair, some by none."""
    rng = np.random.default_rng(seed)
    N = rng.poisson(0.4, (S, A, S)).astype(float) * (rng.random((S, A, 1)) < 0.6)
    pays = rng.normal(size=(S, A, S))
    counts = new_counts(S, A, by_triple=True)
    counts.n[:], counts.next[:] = N.sum(axis=2), N.ravel()
    counts.paid[:], counts.paid2[:] = (N * pays).ravel(), (N * pays**2).ravel()
    counts.R[:], counts.R2[:] = (N * pays).sum(axis=2), (N * pays**2).sum(axis=2)
    q = np.tile(rng.dirichlet(np.ones(S), A) * (rng.random((A, S)) < 0.8), (S, 1, 1))
    q[2, 1] = rng.random(S)
    q /= q.sum(axis=2, keepdims=True)
    n0 = np.where(rng.random((S, A)) < 0.8, 3.0, 0.0)
    n0[2, 1] = 1.5
    rows = sparse.csr_array((q * (n0 > 0)[:, :, None]).reshape(S * A, S))
    more = {"doubt": np.full((S, A), 0.2), "leak": np.full((S, A), 0.1)}
    if rewards:
        more["r_n0"] = np.where(rng.random((S, A)) < 0.7, 1.0, 0.0)
        more["r_next"] = rng.normal(size=rows.data.size)
        more["r_noise"] = np.full((S, A), 0.3)
    return counts, prior_of(rows, n0, **more)


def test_rows_are_kept_once():
    _, prior = made_up(0)
    found = shared_rows(prior)
    speaks = prior.n0.ravel() > 0
    assert len(np.unique(found.kind[speaks])) == A + 1  # by action, and the pair that differs
    assert found.columns.shape == (S, A + 1 + (~speaks).any())
    table = prior.rows().toarray()
    for i in range(S * A):
        np.testing.assert_array_equal(found.columns[:, found.kind[i]], table[i])


@pytest.mark.parametrize("rewards", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_evidence_apart_is_evidence_together(seed, rewards):
    counts, prior = made_up(seed, rewards)
    terminal = np.arange(S) == 3
    rows = shared_rows(prior)
    together, apart = (
        evidence(counts, prior, terminal),
        evidence(counts, prior, terminal, rows=rows),
    )
    assert isinstance(apart.N, Apart)
    met = sparse.csr_array(apart.N.met, shape=(S * A, S)).toarray()
    said = apart.N.n0[:, None] * rows.columns.T[rows.kind]
    np.testing.assert_allclose(met + said, together.N.reshape(S * A, S), atol=1e-12)
    for name in ("n", "R", "R2", "n_r"):
        np.testing.assert_allclose(getattr(apart, name), getattr(together, name), atol=1e-12)


def test_sums_apart_are_sums_together():
    """Compiled and plain, to the bit."""
    rng = np.random.default_rng(1)
    pairs, kinds = 40, 19
    q = rng.random((kinds, S)) * (rng.random((kinds, S)) < 0.7)
    kind, n0 = rng.integers(0, kinds, pairs), rng.random(pairs) * (rng.random(pairs) < 0.8)
    columns = np.ascontiguousarray(q.T)
    N = rng.poisson(0.5, (pairs, S)).astype(float)
    v, v0 = rng.normal(size=(2, S))

    def parts(table):
        rows = sparse.csr_array(table)
        return rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)

    expected, found, slow = np.zeros((3, 3, pairs))
    sums_csr(parts(N + n0[:, None] * q[kind]), v, v0, True, *expected)
    room = tuple(np.empty((3, kinds)))
    sums_apart((parts(N), n0, kind, columns, *room), v, v0, True, *found)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    plain(sums_apart)((parts(N), n0, kind, columns, *room), v, v0, True, *slow)
    np.testing.assert_array_equal(found, slow)


def test_which_priors_are_read_apart(monkeypatch):
    """Those of many successors a pair, in worlds whose table of counts is large and dense."""
    counts, prior = made_up(0)
    assert not is_dense(counts, prior)
    monkeypatch.setattr(module, "LARGE", 1)
    assert is_dense(counts, prior)
    assert not is_dense(counts, no_prior(S, A))
    assert not is_dense(counts, prior_of(np.eye(S)[:, None].repeat(A, 1), np.ones((S, A))))
    assert not is_dense(counts, prior._replace(n0=np.where(prior.n0 > 0, np.inf, 0.0)))


def learned(episodes):
    """A run in a world whose prior is dense."""
    world = gim.make("shared_factors", S=12, A=4, horizon=6)
    run = prepare(gim.Analogist(), world, episodes, seed=0)
    run.go()
    return run


def test_a_plan_apart_is_a_plan_together(monkeypatch):
    run = learned(60)
    memory, mind = run.memory, run.mind
    assert memory.belief.prior.speaks
    agent, plans = gim.Analogist(), []
    for large in (1 << 20, 1):
        monkeypatch.setattr(module, "LARGE", large)
        mind.rng = np.random.default_rng(5)
        seen = agent.evidence(memory.belief, mind)
        assert isinstance(seen.N, Apart) == (large == 1)
        agent.plan(memory, seen, (0.0, 1.0), mind)
        plans.append(memory.q.copy())
    np.testing.assert_allclose(plans[1], plans[0], rtol=1e-9, atol=1e-9)


def test_plans_wait_for_as_many_steps_as_they_cost(monkeypatch):
    """Apart: none inside an episode, and none between two while they cost more than it may."""
    monkeypatch.setattr(module, "LARGE", 1)
    plans = {}
    for work in (1 << 20, 1 << 9, 1 << 8):
        monkeypatch.setattr(analogist, "WORK", work)
        plans[work] = learned(60).plans
    many, some, few = plans.values()
    assert many > 60 > some > few > 10


def test_a_large_prior_is_inferred_anew_when_visits_have_doubled(monkeypatch):
    """Not when they have grown by half, though most pairs were never met."""
    world = gim.make("shared_factors", S=12, A=20, horizon=10)
    grown = {}
    for costly in (1 << 20, 1):
        monkeypatch.setattr("gim.belief.knowledge.COSTLY", costly)
        run = prepare(gim.Analogist(), world, 8, seed=0)
        due, seen = [10], []
        while not run.finished:
            run.pause_at(run.steps + 1)
            belief = run.memory.belief
            if belief.infer_at[0] != due[-1] and belief.prior.speaks:
                seen.append(belief.infer_at[0] / belief.visits[0])
            due.append(int(belief.infer_at[0]))
        grown[costly] = seen
    small, large = grown.values()
    assert min(small) < 1.6
    assert min(large) > 1.9
