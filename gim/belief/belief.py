"""What is believed of a world, what that rests on, and how far it may be trusted.

One posterior answers all who ask: its `mean` is a model to plan on, `draw` a whole model that may
be so, `sd` how far a value is off at each pair, `weight` how many visits what is believed of a pair
is worth, `rules` what was learned in words, and `certify` bounds what a policy earns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim.analogy.base import Frame, Infers
from gim.analogy.structure.rule import Rule
from gim.analogy.unseen import Beginnings
from gim.analogy.witnesses import Witness
from gim.belief.aim import Aim, Done
from gim.belief.analogies import analogies_of
from gim.belief.certificate.certificate import LARGEST, Certificate, Kind, certify
from gim.belief.knowledge import Knowledge, learned_of
from gim.belief.shares import SHARE
from gim.belief.worlds import Worlds
from gim.mdp.names import Names
from gim.model.learned import LearnedModel
from gim.model.rewards import reward_range
from gim.model.task import Task

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

    @property
    def belief(self) -> Belief:
        """This one."""
        return self

    @cached_property
    def worlds(self) -> Worlds:
        """What is held possible."""
        seed = [self.seed, int(self.knowledge.counts.n.sum())]  # leaves a run's own alone
        return Worlds(self.knowledge, self.infer, self._frame, self._aim, self.beginnings, seed)

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
        whole = self.worlds.whole
        rows, r = whole.drawn_world(rng)
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
        kind: Kind = "credible",
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
        if horizon is not None and horizon != model.horizon:
            changed["horizon"] = horizon
        found = model.with_(**changed)
        assert isinstance(found, LearnedModel)
        return found
