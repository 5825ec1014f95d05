"""Rewards by analogy: what the rewards of other pairs say of r(s,a), and what that is worth.

Means of all pairs, by state, by action and by both predict each pair that was met from the others.
Where rewards are certain, a prediction is right or wrong: if it is right for more than half of the
held-out pairs it is taken, for pairs never met, too, and fails with the chance that it failed
there. Where they are noisy, a prediction is worth noise / tau2 visits, tau2 being the unbiased
(r_hat - g)^2 - s^2 / n, averaged over the pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim.inference.cross_validation import CrossValidation
from gim.model.counts import Counts

Floats = NDArray[np.float64]
ROUNDING = 1e-9  # what is no larger, relative to what it is part of, is none
FEW = 8  # pairs that have a say, below which nothing is said


def infer_rewards(counts: Counts, split: CrossValidation, most: float) -> dict[str, Any]:
    """The reward fields of a `Prior`: r, r_n0, r_doubt, r_noise, [S, A] each."""
    data, pairs = split.data, split.pairs
    n, R = data.n, np.where(data.available, counts.R, 0.0)
    own, r_hat = n.ravel()[pairs], (R.ravel() / np.maximum(n.ravel(), 1.0))[pairs]
    size = max(float(np.abs(r_hat).max(initial=0.0)), 1e-300)
    scatter = np.maximum(counts.R2.ravel()[pairs] - own * r_hat**2, 0.0)
    twice = own >= 2
    noise = float(scatter[twice].sum() / max((own[twice] - 1.0).sum(), 1.0))
    certain = noise <= ROUNDING * size**2
    silent: dict[str, Any] = {name: np.zeros(n.shape) for name in FIELDS}
    if pairs.size < FEW:
        return silent
    held = {name: _held(split, R, name) for name in MEANS}
    if certain:
        right = {name: np.abs(g - r_hat) <= 1e-6 * size for name, g in held.items()}
        best = max(MEANS, key=lambda name: right[name].sum())
        doubt = float((~right[best]).sum() + 0.5) / (pairs.size + 1.0)
        if doubt >= 0.5:
            return silent
        told = _told(data.n, best) & data.available
        return {
            "r": MEANS[best](R, n),
            "r_n0": np.where(told & (n == 0), 1.0, 0.0),
            "r_doubt": np.where(told, doubt, 0.0),
            "r_noise": np.zeros(n.shape),
        }
    weight = split.weights * twice
    errors = {
        name: float(weight @ ((r_hat - g) ** 2 - noise / own)) / max(float(weight.sum()), 1e-300)
        for name, g in held.items()
    }
    best = min(MEANS, key=lambda name: errors[name])
    worth = min(most, noise / max(errors[best], 1e-300))
    spread = float(np.var(r_hat[twice])) if twice.any() else 0.0
    explains = errors[best] < 0.5 * max(spread - float(np.mean(noise / own[twice])), 0.0)
    met = (n > 0) | (_told(n, best) & explains)
    return {
        "r": MEANS[best](R, n),
        "r_n0": np.where(met & data.available, worth, 0.0),
        "r_doubt": np.where(met & data.available, 0.05, 0.0),
        "r_noise": np.full(n.shape, noise),
    }


FIELDS = ("r", "r_n0", "r_doubt", "r_noise")


def _held(split: CrossValidation, R: Floats, name: str) -> Floats:
    """What a mean says of each held-out pair, without its fold, [K]."""
    n, found = split.data.n, np.zeros(split.pairs.size)
    for k in range(split.folds):
        out = np.zeros(n.size, bool)
        out[split.pairs[split.fold == k]] = True
        keep = ~out.reshape(n.shape)
        found[split.fold == k] = MEANS[name](R * keep, n * keep).ravel()[out]
    return found


def _told(n: Floats, name: str) -> NDArray[np.bool_]:
    """Where a mean rests on something, [S, A]."""
    seen: NDArray[np.bool_] = np.asarray(n > 0)
    state, action = seen.any(axis=1)[:, None], seen.any(axis=0)[None, :]
    told: Any = {"all": np.ones(1, bool), "state": state, "action": action}
    return np.broadcast_to(told[name] if name in told else state & action, n.shape)


def _mean_of_all(R: Floats, n: Floats) -> Floats:
    return np.full(R.shape, float(R.sum() / max(n.sum(), 1.0)))


def _by_state(R: Floats, n: Floats) -> Floats:
    mean = R.sum(axis=1) / np.maximum(n.sum(axis=1), 1.0)
    return np.repeat(mean[:, None], R.shape[1], axis=1)


def _by_action(R: Floats, n: Floats) -> Floats:
    mean = R.sum(axis=0) / np.maximum(n.sum(axis=0), 1.0)
    return np.repeat(mean[None], R.shape[0], axis=0)


def _additive(R: Floats, n: Floats) -> Floats:
    """A part of the state plus a part of the action, by backfitting on the residuals."""
    middle = float(R.sum() / max(n.sum(), 1.0))
    Y = R - n * middle
    of_state, of_action = np.zeros(len(n)), np.zeros(n.shape[1])
    for _ in range(8):
        of_state = (Y.sum(axis=1) - n @ of_action) / np.maximum(n.sum(axis=1), 1e-9)
        of_action = (Y.sum(axis=0) - n.T @ of_state) / np.maximum(n.sum(axis=0), 1e-9)
    return middle + of_state[:, None] + of_action


MEANS = {"all": _mean_of_all, "state": _by_state, "action": _by_action, "both": _additive}
