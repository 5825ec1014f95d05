"""Rewards that are linear in the variables, by least absolute deviations.

A rule that holds but for some exceptions is found exactly by least absolute deviations, where least
squares would be wrong everywhere. Iteratively reweighted least squares comes near to it; what lies
on the plane to within rounding then gives the plane itself.
"""

from __future__ import annotations

import numpy as np

from gim.inference.structure.moves import Shift
from gim.inference.structure.triples import Floats, Ints, Mask, Triples, ranked

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


def least_absolute(X: Floats, y: Floats, weights: Floats) -> Floats:
    """Coefficients [F, d] that minimise sums of weights |y - X b|; the first column is 1.

    Args:
        X: [I, d].
        y: [I].
        weights: [F, I], for each of F planes; what has none does not count there.
    """
    if len(y) > SAMPLED:
        few = np.linspace(0, len(y) - 1, SAMPLED).astype(np.int64)
        X, y, weights = X[few], y[few], weights[:, few]
    found = np.zeros((len(weights), X.shape[1]))
    kept = weights > 0
    middle = np.array([_median(y, each) for each in kept])
    spread = (np.abs(y - middle[:, None]) * kept).sum(axis=1) / np.maximum(kept.sum(axis=1), 1)
    found[:, 0] = middle  # where nothing varies
    vary = np.flatnonzero(spread)
    if not len(vary):
        return found
    weights, kept, spread = weights[vary], kept[vary], spread[vary, None]
    centre = kept @ X / kept.sum(axis=1, keepdims=True)
    centre[:, 0] = 0.0  # what never varies is left to the constant
    moved, w = X - centre[:, None], weights
    for _ in range(REWEIGHTED):
        error = np.abs(y - (moved @ _solved(moved, y, w)[:, :, None])[:, :, 0])
        w = weights / np.maximum(error, 1e-6 * spread)
    half = np.array([[_median(*each)] for each in zip(error, kept, strict=True)])
    near = kept & (error <= np.maximum(NEAR * spread, 1e-3 * half))
    enough = near.sum(axis=1, keepdims=True) >= X.shape[1]
    b = _solved(moved, y, weights * np.where(enough, near, error <= half))
    b[:, 0] -= (centre * b).sum(axis=1)
    found[vary] = b
    return found


def _median(values: Floats, kept: Mask) -> float:
    return float(np.median(values[kept])) if kept.any() else 0.0


def _solved(X: Floats, y: Floats, weights: Floats) -> Floats:
    """Weighted least squares [F, d] of X [F, I, d]; a little ridge where columns depend."""
    weighted = X * weights[:, :, None]
    left, right = X.transpose(0, 2, 1) @ weighted, y @ weighted
    scale = np.sqrt(np.maximum(np.diagonal(left, axis1=1, axis2=2), 1e-300))
    left = left / (scale[:, :, None] * scale[:, None]) + 1e-12 * np.eye(left.shape[1])
    return np.asarray(np.linalg.solve(left, (right / scale)[:, :, None])[:, :, 0] / scale)
