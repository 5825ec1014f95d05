"""Whether the world has changed: do earlier data predict the latest ones, rule by rule?

The latest steps are known one by one, all others by their counts. Had the world changed before one
of these steps, what came before it would be the past and the rest the present. For each pair the
past says of the present what the belief says: its rule holds there, p ~ Dirichlet(n0 q), or it does
not, p ~ Dirichlet(c / S), and the pair's own visits decide. Against that stand other explanations
of the present:

- *anew*: the pair knows nothing of its past, p ~ Dirichlet(c / S);
- *acts as*: what an action does is what another one did;
- *shifted*: a variable turns out larger or smaller, q_z(s') ~ q(s') exp(z x(s') / sd(x)).

A Bayes factor compares them in each group of pairs that may have changed together: all pairs, those
of an action, a pair alone, two actions that were exchanged. How many of the groups changed is not
known beforehand, so that those that did not cost little:

    P(present | changed) = mean over rho of prod over groups ((1 - rho) + rho BF).

Nor is the moment known. After b blocks without a change the next one brings it with the odds of
1 : b + 16, alike in each doubling of time, as Laplace's rule of succession has it. A log, which is
known to its end, changes as likely as not, and then at any moment alike. Whoever has these odds
beforehand and speaks up at 9 : 1 is wrong once in ten times when he does, if what is inferred is
right. Of rewards it is asked likewise whether they are those
that the same step has paid before.

What goes wrong in other ways than by a change must not be taken for one:

- A rule known from few visits (FEW) is no witness; and one that was seen B times errs in all pairs
  alike. What it says of m visits is then off by as much as so many visits are, and more by m / B,
  so that m visits weigh against it as m / (1 + m / B) would (`_shared`).
- Pairs that were never met before may follow another rule. Together they weigh no more in a group
  than one surprise does after so many pairs without one; and all of it must beat pairs that follow
  no rule and go by what they did themselves.
- A rule may be wrong: another one weighs no more than the past refutes it (`_always`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from gim._compile.jit import seldom
from gim.analogy.prior import Prior
from gim.belief.weighing import ANEW, OWN, PAST, RULE, read, sum_up
from gim.mdp.variables import Variables
from gim.model.counts import Counts
from gim.model.hash_table import find

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

FEW = 30  # visits behind a rule, below which it is no witness
SHIFTS = (-2.0, -1.0, -0.5, 0.5, 1.0, 2.0)  # z, about the shift of a mean in standard deviations
SHARES = (0.01, 0.1, 0.5, 0.9)  # rho
SPREADS = (1.0, 4.0, 16.0, 64.0, 256.0)  # c
NEAR = 16  # blocks, within which times are not told apart by doublings; and moments that are
# looked at around the likeliest
GROWTH = 1.3  # of the age of a change from one that is looked at to the next
ENTRIES = 1 << 14  # places of predicted rows that one comparison of actions may ask for


class Latest(NamedTuple):
    """The latest steps, one by one."""

    pair: Ints  # [n] s*A + a
    next: Ints  # [n]
    r: Floats  # [n]
    block: Ints  # [n] rising from 0 on, by episode or by row: the world changes where one begins

    @property
    def blocks(self) -> Ints:
        """Each block once."""
        return self.block[np.diff(self.block, prepend=-1) > 0]

    def before(self, block: int) -> Latest:
        """Those before a block."""
        keep = self.block < block
        return Latest(self.pair[keep], self.next[keep], self.r[keep], self.block[keep])


Kinds = list[list[tuple[str, Floats]]]  # explanations, with Bayes factors [J, G], by kind


class Told(NamedTuple):
    """One way to group pairs, and what speaks for a change of each group."""

    name: str  # "all", "action", "pair" or "exchanged"
    factors: Floats  # [J, G] ln of the Bayes factor of each group; "exchanged": of a*A + b
    best: Ints  # [J, G] the explanation that says most
    names: tuple[str, ...]  # of the explanations
    total: Floats  # [J] ln of the Bayes factor of any of them


class Comparison:
    """Past and present for each of J moments, blocks `first`, at which the world may have changed.

    Steps are counted by K keys, the triples met, in order of their P pairs. Of G groups the first
    is that of all pairs, the others are those of the actions. Sums stand by row of
    `gim.belief.weighing`, moment and group, of all pairs and of those met since alone.
    """

    def __init__(
        self,
        counts: Counts,
        prior: Prior,
        latest: Latest,
        first: Ints,
        beforehand: Floats,
        variables: Variables | None = None,
        paid: bool = True,
    ) -> None:
        (self.S, self.A), self.variables, self.paid = counts.n.shape, variables, paid
        self.J, self.first, self.beforehand = len(first), first, beforehand
        self.start = np.searchsorted(latest.block, first)
        self.latest, self.prior = latest, prior
        keys, self.key = np.unique(latest.pair * self.S + latest.next, return_inverse=True)
        self.key_pair, self.key_next = np.divmod(keys, self.S)
        new = np.append(True, np.diff(self.key_pair) > 0)
        self.begin, self.of = np.flatnonzero(new), np.cumsum(new) - 1  # keys of a pair; its place
        self.pairs = self.key_pair[self.begin]
        self.chunk = np.searchsorted(self.start, np.arange(self.key.size), "right")
        self.N, self.n = visits_of(counts, keys), counts.n.ravel()[self.pairs].astype(np.float64)
        self.behind = self._behind()
        self.ruled = self.behind >= FEW
        self._read()
        self._sum_up()

    def _behind(self) -> Floats:
        """Visits behind the rule of each pair, [P]."""
        if not self.prior.n0.size:
            return np.zeros(len(self.pairs))
        visits = np.minimum(self.prior.behind.ravel()[self.pairs], self.n.sum() + self.key.size)
        return np.where(self.prior.n0.ravel()[self.pairs] > 0, visits, 0.0)

    def _read(self) -> None:
        """What rules say of each key, and what they would if something had changed."""
        self.q, self.said = np.zeros(len(self.of)), np.zeros((1, len(self.of)))
        self.shifted, self.acting = [], 0
        if not self.ruled.any():
            return
        scales = list(self.scales())
        leak = np.maximum(self.prior.leak.ravel()[self.pairs], 1.0 / (self.behind + 2.0))
        acting = self.A if self.A > 1 and self.A * len(self.of) <= ENTRIES else 0
        self.q, said = read(
            *(self.prior.q, self.prior.next, self.prior.first, self.key_pair, self.key_next),
            *(self.begin, np.minimum(leak, 0.5), acting, self.A, self.S),
            np.array([x for _, x in scales]).reshape(len(scales), self.S),
            np.array(SHIFTS),
        )
        useful = ~np.isnan(said[:, 0])
        names = [name for name, _ in scales for _ in SHIFTS]
        self.shifted = [name for name, use in zip(names, useful, strict=False) if use]
        self.said = np.concatenate([np.log(self.q)[None], said[useful]])
        self.acting = acting

    def _sum_up(self) -> None:
        """The sums since each moment, and what explanations would have made of the past."""
        P, C, E = len(self.pairs), self.J + 1, len(self.said)
        sums, each = np.zeros((RULE + E, 2, C, self.A)), np.zeros((4, C, P))
        born = np.zeros(P, np.int64)
        self.n0 = np.where(self.ruled, 1.0, 0.0)
        doubt = np.full(P, 0.5)
        if self.prior.n0.size:
            self.n0 *= np.clip(self.prior.n0.ravel()[self.pairs], 1e-3, 1e6)
            doubt = np.clip(self.prior.doubt.ravel()[self.pairs], 1e-3, 1 - 1e-3)
        self.spread = sum_up(
            *(self.key, self.chunk, self.of, self.pairs % self.A, self.N, self.n),
            *(self.q, self.n0, doubt, self.said, np.array(SPREADS), self.S),
            *(sums, each, born),
        )
        since = sums[:, :, ::-1].cumsum(axis=2)[:, :, -2::-1]  # [., 2, J, A]
        since = np.concatenate([since.sum(axis=-1, keepdims=True), since], axis=-1)
        self.sums, self.new = since[:, 0], since[:, 1]  # [., J, G] each
        self.past, self.own, self.anew, self.n_since = each[:, ::-1].cumsum(axis=1)[:, -2::-1]
        self.met = born <= np.arange(self.J)[:, None]  # [J, P]
        self.of_action = np.arange(self.A) == self.pairs[:, None] % self.A  # [P, A]

    def _grouped(self, x: Floats) -> Floats:
        """Sums of what stands at pairs, [..., P], by group."""
        each = x @ self.of_action
        return np.concatenate([each.sum(axis=-1, keepdims=True), each], axis=-1)

    def scales(self) -> Iterator[tuple[str, Floats]]:
        """The variables whose values have an order; the number of a state where none is known."""
        made_of = self.variables
        if made_of is None:
            yield "state", np.arange(self.S, dtype=np.float64)
            return
        for v, name in enumerate(made_of.names):
            if made_of.ordinal[v]:
                yield str(name), made_of.codes[:, v].astype(np.float64)

    # -- Bayes factors

    @cached_property
    def against(self) -> Floats:
        """ln of the Bayes factors [1 + E, J, G] of explanations: anew, shifted, acting as."""
        rows = np.append(ANEW, np.arange(RULE + 1, len(self.sums)))
        most = np.log(self._grouped(self.met.astype(np.float64)) + 2.0)
        new = np.minimum(self.new[rows] - self.new[PAST], most)
        old = (self.sums - self.new)[rows] - (self.sums - self.new)[PAST]
        visits = np.maximum(self._grouped(self.n_since), 1e-9)
        backed = self._grouped(self.n_since * self.behind) / visits
        lawless = self.sums[OWN] - np.log(backed + 2.0) * (backed > 0)
        found = np.minimum(old + new, self.sums[rows] - lawless)
        found[1:] = np.minimum(found[1:], found[1:] + self._always())
        return np.where(found > 0, found / (1.0 + self._shared()), found)

    def _shared(self) -> Floats:
        """Visits since, over those by which is known what is predicted of them, [J, G].

        A rule that was seen B times errs in all pairs alike, as far as it is the rule that speaks:
        n0 / (n0 + n) of a pair met n times.
        """
        rule = self.n0 / np.maximum(self.n0 + self.n - self.n_since, 1e-9)
        return self._grouped(self.n_since * rule**2 / np.maximum(self.behind, 1.0))

    def _always(self) -> Floats:
        """How much worse the past would be if it had always been so, [E, J, G]."""
        whole = np.add.reduceat(self.said * self.N, self.begin, axis=1)  # [1 + E, P]
        other = np.maximum(self.n - np.add.reduceat(self.N, self.begin), 0.0)
        rest = 1.0 - np.add.reduceat(np.exp(self.said), self.begin, axis=1)
        whole = (whole + other * np.log(np.maximum(rest, 1e-9))) * self.ruled
        before = self._grouped(whole)[:, None] - self.sums[RULE:]
        return np.asarray(before[0] - before[1:])

    @cached_property
    def moves(self) -> list[Told]:
        """What speaks for a change of what actions do."""
        every, V = self.against, len(self.shifted)
        kinds: Kinds = [[("anew", every[0])]]
        if V:
            kinds.append(list(zip(self.shifted, every[1 : V + 1], strict=True)))
        found = [_told("all", *_weighed(kinds, slice(0, 1)))]
        if self.acting:
            as_if = every[V + 1 :].copy()
            as_if[np.arange(self.A), :, np.arange(self.A) + 1] = -np.inf  # what it always did
            kinds.append([(f"={a}", factor) for a, factor in enumerate(as_if)])
        if self.A > 1 or self.ruled.any():
            found.append(_told("action", *_weighed(kinds, slice(1, None))))
        alone = self.anew - self.past
        alone = np.where(self.met, alone, np.minimum(alone, math.log(2)))
        free = self.own - np.log(self.behind + 2.0) * (self.behind > 0)
        alone = np.minimum(alone, self.anew - free)
        found.append(_told("pair", alone[None], ("anew",)))
        return [*found, self._exchanged(every[V + 1 :, :, 1:])] if self.acting else found

    def _exchanged(self, as_if: Floats) -> Told:
        """Two actions that have taken each other's place; `as_if` is [acting as, J, action]."""
        both = as_if.transpose(1, 0, 2) + as_if.transpose(1, 2, 0)
        both[:, *np.triu_indices(self.A)] = -np.inf
        both = both.reshape(self.J, -1)
        total = np.logaddexp.reduce(both, axis=1) - math.log(self.A * (self.A - 1) / 2)
        return Told("exchanged", both, both.argmax(axis=1)[:, None], (), total)

    @cached_property
    def pays(self) -> list[Told]:
        """What speaks for a change of rewards: are they more, or less, than the first of a triple?

        Given that first one, all others are as likely more or less than it as long as nothing
        changes. Only pairs that were met before are asked.
        """
        kind = self._paid() if self.paid else np.zeros(0)
        if not (kind > 0).any():
            return []
        P, J = len(self.pairs), self.J
        which = np.where(kind < 0, 3 * P, self.of[self.key] * 3 + kind)
        place = self.chunk * (3 * P + 1) + which
        seen = np.bincount(place, minlength=(J + 1) * (3 * P + 1)).reshape(J + 1, -1)
        since = seen[::-1, :-1].cumsum(axis=0)[::-1].astype(np.float64).reshape(J + 1, P, 3)
        now, before = since[1:], since[0] - since[1:]
        now = now * (before.sum(axis=2, keepdims=True) > 0)
        even, pooled = np.full(3, 1.0 / 3.0), before.sum(axis=1, keepdims=True) + 1.0 / 3.0
        past = dirichlet(pooled / pooled.sum(axis=2, keepdims=True) + before, now)
        each = [("pair", now, before, past)]
        for name, group in (("all", np.ones((P, 1))), ("action", self.of_action.astype(float))):
            sums = (np.einsum("jpc,pg->jgc", x, group) for x in (now, before))
            each.append((name, *sums, past @ group))
        return [
            _told(
                name,
                (dirichlet(even, n) - np.maximum(p, dirichlet(even + had, n)))[None],
                ("pays",),
            )
            for name, n, had, p in each
        ]

    def _paid(self) -> Ints:
        """Of each step: 0, it paid as the first of its triple did, 1 less, 2 more; -1 the first."""
        first = np.zeros(len(self.of), np.int64)
        first[self.key[::-1]] = np.arange(self.key.size)[::-1]  # the last word has the first step
        r, like = self.latest.r, self.latest.r[first[self.key]]
        kind = np.where(np.abs(r - like) <= 1e-9 * (1.0 + np.abs(r)), 0, np.where(r < like, 1, 2))
        kind[first] = -1
        return np.asarray(kind)

    # -- the verdict

    @cached_property
    def factors(self) -> tuple[list[tuple[bool, bool]], Floats]:
        """Whether moves have changed, or rewards, or both, and the ln of Bayes factors, [., J]."""
        of_moves = np.logaddexp.reduce([each.total for each in self.moves], axis=0) - math.log(
            len(self.moves)
        )
        options = {(True, False): of_moves}
        if self.pays:
            of_pay = np.logaddexp.reduce([each.total for each in self.pays], axis=0) - math.log(
                len(self.pays)
            )
            options |= {(False, True): of_pay, (True, True): of_moves + of_pay}
        return list(options), np.array(list(options.values()))

    @cached_property
    def odds(self) -> Floats:
        """ln of the odds that the world has changed at each moment, [J]."""
        factors = self.factors[1]
        return np.asarray(
            np.logaddexp.reduce(factors, axis=0) - math.log(len(factors)) + self.beforehand
        )


