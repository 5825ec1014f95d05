"""Many units of one family: what all share, and what is believed of each.

One level more of the belief: the latent outcomes of a unit are drawn from the family's. Which rule
all follow, how units differ and whether they are a family at all is judged by units left out
(`choose`); what a unit itself has shown is on top of that. A unit is known to its family by 20 to
120 counts, so that a new one costs no more for all that came before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gim._base import files
from gim._base.threads import one_thread
from gim.analogy.structure.moves import STAY, Outcomes
from gim.belief.family import rewards
from gim.belief.family.cells import Cells, cells_of
from gim.belief.family.choose import ALONE, FEW, Candidate, Search, belong
from gim.belief.family.fit import fit_of, with_evidence
from gim.belief.family.kinds import Form, Posterior, fitted, posterior, vague
from gim.belief.family.outlook import Whole, ahead_of, outlook, placed, whole_of, with_unit
from gim.belief.family.rewards import Paid, Shape
from gim.belief.family.rules import Rule, Table, lands
from gim.belief.family.units import Bools, Floats, Rows, Space, joined
from gim.belief.family.words import Difference, differences, said_of_rule, sentences
from gim.mdp.variables import Variables
from gim.model.loading import KINDS

AGAIN = 12  # limit: families of units drawn anew
LEAVE = 8.0  # nats beyond the prior odds that it takes to leave a family


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


@dataclass(frozen=True, eq=False)
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
        usual: log-likelihood of a row of these units.
        outside: units that do not belong.

    `str()` says it in words; `gim.run(..., prior=family)` starts from it.

    Example:
        >>> import gim
        >>> family = gim.series("psrl", [gim.make("riverswim")] * 2, 3).family
        >>> len(family)
        2
    """

    space: Space
    table: Table
    kinds: Whole
    paid: Paid
    comes: Paid | None
    chosen: tuple[Candidate, ...]
    rows: Rows
    units: tuple[Any, ...]
    usual: float = 0.0
    outside: tuple[Any, ...] = ()

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

    @one_thread()
    def of(self, rows: Rows, seed: int | None = None) -> Found:
        """What is believed of one unit; with a seed, one draw of it.

        Args:
            rows: its own, all of one unit 0; none: a unit never seen.
            seed: of a draw.
        """
        rng = None if seed is None else np.random.default_rng(seed)
        rows, explained = self.seen(rows)
        kinds = self.kinds if rng is None else self.resampled[rng.integers(AGAIN)]
        table, view = self.table, outlook(self.table, kinds, rows, explained, rng)
        p, whole = view.p, view.whole
        own = rewards.own_of(table, self.paid, rewards.tempered(rows), ahead_of(view, table, rows))
        r, variance = np.zeros(whole.shape), np.zeros(whole.shape)
        for way in range(len(p)):
            i, t = np.nonzero(p[way])
            ahead = view.ahead(i, t, way)
            said, doubt = rewards.said_of(table, self.paid, own, i, t, ahead, way)
            if rng is not None:
                said = said + rng.standard_normal() * np.sqrt(doubt)
            r[i, t] += p[way, i, t] * said
            variance[i, t] += p[way, i, t] * doubt
        r /= np.where(whole > 0, whole, 1.0)
        return Found(whole, view.behind, r, variance.sum(axis=1), view.share, view.evidence)

    @cached_property
    def resampled(self) -> list[Whole]:
        """The kinds as they would be with other units: some of these twice, others not at all."""
        if self.alone:
            return [self.kinds] * AGAIN
        rows, explained = self.seen(self.rows)
        U, rng = len(self), np.random.default_rng(len(self))
        cells, forms = cells_of(self.table, rows, explained, U), self.chosen[0].forms
        start, found = placed(self.kinds, cells.layout), []
        for _ in range(AGAIN):
            often = np.bincount(rng.integers(U, size=U), minlength=U)[cells.task]
            some = cells._replace(X=np.repeat(cells.X, often, axis=0))
            kinds = fitted(some, forms, self.chosen[0].kappa, start)
            found.append(whole_of(self.table, cells.layout, kinds))
        return found

    def left_by(self, rows: Rows, evidence: float) -> bool:
        """Whether a unit with these rows does not belong.

        Its rows are far less likely than those of others, and likelier by another rule, alone.

        Args:
            rows: its own.
            evidence: what the family makes of them.
        """
        n = float(rows.n.sum())
        if evidence > n * self.usual - LEAVE:
            return False
        k = self.space.bare.k
        everything = (*range(k), k)
        others = [
            Rule(features=(k,)),
            Rule(features=(k,), edge=STAY),
            Rule(features=everything, values=True),
        ]
        odds = LEAVE + math.log(2.0 * len(self) + 2.0)
        for rule in others:
            table = Table(rule, self.space, rows)
            cells = cells_of(table, rows, lands(table, rows), 1)
            for kappa in ALONE:
                found = posterior(cells.layout, cells.X, vague(cells.layout, kappa))
                if float(found.evidence.sum()) > evidence + odds:
                    return True
        return False

    @one_thread()
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


