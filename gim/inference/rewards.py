"""Rewards by analogy: what the rewards of other pairs say of r(s,a), and what that is worth.

The same as for transitions, with numbers in place of distributions: means of all, by state, by
action and by both are judged on held-out pairs by the unbiased (r_hat - g)^2 - s^2 / n, and the
best is worth noise / tau2 visits. Only pairs that were met take it: optimism about a pair never met
is what makes an agent try it, and a reward that was never seen may be the one that matters.
"""

from __future__ import annotations

import numpy as np

from gim.inference.base import Floats
from gim.inference.cross_validation import CrossValidation
from gim.inference.held_out import ROUNDING
from gim.model.counts import Counts


def infer_rewards(counts: Counts, split: CrossValidation, most: float) -> tuple[Floats, Floats]:
    """Predicted r [S, A] and the visits that it is worth [S, A]; 0 where rewards are certain."""
    n, judges, fold = split.n, split.judges.pairs, split.place
    R = np.where(split.playable, counts.R, 0.0)
    r_hat, own = R[judges] / n[judges], n[judges]
    spread = np.maximum(counts.R2[judges] - own * r_hat**2, 0.0) / (own - 1)
    noise = split.score(spread)[0]
    if noise <= ROUNDING * float(np.abs(r_hat).max()) ** 2:
        return np.zeros(n.shape), np.zeros(n.shape)
    held = {name: np.zeros(n.shape) for name in MEANS}
    for k in range(split.folds):
        out = fold == k
        for name, predict in MEANS.items():
            held[name][out] = predict(np.where(out, 0.0, R), np.where(out, 0.0, n), split.ridge)[
                out
            ]
    errors = {
        name: split.score((r_hat - g[judges]) ** 2 - spread / own) for name, g in held.items()
    }
    best = min(errors, key=lambda name: errors[name][0])
    worth = min(most, noise / max(*errors[best], 1e-300))
    return MEANS[best](R, n, split.ridge), np.where(n > 0, worth, 0.0)


def _overall(R: Floats, n: Floats) -> float:
    return float(R.sum() / max(n.sum(), 1.0))


def _mean_of_all(R: Floats, n: Floats, ridge: float) -> Floats:
    return np.full(R.shape, _overall(R, n))


def _by_state(R: Floats, n: Floats, ridge: float) -> Floats:
    return _additive(R, n, ridge, action=False)


def _by_action(R: Floats, n: Floats, ridge: float) -> Floats:
    return _additive(R, n, ridge, state=False)


def _additive(
    R: Floats, n: Floats, ridge: float, state: bool = True, action: bool = True
) -> Floats:
    """A part of the state plus a part of the action, by backfitting on the residuals."""
    middle = _overall(R, n)
    Y = R - n * middle
    of_state, of_action = np.zeros(len(n)), np.zeros(n.shape[1])
    for _ in range(4):
        if state:
            of_state = (Y.sum(axis=1) - n @ of_action) / (n.sum(axis=1) + ridge)
        if action:
            of_action = (Y.sum(axis=0) - n.T @ of_state) / (n.sum(axis=0) + ridge)
    return middle + of_state[:, None] + of_action


MEANS = {"all": _mean_of_all, "state": _by_state, "action": _by_action, "both": _additive}
