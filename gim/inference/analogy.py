"""Analogy: inference that knows how far it may be trusted.

Several candidates predict p(.|s,a) of every pair from the others (`gim.inference.candidates`). Each
is judged on whole pairs that were held out, by the unbiased estimate tau2 of ||p - q||^2
(`gim.inference.held_out`). The best becomes pseudo-counts of weight

    n0 = (1 - sum p^2) / tau2,

the visits after which the noise of counting is as large as the error of the prediction: data take
over as they come. The error is that of pairs with as much evidence around them. If no candidate
beats knowing nothing, nothing is inferred, and likewise where nothing is random: there one visit
says all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from gim.inference.base import Floats, Frame, Inference, Prior, no_prior
from gim.inference.candidates import Candidate, candidates
from gim.inference.cross_validation import CrossValidation
from gim.inference.held_out import ROUNDING, Judges, Strata
from gim.inference.reuse import MODEL, PARTS, Said, of_model, spliced
from gim.inference.rewards import infer_rewards
from gim.model.counts import DENSE_LIMIT, Counts, dense, transitions
from gim.model.learned import LearnedModel
from gim.params import OneOf, Within

FAMILIES = {  # the names of the candidates that a name stands for
    "all": ".*",
    "marginal": "marginal",
    "means": "marginal|state|action|additive",
    "matrices": r"marginal|matrices\(.*\)",
}


class Inferred(NamedTuple):
    """The winner, and what its judges saw."""

    name: str
    q: Floats  # [S, A, S] its prediction for every pair
    n0: Floats  # [S, A] visits that it is worth
    tau2: float  # mean estimate of ||p - q||^2 over the judges
    judges: Judges
    held: Floats  # [K, S] what it said of each judge without having seen it
    strata: Strata
    apart: Floats | None = None  # [K, S] the same without any pair of its state


@dataclass(frozen=True)
class Analogy(Inference):
    """The candidate that predicts held-out pairs best, worth as many visits as it deserves."""

    folds: Annotated[int, Within(2), "parts in which pairs are held out"] = 4
    ridge: Annotated[float, Within(1e-3), "visits that shrinkage is worth before data say more"] = (
        2.0
    )
    most: Annotated[float, Within(0), "the most visits that a prediction is worth"] = 200.0
    candidates: Annotated[str, OneOf(*FAMILIES), "who may predict"] = "all"

    retry: ClassVar[float] = 1.5
    reuses: ClassVar[bool] = True

    def __call__(self, counts: Counts, frame: Frame, rng: np.random.Generator) -> Prior:
        """Choose a candidate on held-out pairs and weigh it; see `Inference`."""
        split = self._split(counts, frame, rng)
        if split is None:
            return no_prior(*counts.n.shape)
        r, r_n0 = infer_rewards(counts, split, self.most)
        prior = no_prior(*counts.n.shape)._replace(r=r, r_n0=r_n0)
        found = self._choose(split, frame)
        return prior if found is None else prior._replace(q=found.q, n0=found.n0)

    def infer(self, counts: Counts, frame: Frame, rng: np.random.Generator) -> Inferred | None:
        """What is said of transitions, with its reasons; None if nothing can be said."""
        split = self._split(counts, frame, rng)
        found = None if split is None else self._choose(split, frame)
        if split is None or found is None:
            return None
        predict = self._candidates(*split.n.shape).get(found.name)
        if predict is None:  # a model learned elsewhere has seen no state of this task anyway
            return found._replace(apart=found.held if found.name == MODEL else None)
        settings = (split.N, split.n, split.playable, self.folds, self.ridge, rng)
        return found._replace(apart=CrossValidation(*settings, by_state=True).answers(predict))

    def _split(
        self, counts: Counts, frame: Frame, rng: np.random.Generator
    ) -> CrossValidation | None:
        """The counts as an split; None if there are too few judges, or too many counts."""
        playable = frame.available & ~frame.terminal[:, None]
        n = np.where(playable, counts.n, 0).astype(np.float64)
        if 2 * self.folds > (n >= 2).sum() or n.size * len(n) > DENSE_LIMIT:
            return None
        N = dense(transitions(counts), counts.n.shape)
        return CrossValidation(N, n, playable, self.folds, self.ridge, rng)

    def _choose(self, split: CrossValidation, frame: Frame) -> Inferred | None:
        judges, S = split.judges, split.N.shape[2]
        noise = 1.0 - split.score(judges.squares())[0]
        if noise <= ROUNDING:
            return None
        known = self._candidates(*split.n.shape)
        held = split.held(known)
        tau2 = {name: split.score(judges.distances(q)) for name, q in held.items()}
        best = min(tau2, key=lambda name: tau2[name])
        said = Said(held[best], split.everything(known[best]))
        if frame.model is not None:
            best, said = self._reuse(split, frame.model, best, said)
        errors = judges.distances(said.held)
        uniform = split.score(judges.distances(np.full(judges.N.shape, 1.0 / S)))[0]
        if max(split.score(errors)) >= uniform:
            return None
        strata = Strata(split.n, judges)
        worth = noise / np.maximum(np.maximum(*strata.means(errors)), 1e-300)
        n0 = np.where(split.playable, np.minimum(self.most, worth), 0.0)
        return Inferred(best, said.q, n0, split.score(errors)[0], judges, said.held, strata)

    def _candidates(self, S: int, A: int) -> dict[str, Candidate]:
        family = FAMILIES[self.candidates]
        return {name: each for name, each in candidates(S, A).items() if re.fullmatch(family, name)}

    def _reuse(
        self, split: CrossValidation, learned: LearnedModel, best: str, said: Said
    ) -> tuple[str, Said]:
        """The best of this task's own candidate, the model, and the two put together."""
        model = of_model(learned, split, said)
        offers = {best: said, MODEL: model}
        offers |= {name: spliced(model, said, split, axis) for name, axis in PARTS.items()}
        score = {
            name: split.score(split.judges.distances(each.held)) for name, each in offers.items()
        }
        best = min(score, key=lambda name: score[name])
        return best, offers[best]
