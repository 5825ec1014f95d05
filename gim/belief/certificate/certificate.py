"""Certificates: what a policy earns and loses, and how far a learned model is off, pair by pair.

They rest on a belief (`gim.Belief`): what was counted and inferred, and the plan made on that.
There are two kinds. A *credible* one asks how far what is claimed differs between the worlds that
the belief holds possible (`gim.belief.worlds`). A *guaranteed* one rests on counts, by inequalities
alone (`guaranteed`): it asks for less and says less.

A pair counts as inferred if it was met no more often than its prediction is worth.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, Protocol, get_args, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from gim._base import html
from gim._base.arguments import fraction
from gim._base.threads import one_thread
from gim.analogy.unseen import Beginnings
from gim.analogy.witnesses import Witness, of_trail, played, refuted
from gim.belief.aim import Aim, Done
from gim.belief.certificate.credible import Bounds, credible, of_pairs, possible
from gim.belief.certificate.guaranteed import Facts, guaranteed
from gim.belief.certificate.guaranteed import of_pairs as guaranteed_of_pairs
from gim.belief.certificate.sentences import figure, sentences
from gim.belief.knowledge import Knowledge
from gim.belief.shares import SHARE
from gim.belief.worlds import LARGEST, Worlds
from gim.mdp.tabular import TabularMDP
from gim.model.learned import LearnedModel
from gim.model.task import Task
from gim.planning import plan
from gim.planning.checks import checked_policy

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Kind = Literal["credible", "guaranteed"]
ROUNDING = 1e-9  # what is no larger, relative to what it is part of, is none


class Grounds(Protocol):
    """What a certificate rests on: a `gim.Belief`."""

    @property
    def knowledge(self) -> Knowledge:
        """What was counted, and what is known beforehand."""

    @property
    def task(self) -> Task:
        """Sizes, available pairs."""

    @property
    def policy(self) -> Any:
        """What is certified; None: the plan to deploy."""

    @property
    def worlds(self) -> Worlds:
        """What is held possible."""

    @property
    def mean(self) -> LearnedModel:
        """The model that is believed on average."""

    @property
    def beginnings(self) -> Beginnings:
        """Where episodes begin."""

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest reward of a step, as told or as seen."""

    @property
    def range_told(self) -> bool:
        """Whether they were told."""

    @property
    def done(self) -> Done | None:
        """What was done of late, where that is known."""

    @property
    def witnesses(self) -> tuple[Witness, ...]:
        """What the policy earned where it was played."""

    @property
    def assumed(self) -> tuple[str, ...]:
        """What must be so for certificates to hold, as ends of a sentence."""

    @property
    def certifiable(self) -> bool:
        """Whether there are not too many successors."""


