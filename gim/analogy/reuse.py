"""Reuse: a model learned elsewhere as a candidate, trusted as far as pairs met here bear it out.

The model has not seen the pairs of this task, so every pair that was met judges it. If the task has
changed in part, it may hold for some states or actions only: it is then taken there, and the best
candidate of this task elsewhere. Which is better for a state is decided by the pairs of that state
(for a held-out pair by those of the other folds, so that its own counts have no say).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import comb

from gim.analogy.cross_validation import Answers, CrossValidation
from gim.model.learned import LearnedModel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MODEL = "model"
PARTS = ("state", "action")

Offer = tuple[str, Answers, sparse.csr_array, float]  # the last: nats to say where it holds


def offers(
    model: LearnedModel, split: CrossValidation, own: Answers, rows: sparse.csr_array
) -> Iterator[Offer]:
    """The model as a whole, and put together with this task's own candidate in two ways.

    Of pairs that it does not have, or knows nothing of, the own candidate speaks: where it was
    never told anything a model has a way back to the same state.

    Args:
        model: learned elsewhere, of the same states and actions.
        split: the held-out pairs.
        own: what this task's own candidate says of them.
        rows: and of every pair [S*A, S].
    """
    theirs = model.rows()
    A = split.data.A
    of_pair = np.arange(theirs.shape[0])
    stays = np.asarray(theirs[of_pair, of_pair // A]).ravel() == 1.0
    silent = ~model.available.ravel() | ((model.visits.ravel() == 0) & stays)
    K = split.pairs.size
    said = split.read(theirs[split.pairs], np.zeros(K, np.int64), np.full(K, np.inf))
    said = _mixed(split, ~silent[split.pairs], said, own)
    theirs = picked(~silent, theirs, rows)
    yield MODEL, said, theirs, 0.0
    gain = split.weights * (split.errors(own) - split.errors(said))
    for name in PARTS:
        of = (split.pairs // A) if name == "state" else (split.pairs % A)
        of_all = (of_pair // A) if name == "state" else (of_pair % A)
        size = split.data.S if name == "state" else A
        take = np.zeros(split.pairs.size, bool)
        for k in range(split.folds):
            rest = split.fold != k
            take |= ~rest & _better(of[rest], gain[rest], size)[of]
        everywhere = _better(of, gain, size)[of_all]
        spliced = picked(everywhere, theirs, rows)
        judged = np.unique(of).size
        chosen = np.unique(of[_better(of, gain, size)[of]]).size
        cost = float(np.log(comb(judged, chosen)))
        yield f"{MODEL} by {name}", _mixed(split, take, said, own), spliced, cost


def _mixed(
    split: CrossValidation, take: NDArray[np.bool_], one: Answers, other: Answers
) -> Answers:
    """The answers of one for these pairs [K], of the other else."""
    return Answers(
        np.where(take[split.row], one.q, other.q),
        np.where(take, one.square, other.square),
        other.level,
        np.where(take, one.behind, other.behind),
        picked(take[split.judges], one.rows, other.rows),
    )


def picked(
    take: NDArray[np.bool_], one: sparse.csr_array, other: sparse.csr_array
) -> sparse.csr_array:
    """The rows of one where `take` [rows], of the other else."""
    keep = sparse.diags_array(take.astype(np.float64))
    rest = sparse.diags_array((~take).astype(np.float64))
    return sparse.csr_array(keep @ one + rest @ other)  # a sum stores no zeros


def _better(part: Ints, gain: Floats, size: int) -> NDArray[np.bool_]:
    """Whether the model is better, by part [size]; where none judges, all together decide."""
    total = np.bincount(part, gain, size)
    silent = np.bincount(part, minlength=size) == 0
    return np.where(silent, gain.sum() > 0, total > 0)
