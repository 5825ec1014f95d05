"""The worlds that a belief holds possible, and how far a number differs between them.

What is asked of a world, such as what a policy earns there, is asked of the mean of the belief, and
of others that it might have been. The squares of four differences add up:

- *rules*: worlds drawn from the posterior, one draw for each rule and for the coefficients of what
  rewards are regressed on. Pairs that follow a rule err together, so that errors add up on the way.
  A pair of which nothing is inferred is a rule of its own;
- *rewards*: the two beliefs of what triples pay, half of their difference;
- *halves*: what each half of the data would have said, with everything inferred anew: which
  candidate, which contexts, which rewards. Four halves of two divisions. A half differs from the
  whole as the whole does from the truth, to first order, so that nothing is scaled;
- *never met*: what none of the episodes has shown, which the next one shows with a chance of
  1 / (episodes + 1) (Laplace's rule of succession), as much as returns differ.

Besides, rewards at either end of their range, and next states of any kind, count as if each pair
had met them a little (`gim.analogy.unseen`): few visits cannot exclude them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.analogy.base import Frame, Infers, Posterior
from gim.analogy.prior import no_prior
from gim.analogy.unseen import Beginnings, new_states, weight
from gim.belief.aim import Aim
from gim.belief.estimate import TINY, Estimate
from gim.belief.knowledge import Knowledge
from gim.model.deploy import RULE
from gim.model.halves import Order, halved
from gim.planning import Plan, backward_induction, evaluate, plan
from gim.planning.planners import Model

Floats = NDArray[np.float64]
LARGEST = 1 << 24  # successors of all pairs together, beyond which nothing is certified
DRAWS = 24
DIVISIONS = 2  # into halves
WHOLE = 12  # drawn with all that each pair may differ by
ASKED = DRAWS + WHOLE + 2 * DIVISIONS + 3  # worlds of which something is asked

Asked = Callable[[Model, Floats], Floats]  # of a world and of where episodes begin there, [k]


class Spread(NamedTuple):
    """What is asked, and how far it may be off: standard deviations by cause, [k] each."""

    mean: Floats
    rules: Floats
    rewards: Floats
    halves: Floats

    def total(self, *more: Any) -> Floats:
        """The standard deviation of all causes, and of more."""
        squares = np.zeros(len(self.mean))
        for each in (*self[1:], *more):
            squares += np.square(each)
        return np.asarray(np.sqrt(squares))

    def freedom(self, total: Floats) -> Floats:
        """Degrees of freedom of a total, of which parts are known from few (Satterthwaite 1946)."""
        few = self.halves**4 / (2 * DIVISIONS) + self.rules**4 / (DRAWS - 1)
        all_of_it = np.maximum(total**4, 1e-300)
        return np.asarray(np.maximum(all_of_it / np.maximum(few, 1e-9 * all_of_it), 1.0))


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
        self.whole = self._estimate(belief, 0)

    def _rng(self, what: int) -> np.random.Generator:
        return np.random.default_rng([*np.atleast_1d(self.seed), what])

    def _estimate(self, belief: Knowledge, number: int) -> Estimate:
        """What these counts say, with all that is inferred from them."""
        if self.infer is None:
            said = Posterior(belief.prior)
        else:
            try:
                said = self.infer.posterior(belief.counts, self.frame, self._rng(number))
            except (np.linalg.LinAlgError, ArithmeticError):
                said = Posterior(no_prior(*belief.counts.n.shape))
        playable = self.frame.available & ~belief.terminal[:, None]
        prior = said.prior
        if prior.n0.size:
            r_n0 = np.where(prior.n0 > 0, 1.0, 0.0) if belief.rewards.given else prior.r_n0
            prior = prior._replace(n0=prior.n0 * playable, r_n0=r_n0 * playable)
        said = said._replace(prior=prior)
        return Estimate(belief, said, self.frame.available, self.aim.steps)

    @cached_property
    def halves(self) -> list[tuple[Model, Floats]]:
        """What each half of the data says, and where episodes begin in it."""
        return [(_instead(half, self.whole), start) for half, start in self._halves]

    @property
    def _half_estimates(self) -> list[Estimate]:
        return [half for half, _ in self._halves]

    @cached_property
    def _halves(self) -> list[tuple[Estimate, Floats]]:
        """The same, as estimates."""
        found = []
        for division in range(DIVISIONS):
            rng = self._rng(100 + division)
            counts = halved(self.belief.counts, rng, self.order)
            seen = self.begins.seen
            part = seen.copy()
            if seen.size:
                turn = slice(None) if self.order is None else self.order[0]
                part[turn] = rng.binomial(seen[turn].astype(np.int64), 0.5)
            for k, own in enumerate(counts):
                half = self._estimate(self.belief._replace(counts=own), 2 * division + k + 1)
                begun = part if k == 0 else seen - part
                start = _listed(begun) if begun.any() else self.start
                found.append((half, start))
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

    @cached_property
    def drawn(self) -> list[tuple[Floats, Floats]]:
        """Chances and rewards on the pattern of the whole, drawn."""
        rng, whole = self._rng(200), self.whole
        r = whole.noisy(whole.drawn_rewards(DRAWS, rng), self._rng(201))
        return [(whole.drawn_means(rng, self.order), each) for each in r]

    def spread(self, ask: Asked) -> Spread:
        """How far what is asked differs between the worlds."""
        whole, start = self.whole, self.start
        mean = ask(whole.model(), start)
        begins = _listed(self._begun(self._rng(300)))
        off = ask(whole.model(), _listed(self.begins.mean)) - mean if self.begins.seen.size else 0.0
        drawn = np.array(
            [
                ask(whole.model(p, r), begins[min(k, len(begins) - 1)])
                for k, (p, r) in enumerate(self.drawn)
            ]
        )
        by = [ask(whole.model(r=r), start) for r in whole.beliefs]
        halves = np.array([ask(model, at) for model, at in self.halves])
        return Spread(
            mean,
            np.hypot(drawn.std(axis=0, ddof=1), off),
            np.abs(by[1] - by[0]) / 2.0,
            np.sqrt(np.mean((halves - mean) ** 2, axis=0)),
        )

    def lucky(self, ask: Asked, mean: Floats) -> Floats:
        """How far what is asked differs where each pair has its own luck and no rule, else 0, [k].

        What the best policy earns and what another loses of it depend on that: it plays, of all
        pairs, those that are better than is believed. By a rule pairs share their luck.
        """
        whole, rng, found = self.whole, self._rng(500), []
        if whole.posterior.fitted is not None and whole.posterior.fitted.ruled:
            return np.zeros(len(mean))
        for _ in range(WHOLE):
            rows, r = whole.drawn_world(rng)
            found.append(ask(Model(rows, r, whole.playable, self.aim.steps), self.start))
        return np.asarray(np.sqrt(np.mean((np.array(found) - mean) ** 2, axis=0)))

    @cached_property
    def flattery(self) -> float:
        """By how much a plan is worth more than it will be, where nothing is inferred; else 0.

        It plays the pairs that were lucky. Half of what the plan of a half is worth more there than
        in the other half: the whole has twice the data, and both halves differ from the truth.
        What is inferred has pairs share their luck, and little of this is left.
        """
        if self.whole.posterior.prior.speaks:
            return 0.0
        more = []
        for k, (model, start) in enumerate(self.halves):
            other, begins = self.halves[k ^ 1]
            plan = self.best(model).policy
            more.append(self.worth(model, plan, start) - self.worth(other, plan, begins))
        return max(float(np.mean(more)), 0.0) / 2.0

    def drawn_rows(self, number: int) -> sparse.csr_array:
        """Transitions [S*A, S] drawn whole; see `drawn_world`."""
        return self.drawn_world(self._rng(1000 + number))[0]

    def drawn_world(self, rng: np.random.Generator) -> tuple[sparse.csr_array, Floats]:
        """Transitions [S*A, S] and rewards [S, A] drawn whole: rules, and what pairs do besides.

        Which rule holds is uncertain as well. At pairs never met every second draw goes by what one
        half of the data would have said.
        """
        rows, r = self.whole.drawn_world(rng)
        other = int(rng.integers(4 * DIVISIONS))
        if other >= 2 * DIVISIONS or self.infer is None:
            return rows, r
        half = self._half_estimates[other]
        said, paid = half.drawn_world(rng)
        take = ((self.whole.n == 0) & half.supported).astype(np.float64)
        rows = sparse.diags_array(1.0 - take) @ rows + sparse.diags_array(take) @ said
        return sparse.csr_array(rows), np.where(take.reshape(r.shape) > 0, paid, r)

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
            policy[h] = q.argmax(axis=1)
            v = q.max(axis=1)
        return policy

    def scatter(self, policy: Any) -> float:
        """The standard deviation of what an episode of the policy returns, in the mean world."""
        model, aim = self.whole.model(), self.aim
        (S, A), start = model.rewards.shape, self.start
        array = np.asarray(policy)
        chances = np.eye(A)[array] if array.dtype.kind in "iu" else array
        v, square = np.zeros(S), np.zeros(S)
        for h in reversed(range(aim.steps)):
            now = chances if chances.ndim == 2 else chances[h]
            r, later = model.rewards, aim.discount * (model.transitions @ v).reshape(S, A)
            both = aim.discount**2 * (model.transitions @ square).reshape(S, A)
            square = (now * (r**2 + 2.0 * r * later + both)).sum(axis=1)
            v = (now * (r + later)).sum(axis=1)
        return float(np.sqrt(max(float(start @ square - (start @ v) ** 2), 0.0)))

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
        w = weight(whole.shown)
        n = whole.pattern.sums(whole.N) + whole.worth
        r = model.rewards.ravel()
        given = self.belief.rewards.given
        down, up = (r - low) * (not given), (high - r) * (not given)
        total = n + 2.0 * w
        shift = w * (up - down) / total
        of_reward = w * (down**2 + up**2) / total / (total + 1.0)
        span = float(values.max() - values.min())
        of_next = w / (n + w) * (span / 2.0) ** 2 / (n + w + 1.0)
        goes_on = np.repeat(~self.belief.terminal, whole.A)
        off = float(often @ (shift * goes_on))
        wide = float(np.sqrt((often * goes_on) ** 2 @ (of_reward + of_next)))
        if other is not None:  # there one policy is worth what the other is
            return off, wide
        if self.belief.terminal.any():  # such a state may end the episode
            low, high = min(low, 0.0), max(high, 0.0)
        lost = self._nowhere() * (high - low) * self.aim.most(1.0)[0]
        return off, float(np.hypot(wide, lost / np.sqrt(12.0)))  # as any number of the range

    def _nowhere(self) -> float:
        """The chance that an episode begins in, or comes to, a state that nobody has listed."""
        if self.begins.listed:
            return 0.0
        begins = max(1.0 - float(self.begins.mean.sum()), 0.0)
        away = float(new_states(self.whole.shown, 64, self._rng(400)).mean())
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


def _instead(half: Estimate, whole: Estimate) -> Model:
    """What a half says, and of pairs of which it says nothing what the whole does."""
    own, all_of_it = half.model(), whole.model()
    told = half.supported.astype(np.float64)
    rows = sparse.diags_array(told) @ own.transitions
    rows = rows + sparse.diags_array(1.0 - told) @ all_of_it.transitions
    rewards = np.where(half.supported.reshape(own.rewards.shape), own.rewards, all_of_it.rewards)
    return Model(sparse.csr_array(rows), rewards, all_of_it.available, own.horizon)
