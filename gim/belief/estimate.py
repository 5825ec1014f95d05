"""What counts and an inference say of a world, on one pattern of next states.

Of each pair the n visits that it has and a prediction q that counts for w n0 more make

    p(.|s,a) = (N + w n0 q) / (n + w n0).

What a triple (s, a, s') pays is what it paid where it was met. Else there are two beliefs: r0, by a
rule that is right or wrong, and r1, by regression on what triples are made of. Neither is trusted
alone: their mean is the estimate, the lesser of the two is planned on, since a plan seeks out where
rules extrapolate to its advantage, and how far they are apart is a part of what is uncertain.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.analogy.base import Posterior
from gim.belief.knowledge import Knowledge
from gim.model.counts import rewards_by_triple, transitions
from gim.model.halves import Order, in_order
from gim.planning.planners import Model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ROUNDING = 1e-9  # of squares
MOST = 1e9  # visits that are as good as certainty
TINY = 1e-300  # in place of 0
ELSEWHERE = 4  # states that a visit which may have gone anywhere is spread over


class Pattern(NamedTuple):
    """The triples that an estimate speaks of, CSR of S*A rows in order."""

    first: Ints  # [S*A + 1] where each pair begins
    next: Ints  # [nnz] next states
    pair: Ints  # [nnz] s*A + a
    keys: Ints  # [nnz] pair * S + next, rising

    def on(self, rows: sparse.csr_array) -> tuple[Floats, Floats]:
        """The values of other rows on this pattern, and where there are any; the rest is lost."""
        pair = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        wanted = pair * rows.shape[1] + rows.indices
        place = np.minimum(np.searchsorted(self.keys, wanted), self.keys.size - 1)
        there = self.keys[place] == wanted
        values, told = np.zeros((2, self.keys.size))
        values[place[there]], told[place[there]] = rows.data[there], 1.0
        return values, told

    def sums(self, values: Floats) -> Floats:
        """Sums over the next states of each pair, [S*A]."""
        return np.bincount(self.pair, values, self.first.size - 1).astype(np.float64)


def pattern_of(S: int, *parts: sparse.csr_array) -> Pattern:
    """All triples of some rows; a pair without one stays where it is."""
    keys = [np.repeat(np.arange(x.shape[0]), np.diff(x.indptr)) * S + x.indices for x in parts]
    size = parts[0].shape[0]
    silent = np.flatnonzero(sum(np.diff(x.indptr) for x in parts) == 0)
    A = size // S
    every = np.unique(np.concatenate([*keys, silent * S + silent // A]))
    pair, next = np.divmod(every, S)
    return Pattern(np.searchsorted(pair, np.arange(size + 1)), next, pair, every)


class Estimate:
    """What some counts and what is inferred from them say of every pair.

    Args:
        belief: counts, ends, and the rewards that are known beforehand.
        posterior: what is inferred from them.
        available: [S, A] pairs that can be played.
        horizon: H, of plans.
    """

    def __init__(
        self, belief: Knowledge, posterior: Posterior, available: Any, horizon: int
    ) -> None:
        self.belief = belief._replace(prior=posterior.prior)
        self.posterior, self.available, self.horizon = posterior, available, horizon
        counts, prior = belief.counts, posterior.prior
        self.S, self.A = counts.n.shape
        N = transitions(counts)
        N = N if sparse.issparse(N) else N.reshape(self.S * self.A, self.S)
        self.met = sparse.csr_array(N, dtype=np.float64)
        self.met.eliminate_zeros()
        self.shown = self.met if posterior.shown is None else posterior.shown
        self.n = counts.n.ravel().astype(np.float64)
        goes_on = np.repeat(~belief.terminal, self.A)
        if prior.speaks:
            seen = self.belief.evidence()
            self.replaced = np.isinf(prior.n0.ravel()) & goes_on
            worth = np.where(self.replaced, 1.0, seen.n.ravel() - self.n)
            self.worth = np.where(goes_on, np.maximum(worth, 0.0), 0.0)
            said = prior.rows()
        else:
            self.replaced, self.worth = np.zeros(self.n.size, bool), np.zeros(self.n.size)
            said = sparse.csr_array((self.n.size, self.S))
        said = sparse.csr_array(sparse.diags_array(1.0 * (self.worth > 0)) @ said)
        said.eliminate_zeros()
        ends = sparse.csr_array(sparse.diags_array(1.0 * goes_on) @ self.met)
        ends.eliminate_zeros()
        self.pattern = pattern_of(self.S, ends, said)
        self.N = self.pattern.on(ends)[0] * ~self.replaced[self.pattern.pair]
        self.q = self.pattern.on(said)[0]
        self.total = np.where(self.replaced, 0.0, self.n) + self.worth  # visits behind each row
        self.supported = (self.pattern.sums(self.N) + self.worth > 0) & available.ravel()

    # -- transitions

    def rows(self, q: Floats | None = None) -> Floats:
        """p(s'|s,a) on the pattern, with this prediction, or its own."""
        pair, q = self.pattern.pair, self.q if q is None else q
        data = self.N + self.worth[pair] * q
        total = self.pattern.sums(data)[pair]
        return np.where(total > 0, data / np.where(total > 0, total, 1.0), 1.0)

    def drawn_rules(self, rng: np.random.Generator) -> Floats:
        """The prediction q with every rule drawn, on the pattern."""
        fitted = self.posterior.fitted
        pairs = np.flatnonzero(self.worth > 0)
        if fitted is None or not pairs.size:
            return self.q
        rows = fitted.drawn(pairs, rng)
        first = np.zeros(self.n.size + 1, np.int64)
        first[pairs + 1] = np.diff(rows.indptr)
        shape = (self.n.size, self.S)
        found = sparse.csr_array((rows.data, rows.indices, np.cumsum(first)), shape=shape)
        data = self.pattern.on(found)[0]
        total = self.pattern.sums(data)[self.pattern.pair]
        return np.where(total > 0, data / np.where(total > 0, total, 1.0), self.q)

    def drawn_means(self, rng: np.random.Generator, order: Order | None = None) -> Floats:
        """p(s'|s,a) on the pattern with every rule drawn; a pair that follows none is its own."""
        p, pair = self.rows(self.drawn_rules(rng)), self.pattern.pair
        turn, weight = in_order(self.pattern.keys, self.S, self.A, order), np.zeros(pair.size)
        weight[turn] = rng.standard_gamma(np.maximum(self.N[turn], TINY))
        weight = np.where((self.worth == 0)[pair], weight, 0.0)
        total = self.pattern.sums(weight)[pair]
        return np.where(total > 0, weight / np.where(total > 0, total, 1.0), p)

    def drawn_pairs(self, rng: np.random.Generator) -> tuple[sparse.csr_array, Floats]:
        """Transitions [S*A, S] drawn whole, rules and what pairs differ from them by.

        Where a rule holds, p ~ Dirichlet(N + n0 q') with the rule q' drawn; else p is
        Dirichlet(N + 1/S), of which a visit that may have gone anywhere goes to ELSEWHERE states.
        Also its chances on the pattern, which add up to less.
        """
        prior, pair, size = self.posterior.prior, self.pattern.pair, self.n.size
        holds, alpha, more = np.zeros(size, bool), self.N.copy(), np.ones(size)
        if prior.speaks:
            n0, behind = prior.n0.ravel(), prior.behind.ravel()
            said = (n0 > 0) & np.isfinite(n0)
            share = np.where(said, self.worth / np.where(said, n0, 1.0), 1.0 * self.replaced)
            holds = rng.random(size) < share
            apart = 1.0 / np.where(said, n0, 1.0) - 1.0 / np.maximum(behind, 1e-300)
            visits = np.where(said, np.minimum(1.0 / np.maximum(apart, 1e-9), MOST), MOST)
            leak = prior.leak.ravel()
            alpha += (holds * visits * (1.0 - leak))[pair] * self.drawn_rules(rng)
            more = np.where(holds, visits * leak, 1.0)
        given = self.pattern.sums(alpha) > 0
        loops = ~given & (self.worth == 0) & (self.n == 0) & ~self.available.ravel()
        alpha = np.where(loops[pair] | self._ends[pair], 1.0, alpha)
        more = np.where(loops | self._ends, 0.0, more)
        weight = rng.standard_gamma(np.maximum(alpha, TINY))
        column = rng.integers(self.S, size=(size, ELSEWHERE))
        away = rng.standard_gamma(np.maximum(more / ELSEWHERE, TINY)[:, None], column.shape)
        total = np.maximum(self.pattern.sums(weight) + away.sum(axis=1), TINY)
        shape = (size, self.S)
        inside = weight / total[pair]
        rows = sparse.csr_array((inside, self.pattern.next, self.pattern.first), shape=shape)
        where = np.repeat(np.arange(size), ELSEWHERE), column.ravel()
        rows = rows + sparse.csr_array(((away / total[:, None]).ravel(), where), shape=shape)
        return sparse.csr_array(rows), inside

    @cached_property
    def _ends(self) -> NDArray[np.bool_]:
        """[S*A] pairs of states that end an episode."""
        return np.repeat(self.belief.terminal, self.A)

    # -- rewards

    @cached_property
    def _paid(self) -> tuple[Floats, Floats, Floats]:
        """What triples paid on average, how often, and the noise of one reward, on the pattern."""
        counts = self.belief.counts
        if not counts.paid.size:
            none = np.zeros(self.pattern.keys.size)
            return none, none, none
        paid, paid2 = rewards_by_triple(counts, self.met.indices, self.met.indptr)
        N = self.met.data
        scatter = np.maximum(paid2 - paid**2 / N, 0.0)
        scatter[scatter <= ROUNDING * paid2] = 0.0
        noise = float(scatter.sum()) / max(float((N - 1.0).sum()), 1.0)
        parts = (self.met.indices, self.met.indptr)
        mean = self.pattern.on(sparse.csr_array((paid / N, *parts), self.met.shape))[0]
        often = self.pattern.on(self.met)[0]
        return mean, often, np.full(often.size, noise)

    @cached_property
    def _own(self) -> Floats:
        """What each pair pays if nothing is said of a triple: what it paid; the least of all."""
        counts = self.belief.counts
        r = counts.R.ravel() / np.maximum(self.n, 1.0)
        least = float(r[self.n > 0].min(initial=0.0))
        return np.where(self.n > 0, r, least)

    @cached_property
    def beliefs(self) -> tuple[Floats, Floats]:
        """r0 and r1 on the pattern; the same where nothing but one of them speaks."""
        pair, prior = self.pattern.pair, self.posterior.prior
        known = self.belief.rewards
        if known.given:
            r = known.r.ravel()[pair]
            if known.by_next.size:
                listed = (known.by_next, known.next, known.first)
                values, told = self.pattern.on(sparse.csr_array(listed, shape=self.met.shape))
                r = np.where(told > 0, values, r)
            return r, r
        r0 = self._own[pair]
        if prior.speaks and prior.r_n0.any():
            spoken = (prior.r_n0.ravel() > 0)[pair]
            if prior.r_next.size:
                parts = (prior.r_next, prior.next, prior.first)
                values, told = self.pattern.on(sparse.csr_array(parts, shape=self.met.shape))
                r0 = np.where(spoken & (told > 0), values, r0)
            else:
                r0 = np.where(spoken, self._by_pair()[pair], r0)
        r1, wide = r0, np.zeros(r0.size)
        if self.posterior.other is not None:
            told = self.posterior.other.predict(pair, self.pattern.next)
            r1, wide = told.r, told.variance
        paid, often, noise = self._paid
        weight = np.where(often > 0, often * wide / np.maximum(often * wide + noise, 1e-300), 0.0)
        weight = np.where((often > 0) & (noise == 0), 1.0, weight)
        return weight * paid + (1 - weight) * r0, weight * paid + (1 - weight) * r1

    def _by_pair(self) -> Floats:
        """r(s,a) where rewards were not kept by next state."""
        counts, prior = self.belief.counts, self.posterior.prior
        r_n0 = prior.r_n0.ravel()
        instead = np.isinf(r_n0)
        n, r_n0 = np.where(instead, 0.0, self.n), np.where(instead, 1.0, r_n0)
        total = np.maximum(n + r_n0, 1e-300)
        return (n / np.maximum(self.n, 1.0) * counts.R.ravel() + r_n0 * prior.r.ravel()) / total

    def pays(self, r: Floats, p: Floats) -> Floats:
        """r(s,a) [S, A] of rewards and chances on the pattern."""
        found = self.pattern.sums(p * r)
        alone = ~self.supported & (self.n == 0)
        goes_on = np.repeat(~self.belief.terminal, self.A)
        found = np.where(alone & ~self.belief.rewards.given, self._own, found)
        return np.where(goes_on, found, 0.0).reshape(self.S, self.A)

    def drawn_rewards(self, draws: int, rng: np.random.Generator) -> Floats:
        """The mean of both beliefs on the pattern, the coefficients of r1 drawn, [draws, nnz]."""
        r0, r1 = self.beliefs
        mean = np.tile((r0 + r1) / 2.0, (draws, 1))
        other = self.posterior.other
        if other is None or self.belief.rewards.given:
            return mean
        unmet = np.flatnonzero(self._paid[1] == 0)
        off = other.drawn(self.pattern.pair[unmet], self.pattern.next[unmet], draws, rng)
        mean[:, unmet] += off / 2.0
        return mean

    def noisy(self, r: Floats, rng: np.random.Generator) -> Floats:
        """Rewards [draws, nnz] with the luck of triples that paid now more, now less."""
        often, noise = self._paid[1:]
        if self.belief.rewards.given or not noise.any():
            return r
        sd = np.sqrt(noise / np.maximum(often, 1.0)) * (often > 0)
        return np.asarray(r + sd * rng.standard_normal(r.shape))

    # -- models

    def model(self, p: Floats | None = None, r: Floats | None = None) -> Model:
        """A world that can be planned in: chances and rewards on the pattern; by default means."""
        p = self.rows() if p is None else p
        r = (self.beliefs[0] + self.beliefs[1]) / 2.0 if r is None else r
        parts = (p, self.pattern.next, self.pattern.first)
        P = sparse.csr_array(parts, shape=(self.S * self.A, self.S))
        return Model(P, self.pays(r, p), self.playable, self.horizon)

    @cached_property
    def playable(self) -> NDArray[np.bool_]:
        """Pairs that a plan may play: those of which something is known; all where nothing is."""
        supported = self.supported.reshape(self.S, self.A)
        supported = supported | (self.belief.terminal[:, None] & self.available)
        lost = ~supported.any(axis=1, keepdims=True)
        return np.asarray(self.available & (supported | lost))

    @property
    def less(self) -> Floats:
        """The lesser of both beliefs of rewards, on the pattern."""
        return np.minimum(*self.beliefs)

    @cached_property
    def doubt(self) -> Floats:
        """[S, A] how wrong the rule of a pair may be, in standard deviations of what follows."""
        prior, total = self.posterior.prior, self.total
        if not prior.speaks:
            return np.zeros((self.S, self.A))
        share = np.where(total > 0, self.worth / np.maximum(total, 1e-300), 0.0)
        return np.asarray(share.reshape(self.S, self.A) / np.sqrt(prior.behind + 1.0))

    @cached_property
    def weight(self) -> Floats:
        """[S, A] visits that what is believed of a pair is worth, its own included."""
        return np.where(self._ends, 0.0, self.total).reshape(self.S, self.A)

    def sd(self, v: Floats) -> Floats:
        """[S, A] the standard deviation of r + p.v for values v [S]."""
        p, pair = self.rows(), self.pattern.pair
        r0, r1 = self.beliefs
        y = (r0 + r1) / 2.0 + v[self.pattern.next]
        mean = self.pattern.sums(p * y)
        spread = self.pattern.sums(p * (y - mean[pair]) ** 2)
        total, noise = self.total, float(self._paid[2].max(initial=0.0))
        open_ = np.ptp(v) + float(np.ptp(self._own))  # of a pair of which nothing is known
        own = (spread + noise) / (total + 1.0)
        rule = self.doubt.ravel() ** 2 * spread
        apart = (self.pattern.sums(p * (r1 - r0)) / 2.0) ** 2
        lost = np.where(total > 0, 0.0, open_**2 / 4.0)
        found = np.sqrt(own + rule + apart + lost)
        return np.where(self._ends, 0.0, found).reshape(self.S, self.A)

    def drawn_world(self, rng: np.random.Generator) -> tuple[sparse.csr_array, Floats]:
        """Transitions and rewards [S, A], drawn whole."""
        rows, inside = self.drawn_pairs(rng)
        r = self.drawn_rewards(1, rng)[0]
        mass = self.pattern.sums(inside)
        pays = self.pattern.sums(inside * r)
        pays = np.where(mass > TINY, pays / np.maximum(mass, TINY), self._own)
        if self.belief.rewards.given:
            return rows, np.where(self._ends, 0.0, pays).reshape(self.S, self.A)
        noise, prior = float(self._paid[2].max(initial=0.0)), self.posterior.prior
        sd = np.sqrt(noise / np.maximum(self.n + self.worth, 1.0))
        unmet = self.n == 0
        if prior.speaks:
            sd = np.where(unmet, np.sqrt(prior.r_noise.ravel()), sd)
        pays = pays + sd * rng.standard_normal(sd.size)
        doubt = prior.r_doubt.ravel() if prior.speaks else np.ones(sd.size)
        doubt = np.where(self.worth > 0, doubt, 1.0) * unmet
        met = self._own[~unmet]
        low, high = (float(met.min()), float(met.max())) if met.size else (0.0, 0.0)
        odd = rng.uniform(low, high, sd.size)
        pays = np.where(rng.random(sd.size) < doubt, odd, pays)
        return rows, np.where(self._ends, 0.0, pays).reshape(self.S, self.A)
