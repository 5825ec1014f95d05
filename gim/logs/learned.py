"""The type `Learned`: a policy from a log, what it is worth, and what is not known."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._base import files, html
from gim._base.arguments import whole
from gim._base.escapes import shown
from gim.analogy.base import Frame
from gim.analogy.structure.rule import Rule
from gim.analogy.witnesses import Witness, refuted
from gim.belief.aim import Aim
from gim.belief.analogies import analogies, rule_names
from gim.belief.belief import Belief
from gim.belief.certificate import Certificate, certifiable, certify
from gim.belief.certificate.credible import more_than
from gim.belief.change import Change
from gim.belief.shares import SHARE
from gim.logs.case import SEED, Inferred
from gim.logs.given import given_policy
from gim.logs.log import Log
from gim.logs.off_policy import Estimate, agreement, doubly_robust, importance_sampling, steps_of
from gim.logs.safe.base import Case, Floats, Safe
from gim.logs.truth import placed
from gim.logs.worth import values_of
from gim.mdp.policy import Policy
from gim.mdp.tabular import TabularMDP
from gim.mdp.why import Why, explain
from gim.model.learned import LearnedModel
from gim.planning import AveragePlan, evaluate, plan
from gim.planning.chain import ChainValues, chain_values

MOST_WANTED = 20
WITNESSES = 20.0  # episodes, weights considered, from which on those of a log contradict
EVERY = "any action"  # of a rule that is of all
ROUNDING = 1e-9  # of a value
UNTOLD = "no bound, since it would rest on how large rewards may be (reward_range=)"
CONTRADICTED = "no bound, since the log contradicts"


class Value(NamedTuple):
    """The expected return from where episodes begin, or a difference of two.

    `estimate` is that of the model. It lies between `lower` and `upper` with the probability
    `gim.belief.shares.SHARE`, nine of ten (`gim.belief.worlds`).

    Where there is no bound `lower` and `upper` are infinite; `Learned.no_bound` says why.
    """

    estimate: float
    lower: float
    upper: float

    @property
    def bounded(self) -> bool:
        """Whether there is a bound."""
        return math.isfinite(self.lower) and math.isfinite(self.upper)

    def __str__(self) -> str:
        return self.told("no bound")

    def told(self, why: str) -> str:
        """The value with its bounds, or why it has none."""
        ends = f"{self.lower:.4g} to {self.upper:.4g}" if self.bounded else why
        return f"{self.estimate:.4g} ({ends})"


class Wanted(NamedTuple):
    """A pair worth trying: what it might gain in an episode, and the visits it has."""

    state: Any
    action: Any
    gain: float
    visits: int


@dataclass(frozen=True)
class Learned:
    """What `gim.learn` made of a log.

    Attributes:
        log: the log; where the world has changed, what it says of the world since.
        policy: the policy to deploy, in the log's own labels.
        model: what is believed of the world; `model.supported` says of which pairs.
        safe: how the policy was chosen.
        behind: the belief, the task and the estimate that it rests on.
        asked: the options of `gim.learn`.
        average: whether what counts is the average reward of a step without end; values are then
            by step, and `gain` and `bias` are there.
        since: what changed within the log, and since when: all else is of the world since.
    """

    log: Log
    policy: Policy
    model: LearnedModel
    safe: Safe
    behind: Inferred
    average: bool = False
    since: Change | None = None
    asked: dict[str, Any] = field(default_factory=dict)

    def save(self, path: str | Path) -> None:
        """Save to one file, which `gim.load` reads: the log, the policy, and how it was learned.

        What was inferred is inferred again when it is loaded, which takes as long as it took; the
        policy stays the one that was saved.
        """
        if self.asked.get("infer") == "by_family":
            raise ValueError(
                "what was learned of a unit rests on its family: save its .policy and .model, and "
                "the family (.family.save)"
            )
        if not self.asked.get("safe"):
            kind = type(self.safe).__name__
            raise ValueError(
                f"{kind} is a safe policy of your own, which has no name: save .policy"
            )
        files.save(path, "learned", *self.pack())

    def pack(self) -> files.Packed:
        """Arrays and JSON that `unpack` turns into the same."""
        log, model = self.log.pack(), self.model.pack()
        arrays = {f"log.{name}": each for name, each in log.arrays.items()}
        arrays |= {f"model.{name}": each for name, each in model.arrays.items()}
        arrays |= {"policy": np.asarray(self.policy), "known": np.asarray(self.policy.seen)}
        plain = {x: y for x, y in self.asked.items() if not isinstance(y, (np.ndarray, tuple))}
        arrays |= {x: y for x, y in self.asked.items() if isinstance(y, np.ndarray)}
        meta: dict[str, Any] = {"log": log.meta, "model": model.meta, "asked": plain}
        priors = [prior.pack() for prior in self.behind.task.priors]
        for k, prior in enumerate(priors):
            arrays |= {f"prior{k}.{name}": each for name, each in prior.arrays.items()}
        meta["priors"] = [prior.meta for prior in priors]
        return files.Packed(arrays, meta)

    @property
    def gain(self) -> Floats:
        """The average reward of a step without end, by the state one starts from, [S]."""
        return self._long_run.gain

    @property
    def bias(self) -> Floats:
        """By how much all steps together bring more than the gain does, [S]."""
        return self._long_run.bias

    @cached_property
    def _long_run(self) -> ChainValues:
        return long_run(self.behind.case, np.asarray(self.policy))

    @property
    def _unit(self) -> float:
        """What a return counts as: an average is one of a far horizon, by step."""
        return 1.0 - self.behind.case.gamma if self.average else 1.0

    @cached_property
    def value(self) -> Value:
        """What the policy is worth."""
        return self._stated[0]

    @property
    def no_bound(self) -> str:
        """Why the value has no bound, as a part of a sentence; "" if it has one."""
        return self._stated[1]

    @cached_property
    def _believed(self) -> Value:
        """What the policy is worth by what was learned, whoever contradicts."""
        return self._value(None)

    @cached_property
    def _stated(self) -> tuple[Value, str]:
        """The value, and why it has no bound: nothing that a witness contradicts is one."""
        found = self._believed
        if not found.bounded:
            return found, UNTOLD
        witness = refuted((found.lower, found.upper), self._witnesses, ROUNDING * abs(found[0]))
        if witness is None:
            return found, ""
        said = f"what was learned says {found.lower:.4g} to {found.upper:.4g}"
        seen = f"{witness.what} {witness.lower:.4g} to {witness.upper:.4g}"
        return Value(found.estimate, -math.inf, math.inf), f"{CONTRADICTED}: {said}, but {seen}"

    @cached_property
    def _witnesses(self) -> tuple[Witness, ...]:
        """The episodes of the log, weighted by how likely the policy would have had them.

        Picked by whether they went as the policy would, they would be those of good luck. They say
        nothing where another start is asked for or episodes have lost theirs, or where few do as
        the policy would.
        """
        if self.log.given_start is not None or self.log.episodes.gaps.any():
            return ()
        found = self.evaluated().get("importance sampling")
        if found is None or not found.episodes >= WITNESSES:
            return ()
        what = f"{len(self.log.starts):,} episodes of the log, by importance sampling,"
        return (Witness(what, found.estimate, found.lower, found.upper),)

    def _value(self, other: NDArray[Any] | None) -> Value:
        """What the policy is worth, or by how much more than another."""
        own = np.asarray(self.policy)
        if other is None:
            certificate = self._certified
            found = Value(certificate.expected, *certificate.earns)
        else:
            belief = self.belief
            given = belief.worlds, own, other, belief.limits, belief.range_told, SHARE
            found = Value(*more_than(*given))
        if not self.average:
            return found
        # How far it may be off is that of a far horizon; what is expected, of no end at all.
        case, unit = self.behind.case, self._unit
        gain = float(self.log.start @ self.gain)
        gain -= 0.0 if other is None else float(self.log.start @ long_run(case, other).gain)
        ends = (gain + unit * (end - found.estimate) for end in (found.lower, found.upper))
        return Value(gain, *ends)

    @cached_property
    def _certified(self) -> Certificate:
        """The certificate, whoever contradicts."""
        return certify(replace(self.belief, witnesses=()))

    def against(self, policy: Any = None) -> Value:
        """By how much the policy is better than another, in the same worlds.

        Args:
            policy: actions [S] or [H, S], probabilities [S, A] or [H, S, A], a `Policy`, or a
                function or a mapping of the log's states to its actions; None: the baseline, which
                is the log's behaviour unless another was given.
        """
        case = self.behind.case
        other = case.baseline if policy is None else given_policy(policy, self.log, case.horizon)
        if np.array_equal(other, np.asarray(self.policy)):
            return Value(0.0, 0.0, 0.0)
        return self._value(other)

    def evaluated(self, policy: Any = None) -> dict[str, Estimate]:
        """What a policy is worth by what happened, by way; see `gim.logs.off_policy`.

        By "importance sampling" where there is a horizon, and "doubly robust"; nothing where there
        is but one episode with its beginning. Of the policy that was learned from the same episodes
        both are hopeful: see `gim.logs.held_out`.

        Args:
            policy: as in `against`; None: the policy itself.
        """
        if policy is None and self.log.kept is None:
            return {}
        if np.count_nonzero(self.log.unbroken) < 2:
            return {}
        case = self.behind.case
        given = self.policy if policy is None else policy
        array = given_policy(given, self.log, case.horizon)
        steps = steps_of(self.log, case, array, values_of(case, array))
        ways = {"importance sampling": importance_sampling} if case.horizon else {}
        ways["doubly robust"] = doubly_robust
        found = {name: way(steps, case.gamma, SEED) for name, way in ways.items()}
        return {name: scaled(each, self._unit) for name, each in found.items()}

    @cached_property
    def agreement(self) -> str:
        """A sentence on whether what happened bears out the model."""
        said, estimate = self._believed, self._believed.estimate
        if not said.bounded:  # then nothing but the estimate can agree
            said = Value(estimate, estimate, estimate)
        if self.log.kept is None:
            return "the log keeps counts, and episodes alone could bear out the model: keep rows"
        return agreement(said, self.evaluated().get("doubly robust"))

    def compare(self, mdp: TabularMDP) -> dict[str, float]:
        """Compare with the truth, where it is known: true returns from where its episodes begin.

        Returns those of the policy ("return"), of the baseline ("baseline"), of the best policy
        ("optimal") and of a random one ("random"). States and actions are matched by label; in a
        state that the log does not have, the first available action is played.
        """
        case = self.behind.case
        over: dict[str, Any] = {"horizon": case.horizon, "discount": case.discount}
        if self.average:
            over = {"average": True}

        def worth(policy: Any) -> float:
            v = evaluate(mdp, placed(policy, self.log, mdp), **over)
            return float(mdp.start @ (v if v.ndim == 1 else v[0]))

        found = plan(mdp, **over)
        best = found.gain if isinstance(found, AveragePlan) else found.v
        chance = evaluate(mdp, mdp.uniform_policy(), **over)
        return {
            "return": worth(np.asarray(self.policy)),
            "baseline": worth(case.baseline),
            "optimal": float(mdp.start @ (best if best.ndim == 1 else best[0])),
            "random": float(mdp.start @ (chance if chance.ndim == 1 else chance[0])),
        }

    @cached_property
    def wanted(self) -> list[Wanted]:
        """The pairs to try first: those that might change the policy most, the best first.

        A pair's value may be a standard deviation higher than is believed; what it then gains over
        the policy counts as often as the policy comes by, from where episodes may begin, be it that
        none did yet. Of a pair of which nothing is known, anything within the range of the values
        may come.
        """
        case, chances = self.behind.case, self._often(self.log.beginnings.mean)
        r, n, gamma = case.r, case.n, case.gamma
        v = values_of(case, np.asarray(self.policy))
        ahead = v if v.ndim == 1 else v[min(1, len(v) - 1)]
        mean = case.expected(ahead)
        variance = gamma**2 * np.maximum(case.expected(ahead**2) - mean**2, 0.0) + case.spread
        doubt = np.sqrt(variance / (n + 1.0))
        doubt[n == 0] = float(np.ptp(ahead)) + case.rewards[1] - case.rewards[0]
        now = v if v.ndim == 1 else v[0]
        gain = (r + gamma * mean + doubt - now[:, None]) * chances[:, None]
        gain *= self._unit
        gain[~self.behind.task.available | case.terminal[:, None]] = -np.inf
        best = np.argsort(-gain, axis=None, kind="stable")[:MOST_WANTED]
        steps = float(case.horizon or np.inf)
        steps = steps if gamma == 1.0 else (1.0 - gamma**steps) / (1.0 - gamma)
        pays = max(case.rewards[1], self.belief.limits[1], 0.0)
        most = self._unit * (pays * steps - float(self.log.start @ now))
        gain, found = np.minimum(gain, most), []
        for s, a in zip(*np.unravel_index(best, gain.shape), strict=True):
            if gain[s, a] > 0:
                visits = int(self.log.counts.n[s, a])
                found.append(
                    Wanted(self.log.states[s], self.log.actions[a], float(gain[s, a]), visits)
                )
        return found

    def why(self, state: Any, step: int = 0) -> Why:
        """Why the policy plays what it plays in a state: `str()` of what comes back explains it.

        What each action is worth by the model, what follows it, how often it was seen, what was
        learned of it in words, and what would have to be true for another.

        Args:
            state: as the log calls it.
            step: the step of the episode, from 0; of no account without a horizon.
        """
        case, log, (states, actions) = self.behind.case, self.log, self.log.names()
        s = states.find(state, "this log")
        timed = case.horizon is not None
        step = whole("step", step, 0, (case.horizon or 1) - 1) if timed else 0
        self.policy.index(s, step)  # of a state that was never seen it says so
        array = np.asarray(self.policy)
        row = array[step] if array.ndim == (3 if array.dtype.kind == "f" else 2) else array
        played = row[s] if row.ndim == 2 else np.eye(log.A)[row[s]]
        v = self.bias if self.average else values_of(case, array)
        ahead = v if not timed else v[step + 1] if step + 1 < len(v) else np.zeros(log.S)
        rows = sparse.csr_array(case.P[s * log.A : (s + 1) * log.A])
        chosen = [log.actions[a] for a in np.flatnonzero(played)]
        notes = [
            f"Nobody tried {shown(log.actions[a])} here: it is played {self._why_untried}."
            for a in np.flatnonzero((played > 0) & self._untried[s]).tolist()
        ]
        n = log.counts.n[s]
        notes.append(f"Chosen by {type(self.safe).__name__}, with {n.sum():,} visits of the state.")
        return explain(
            (states, actions),
            s,
            step if timed else None,
            played,
            (case.r[s], rows, ahead if self.average else case.gamma * ahead),
            case.playable[s],
            n,
            [str(rule) for rule in self.rules if rule.action in (*chosen, EVERY)],
            notes,
            gain=float(self.gain[s]) if self.average else 0.0,
        )

    @cached_property
    def rules(self) -> list[Rule]:
        """What was learned of actions, in words."""
        log, behind = self.log, self.behind
        if not behind.belief.prior.speaks:
            return []
        made_of = (log.variables, log.action_variables)
        met = behind.task.available | (log.counts.n > 0)
        frame = Frame(met, log.terminal, (0.0, 1.0), (), *made_of)
        return analogies(log.counts, frame, rule_names(*log.names(), *made_of))

    @cached_property
    def certificate(self) -> Certificate:
        """What the policy earns and loses at the most, credibly; for more see `gim.certify`."""
        if self.average:
            raise ValueError("certificates are of returns: learn with discount= or horizon=")
        return certify(self)

    @cached_property
    def belief(self) -> Belief:
        """What is believed of the world, and of the policy."""
        case, (told, seen) = self.behind.case, self.behind.limits
        return Belief(
            self.behind.belief,
            replace(self.behind.task, reward_range=seen if told is None else told),
            self.behind.infer,
            self.policy,
            self.log.start,
            Aim(case.horizon, case.gamma),
            begins=self.log.beginnings,
            told=told is not None,
            witnesses=self._witnesses,
            names=self.log.names(),
            order=self.log.as_met,
            since=self.since,
        )

    @cached_property
    def unseen(self) -> int:
        """Pairs that the policy recommends, in some state and step, though nobody tried them."""
        return int(self._untried.sum())

    @cached_property
    def _untried(self) -> NDArray[np.bool_]:
        """[S, A] those pairs, in states in which something else was tried."""
        array = np.asarray(self.policy)
        if array.dtype.kind == "f":
            plays = array > 0 if array.ndim == 2 else (array > 0).any(axis=0)
        else:
            plays = np.zeros(self.log.counts.n.shape, bool)
            plays[np.broadcast_to(np.arange(self.log.S), array.shape), array] = True
        return np.asarray(plays & (self.log.counts.n == 0) & self.log.left[:, None])

    @property
    def _why_untried(self) -> str:
        """Why such pairs are played: they are inferred, or nothing better is known of others."""
        rest = int((self._untried & ~self.behind.supported).sum())
        if rest == 0:
            return "by analogy with others"
        reason = "as the baseline would, since nothing is known of what else is allowed there"
        return reason if rest == self.unseen else f"by analogy with others, or ({rest}) {reason}"

    def __repr__(self) -> str:
        told = str(self.value)
        return (
            f"<Learned from {len(self.log)} transitions by {type(self.safe).__name__}: value "
            f"{told}, {self.unseen} pairs never tried>"
        )

    def _repr_html_(self) -> str:
        return html.text("Learned from a log", self.describe())

    @property
    def _over(self) -> str:
        horizon, gamma = self.behind.case.horizon, self.behind.case.gamma
        if self.average:
            return " a step, on average"
        steps = "" if horizon is None else f" in {horizon} steps"
        return steps if gamma == 1.0 else f"{steps}, discounted by {gamma:g}"

    def describe(self) -> str:
        """What came of it, as text: a line for each fact."""
        gain = self.against().told(UNTOLD)
        lines = [
            f"value        {self.value.told(self.no_bound)}{self._over}",
            f"better       {gain} than the baseline (whoever acted, unless given)",
            f"never tried  {self.unseen or 'none'} of the pairs that the policy plays"
            + (f": it plays them {self._why_untried}" if self.unseen else ""),
            f"check        {self.agreement}",
        ]
        if not self.average and certifiable(self):
            lines.append(f"certificate  {self.certificate.sentences[0]}")
        tries = [f"{shown(each.action)} in {shown(each.state)}" for each in self.wanted[:3]]
        if tries:
            lines.append(f"try first    {'; '.join(tries)}")
        lines += [f"note         {note}" for note in self.behind.notes]
        return "\n".join(lines)

    def visits(self) -> Floats:
        """[S] how often the policy comes by in an episode, or while steps still weigh much."""
        return self._often(self.log.start)

    def _often(self, here: Floats) -> Floats:
        """The same from where episodes begin with these chances [S]."""
        case = self.behind.case
        policy = np.asarray(self.policy)
        steps = case.horizon or int(np.ceil(1.0 / (1.0 - case.gamma)))
        total, timed = np.zeros(len(here)), case.horizon is not None
        for h in range(steps):
            total += here
            pi = policy[h] if timed else policy
            pi = np.eye(self.log.A)[pi] if pi.ndim == 1 else pi
            here = (here[:, None] * pi).ravel() @ case.P
        return total


def long_run(case: Case, policy: NDArray[Any]) -> ChainValues:
    """Gain and bias of a policy, [S] or [S, A], in an estimate; an end is never left."""
    S, A = case.r.shape
    chances = (policy if policy.ndim == 2 else np.eye(A)[policy]) * ~case.terminal[:, None]
    pair = np.arange(S * A)
    rule = sparse.csr_array((chances.ravel(), (pair // A, pair)), shape=(S, S * A))
    P = rule @ case.P + sparse.diags_array(case.terminal.astype(np.float64))
    return chain_values(sparse.csr_array(P), (chances * case.r).sum(axis=1))


def scaled(found: Estimate, unit: float) -> Estimate:
    """An estimate in another unit."""
    estimate, lower, upper, episodes = found
    return Estimate(unit * estimate, unit * lower, unit * upper, episodes)
