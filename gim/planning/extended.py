"""Extended value iteration: plan in the best MDP that the data allow (Strehl and Littman 2005).

The data leave open every p(.|s,a) within an L1 distance of the estimate. The largest expectation of
v in that ball moves half the width from the worst successors of the estimate to the best state of
all (Strehl and Littman 2008, section 3; Auer, Jaksch and Ortner 2009, figure 2). Here backwards
over a horizon.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gim._compile.jit import entry, hot
from gim.planning.sweeps import rows_of, take_best
from gim.planning.types import Bools, Floats, Ints


@hot
def sort_row(places: Any, columns: Any, v: Any, first: int, last: int) -> None:
    """Order the places of one row by the value of their state, the worst first.

    From one step to the next the order hardly changes, so that insertion takes about one look each.
    """
    for j in range(first + 1, last):
        place = places[j]
        x = v[columns[place]]
        k = j
        while k > first and v[columns[places[k - 1]]] > x:
            places[k] = places[k - 1]
            k -= 1
        places[k] = place


@hot
def best_expectation(rows: Any, i: int, places: Any, v: Any, top: float, moved: float) -> float:
    """The expectation of v by row i once this much mass went from its worst to the value `top`.

    Mass taken from the best state itself comes back to it: the ball needs no other edge.
    """
    p, columns, starts = rows
    x, left = 0.0, moved
    for j in range(starts[i], starts[i + 1]):
        k = places[j]
        taken = min(p[k], left)
        left -= taken
        x += (p[k] - taken) * v[columns[k]]
    return x + (moved - left) * top


@entry
def induct(rows: Any, r: Any, width: Any, ceiling: Any, available: Any, plan: Any) -> None:
    """Backward induction over the best expectations, into plan = (q, v, policy)."""
    q, v, policy = plan
    _, columns, starts = rows
    H, S, A = q.shape
    places = np.arange(columns.size)
    v[H] = 0.0
    for h in range(H - 1, -1, -1):
        top = v[h + 1, 0]
        for s in range(1, S):
            top = max(top, v[h + 1, s])
        for s in range(S):
            for a in range(A):
                if not available[s, a]:
                    q[h, s, a] = -np.inf
                    continue
                i = s * A + a
                sort_row(places, columns, v[h + 1], starts[i], starts[i + 1])
                moved = min(width[s, a] / 2.0, 1.0)
                x = best_expectation(rows, i, places, v[h + 1], top, moved)
                q[h, s, a] = min(ceiling[h], r[s, a] + x)
        take_best(q[h], v[h], policy[h])


def extended_induction_into(
    P: Any,
    r: Floats,
    width: Floats,
    ceiling: Floats,
    available: Bools,
    q: Floats,
    v: Floats,
    policy: Ints,
) -> None:
    """Backward induction with q = min(ceiling[h], r + the largest p v with |p - P| <= width).

    Args:
        P: estimates, [S, A, S] or a `csr_array` of S*A rows; a row may be empty.
        r: rewards, [S, A]; inf puts a pair at the ceiling.
        width: the L1 distance that is left open, [S, A]; 2 or more is all of it.
        ceiling: the largest value that step h can have, [H].
        available: which pairs can be played, bool [S, A]; the others get -inf.
        q, v, policy: to be filled, [H, S, A], [H + 1, S] (the last row is 0) and int64 [H, S].

    Example:
        >>> q, v, policy = np.empty((1, 2, 1)), np.empty((2, 2)), np.empty((1, 2), np.int64)
        >>> P, one = np.eye(2)[:, None], np.ones((2, 1))
        >>> extended_induction_into(P, one, 0.2 * one, np.ones(1), one > 0, q, v, policy)
        >>> v[0]
        array([1., 1.])
    """
    H, S, A = q.shape
    shapes = (v.shape, policy.shape, r.shape, width.shape, available.shape, ceiling.shape)
    if shapes != ((H + 1, S), (H, S), (S, A), (S, A), (S, A), (H,)):
        raise ValueError(
            f"v, policy, r, width, available and ceiling have shapes {shapes}, which do not fit "
            f"q {q.shape}: they are [H + 1, S], [H, S], three times [S, A], and [H]"
        )
    rows = rows_of(P, S, A)
    if not isinstance(rows, tuple):
        rows = rows_of(sparse.csr_array(rows), S, A)
    induct(rows, r, width, ceiling, available, (q, v, policy))
