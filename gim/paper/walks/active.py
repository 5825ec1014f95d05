"""Active analogy: ask next for the pairs whose observation would improve the inferred model most.

The inference predicts p(.|s,a) = q(.|s,a) and takes that to be worth n0 visits, as far as a pair's
own visits leave it standing (`gim.belief.evidence`). Read as a Gaussian
model of what it knows, with the noise of one visit as the unit: p(.|s,a) is a part f that pairs
share plus a part of its own, of variance 1/n0. For one action the shared parts of two states vary
together as they do over all actions,

    K(s,s') = mean over a of f(s,a).f(s',a),   f(s,a) = (q(.|s,a) - mu) / noise,

mu being the mean of q; likewise for one state, those of two actions. After n(s,a) visits the
covariance between the states of an action is C = ((K + 1/n0)^-1 + diag n)^-1, and one more visit of
s takes

    sum over s' of C(s,s')^2 / (1 + C(s,s))

from its trace, by the rank-one update (A-optimal design: Chaloner and Verdinelli, 1995). The gain
of a visit is this sum over the states of its action plus the like sum over the actions of its
state: what it tells of the action elsewhere, and of the state otherwise. Where nothing is inferred
a visit tells of its own pair alone, and the gain is that of balanced visits.

The walk follows the discounted plan that collects most gain in the estimated model: a step of
Frank and Wolfe's (1956) method on the visits. A pair of which nothing is known leads to the best
state there is. The plan is made anew when visits have grown by a tenth; until then a pair's own
gain falls as it is visited.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._base.params import Within
from gim._compile.jit import hot
from gim._compile.memory import LARGE, VISITS, Limit, Limits
from gim.belief.knowledge import Knowledge
from gim.mdp.sampling import pick
from gim.model.counts import DENSE_LIMIT, END, STATE, Counts, Known, dense
from gim.paper.walks.base import NOTHING, PLAN, Choices, Exploration, new_choices

Floats = NDArray[np.float64]
ALONE = 1.0  # visits that it is worth to know nothing but that p is a distribution


class Walk(NamedTuple):
    """What a visit is worth now and later, by the last plan."""

    choices: Choices
    gain: Floats  # [S, A] of one more visit
    later: Floats  # [S, A] gain that can be collected after it, discounted
    base: Floats  # [S, A] n + n0 at the plan: the gain falls with the square of its growth
    planned: NDArray[np.int64]  # [S, A] n at the plan

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        return {"gain": LARGE, "later": LARGE, "base": Limit(ALONE), "planned": VISITS}


@hot
def worth(walk: Any, counts: Any, s: int, a: int) -> float:
    """The gain of (s, a), as far as visits since the plan have left it, and what follows."""
    base = walk.base[s, a]
    left = base / (base + counts.n[s, a] - walk.planned[s, a])
    return walk.gain[s, a] * left * left + walk.later[s, a]


@hot
def choose(walk: Any, counts: Any, known: Any, s: int, rng: Any) -> Any:
    """The action worth most; with probability beta any."""
    choices = walk.choices
    u, beta = rng.random(), choices.beta[0]
    if u < beta:
        return pick(choices.actions, choices.n_actions, s, u / beta)
    best = choices.actions[s, 0]
    most = worth(walk, counts, s, best)
    for i in range(1, choices.n_actions[s]):
        a = choices.actions[s, i]
        value = worth(walk, counts, s, a)
        if value > most or (value == most and choices.rank[s, a] < choices.rank[s, best]):
            best, most = a, value
    return best


@hot
def observe(walk: Any, counts: Any, known: Any, s: int, a: int, t: int, news: int) -> int:
    """Nothing to keep, since `worth` looks at the counts; what becomes known asks for a plan."""
    return PLAN if news & (STATE + END) else NOTHING


@dataclass(frozen=True)
class Active(Exploration):
    """The way that collects most information for the inference (GIM's `infer`)."""

    gamma: Annotated[float, Within(0, 0.9999), "discount per step on the way"] = 0.9

    choose = staticmethod(choose)
    observe = staticmethod(observe)
    plans = True
    growth: ClassVar[float] = 0.1

    def start(self, counts: Counts, known: Known, beta: float, rng: np.random.Generator) -> Walk:
        """All pairs are worth the same; the first tried least goes first."""
        S, A = counts.n.shape
        if S * A * S > DENSE_LIMIT:
            raise ValueError(f"active walking needs tables of {S * A * S:,} numbers: use planned")
        one = np.ones((S, A))
        choices = new_choices(known.available, beta, rng)
        return Walk(choices, one, np.zeros((S, A)), one.copy(), np.zeros((S, A), np.int64))

    def plan(self, walk: Walk, belief: Knowledge, known: Known) -> bool:
        """Weigh every pair and find the way; False if no unknown pair can be reached."""
        counts, prior, seen = belief.counts, belief.prior, belief.evidence()
        S, A = counts.n.shape
        q, n0, unknown = np.zeros((S, A, S)), np.zeros((S, A)), known.available & ~known.mask
        if prior.n0.size:
            replaced = np.isinf(prior.n0)  # visits would change nothing
            q, n0 = dense(prior.rows(), (S, A)), np.where(replaced, seen.n, seen.n - counts.n)
            unknown &= ~replaced
        alone = np.maximum(n0, ALONE)
        walk.gain[:] = np.where(unknown, gains(counts.n, q, n0, alone), 0.0)
        walk.base[:], walk.planned[:] = counts.n + alone, counts.n
        P = dense(seen.N, (S, A)) / np.where(seen.n > 0, seen.n, 1.0)[:, :, None]
        blank = (seen.n == 0) & ~known.terminal[:, None]
        value, walk.later[:] = collect(P, walk.gain, known.available, blank, self.gamma)
        return bool((value > 0)[counts.n.any(axis=1)].any())


def gains(n: NDArray[Any], q: Floats, n0: Floats, alone: Floats) -> Floats:
    """Posterior variance, over all pairs, that one more visit of each pair takes away, [S, A].

    Args:
        n: visits [S, A].
        q: what is inferred, [S, A, S].
        n0: visits that it is worth, [S, A]; where 0, nothing is inferred.
        alone: visits that a pair's own part is worth, [S, A], at least 1.
    """
    told = n0 > 0
    shared = q[told]
    f = np.zeros(q.shape)
    if told.any():
        mu = shared.mean(axis=0)
        noise = 1.0 - (shared**2).sum(axis=1).mean()  # of one visit, summed over next states
        f[told] = (shared - mu) / np.sqrt(max(noise, 1e-6))
    S, A, _ = q.shape
    states = np.einsum("sat,xat->sx", f, f, optimize=True) / A
    actions = np.einsum("sat,sbt->ab", f, f, optimize=True) / S
    return reduction(states, alone.T, n.T).T + reduction(actions, alone, n)


def reduction(K: Floats, alone: Floats, n: NDArray[Any]) -> Floats:
    """What one more visit takes from the trace of the posterior covariance, [B, X].

    Args:
        K: prior covariance of the shared parts of X things, [X, X].
        alone: 1 / variance of their own parts, in each of B cases, [B, X].
        n: visits in each case, [B, X].
    """
    eye = np.eye(len(K))
    prior = K + eye / alone[:, :, None]  # [B, X, X]
    root = np.sqrt(n.astype(np.float64))
    inner = eye + root[:, :, None] * prior * root[:, None, :]
    half = root[:, :, None] * prior
    C = prior - half.transpose(0, 2, 1) @ np.linalg.solve(inner, half)
    return (C**2).sum(axis=2) / (1.0 + np.diagonal(C, axis1=1, axis2=2))


def collect(
    P: Floats, gain: Floats, available: NDArray[np.bool_], blank: NDArray[np.bool_], gamma: float
) -> tuple[Floats, Floats]:
    """Value iteration on the gain: the value of each state [S], and what follows each pair [S, A].

    A `blank` pair, of which nothing is known, leads to the best state.
    """
    value = np.zeros(len(gain))
    for _ in range(10_000):
        later = gamma * np.where(blank, value.max(), P @ value)
        new = np.where(available, gain + later, 0.0).max(axis=1)
        rising = np.abs(new - value).max() > 1e-3 * new.max()
        value = new
        if not rising:
            break
    return value, later