def _weighed(kinds: Kinds, groups: slice) -> tuple[Floats, tuple[str, ...]]:
    """Bayes factors of explanations [E, J, G] of these groups, each kind as likely beforehand."""
    each = [x[:, groups] - math.log(len(kinds) * len(kind)) for kind in kinds for _, x in kind]
    return np.array(each), tuple(name for kind in kinds for name, _ in kind)


def _told(name: str, each: Floats, names: tuple[str, ...]) -> Told:
    """From Bayes factors of explanations [E, J, G]."""
    factors = np.logaddexp.reduce(each, axis=0)
    total = factors[:, 0] if name == "all" else some_of(factors)
    return Told(name, factors, each.argmax(axis=0), names, total)


def some_of(factors: Floats) -> Any:
    """ln of the Bayes factor of a change of some groups, of those of each [..., G].

    Example:
        >>> float(some_of(np.array([20.0, -5.0])).round(3))
        17.809
    """
    return np.logaddexp.reduce(_by_share(factors), axis=0) - math.log(len(SHARES))


def likely_changed(factors: Floats) -> Bools:
    """The groups [G] that more likely than not have changed, or the likeliest."""
    by_share = _by_share(factors)
    weight = np.exp(by_share - np.logaddexp.reduce(by_share))
    share = np.array(SHARES)[:, None]
    odds = np.log(share / (1.0 - share)) + factors
    chance = weight @ (1.0 / (1.0 + np.exp(-np.clip(odds, -700.0, 700.0))))
    return np.asarray(chance > min(0.5, float(chance.max()) * (1.0 - 1e-9)))


