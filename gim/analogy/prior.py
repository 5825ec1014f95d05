"""What is predicted of each pair: sparse rows, the visits they are worth, and where they may fail.

A prediction of p(.|s,a) names a handful of successors in a structured world and many in a dense
one; rows are sparse in both, so that a prior costs what it says. Data decide how far it counts at a
pair (`gim.belief.evidence`): `n0` is what the prediction is worth if it holds there, `doubt` the
chance that it does not. Rewards likewise.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._compile.jit import entry, hot, seldom
from gim._compile.memory import Limit, Limits
from gim.model.counts import Counts

# -- what a pair's own visits say of its prediction: the probability that it holds there


STIRLING = (12.0, 360.0, 1260.0, 1680.0)  # paper: Stirling's series, as De Moivre 1730 has it
LARGE = 10.0  # limit: from which that series is as good as exact
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)
LEAST, MOST = 1e-300, 1.0 - 1e-12  # a doubt whose logarithms are asked for
FARTHEST = 700.0  # limit: nats between two hypotheses, beyond which they are not told apart


@hot
def log_gamma(x: float) -> float:
    """ln Gamma(x) for x > 0, by Stirling's series; the same bits compiled and plain."""
    product = 1.0
    while x < LARGE:
        product *= x
        x += 1.0
    y = 1.0 / (x * x)
    a, b, c, d = STIRLING
    series = (1.0 / a - y * (1.0 / b - y * (1.0 / c - y / d))) / x
    return (x - 0.5) * math.log(x) - x + HALF_LOG_2PI + series - math.log(product)


@hot
def log_odds(doubt: float) -> float:
    """ln(doubt / (1 - doubt)), finite."""
    return math.log(max(doubt, LEAST)) - math.log1p(-min(doubt, MOST))


@hot
def clipped(nats: float) -> float:
    """No farther from 0 than FARTHEST."""
    return min(max(nats, -FARTHEST), FARTHEST)


@hot
def probability(against: float) -> float:
    """Of what has these log-odds against it."""
    return 1.0 / (1.0 + math.exp(clipped(against)))


def holds(rows: Any, said: Any, n0: Floats, leak: Floats, doubt: Floats, S: int) -> Floats:
    """The probability w that each prediction holds at its pair, given its own visits.

    `rows` are the visits of some pairs and `said` is what is predicted of them, CSR parts; the
    others have a number for each pair.
    """
    w = np.ones(n0.size)
    _hold(compare_likelihoods(rows, said, n0, leak, S), doubt, w)
    return w


@seldom(lambda sides, doubt, w: 2 * w.size)
def _hold(sides: Any, doubt: Any, w: Any) -> None:
    for i in range(w.size):
        if doubt[i] > 0.0:
            w[i] = probability(clipped(sides[1, i] - sides[0, i]) + log_odds(doubt[i]))


def compare_likelihoods(rows: Any, said: Any, n0: Any, leak: Any, S: int) -> Any:
    """ln DM(N; n0 ((1 - leak) q + leak/S)) and ln DM(N; 1/S) of every row, [2, rows].

    `rows` are the counts and `said` is what is predicted, CSR parts with their columns in order.
    The first is -inf where something was seen that is impossible under the prediction.
    """
    sides = np.zeros((2, n0.size))
    _compare(rows, said, n0, leak, S, sides)
    return sides


@entry
def _compare(rows: Any, said: Any, n0: Any, leak: Any, S: int, sides: Any) -> None:
    (N, columns, starts), (q, next, first) = rows, said
    blank = log_gamma(1.0 / S)
    for i in range(n0.size):
        if n0[i] <= 0.0 or starts[i] == starts[i + 1]:
            continue
        total, with_q, without, k = 0.0, 0.0, 0.0, first[i]
        for j in range(starts[i], starts[i + 1]):
            while k < first[i + 1] and next[k] < columns[j]:
                k += 1
            predicted = q[k] if k < first[i + 1] and next[k] == columns[j] else 0.0
            alpha = n0[i] * ((1.0 - leak[i]) * predicted + leak[i] / S)
            total += N[j]
            without += log_gamma(1.0 / S + N[j]) - blank
            if alpha <= 0.0:
                with_q = -np.inf
            else:
                with_q += log_gamma(alpha + N[j]) - log_gamma(alpha)
        sides[0, i] = with_q + log_gamma(n0[i]) - log_gamma(n0[i] + total)
        sides[1, i] = without - log_gamma(1.0 + total)


