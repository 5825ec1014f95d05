"""The paper's inference: known pairs complete the dynamic matrices, which predict the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from gim._base.params import Within
from gim.analogy.base import Frame, Inference, Prior, no_prior, prior_of
from gim.model.completion.base import completions
from gim.model.counts import Counts, new_known, review
from gim.model.dynamics import complete


@dataclass(frozen=True)
class ByCompletion(Inference):
    """Matrix completion from the pairs of high confidence (Algorithm 2, lines 15 to 18).

    Nothing is predicted before a share rho of the pairs is known. Known pairs keep their own
    estimates; each other pair is taken as known, so its prediction is worth m visits. A reward that
    was seen keeps its own mean. States without a known action, of which completion can say
    nothing, get no prediction, and none is made if the method does not converge on most matrices.
    """

    completion: Annotated[Any, completions, "how the dynamic matrices are completed"] = "als"
    m: Annotated[int, Within(1), "visits that make a pair known"] = 40
    rho: Annotated[float, Within(0, 1), "share of known pairs from which to complete"] = 0.8

    examples = ("", "m=2,rho=0.3")

    def __call__(self, counts: Counts, frame: Frame, rng: np.random.Generator) -> Prior:
        """Complete, if enough is known; see `Inference`."""
        S, A = counts.n.shape
        known = new_known(frame.available, self.m, self.rho)
        review(known, counts, frame.terminal)
        if known.pairs[0] < known.goal[0] or known.pairs[0] == frame.available.sum():
            return no_prior(S, A)
        done = complete(counts, known, self.completion, "visited", "project", rng)
        if 2 * done.doubtful > S:
            return no_prior(S, A)
        inferred = frame.available & ~known.mask & ~done.blind[:, None]
        unseen = inferred & (counts.n == 0)
        n0, r_n0 = (np.where(pairs, float(self.m), 0.0) for pairs in (inferred, unseen))
        return prior_of(done.P, n0, r=done.r, r_n0=r_n0)
