"""Checks that any task must pass."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from gymnasium.utils.env_checker import check_env
from scipy import stats

from gim._compile.jit import entry
from gim.mdp.sampling import begin, step
from gim.mdp.tabular import TabularMDP

SURE = 1e-6  # a p-value below this is no accident, for fixed seeds and up to thousands of tests

# What packing must keep besides the transitions:
FACTS = ("rewards", "noise", "start", "terminal", "available", "horizon", "discount", "name")


def check_task(mdp: TabularMDP, draws: int = 400, seed: int = 0) -> None:
    """Check a task.

    The alias tables draw what the exact model says (chi-square per pair, and of the start); dense
    and sparse storage are the same MDP; saving and loading changes nothing (see `gim._base.files`);
    the Gymnasium form passes Gymnasium's own checker; exact facts are finite and consistent.

    Raises:
        AssertionError: with what does not hold.
    """
    _check_draws(mdp, draws, seed)
    best, worst = mdp.optimal_return(), mdp.random_return()
    assert np.isfinite([best, worst]).all(), f"{mdp}: optimum {best}, random {worst}: not finite"
    assert best >= worst - 1e-9 * max(1.0, abs(worst)), f"{mdp}: random beats the optimum"
    other = mdp.to_dense() if mdp.sparse else mdp.to_sparse()
    same = (other.rows() != mdp.rows()).nnz == 0 and np.allclose(other.rewards, mdp.rewards)
    same = same and bool(np.isclose(other.optimal_return(), best, rtol=1e-12))
    assert same, f"{mdp}: dense is not sparse"
    again = TabularMDP.unpack(*mdp.pack())
    changed = [] if (again.rows() != mdp.rows()).nnz == 0 else ["transitions"]
    changed += [k for k in FACTS if not np.array_equal(getattr(mdp, k), getattr(again, k))]
    assert not changed, f"{mdp}: packing changes {', '.join(changed)}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            check_env(mdp.to_gymnasium(), skip_render_check=True)
        except Exception as problem:  # an assertion of Gymnasium's, or one of its warnings
            raise AssertionError(f"{mdp}: as a Gymnasium environment: {problem}") from problem


def _check_draws(mdp: TabularMDP, draws: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    starts = np.zeros(mdp.S)
    counted = np.zeros((mdp.S, mdp.A, mdp.S))
    paid = np.zeros((mdp.S, mdp.A))
    _draw(mdp.world, mdp.available, draws, rng, starts, counted, paid)
    chi_square(starts, mdp.start, f"{mdp}: the start")
    dense = mdp.to_dense()
    for s, a in np.argwhere(mdp.available):
        chi_square(counted[s, a], dense.transitions[s, a], f"{mdp}: the pair ({s}, {a})")
    if mdp.rewards_next is None and mdp.noise is None:
        off = np.argwhere(mdp.available & ~np.isclose(paid / draws, mdp.rewards))
        assert not off.size, f"{mdp}: the pair {tuple(off[0].tolist())} pays another reward"


def chi_square(counted: np.ndarray, p: np.ndarray, what: str) -> None:
    """Check numbers of draws [K] against the probabilities [K] that they should have."""
    assert not counted[p == 0].any(), f"{what} leads where it has probability 0"
    n = counted.sum()
    few = (p > 0) & (p * n < 5)  # pooled into one cell, as the test needs
    cells = [(counted[k], p[k]) for k in np.flatnonzero((p > 0) & ~few)]
    if few.any():
        cells.append((counted[few].sum(), p[few].sum()))
    if len(cells) > 1:
        seen, chance = np.array(cells).T
        value = stats.chisquare(seen, chance / chance.sum() * n).pvalue
        assert value > SURE, f"{what}: p-value {value:.1e}"


@entry
def _draw(
    world: Any, available: Any, draws: int, rng: Any, starts: Any, counted: Any, paid: Any
) -> None:
    for _ in range(draws):
        starts[begin(world, rng)] += 1
    S, A = available.shape
    for s in range(S):
        for a in range(A):
            if available[s, a]:
                for _ in range(draws):
                    t, r, _end = step(world, s, a, rng)
                    counted[s, a, t] += 1
                    paid[s, a] += r