def rewards_hold(counts: Counts, prior: Prior) -> Floats:
    """The probability [S, A] that a predicted reward holds at its pair, given what it paid.

    The mean of n rewards is compared under the prediction, normal with the variance of n single
    ones besides that of r_n0, and under no prediction, where it varies as r(s,a) does over all
    pairs. Where rewards are certain, one that differs removes the prediction.
    """
    hold = np.ones(counts.n.shape)
    if prior.r_doubt.any():
        met = np.flatnonzero(counts.n)
        varies = float(np.var(counts.R.ravel()[met] / counts.n.ravel()[met])) if met.size else 0.0
        said = prior.r, prior.r_n0, prior.r_doubt, prior.r_noise
        _rewards_hold(varies, *(each.ravel() for each in (counts.n, counts.R, *said, hold)))
    return hold


@seldom(lambda varies, n, *_: 2 * n.size)
def _rewards_hold(
    varies: float, n: Any, R: Any, r: Any, r_n0: Any, doubt: Any, noise: Any, hold: Any
) -> None:
    for i in range(n.size):
        if n[i] > 0 and doubt[i] > 0.0:
            mean, wide = R[i] / n[i], varies + noise[i]
            narrow = noise[i] * (1.0 / n[i] + 1.0 / max(r_n0[i], LEAST))
            narrow = max(narrow, 1e-18 * (1.0 + mean * mean + wide))  # equal but for rounding
            wide = max(wide, narrow)
            off = (mean - r[i]) * (mean - r[i])
            other = 0.5 * (math.log(narrow / wide) + off / narrow - off / wide)
            hold[i] = probability(log_odds(doubt[i]) + other)


# --


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Prior(NamedTuple):
    """A prediction for every pair; of size 0 for an agent that never infers."""

    q: Floats  # [nnz] predicted p(s'|s,a), pair by pair; a row sums to 1 where n0 > 0
    next: Ints  # [nnz] the s' that they speak of, rising within a pair
    first: Ints  # [S*A + 1] where the successors of each pair s*A + a begin
    n0: Floats  # [S, A] visits that the prediction is worth; 0: none is made; inf: it replaces data
    doubt: Floats  # [S, A] chance that it does not hold at this pair
    behind: Floats  # [S, A] visits that it rests on, which n0 allows for; inf: no limit
    leak: Floats  # [S, A] share of the prediction that goes to any state at all, where it is judged
    r_next: (
        Floats  # [nnz] predicted r(s,a,s') of the successors, or [0]: r(s,a) is all that is said
    )
    r: Floats  # [S, A] predicted r(s,a)
    r_n0: Floats  # [S, A] visits that it is worth; where nothing is seen either, r is the largest
    r_doubt: Floats  # [S, A] chance that it does not hold at this pair
    r_noise: Floats  # [S, A] variance of single rewards under the prediction
    judges: Ints  # [K] pairs s*A + a that were held out to judge it; size 0: nobody did
    held_q: Floats  # [nnz] what was predicted of each of them by one who had not seen it
    held_next: Ints  # [nnz] the s' that this speaks of
    held_first: Ints  # [K + 1] where each judge begins

    @property
    def speaks(self) -> bool:
        """Whether anything at all is predicted."""
        return self.n0.size > 0 and bool(self.n0.any() or self.r_n0.any())

    def rows(self) -> sparse.csr_array:
        """The predictions as CSR of S*A rows, sharing memory."""
        S, A = self.n0.shape
        return sparse.csr_array((self.q, self.next, self.first), shape=(S * A, S))

    def held(self) -> sparse.csr_array:
        """What was predicted of the judges without them, CSR of K rows, sharing memory."""
        parts = (self.held_q, self.held_next, self.held_first)
        return sparse.csr_array(parts, shape=(self.judges.size, len(self.n0)))

    def limits(self) -> Limits:
        """See `gim._compile.memory`; what was inferred is checked as a whole, by the belief."""
        return {name: Limit(grows=True, optional=name == "behind") for name in self._fields}

    def mended(self) -> Prior:
        """As a file of an earlier version meant it: there `behind` limited nothing."""
        if self.behind.shape == self.n0.shape:
            return self
        return self._replace(behind=np.full(self.n0.shape, np.inf))


def no_prior(S: int, A: int) -> Prior:
    """Nothing is predicted."""
    first = np.zeros(S * A + 1 if S * A else 0, np.int64)
    n0, doubt, leak, r, r_n0, r_doubt, r_noise = (np.zeros((S, A)) for _ in range(7))
    behind = np.full((S, A), np.inf)
    none, nothing = np.zeros(0, np.int64), np.zeros(0)
    rewards = nothing, r, r_n0, r_doubt, r_noise
    judged = none, nothing, none, np.zeros(1, np.int64)
    return Prior(nothing, none, first, n0, doubt, behind, leak, *rewards, *judged)


