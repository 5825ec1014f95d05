"""What is believed of a world, what that rests on, and how far it may be trusted.

One posterior answers all who ask: its `mean` is a model to plan on, `draw` a whole model that may
be so, `sd` how far a value is off at each pair, `weight` how many visits what is believed of a pair
is worth, `rules` what was learned in words, and `certify` bounds what a policy earns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._base import files
from gim._base.arguments import whole
from gim.analogy.base import Frame, Infers, inferences
from gim.analogy.experience import WithinExperience
from gim.analogy.prior import no_prior
from gim.analogy.structure.rule import Rule
from gim.analogy.unseen import Beginnings
from gim.analogy.witnesses import Witness
from gim.belief.aim import Aim, Done
from gim.belief.analogies import analogies_of
from gim.belief.certificate.certificate import Certificate, certify
from gim.belief.change import Change
from gim.belief.knowledge import Knowledge, knowledge_of, learned_of
from gim.belief.shares import SHARE
from gim.belief.worlds import DRAWS, LARGEST, Worlds
from gim.mdp.names import Names
from gim.mdp.naming import names_of
from gim.model.halves import Order
from gim.model.learned import LearnedModel
from gim.model.rewards import KnownRewards, reward_range
from gim.model.tally import Triples, total, triples_of
from gim.model.task import Task
from gim.planning.checks import checked_weight

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Belief:
    """A posterior over worlds: counts, and what is inferred from them. Immutable.

    `run.belief`, `learned.belief` and `gim.believe` make one.

    Attributes:
        knowledge: what was counted, and what is known beforehand.
        task: sizes, horizon, available pairs, the range of rewards, variables.
        infer: what predicts pairs from others; None: nothing.
        policy: what `certify` is about, if it is not the plan to deploy.
        start: [S] where episodes begin; None: as the task has it.
        aim: horizon and discount; None: the task's horizon.
        reward_limits: the least and the largest r(s,a) that were told; None: the task's.
        seed: of all that is drawn.
        assumed: what must be so for certificates to hold, as ends of a sentence.
        begins: where episodes begin, where that was only seen.
        told: whether the range of rewards is certain; None: if the task has one.
        done: what was done of late, where that is known.
        witnesses: what `policy` earned where it was played.
        names: labels of states and actions.
        order: of states and actions, in which they are drawn, if that is not by number.
        since: what has changed in the world, and since when, where data in their order show it: the
            belief is that of the world since. None: earlier data still hold, as far as is known.

    Example:
        >>> import gim
        >>> belief = gim.run("analogist", "gridworld", episodes=50).belief
        >>> belief.mean.S, belief.draw(0).S, belief.weight.shape
        (16, 16, (16, 4))
        >>> certificate = belief.certify()
        >>> certificate.lower < certificate.upper
        True
    """

    knowledge: Knowledge
    task: Task
    infer: Infers | None = None
    policy: Any = None
    start: Floats | None = None
    aim: Aim | None = None
    reward_limits: tuple[float | None, float | None] = (None, None)
    seed: int = 0
    assumed: tuple[str, ...] = ()
    begins: Beginnings | None = None
    told: bool | None = None
    done: Done | None = None
    witnesses: tuple[Witness, ...] = ()
    names: tuple[Names, Names] | None = None
    order: Order | None = None
    since: Change | None = None

    @property
    def belief(self) -> Belief:
        """This one."""
        return self

    def __repr__(self) -> str:
        counts = self.knowledge.counts.n
        met, of = np.count_nonzero(counts), counts.size
        return f"<Belief after {int(counts.sum()):,} visits: {met:,} of {of:,} pairs met>"

    @cached_property
    def worlds(self) -> Worlds:
        """What is held possible."""
        seed = [self.seed, int(self.knowledge.counts.n.sum())]  # leaves a run's own alone
        given = self._frame, self._aim, self.beginnings, seed, self.order
        return Worlds(self.knowledge, self.infer, *given)

    @property
    def _aim(self) -> Aim:
        return Aim(self.task.H) if self.aim is None else self.aim

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest reward of a step, as told or as seen."""
        return reward_range(self.task, *self.reward_limits, self.knowledge.counts)

    @property
    def _frame(self) -> Frame:
        task, knowledge = self.task, self.knowledge
        known = knowledge.rewards
        pays = known.r if known.given and not known.first.size else None
        made_of = task.variables, task.action_variables
        ends, models = knowledge.terminal, task.priors
        return Frame(task.available, ends, self.limits, models, *made_of, known.given, pays)

    @property
    def range_told(self) -> bool:
        """Whether the range of rewards is certain, and not what was seen of it."""
        if self.told is not None:
            return self.told
        limits = self.task.reward_range is not None or None not in self.reward_limits
        return limits or self.knowledge.rewards.given

    @property
    def beginnings(self) -> Beginnings:
        """Where episodes begin, and how well that is known."""
        if self.begins is not None:
            return self.begins
        start = self.start
        if start is None and self.task.truth is not None:
            start = self.task.truth.start
        if start is None:
            start = np.full(self.task.S, 1.0 / self.task.S)
        return Beginnings(np.asarray(start, np.float64), np.zeros(0), ~self.knowledge.terminal)

    @property
    def certifiable(self) -> bool:
        """Whether there are not too many successors."""
        S, A, known = self.task.S, self.task.A, self.knowledge
        met = min(int(known.counts.n.sum()), S * A * S)
        return bool(met + known.prior.q.size + 16 * S * A <= LARGEST)

    # -- what it gives

    @cached_property
    def mean(self) -> LearnedModel:
        """The model that is believed on average; its `visits` are those of each pair itself."""
        whole = self.worlds.whole
        model = whole.model()
        return self._learned(model.transitions, model.rewards, whole.weight > 0, whole.doubt)

    def draw(self, seed: int) -> LearnedModel:
        """A whole model that may be so: one draw for each rule, and one for each pair besides."""
        rng = np.random.default_rng([self.seed, seed])
        rows, r = self.worlds.drawn_world(rng, int(rng.integers(DRAWS)))
        return self._learned(rows, r, np.ones(r.shape, bool), None)

    def sd(self, v: Any) -> Floats:
        """[S, A] the standard deviation of r + p.v, for values v [S] of next states.

        Errors of a rule, of the pair's own and of its reward are independent; along an episode
        those of a rule add up, which only models that are drawn show.
        """
        values = np.asarray(v, np.float64)
        if values.shape != (self.task.S,):
            shape = values.shape
            raise ValueError(f"v has shape {shape}, not {(self.task.S,)}: one value of each state")
        return self.worlds.whole.sd(values)

    @property
    def weight(self) -> Floats:
        """[S, A] how many visits what is believed of a pair is worth, its own included."""
        return self.worlds.whole.weight

    def rules(self) -> list[Rule]:
        """What was learned in words, with the visits behind it: as `run.analogies()`."""
        states, actions = self._names
        return analogies_of(self.knowledge, self.task, states, actions)

    def certify(
        self,
        policy: Any = None,
        share: float = SHARE,
        kind: Literal["credible", "guaranteed"] = "credible",
    ) -> Certificate:
        """Bounds on what a policy earns and loses; see `gim.certify`.

        Args:
            policy: in any form that an MDP takes; None: the plan to deploy.
            share: the probability with which each statement on returns holds.
            kind: "credible", from worlds that are held possible, or "guaranteed", from counts.
        """
        about = self if policy is None else replace(self, policy=policy, witnesses=(), done=None)
        return certify(about, share, kind)

    @property
    def deployed(self) -> NDArray[np.int64]:
        """The plan to deploy: [H, S], or [S] without an end."""
        return self.worlds.policy

    # -- other beliefs

    def add(self, data: Any) -> Belief:
        """The belief after more was counted, in the same world.

        Args:
            data: a belief, a run, or what `gim.learn` gives, of the same states and actions.
        """
        more = getattr(data, "belief", None)
        if not isinstance(more, Belief):
            raise ValueError(
                f"a {type(data).__name__} has no belief: add a run, a Learned, or gim.believe(...)"
            )
        one, other = self.knowledge, more.knowledge
        if one.counts.n.shape != other.counts.n.shape:
            mine, theirs = one.counts.n.shape, other.counts.n.shape
            raise ValueError(f"{theirs} states and actions cannot join {mine}: not the same world")
        counts = total([triples_of(one.counts), triples_of(other.counts)], *one.counts.n.shape)
        ends = one.terminal | other.terminal
        known = one._replace(counts=counts, terminal=ends, visits=one.visits + other.visits)
        begins = self.begins
        if begins is not None and more.begins is not None and begins.seen.size:
            seen = begins.seen + (more.begins.seen if more.begins.seen.size else 0.0)
            known_start = seen / max(float(seen.sum()), 1.0)
            begins = begins._replace(known=known_start, seen=seen, may=begins.may & ~ends)
        return replace(self, knowledge=known, begins=begins, done=None, witnesses=())

    def with_prior(self, models: tuple[LearnedModel, ...]) -> Belief:
        """The same beside models learned elsewhere."""
        return replace(self, task=replace(self.task, priors=(*self.task.priors, *models)))

    def over(
        self,
        horizon: int | None,
        discount: float | None,
        models: tuple[LearnedModel, ...] = (),
        seed: int = 0,
    ) -> Belief:
        """The same for another horizon or discount, beside models learned elsewhere."""
        found = self.with_prior(models) if models else self
        if horizon is None and discount is None:
            return replace(found, seed=seed) if seed else found
        weight = 1.0 if discount is None else checked_weight(discount)
        steps = None if horizon is None else whole("horizon", horizon, low=1)
        aim = Aim(steps, weight)
        return replace(found, aim=aim, done=None, witnesses=(), policy=None, seed=seed)

    # -- files

    def save(self, path: str | Path) -> None:
        """Save to one file, which `gim.load` reads."""
        files.save(path, "belief", *self.pack())

    def pack(self) -> files.Packed:
        """Arrays and JSON that `unpack` turns into the same belief."""
        model, known, aim = self.mean.pack(), self.knowledge, self._aim
        arrays = {f"mean.{name}": array for name, array in model.arrays.items()}
        told = triples_of(known.counts)._asdict()
        N = told.pop("N")
        told |= {"data": N.data, "indices": N.indices, "indptr": N.indptr}
        arrays |= {f"counts.{k}": np.asarray(v) for k, v in told.items() if v is not None}
        arrays |= {f"rewards.{k}": np.asarray(v) for k, v in known.rewards._asdict().items()}
        arrays["terminal"] = known.terminal
        begins = self.beginnings
        arrays |= {f"begins.{k}": np.asarray(getattr(begins, k)) for k in ("known", "seen", "may")}
        careful = isinstance(self.infer, WithinExperience)
        infer = self.infer.infer if isinstance(self.infer, WithinExperience) else self.infer
        meta: dict[str, Any] = {"mean": model.meta, "infer": None if infer is None else str(infer)}
        meta |= {"careful": careful, "seed": self.seed, "told": self.range_told}
        meta |= {"limits": list(self.limits), "horizon": aim.horizon, "discount": aim.discount}
        meta |= {"listed": begins.listed, "once": begins.once, "assumed": list(self.assumed)}
        meta |= {"since": None if self.since is None else self.since.packed()}
        return files.Packed(arrays, meta)

    @classmethod
    def unpack(cls, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> Belief:
        """The inverse of `pack`."""

        def part(name: str) -> dict[str, NDArray[Any]]:
            return {k[len(name) + 1 :]: v for k, v in arrays.items() if k.startswith(f"{name}.")}

        model = LearnedModel.unpack(part("mean"), meta["mean"])
        told = part("counts")
        shape = (model.S * model.A, model.S)
        N = sparse.csr_array((told["data"], told["indices"], told["indptr"]), shape=shape)
        parts = Triples(N, told.get("paid"), told.get("paid2"), told["R"], told["R2"])
        counts = total([parts], model.S, model.A)
        prior = no_prior(model.S, model.A)
        known = knowledge_of(counts, arrays["terminal"].astype(bool), prior)
        known = known._replace(rewards=KnownRewards(**part("rewards")))
        begun = part("begins")
        begins = Beginnings(**begun, listed=bool(meta["listed"]), once=float(meta["once"]))
        infer: Any = inferences.make(meta["infer"])
        aim = Aim(meta["horizon"], float(meta["discount"]))
        limits = (float(meta["limits"][0]), float(meta["limits"][1]))
        made_of = model.variables, model.action_variables
        task = Task(
            model.S, model.A, aim.steps, model.available, limits, *(None, None, ()), *made_of
        )
        return cls(
            known,
            task,
            WithinExperience(infer) if meta["careful"] else infer,
            aim=aim,
            seed=int(meta["seed"]),
            assumed=tuple(meta["assumed"]),
            begins=begins,
            told=bool(meta["told"]),
            names=names_of(model),
            since=None if meta.get("since") is None else Change.unpacked(meta["since"]),
        )

    # -- machinery

    @property
    def _names(self) -> tuple[Names, Names]:
        if self.names is not None:
            return self.names
        return Names("state", self.task.S), Names("action", self.task.A)

    def _learned(self, P: Any, r: Floats, supported: Any, doubt: Any) -> LearnedModel:
        model = learned_of(P, r, self.knowledge, self.task, 1, supported, doubt)
        horizon = self._aim.horizon
        changed: dict[str, Any] = {"start": self.worlds.start}
        if self.names is not None and self.task.truth is None:
            states, actions = self.names
            changed["state_labels"] = [states[s] for s in range(self.task.S)]
            changed["action_labels"] = [actions[a] for a in range(self.task.A)]
        if horizon is not None and horizon != model.horizon:
            changed["horizon"] = horizon
        found = model.with_(**changed)
        assert isinstance(found, LearnedModel)
        return found
