"""Certificates: what a policy earns and loses, and how far a learned model is off, pair by pair.

They rest on what an agent itself believes, its counts and its prior, and on the plan made on that.
There are two kinds. A *credible* one draws models from the belief and plans each
(`credible`): it holds if the world is as likely as any of these. A *guaranteed* one
rests on inequalities (`guaranteed`): it asks for less and says less.

A pair counts as inferred if it was met no more often than its prediction is worth. What is like no
pair that could judge the predictions gets no bound: pairs of states, and of actions, in which
hardly any pair was met, or in which predictions fail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Protocol, get_args, runtime_checkable

import numpy as np

from gim import html
from gim.arguments import fraction
from gim.inference.certificate.credible import credible
from gim.inference.certificate.facts import Bools, Facts, Floats, facts_of
from gim.inference.certificate.guaranteed import guaranteed
from gim.inference.certificate.sentences import figure, sentences
from gim.inference.grounds import LARGEST, Aim, Grounds
from gim.mdp import TabularMDP
from gim.model.learned import LearnedModel
from gim.model.rewards import reward_range
from gim.planning import plan
from gim.shares import SHARE

Kind = Literal["credible", "guaranteed"]
ROUNDING = 1e-9  # what is no larger, relative to what it is part of, is none


@runtime_checkable
class Certifiable(Protocol):
    """What can be certified: a run, what `gim.learn` makes of a log, or `Grounds` themselves."""

    def grounds(self) -> Grounds | None:
        """What a certificate rests on; None if transitions were not counted."""


class Coverage(NamedTuple):
    """How a certificate does; shares are of the inferred pairs that have a bound (and of steps)."""

    inferred: int  # pairs that have one
    value: float  # share whose |(p - p~).V| is within its bound
    l1: float  # share whose ||p - p~||_1 is
    unmet: int  # those of them that were never met
    unmet_value: float  # share of these whose |(p - p~).V| is within its bound
    unmet_l1: float  # share of these whose ||p - p~||_1 is
    tightness: float  # median of the bounds on |(p - p~).V| over the errors
    returns: float  # what the policy really earns
    loss: float  # what it really loses of the optimal return


@dataclass(frozen=True)
class Certificate:
    """What a policy earns and loses, and how far the model behind it is off; see `gim.certify`.

    Attributes:
        kind: "credible" or "guaranteed".
        share: the probability with which each statement on returns holds.
        of_pairs: the share of the inferred pairs for which each kind of bound does.
        policy: [H, S] the plan on what was learned (or what policy was to be certified).
        aim: the horizon and the discount.
        model: what was learned, p~.
        V: [H + 1, S] the values that the model's plan expects.
        inferred: [S, A] pairs met no more often than their prediction is worth.
        unmet: [S, A] those of them that were never met.
        unbounded: [S, A] inferred pairs for which no bound is given.
        judged: pairs that could judge the predictions.
        value: [H - 1, S, A] bounds on |(p - p~).V_{h+1}|; the span of V_{h+1} where there is none.
        l1: [S, A] bounds on ||p - p~||_1; 2 where there is none.
        expected: what the plan expects to earn in an episode.
        lower: the least that it earns.
        upper: the most that any policy earns, and so this one.
        earns: bounds on what this one does; the first is `lower`.
        loss: the most that it loses of what the best policy earns.
        trivial: what the plan expects above the least possible return: it may always lose that.
        blind: chance that an episode meets a pair never tried and like no other; a credible bound
            on returns is given if it is at most 1 - share.
        loss_as_tried: the most that it loses if pairs of which nothing is known pay as those that
            were tried do, where `loss` is of no use; else NaN.
        assumed: what must be so for it to hold, besides that the world is an MDP.
    """

    kind: Kind
    share: float
    of_pairs: float
    policy: Any
    aim: Aim
    model: LearnedModel
    V: Floats
    inferred: Bools
    unmet: Bools
    unbounded: Bools
    judged: int
    value: Floats
    l1: Floats
    expected: float
    lower: float
    upper: float
    earns: tuple[float, float]
    loss: float
    trivial: float
    blind: float = 0.0
    loss_as_tried: float = math.nan
    assumed: tuple[str, ...] = ()

    @property
    def useless(self) -> bool:
        """Whether the plan may lose all that it expects, for all that is known."""
        return self.loss >= self.trivial * (1 - ROUNDING)

    def _repr_html_(self) -> str:
        return html.facts(f"Certificate ({self.kind})", [[line] for line in self.sentences])

    def against(self, truth: TabularMDP) -> Coverage:
        """Compare with the truth: how often the bounds hold."""
        if self.l1.shape != (truth.S, truth.A):
            raise ValueError(f"the truth has {truth.S} states and {truth.A} actions: not the same")
        playable = truth.available & ~truth.terminal[:, None]
        pairs = self.inferred & playable & ~self.unbounded
        off = truth.rows() - self.model.rows()
        errors = np.abs(off @ self.V[1:-1].T).T.reshape(-1, truth.S, truth.A)
        value = errors <= self.value + ROUNDING * (1 + np.abs(self.V).max())
        l1 = np.asarray(abs(off).sum(axis=1)).reshape(truth.S, truth.A) <= self.l1 + ROUNDING
        some = errors[:, pairs] > ROUNDING * (1 + np.abs(self.V).max())
        earned, horizon = self.aim.returned(truth, self.policy), self.aim.horizon
        discount = None if self.aim.discount == 1.0 else self.aim.discount
        best = plan(truth, discount, horizon).v
        optimum = float(truth.start @ (best if best.ndim == 1 else best[0]))
        unmet = pairs & self.unmet
        return Coverage(
            inferred=int(pairs.sum()),
            value=_mean(value[:, pairs]),
            l1=_mean(l1[pairs]),
            unmet=int(unmet.sum()),
            unmet_value=_mean(value[:, unmet]),
            unmet_l1=_mean(l1[unmet]),
            tightness=_median(self.value[:, pairs][some] / errors[:, pairs][some]),
            returns=earned,
            loss=optimum - earned,
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a person can act on: of the policy, of what was inferred, of what is assumed."""
        return sentences(self)

    def __str__(self) -> str:
        return "; ".join(self.sentences)


