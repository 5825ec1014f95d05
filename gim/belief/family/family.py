"""Many units of one family: what all share, and what is believed of each.

One level more of the belief: the latent outcomes of a unit are drawn from the family's. Which rule
all follow, how units differ and whether they are a family at all is judged by units left out
(`choose`); what a unit itself has shown is on top of that. A unit is known to its family by 20 to
120 counts, so that a new one costs no more for all that came before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gim._base import files
from gim._compile.memory import part
from gim.analogy.structure.moves import Outcomes
from gim.belief.family import rewards
from gim.belief.family.cells import Cells, Layout, cells_of
from gim.belief.family.choose import FEW, Candidate, Search
from gim.belief.family.kinds import (
    PRIOR,
    Form,
    Kinds,
    Posterior,
    fitted,
    posterior,
    prior_of,
    vague,
)
from gim.belief.family.rewards import Ahead, Paid
from gim.belief.family.rules import Rule, Table, lands
from gim.belief.family.units import Bools, Floats, Ints, Rows, Space, joined
from gim.belief.family.words import Difference, differences, said_of_rule, sentences
from gim.mdp.variables import Variables
from gim.model.loading import KINDS

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


class Found(NamedTuple):
    """What is believed of one unit.

    `p`, `behind` and `r` are of pairs s*A + a; rewards by next state as well.
    """

    p: Floats  # [P, S]
    behind: Floats  # [P] visits behind each row: the unit's own, and those that the family lends
    r: Floats  # [P, S] what each next state pays
    doubt: Floats  # [P] variance of what is not known of rewards
    share: Floats  # [J] how likely the unit is of each kind; by state the mean
    evidence: float


@dataclass(frozen=True)
class Family:
    """What units have in common, and how they differ; made by `gim.learn` and `gim.series`.

    Attributes:
        space: what units are made of.
        table: the rule that all follow, and where its outcomes lead.
        kinds: how units differ.
        paid: what rows pay.
        comes: what they pay by where they lead, if that tells whether what an action adds has come.
        chosen: how the rule did on units left out, and others after it.
        rows: what was seen of the units, numbered as in `units`.
        units: what they are called.

    `str()` says it in words; `gim.run(..., prior=family)` starts from it.
    """

    space: Space
    table: Table
    kinds: Whole
    paid: Paid
    comes: Paid | None
    chosen: tuple[Candidate, ...]
    rows: Rows
    units: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.units)

    @property
    def rule(self) -> Rule:
        """What all follow."""
        return self.table.rule

    @property
    def alone(self) -> bool:
        """Whether units are as different as can be: each has its own chances of outcomes."""
        return self.chosen[0].alone

    @property
    def speaks(self) -> bool:
        """Whether anything is said of a new unit: a rule may be shared where chances are not."""
        return not (self.alone and self.rule.values)

    def seen(self, rows: Rows) -> tuple[Rows, Bools]:
        """Rows with what their rewards show, and the outcomes that explain each, [I, O]."""
        explained = lands(self.table, rows)
        return with_evidence(self.table, self.comes, rows, explained)

    def posterior(self, rows: Rows, units: int = 1) -> tuple[Cells, Posterior]:
        """What is believed of units by their rows."""
        rows, explained = self.seen(rows)
        cells = cells_of(self.table, rows, explained, units)
        return cells, posterior(cells.layout, cells.X, placed(self.kinds, cells.layout))

    def of(self, rows: Rows, seed: int | None = None) -> Found:
        """What is believed of one unit; with a seed, one draw of it.

        Args:
            rows: its own, all of one unit 0; none: a unit never seen.
            seed: of a draw.
        """
        rng = None if seed is None else np.random.default_rng(seed)
        rows, explained = self.seen(rows)
        table, view = self.table, outlook(self.table, self.kinds, rows, explained, rng)
        p, whole = view.p, view.p.sum(axis=0)
        own = rewards.own_of(table, self.paid, rewards.tempered(rows), ahead_of(view, table, rows))
        r, variance = np.zeros(whole.shape), np.zeros(whole.shape)
        for way in range(len(p)):
            i, t = np.nonzero(p[way])
            ahead = view.ahead(table, i, t, way)
            said, doubt = rewards.said_of(table, self.paid, own, i, t, ahead, way)
            if rng is not None:
                said = said + rng.standard_normal() * np.sqrt(doubt)
            r[i, t] += p[way, i, t] * said
            variance[i, t] += p[way, i, t] * doubt
        r = np.where(whole > 0, r / np.where(whole > 0, whole, 1.0), 0.0)
        return Found(whole, view.behind, r, variance.sum(axis=1), view.share, view.evidence)

    def grown(self, rows: Rows, name: Any) -> Family:
        """The family with one unit more, at the cost of that unit; its rule stays as it is.

        The latent counts of the unit are added to what those before it have left in the means.
        """
        rows = rows._replace(unit=np.zeros_like(rows.unit))
        kept = rows._replace(unit=np.full_like(rows.unit, len(self)))
        more = replace(self, rows=joined((self.rows, kept)), units=(*self.units, name))
        cells, found = self.posterior(rows)
        if self.alone or not len(rows.n):
            return more
        return replace(more, kinds=with_unit(self.kinds, cells.layout, found, len(self)))

    def differences(self) -> list[Difference]:
        """How units differ, those first that are farthest from the others."""
        return differences(self)

    def __str__(self) -> str:
        return sentences(self)

    def __repr__(self) -> str:
        return f"<Family of {len(self)}: {said_of_rule(self)}>"

    def save(self, path: str | Path) -> None:
        """Save to one file, which `gim.load` reads."""
        files.save(path, "family", *pack(self))


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

    def ahead(self, table: Table, pair: Ints, t: Ints, way: Any) -> Ahead:
        """What a line may look at, of rows that lead from pairs to next states."""
        codes = table.space.bare.codes.astype(np.float64)
        chance = np.maximum(self.p[way, pair, t], 1e-12)[:, None]
        whole = self.p.sum(axis=0)
        came = np.column_stack([codes[t], self.moved[way, pair, t] / chance])
        expected = np.column_stack([whole @ codes, self.moved.sum(axis=(0, 2))])
        leads = whole[pair] if whole.shape[1] <= rewards.TOGETHER else np.zeros((len(pair), 0))
        return Ahead(came, expected[pair], leads)


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
    return view.ahead(table, rows.pair, rows.next, way)


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


def with_evidence(
    table: Table, paid: Paid | None, rows: Rows, explained: Bools
) -> tuple[Rows, Bools]:
    """What rewards show of what the action adds: whether it came."""
    if paid is None or not paid.line.size or not len(rows.n):
        return rows, explained
    ahead = blindly(table, rows)
    near, way = rewards.evidence_of(table, paid, rows, ahead)
    mine = np.repeat(near, table.O // 2, axis=1) & explained
    some = np.asarray(mine.any(axis=1))
    told = near.sum(axis=1) == 1
    rows = rows._replace(way=np.where(told & some, way, 0))
    return rows, np.asarray(np.where(some[:, None], mine, explained), bool)


def learned(space: Space, rows: Rows, names: Sequence[Any], few: int = FEW) -> Family:
    """The family that units show.

    Args:
        space: what all are made of.
        rows: of all units.
        names: of the units.
        few: units, evenly spread, that the search for a rule looks at.
    """
    units = len(names)
    some = np.unique(np.linspace(0, units - 1, min(few, units)).astype(np.int64))
    part = rows.of(np.isin(rows.unit, some))
    part = part._replace(unit=np.searchsorted(some, part.unit))
    chosen = tuple(Search(space, part, len(some)).run())
    return refitted(space, rows, names, chosen)


def refitted(
    space: Space, rows: Rows, names: Sequence[Any], chosen: tuple[Candidate, ...]
) -> Family:
    """The family of units under a rule that was chosen already."""
    best, whole_rows = chosen[0], rows
    table = Table(best.rule, space, rows)
    explained, comes = lands(table, rows), None
    if best.rule.fails:
        blind = blindly(table, rows)
        shape = rewards.shape_of(table, rows, blind, rewards.LINES[:2], power=1)
        comes = rewards.fitted(table, rows, shape, blind)
        rows, explained = with_evidence(table, comes, rows, explained)
        if comes.line.size and not rows.way.any():  # what rows pay says that it always comes
            plain = best._replace(rule=best.rule._replace(fails=False), forms=best.forms[1:])
            return refitted(space, whole_rows, names, (plain, *chosen))
    cells = cells_of(table, rows, explained, len(names))
    alone = vague(cells.layout, best.kappa)
    kinds = alone if best.alone else fitted(cells, best.forms, best.kappa)
    whole = whole_of(table, cells.layout, kinds)
    ahead = foreseen(table, whole, rows, explained, len(names))
    once = rewards.tempered(rows)
    paid = rewards.fitted(table, once, rewards.shape_of(table, once, ahead), ahead)
    return Family(space, table, whole, paid, comes, chosen, whole_rows, tuple(names))


def foreseen(table: Table, whole: Whole, rows: Rows, explained: Bools, units: int) -> Ahead:
    """What a line may look at, of the rows of all units, each by what is believed of it."""
    found: list[Ahead] = []
    order = np.argsort(rows.unit, kind="stable")
    for unit in range(units):
        mine = order[rows.unit[order] == unit]
        own = rows.of(mine)._replace(unit=np.zeros(len(mine), np.int64))
        view = outlook(table, whole, own, explained[mine], None)
        found.append(ahead_of(view, table, own))
    back = np.argsort(order, kind="stable")
    return Ahead(*(np.concatenate(each)[back] for each in zip(*found, strict=True)))


# -- as a file


def pack(family: Family) -> files.Packed:
    """Arrays and JSON that `unpack` turns into the same family."""
    space, best = family.space, family.chosen[0]
    arrays: dict[str, Any] = {"available": space.available, "terminal": space.terminal}
    meta: dict[str, Any] = {"units": [str(name) for name in family.units]}
    for name in ("variables", "action_variables"):
        if (told := getattr(space, name)) is not None:
            arrays[name], meta[name] = told.pack()
    arrays |= {f"rows.{name}": value for name, value in family.rows._asdict().items()}
    rule = best.rule._asdict()
    forms = [list(form) for form in best.forms]
    meta["chosen"] = {"rule": rule, "forms": forms, "kappa": best.kappa}
    arrays["scores"] = best.scores
    kinds = family.kinds
    arrays |= {"node": kinds.node, "weight": kinds.weight}
    meta["kinds"] = {"forms": [list(form) for form in kinds.forms], "eps": kinds.eps}
    for name in ("m", "kappa", "behind"):
        arrays |= {f"{name}.{f}": value for f, value in enumerate(getattr(kinds, name))}
    if family.table.outcomes is not None:
        arrays |= {f"moves.{k}": v for k, v in family.table.outcomes._asdict().items()}
    for name, paid in (("paid", family.paid), ("comes", family.comes)):
        if paid is not None:
            packed, meta[name] = packed_paid(paid)
            arrays |= {f"{name}.{key}": value for key, value in packed.items()}
    return files.Packed(arrays, meta)


def packed_paid(paid: Paid) -> tuple[dict[str, Any], dict[str, Any]]:
    """What rows pay, as arrays and JSON."""
    arrays: dict[str, Any] = {"line": paid.line, "columns": paid.columns}
    for name in ("common", "between", "differ"):
        arrays |= {f"{name}.{level}": v for level, v in enumerate(getattr(paid, name))}
    shape = {"line": paid.shape.line, "chain": list(paid.shape.chain)}
    rest = {"noise": paid.noise, "range": list(paid.range)}
    return arrays, shape | rest


def unpacked_paid(arrays: Any, meta: Any) -> Paid:
    """The inverse."""
    levels = range(len(meta["chain"]))
    return Paid(
        rewards.Shape(meta["line"], tuple(meta["chain"])),
        arrays["line"],
        arrays["columns"],
        tuple(arrays[f"common.{level}"] for level in levels),
        tuple(arrays[f"between.{level}"] for level in levels),
        tuple(arrays[f"differ.{level}"] for level in levels),
        meta["noise"],
        tuple(meta["range"]),
    )


def unpack(arrays: Any, meta: Any) -> Family:
    """The inverse of `pack`."""
    states, actions = (
        Variables.unpack(arrays[name], meta[name]) if name in meta else None
        for name in ("variables", "action_variables")
    )
    space = Space(arrays["available"], states, actions, arrays["terminal"])
    rows = Rows(*(arrays[f"rows.{name}"] for name in Rows._fields))
    said = meta["chosen"]
    rule = dict(said["rule"])
    rule["features"] = tuple(rule["features"])
    rule["shift"] = None if rule["shift"] is None else tuple(rule["shift"])
    forms = tuple(Form(*form) for form in said["forms"])
    best = Candidate(Rule(**rule), forms, said["kappa"], arrays["scores"])
    moves = None
    if "moves.add" in arrays:
        moves = Outcomes(*(arrays[f"moves.{name}"] for name in Outcomes._fields))
    parts = range(len(meta["kinds"]["forms"]))
    whole = Whole(
        tuple(Form(*form) for form in meta["kinds"]["forms"]),
        arrays["node"],
        arrays["weight"],
        tuple(arrays[f"m.{f}"] for f in parts),
        tuple(arrays[f"kappa.{f}"] for f in parts),
        tuple(arrays[f"behind.{f}"] for f in parts),
        meta["kinds"]["eps"],
    )
    paid, comes = (
        unpacked_paid(part(arrays, f"{name}."), meta[name]) if name in meta else None
        for name in ("paid", "comes")
    )
    assert paid is not None
    table = Table(best.rule, space, rows, moves)
    return Family(space, table, whole, paid, comes, (best,), rows, tuple(meta["units"]))


KINDS["family"] = unpack
