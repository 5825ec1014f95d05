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

from gim._base import html
from gim._base.arguments import fraction
from gim.analogy.witnesses import Witness, of_trail, played, refuted
from gim.belief.certificate.credible import credible
from gim.belief.certificate.facts import Bools, Facts, Floats, facts_of
from gim.belief.certificate.guaranteed import guaranteed
from gim.belief.certificate.sentences import figure, sentences
from gim.belief.grounds import LARGEST, Aim, Grounds
from gim.belief.shares import SHARE
from gim.mdp.tabular import TabularMDP
from gim.model.learned import LearnedModel
from gim.model.rewards import reward_range
from gim.planning import plan

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
        why: why there is no bound on returns, "" if there is one: the policy meets pairs of which
            nothing is known ("untried"), how large rewards may be was not told ("untold"), or a
            witness contradicts ("refuted").
            Then `earns` is all that is possible, as far as that is known, else infinite.
        witnesses: what the policy earned where it was played.
        refuted: the bounds on what it earns that a witness contradicts, or None.
        within: the range of r(s,a) that bounds on returns rest on, if it was not told.
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
    why: str = ""
    witnesses: tuple[Witness, ...] = ()
    refuted: tuple[float, float] | None = None
    within: tuple[float, float] | None = None

    @property
    def bounded(self) -> bool:
        """Whether there is a bound on what the policy earns."""
        return not self.why

    def meets(self, *witnesses: Witness) -> Certificate:
        """The same beside what the policy earned: without bounds on returns if that contradicts."""
        told = (*self.witnesses, *witnesses)
        room = ROUNDING * (1.0 + float(np.abs(self.V).max(initial=0.0)))
        if not self.bounded or refuted(self.earns, told, room) is None:
            return replace(self, witnesses=told)
        nothing: dict[str, Any] = {"lower": -math.inf, "upper": math.inf, "loss": math.inf}
        nothing |= {"earns": (-math.inf, math.inf), "loss_as_tried": math.nan}
        return replace(self, witnesses=told, refuted=self.earns, why="refuted", **nothing)

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
    witness: Any = None,
) -> Certificate:
    """Certify the best policy that can be learned from all that a run has seen and inferred by now.

    Args:
        run: of any agent that counts transitions, such as `analogist`, `psrl` or `gim`; what
            `gim.learn` gives; or any belief and its task (`gim.belief.grounds.Grounds`).
        share: the probability with which statements on returns hold.
        kind: "credible", from models drawn from the belief, or "guaranteed", from inequalities.
        of_pairs: the share of inferred pairs for which bounds on their errors hold; None: `share`.
        witness: returns of episodes in which the very policy was played, all of them, or what has
            them as `.returns`, such as what `gim.evaluate` gives. Where they contradict the bound,
            the certificate says so instead; so it does with the episodes of the run itself.

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
    given = grounds.policy, grounds.start, grounds.aim
    told = grounds.range_told
    facts = facts_of(belief, task, limits, *given, begins=grounds.begins, told=told)
    seed = [grounds.seed, int(belief.counts.n.sum())]  # leaves the run's alone
    rng = np.random.default_rng(seed)
    found = certified(facts, share, kind, rng, of_pairs)
    found = replace(found, assumed=_assumed(grounds, found))
    return found.meets(*_witnesses(grounds, facts, share, witness))


def certifiable(run: Certifiable) -> bool:
    """Whether a run counts transitions, and not too many."""
    given = run.grounds()
    return given is not None and given.certifiable


def _assumed(given: Grounds, found: Certificate) -> tuple[str, ...]:
    """What a certificate takes for granted, as ends of a sentence."""
    if found.within is None:
        return given.assumed
    low, high = found.within
    return (*given.assumed, f"no pair pays less than {figure(low)} or more than {figure(high)}")


def _witnesses(given: Grounds, facts: Facts, share: float, more: Any) -> tuple[Witness, ...]:
    """All who know what the policy earned; returns are never discounted."""
    told = list(given.witnesses)
    aim, done = facts.aim, given.done
    if done is not None and aim.discount == 1.0 and aim.horizon == done.pairs.shape[1]:
        low, high = facts.frame.reward_range
        ends = -float(aim.most(-low)[0]), float(aim.most(high)[0])
        A = facts.playable.shape[1]
        own = of_trail(np.asarray(facts.policy), done.pairs, done.returns, ends, A, share)
        told += [] if own is None else [own]
    return (*told, *(() if more is None else (played(more, share),)))


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
        why=found.why,
        within=found.within,
        trivial=facts.trivial,
    )


def _mean(found: Any) -> float:
    return float(np.mean(found)) if np.size(found) else np.nan


def _median(found: Any) -> float:
    return float(np.median(found)) if np.size(found) else np.nan
