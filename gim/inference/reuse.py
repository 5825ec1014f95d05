"""Reuse: a model learned elsewhere as a candidate, trusted as far as pairs met here bear it out.

The model has not seen the pairs of this task, so every pair met twice judges it. If the task has
changed in part, it may hold for some states or actions only: `spliced` takes it there, and the best
candidate of this task elsewhere. Which is better for a state is decided by the judges of that state
(for a held-out pair by those of the other folds, so that its own counts have no say).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.inference.base import Floats
from gim.inference.cross_validation import CrossValidation
from gim.model.learned import LearnedModel

STATES, ACTIONS = 0, 1
MODEL = "model"
PARTS = {"model by state": STATES, "model by action": ACTIONS}


class Said(NamedTuple):
    """What is predicted: by a candidate, by a model, or put together from two."""

    held: Floats  # [K, S] of the judges, each without its own fold
    q: Floats  # [S, A, S] of every pair


def of_model(model: LearnedModel, split: CrossValidation, other: Said) -> Said:
    """What the model says; of pairs that it does not have, or knows nothing of, what another says.

    Where it was never told anything a model has a way back to the same state.
    """
    P = model.to_dense().transitions
    stays = np.einsum("sas->sa", P) == 1.0
    silent = ~model.available | ((model.visits == 0) & stays)
    held = np.where(silent[split.judges.pairs][:, None], other.held, P[split.judges.pairs])
    q = np.where(silent[:, :, None], other.q, P)
    return Said(held, q * split.playable[:, :, None])


def spliced(model: Said, other: Said, split: CrossValidation, axis: int) -> Said:
    """The model where its judges find it the better one, by state or by action; the other else.

    Where there are no judges, all judges together decide.
    """
    judges, fold = split.judges, split.fold
    part = np.nonzero(judges.pairs)[axis]  # [K] the state (or action) of each judge
    size = judges.pairs.shape[axis]
    gain = judges.weights * (judges.distances(other.held) - judges.distances(model.held))
    held = other.held.copy()
    for k in np.unique(fold):
        rest, here = fold != k, fold == k
        take = _better(part[rest], gain[rest], size)[part] & here
        held[take] = model.held[take]
    everywhere = _better(part, gain, size)
    pick = everywhere[:, None, None] if axis == STATES else everywhere[None, :, None]
    return Said(held, np.where(pick, model.q, other.q))


def _better(part: NDArray[np.int64], gain: Floats, size: int) -> NDArray[np.bool_]:
    """Whether the model is better, by part [size]."""
    total = np.bincount(part, gain, size)
    silent = np.bincount(part, minlength=size) == 0
    return np.where(silent, gain.sum() > 0, total > 0)
