"""Agents in worlds whose tables by next state would be large: sparse draws, plans with a pause."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import gim
from gim._compile.jit import plain
from gim.agents import analogist, episodic
from gim.agents.psrl import Conjugate, draw_csr
from gim.analogy.analogy import Analogy
from gim.analogy.base import Frame
from gim.belief.evidence import Evidence
from gim.model import dynamics
from gim.model.counts import DENSE_LIMIT
from gim.runs.agent import agents
from gim.runs.run import prepare

# -- posterior sampling in sparse rows

S = 8
MET, NEXT = np.array([3.0, 1.0]), np.array([2, 5])  # visits of each pair, and where they led


def seen(A):
    """Counts of S*A pairs that are all alike, as evidence with CSR rows."""
    rows = np.tile(MET, S * A), np.tile(NEXT, S * A), 2 * np.arange(S * A + 1)
    return Evidence(rows, *[np.zeros((S, A))] * 4)


def prior(alpha):
    return Conjugate(alpha, 0.0, 0.1, 1.0, 1.0)


@pytest.mark.parametrize("alpha", [0.5, 1.5, 6.0])
def test_sparse_rows_have_the_moments_of_the_dirichlet_over_all_states(alpha):
    A = 6000
    playable = np.ones((S, A), bool)
    *parts, _ = draw_csr(seen(A), playable, prior(alpha), 1e-9, np.random.default_rng(0))
    P = sparse.csr_array(tuple(parts), shape=(S * A, S)).toarray()
    a = np.full(S, alpha / S)
    a[NEXT] += MET
    mean, total = a / a.sum(), a.sum()
    assert np.allclose(P.sum(axis=1), 1)
    assert np.allclose(P.mean(axis=0), mean, atol=0.004)
    assert np.allclose(P.var(axis=0), mean * (1 - mean) / (total + 1), rtol=0.06)
    together = (P[:, 0] * P[:, 1]).mean()  # of two states that were not met
    assert together == pytest.approx(a[0] * a[1] / (total * (total + 1)), rel=0.15)


def test_where_nothing_was_met_every_state_is_drawn():
    rows = np.zeros(0), np.zeros(0, np.int64), np.zeros(5, np.int64)
    nothing = Evidence(rows, *[np.zeros((2, 2))] * 4)
    given = nothing, np.ones((2, 2), bool), prior(4.0), 0.0
    p, next, first, _ = draw_csr(*given, np.random.default_rng(0))
    assert first.tolist() == [0, 2, 4, 6, 8]
    assert np.sort(next.reshape(4, 2)).tolist() == [[0, 1]] * 4
    assert np.allclose(p.reshape(4, 2).sum(axis=1), 1)


def test_sparse_rows_hold_all_but_a_little():
    playable = np.ones((S, 5), bool)
    playable[3, 4] = False
    versions = [
        version(seen(5), playable, prior(1.0), 1e-2, np.random.default_rng(1))
        for version in (draw_csr, plain(draw_csr))
    ]
    for one, two in zip(*versions, strict=True):  # powers and exponentials round differently
        assert one == pytest.approx(two, rel=1e-12, abs=1e-12)
    p, next, first, r = versions[0]
    for i in range(S * 5):
        row = next[first[i] : first[i + 1]]
        assert len(set(row.tolist())) == row.size
        assert row.size == 0 if i == 3 * 5 + 4 else list(row[:2]) == [2, 5]
    assert r[3, 4] == 0
    sizes = np.diff(first)
    assert sizes.max() < S  # no row names them all
    assert np.allclose(np.add.reduceat(p, first[:-1][sizes > 0]), 1)


# -- no agent asks for a dense table


SIDE = 46


def grid():
    world = gim.make("gridworld", height=SIDE, width=SIDE, slip=0.2, horizon=20)
    assert world.S * world.A * world.S > DENSE_LIMIT
    return world


@pytest.mark.parametrize("agent", ["psrl", "ucbvi", "rmax:m=2", "analogist"])
def test_no_dense_table_is_made(agent):
    world = grid()
    gim.run(agent, world, 1, seed=0)
    tracemalloc.start()
    try:
        run = gim.run(agent, world, 4, seed=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert run.finished
    assert peak < 60e6  # a table by next state would take 143 MB


def test_an_inference_in_a_large_world_names_no_row_of_all_states():
    """A fold of marginal rows, dense, would take 10 MB, and four times that to be made."""
    world = grid()
    world = world.with_(start=np.full(world.S, 1 / world.S))
    counts = gim.run("rmax:m=1", world, 150, seed=0).memory.belief.counts
    assert np.count_nonzero(counts.n) > 2400
    frame = Frame(world.available, world.terminal, world.reward_range)
    infer = Analogy()
    infer(counts, frame, np.random.default_rng(0))
    tracemalloc.start()
    try:
        infer(counts, frame, np.random.default_rng(0))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40e6  # 23 MB; 65 with them


def test_psrl_plans_alike_on_sparse_and_dense_draws(monkeypatch):
    """Not the same draws, but the same learner."""
    world = gim.make("riverswim")
    scores = []
    for limit in (DENSE_LIMIT, 0):
        monkeypatch.setattr("gim.agents.psrl.DENSE_LIMIT", limit)
        monkeypatch.setattr("gim.model.counts.DENSE_LIMIT", limit)
        run = gim.run("psrl", world, 600, seed=3)
        scores.append(world.score(run.returns[300:]))
    assert min(scores) > 0.9
    assert scores[0] != scores[1]


# -- plans inside an episode


def test_plans_inside_an_episode_keep_a_pause_in_large_worlds(monkeypatch):
    world = gim.make("gridworld", height=6, width=6, horizon=40)
    plans = {}
    for work in (1 << 17, 36 * 4 * 40 // 8, 1):
        monkeypatch.setattr(episodic, "WORK", work)
        plans[work] = gim.run("analogist", world, 3, seed=0).plans
    assert plans[1 << 17] > 60  # at the first visit of a pair, at once
    assert 4 < plans[720] <= 4 + 3 * 40 / 8  # no two within 8 steps, but between episodes
    assert plans[1] == 4  # before the first and after each


def noted(planned, induct):
    """A plan that also says for which steps it is made."""

    def plan(*args):
        planned.append(args[-3:-1])
        induct(*args)

    return plan


def test_plans_inside_an_episode_look_some_steps_ahead_and_survive_a_file(monkeypatch, tmp_path):
    """What comes later is as the last whole plan left it; a resumed run knows which that was."""
    monkeypatch.setattr(episodic, "WORK", 600)  # a whole plan would wait for 9 steps
    monkeypatch.setattr(analogist, "AHEAD", 5)
    planned = []
    for form in ("doubting_dense", "doubting_csr"):
        monkeypatch.setattr(analogist, form, noted(planned, getattr(analogist, form)))
    world = gim.make("gridworld", height=6, width=6, horizon=40)
    whole = gim.run("analogist", world, 6, seed=0)
    inside = [steps for steps in planned if steps[0] > 0]
    assert {last - first for first, last in inside if last < 40} == {5}
    assert all(last == 40 for first, last in planned if first == 0)
    assert any(last == 40 for first, last in inside if first < 35)  # after an inference
    for steps in (30, 75, 130):
        run = prepare(agents.make("analogist"), world, 6, 0).pause_at(steps)
        run.save(tmp_path / "run.npz")
        assert np.array_equal(gim.run(resume=tmp_path / "run.npz").returns, whole.returns)


@pytest.mark.parametrize("agent", ["analogist", "ucbvi:growth=0.5"])
def test_small_worlds_know_no_pause(agent):
    world = gim.make("gridworld", horizon=50)
    assert episodic.pause(world.S, world.A, world.horizon) == 0
    assert episodic.pause(10_000, 4, 100) == 30
    assert gim.run(agent, world, 20, seed=1).finished


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_cannot_be_completed_is_refused_before_exploring(monkeypatch):
    """Three copies would not do: counted, as data, completed, as distributions.

    Two visits of two actions show four successors at most, so a block has no more rows than that.
    """
    mdp = gim.make("riverswim")
    ways = {
        "m=3": (6, "smaller m"),
        "m=2": (4, "smaller m"),
        "m=2,completion=tucker": (6, "als works"),
    }
    for options, (rows, way) in ways.items():
        needed = 4 * 8 * mdp.S * rows * mdp.A
        monkeypatch.setattr(dynamics, "available_memory", lambda needed=needed: needed)
        assert gim.run(f"gim:{options}", mdp, 1).steps == mdp.horizon
        monkeypatch.setattr(dynamics, "available_memory", lambda needed=needed: needed - 1)
        with pytest.raises(ValueError, match=f"6 matrices of {rows} x 2 takes 0 GiB.*{way}"):
            gim.run(f"gim:{options}", mdp, 1)
    assert gim.run("gim:rho=1", mdp, 2).steps == 2 * mdp.horizon
