"""Rewards that are linear in the variables, by least absolute deviations.

A rule that holds but for some exceptions is found exactly by least absolute deviations, where least
squares would be wrong everywhere. Iteratively reweighted least squares comes near to it; what lies
on the plane to within rounding then gives the plane itself.
"""

from __future__ import annotations

import numpy as np

from gim.inference.structure.moves import Shift
from gim.inference.structure.triples import Floats, Ints, Triples, ranked

# Constants: of each action; of each action and change of a variable. Slopes of each action.
COMMON, BY_CHANGE, BY_ACTION = "common", "by change", "by action"
MOST_ACTIONS = 32  # up to which each action has a constant of its own
WIDEST = 64  # columns up to which slopes by action are tried
REWEIGHTED = 20
NEAR = 1e-7  # of the spread of rewards: what is so near lies on the plane
SAMPLED = 2000  # triples that a plane is fitted to


def design(
    triples: Triples, slopes: str, shifts: tuple[Shift, ...], pair: Ints, t: Ints, seen: int
) -> Floats:
    """Columns [triples, .]: constants, variables before and after, and after the action.

    The first `seen` triples are those that a plane is to be fitted to.
    """
    s, a = np.divmod(pair, triples.A)
    codes = triples.codes
    columns = [*codes[s].T.astype(np.float64), *codes[t].T.astype(np.float64)]
    for variable, j, sign in shifts:
        moved = codes[s, variable] + sign * triples.action_codes[a, j]
        columns.append(np.clip(moved, 0, codes[:, variable].max()).astype(np.float64))
    if triples.A > MOST_ACTIONS:
        amounts = triples.action_codes[a].T.astype(np.float64)
        return np.column_stack([np.ones(len(pair)), (a > 0).astype(np.float64), *amounts, *columns])
    actions = [(a == b).astype(np.float64) for b in range(triples.A)]
    if slopes == BY_ACTION:
        columns = [column * action for column in columns for action in actions]
    if slopes == BY_CHANGE:
        for change in (codes[t] - codes[s]).T:
            key = ranked(np.column_stack([a, change]))
            kinds = np.unique(key[:seen])[: WIDEST + 1]
            actions += [(key == each).astype(np.float64) for each in kinds]
    return np.column_stack([np.ones(len(pair)), *actions[1:], *columns])


def least_absolute(X: Floats, y: Floats, weight: Floats) -> Floats:
    """Coefficients [.] that minimise the weighted sum of |y - X b|; the first column is 1."""
    if len(y) > SAMPLED:
        few = np.linspace(0, len(y) - 1, SAMPLED).astype(np.int64)
        X, y, weight = X[few], y[few], weight[few]
    spread = float(np.abs(y - np.median(y)).mean()) if len(y) else 0.0
    if spread == 0.0:
        return np.append(y[0] if len(y) else 0.0, np.zeros(X.shape[1] - 1))
    centre = np.append(0.0, X[:, 1:].mean(axis=0))  # what never varies is left to the constant
    X, w, error = X - centre, weight, np.abs(y)
    for _ in range(REWEIGHTED):
        error = np.abs(y - X @ _solved(X, y, w))
        w = weight / np.maximum(error, 1e-6 * spread)
    near = error <= max(NEAR * spread, 1e-3 * float(np.median(error)))
    near = near if near.sum() >= X.shape[1] else error <= np.median(error)
    b = _solved(X[near], y[near], weight[near])
    return np.append(b[0] - centre @ b, b[1:])


def _solved(X: Floats, y: Floats, weight: Floats) -> Floats:
    """Weighted least squares by the normal equations; a little ridge where columns depend."""
    left, right = X.T @ (X * weight[:, None]), X.T @ (weight * y)
    scale = np.sqrt(np.maximum(np.diag(left), 1e-300))
    left = left / np.outer(scale, scale) + 1e-12 * np.eye(len(left))
    return np.asarray(np.linalg.solve(left, right / scale) / scale)
