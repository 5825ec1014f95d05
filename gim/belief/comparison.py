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

Nor is the moment known. A world changes at all as likely as not, and if so with a chance of
k / (k + 1) within the first k doublings of time: all of a run, however long, shares one prior.
Whoever has these odds beforehand and speaks up at 99 : 1 afterwards is wrong once in a hundred
times when he does, however often he looks, if what is inferred is right. Of rewards it is asked
likewise whether they are those that the same step has paid before.

What goes wrong in other ways than by a change must not be taken for one:

- A rule known from few visits (FEW) is no witness.
- Pairs that were never met before may follow another rule. Together they weigh no more in a group
  than one surprise does after so many pairs without one; and all of it must beat pairs that follow
  no rule and go by what they did themselves.
- A rule may be wrong: another one weighs no more than the past refutes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from gim._compile.jit import hot, seldom
from gim.analogy.prior import Prior
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

    def before(self, block: int) -> Latest:
        """Those before a block."""
        keep = self.block < block
        return Latest(self.pair[keep], self.next[keep], self.r[keep], self.block[keep])


class Said(NamedTuple):
    """What rules say of each key."""

    q: Floats  # [K]
    acting: Floats  # [A, K] those of each action; [0, K] where there are too many
    shifted: Floats  # [E, K] shifted ones
    apart: Floats  # [E, P] the divergence of these
    names: tuple[str, ...]  # [E] of the variables that are shifted


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
    is that of all pairs, the others are those of the actions.
    """

    def __init__(
        self,
        counts: Counts,
        prior: Prior,
        latest: Latest,
        first: Ints,
        end: float,
        variables: Variables | None = None,
        paid: bool = True,
    ) -> None:
        (self.S, self.A), self.variables, self.paid = counts.n.shape, variables, paid
        self.J, self.first = len(first), first
        self.start = np.searchsorted(latest.block, first)
        self.beforehand = np.log(np.diff(changes_by(np.append(first, end))))
        self.latest, self.prior = latest, prior
        keys, key = np.unique(latest.pair * self.S + latest.next, return_inverse=True)
        self.key_pair, self.key_next = np.divmod(keys, self.S)
        new = np.append(True, np.diff(self.key_pair) > 0)
        self.begin, self.of = np.flatnonzero(new), np.cumsum(new) - 1  # keys of a pair; its place
        self.pairs = self.key_pair[self.begin]
        self.of_step = self.of[key]
        self.chunk = np.searchsorted(self.start, np.arange(key.size), "right")
        self.seen, self.since = self._since(key, len(keys))  # [K], [J, K]
        self.N, self.n = visits_of(counts, keys), counts.n.ravel()[self.pairs].astype(np.float64)
        self.active = np.nonzero(self.since)
        self.more = self.since[self.active]  # visits since
        self.had = np.maximum(self.N[self.active[1]] - self.more, 0.0)  # visits before
        self.n_since = np.add.reduceat(self.since, self.begin, axis=1)
        self.met = self.n - self.n_since > 0.5
        action = np.arange(self.A) == self.pairs[:, None] % self.A
        self.groups = np.column_stack([np.ones(len(action)), action]).astype(np.float64)  # [P, G]

    def _since(self, which: Ints, many: int) -> tuple[Floats, Floats]:
        """How often each of so many things was seen in all steps, and since each moment."""
        size = (self.J + 1, many)
        seen = np.bincount(self.chunk * many + which, minlength=size[0] * size[1]).reshape(size)
        since: Floats = seen[::-1].cumsum(axis=0)[::-1].astype(np.float64)
        return since[0], since[1:]

    def _by_pair(self, x: Floats) -> Floats:
        """Sums of what stands at active keys, by pair, [J, P]."""
        table = np.zeros(self.since.shape)
        table[self.active] = x
        return np.asarray(np.add.reduceat(table, self.begin, axis=1))

    # -- what the past says of the present

    def _predicted(self, alpha: Floats, total: Any) -> Floats:
        """ln P(present | past) under Dirichlet(alpha), [J, P]."""
        a, n = alpha[self.active[1]] + self.had, total + self.n
        each = self._by_pair(gammaln(a + self.more) - gammaln(a))
        return np.asarray(each - gammaln(n) + gammaln(n - self.n_since))

    def _whole(self, alpha: Floats, total: Any) -> Floats:
        """ln P(all visits) under Dirichlet(alpha), other next states taken together, [P]."""
        each = np.add.reduceat(gammaln(alpha + self.N) - gammaln(alpha), self.begin)
        rest = np.maximum(total - np.add.reduceat(alpha, self.begin), 1e-9)
        other = np.maximum(self.n - np.add.reduceat(self.N, self.begin), 0.0)
        each += gammaln(rest + other) - gammaln(rest)
        return np.asarray(each + gammaln(total) - gammaln(total + self.n))

    @cached_property
    def spread(self) -> float:
        """c, under which what was seen is likeliest."""
        of_each = [self._whole(np.full(len(self.of), c / self.S), c).sum() for c in SPREADS]
        return SPREADS[int(np.argmax(of_each))]

    @cached_property
    def free(self) -> Floats:
        """What a pair's own visits say of the present, [J, P]."""
        return self._predicted(np.full(len(self.of), self.spread / self.S), self.spread)

    @cached_property
    def behind(self) -> Floats:
        """Visits behind the rule of each pair, [P]."""
        if not self.prior.n0.size:
            return np.zeros(len(self.pairs))
        visits = np.minimum(self.prior.behind.ravel()[self.pairs], self.n.sum() + self.seen.sum())
        return np.where(self.prior.n0.ravel()[self.pairs] > 0, visits, 0.0)

    @cached_property
    def ruled(self) -> Bools:
        """Whether a rule speaks for the pair, [P]."""
        return self.behind >= FEW

    @cached_property
    def said(self) -> Said:
        """What rules say of each key."""
        scales = list(self.scales())
        actions = self.A if self.A > 1 and self.A * len(self.of) <= ENTRIES else 0
        x = np.array([x for _, x in scales]).reshape(len(scales), self.S)
        q, acting, shifted, apart = _read(
            self.prior.q,
            self.prior.next,
            self.prior.first,
            self.key_pair,
            self.key_next,
            self.begin,
            actions,
            self.A,
            x,
            np.array(SHIFTS),
        )
        names = tuple(name for name, _ in scales for _ in SHIFTS)
        useful = np.flatnonzero(apart.max(axis=1, initial=0.0) > 0)
        leak = np.maximum(self.prior.leak.ravel()[self.pairs], 1.0 / (self.behind + 2.0))[self.of]
        # What so many visits have not shown may still come:
        plain, others, tilted = (
            (1.0 - leak) * each + leak / self.S for each in (q, acting, shifted[useful])
        )
        return Said(plain, others, tilted, apart[useful], tuple(names[i] for i in useful))

    def scales(self) -> Iterator[tuple[str, Floats]]:
        """The variables whose values have an order; the number of a state where none is known."""
        made_of = self.variables
        if made_of is None:
            yield "state", np.arange(self.S, dtype=np.float64)
            return
        for v, name in enumerate(made_of.names):
            if made_of.ordinal[v]:
                yield str(name), made_of.codes[:, v].astype(np.float64)

    @cached_property
    def past(self) -> Floats:
        """What rule and own visits say of the present, [J, P]."""
        if not self.ruled.any():
            return self.free
        n0 = np.where(self.ruled, np.clip(self.prior.n0.ravel()[self.pairs], 1e-3, 1e6), 1.0)
        alpha = n0[self.of] * self.said.q
        own = np.full(len(self.of), self.spread / self.S)
        rule, doubt = self._predicted(alpha, n0), self.prior.doubt.ravel()[self.pairs]
        doubt = np.where(self.ruled, np.clip(doubt, 1e-3, 1 - 1e-3), 1.0)
        with np.errstate(divide="ignore"):
            holds = np.log1p(-doubt) + self._whole(alpha, n0)
            fails = np.log(doubt) + self._whole(own, self.spread)
        before = np.logaddexp(holds - rule, fails - self.free)
        return np.asarray(np.logaddexp(holds, fails) - before)

    @cached_property
    def anew(self) -> Floats:
        """What pairs that know nothing of their past say of the present, [J, P]."""
        alpha = self.spread / self.S
        each = self._by_pair(gammaln(alpha + self.more) - gammaln(alpha))
        return np.asarray(each + gammaln(self.spread) - gammaln(self.spread + self.n_since))

    # -- Bayes factors

    @cached_property
    def lawless(self) -> Floats:
        """Of pairs that go by what they did themselves, [J, G]: it must not be the rule's fault."""
        return self.free @ self.groups - np.log(self.backed + 2.0) * (self.backed > 0)

    @cached_property
    def backed(self) -> Floats:
        """Visits behind the rules of each group, in the mean over visits since, [J, G]."""
        visits = np.maximum(self.n_since @ self.groups, 1e-9)
        return np.asarray((self.n_since * self.behind) @ self.groups / visits)

    @cached_property
    def _old(self) -> tuple[Floats, Floats, Floats]:
        """What the past says of pairs met before and of others, and what others weigh at most."""
        old, new = ((self.past * here) @ self.groups for here in (self.met, ~self.met))
        return old, new, np.log(self.met.astype(np.float64) @ self.groups + 2.0)

    def _against(self, old: Floats, new: Floats) -> Floats:
        """ln of the Bayes factor of an explanation of pairs met before and of others, [J, G]."""
        known, unknown, most = self._old
        weighed = old - known + np.minimum(new - unknown, most)
        return np.minimum(weighed, old + new - self.lawless)

    def _following(self, q: Floats, past: bool = True) -> Floats:
        """The same where pairs with a rule now follow one of these, [E, K]: [E, J, G].

        Others go on as before. Had it always been so, the rule is wrong, and nothing has changed.
        """
        said = (np.log(q) * self.ruled[self.of]).T  # [K, E]
        actions = [np.flatnonzero(self.key_pair % self.A == a) for a in range(self.A)]
        rest = self.past * ~self.ruled
        old, new = (
            self._grouped(self.since * here[:, self.of], said, actions)
            + ((rest * here) @ self.groups)[:, None]
            for here in (self.met, ~self.met)
        )
        now = self._against(old.transpose(1, 0, 2), new.transpose(1, 0, 2))
        if not past:
            return now
        had = np.maximum(self.N - self.since, 0.0)
        rule = (np.log(self.said.q) * self.ruled[self.of])[:, None]
        return np.minimum(now, self._grouped(had, rule - said, actions).transpose(1, 0, 2))

    def _grouped(self, weight: Floats, said: Floats, actions: list[Ints]) -> Floats:
        """What weights [J, K] make of what is said [K, E] in each group, [J, E, G]."""
        each = np.stack([weight[:, mine] @ said[mine] for mine in actions], axis=-1)
        return np.concatenate([each.sum(axis=-1, keepdims=True), each], axis=-1)

    @cached_property
    def moves(self) -> list[Told]:
        """What speaks for a change of what actions do."""
        met = self.anew * self.met
        kinds: Kinds = [
            [("anew", self._against(met @ self.groups, (self.anew - met) @ self.groups))]
        ]
        if self.ruled.any() and len(self.said.shifted):
            visits = np.maximum(self.n_since @ self.groups, 1e-9)
            most = [
                (self.n_since * self.behind * d) @ self.groups / visits for d in self.said.apart
            ]
            shifted = np.minimum(self._following(self.said.shifted, past=False), most)
            kinds.append(list(zip(self.said.names, shifted, strict=True)))
        found = [_told("all", *_weighed(kinds, slice(0, 1)))]
        acting = np.zeros((0, self.J, self.A + 1))
        if self.ruled.any() and len(self.said.acting):
            acting = self._following(self.said.acting)
            as_if = acting.copy()
            as_if[np.arange(self.A), :, np.arange(self.A) + 1] = -np.inf  # what it always did
            kinds.append([(f"={a}", factor) for a, factor in enumerate(as_if)])
        if self.A > 1 or self.ruled.any():
            found.append(_told("action", *_weighed(kinds, slice(1, None))))
        alone = np.where(
            self.met, self.anew - self.past, np.minimum(self.anew - self.past, math.log(2))
        )
        free = self.free - np.log(self.behind + 2.0) * (self.behind > 0)
        alone = np.minimum(alone, self.anew - free)
        found.append(_told("pair", alone[None], ("anew",)))
        return [*found, self._exchanged(acting[:, :, 1:])] if len(acting) else found

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
        which = np.where(kind < 0, 3 * P, self.of_step * 3 + kind)
        seen, since = self._since(which, 3 * P + 1)
        now = since[:, :-1].reshape(J, P, 3)
        before = seen[:-1].reshape(P, 3) - now
        now = now * (before.sum(axis=2, keepdims=True) > 0)
        even, pooled = np.full(3, 1.0 / 3.0), before.sum(axis=1, keepdims=True) + 1.0 / 3.0
        past = dirichlet(pooled / pooled.sum(axis=2, keepdims=True) + before, now)
        each = [("pair", now, before, past)]
        for name, group in (("all", self.groups[:, :1]), ("action", self.groups[:, 1:])):
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
        key = self.latest.pair * self.S + self.latest.next
        _, first, of = np.unique(key, return_index=True, return_inverse=True)
        r, like = self.latest.r, self.latest.r[first][of]
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
    each = [np.logaddexp(math.log1p(-rho), math.log(rho) + factors).sum(-1) for rho in SHARES]
    return np.array(each)


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
    """The chance that the world has changed by then, before anything is seen.

    Example:
        >>> changes_by(np.array([0.0, 16.0, 48.0, np.inf])).round(3).tolist()
        [0.0, 0.25, 0.333, 0.5]
    """
    return np.asarray(0.5 - 0.5 / (1.0 + np.log2(1.0 + block / NEAR)))


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