def certify(
    run: Certifiable,
    share: float = SHARE,
    kind: Kind = "credible",
    *,
    of_pairs: float | None = None,
) -> Certificate:
    """Certify the best policy that can be learned from all that a run has seen and inferred by now.

    Args:
        run: of any agent that counts transitions, such as `analogist`, `psrl` or `gim`; what
            `gim.learn` gives; or any belief and its task (`gim.inference.grounds.Grounds`).
        share: the probability with which statements on returns hold.
        kind: "credible", from models drawn from the belief, or "guaranteed", from inequalities.
        of_pairs: the share of inferred pairs for which bounds on their errors hold; None: `share`.

    Example:
        >>> import gim
        >>> run = gim.run("analogist", "shared_factors:S=20,A=20", episodes=500)
        >>> certificate = gim.certify(run)
        >>> certificate.lower <= run.mdp.policy_return(certificate.policy) <= certificate.upper
        True
        >>> certificate.against(run.mdp).value >= certificate.share
        True
    """
    share = fraction("share", share)
    of_pairs = share if of_pairs is None else fraction("of_pairs", of_pairs)
    if kind not in get_args(Kind):
        raise ValueError(f"kind = {kind!r}: give 'credible' or 'guaranteed'")
    if not isinstance(run, Certifiable):
        raise ValueError(f"a {type(run).__name__} has learned nothing: give a run, or a Learned")
    grounds = run.grounds()
    if grounds is None:
        raise ValueError(f"{run} counts no transitions, so there is nothing to certify")
    if not grounds.certifiable:
        raise ValueError(
            f"{run} cannot be certified: more than {LARGEST:,} successors are too many"
        )
    belief, task = grounds.belief, grounds.task
    limits = reward_range(task, *grounds.reward_limits, belief.counts)
    facts = facts_of(belief, task, limits, grounds.policy, grounds.start, grounds.aim)
    seed = [grounds.seed, int(belief.counts.n.sum())]  # leaves the run's alone
    rng = np.random.default_rng(seed)
    found = certified(facts, share, kind, rng, of_pairs)
    return replace(found, assumed=_assumed(grounds, facts))


def certifiable(run: Certifiable) -> bool:
    """Whether a run counts transitions, and not too many."""
    given = run.grounds()
    return given is not None and given.certifiable


def _assumed(given: Grounds, facts: Facts) -> tuple[str, ...]:
    """What a certificate takes for granted, as ends of a sentence."""
    if given.task.reward_range is not None or None not in given.reward_limits:
        return given.assumed
    low, high = facts.frame.reward_range
    return (*given.assumed, f"no pair pays less than {figure(low)} or more than {figure(high)}")


def certified(
    facts: Facts, share: float, kind: Kind, rng: np.random.Generator, of_pairs: float | None = None
) -> Certificate:
    """The same of what `facts_of` makes of a belief."""
    of_pairs = share if of_pairs is None else of_pairs
    found = (credible if kind == "credible" else guaranteed)(facts, share, of_pairs, rng)
    unbounded = facts.inferred & found.silent
    span = np.ptp(facts.V[1:-1], axis=1)[:, None, None]
    return Certificate(
        kind=kind,
        share=share,
        of_pairs=of_pairs,
        policy=facts.policy,
        aim=facts.aim,
        model=facts.model,
        V=facts.V,
        inferred=facts.inferred,
        unmet=facts.inferred & (facts.belief.counts.n == 0),
        unbounded=unbounded,
        judged=facts.judges.pairs.size,
        value=np.where(unbounded, span, np.minimum(found.value, span)) * facts.playable,
        l1=np.where(unbounded, 2.0, np.minimum(found.l1, 2.0)) * facts.playable,
        expected=facts.expected,
        lower=found.earns[0],
        upper=found.best,
        earns=found.earns,
        loss=found.loss,
        blind=found.blind,
        loss_as_tried=found.loss_as_tried,
        trivial=facts.trivial,
    )


def _mean(found: Any) -> float:
    return float(np.mean(found)) if np.size(found) else np.nan


def _median(found: Any) -> float:
    return float(np.median(found)) if np.size(found) else np.nan
