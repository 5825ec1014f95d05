"""What counts and an inference say of a world, on one pattern of next states.

Of each pair the n visits that it has and a prediction q that counts for w n0 more make

    p(.|s,a) = (N + w n0 q) / (n + w n0).

What a triple (s, a, s') pays is what it paid where it was met. Else there are two beliefs: r0, by a
rule that is right or wrong, and r1, by regression on what triples are made of, which counts as far
as no rule was exact. Neither is trusted alone: their mean is the estimate, the lesser of the two is
planned on, since a plan seeks out where rules extrapolate to its advantage, and how far they are
apart is a part of what is uncertain.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln

from gim.analogy.base import Frame, Posterior
from gim.analogy.ridge import Paid
from gim.belief.knowledge import Knowledge
from gim.model.counts import rewards_by_triple, transitions
from gim.model.halves import Order, in_order
from gim.planning.planners import Model

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ROUNDING = 1e-9  # of squares
MOST = 1e9  # visits that are as good as certainty
TINY = 1e-300  # in place of 0
SPREADS = (0.25, 1.0, 4.0, 16.0, 64.0)  # c
ELSEWHERE, ROOM = 4, 1 << 20  # states of each pair, and of all, that may follow besides


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
        frame: pairs that can be played, and the range of rewards.
        horizon: H, of plans.
    """

    def __init__(self, belief: Knowledge, posterior: Posterior, frame: Frame, horizon: int) -> None:
        self.belief = belief._replace(prior=posterior.prior)
        self.posterior, self.available, self.horizon = posterior, frame.available, horizon
        self.limits = frame.reward_range
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
        self.supported = (self.pattern.sums(self.N) + self.worth > 0) & self.available.ravel()

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

    def drawn_pairs(
        self, rng: np.random.Generator, order: Order | None = None
    ) -> tuple[sparse.csr_array, Floats]:
        """Transitions [S*A, S] drawn whole, rules and what pairs differ from them by.

        Where a rule holds, p ~ Dirichlet(N + n0 q') with the rule q' drawn; else p is
        Dirichlet(N + c mu), as pairs differ: see `lawless`. In large worlds c mu goes to a few
        states drawn from mu. Also its chances on the pattern, which add up to less.

        Args:
            rng: the one source of randomness.
            order: of states and actions, in which it is used: by default as they are numbered.
        """
        prior, pair, size = self.posterior.prior, self.pattern.pair, self.n.size
        turn, states = self._turn(order), np.arange(self.S) if order is None else order[0]
        c = self.lawless[0]
        holds, alpha, more = np.zeros(size, bool), self.N.copy(), np.full(size, c)
        if prior.speaks:
            n0, behind = prior.n0.ravel(), prior.behind.ravel()
            said = (n0 > 0) & np.isfinite(n0)
            share = np.where(said, self.worth / np.where(said, n0, 1.0), 1.0 * self.replaced)
            holds[turn] = rng.random(size) < share[turn]
            apart = 1.0 / np.where(said, n0, 1.0) - 1.0 / np.maximum(behind, 1e-300)
            visits = np.where(said, np.minimum(1.0 / np.maximum(apart, 1e-9), MOST), MOST)
            leak = prior.leak.ravel()
            alpha += (holds * visits * (1.0 - leak))[pair] * self.drawn_rules(rng)
            more = np.where(holds, visits * leak, c)
        given = self.pattern.sums(alpha) > 0
        loops = ~given & (self.worth == 0) & (self.n == 0) & ~self.available.ravel()
        alpha = np.where(loops[pair] | self._ends[pair], 1.0, alpha)
        more = np.where(loops | self._ends, 0.0, more)
        weight = np.zeros(pair.size)
        by_key = in_order(self.pattern.keys, self.S, self.A, order)
        weight[by_key] = rng.standard_gamma(np.maximum(alpha[by_key], TINY))
        mu, wide = self.lawless[1][states], min(self.S, max(ELSEWHERE, ROOM // size))
        column = np.tile(states, (size, 1))
        each = np.tile(mu, (size, 1))
        if wide < self.S:
            each = np.full((size, wide), 1.0 / wide)
            column[turn, :wide] = rng.choice(states, (size, wide), p=mu)
            column = column[:, :wide]
        away = np.zeros((size, wide))
        away[turn] = rng.standard_gamma(np.maximum(each * more[turn, None], TINY))
        total = np.maximum(self.pattern.sums(weight) + away.sum(axis=1), TINY)
        shape = (size, self.S)
        inside = weight / total[pair]
        rows = sparse.csr_array((inside, self.pattern.next, self.pattern.first), shape=shape)
        where = np.repeat(np.arange(size), wide), column.ravel()
        rows = rows + sparse.csr_array(((away / total[:, None]).ravel(), where), shape=shape)
        return sparse.csr_array(rows), inside

    @cached_property
    def lawless(self) -> tuple[float, Floats]:
        """c and mu [S], where p ~ Dirichlet(c mu) of pairs that follow no rule.

        Beside rules that is what they were judged against (`gim.analogy.worth`). Where there are
        none, it is how pairs differ, as is likeliest: a plan seeks out lucky pairs.
        """
        if self.posterior.prior.speaks:
            return 1.0, np.full(self.S, 1.0 / self.S)
        N, t, n = self.met.data, self.met.indices, self.n[self.n > 0]
        mu = (np.bincount(t, N, self.S) + 1.0 / self.S) / (N.sum() + 1.0)
        gains = [
            (gammaln(c * mu[t] + N) - gammaln(c * mu[t])).sum()
            + (gammaln(c) - gammaln(c + n)).sum()
            for c in SPREADS
        ]
        return SPREADS[int(np.argmax(gains))], mu

    @cached_property
    def _never(self) -> NDArray[np.bool_]:
        """Triples of the pattern that were never met, of pairs that can be played."""
        open_ = self.available.ravel() & ~self._ends
        return np.asarray((self.pattern.on(self.met)[0] == 0) & open_[self.pattern.pair])

    @cached_property
    def hidden(self) -> NDArray[np.bool_]:
        """Those of them of pairs that no other unit of the family has met, if there is one."""
        alone = np.asarray(self.shown.sum(axis=1)).ravel() <= self.n
        return np.asarray(self._never & alone[self.pattern.pair])

    @cached_property
    def unruled(self) -> Floats:
        """[S*A] the chance that what a pair pays follows no rule that was exact wherever asked."""
        prior = self.posterior.prior
        if self.belief.rewards.given:
            return np.zeros(self.n.size)
        if not prior.speaks:
            return np.ones(self.n.size)
        return np.where(self._regular, 1.0, np.where(prior.r_n0 > 0, prior.r_doubt, 1.0).ravel())

    @cached_property
    def _regular(self) -> NDArray[np.bool_]:
        """[S*A] whether what is said of rewards holds on average only."""
        prior = self.posterior.prior
        if not prior.speaks:
            return np.zeros(self.n.size, bool)
        return np.asarray((prior.r_n0 > 0) & (prior.r_noise > 0)).ravel()

    def _turn(self, order: Order | None) -> Ints:
        """The pairs [S*A] as states and actions come in an order."""
        if order is None:
            return np.arange(self.n.size)
        return np.asarray((order[0][:, None] * self.A + order[1]).ravel(), np.int64)

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
    def _regressed(self) -> Paid | None:
        """What regression says of rewards on the pattern, and their variance."""
        other = self.posterior.other
        return None if other is None else other.predict(self.pattern.pair, self.pattern.next)

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
        r0, as_pair = self._own[pair], np.zeros(pair.size, bool)
        if prior.speaks and prior.r_n0.any():
            spoken = (prior.r_n0.ravel() > 0)[pair]
            if prior.r_next.size:
                parts = (prior.r_next, prior.next, prior.first)
                values, told = self.pattern.on(sparse.csr_array(parts, shape=self.met.shape))
                r0 = np.where(spoken & (told > 0), values, r0)
            else:
                r0, as_pair = np.where(spoken, self._by_pair()[pair], r0), spoken
        r1, wide = (r0, np.zeros(r0.size)) if self._regressed is None else self._regressed
        paid, often, noise = self._paid
        weight = np.where(often > 0, often * wide / np.maximum(often * wide + noise, 1e-300), 0.0)
        weight = np.where((often > 0) & (noise == 0), 1.0, weight)
        weight = np.where(as_pair, 0.0, weight)  # what its triples paid is in the mean of the pair
        r1 = r0 + self.unruled[pair] * (r1 - r0)
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

    def drawn_rewards(self, rng: np.random.Generator) -> Floats:
        """The mean of both beliefs on the pattern, the coefficients of r1 drawn.

        Where no rule is exact r0 is a regression as well, and errs as r1 does.
        """
        found, other = (self.beliefs[0] + self.beliefs[1]) / 2.0, self.posterior.other
        if other is not None and not self.belief.rewards.given:
            unmet = np.flatnonzero(self._paid[1] == 0)
            off = other.drawn(self.pattern.pair[unmet], self.pattern.next[unmet], 1, rng)[0]
            pair = self.pattern.pair[unmet]
            found[unmet] += np.where(self._regular[pair], 1.0, self.unruled[pair] / 2.0) * off
        return found

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

    def drawn_world(
        self, rng: np.random.Generator, order: Order | None = None
    ) -> tuple[sparse.csr_array, Floats]:
        """Transitions and rewards [S, A], drawn whole; see `drawn_pairs`.

        A pair never met whose reward follows no rule pays what regression says and as much more or
        less as some pair that was met; without a regression as such a pair does. One triple never
        met, nor by another unit of its family, pays the most that one may, with the chance of the
        learner (`gim.agents.unknowns.missing`): the part of the range beyond what was met.
        """
        rows, inside = self.drawn_pairs(rng, order)
        mass = np.maximum(self.pattern.sums(inside), TINY)
        pays = np.where(
            mass > TINY, self.pattern.sums(inside * self.drawn_rewards(rng)) / mass, self._own
        )
        if self.belief.rewards.given:
            return rows, np.where(self._ends, 0.0, pays).reshape(self.S, self.A)
        prior, unmet, turn = self.posterior.prior, self.n == 0, self._turn(order)
        luck, chance = np.zeros((2, pays.size))
        luck[turn], chance[turn] = rng.standard_normal(pays.size), rng.random(pays.size)
        single, met = float(self._paid[2].max(initial=0.0)), self._own[turn][~unmet[turn]]
        noise, doubt = single / np.maximum(self.n + self.worth, 1.0), 1.0 * unmet
        alone = ~unmet
        if prior.speaks:
            alone = alone & (prior.r_n0.ravel() == 0)
            left = np.maximum(prior.r_noise.ravel() - single, 0.0)  # of one triple never met
            alike = left if self.posterior.other is None else self.posterior.other.between
            alike, share = np.minimum(left, alike), inside * self._never / mass[self.pattern.pair]
            each = self.pattern.sums(share**2)
            noise += alike * (self.pattern.sums(share) ** 2 - each) + left * each
            doubt = np.where(self.worth > 0, prior.r_doubt.ravel(), 1.0) * unmet
        if single > 0 and met.size:  # no rule holds it: part of what it paid more was luck
            own = float((single / self.n[~unmet]).mean())
            varies = max(float(met.var()) - own, 0.0)
            kept = np.where(alone, varies / (varies + noise), 1.0)
            usual = met.mean() + np.sqrt((varies + own) / met.size) * rng.standard_normal()
            pays, noise = usual + kept * (pays - usual), kept * noise
        pays = pays + np.sqrt(noise) * luck
        (low, high), best = self.limits, float(met.max(initial=-np.inf))
        if not met.size:
            odd = pays
        elif self._regressed is None:
            odd = np.zeros(pays.size)
            odd[turn] = rng.choice(met, pays.size)
        else:
            r1 = self.pattern.sums(inside * self._regressed[0]) / mass
            told = self.pattern.sums(self.pattern.on(self.met)[0] * self._regressed[0])
            left = (self._own - told / np.maximum(self.n, 1.0))[turn][~unmet[turn]]  # of met pairs
            odd = r1.copy()
            odd[turn] += rng.choice(left, pays.size)
            odd = np.clip(odd, met.min(), best)
        pays = np.where(chance < doubt, odd, pays)
        by_key = in_order(self.pattern.keys, self.S, self.A, order)
        hidden = by_key[self.hidden[by_key]]
        beyond = high - max(best, float(self._paid[0].max(initial=low, where=self._paid[1] > 0)))
        if hidden.size and rng.random() * (high - low) < beyond:
            k = rng.choice(hidden)
            i = self.pattern.pair[k]
            pays[i] += inside[k] / mass[i] * (high - pays[i])
        pays = np.clip(pays, low, high)
        return rows, np.where(self._ends, 0.0, pays).reshape(self.S, self.A)
