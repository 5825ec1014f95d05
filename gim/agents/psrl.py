"""PSRL, posterior sampling for reinforcement learning (Osband, Russo and Van Roy, 2013).

Each episode follows the best policy of an MDP drawn from the posterior (Strens, 2000):

    p(.|s,a) ~ Dirichlet(alpha/S + n(.|s,a)),
    r(s,a) ~ N(mu, 1 / (lambda tau)) with the precision tau ~ Gamma(shape, rate): normal-gamma.

The prior of rewards is stated in units of the reward range, so that scaling all rewards changes
nothing; it is optimistic, and weak.

Where a table by next state would be large, a row is drawn as its few large entries: those of the
successors met, and of the others as many as hold all but a ten-thousandth of the row, the larger
the sooner (sticks broken in size-biased order: Pitman, 1996).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy import sparse

from gim._base.params import Within
from gim._compile.jit import entry, hot
from gim.agents.episodic import Episodic, Memory
from gim.analogy.base import Floats, inferences
from gim.belief.evidence import Evidence
from gim.mdp.sampling import gamma
from gim.model.counts import DENSE_LIMIT, dense
from gim.model.rewards import LargestReward, LeastReward
from gim.model.task import Mind
from gim.planning import backward_induction_into
from gim.runs.agent import Agent

TINY = 1e-300  # in place of 0: a gamma variable of small shape may be below any number
CUT = 1e-4  # of a large row, what its successors met leave for states that are not drawn


class Conjugate(NamedTuple):
    """What is believed of a pair before it is met."""

    alpha: float  # visits that the Dirichlet of its row is worth
    mean: float  # of its reward
    visits: float  # lambda, those that the mean is worth
    shape: float  # of the gamma variable that the precision of its reward is
    rate: float


@dataclass(frozen=True)
class PSRL(Episodic, Agent, name="psrl"):
    """Plays the best policy of an MDP drawn from the posterior, a new one each episode."""

    alpha: Annotated[float, Within(1e-3), "visits that the Dirichlet prior is worth"] = 1.0
    mean: Annotated[float, Within(), "prior mean reward: 0 the least, 1 the largest"] = 1.0
    visits: Annotated[float, Within(1e-9), "visits that the prior mean is worth, lambda"] = 0.1
    shape: Annotated[float, Within(1e-9), "half the visits that the prior spread is worth"] = 1.0
    spread: Annotated[float, Within(1e-9), "prior standard deviation of rewards, in ranges"] = 0.1
    r_min: LeastReward = None
    r_max: LargestReward = None
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = None

    examples = ("", "infer=by_completion(m=2,rho=0.3)")

    def plan(
        self, memory: Memory, seen: Evidence, rewards: tuple[float, float], mind: Mind
    ) -> None:
        """Draw an MDP from the posterior and plan on it."""
        available = mind.task.available
        playable = available & ~memory.belief.terminal[:, None]
        P, r = self.draw(seen, playable, rewards, mind.rng)
        backward_induction_into(P, r, available, memory.q, memory.v, memory.policy)

    def draw(
        self, seen: Evidence, playable: Any, rewards: tuple[float, float], rng: np.random.Generator
    ) -> tuple[Any, Floats]:
        """p(.|s,a) [S, A, S], or CSR, and r(s,a) [S, A] of pairs that can be played; else 0."""
        low, high = rewards
        rate = self.shape * (self.spread * (high - low)) ** 2
        prior = (self.alpha, low + self.mean * (high - low), self.visits, self.shape, rate)
        S, A = seen.n.shape
        if not sparse.issparse(seen.N) or S * A * S <= DENSE_LIMIT:
            return draw((dense(seen.N, (S, A)), *seen[1:]), playable, prior, rng)
        rows = seen.N.data, seen.N.indices, seen.N.indptr
        *parts, r = draw_csr((rows, *seen[1:]), playable, prior, CUT, rng)
        return sparse.csr_array(tuple(parts), shape=(S * A, S)), r


@entry
def draw(seen: Any, playable: Any, prior: Any, rng: Any) -> tuple[Floats, Floats]:
    """Draw pair by pair: its row, then the precision of its rewards, then their mean.

    Bare tuples, which are handed over faster, stand for an `Evidence` and a `Conjugate`.
    """
    seen, prior = Evidence(*seen), Conjugate(*prior)
    N, R, R2, n_r, alpha = seen.N, seen.R, seen.R2, seen.n_r, prior.alpha
    S, A = playable.shape
    P, r = np.zeros((S, A, S)), np.zeros((S, A))
    for s in range(S):
        for a in range(A):
            if not playable[s, a]:
                continue
            total = 0.0
            for t in range(S):  # gamma variables over their sum are Dirichlet
                P[s, a, t] = max(TINY, gamma(N[s, a, t] + alpha / S, rng))
                total += P[s, a, t]
            for t in range(S):
                P[s, a, t] /= total
            r[s, a] = draw_reward(n_r[s, a], R[s, a], R2[s, a], prior, rng)
    return P, r


@hot
def draw_reward(n: float, R: float, R2: float, prior: Conjugate, rng: Any) -> float:
    """Draw the precision of a pair's rewards, then their mean."""
    mu0, lambda0 = prior.mean, prior.visits
    lambda_n = lambda0 + n
    mean = R / n if n > 0.0 else mu0
    scatter = max(0.0, R2 - n * mean * mean)  # about their own mean
    rate = prior.rate + scatter / 2.0 + lambda0 * n * (mean - mu0) ** 2 / (2.0 * lambda_n)
    tau = gamma(prior.shape + n / 2.0, rng) / max(rate, TINY)
    mu = (lambda0 * mu0 + R) / lambda_n
    return mu + rng.standard_normal() / math.sqrt(lambda_n * tau)