@runtime_checkable
class Believes(Protocol):
    """What has a belief: a run, what `gim.learn` makes of a log, a belief itself."""

    @property
    def belief(self) -> Grounds | None:
        """What is believed; None if transitions were not counted."""


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
        expected: what the plan expects to earn in an episode.
        lower: the least that it earns.
        upper: the most that any policy earns, and so this one.
        earns: bounds on what this one does; the first is `lower`.
        loss: the most that it loses of what the best policy earns.
        trivial: what the plan expects above the least possible return: it may always lose that.
        assumed: what must be so for it to hold, besides that the world is an MDP.
        why: why there is no bound on returns, "" if there is one: how large rewards may be was not
            told ("untold"), or a witness contradicts ("refuted"). Then `earns` is infinite.
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
    on_pairs: Callable[[], tuple[Floats, Floats]] = field(repr=False, compare=False)
    expected: float
    lower: float
    upper: float
    earns: tuple[float, float]
    loss: float
    trivial: float
    assumed: tuple[str, ...] = ()
    why: str = ""
    witnesses: tuple[Witness, ...] = ()
    refuted: tuple[float, float] | None = None
    within: tuple[float, float] | None = None

    @cached_property
    def _pairs(self) -> tuple[Floats, Floats]:
        """Bounds on pairs, made when somebody asks: many models are drawn for them."""
        return self.on_pairs()

    @property
    def value(self) -> Floats:
        """[H - 1, S, A] bounds on |(p - p~).V_{h+1}|; the span of V_{h+1} where there is none."""
        return self._pairs[0]

    @property
    def l1(self) -> Floats:
        """[S, A] bounds on ||p - p~||_1; 2 where there is none."""
        return self._pairs[1]

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
        nothing |= {"earns": (-math.inf, math.inf)}
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
    run: Believes,
    share: float = SHARE,
    kind: Kind = "credible",
    *,
    of_pairs: float | None = None,
    witness: Any = None,
) -> Certificate:
    """Certify the best policy that can be learned from all that a run has seen and inferred by now.

    Args:
        run: of any agent that counts transitions, such as `analogist`, `psrl` or `gim`; what
            `gim.learn` gives; or any belief and its task (`gim.Belief`).
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
    return certified(_belief_of(run), share, kind, of_pairs, witness)


def _belief_of(of: Believes) -> Grounds:
    """What is to be certified, or a ValueError."""
    if not isinstance(of, Believes):
        raise ValueError(f"a {type(of).__name__} has learned nothing: give a run, or a Learned")
    belief = of.belief
    if belief is None:
        raise ValueError(f"{of} counts no transitions, so there is nothing to certify")
    if not belief.certifiable:
        raise ValueError(f"{of} cannot be certified: more than {LARGEST:,} successors are too many")
    return belief


def certifiable(of: Believes) -> bool:
    """Whether a run counts transitions, and not too many."""
    belief = of.belief
    return belief is not None and belief.certifiable


@one_thread()
def certified(
    belief: Grounds,
    share: float = SHARE,
    kind: Kind = "credible",
    pairs_share: float | None = None,
    witness: Any = None,
) -> Certificate:
    """The certificate of a belief; see `certify`."""
    worlds, aim, told = belief.worlds, belief.worlds.aim, belief.range_told
    pairs_share = share if pairs_share is None else pairs_share
    model, whole = belief.mean, worlds.whole
    bare = whole.model()
    best = worlds.best(bare)
    v = np.stack([best.v, best.v]) if best.v.ndim == 1 else best.v
    policy = belief.policy
    policy = worlds.policy if policy is None else checked_policy(model, policy, aim.horizon)
    expected = worlds.worth(bare, policy, worlds.start)
    limits, V = belief.limits, np.vstack([v, np.zeros((1, v.shape[1]))])
    playable = belief.task.available & ~belief.knowledge.terminal[:, None]
    n = belief.knowledge.counts.n
    inferred = playable & (whole.worth.reshape(n.shape) >= n)
    inferred |= playable & whole.replaced.reshape(n.shape)
    F = np.ascontiguousarray(V[1:-1].T)
    if kind == "credible":
        found = credible(worlds, policy, limits, told, share)
        unbounded = np.zeros(n.shape, bool)
        bounds = partial(of_pairs, worlds, F, pairs_share)
    else:
        facts = _facts(belief, policy, limits)
        found = guaranteed(facts, told, share)
        unbounded = inferred & (n == 0)
        bounds = partial(guaranteed_of_pairs, facts, bare.transitions, F, pairs_share)

    def on_pairs() -> tuple[Floats, Floats]:
        value, l1 = bounds()
        span = np.ptp(V[1:-1], axis=1)[:, None, None]
        value, l1 = value.reshape(-1, *n.shape), l1.reshape(n.shape)
        value = np.where(unbounded, span, np.minimum(value, span)) * playable
        return value, np.where(unbounded, 2.0, np.minimum(l1, 2.0)) * playable

    least = possible(worlds, limits)[0]
    said = Certificate(
        kind=kind,
        share=share,
        of_pairs=pairs_share,
        policy=policy,
        aim=aim,
        model=model,
        V=V,
        inferred=inferred,
        unmet=inferred & (n == 0),
        unbounded=unbounded,
        on_pairs=on_pairs,
        expected=expected,
        lower=found.earns[0],
        upper=found.best,
        earns=found.earns,
        loss=found.loss,
        why=found.why,
        within=found.within,
        trivial=expected - least,
        assumed=_assumed(belief, found),
    )
    return said.meets(*_witnesses(belief, policy, share, witness))


def _facts(belief: Grounds, policy: Any, limits: tuple[float, float]) -> Facts:
    """What a guaranteed certificate is made from."""
    known, (S, A) = belief.knowledge, belief.knowledge.counts.n.shape
    chances = np.eye(A)[policy] if policy.dtype.kind in "iu" else policy
    chances = np.ascontiguousarray(chances).reshape(-1, S, A)
    parts = belief.task.available, known.terminal, limits, belief.worlds.aim, chances
    return Facts(known.counts, known.rewards, belief.worlds.whole.met, *parts, belief.beginnings)


def _assumed(given: Grounds, found: Bounds) -> tuple[str, ...]:
    """What a certificate takes for granted, as ends of a sentence."""
    if found.within is None:
        return given.assumed
    low, high = found.within
    return (*given.assumed, f"no pair pays less than {figure(low)} or more than {figure(high)}")


def _witnesses(given: Grounds, policy: Any, share: float, more: Any) -> tuple[Witness, ...]:
    """All who know what the policy earned; returns are never discounted."""
    told, aim, done = list(given.witnesses), given.worlds.aim, given.done
    if done is not None and aim.discount == 1.0 and aim.horizon == done.pairs.shape[1]:
        ends = possible(given.worlds, given.limits)
        A = given.task.A
        own = of_trail(np.asarray(policy), done.pairs, done.returns, ends, A, share)
        told += [] if own is None else [own]
    return (*told, *(() if more is None else (played(more, share),)))


def _mean(found: Any) -> float:
    return float(np.mean(found)) if np.size(found) else np.nan


def _median(found: Any) -> float:
    return float(np.median(found)) if np.size(found) else np.nan
