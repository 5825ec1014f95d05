"""How far a learned model may be off, pair by pair and in any direction.

The model is p~ = (N + n0 q) / (n + n0). Held-out pairs say how large the squared error of a
prediction q is on average, for pairs with as much evidence around them, without the noise of
counting (`gim.inference.held_out`). With w = n / (n + n0) and any function f of the next state,

    E ((p - p~).f)^2 = (1 - w)^2 tau2(f) + w^2 Var(f) / n,

and by Markov's inequality at most a share alpha of the pairs has an error above

    sqrt(that / alpha).

This asks for no shape of the errors and no large numbers; what it does ask for is that pairs which
are inferred are no worse predicted, on average, than held-out pairs with as much evidence. tau2 is
taken two standard errors above its estimate. Where no judge had so little evidence of its state,
judges speak whose whole state was held out: that asks for states never left to be like the others.
Where none had so little evidence of its action, or where nothing is inferred at all, the bound is
the span of f: vacuous, and counted as such.

A plan picks pairs, and it likes those whose value is overestimated: a bound that fails for some of
them is no bound on its loss. There the bounds must hold everywhere, for all S A H of them, and are

    sqrt(2 L that) + w span(f) L / (3 n),    L = ln(6 S A H / alpha),

Bernstein's inequality for the counts (with f taken as if it did not depend on them); for the
predictions it asks that their errors have no heavier tails than the normal distribution, which the
share above does not.

For ||p - p~||_1 the same holds with sum d^2 / u in place of (d.f)^2, since ||d||_1^2 <= sum d^2 / u
for any distribution u. Rewards are bounded likewise by what was seen of them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gim.inference.base import Floats, Frame
from gim.inference.held_out import ROUNDING, Judged, Judges, mean
from gim.model.counts import Counts, dense, transitions

MARGIN = 2.0  # standard errors added to the mean squared error


class Bounds:
    """The model, and how far it may be off in any direction."""

    def __init__(self, counts: Counts, frame: Frame, found: Judged | None, share: float) -> None:
        S, A = counts.n.shape
        self.playable = frame.available & ~frame.terminal[:, None]
        self.found, self.alpha = found, 1.0 - share
        self.n = counts.n.astype(np.float64)
        self.n0 = np.zeros((S, A)) if found is None else found.n0
        N = dense(transitions(counts), (S, A))
        N = N if found is None else N + found.n0[:, :, None] * found.q
        behind = self.n + self.n0
        self.P = N / np.where(behind > 0, behind, 1.0)[:, :, None]
        lost = self.playable & (behind == 0)  # nothing is known: it stays
        self.P[lost] = np.eye(S)[np.nonzero(lost)[0]]
        self.P[frame.terminal] = np.eye(S)[frame.terminal][:, None, :]
        self.own = self.n / np.where(behind > 0, behind, 1.0)  # w: the weight of a pair's counts
        self.blind = behind == 0  # [S, A] of which nothing can be said
        self.apart = np.zeros((S, A), bool)  # [S, A] judged by judges without their states
        if found is not None:
            beyond = found.strata.beyond & (self.n < self.n0)
            elsewhere = self.n.sum(axis=0) - self.n  # visits of the action in other states
            least = elsewhere[found.judges.pairs].min()
            self.apart = beyond & (elsewhere >= least) & (found.apart is not None)
            self.blind |= beyond & ~self.apart

    def of(self, f: Floats, L: float | None = None) -> Floats:
        """Bounds on |(p - p~).f|, [S, A]; at most the span of f. With L they hold everywhere."""
        span = np.ptp(f)
        spread = np.maximum(self.P @ f**2 - (self.P @ f) ** 2, 0.0)
        behind = self.n + self.n0
        spread = (behind * spread + span**2 / 12) / (behind + 1)  # one visit that might be anything
        return self._bounds(lambda judges, q: judges.errors_of(q, f), spread, float(span), L)

    def l1(self) -> Floats:
        """Bounds on ||p - p~||_1, [S, A]; at most 2."""
        S = self.P.shape[2]
        u = np.full(S, 1.0 / S)
        if self.found is not None:  # the bound is least if u is as the errors are
            off = np.sqrt(np.maximum(self.found.judges.by_next(self.found.held), 0.0))
            likely = np.sqrt(self.P[self.playable].mean(axis=0))
            u = (u + off / max(off.sum(), 1e-300) + likely / likely.sum()) / 3
            u /= u.sum()
        spread = (self.P * (1 - self.P) / u).sum(axis=2)
        spread = ((self.n + self.n0) * spread + S) / (self.n + self.n0 + 1)
        return self._bounds(lambda judges, q: judges.distances(q, u), spread, 2.0)

    def _bounds(
        self,
        errors: Callable[[Judges, Floats], Floats],
        spread: Floats,
        most: float,
        L: float | None = None,
    ) -> Floats:
        """From the judges' squared errors [K] of predictions and a pair's own variance [S, A]."""
        tau2, found = np.zeros(self.n.shape), self.found
        if found is not None:
            middle, error = found.strata.means(errors(found.judges, found.held))
            tau2 = np.maximum(middle, 0.0) + MARGIN * error
            if found.apart is not None:
                far = mean(errors(found.judges, found.apart), found.judges.weights)
                tau2 = np.where(self.apart, np.maximum(tau2, far[0] + MARGIN * far[1]), tau2)
        n = np.maximum(self.n, 1.0)
        square = (1 - self.own) ** 2 * tau2 + self.own**2 * spread / n
        if L is None:
            bounds = np.sqrt(square / self.alpha)
        else:
            bounds = np.sqrt(2 * L * square) + self.own * most * L / (3 * n)
        bounds = np.minimum(bounds, most)
        bounds[self.blind] = most
        return np.where(self.playable, bounds, 0.0)


def rewards_within(counts: Counts, frame: Frame, L: float) -> tuple[Floats, Floats]:
    """Bounds on r(s,a) that hold everywhere, [S, A] each; all that is possible where unseen.

    Rewards are taken to be certain if no pair has ever paid two different ones. How widely single
    ones spread is not known: as far as r(s,a) does, or as payments of 0 or w would.
    """
    n = np.maximum(counts.n, 1).astype(np.float64)
    r = counts.R / n
    spread = np.maximum(counts.R2 / n - r**2, 0.0)
    spread[spread <= ROUNDING * float(np.abs(r).max()) ** 2] = 0.0
    pooled = (n * spread)[counts.n >= 2].sum() / max(n[counts.n >= 2].sum(), 1.0)
    least, largest = frame.reward_range
    off = np.sqrt(2 * L * (n * spread + pooled) / (n + 1) / n)
    size = np.maximum(np.abs(counts.R), np.sqrt(counts.R2))
    paid = counts.R2 / np.where(size > 0, size, 1.0)  # w, if it is 0 or w
    off += (pooled > 0) * np.maximum(largest - least, paid) * L / (3 * n)
    unseen = counts.n == 0
    low = np.where(unseen, least, np.maximum(r - off, least))
    high = np.where(unseen, largest, np.minimum(r + off, largest))
    playable = frame.available & ~frame.terminal[:, None]
    return np.where(playable, low, 0.0), np.where(playable, high, 0.0)
