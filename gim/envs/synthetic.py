"""Random MDPs with dynamic matrices of low rank: the generator of the paper's code."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from gim._base.params import OneOf, Within
from gim.envs.base import check_entries, rewards_of_states, task
from gim.envs.factors import draw_basis, mu1_of, with_mu0, with_mu1
from gim.mdp.tabular import TabularMDP

Floats = NDArray[np.float64]

MU0 = 2.0  # the largest that is drawn where none is asked for
DRAWS = 20  # of a pair of bases, to come below the mu1 asked for


@task("gim/Synthetic-v0", examples=("S=6,A=4",))
def synthetic(
    S: Annotated[int, Within(2), "states"] = 20,
    A: Annotated[int, Within(1), "actions"] = 10,
    rank: Annotated[int, Within(1), "rank of every matrix before clipping"] = 2,
    mu0: Annotated[float | None, Within(1), "its mu0 (Keshavan's scaling); none: 2 at most"] = None,
    mu1: Annotated[float | None, Within(0), "its mu1 (Keshavan's scaling), instead of mu0"] = None,
    kappa: Annotated[float, Within(0), "spread of its singular values"] = 2.0,
    rewards: Annotated[str, OneOf("pair", "state"), "what a reward depends on"] = "pair",
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 10,
    seed: Annotated[int, Within(0), "draws the MDP"] = 0,
) -> TabularMDP:
    """Draw an MDP the way the paper's code does.

    ## Description
    Each of the S+1 dynamic matrices is U diag(sigma) V^T. U and V are the first `rank` left
    singular vectors of uniform matrices, drawn until mu0 is at most 2. The singular values: one
    uniform in [0, 1), each next larger by a factor 1 + kappa u / (rank - 1) for a uniform u. The
    transition matrices are clipped at 0, then every p(.|s,a) is normalised; the reward matrix is
    left as drawn.

    Clipping and normalising change what was asked for: at rank 2 the matrices have full rank, with
    1 to 2 % of their energy beyond rank 2. `info["asked"]` keeps the one and `info["realised"]`
    the other: the `energy` beyond the rank asked for, the `rank` (singular values above 1e-9 of
    the largest), and kappa (sigma_1 / sigma_rank), mu0 and mu1 of the best approximation of the
    rank asked for; medians and suprema over the matrices.

    On this task the greedy policy argmax_a r(s,a) is all but optimal: use `rewards="state"` to
    test whether the dynamics were learned.

    ## Action Space
    `Discrete(A)`.

    ## Observation Space
    `Discrete(S)`.

    ## Starting State
    State 0.

    ## Rewards
    `pair`: the reward matrix r(s,a), of either sign. `state`: u^6 of the state for a uniform u,
    scaled to a maximum of 1.

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `S`, `A`, `rank` (at most min(S, A)), `kappa`, `rewards`, `horizon` and `seed`. `mu0` (from 1 to
    max(S, A) / rank) or `mu1` (to sqrt(S A / rank)) ask for an incoherence before clipping: bases
    below it are drawn, then rows are scaled until it is met. Where V (or U) cannot reach mu0, being
    too short, it goes as far as it can. A pair that clipping leaves without any successor is given
    all of them alike.

    ## Version History
    * v0: first version
    """
    check_entries("synthetic", S * A * S)
    _check(S, A, rank, mu0, mu1)
    rng = np.random.default_rng(seed)
    drawn = np.array([_matrix(rng, S, A, rank, mu0, mu1, kappa) for _ in range(S + 1)])
    weights = drawn[:S].clip(min=0).transpose(1, 2, 0)  # [S, A, S]
    total = weights.sum(axis=2, keepdims=True)
    P = np.where(total > 0, weights / np.where(total > 0, total, 1), 1 / S)
    r = drawn[S] if rewards == "pair" else rewards_of_states(rng, S, A)
    matrices = np.concatenate([P.transpose(2, 0, 1), r[None]])
    info = {
        "asked": {"rank": rank, "mu0": mu0, "mu1": mu1, "kappa": kappa},
        "realised": realised(matrices, rank),
    }
    return TabularMDP(P, r, start=0, horizon=horizon, info=info)


def _matrix(
    rng: np.random.Generator,
    S: int,
    A: int,
    rank: int,
    mu0: float | None,
    mu1: float | None,
    kappa: float,
) -> Floats:
    """One dynamic matrix [S, A], before clipping."""
    growth = 1 + kappa * rng.random(rank - 1) / max(rank - 1, 1)
    sigma = (rng.random() * np.append(1.0, growth).cumprod())[::-1]
    limit = MU0 if mu0 is None else mu0
    U, V = draw_basis(rng, S, rank, limit), draw_basis(rng, A, rank, limit)
    if mu0 is not None:
        U, V = with_mu0(U, mu0), with_mu0(V, mu0)
    if mu1 is not None:
        for _ in range(DRAWS):
            if mu1_of(U, sigma, V) <= mu1:
                break
            U, V = draw_basis(rng, S, rank, limit), draw_basis(rng, A, rank, limit)
        else:
            least = mu1_of(U, sigma, V)
            raise ValueError(f"synthetic: mu1 = {mu1:g}: random matrices have about {least:.2f}")
        U, V = with_mu1(U, sigma, V, mu1)
    return U * sigma @ V.T


def realised(matrices: Floats, rank: int) -> dict[str, Any]:
    """Spectral properties of matrices [K, S, A], as medians and suprema over them."""
    _, S, A = matrices.shape
    U, sigma, Vt = np.linalg.svd(matrices, full_matrices=False)
    largest = np.where(sigma[:, 0] > 0, sigma[:, 0], 1)
    head = sigma[:, :rank]
    Ur, Vr = U[:, :, :rank], Vt[:, :rank].transpose(0, 2, 1)
    peaks = np.stack([(Ur**2).sum(2).max(1) * S, (Vr**2).sum(2).max(1) * A]) / rank
    shape = np.einsum("ksr,kr,kar->ksa", Ur, head / largest[:, None], Vr)
    energy = 1 - (head**2).sum(1) / np.maximum((sigma**2).sum(1), np.finfo(float).tiny)
    facts = {
        "rank": (sigma > 1e-9 * largest[:, None]).sum(1),
        "energy": np.clip(energy, 0, 1),
        "kappa": head[:, 0] / np.maximum(head[:, -1], 1e-12 * largest),
        "mu0": peaks.max(0),
        "mu1": np.abs(shape).max((1, 2)) * np.sqrt(S * A / rank),
    }
    return {
        name: {"median": float(np.median(values)), "supremum": float(values.max())}
        for name, values in facts.items()
    }


def _check(S: int, A: int, rank: int, mu0: float | None, mu1: float | None) -> None:
    def refuse(name: str, value: float, rule: str) -> None:
        raise ValueError(f"synthetic: {name} = {value:g}: {rule}")

    if rank > min(S, A):
        refuse("rank", rank, f"an {S} x {A} matrix has at most {min(S, A)}")
    if mu0 is not None and mu1 is not None:
        refuse("mu1", mu1, "give mu0 or mu1, not both: one follows from the other")
    if mu0 is not None and mu0 > max(S, A) / rank:
        refuse("mu0", mu0, f"at rank {rank} it is at most {max(S, A) / rank:g}")
    if mu1 is not None and mu1 > np.sqrt(S * A / rank):
        refuse("mu1", mu1, f"at rank {rank} it is at most {np.sqrt(S * A / rank):.6g}")
