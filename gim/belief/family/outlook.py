"""What a family makes of one unit: where its pairs lead, by its rows and by what others do."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from gim.belief.family import rewards
from gim.belief.family.cells import Layout, cells_of
from gim.belief.family.kinds import PRIOR, Form, Kinds, Posterior, posterior, prior_of
from gim.belief.family.rewards import Ahead
from gim.belief.family.rules import Table
from gim.belief.family.units import Bools, Floats, Ints, Rows

MOST_MOVED = 1 << 22  # numbers that are kept of the changes of a unit


class Whole(NamedTuple):
    """The kinds of a family in every context, whichever rows are looked at."""

    forms: tuple[Form, ...]
    node: Ints  # [F, J]
    weight: Floats  # [J]
    m: tuple[Floats, ...]  # [F] of [nodes, contexts, outcomes]
    kappa: tuple[Floats, ...]  # [F] of [contexts]
    behind: tuple[Floats, ...]  # [F] of [contexts] visits
    eps: float


class Outlook:
    """Where the pairs of a unit lead, and by which changes.

    Attributes:
        p: [ways, P, S] chances of next states, with and without what the action adds.
        moved: [ways, P, S, k] changes of the variables that lead there, times their chances.
        behind: [P] visits behind each row.
        share: [J] how likely the unit is of each kind.
        evidence: of all its rows.
    """

    def __init__(self, table: Table, share: Floats, evidence: float) -> None:
        S, P = table.space.S, table.space.S * table.space.A
        k = table.space.bare.k if table.moves is not None else 0
        self.p, self.behind = np.zeros((len(table.base), P, S)), np.zeros(P)
        self.moved = np.zeros((*self.p.shape, k if self.p.size * k <= MOST_MOVED else 0))
        self.share, self.evidence = share, evidence
        self.codes = table.space.bare.codes.astype(np.float64)

    def fill(self, table: Table, pairs: Ints, theta: list[Floats], behind: list[Floats]) -> None:
        """The rows of some pairs by the distributions of their outcomes."""
        context, ways = table.context[pairs], len(table.base)
        chance, least = np.ones((len(pairs), table.O)), np.full(len(pairs), np.inf)
        for f in range(len(table.sizes)):
            own = table.context_of_part[f][context]
            chance *= theta[f][own][:, table.parts[f]]
            least = np.minimum(least, behind[f][own])
        way = np.arange(table.O) // (table.O // ways)
        key = (way * len(self.behind) + pairs[:, None]) * table.space.S + table.land[pairs]
        key, size = key.ravel(), self.p.size
        self.p += np.bincount(key, chance.ravel(), size).reshape(self.p.shape)
        for v in range(self.moved.shape[-1]):
            assert table.moves is not None
            moved = (chance * table.moves[:, v]).ravel()
            self.moved[..., v] += np.bincount(key, moved, size).reshape(self.p.shape)
        self.behind[pairs] = least

    @cached_property
    def whole(self) -> Floats:
        """[P, S] chances of next states, once all rows are filled."""
        return np.asarray(self.p.sum(axis=0))

    @cached_property
    def expected(self) -> Floats:
        """[P, 2k] the next state and the change that are to be expected."""
        return np.column_stack([self.whole @ self.codes, self.moved.sum(axis=(0, 2))])

    def ahead(self, pair: Ints, t: Ints, way: Any) -> Ahead:
        """What a line may look at, of rows that lead from pairs to next states."""
        chance = np.maximum(self.p[way, pair, t], 1e-12)[:, None]
        came = np.column_stack([self.codes[t], self.moved[way, pair, t] / chance])
        few = self.p.shape[2] <= rewards.TOGETHER
        leads = self.whole[pair] if few else np.zeros((len(pair), 0))
        return Ahead(came, self.expected[pair], leads)


def outlook(
    table: Table, whole: Whole, rows: Rows, explained: Bools, rng: np.random.Generator | None
) -> Outlook:
    """What is believed of the moves of one unit, by its rows [I] and what explains them [I, O]."""
    S, A = table.space.S, table.space.A
    pairs = np.arange(S * A)
    theta, behind, share, _ = unseen(whole, rng)
    if not len(rows.n):
        view = Outlook(table, share, 0.0)
        view.fill(table, pairs, theta, behind)
        return view
    cells = cells_of(table, rows, explained, 1)
    found = posterior(cells.layout, cells.X, placed(whole, cells.layout))
    view = Outlook(table, found.share.mean(axis=0), float(found.evidence.sum()))
    each = [
        of_unit(whole, cells.layout, Posterior(alpha, odds), rng)
        for alpha, odds in zip(found.alpha, found.log_odds, strict=True)
    ]
    if not table.rule.by_state:
        view.fill(table, pairs, *each[0])
        return view
    met = np.unique(rows.pair // A)
    for s, own in zip(met.tolist(), each, strict=True):
        view.fill(table, pairs[s * A : (s + 1) * A], *own)
    view.fill(table, np.flatnonzero(~np.isin(pairs // A, met)), theta, behind)
    return view


def ahead_of(view: Outlook, table: Table, rows: Rows) -> Ahead:
    """What a line may look at, of the rows of a unit."""
    way = np.minimum(rows.way, len(view.p) - 1)
    return view.ahead(rows.pair, rows.next, way)


def blindly(table: Table, rows: Rows) -> Ahead:
    """The same as long as nothing is known of changes: the next state alone."""
    codes = table.space.bare.codes[rows.next].astype(np.float64)
    return Ahead(codes, codes, np.zeros((len(codes), 0)))


def placed(whole: Whole, layout: Layout) -> Kinds:
    """The kinds, for the parameters of a layout."""
    J, n = len(whole.weight), len(layout.group)
    m = np.empty((J, n))
    G = len(layout.begin)
    kappa, behind = np.empty(G), np.empty(G)
    for f in range(len(whole.forms)):
        mine = layout.part[layout.group] == f
        c, o = layout.context[layout.group[mine]], layout.outcome[mine]
        there = whole.m[f][:, c, np.maximum(o, 0)] * (o >= 0)
        group = layout.group[mine]
        filled = np.stack([np.bincount(group, each, G) for each in there])[:, group]
        m[:, mine] = np.where(o >= 0, there, np.maximum(1.0 - filled, 1e-9))[whole.node[f]]
        groups = layout.part == f
        kappa[groups] = whole.kappa[f][layout.context[groups]]
        behind[groups] = whole.behind[f][layout.context[groups]]
    none = (np.zeros((0, 0)),) * len(whole.forms)
    return Kinds(whole.forms, whole.node, whole.weight, m, kappa, behind, whole.eps, none)


def whole_of(table: Table, layout: Layout, kinds: Kinds) -> Whole:
    """The kinds in every context: where no row was met, as all contexts together have it."""
    ms, kappas, behinds = [], [], []
    for f, (form, size) in enumerate(zip(kinds.forms, table.sizes, strict=True)):
        contexts = int(table.context_of_part[f].max()) + 1
        mine = layout.part[layout.group] == f
        c, o = layout.context[layout.group[mine]], layout.outcome[mine]
        first = [int(np.flatnonzero(kinds.node[f] == j)[0]) for j in range(form.nodes)]
        m, left = np.zeros((form.nodes, contexts, size)), np.zeros((form.nodes, contexts))
        values = kinds.m[first][:, mine]
        m[:, c[o >= 0], o[o >= 0]] = values[:, o >= 0]
        left[:, c[o < 0]] = values[:, o < 0]
        rest = m == 0.0
        m += rest * (left / np.maximum(rest.sum(axis=-1), 1))[..., None]
        groups = layout.part == f
        kappa, behind = np.zeros(contexts), np.zeros(contexts)
        kappa[layout.context[groups]] = kinds.kappa[groups]
        behind[layout.context[groups]] = kinds.behind[groups]
        met = behind > 0
        weight = np.where(met, behind, 0.0)
        root = (m * weight[None, :, None]).sum(axis=1) / max(weight.sum(), 1e-12)
        root = 0.5 * root + 0.5 / size
        m[:, ~met] = root[:, None]
        kappa[~met] = np.median(kappa[met]) if met.any() else PRIOR
        behind[~met] = PRIOR
        ms.append(m / m.sum(axis=-1, keepdims=True))
        kappas.append(kappa)
        behinds.append(behind)
    node, weight = kinds.node, kinds.weight
    return Whole(kinds.forms, node, weight, tuple(ms), tuple(kappas), tuple(behinds), kinds.eps)


def with_unit(whole: Whole, layout: Layout, found: Posterior, units: int) -> Whole:
    """The kinds with one unit more: what it has shown is added to the visits behind their means."""
    share = found.share.sum(axis=0) / max(len(found.share), 1)
    latent = np.maximum(found.alpha - prior_of(layout, placed(whole, layout)), 0.0)
    t = np.einsum("uj,ujn->jn", found.share, latent)
    ms, behinds = [], []
    for f, m in enumerate(whole.m):
        mine = (layout.part[layout.group] == f) & (layout.outcome >= 0)
        c, o = layout.context[layout.group[mine]], layout.outcome[mine]
        weight = np.bincount(whole.node[f], whole.weight, len(m))
        mass = m * (weight[:, None] * whole.behind[f])[:, :, None]
        for j, each in enumerate(t[:, mine]):
            mass[whole.node[f][j], c, o] += each
        total = mass.sum(axis=-1, keepdims=True)
        ms.append(np.where(total > 0, mass / np.where(total > 0, total, 1.0), m))
        behind = whole.behind[f].copy()
        np.add.at(behind, c, t[:, mine].sum(axis=0))
        behinds.append(behind)
    weight = (whole.weight * (units + 1) + share) / (units + 2)
    return whole._replace(m=tuple(ms), behind=tuple(behinds), weight=weight)


def of_unit(
    whole: Whole, layout: Layout, found: Posterior, rng: np.random.Generator | None
) -> tuple[list[Floats], list[Floats]]:
    """Distributions [F] of [contexts, outcomes] of one unit, and visits behind them [contexts].

    The mean; with a random stream, one draw: of a kind, and of its distributions.
    """
    odds = np.exp(found.log_odds - found.log_odds.max())
    share = odds / odds.sum()
    if rng is not None:
        share = np.eye(len(share))[rng.choice(len(share), p=share)]
    alpha = found.alpha
    if rng is not None:
        alpha = np.maximum(rng.standard_gamma(alpha), 1e-300)
    theta = alpha / layout.sums(alpha)[:, layout.group]
    visits = share @ layout.sums(found.alpha)
    thetas, behind = unseen(whole, rng, share)
    for f, m in enumerate(whole.m):
        mine = layout.part[layout.group] == f
        c, o = layout.context[layout.group[mine]], layout.outcome[mine]
        mean = share @ theta[:, mine]
        groups = layout.part == f
        rest = np.ones((len(m[0]), m.shape[2]))
        rest[c[o >= 0], o[o >= 0]] = 0.0
        left = np.zeros(len(m[0]))
        left[c[o < 0]] = mean[o < 0]
        like = np.tensordot(share, m[whole.node[f]], 1) * rest
        like = like / np.maximum(like.sum(axis=1, keepdims=True), 1e-300)
        here = np.unique(c)
        thetas[f][here] = (like * left[:, None])[here]
        thetas[f][c[o >= 0], o[o >= 0]] = mean[o >= 0]
        behind[f][layout.context[groups]] = visits[groups]
    return thetas, behind


def unseen(whole: Whole, rng: np.random.Generator | None, share: Floats | None = None) -> Any:
    """The same of a unit, or of contexts, of which no row was met."""
    if share is None:
        share = whole.weight
        if rng is not None:
            share = np.eye(len(share))[rng.choice(len(share), p=share)]
        full = True
    else:
        full = False
    thetas, behinds = [], []
    for f, m in enumerate(whole.m):
        mean = np.tensordot(share, m[whole.node[f]], 1)
        kappa = whole.kappa[f] * whole.behind[f] / (whole.kappa[f] + whole.behind[f])
        if rng is not None:
            mean = np.maximum(rng.standard_gamma(np.maximum(kappa[:, None] * mean, 1e-8)), 1e-300)
        thetas.append(mean / mean.sum(axis=1, keepdims=True))
        behinds.append(kappa.copy())
    return (thetas, behinds, share, 0.0) if full else (thetas, behinds)
