"""Templates of transitions (Sun, Yin and Huang, "TempLe", AAAI 2021), a rival of families.

The probabilities of a pair in falling order, whatever the states are, are its template. After m
visits a pair gets the nearest template within a gap, of earlier tasks (`prior=`) or of this one, or
it becomes a template; from then on it is taken to have the template's probabilities, on its own
next states in the order of their visits. R-MAX with this is their online method (O-TempLe):
``gim.run("rmax:m=50,infer=by_templates(m=5)", world, prior=models)``.

Departures: rewards are the pair's own; of a model all pairs with m visits or more are taken; and
ranks that a pair has no next state for yet are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, ClassVar

import numpy as np

from gim._base.params import Within
from gim.analogy.base import Floats, Frame, Inference, Prior, no_prior, prior_of
from gim.model.counts import Counts, dense, transitions
from gim.model.learned import LearnedModel


class Library:
    """Templates as ranked visits, [templates, ranks]."""

    def __init__(self, ranks: int) -> None:
        self.visits = np.zeros((0, ranks))

    def nearest(self, ranked: Floats, gap: float) -> int | None:
        """The template whose probabilities are nearest to those of a pair, if within the gap."""
        if not len(self.visits):
            return None
        chances = self.visits / self.visits.sum(axis=1, keepdims=True)
        apart = np.linalg.norm(chances - ranked / ranked.sum(), axis=1)
        best = int(apart.argmin())
        return best if apart[best] <= gap else None

    def add(self, ranked: Floats, gap: float) -> int:
        """Count a pair with its template, or make it one; which it is."""
        found = self.nearest(ranked, gap)
        if found is None:
            self.visits = np.vstack([self.visits, ranked])
            return len(self.visits) - 1
        self.visits[found] += ranked
        return found


@lru_cache(maxsize=4)
def templates_of(models: tuple[LearnedModel, ...], ranks: int, m: int, gap: float) -> Library:
    """The templates of earlier tasks, in their order."""
    library = Library(ranks)
    for model in models:
        n = model.visits.ravel()
        met = np.flatnonzero(n >= m)
        rows = n[met, None] * model.rows()[met].toarray()
        wide = max(0, ranks - rows.shape[1])
        for row in np.pad(-np.sort(-rows, axis=1), ((0, 0), (0, wide)))[:, :ranks]:
            library.add(row, gap)
    return library


@dataclass(frozen=True)
class ByTemplates(Inference):
    """Pairs whose ranked probabilities are those of a template share its visits."""

    m: Annotated[int, Within(1), "visits after which a pair is given a template"] = 5
    gap: Annotated[float, Within(0), "distance within which templates are one"] = 0.3

    reuses: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ()  # it says nothing of pairs that were never met

    def __call__(self, counts: Counts, frame: Frame, rng: np.random.Generator) -> Prior:
        """See `Inference`."""
        S, A = counts.n.shape
        playable = (frame.available & ~frame.terminal[:, None]).ravel()
        met = np.flatnonzero((counts.n.ravel() >= self.m) & playable)
        if not met.size:
            return no_prior(S, A)
        N = np.asarray(dense(transitions(counts), (S, A)), np.float64).reshape(S * A, S)[met]
        order = np.argsort(-N, axis=1, kind="stable")
        ranked = np.take_along_axis(N, order, axis=1)
        library = Library(S)
        library.visits = templates_of(frame.models, S, self.m, self.gap).visits.copy()
        own = [library.add(each, self.gap) for each in ranked]
        shared = library.visits[own] * (ranked > 0)
        rows, n0 = np.zeros((S * A, S)), np.zeros(S * A)
        said = np.zeros_like(shared)
        np.put_along_axis(said, order, shared / shared.sum(axis=1, keepdims=True), axis=1)
        rows[met] = said
        n0[met] = np.maximum(library.visits[own].sum(axis=1) - N.sum(axis=1), 0.0)
        rows[n0 <= 0] = 0.0
        return prior_of(rows.reshape(S, A, S), n0.reshape(S, A))
