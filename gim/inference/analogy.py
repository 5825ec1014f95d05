"""Analogy: inference that knows how far it may be trusted.

Several candidates predict p(.|s,a) of every pair from the others (`gim.inference.candidates`). Each
is judged on whole pairs that were held out, by the unbiased estimate of ||p - q||^2

    tau2 = (sum N^2 - n) / (n (n - 1)) - 2 p_hat.q + q.q,

averaged over the pairs met twice at least. The winner becomes pseudo-counts of weight

    n0 = (1 - sum p^2) / tau2,

the visits after which the noise of counting is as large as the error of the prediction: data take
over as they come. If no candidate beats knowing nothing, nothing is inferred.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.inference.base import Floats, Frame, Inference, Prior, no_prior
from gim.inference.belief import dense
from gim.inference.candidates import Candidate, Data, candidates, valid
from gim.model.counts import Counts, transitions
from gim.params import Within


class Judged(NamedTuple):
    """How well a candidate predicts pairs that it has not seen."""

    tau2: float  # mean estimate of ||p - q||^2
    error: float  # its standard error


@dataclass(frozen=True)
class Analogy(Inference):
    """The candidate that predicts held-out pairs best, worth as many visits as it deserves."""

    folds: Annotated[int, Within(2), "parts in which pairs are held out"] = 4
    ridge: Annotated[float, Within(0), "visits that shrinkage within a candidate is worth"] = 2.0
    most: Annotated[float, Within(0), "the most visits that a prediction is worth"] = 200.0

    retry: ClassVar[float] = 1.5

    def __call__(self, counts: Counts, frame: Frame, rng: np.random.Generator) -> Prior:
        """Choose a candidate on held-out pairs and weigh it; see `Inference`."""
        S, A = counts.n.shape
        playable = frame.available & ~frame.terminal[:, None]
        N = dense(transitions(counts), (S, A))
        n = np.where(playable, counts.n, 0).astype(np.float64)
        judges = n >= 2
        if judges.sum() < 2 * self.folds:
            return no_prior(S, A)
        fold = np.full((S, A), -1)
        fold[judges] = rng.permutation(int(judges.sum())) % self.folds
        known = candidates(S, A)
        judged = {name: self.judge(known[name], N, n, playable, fold) for name in known}
        uniform = _estimate(N, n, judges, np.full(N.shape, 1.0 / S))
        best = min(judged, key=lambda name: judged[name].tau2)
        tau2 = max(judged[best].tau2, judged[best].error)
        if tau2 >= uniform.tau2:
            return no_prior(S, A)
        q = valid(known[best](Data(N, n, playable, self.ridge)), playable)
        noise = 1.0 - _mean(_squares(N, n)[judges], _weights(n)[judges])[0]
        n0 = np.where(playable, min(self.most, max(noise, 0.0) / tau2), 0.0)
        return Prior(q, n0, np.zeros((S, A)), np.zeros((S, A)))

    def judge(
        self, predict: Candidate, N: Floats, n: Floats, playable: NDArray[np.bool_], fold: NDArray
    ) -> Judged:
        """Predict each fold from the others."""
        q = np.zeros(N.shape)
        for k in range(self.folds):
            out = fold == k
            data = Data(N, np.where(out, 0.0, n), playable, self.ridge)
            q[out] = valid(predict(data)[out][None], np.ones((1, int(out.sum())), bool))[0]
        return _estimate(N, n, fold >= 0, q)


def _squares(N: Floats, n: Floats) -> Floats:
    """The unbiased estimate of sum p^2 for pairs met twice at least."""
    pairs = np.maximum(n * (n - 1.0), 1.0)
    return ((N**2).sum(axis=2) - n) / pairs


def _weights(n: Floats) -> Floats:
    """Weights of pairs in a mean: the noise of few visits counts less, many visits are alike."""
    return (n - 1.0) / (n + 4.0)


def _estimate(N: Floats, n: Floats, judges: NDArray[np.bool_], q: Floats) -> Judged:
    p_hat = N[judges] / n[judges][:, None]
    q = q[judges]
    tau2 = _squares(N, n)[judges] - 2 * (p_hat * q).sum(axis=1) + (q**2).sum(axis=1)
    return Judged(*_mean(tau2, _weights(n)[judges]))


def _mean(values: Floats, weights: Floats) -> tuple[float, float]:
    """Weighted mean and its standard error."""
    share = weights / weights.sum()
    mean = float(share @ values)
    return mean, float(np.sqrt((share**2) @ (values - mean) ** 2))