@one_thread()
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
    search = Search(space, part, len(some))
    chosen = tuple(search.run())
    inside = np.ones(units, bool)
    inside[some] = belong(search, chosen[0])
    if not inside.all():
        outside = tuple(name for name, there in zip(names, inside, strict=True) if not there)
        names = [name for name, there in zip(names, inside, strict=True) if there]
        rows = rows.of(inside[rows.unit])
        rows = rows._replace(unit=(np.cumsum(inside) - 1)[rows.unit])
        found = learned(space, rows, names, few)  # what they follow, without the others
        return replace(found, outside=(*outside, *found.outside))
    return refitted(space, rows, names, chosen)


@one_thread()
def refitted(
    space: Space, rows: Rows, names: Sequence[Any], chosen: tuple[Candidate, ...]
) -> Family:
    """The family of units under a rule that was chosen already."""
    fit = fit_of(space, rows, len(names), *chosen[0][:3])
    made = fit.table, fit.kinds, fit.paid, fit.comes
    return Family(space, *made, chosen, rows, tuple(names), fit.usual)


# -- as a file

TUPLES = {of.__name__: of for of in (Candidate, Form, Outcomes, Paid, Rows, Rule, Shape, Whole)}


def pack(family: Family) -> files.Packed:
    """Arrays and JSON that `unpack` turns into the same family."""
    space = family.space
    arrays: dict[str, Any] = {"available": space.available, "terminal": space.terminal}
    meta: dict[str, Any] = {"units": [str(name) for name in family.units]}
    meta |= {"usual": family.usual, "outside": [str(name) for name in family.outside]}
    for name in ("variables", "action_variables"):
        if (told := getattr(space, name)) is not None:
            arrays[name], meta[name] = told.pack()
    made = family.chosen[0], family.table.outcomes, family.kinds, family.paid, family.comes
    meta["made"] = taken_apart((*made, family.rows), "made", arrays)
    return files.Packed(arrays, meta)


def taken_apart(value: Any, name: str, arrays: dict[str, Any]) -> Any:
    """Tuples of arrays and of what JSON holds, as JSON; the arrays are put beside it."""
    if isinstance(value, np.ndarray):
        arrays[name] = value
        return {"array": name}
    if isinstance(value, tuple):
        parts = [taken_apart(each, f"{name}.{k}", arrays) for k, each in enumerate(value)]
        return {"kind": type(value).__name__, "parts": parts}
    return value.item() if isinstance(value, np.generic) else value


def put_together(told: Any, arrays: Any) -> Any:
    """The inverse."""
    if not isinstance(told, dict):
        return told
    if "array" in told:
        return arrays[told["array"]]
    parts = [put_together(each, arrays) for each in told["parts"]]
    return TUPLES[told["kind"]](*parts) if told["kind"] in TUPLES else tuple(parts)


def unpack(arrays: Any, meta: Any) -> Family:
    """The inverse of `pack`."""
    states, actions = (
        Variables.unpack(arrays[name], meta[name]) if name in meta else None
        for name in ("variables", "action_variables")
    )
    space = Space(arrays["available"], states, actions, arrays["terminal"])
    best, moves, kinds, paid, comes, rows = put_together(meta["made"], arrays)
    told = tuple(meta["units"]), meta["usual"], tuple(meta["outside"])
    return Family(
        space, Table(best.rule, space, rows, moves), kinds, paid, comes, (best,), rows, *told
    )


KINDS["family"] = unpack
