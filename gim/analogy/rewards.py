"""Rewards by analogy: r(s,a,s') by rules on what states and actions are made of.

A rule (`gim.analogy.structure.rewards`) predicts the reward of each triple from the others; where
states and actions are bare numbers, its keys are made of those. Where rewards are certain, a
prediction is right or wrong: if it is right for more than half of the held-out triples of its kind
it is taken, for pairs never met, too, and fails with the chance that it failed there. Where they
are noisy, it is taken if it explains more than half of what differs between pairs: else the pair
that pays most would be taken for noise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.analogy.candidates.data import Data
from gim.analogy.candidates.structured import triples_of
from gim.analogy.ridge import RidgeRewards
from gim.analogy.structure.rewards import EXACT, Judged, Rewards, Search

Floats = NDArray[np.float64]
ROUNDING = 1e-9  # what is no larger, relative to what it is part of, is none
NOISY = 0.05  # doubt of a mean, where nothing is hit exactly
FEW = 8  # triples that have a say, below which nothing is said


class PaidFor(NamedTuple):
    """What is predicted of the rewards of some triples."""

    r: Floats  # [triples]
    doubt: Floats  # [triples] chance that it is wrong; 1: nothing is predicted


class RewardRule:
    """The rule that predicts held-out rewards best, and how far it may be trusted.

    Args:
        data: counts with rewards by triple.
        shifts: after-states that transitions found.
    """

    def __init__(self, data: Data, shifts: tuple[Any, ...] = ()) -> None:
        self.data = data
        self.noise = noise_of(data)
        self.silent = data.paid is None or data.rows.nnz < FEW
        if not self.silent:
            triples = triples_of(data)
            search = Search(triples)
            best = search.best(shifts)
            self.rule = Rewards(triples, best.shape)
            self.doubts = self._doubts(search, best)

    def predict(self, pair: NDArray[np.int64], t: NDArray[np.int64]) -> PaidFor:
        """Of triples (s*A + a, s'); nothing where no level of the rule is to be trusted."""
        if self.silent or min(each.min(initial=1.0) for each in self.doubts) == 1.0:
            return PaidFor(np.zeros(len(pair)), np.ones(len(pair)))
        said, level = self.rule.predict(pair, t)
        entered = self.rule.entered[t]
        doubt = np.where(entered, self.doubts[0][level], self.doubts[1][level])
        return PaidFor(said, np.where(level >= 0, doubt, 1.0))

    def _doubts(self, search: Search, best: Judged) -> list[Floats]:
        """Chance that the rule is wrong by its level, where s' was entered before and where not.

        A level that spoke of no held-out triple is judged by what it says of all of them, without
        the finer ones. What is wrong for more than half counts as not said.
        """
        found = [self._wrong(search, best, by) for by in (0, 1)]
        for level in range(len(best.shape.chain)):
            if any(np.isnan(wrong[level]) for wrong in found):
                alone = search.judge(best.shape._replace(chain=best.shape.chain[: level + 1]))
                for by, wrong in enumerate(found):
                    if np.isnan(wrong[level]):
                        wrong[level] = self._wrong(search, alone, by)[level]
        return [np.where(wrong < 0.5, wrong, 1.0) for wrong in found]

    def _wrong(self, search: Search, judged: Judged, by: int) -> Floats:
        """Chance that the rule is wrong, by level, half a miss added; NaN where nobody judged."""
        levels, spoke = len(judged.shape.chain), judged.level[by] >= 0
        level, error = judged.level[by, spoke], judged.error[by, spoke]
        judges = np.bincount(level, minlength=levels)
        if self.noise > 0:  # nothing is hit exactly: what is left open, of what differs
            square = np.bincount(level, error**2, levels) / np.maximum(judges, 1)
            wrong = np.where(square < 0.5 * float(np.var(search.seen.mean)), NOISY, 1.0)
        else:
            miss = np.abs(error) > EXACT * self.rule.spread
            wrong = (np.bincount(level[miss], minlength=levels) + 0.5) / (judges + 1.0)
        return np.where(judges > 0, wrong, np.nan)


def noise_of(data: Data) -> float:
    """Variance of a single reward given its triple, pooled over triples met twice."""
    if data.paid is None:
        return 0.0
    N, twice = data.rows.data, data.rows.data >= 2
    scatter = np.maximum(data.paid2 - data.paid**2 / np.maximum(N, 1.0), 0.0)[twice]
    size = float(np.abs(data.paid2).max(initial=0.0))
    total = float(scatter[scatter > ROUNDING * size].sum())
    return total / max(float((N[twice] - 1.0).sum()), 1.0)


def infer_rewards(data: Data, rows: sparse.csr_array | None, shifts: tuple[Any, ...] = ()) -> Any:
    """The reward fields of a `Prior`.

    Args:
        data: counts with rewards by triple.
        rows: predicted next states of every pair [S*A, S], or None: nothing is predicted.
        shifts: after-states that transitions found.
    """
    rule = RewardRule(data, shifts)
    n = data.n
    if rule.silent:
        return {}
    rows = data.rows if rows is None else rows
    pair = np.repeat(np.arange(n.size), np.diff(rows.indptr))
    said = rule.predict(pair, rows.indices)
    r = np.bincount(pair, rows.data * said.r, n.size).reshape(n.shape)
    mass = np.bincount(pair, rows.data, n.size).reshape(n.shape)
    mass = np.where(mass > 0, mass, 1.0)
    doubt = np.bincount(pair, rows.data * said.doubt, n.size).reshape(n.shape) / mass
    spoken = data.available & (np.diff(rows.indptr) > 0).reshape(n.shape)
    told = spoken & (doubt < 0.5)
    noise, r_next = np.full(n.shape, rule.noise), said.r
    if (spoken & ~told).any():
        ridge = RidgeRewards(triples_of(data))
        if ridge.open < 0.5:
            rest = np.flatnonzero(~told.ravel()[pair])
            paid = ridge.predict(pair[rest], rows.indices[rest])
            r_next = said.r.copy()
            r_next[rest] = paid.r
            r = np.bincount(pair, rows.data * r_next, n.size).reshape(n.shape)
            wide = np.zeros(len(pair))
            wide[rest] = paid.variance
            wide = np.bincount(pair, rows.data * wide, n.size).reshape(n.shape) / mass
            noise = np.where(told, noise, noise + wide)
            doubt, told = np.where(told, doubt, max(NOISY, ridge.open)), spoken
    fields = {
        "r": np.where(told, r / mass, 0.0),
        "r_n0": np.where(told, 1.0, 0.0),
        "r_doubt": np.where(told, doubt, 0.0),
        "r_noise": np.where(told, noise, 0.0),
    }
    return fields | ({"r_next": r_next} if rows is not data.rows else {})
