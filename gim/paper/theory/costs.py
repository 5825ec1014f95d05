"""Computation and memory: Theorem 1, Lemma 1 and Section 6.3, as counts of operations and numbers.

What each comes to on real machines stands beside them in docs/theory.md.
"""

from __future__ import annotations

from typing import NamedTuple


class Computation(NamedTuple):
    """The three terms of Theorem 1, in operations."""

    planning: float  # phi, one dynamic-programming operation
    completing: float
    stepping: float

    @property
    def total(self) -> float:
        """Their sum."""
        return sum(self)


def computation(S: int, A: int, steps: int, sweeps: int) -> Computation:
    """Theorem 1 as printed: phi + S max(S, A) + steps, with phi = S A sweeps.

    Logarithms are left out, as the paper's tilde does. Two terms are too small as printed: see
    `computation_repaired`.

    Args:
        S, A: states and actions.
        steps: of the agent in its environment, over all episodes.
        sweeps: of dynamic programming, the paper's U; over a horizon they are H.

    Example:
        >>> computation(S=20, A=10, steps=100_000, sweeps=10).total
        102400.0
    """
    terms = S * A * sweeps, S * max(S, A), steps
    return Computation(*map(float, terms))


def computation_repaired(
    S: int, A: int, steps: int, sweeps: int, successors: int | None = None
) -> Computation:
    """Theorem 1 with what one sweep and one completion at least cost.

    A sweep sums over the successors of every pair: S A sweeps is the number of sums, not of
    operations. Completion has S + 1 matrices of S A entries, of which a share rho is known; to read
    and to write them takes S^2 A operations, whatever the method.

    Args:
        S, A, steps, sweeps: as in `computation`.
        successors: next states of a pair; S, if they are not few.
    """
    each = S if successors is None else successors
    terms = S * A * each * sweeps, (S + 1) * S * A, steps
    return Computation(*map(float, terms))


class PlanningOperations(NamedTuple):
    """Numbers of dynamic-programming operations (Lemma 1)."""

    gim: float
    rmax: float
    rtdp_rmax: float


def planning_operations(S: int, A: int, epsilon: float, v_max: float) -> PlanningOperations:
    """Lemma 1: one for GIM, S for RMax, S A v_max / epsilon for RTDP-RMAX.

    The paper prints S A epsilon / v_max for the last, upside down: each of the S A values starts
    at v_max and is updated only when it falls by epsilon or more, so at most v_max / epsilon times.
    """
    return PlanningOperations(1.0, float(S), S * A * v_max / epsilon)


class Space(NamedTuple):
    """Numbers that learners have to keep (Section 6.3)."""

    model_based: int  # S + 2 matrices of S x A
    sparse: int  # those of which only `nnz` entries are kept
    model_free: int  # one value a pair


def space(S: int, A: int, nnz: int | None = None) -> Space:
    """Section 6.3: S + 2 matrices of S x A, only what is not zero of them, or one value a pair.

    Args:
        S, A: states and actions.
        nnz: transitions of positive probability; S A S, if not given.

    Example:
        >>> space(S=20, A=10), space(S=10_000, A=4, nnz=120_000).sparse
        (Space(model_based=4400, sparse=4400, model_free=200), 200000)
    """
    met = S * S * A if nnz is None else nnz
    return Space((S + 2) * S * A, met + 2 * S * A, S * A)