def prior_of(q: Any, n0: Floats, **more: Any) -> Prior:
    """A prior from predictions [S, A, S], or CSR of S*A rows; what is not given is 0.

    Args:
        q: the predicted p(.|s,a); rows of pairs with n0 = 0 are left out. CSR rows are in order.
        n0: [S, A] visits that each prediction is worth.
        more: further fields of `Prior`: [S, A] each, but `r_next`, which is aligned with CSR rows.

    Example:
        >>> prior = prior_of(np.full((2, 1, 2), 0.5), n0=np.array([[3.0], [0.0]]))
        >>> prior.first.tolist(), prior.q.tolist()
        ([0, 2, 2], [0.5, 0.5])
    """
    S, A = n0.shape
    rows = q if sparse.issparse(q) else sparse.csr_array(np.asarray(q).reshape(S * A, -1))
    if rows.shape != (S * A, S):
        raise ValueError(f"the prior's q has shape {np.shape(q)}, not {(S, A, S)}")
    sizes = np.where(n0.ravel() > 0, np.diff(rows.indptr), 0)
    kept = np.repeat(n0.ravel() > 0, np.diff(rows.indptr))
    if "r_next" in more:
        more["r_next"] = more["r_next"][kept]
    return no_prior(S, A)._replace(
        q=np.asarray(rows.data[kept], np.float64),
        next=rows.indices[kept].astype(np.int64),
        first=np.append(0, np.cumsum(sizes)),
        n0=n0,
        **more,
    )


def with_judges(prior: Prior, judges: Ints, held: sparse.csr_array) -> Prior:
    """The same with its judges [K] and what was predicted of them without them [K, S]."""
    held.sort_indices()
    return prior._replace(
        judges=judges,
        held_q=np.asarray(held.data, np.float64),
        held_next=held.indices.astype(np.int64),
        held_first=held.indptr.astype(np.int64),
    )


def check_prior(prior: Prior, S: int, A: int) -> None:
    """Refuse a prior that is none: shapes, signs, order, sums."""
    check_form(prior, S, A)
    pair = np.repeat(np.arange(S * A), np.diff(prior.first))
    sums = np.bincount(pair, prior.q, S * A)
    off = np.abs(sums - 1) * (prior.n0.ravel() > 0)
    if (off > 1e-6).any():
        s, a = divmod(int(off.argmax()), A)
        raise ValueError(
            f"the prior's q[{s}, {a}] sums to {sums[s * A + a]:.6g}, not 1: normalise it, or "
            f"set n0[{s}, {a}] to 0"
        )


def check_form(prior: Prior, S: int, A: int) -> None:
    """The same but for sums: the published code, `GIM(rows="clip")`, leaves rows that have none."""
    expected = {"q": (prior.next.size,), "next": (prior.next.size,), "first": (S * A + 1,)}
    expected["r_next"] = (prior.next.size if prior.r_next.size else 0,)
    expected |= dict.fromkeys(("held_q", "held_next"), (prior.held_next.size,))
    expected |= {"judges": (prior.judges.size,), "held_first": (prior.judges.size + 1,)}
    for name, value in zip(Prior._fields, prior, strict=True):
        shape = expected.get(name, (S, A))
        if np.shape(value) != shape:
            raise ValueError(f"the prior's {name} has shape {np.shape(value)}, not {shape}")
        if np.isnan(value).any() or (
            name not in ("r", "r_next") and np.min(value, initial=0.0) < 0
        ):
            raise ValueError(f"the prior's {name} has entries that are negative or not a number")
        if name not in ("n0", "behind", "r_n0") and not np.isfinite(value).all():
            raise ValueError(f"the prior's {name} has entries that are not finite")
    for name in ("doubt", "leak", "r_doubt"):
        if np.max(getattr(prior, name), initial=0.0) > 1:
            raise ValueError(f"the prior's {name} has entries above 1: it is a share")
    for first, next in ((prior.first, prior.next), (prior.held_first, prior.held_next)):
        ordered = first[0] == 0 and (np.diff(first) >= 0).all() and first[-1] == next.size
        if not ordered or (next.size and not 0 <= next.min() <= next.max() < S):
            raise ValueError(
                "the prior's first and next do not name successors: see gim.analogy.Prior"
            )
        pair = np.repeat(np.arange(first.size - 1), np.diff(first))
        if ((np.diff(next) <= 0) & (np.diff(pair) == 0)).any():
            raise ValueError("the prior's next must rise within each pair, no state twice")
    if np.max(prior.judges, initial=0) >= S * A:
        raise ValueError(f"the prior's judges are not all pairs s*A + a below {S * A}")
