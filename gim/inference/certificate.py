"""Certificates: for each pair a bound on the model's error, which holds for a share of the pairs.

The bounds are those of `gim.inference.bounds`: they rest on the errors that held-out pairs show.
Planning needs them for f = V_{h+1}, the value that the model's own plan expects.

A bound on the loss of the plan follows by induction: with bounds b(f) for the functions at hand,

    L_h = r + p~ L_{h+1} - b(L_{h+1})  under the plan,
    U_h = max over a of r + p~ U_{h+1} + b(U_{h+1})

enclose the plan's true value and the optimum, and the loss is at most U - L. A plan seeks out what
is overestimated, so these are the bounds that hold everywhere at once, not for a share of pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gim.agent import Task
from gim.inference.analogy import Analogy, Inferred
from gim.inference.base import Floats, Frame, inferences
from gim.inference.bounds import Bounds, rewards_within
from gim.inference.cross_validation import CrossValidation
from gim.inference.held_out import ROUNDING, Judged, Judges, Mask, Strata
from gim.mdp import TabularMDP
from gim.model.counts import DENSE_LIMIT, Counts
from gim.model.rewards import most_to_come, reward_range


class Coverage(NamedTuple):
    """How a certificate does: shares of the inferred pairs (and steps)."""

    inferred: int  # pairs that can be played
    value: float  # share whose |(p - p~).V| is within its bound
    l1: float  # share whose ||p - p~||_1 is
    loss: float  # what the plan really loses of the optimal return


@dataclass(frozen=True)
class Certificate:
    """Bounds on the error of a learned model, pair by pair; see `gim.certify`.

    Attributes:
        share: of the inferred pairs for which each kind of bound holds, and the probability with
            which those on returns do.
        candidate: what the inferred pairs were predicted by; None: nothing was inferred.
        P: [S, A, S] the model, p~.
        inferred: [S, A] pairs met no more often than their prediction is worth.
        unmet: [S, A] those of them that were never met.
        value: [H - 1, S, A] bounds on |(p - p~).V_{h+1}|, with V [H + 1, S] the model's own values.
        span: [H - 1] largest V_{h+1} less the least: a bound as large is vacuous.
        l1: [S, A] bounds on ||p - p~||_1; 2 is vacuous.
        policy: [H, S] the model's plan.
        lower, upper: bounds on the return of that plan, and on that of the best, from where
            episodes begin (from any state alike if the world does not say where that is).
        trivial: what the plan expects above the least possible return: it may always lose that.
    """

    share: float
    candidate: str | None
    P: Floats
    inferred: Mask
    unmet: Mask
    value: Floats
    V: Floats
    span: Floats
    l1: Floats
    policy: Any
    lower: float
    upper: float
    trivial: float

    @property
    def loss(self) -> float:
        """The most that the plan loses of the optimal return."""
        return self.upper - self.lower

    @property
    def loss_vacuous(self) -> bool:
        """Whether the plan may lose all that it expects, for all that is known."""
        return self.loss >= self.trivial * (1 - ROUNDING)

    @property
    def vacuous(self) -> float:
        """Share of the bounds on |(p - p~).V| of inferred pairs that say nothing."""
        return _share(self._useless()[:, self.inferred])

    @property
    def unmet_vacuous(self) -> float:
        """The same over pairs that were never met."""
        return _share(self._useless()[:, self.unmet])

    @property
    def l1_vacuous(self) -> float:
        """Share of the bounds on ||p - p~||_1 of inferred pairs that say nothing."""
        return _share(self.l1[self.inferred] >= 2 * (1 - ROUNDING))

    def _useless(self) -> Mask:
        return np.asarray(self.value >= self.span[:, None, None] * (1 - ROUNDING))

    def against(self, truth: TabularMDP) -> Coverage:
        """Compare with the truth: how often the bounds hold."""
        if self.l1.shape != (truth.S, truth.A):
            raise ValueError(f"the truth has {truth.S} states and {truth.A} actions: not the same")
        pairs = self.inferred & truth.available & ~truth.terminal[:, None]
        off = truth.to_dense().transitions - self.P
        errors = np.abs(off @ self.V[1:-1].T).transpose(2, 0, 1)
        room = ROUNDING * (1 + np.abs(self.V).max())
        return Coverage(
            inferred=int(pairs.sum()),
            value=_share((errors <= self.value + room)[:, pairs]),
            l1=_share((np.abs(off).sum(axis=2) <= self.l1 + ROUNDING)[pairs]),
            loss=truth.optimal_return() - truth.policy_return(self.policy),
        )

    def __str__(self) -> str:
        loss = "no useful bound" if self.loss_vacuous else f"at most {self.loss:.4g}"
        count, unmet = int(self.inferred.sum()), int(self.unmet.sum())
        if count == 0:
            enough = "every pair has enough visits of its own; nothing is inferred"
            return f"{enough}; loss of the plan: {loss}"
        if self.candidate is None:
            return (
                f"nothing is inferred; {unmet} pairs were never met, and nothing is known of them"
            )
        text = (
            f"{count} pairs inferred (by {self.candidate}), {unmet} of them never met; bounds hold "
            f"for {100 * self.share:g} %; vacuous: "
        )
        shares = {"values": self.vacuous, "L1": self.l1_vacuous, "never met": self.unmet_vacuous}
        said = [f"{100 * x:.0f} % ({name})" for name, x in shares.items() if not np.isnan(x)]
        return f"{text}{', '.join(said)}; loss of the plan: {loss}"


def _share(found: Any) -> float:
    return float(np.mean(found)) if np.size(found) else np.nan


def certify(run: Any, share: float = 0.9, infer: Any = None) -> Certificate:
    """Certify what a run has learned, from all that it has counted by now.

    Args:
        run: of any agent that counts transitions, such as `analogist`, `psrl` or `gim`.
        share: of the inferred pairs for which the bounds shall hold.
        infer: a `gim.Analogy` or its spec string; the agent's own unless given, or the default one.

    Example:
        >>> import gim
        >>> run = gim.run("analogist", "shared_factors:S=20,A=20", episodes=500)
        >>> certificate = gim.certify(run)
        >>> certificate.share
        0.9
    """
    if not isinstance(share, int | float) or not 0 < share < 1:
        raise ValueError(f"share = {share!r}: give a share of the pairs between 0 and 1")
    if not certifiable(run):
        raise ValueError(
            f"{run.agent} in this world cannot be certified: it counts no transitions, or they are "
            "too many to be taken together, or it does not know how large rewards can be"
        )
    own, task = getattr(run.agent, "infer", None), run.task
    if isinstance(infer, str):
        infer = inferences.make(infer)
    if infer is None:
        infer = own if isinstance(own, Analogy) else Analogy()
    if not isinstance(infer, Analogy):
        raise ValueError(f"infer = {infer}: only gim.Analogy says how far it may be trusted")
    if task.priors and not getattr(own, "reuses", False):
        raise ValueError(f"{run.agent} counts the visits of its prior as its own: no certificate")
    belief = run.agent.belief(run.memory)
    frame = Frame(task.available, belief.terminal, _rewards(run), task.priors)
    rng = np.random.default_rng([run.seed, int(belief.counts.n.sum())])  # leaves the run's alone
    return certified(belief.counts, frame, infer, task, float(share), rng)


def certifiable(run: Any) -> bool:
    """Whether a run counts transitions, not too many, and knows the range of rewards."""
    belief, task = run.agent.belief(run.memory), run.task
    told = task.reward_range is not None or None not in _limits(run)
    return belief is not None and task.S * task.A * task.S <= DENSE_LIMIT and told


def _limits(run: Any) -> tuple[float | None, float | None]:
    return getattr(run.agent, "r_min", None), getattr(run.agent, "r_max", None)


def _rewards(run: Any) -> tuple[float, float]:
    return reward_range(run.task, *_limits(run))


def certified(
    counts: Counts,
    frame: Frame,
    infer: Analogy,
    task: Task,
    share: float,
    rng: np.random.Generator,
) -> Certificate:
    """The same from counts."""
    S, A, H = task.S, task.A, task.H
    found = infer.infer(counts, frame, rng)
    bounds = Bounds(counts, frame, _judged(found, infer, rng), share)
    everywhere = math.log(6 * S * A * H / (1 - share))  # for L, for U and for the rewards
    low, high = rewards_within(counts, frame, everywhere)
    r = np.where(counts.n > 0, np.clip(counts.R / np.maximum(counts.n, 1), low, high), low)
    ceiling = most_to_come(H, frame.reward_range[1])
    floor = -most_to_come(H, -frame.reward_range[0])
    never_left = ~counts.n.any(axis=1)  # may turn out to be an end, worth 0
    V, L, U = np.zeros((3, H + 1, S))
    value, span, policy = np.zeros((H - 1, S, A)), np.zeros(H - 1), np.zeros((H, S), np.int64)
    for h in range(H - 1, -1, -1):
        Q = np.where(frame.available, r + bounds.P @ V[h + 1], -np.inf)
        policy[h] = Q.argmax(axis=1)
        V[h] = Q.max(axis=1)
        worst = low + bounds.P @ L[h + 1] - bounds.of(L[h + 1], everywhere)
        best = high + bounds.P @ U[h + 1] + bounds.of(U[h + 1], everywhere)
        L[h] = np.maximum(worst[np.arange(S), policy[h]], floor[h])
        U[h] = np.minimum(np.where(frame.available, best, -np.inf).max(axis=1), ceiling[h])
        L[h, never_left] = np.minimum(L[h, never_left], 0.0)
        U[h, never_left] = np.maximum(U[h, never_left], 0.0)
        V[h, frame.terminal] = L[h, frame.terminal] = U[h, frame.terminal] = 0.0
        if h < H - 1:
            value[h], span[h] = bounds.of(V[h + 1]), np.ptp(V[h + 1])
    inferred = bounds.playable & (counts.n <= bounds.n0)
    start = start_of(task)
    return Certificate(
        share=share,
        candidate=None if found is None else found.name,
        P=bounds.P,
        inferred=inferred,
        unmet=inferred & (counts.n == 0),
        value=value,
        V=V,
        span=span,
        l1=bounds.l1(),
        policy=policy,
        lower=float(start @ L[0]),
        upper=float(start @ U[0]),
        trivial=float(start @ V[0] - floor[0]),
    )


def _judged(found: Inferred | None, infer: Analogy, rng: np.random.Generator) -> Judged | None:
    """The winner with its judges, in dense tables."""
    if found is None:
        return None
    split, data = found.split, found.split.data
    N, shape = data.rows.toarray().reshape(*data.n.shape, -1), data.n.shape
    judges = Judges.of(N, data.n)
    twice = split.n >= 2
    if not twice.any():
        return None
    q = found.rows.toarray().reshape(*shape, -1)
    held, apart = q[judges.pairs], None
    if found.candidate is not None:
        held = split.rows(found.candidate).toarray()[twice]
        by_state = CrossValidation(data, infer.folds, rng, by_state=True)
        apart = by_state.rows(found.candidate).toarray()[twice]
    n0 = found.n0 * (1.0 - found.doubt)
    return Judged(q, n0, judges, held, Strata(data.n, judges), apart)


def start_of(task: Task) -> Floats:
    """Where episodes begin [S]; anywhere alike if the world does not say."""
    return task.truth.start if task.truth is not None else np.full(task.S, 1.0 / task.S)
