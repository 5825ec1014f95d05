"""What held-out pairs say of predictions: how far they are off, where they fail, who is alike.

A prior keeps what was predicted of its judges without them (`gim.analogy.prior`); by now they may
have been met more often. For a judge met n times and any function f of the next state,

    x = (p_hat - q).f   has mean 0 and variance   Var_q(f) / (n0 + 1) + Var(f) / n,

the error of a prediction worth n0 visits and the noise of counting. How n0 grows with the evidence
e around a pair (visits of its state and of its action, elsewhere) and with its own visits n is a
curve: rules are made where the data are, and may be wrong where hardly anybody was,

    1 / n0 = 1 / top + 1 / (slope e) + 1 / (own (n + 1)),

whose three numbers are inferred from all judges at once, as a distribution over a grid. Unlike the
likelihood of the counts, which sees n0 in repeated successors only, x sees predictions that are off
in any way, along the very f that matters.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._compile.jit import seldom
from gim.analogy.analogy import evidence_around
from gim.analogy.prior import compare_likelihoods, log_gamma
from gim.belief.belief import Belief
from gim.belief.evidence import csr_of
from gim.model.counts import transitions

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

TOPS = 2.0 ** np.arange(-1, 12)
SLOPES = np.append(10.0 ** np.arange(-2, 2, 0.5), np.inf)
OWNS = np.append(4.0 ** np.arange(0, 4), np.inf)
LITTLE = 0.25  # evidence in place of none
TOLD = 10.0  # visits that a prediction counts for where the noise of counting is estimated
ALIKE = 6.0  # judges of one state, or of one action, that count as independent
DIRECTIONS = 16  # functions of the next state that are looked at, at the most
LEAKS = np.array([0.003, 0.01, 0.03, 0.1, 0.2, 0.4])
ROUNDS = 30  # of expectation and maximisation for the share of failures
FEW = 2  # judges of a state, and of an action, below which there is none of its kind
ABROAD = 0.1  # predicted chance of states never seen, above which there is none either
OTHERS = 2.0  # judges that all others count for, where failures of a state are estimated
BLANKS = 10.0 ** np.arange(-2, 2.5, 0.5)  # visits that knowing nothing may be worth


CURVES = np.array(list(product(TOPS, SLOPES, OWNS)))  # [G, 3]


class Curve(NamedTuple):
    """How the worth of a prediction grows with evidence: a distribution over curves."""

    top: Floats  # [G]
    slope: Floats  # [G]
    own: Floats  # [G]
    weight: Floats  # [G] their probabilities

    @property
    def even(self) -> Floats:
        """Their probabilities if it does not matter how often a pair itself was met.

        Where judges rule that out, so that nothing is left of them, all curves go on.
        """
        weight = self.weight * np.isinf(self.own)
        total = float(weight.sum())
        return np.asarray(weight / total if total > 0.0 else self.weight)

    def n0(self, evidence: Floats) -> Floats:
        """The worth at which a prediction is off as far as on average over even curves."""
        e, weight = np.maximum(evidence, LITTLE), self.even
        return np.asarray(1.0 / (weight @ (1 / self.top) + weight @ (1 / self.slope) / e))

    def drawn(
        self, evidence: Floats, models: int, rng: np.random.Generator, visits: Floats | None = None
    ) -> Floats:
        """The worth in each of so many models, [models, pairs]; evidence and visits [pairs].

        Without visits curves are even.
        """
        weight = self.even if visits is None else self.weight
        g = rng.choice(weight.size, size=models, p=weight)
        top, slope, own = (1.0 / each[g, None] for each in self[:3])
        rare = 0.0 if visits is None else own / (visits + 1.0)
        return np.asarray(1.0 / (top + slope / np.maximum(evidence, LITTLE) + rare))


class Failures(NamedTuple):
    """Where analogies fail."""

    at: Floats  # [K] the probability that it does at each judge
    share: float  # of all judges
    leak: float  # share of visits that predictions miss where they hold


class Judges:
    """The pairs that judge the predictions of a belief, with what was counted of them by now.

    Args:
        belief: what was seen and inferred.
        playable: [S, A] pairs that can be played.
    """

    def __init__(self, belief: Belief, playable: Bools) -> None:
        prior, counts = belief.prior, belief.counts
        self.S, self.A = S, A = counts.n.shape
        self.all = sparse.csr_array(csr_of(transitions(counts), counts.n), shape=(S * A, S))
        self.visits = counts.n.astype(np.float64)  # [S, A]
        self.evidence = evidence_around(self.visits)  # [S, A]
        self.pairs: Ints = np.zeros(0, np.int64)  # [K]
        self.held = sparse.csr_array((0, S))  # [K, S] what was predicted of them without them
        if prior.judges.size:
            told = (np.diff(prior.held_first) > 0) & playable.ravel()[prior.judges]
            self.pairs, self.held = prior.judges[told], prior.held()[np.flatnonzero(told)]
        self.N, self.n = self.all[self.pairs], counts.n.ravel()[self.pairs].astype(np.float64)
        seen = counts.n.any(axis=1) | belief.terminal
        seen[self.all.indices] = True
        self.abroad = np.zeros((S, A))  # predicted chance of a state that was never seen
        if prior.q.size:
            self.abroad = np.asarray(prior.rows() @ ~seen).reshape(S, A)

    @property
    def states(self) -> Ints:
        """The states of the judges [K]."""
        return np.asarray(self.pairs // self.A)

    @property
    def actions(self) -> Ints:
        """Their actions [K]."""
        return np.asarray(self.pairs % self.A)

    def alike(self) -> Bools:
        """Pairs [S, A] that have judges of their kind: of their state, and of their action.

        No judge has led where nobody has been: of pairs that are predicted to, none can tell.
        """
        of_state = np.bincount(self.states, minlength=self.S) >= FEW
        of_action = np.bincount(self.actions, minlength=self.A) >= FEW
        return np.asarray(of_state[:, None] & of_action[None, :] & (self.abroad <= ABROAD))

    def off(self, F: Floats) -> tuple[Floats, Floats, Floats]:
        """x = (p_hat - q).f, Var_q(f) and Var(f) of each judge, [K, M] each, for F [S, M].

        Few visits tell little of their own variance: the prediction's counts as well.
        """
        n = self.n[:, None]
        mean, expected = self.N @ F / n, self.held @ F
        spread = np.maximum(self.held @ F**2 - expected**2, 0.0)
        own = np.maximum(self.N @ F**2 - n * mean**2, 0.0)
        return mean - expected, spread, (TOLD * spread + own) / (TOLD + n - 1.0)

    def curve(self, F: Floats) -> Curve:
        """How far predictions are off along functions F [S, M] of the next state.

        Judges of one state, or of one action, err together: only so many count as independent.
        """
        pick = np.unique(np.linspace(0, F.shape[1] - 1, DIRECTIONS).astype(int))
        F = F[:, pick] - F[:, pick].mean(axis=0)
        x, spread, noise = self.off(F)
        floor = 1e-9 * F.var(axis=0) + 1e-300
        e = np.maximum(self.evidence.ravel()[self.pairs], LITTLE)
        noise = noise / self.n[:, None]
        found = worth_likelihoods(x**2, spread, noise, floor, e, self.n, CURVES)
        kinds = np.unique(self.states).size + np.unique(self.actions).size
        score = found * min(1.0, ALIKE * kinds / self.pairs.size)
        weight = np.exp(score - score.max())
        top, slope, own = CURVES.T
        return Curve(top, slope, own, weight / weight.sum())

    def failures(self, n0: Floats) -> Failures:
        """Where analogies fail, if predictions are worth n0 [S, A] where they hold.

        Either p ~ Dirichlet(n0 q'), q' = (1 - leak) q + leak/S, or p may be anything; the leak and
        the share of failures are those under which the judges are most likely.
        """
        N = parts_of(self.N)
        said = parts_of(self.held)
        own, best, found = n0.ravel()[self.pairs], -np.inf, Failures(np.zeros(0), 1.0, 0.0)
        for leak in LEAKS:
            rule, anything = compare_likelihoods(N, said, own, np.full(own.size, leak), self.S)
            odds, share = np.exp(np.clip(anything - rule, -700.0, 700.0)), 0.1
            for _ in range(ROUNDS):
                fails = odds * (share / (1.0 - share))
                fails = fails / (1.0 + fails)
                share = float(fails.sum() + 0.5) / (fails.size + 1.0)
            total = np.logaddexp(np.log(share) + anything, np.log1p(-share) + rule).sum()
            if total > best:
                best, found = float(total), Failures(fails, share, float(leak))
        return found

    def doubts(self, failures: Failures) -> Floats:
        """The chance [S, A] that the analogy fails at a pair.

        As often as in its state, of which all others are OTHERS judges; the odds are multiplied by
        the failures of its action over those that the states of its judges let expect. A pair's own
        failure is left out: its counts have their say elsewhere.
        """
        failed, judged = np.zeros((2, self.S, self.A))
        failed.ravel()[self.pairs], judged.ravel()[self.pairs] = failures.at, 1.0
        others = OTHERS * failures.share + failed.sum(axis=1, keepdims=True) - failed
        rate = others / (OTHERS + judged.sum(axis=1, keepdims=True) - judged)
        expected = judged * rate
        found, due = (each.sum(axis=0) - each + 0.5 for each in (failed, expected))
        odds = rate / np.maximum(1.0 - rate, 1e-12) * found / due
        return np.asarray(odds / (1.0 + odds))

    def blank(self) -> float:
        """The c under which the counts of all pairs are most likely if p ~ Dirichlet(c/S)."""
        starts = self.all.indptr.astype(np.int64)
        totals = [float(blank_likelihoods(self.all.data, starts, self.S, c).sum()) for c in BLANKS]
        return float(BLANKS[int(np.argmax(totals))])


def parts_of(rows: sparse.csr_array) -> tuple[Floats, Ints, Ints]:
    """Values, columns and row starts as compiled code takes them."""
    return rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)


@seldom(lambda N, *_: 10 * N.size)
def blank_likelihoods(N: Any, starts: Any, S: int, c: float) -> Any:
    """ln DM(N; c/S) of every row."""
    found = np.zeros(starts.size - 1)
    blank, whole = log_gamma(c / S), log_gamma(c)
    for i in range(found.size):
        total, x = 0.0, 0.0
        for j in range(starts[i], starts[i + 1]):
            total += N[j]
            x += log_gamma(c / S + N[j]) - blank
        found[i] = x + whole - log_gamma(c + total)
    return found


def worth_likelihoods(
    squares: Any, spread: Any, noise: Any, floor: Any, e: Any, n: Any, curves: Any
) -> Any:
    """ln of the likelihood [G] of errors with these squares [K, M] under each curve.

    Functions are one witness: of a judge their mean counts. `noise` [K, M] is that of counting,
    `floor` [M] the least variance, e [K] the evidence, n [K] the visits.
    """
    found = np.zeros(len(curves))
    _add_likelihoods(squares, spread, noise, floor, e, n, curves, found)
    return found


@seldom(lambda squares, spread, noise, floor, e, n, curves, _: 2 * squares.size * len(curves))
def _add_likelihoods(
    squares: Any, spread: Any, noise: Any, floor: Any, e: Any, n: Any, curves: Any, found: Any
) -> None:
    K, M = squares.shape
    for g in range(len(curves)):
        top, slope, own = curves[g]
        for k in range(K):
            n0 = 1.0 / (1.0 / top + 1.0 / (slope * e[k]) + 1.0 / (own * (n[k] + 1.0)))
            for m in range(M):
                v = max(spread[k, m] / (n0 + 1.0) + noise[k, m], floor[m])
                found[g] -= 0.5 * (math.log(v) + squares[k, m] / v) / M
