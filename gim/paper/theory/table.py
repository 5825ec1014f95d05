"""All of the theory for one task: a row of the table in docs/theory.md."""

from __future__ import annotations

from math import ceil
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from gim.model.matrices import THRESHOLD, dynamic_matrices, spectrum
from gim.paper.theory.samples import (
    exploration_bound,
    known_fraction,
    known_threshold,
    sample_complexity,
    sample_complexity_rmax,
)


class Row(NamedTuple):
    """The theory of one task, with constants set to 1: a row of the table in docs/theory.md."""

    name: str
    S: int
    A: int
    H: int
    r: int
    kappa: float
    mu0: float  # in Keshavan's scaling
    mu1: float
    rho: float  # Theorem 2's; above 1 it asks for the impossible
    m: float  # Theorem 2's, at min(rho, 1)
    episodes: float  # Theorem 2's sample complexity
    episodes_rmax: float
    explore: float  # Lemma 2's episodes, at m = 40 and rho = .8


def table(
    name: str,
    P: Any,
    r: ArrayLike,
    H: int,
    D: float,
    epsilon: float = 0.1,
    delta: float = 0.05,
    beta: float = 0.2,
    with_rewards: bool = True,
    threshold: float = THRESHOLD,
) -> Row:
    """Work out the theory of one task.

    Args:
        name: of the task.
        P: transitions [S, A, S], or sparse [S*A, S].
        r: rewards [S, A].
        H: the horizon.
        D: the diameter.
        epsilon, delta: what the theorem is asked for.
        beta: the share of random actions.
        with_rewards: whether the reward matrix counts among the dynamic matrices, as the paper
            has it; rewards of very different size give it a large kappa.
        threshold: of the numerical rank.
    """
    matrices = dynamic_matrices(P, r)
    _, S, A = matrices.shape
    supremum = spectrum(matrices if with_rewards else matrices[:-1], threshold).suprema()
    kappa, rank = supremum.kappa, supremum.rank
    mu0, mu1 = supremum.mu0.keshavan, supremum.mu1.keshavan
    rho = known_fraction(S, A, kappa, rank, mu0, mu1)
    return Row(
        name,
        S,
        A,
        H,
        rank,
        kappa,
        mu0,
        mu1,
        rho,
        ceil(known_threshold(S, A, H, kappa, rank, epsilon, min(rho, 1.0))),
        sample_complexity(S, A, H, D, kappa, rank, epsilon, delta, beta),
        sample_complexity_rmax(S, A, H, epsilon, delta),
        exploration_bound(S, A, H, D, 40, 0.8, beta, delta),
    )