def _by_share(factors: Floats) -> Floats:
    ratio = np.exp(np.minimum(factors, 700.0))
    return np.array([np.log(1.0 - rho + rho * ratio).sum(-1) for rho in SHARES])


def dirichlet(alpha: Floats, n: Floats) -> Any:
    """ln of the chance of a sequence with counts n [..., D] under Dirichlet(alpha).

    Example:
        >>> float(np.exp(dirichlet(np.ones(2), np.array([2.0, 1.0]))).round(9))  # 1/2 2/3 1/4
        0.083333333
    """
    each = (gammaln(alpha + n) - gammaln(alpha)).sum(axis=-1)
    total = alpha.sum(axis=-1)
    return each + gammaln(total) - gammaln(total + n.sum(axis=-1))


def changes_by(block: Floats) -> Floats:
    """The odds of a change by then, before anything is seen, added up over the blocks.

    Example:
        >>> changes_by(np.array([0.0, 16.0, 48.0])).round(3).tolist()
        [0.0, 0.693, 1.386]
    """
    return np.asarray(np.log1p(block / NEAR))


def moments(blocks: int) -> Ints:
    """The blocks with which the world since may begin, the earliest first; the latest lie closer.

    Example:
        >>> moments(14).tolist()
        [3, 5, 7, 9, 10, 11, 12, 13]
    """
    ages, age = [], 1.0
    while round(age) < blocks:
        ages.append(round(age))
        age = max(age + 1.0, age * GROWTH)
    return blocks - np.array(ages[::-1], np.int64)


def visits_of(counts: Counts, keys: Ints) -> Floats:
    """How often each of these triples (s*A + a)*S + s' was counted."""
    if counts.keys.size == 0:
        return counts.next[keys]
    return np.asarray(_looked_up(counts.keys, counts.next, keys))


@seldom(lambda table, next, keys: 16 * keys.size)
def _looked_up(table: Any, next: Any, keys: Any) -> Any:
    found = np.zeros(keys.size)
    for i in range(keys.size):
        place = find(table, keys[i])
        if table[place] == keys[i]:
            found[i] = next[place]
    return found
