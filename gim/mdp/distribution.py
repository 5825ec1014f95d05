"""The distribution of an episode's return under a policy: its spread, quantiles and worst part.

Rewards are put on a grid and chances are carried forward step by step, for each state the chance
of every sum so far (Chung and Sobel 1987; Bellemare et al. 2017 have it for learners). Where all
rewards are multiples of one amount, as most prices and costs are, that grid holds them exactly.
Else each is rounded to it, so that no return moves by more than `error`, nor then does a quantile
or a mean of the worst.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from gim._base import html
from gim._base.arguments import number
from gim._base.limits import check_memory
from gim._compile.jit import entry
from gim.planning.checks import checked_policy

MOST_POINTS = 1 << 16  # of a grid
MOST_BYTES = 1 << 29  # of the chances of all sums
WORK = 2e9  # additions that carrying them may take, a second or two
FINEST = 1e-9  # of the largest reward: what two amounts may differ by and still be one
TAILS = 7.0  # standard deviations at which the noise of a reward is cut off

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Distribution:
    """The distribution of a return.

    Attributes:
        values: [n] what may come, rising.
        chances: [n] how likely each is.
        error: no return is further than this from the value that stands for it; 0: they are exact.

    Example:
        >>> coin = Distribution(np.array([0.0, 1.0]), np.array([0.5, 0.5]), 0.0)
        >>> coin.mean, coin.sd, coin.quantile(0.1), coin.cvar(0.1), coin.cvar(0.75)
        (0.5, 0.5, 0.0, 0.0, 0.3333333333333333)
    """

    values: NDArray[Any]
    chances: NDArray[Any]
    error: float

    @property
    def mean(self) -> float:
        """The expected return."""
        return float(self.values @ self.chances)

    @property
    def sd(self) -> float:
        """The standard deviation."""
        return math.sqrt(float((self.values - self.mean) ** 2 @ self.chances))

    def below(self, x: float) -> float:
        """The chance of a return of at most x."""
        return float(self.chances[self.values <= number("x", x)].sum())

    def quantile(self, q: float) -> float:
        """The least return that is not exceeded with a chance of at least q."""
        return float(self.values[self._place(_share(q))])

    def cvar(self, q: float) -> float:
        """The mean of the worst share q of all episodes (Rockafellar and Uryasev 2000).

        Of 1 that is the mean, of ever less the least return.
        """
        q = _share(q)
        k = self._place(q)
        before = self.chances[:k]
        return float((before @ self.values[:k] + (q - before.sum()) * self.values[k]) / q)

    def _place(self, q: float) -> int:
        total = np.cumsum(self.chances)
        return min(int(np.searchsorted(total, q - 1e-12)), len(total) - 1)

    def __repr__(self) -> str:
        low, high = self.quantile(0.05), self.quantile(0.95)
        exact = "exact" if self.error == 0 else f"to within {self.error:.2g}"
        return (
            f"<Distribution: mean {self.mean:.6g}, sd {self.sd:.4g}, nine of ten from {low:.6g} to "
            f"{high:.6g}, worst 5 % {self.cvar(0.05):.6g}, {exact}>"
        )

    def _repr_html_(self) -> str:
        rows = [["mean", self.mean], ["standard deviation", self.sd]]
        rows += [[f"quantile {q:g}", self.quantile(q)] for q in (0.05, 0.25, 0.5, 0.75, 0.95)]
        rows += [["mean of the worst 5 %", self.cvar(0.05)], ["exact to within", self.error]]
        return html.facts("Return of an episode", rows)


def distribution(mdp: Any, policy: Any) -> Distribution:
    """The distribution of an episode's return under a policy in the MDP's own numbers."""
    A, H = mdp.A, mdp.horizon
    pi = checked_policy(mdp, policy, H)
    chances = np.eye(A)[pi] if pi.dtype.kind in "iu" else pi
    chances = np.ascontiguousarray(chances if chances.ndim == 3 else chances[None])
    rows = mdp.rows()
    paid, noise = mdp.paid(), _noise(mdp)
    low, high, met = ranges(mdp, paid, lambda h: chances[h % len(chances)].ravel() > 0)
    played = np.zeros(mdp.S * A, bool)
    played[np.repeat(np.arange(mdp.S * A), np.diff(rows.indptr))[met]] = True
    paid, noise = np.where(met, paid, 0.0), np.where(played, noise, 0.0)
    sd = float(noise.max())
    aside = TAILS * sd * np.sqrt(np.arange(H + 1.0))
    low, high = low - aside, high + aside
    work = H * int(met.sum())
    grain = _grain(paid[met], float((high - low).max()), sd, work, mdp.S)
    steps, spread = np.rint(paid / grain).astype(np.int64), math.ceil(TAILS * sd / grain)
    off = float(np.abs(steps * grain - paid).max()) + (grain / 2 if spread else 0.0)
    off = 0.0 if off <= FINEST * np.abs(paid).max() else off
    first = np.floor((low - np.arange(H + 1) * off) / grain).astype(np.int64) - 1
    last = np.ceil((high + np.arange(H + 1) * off) / grain).astype(np.int64) + 1
    n = int((last - first).max()) + 1
    check_memory(f"{n:,} sums of rewards in {mdp.S:,} states", 16 * mdp.S * n)
    sds, kind = np.unique(noise, return_inverse=True)
    smear = np.array([_rounded(each / grain, spread) for each in sds])
    now, then = np.zeros((2, mdp.S, n))
    now[:, -first[0]] = mdp.start
    world = rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    for h in range(H):
        then[:] = 0.0
        moves = steps + first[h] - first[h + 1]
        carry(*world, moves, chances[h % len(chances)], smear, kind, now, then)
        now, then = then, now
    total = now.sum(axis=0)
    kept = np.flatnonzero(total)
    found = Distribution((kept + first[H]) * grain, total[kept] / total.sum(), 0.0)
    if off == 0.0:
        return found
    aside = mdp.policy_return(policy) - found.mean  # rounding must not move the mean
    return Distribution(found.values + aside, found.chances, H * off + abs(aside))


def ranges(
    mdp: Any, paid: Floats, plays: Callable[[int], NDArray[np.bool_]]
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """The least and the largest sum of rewards before each step, [H + 1], and the entries met.

    Args:
        mdp: the world.
        paid: [nnz] what each entry of `mdp.rows()` pays.
        plays: which pairs [S*A] a policy may play at a step.
    """
    rows, start, H = mdp.rows(), mdp.start, mdp.horizon
    pair = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    low, high = np.where(start > 0, 0.0, np.inf), np.where(start > 0, 0.0, -np.inf)
    lows, highs, met = np.zeros(H + 1), np.zeros(H + 1), np.zeros(pair.size, bool)
    for h in range(H):
        on = plays(h)[pair] & (high[pair // mdp.A] > -np.inf)
        met |= on
        s, t, r = pair[on] // mdp.A, rows.indices[on], paid[on]
        least, most = low[s] + r, high[s] + r
        low, high = np.full(start.size, np.inf), np.full(start.size, -np.inf)
        np.minimum.at(low, t, least)
        np.maximum.at(high, t, most)
        lows[h + 1], highs[h + 1] = low.min(), high.max()
    return lows, highs, met


@entry
def carry(
    p: Any,
    target: Any,
    starts: Any,
    moves: Any,
    chances: Any,
    smear: Any,
    kind: Any,
    now: Any,
    then: Any,
) -> None:
    """One step: the chances of sums `now` [S, n] go to `then`, by each pair and next state.

    On the way noise spreads them by the row of `smear` that is of the kind of the pair; what would
    leave the grid stays at its end.
    """
    S, A = chances.shape
    n, wide = now.shape[1], smear.shape[1]
    spread = wide // 2
    noisy = np.zeros(n + wide)
    for s in range(S):
        first, last = n, 0
        for x in range(n):
            if now[s, x] > 0.0:
                first, last = min(first, x), x + 1
        for a in range(A):
            i = s * A + a
            if chances[s, a] <= 0.0 or last == 0:
                continue
            end = last + wide - 1
            noisy[first:end] = 0.0
            for k in range(wide):
                weight = smear[kind[i], k] * chances[s, a]
                if weight > 0.0:
                    for x in range(first, last):
                        noisy[x + k] += weight * now[s, x]
            for j in range(starts[i], starts[i + 1]):
                t, by = target[j], moves[j] - spread
                for x in range(first, end):
                    then[t, min(max(x + by, 0), n - 1)] += p[j] * noisy[x]


def _noise(mdp: Any) -> Floats:
    """Standard deviations of rewards, [S*A]; a terminal state pays 0 and no noise."""
    if mdp.noise is None:
        return np.zeros(mdp.S * mdp.A)
    return np.where(mdp.terminal[:, None], 0.0, mdp.noise).ravel()


def _rounded(sd: float, spread: int) -> Floats:
    """The chances of a normal variable, rounded to whole numbers from -spread to spread."""
    if sd == 0.0:
        return np.eye(2 * spread + 1)[spread]
    ends = (np.arange(2 * spread) - spread + 0.5) / (sd * math.sqrt(2))
    return np.diff(np.concatenate([[0.0], 0.5 * (1 + erf(ends)), [1.0]]))


def _grain(paid: Floats, wide: float, sd: float, work: int, S: int) -> float:
    """The amount of which rewards are multiples, if a grid of it is affordable; else a grid's."""
    largest = float(np.abs(paid).max())
    most = min(MOST_POINTS, MOST_BYTES / (16 * S), WORK / work)
    if sd > 0:  # each point of the noise costs as much as an entry
        most = min(most, math.sqrt(WORK / work * wide / (TAILS * sd)))
    if largest == 0.0:
        return wide / most if sd > 0 else 1.0
    amount = _common(np.unique(np.abs(paid)), FINEST * largest, wide / most)
    if amount and sd > 0:  # a part of the amount, for the noise is finer
        return amount / math.floor(amount * most / wide)
    return amount or wide / most


def _common(amounts: Floats, close: float, least: float) -> float:
    """The largest amount of which all are multiples, as Euclid finds it; 0 if below `least`."""
    found = 0.0
    for amount in amounts.tolist():
        rest = amount
        while rest > close:
            found, rest = rest, found % rest if found else 0.0
            rest = 0.0 if found - rest <= close else rest
        if 0 < found < least:
            return 0.0
    times = np.rint(amounts / found)
    return float((amounts @ times) / (times @ times))


def _share(q: float) -> float:
    if not 0 < number("q", q) <= 1:
        raise ValueError(f"q = {q} is no share: give a number above 0, up to 1")
    return float(q)