@entry
def draw_csr(seen: Any, playable: Any, prior: Any, cut: float, rng: Any) -> Any:
    """The same as sparse rows: values, columns and row starts, and r(s,a) [S, A]."""
    seen, prior = Evidence(*seen), Conjugate(*prior)
    N, columns, starts = seen.N
    R, R2, n_r, alpha = seen.R, seen.R2, seen.n_r, prior.alpha
    S, A = playable.shape
    r, first = np.zeros((S, A)), np.zeros(S * A + 1, np.int64)
    p, next = np.empty(N.size + 64), np.empty(N.size + 64, np.int64)
    size = 0
    for i in range(S * A):
        s, a = i // A, i % A
        if playable[s, a]:
            end, mass = size, 0.0  # gamma variables over their sum are Dirichlet
            p, next = with_room(p, next, size + starts[i + 1] - starts[i])
            for j in range(starts[i], starts[i + 1]):
                p[end] = max(TINY, gamma(N[j] + alpha / S, rng))
                next[end] = columns[j]
                mass += p[end]
                end += 1
            others = S - (end - size)  # states that were not met, with one variable for all
            left = max(TINY, gamma(others * alpha / S, rng)) if others > 0 else 0.0
            mass += left
            while others > 0 and left > cut * mass:
                others -= 1
                stick = gamma(1.0 + alpha / S, rng)
                rest = gamma(others * alpha / S, rng) if others > 0 else 0.0
                p, next = with_room(p, next, end + 1)
                p[end] = left * (stick / (stick + rest))
                next[end] = another(next, size, end, S, rng)
                left -= p[end]
                end += 1
            for k in range(size, end):
                p[k] /= mass - left
            size = end
            r[s, a] = draw_reward(n_r[s, a], R[s, a], R2[s, a], prior, rng)
        first[i + 1] = size
    return p[:size], next[:size], first, r


@hot
def another(next: Any, begin: int, end: int, S: int, rng: Any) -> int:
    """A state at random that is not among these; they are few."""
    while True:
        t = int(rng.random() * S)
        new = True
        for k in range(begin, end):
            new = new and next[k] != t
        if new:
            return t


@entry
def with_room(p: Any, next: Any, size: int) -> Any:
    """Both arrays, longer if they do not hold so many."""
    if size <= p.size:
        return p, next
    more = max(size, 2 * p.size)
    longer, further = np.empty(more), np.empty(more, np.int64)
    longer[: p.size], further[: p.size] = p, next
    return longer, further
