"""The worlds that a belief holds possible, and how far a number differs between them.

What is asked of a world, such as what a policy earns there, is asked of the mean of the belief, and
of worlds that are drawn whole:

- *which rule*: by what all data say, or by what one half of them would have said, with everything
  inferred anew: which candidate, which contexts, which rewards. Four halves of two divisions;
  not of a unit of a family, whose rule was judged by the other units;
- *the rule*: one draw for all pairs that follow it, so that they err together, and of the
  coefficients of what rewards are regressed on;
- *each pair* besides: around its rule, or where none holds there around what it did itself. A plan
  plays, of all pairs, those that are better than is believed: in such worlds their luck is gone;
- *what is hidden*: a pair never met may follow no rule, nor may its reward
  (`gim.belief.estimate.Estimate.drawn_world`).

There are two beliefs of rewards; half of what they make differ is a part as well. Besides, rewards
at either end of their range, and next states of any kind, count as if each pair had met them a
little (`gim.analogy.unseen`): few visits cannot exclude them. A state that nobody has listed is
worth what those that were met are, and one more of any kind.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._base.threads import one_thread
from gim.analogy.base import Frame, Infers, Posterior
from gim.analogy.prior import no_prior
from gim.analogy.unseen import Beginnings, new_states, weight
from gim.belief.aim import Aim
from gim.belief.estimate import TINY, Estimate
from gim.belief.knowledge import Knowledge
from gim.model.counts import Counts
from gim.model.deploy import RULE
from gim.model.halves import Order, halved
from gim.planning import Plan, backward_induction, evaluate, plan
from gim.planning.planners import Model

Floats = NDArray[np.float64]
LARGEST = 1 << 24  # successors of all pairs together, beyond which nothing is certified
DIVISIONS = 2  # into halves
DRAWS = 25  # worlds: as many of the whole as of each half
ASKED = DRAWS + 1  # worlds of which something is asked
TIED = 1e-9  # of the range of values: actions that differ by no more are alike

Asked = Callable[[Model, Floats], Floats]  # of a world and of where episodes begin there, [k]


class Spread(NamedTuple):
    """What is asked, [k] numbers."""

    mean: Floats  # [k] in the mean of the belief
    drawn: Floats  # [DRAWS, k] in each world that was drawn
    rewards: Floats  # [k] half of what it differs by between the two beliefs of rewards

    def total(self, *more: Any) -> Floats:
        """How far it may be off, drawn or by more causes: a standard deviation, [k]."""
        squares = np.mean((self.drawn - self.mean) ** 2, axis=0) + self.rewards**2
        for each in more:
            squares = squares + np.square(each)
        return np.asarray(np.sqrt(squares))


class Worlds:
    """What a belief holds possible.

    Args:
        belief: what was counted, and what is known beforehand.
        infer: what predicts pairs from others; None: nothing.
        frame: what is certain besides.
        aim: horizon and discount of what is asked.
        begins: where episodes begin.
        seed: of all that is drawn.
        order: of states and actions, in which they are drawn: by default as they are numbered.
    """

    def __init__(
        self,
        belief: Knowledge,
        infer: Infers | None,
        frame: Frame,
        aim: Aim,
        begins: Beginnings,
        seed: Any,
        order: Order | None = None,
    ) -> None:
        self.belief, self.infer, self.frame, self.aim = belief, infer, frame, aim
        self.begins, self.seed, self.order = begins, seed, order
        self.start = _listed(begins.known)
        self.whole = self._estimate(belief, self._said(belief.counts, 0))

    def rng(self, what: int) -> np.random.Generator:
        """A source of randomness for one purpose."""
        return np.random.default_rng([*np.atleast_1d(self.seed), what])

    def _said(self, counts: Counts, number: int) -> Posterior:
        """What is inferred from some counts."""
        if self.infer is None:
            return Posterior(self.belief.prior)
        try:
            said = self.infer.posterior(counts, self.frame, self.rng(number))
        except (np.linalg.LinAlgError, ArithmeticError):
            said = Posterior(no_prior(*counts.n.shape))
        prior = said.prior
        if prior.n0.size:
            playable = self.frame.available & ~self.belief.terminal[:, None]
            r_n0 = np.where(prior.n0 > 0, 1.0, 0.0) if self.belief.rewards.given else prior.r_n0
            prior = prior._replace(n0=prior.n0 * playable, r_n0=r_n0 * playable)
        return said._replace(prior=prior)

    @cached_property
    def _halves(self) -> list[tuple[Knowledge, Posterior]]:
        """Halves of the data, and what is inferred from each; none where others have judged it.

        Which rule a unit of a family follows is known from the others: halves of its own rows would
        say no more than that they are fewer.
        """
        found, judged = [], self.whole.posterior.shown is not None
        for division in range(DIVISIONS if self.infer is not None and not judged else 0):
            halves = halved(self.belief.counts, self.rng(100 + division), self.order)
            for k, counts in enumerate(halves):
                said = self._said(counts, 2 * division + k + 1)
                found.append((self.belief._replace(counts=counts), said))
        return found

    def _estimate(self, belief: Knowledge, said: Posterior) -> Estimate:
        return Estimate(belief, said, self.frame, self.aim.steps)

    @cached_property
    def sources(self) -> list[Estimate]:
        """All counts beside what is inferred from them, and beside what is from each half."""
        return [self.whole, *(self._estimate(self.belief, said) for _, said in self._halves)]

    def apart(self) -> list[sparse.csr_array]:
        """By how much the transitions [S*A, S] that each half alone would have said differ."""
        mean, found = self.whole.model().transitions, []
        for half in (self._estimate(*each) for each in self._halves):
            told = sparse.diags_array(1.0 * half.supported)
            found.append(sparse.csr_array(told @ (half.model().transitions - mean)))
        return found

    def drawn_world(self, rng: np.random.Generator, number: int) -> tuple[sparse.csr_array, Floats]:
        """Transitions [S*A, S] and rewards [S, A] drawn whole, by one source after the other.

        Of pairs of which a half says nothing, what all say counts.
        """
        whole, source = self.whole, self.sources[number % len(self.sources)]
        rows, r = source.drawn_world(rng, self.order)
        silent = whole.supported & ~source.supported
        if not silent.any():
            return rows, r
        said, paid = whole.drawn_world(rng, self.order)
        rows = sparse.diags_array(1.0 - silent) @ rows + sparse.diags_array(1.0 * silent) @ said
        return sparse.csr_array(rows), np.where(silent.reshape(r.shape), paid, r)

    @cached_property
    @one_thread()
    def drawn(self) -> list[tuple[Model, Floats]]:
        """Worlds that may be, and where episodes begin there."""
        begins = _listed(self._begun(self.rng(300)))
        found = []
        for k in range(DRAWS):
            rows, r = self.drawn_world(self.rng(200 + k), k)
            model = Model(rows, r, self.whole.playable, self.aim.steps)
            found.append((model, begins[min(k, len(begins) - 1)]))
        return found

    def _begun(self, rng: np.random.Generator) -> Floats:
        """Where episodes begin, drawn: [draws, S], or [1, S] where it is certain."""
        if self.order is None or not self.begins.seen.size:
            return self.begins.drawn(DRAWS, rng)
        turn, begins = self.order[0], self.begins
        found = begins._replace(seen=begins.seen[turn], may=begins.may[turn]).drawn(DRAWS, rng)
        back = np.empty_like(found)
        back[:, turn] = found
        return back

    def spread(self, ask: Asked) -> Spread:
        """How far what is asked differs between the worlds."""
        whole, start = self.whole, self.start
        r0, r1 = (ask(whole.model(r=r), start) for r in whole.beliefs)
        drawn = np.array([ask(model, begins) for model, begins in self.drawn])
        return Spread(ask(whole.model(), start), drawn, np.abs(r1 - r0) / 2.0)

    # -- what is asked

    def worth(self, model: Model, policy: Any, start: Floats) -> float:
        """What a policy earns in a world."""
        discount = None if self.aim.discount == 1.0 else self.aim.discount
        v = evaluate(model, policy, self.aim.horizon, discount)
        return float(start @ (v if v.ndim == 1 else v[0]))

    def best(self, model: Model) -> Plan:
        """The best plan of a world."""
        if self.aim.horizon is None:
            return plan(model, self.aim.discount)
        return backward_induction(model, discount=self.aim.discount)

    def optimum(self, model: Model, start: Floats) -> float:
        """What the best policy earns in a world."""
        v = self.best(model).v
        return float(start @ (v if v.ndim == 1 else v[0]))

    @cached_property
    def policy(self) -> NDArray[np.int64]:
        """The policy to deploy: the best by the lesser of two rewards, rules doubted.

        Every value is less by a part of what the rule behind it may be wrong by: else a plan seeks
        out where rules that were seen a few times are wrong to its advantage. At a pair never met
        no rule may hold, with a chance that is known, and it then leads anywhere.
        """
        whole = self.whole
        model, prior = whole.model(r=whole.less), whole.posterior.prior
        found = self.best(model)
        if not prior.speaks:
            return np.asarray(found.policy)
        S, A = whole.S, whole.A
        rows, pays = model.transitions, np.where(model.available, model.rewards, -np.inf)
        met = whole.n.reshape(S, A) > 0
        been, lawless = met.any(axis=1), np.where(met, 0.0, prior.doubt)

        def ahead(v: Floats) -> Floats:
            mean = rows @ v
            variance = np.maximum(rows @ (v * v) - mean * mean, 0.0)
            doubted = (mean - RULE * whole.doubt.ravel() * np.sqrt(variance)).reshape(S, A)
            anywhere = v[been].mean() if been.any() else v.mean()
            return np.asarray((1.0 - lawless) * doubted + lawless * anywhere)

        if self.aim.horizon is None:
            v = np.asarray(found.v)
            less = (rows @ v).reshape(S, A) - ahead(v)
            rewards = model.rewards - self.aim.discount * less
            return np.asarray(self.best(Model(rows, rewards, model.available, 1)).policy)
        policy, v = np.empty((self.aim.horizon, S), np.int64), np.zeros(S)
        for h in reversed(range(self.aim.horizon)):
            q = pays + self.aim.discount * ahead(v)
            v = q.max(axis=1)
            policy[h] = (q >= (v - TIED * np.ptp(v) - TINY)[:, None]).argmax(axis=1)
        return policy

    # -- what few visits cannot exclude

    def unseen(
        self, policy: Any, rewards: tuple[float, float], other: Any = None
    ) -> tuple[float, float]:
        """By how much what a policy earns is off on the average, and how far it may be.

        Args:
            policy: in any form that an MDP takes.
            rewards: the least and the most that a step may pay.
            other: a policy than which it earns more or less, if that is asked.
        """
        whole, (low, high), model = self.whole, rewards, self.whole.model()
        often, values = self._along(model, policy)
        if other is not None:
            often = often - self._along(model, other)[0]
        known = values[whole.supported.reshape(-1, whole.A).any(axis=1) | self.belief.terminal]
        known = known if known.size else values
        w = weight(whole.shown)
        n = whole.pattern.sums(whole.N) + whole.worth
        r = model.rewards.ravel()
        down, up = r - low, high - r
        total = n + 2.0 * w
        shift = whole.unruled * w * (up - down) / total
        of_reward = whole.unruled * w * (down**2 + up**2) / total / (total + 1.0)
        of_next = w / (n + w) * (np.ptp(known) / 2.0) ** 2 / (n + w + 1.0)
        goes_on = np.repeat(~self.belief.terminal, whole.A)
        off = float(often @ (shift * goes_on))
        wide = float(np.sqrt((often * goes_on) ** 2 @ (of_reward + of_next)))
        if other is not None:  # there one policy is worth what the other is
            return off, wide
        if self.belief.terminal.any():  # such a state may end the episode
            low, high = min(low, 0.0), max(high, 0.0)
        room = (high - low) * self.aim.most(1.0)[0]
        apart = ((known - self.start @ values) ** 2).sum() + room**2 / 12.0
        return off, float(np.hypot(wide, self._nowhere() * np.sqrt(apart / (known.size + 1.0))))

    def _nowhere(self) -> float:
        """The chance that an episode begins in, or comes to, a state that nobody has listed."""
        if self.begins.listed:
            return 0.0
        begins = max(1.0 - float(self.begins.mean.sum()), 0.0)
        away = float(new_states(self.whole.shown, 64, self.rng(400)).mean())
        stays = self.aim.discount * (1.0 - away)
        steps = self.aim.steps
        met = away * sum(stays**h * (1.0 - h / steps) for h in range(min(steps, 10_000)))
        return min(begins + met, 1.0)

    def _along(self, model: Model, policy: Any) -> tuple[Floats, Floats]:
        """How often an episode of the policy plays each pair [S*A], discounted, and values [S]."""
        S, A, aim = self.whole.S, self.whole.A, self.aim
        array = np.asarray(policy)
        chances = np.eye(A)[array] if array.dtype.kind in "iu" else array
        steady = chances.ndim == 2
        here, often, left = self.start.copy(), np.zeros(S * A), 1.0
        for h in range(aim.steps):
            plays = (here[:, None] * (chances if steady else chances[h])).ravel() * left
            often += plays
            here = plays @ model.transitions / left if left > 0 else here
            left *= aim.discount
        v = evaluate(model, policy, aim.horizon, None if aim.discount == 1.0 else aim.discount)
        return often, v if v.ndim == 1 else v[0]


def _listed(start: NDArray[Any]) -> Floats:
    """Where episodes begin among the states that there is a list of."""
    return np.asarray(start / np.maximum(start.sum(axis=-1, keepdims=True), TINY))