@seldom(lambda q, next, first, pair, *_: 64 * pair.size)
def _read(
    q: Any,
    next: Any,
    first: Any,
    pair: Any,
    to: Any,
    begin: Any,
    actions: int,
    A: int,
    scales: Any,
    shifts: Any,
) -> Any:
    """What a prior says of pairs and next states [K], see `Said`; pairs begin at `begin` [P]."""
    K, P, V, Z = pair.size, begin.size, scales.shape[0], shifts.size
    said, acting, tilted = np.zeros(K), np.zeros((actions, K)), np.zeros((V * Z, K))
    apart, mean, variance = np.zeros((V * Z, P)), np.zeros((V, P)), np.zeros(V)
    for k in range(K):
        said[k] = _entry(q, next, first, pair[k], to[k])
        for a in range(actions):
            acting[a, k] = _entry(q, next, first, pair[k] - pair[k] % A + a, to[k])
    for v in range(V):
        for p in range(P):
            i = pair[begin[p]]
            square = 0.0
            for e in range(first[i], first[i + 1]):
                mean[v, p] += q[e] * scales[v, next[e]]
                square += q[e] * scales[v, next[e]] * scales[v, next[e]]
            variance[v] += max(square - mean[v, p] * mean[v, p], 0.0) / P
        if variance[v] < 1e-12:
            continue
        for z in range(Z):
            slope, row = shifts[z] / math.sqrt(variance[v]), v * Z + z
            for p in range(P):
                i, total = pair[begin[p]], 0.0
                for e in range(first[i], first[i + 1]):
                    total += q[e] * _tilt(slope * (scales[v, next[e]] - mean[v, p]))
                apart[row, p] = math.log(max(total, 1e-300)) if first[i] < first[i + 1] else 0.0
                last = begin[p + 1] if p + 1 < P else K
                for k in range(begin[p], last):
                    up = _tilt(slope * (scales[v, to[k]] - mean[v, p]))
                    tilted[row, k] = said[k] * up / max(total, 1e-300)
    return said, acting, tilted, apart


@hot
def _entry(q: Any, next: Any, first: Any, pair: int, t: int) -> float:
    """What is predicted of a next state."""
    low, high = first[pair], first[pair + 1]
    while low < high:
        middle = (low + high) // 2
        if next[middle] < t:
            low = middle + 1
        else:
            high = middle
    return q[low] if low < first[pair + 1] and next[low] == t else 0.0


@hot
def _tilt(exponent: float) -> float:
    return math.exp(min(max(exponent, -50.0), 50.0))


@seldom(lambda table, next, keys: 16 * keys.size)
def _looked_up(table: Any, next: Any, keys: Any) -> Any:
    found = np.zeros(keys.size)
    for i in range(keys.size):
        place = find(table, keys[i])
        if table[place] == keys[i]:
            found[i] = next[place]
    return found
