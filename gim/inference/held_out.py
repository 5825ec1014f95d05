"""How far a prediction may be trusted: its errors on held-out pairs, without the noise of counting.

For a pair counted n >= 2 times, with counts N, and a prediction q made without it,

    (sum N^2 - n) / (n (n - 1)) - 2 p_hat.q + q.q          estimates ||p - q||^2,
    (p_hat.f - q.f)^2 - s^2 / n                            estimates ((p - q).f)^2,

both without bias, where s^2 is the sample variance of f over the n next states. They are averaged
over pairs of which about as much is known: a state met once tells less of its other actions than
one met often.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

LEAST = 30  # judges in a stratum
STRATA = 6  # at the most
ROUNDING = 1e-9  # what is no larger, relative to what it is part of, is none


class Judges(NamedTuple):
    """The pairs whose own counts can judge a prediction: met twice at least."""

    pairs: Mask  # [S, A]
    N: Floats  # [K, S] their counts
    n: Floats  # [K]

    @classmethod
    def of(cls, N: Floats, n: Floats) -> Judges:
        """Those among all pairs; N [S, A, S], n [S, A]."""
        pairs = n >= 2
        return cls(pairs, N[pairs], n[pairs])

    @property
    def weights(self) -> Floats:
        """In a mean: the noise of few visits counts less, many visits are alike."""
        return (self.n - 1.0) / (self.n + 4.0)

    def squares(self, w: Floats | float = 1.0) -> Floats:
        """Estimates of sum p^2 / w, [K]."""
        return ((self.N**2 - self.N) / w).sum(axis=1) / (self.n * (self.n - 1.0))

    def by_next(self, q: Floats) -> Floats:
        """Estimates of (p - q)^2 by next state, averaged over the judges: [S]."""
        n, p_hat = self.n[:, None], self.N / self.n[:, None]
        squares = (self.N**2 - self.N) / (n * (n - 1.0)) + (q - 2 * p_hat) * q
        return (self.weights / self.weights.sum()) @ squares

    def distances(self, q: Floats, w: Floats | float = 1.0) -> Floats:
        """Estimates of sum (p - q)^2 / w for predictions q [K, S]: [K]."""
        p_hat = self.N / self.n[:, None]
        return self.squares(w) + np.einsum("kt,kt->k", (q - 2 * p_hat) / w, q)

    def errors_of(self, q: Floats, f: Floats) -> Floats:
        """Estimates of ((p - q).f)^2, [K], for a function f [S] of the next state."""
        mean = self.N @ f / self.n
        spread = np.maximum(self.N @ f**2 / self.n - mean**2, 0.0) / (self.n - 1.0)
        return (mean - q @ f) ** 2 - spread


def mean(values: Floats, weights: Floats) -> tuple[float, float]:
    """Weighted mean and its standard error."""
    share = weights / weights.sum()
    found = float(share @ values)
    return found, float(np.sqrt((share**2) @ (values - found) ** 2))


def evidence_around(n: Floats) -> Floats:
    """Visits behind a prediction of each pair [S, A]: of its state and of its action, elsewhere."""
    return np.minimum(n.sum(axis=1, keepdims=True) - n, n.sum(axis=0) - n)


class Strata:
    """Pairs by the evidence around them, in groups with enough judges each.

    Args:
        n: visits [S, A].
        judges: the pairs that can judge.
    """

    def __init__(self, n: Floats, judges: Judges) -> None:
        evidence = evidence_around(n)
        at = evidence[judges.pairs]
        groups = int(np.clip(at.size // LEAST, 1, STRATA))
        edges = np.unique(np.quantile(at, np.arange(1, groups) / groups))
        self.of_judges = np.searchsorted(edges, at, side="right")
        self.of_pairs = np.searchsorted(edges, evidence, side="right")  # [S, A]
        self.beyond = evidence < at.min()  # [S, A] with less evidence than any judge had
        self.weights = judges.weights

    def means(self, values: Floats) -> tuple[Floats, Floats]:
        """Mean of the judges' values [K] in the stratum of each pair, and its error, [S, A] each.

        An error only falls with evidence: a stratum takes over the mean of one with more evidence
        if that is larger.
        """
        found: list[tuple[float, float]] = []
        for stratum in np.unique(self.of_judges)[::-1]:
            here = self.of_judges == stratum
            new = mean(values[here], self.weights[here])
            found.append(new if not found else max(new, found[-1]))
        means, errors = np.array(found[::-1]).T
        index = np.searchsorted(np.unique(self.of_judges), self.of_pairs)
        index = np.minimum(index, len(means) - 1)
        return means[index], errors[index]


class Judged(NamedTuple):
    """A prediction and its judges: held-out pairs that were met twice at least."""

    q: Floats  # [S, A, S]
    n0: Floats  # [S, A]
    judges: Judges
    held: Floats  # [K, S] what was said of each judge without having seen it
    strata: Strata
    apart: Floats | None  # [K, S] the same without any pair of its state
