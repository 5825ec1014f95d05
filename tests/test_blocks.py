"""Completion of blocks against that of whole matrices, and what it keeps out of memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import gim
from gim.model import dynamics
from gim.model.blocks import alike, complete_blocks, find_links
from gim.model.completion import ALS, Completed, completions
from gim.model.counts import new_known, review, transitions
from gim.model.projection import project_rows, project_simplex
from tests.naive_completion import project_simplex as nearest
from tests.sampled_counts import sampled

M = 6  # visits that make a pair known


class Steady:
    """ALS that starts each matrix alike, wherever it stands and whatever was drawn before."""

    by_matrix = True

    def __call__(self, matrices, weights, rng):
        method = ALS(rank=2, tolerance=1e-12)
        done = [method(m[None], weights, np.random.default_rng(0)) for m in matrices]
        filled = np.concatenate([each.matrices for each in done])
        return Completed(filled, 2, 1, 0.0, all(each.converged for each in done))


def local_world(S=14, A=5, ways=3, seed=0):
    """Each state leads to a few states, by every action with other probabilities."""
    rng = np.random.default_rng(seed)
    P = np.zeros((S, A, S))
    for s in range(S):
        next = rng.choice(S, ways, replace=False)
        P[s][:, next] = rng.dirichlet(np.ones(ways), A)
    return gim.TabularMDP(P, rng.random((S, A)), horizon=10)


def as_csr(counts):
    S, A = counts.n.shape
    N = transitions(counts)
    return sparse.csr_array(N.reshape(S * A, S)) if isinstance(N, np.ndarray) else N


def completed(mdp, counts, method, rows, monkeypatch=None, terminal=None):
    """Completed dynamics from whole matrices, or with a monkeypatch from blocks; P dense."""
    known = new_known(mdp.available, M, 0.8)
    review(known, counts, mdp.terminal if terminal is None else terminal)
    if monkeypatch is not None:
        monkeypatch.setattr(dynamics, "compact", as_csr)
    rng = np.random.default_rng(1)
    done = dynamics.complete(counts, known, method, "visited", rows, rng)
    assert sparse.issparse(done.P) == (monkeypatch is not None)
    return dynamics.dense(done.P, counts.n.shape), done, known.mask & ~known.terminal[:, None]


@pytest.mark.parametrize("seed", range(3))
def test_blocks_say_what_the_whole_matrices_say(seed, monkeypatch):
    """Every completed entry, of known and unknown pairs, with the rows left out and with them."""
    mdp = local_world(seed=seed)
    counts, _, n = sampled(mdp, 8, seed)
    assert 0.1 < (n < M).mean() < 0.6
    whole, one, mask = completed(mdp, counts, Steady(), "clip")
    blocks, two, _ = completed(mdp, counts, Steady(), "clip", monkeypatch)
    sees = mask.any(axis=1)
    assert sees.sum() > 10
    np.testing.assert_allclose(blocks[sees], whole[sees], atol=1e-9)
    np.testing.assert_allclose(two.r[sees], one.r[sees], atol=1e-9)
    assert one.doubtful == two.doubtful == 0


@pytest.mark.parametrize("method", [ALS(rank=2), ALS(rank=3, ridge=0.01)])
def test_where_a_block_is_the_whole_matrix_the_model_is_the_same(method, monkeypatch):
    mdp = local_world(S=6, A=8, ways=6)
    counts = sampled(mdp, 8, 2)[0]
    counts.next[:] += 1.0  # every known pair was seen to lead everywhere
    counts.n[:] += 6
    known = new_known(mdp.available, 13, 0.8)
    review(known, counts, mdp.terminal)
    assert 0.1 < known.mask.mean() < 0.9
    assert known.mask.any(axis=1).all()
    found = []
    for form in (dynamics.compact, as_csr):
        monkeypatch.setattr(dynamics, "compact", form)
        rng = np.random.default_rng(3)
        done = dynamics.complete(counts, known, method, "visited", "project", rng)
        found.append(dynamics.dense(done.P, counts.n.shape))
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)
    assert np.ptp(found[0]) > 0.3


def test_completed_rows_are_distributions_over_what_their_state_was_seen_to_lead_to(monkeypatch):
    mdp = local_world(seed=4)
    counts, N, _ = sampled(mdp, 8, 4)
    P, _, mask = completed(mdp, counts, Steady(), "project", monkeypatch)
    raw = _unclipped(counts, mask)
    for s in range(mdp.S):
        ways = np.flatnonzero((N[s] * mask[s][:, None]).any(axis=0))
        for a in range(mdp.A):
            if mask[s].any():
                np.testing.assert_allclose(P[s, a, ways], nearest(raw[s, a, ways]), atol=1e-9)
            assert P[s, a].sum() == pytest.approx(1)
            assert set(np.flatnonzero(P[s, a])) <= set(ways) or not mask[s].any()


def _unclipped(counts, mask):
    """What the method itself gives, from whole matrices."""
    p_hat = transitions(counts) / np.maximum(counts.n, 1)[:, :, None]
    data = np.ascontiguousarray(np.moveaxis(p_hat * mask[:, :, None], 2, 0))
    done = Steady()(data, mask.astype(float), None)
    return np.moveaxis(done.matrices, 0, 2)


def test_rewards_weigh_as_many_as_their_visits_and_known_ones_stand(monkeypatch):
    mdp = local_world(seed=7)
    counts, _, n = sampled(mdp, 8, 7)
    method = ALS(rank=2, tolerance=1e-12)
    _, done, mask = completed(mdp, counts, method, "project", monkeypatch)
    scale = np.abs(mdp.rewards[n > 0]).max()
    data = (mdp.rewards * (n > 0) / scale)[None]
    expected = scale * method(data, n, np.random.default_rng(0)).matrices[0]
    sees = mask.any(axis=1)
    np.testing.assert_allclose(done.r[sees], expected[sees], atol=1e-6)
    unweighted = scale * method(data, (n > 0) * 1.0, np.random.default_rng(0)).matrices[0]
    assert np.abs(unweighted - expected).max() > 0.01
    np.testing.assert_array_equal(done.paid, mask)


def test_states_of_which_completion_says_nothing(monkeypatch):
    mdp = local_world(S=8, A=3, seed=5)
    counts, N, _ = sampled(mdp, 40, 5)
    for s, a, visits in ((1, 0, 2), (1, 1, 0), (1, 2, 4), (3, 0, 0), (3, 1, 0), (3, 2, 0)):
        N[s, a] *= 0
        N[s, a, : visits // 2] = 2  # 1: one way by action 0, two by action 2
        counts.n[s, a] = N[s, a].sum()
        counts.R[s, a] = -0.5 * counts.n[s, a]
    counts.next[:] = N.ravel()
    ends = np.arange(8) == 6
    P, done, _ = completed(mdp, counts, Steady(), "project", monkeypatch, ends)
    assert done.blind.nonzero()[0].tolist() == [1, 3]
    np.testing.assert_allclose(P[1, :, :2], [[2 / 3, 1 / 3]] * 3)  # the mean of its six visits
    np.testing.assert_allclose(done.r[1], -0.5)
    np.testing.assert_allclose(P[3, :, 3], 1)  # never left: stays, and pays the least
    np.testing.assert_allclose(done.r[3], -0.5)
    np.testing.assert_allclose(P[6, :, 6], 1)  # an end
    assert not done.r[6].any()
    np.testing.assert_allclose(P.sum(axis=2), 1)


def test_blocks_with_the_same_holes_are_found_together():
    mdp = local_world(S=30, A=2, seed=6)
    counts, _, n = sampled(mdp, 8, 6)
    mask = n >= M
    kind = np.unique(mask, axis=0, return_inverse=True)[1].ravel()
    links = find_links(as_csr(counts), mask, kind)
    met = {(t, s) for s, a, t in zip(*np.nonzero(transitions(counts)), strict=True) if mask[s, a]}
    assert set(zip(links.next.tolist(), links.state.tolist(), strict=True)) == met
    groups = list(alike(links, kind))
    assert sorted(np.concatenate([g.ravel() for g in groups])) == list(range(len(met)))
    holes = set()
    for group in groups:
        for block in group:
            assert len(set(links.next[block])) == 1
            assert block.size == (links.next == links.next[block[0]]).sum()
            np.testing.assert_array_equal(mask[links.state[block]], mask[links.state[group[0]]])
        holes.add(mask[links.state[group[0]]].tobytes() + bytes([group.shape[1]]))
    assert len(holes) == len(groups) < 25


def test_those_that_do_not_converge_are_counted_one_by_one():
    """A method that tells of all matrices at once fails wherever one entry is the largest."""
    mdp = local_world(S=30, A=2, seed=6)
    counts, _, n = sampled(mdp, 8, 6)
    mask = n >= M
    p_hat = as_csr(counts)
    p_hat.data /= np.repeat(np.maximum(n, 1).ravel(), np.diff(p_hat.indptr))
    by_next = np.moveaxis(p_hat.toarray().reshape(30, 2, 30), 2, 0) * mask

    def picky(matrices, weights, rng):
        return Completed(matrices, 1, 1, 0.0, not (matrices.max(axis=(1, 2)) > 0.7).any())

    filled = complete_blocks(p_hat, mask, picky, "project", np.random.default_rng(0))
    assert filled.doubtful == (by_next.max(axis=(1, 2)) > 0.7).sum() > 0


def test_sparse_rows_are_projected_as_dense_ones_are():
    rng = np.random.default_rng(0)
    P = rng.normal(0.2, 0.4, (40, 7))
    P[3] = 0.0
    full = sparse.csr_array((P.ravel(), np.tile(np.arange(7), 40), np.arange(0, 281, 7)))
    before = full.copy()
    np.testing.assert_array_equal(project_rows(full).toarray(), project_simplex(P))
    assert (full != before).nnz == 0
    some = sparse.csr_array(([0.5, 0.7, -0.1, 2.0], [1, 3, 4, 2], [0, 3, 3, 4]), shape=(3, 6))
    np.testing.assert_allclose(
        project_rows(some).toarray(), [[0, 0.4, 0, 0.6, 0, 0], [0] * 6, [0, 0, 1, 0, 0, 0]]
    )


# -- whole runs


def grid(side, horizon):
    world = gim.make("gridworld", height=side, width=side, slip=0.2, horizon=horizon)
    return world.with_(start=np.full(world.S, 1 / world.S))


@pytest.mark.filterwarnings("ignore:.*never had a known action")
def test_gim_finds_its_way_where_states_have_few_ways():
    """Whole matrices, projected over all states, lose .35 to .42 of what there is to win here."""
    world = grid(24, 300)
    for seed in (0, 2):
        run = gim.run("gim:m=10", world, 250, seed=seed)
        assert run.explored_at is not None
        best, plain = world.optimal_return(), world.random_return()
        gap = (best - world.policy_return(run.policy)) / (best - plain)
        assert gap < 0.05, seed


@pytest.mark.filterwarnings("ignore:.*never had a known action")
def test_gim_makes_no_array_by_next_state():
    world = grid(50, 20)
    gim.run("gim:m=1,rho=0.2", world, 400, seed=0)
    tracemalloc.start()
    try:
        run = gim.run("gim:m=1,rho=0.2", world, 400, seed=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert run.plans == 1
    assert peak < 25e6  # one array of S*S numbers takes 50 MB, all matrices 200


def test_who_works_on_blocks():
    """Those that share factors between matrices cannot; a bare function is not asked to."""
    names = {name for name in completions.names() if completions[name].by_matrix}
    assert names == {"als", "optspace"}
    assert not dynamics.by_matrix(lambda *_: None)
