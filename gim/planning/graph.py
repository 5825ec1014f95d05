"""Where an MDP can lead, and how long that takes: reachable states and the diameter."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components, shortest_path

from gim.planning.checks import checked_tolerance
from gim.planning.linear import flat, solve_linear
from gim.planning.sweeps import pairs_of
from gim.planning.types import Bools, Dynamics, Ints

BATCH = 256  # targets that are swept together
SWEEPS = 100  # over a batch, before what is left is solved target by target
POLICIES = 1000  # for one target; a handful is usual


def reachable(mdp: Dynamics) -> Bools:
    """Which states some policy can reach from the start, in any number of steps, [S]."""
    graph, starts = _graph(mdp), np.flatnonzero(mdp.start)
    # One more node, before the start, leads to every first state.
    rooted = sparse.csr_array(
        (
            np.ones(graph.nnz + starts.size),
            np.append(graph.indices, starts),
            np.append(graph.indptr, graph.nnz + starts.size),
        ),
        shape=(mdp.S + 1, mdp.S + 1),
    )
    found = np.zeros(mdp.S + 1, np.bool_)
    found[breadth_first_order(rooted, mdp.S, return_predecessors=False)] = True
    return found[: mdp.S]


def diameter(mdp: Dynamics, tolerance: float = 1e-9) -> float:
    """D: the longest of the fastest ways from one state to another (Jaksch et al. 2010).

    The largest, over ordered pairs of different states, of the least expected number of steps from
    the one to the other. It is infinite if some state cannot reach another; so it is with a
    terminal state, which is never left, beside any other. Of a single state it is 0.

    For one target, h = 1 + min_a P h (and h = 0 there) is solved in two ways. First for many
    targets together, by sweeps from below: if all changes of a sweep from h lie in [low, high],
    the solution lies between h / (1 - low) and h / (1 - high), because P h scales with h and the 1
    does not. So h is raised to its lower bound, and a target whose upper bound is out of the race
    is dropped. What is left after 100 sweeps is solved by policy iteration, from the policy that
    follows the fewest steps.

    Args:
        mdp: the MDP.
        tolerance: the relative error of the result, as far as rounding allows.
    """
    checked_tolerance(tolerance)
    if mdp.S == 1:
        return 0.0
    graph = _graph(mdp)
    if connected_components(graph, connection="strong", return_labels=False) > 1:
        return np.inf
    longest, left = 1.0, []
    for first in range(0, mdp.S, BATCH):
        targets = np.arange(first, min(first + BATCH, mdp.S))
        longest, rest = _sweep(mdp, targets, longest, tolerance)
        left += rest
    P = sparse.csr_array(flat(mdp)) if left else None
    for upper, target in sorted(left, reverse=True):
        if upper > longest * (1 + tolerance):
            hops = shortest_path(graph.T, unweighted=True, indices=target)
            longest = max(longest, _solve(mdp, P, target, hops, tolerance))
    return longest


def _graph(mdp: Dynamics) -> sparse.csr_array:
    """Which states may follow which, [S, S]."""
    P = mdp.transitions
    if not sparse.issparse(P):
        return sparse.csr_array((P > 0).any(axis=1).astype(np.float64))
    # The rows of one state's actions lie side by side: together they are the row of the state.
    parts = (P.data > 0).astype(np.float64), P.indices.copy(), P.indptr[:: mdp.A].copy()
    graph = sparse.csr_array(parts, shape=(mdp.S, mdp.S))
    graph.sum_duplicates()
    graph.eliminate_zeros()
    return graph


def _sweep(
    mdp: Dynamics, targets: Ints, longest: float, tolerance: float
) -> tuple[float, list[tuple[float, int]]]:
    """The longest way found, from below, and the targets that may have a longer one."""
    P = flat(mdp)
    closed = np.where(mdp.available, 0.0, np.inf)[:, :, None]
    h = np.ones((mdp.S, targets.size))
    upper = np.full(targets.size, np.inf)
    for _ in range(SWEEPS):
        at = targets, np.arange(targets.size)
        h[at] = 0
        ahead = ((P @ h).reshape(mdp.S, mdp.A, -1) + closed).min(axis=1)
        change = 1 + ahead - h
        change[at] = np.inf
        low = np.minimum(change.min(axis=0), 1 - 1e-6)
        change[at] = -np.inf
        high = np.minimum(change.max(axis=0), 1)
        farthest = h.max(axis=0)
        longest = max(longest, float((farthest / (1 - low)).max()))
        with np.errstate(divide="ignore"):
            upper = farthest / (1 - high)
        keep = upper > longest * (1 + tolerance)
        targets, upper, h = targets[keep], upper[keep], (1 + ahead / (1 - low))[:, keep]
        if not keep.any():
            break
    return longest, list(zip(upper.tolist(), targets.tolist(), strict=True))


def _solve(mdp: Dynamics, P: sparse.csr_array, target: int, hops: Ints, tolerance: float) -> float:
    """The longest of the fastest ways to one target."""
    closed = np.where(mdp.available, 0.0, np.inf)
    policy = _fewest_steps(mdp, P, hops)
    farthest = 0.0
    for _ in range(POLICIES):
        under = P[pairs_of(policy, mdp.A)]
        under.data[under.indices == target] = 0
        h = solve_linear(under, np.ones(mdp.S), 1.0)
        h[target] = 0
        farthest = float(h.max())
        q = 1 + (P @ h).reshape(mdp.S, mdp.A) + closed
        gain = h - q.min(axis=1)
        gain[target] = 0
        better = gain > tolerance
        if not better.any():
            break
        policy = np.where(better, q.argmin(axis=1), policy)
    return farthest


def _fewest_steps(mdp: Dynamics, P: sparse.csr_array, hops: Ints) -> Ints:
    """In each state the action that most likely takes one of the fewest steps to the target."""
    pair = np.repeat(np.arange(mdp.S * mdp.A), np.diff(P.indptr))
    closer = P.data * (hops[P.indices] < hops[pair // mdp.A])
    chance = np.bincount(pair, closer, mdp.S * mdp.A).reshape(mdp.S, mdp.A)
    return np.where(mdp.available, chance, -1.0).argmax(axis=1)
