"""Which rule a family follows, and how its units differ: by the likelihood of units left out.

    score = sum over units of log p(all rows of the unit | family of the other units)

It contains what a unit teaches about itself, and needs no penalty. That there is no family, each
unit alone under a vague prior, is one more candidate for every rule. Held-out *pairs* cannot judge
a family: for unrelated worlds they choose one displacement for all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from gim.belief.family.cells import Cells, cells_of
from gim.belief.family.fit import evident, fit_of
from gim.belief.family.kinds import Form, fitted, posterior, vague
from gim.belief.family.rewards import tempered
from gim.belief.family.rules import Rule, Table, contexts, fits, lands, movements
from gim.belief.family.units import Bools, Floats, Ints, Rows, Space

FOLDS = 3  # limit: parts of the units, each left out once
ALONE = (1.0, 4.0, 16.0)  # visits of a vague prior
STARTS = (20.0, 100.0, 500.0)  # of the concentration: its fixed point hardly moves
FORMS = (Form(1), Form(2), Form(4), Form(1, 1), Form(1, 2))
FEW = 40  # limit: units that a search looks at
KEPT = 3  # limit: rules that are looked at more closely, at each turn
ODD = 0.05  # of units may not belong, and do what they do pair by pair
PART = 2.0  # nats by which each part of a rule must make units likelier
FINALISTS = 2  # limit: rules for which all forms are tried


class Candidate(NamedTuple):
    """A rule and how it did."""

    rule: Rule
    forms: tuple[Form, ...]  # [F]; none: every unit is alone
    kappa: float
    scores: Floats  # [K] log-likelihood of each unit left out
    pays: float = 0.0  # nats by which what rows paid is likelier than if all came that is added

    @property
    def score(self) -> float:
        """Of all units, less what rules and forms cost that are finer: there are more of those."""
        rule = self.rule
        parts = len(rule.features) + 3 * rule.fails + rule.by_state + (rule.shift is not None)
        forms = sum(0.5 * (form.kinds - 1) + form.dimensions for form in self.forms)
        return float(self.scores.sum()) + self.pays - PART * (parts + forms)

    @property
    def alone(self) -> bool:
        """Whether no family helps."""
        return not self.forms


class Search:
    """Judges rules and forms by some units, each rule's cells made once."""

    def __init__(self, space: Space, rows: Rows, units: int) -> None:
        self.space, self.rows, self.units = space, rows, units
        self._cells: dict[Rule, Cells] = {}
        self._judged: dict[tuple[Rule, tuple[Form, ...], float], Candidate] = {}
        folds = min(FOLDS, units)
        self.outside = np.full(units, -np.inf)
        self.fold = np.random.default_rng(units).permutation(units) % folds if folds > 1 else None
        state = tuple(range(space.bare.k))
        pairs = Rule(features=(*state, space.bare.k), values=True)
        if units > 2 and fits(pairs, space):  # two cannot tell which of them is the odd one
            alone = [self.judge(pairs, (), kappa).scores for kappa in ALONE]
            self._judged.clear()
            self.outside = np.max(alone, axis=0)

    def cells(self, rule: Rule) -> Cells:
        """What was counted, under a rule."""
        if rule not in self._cells:
            table = Table(rule, self.space, self.rows)
            rows, explained, _ = evident(table, self.rows)
            self._cells[rule] = cells_of(table, rows, explained, self.units)
        return self._cells[rule]

    def judge(self, rule: Rule, forms: tuple[Form, ...], kappa: float) -> Candidate:
        """The likelihood of units left out; without forms, of each unit alone."""
        key = rule, forms, kappa
        if key not in self._judged:
            scores = self.left_out(self.cells(rule), forms, kappa)
            self._judged[key] = Candidate(rule, forms, kappa, scores)
        return self._judged[key]

    def left_out(self, cells: Cells, forms: tuple[Form, ...], kappa: float) -> Floats:
        """[K] log-likelihood of each unit by the others, or by its own ways."""
        total = np.zeros(self.units)
        for train, test in self._splits(cells) if forms else [(None, np.arange(len(cells.X)))]:
            family = vague(cells.layout, kappa)
            if train is not None:
                part = cells._replace(X=cells.X[train], task=cells.task[train])
                family = fitted(part, forms, kappa)
            found = posterior(cells.layout, cells.X[test], family)
            np.add.at(total, cells.task[test], found.evidence)
        return np.logaddexp(total + math.log1p(-ODD), math.log(ODD) + self.outside)

    def _splits(self, cells: Cells) -> Iterable[tuple[Ints, Ints]]:
        assert self.fold is not None
        for fold in range(int(self.fold.max()) + 1):
            out = self.fold[cells.task] == fold
            yield np.flatnonzero(~out), np.flatnonzero(out)

    def best(self, rule: Rule, forms: Iterable[Form], starts: Iterable[float]) -> Candidate:
        """The best of some forms, or each unit alone."""
        offers = [self.judge(rule, (), kappa) for kappa in ALONE]
        offers += self.families(rule, forms, starts)
        return max(offers, key=lambda offer: offer.score)

    def families(
        self, rule: Rule, forms: Iterable[Form], starts: Iterable[float]
    ) -> list[Candidate]:
        """By every form, and whether what the action adds comes in one or in two kinds of units."""
        if self.fold is None:
            return []
        if rule.by_state:  # states are of kinds: a place on a curve for each would say too little
            forms = [form for form in forms if not form.dimensions]
        comes: list[tuple[Form, ...]] = [(Form(1),), (Form(2),)] if rule.fails else [()]
        return [
            self.judge(rule, (*first, form), kappa)
            for form in forms
            for first in comes
            for kappa in starts
        ]

    def quick(self, rule: Rule) -> Candidate:
        """One kind of units, or one unit alone: whether a rule is worth a closer look."""
        offers = self.families(rule, (Form(1),), STARTS[:1]) or [self.judge(rule, (), ALONE[1])]
        return max(offers, key=lambda offer: offer.score)

    def thorough(self, rule: Rule) -> Candidate:
        """The best of all forms, or each unit alone; then how far its units are apart."""
        best = self.best(rule, FORMS, STARTS[1:2])
        if best.forms:
            offers = [self.judge(rule, best.forms, kappa) for kappa in STARTS]
            best = max(offers, key=lambda offer: offer.score)
        return best

    def run(self) -> list[Candidate]:
        """The rules that did best, the best first."""
        k = self.space.bare.k
        first = [
            rule._replace(features=features)
            for rule in movements(self.space)
            for features in ((), (k,))
        ]
        state = tuple(range(k))
        pairs = [Rule(features=f, values=True) for f in ((k,), state, (*state, k))]
        found = {rule: self.quick(rule) for rule in first if fits(rule, self.space)}
        found |= {r: self.best(r, (Form(1),), STARTS[:1]) for r in pairs if fits(r, self.space)}
        for _ in range(2):
            for rule in leading(found)[:KEPT]:
                for more in self.neighbours(rule):
                    if more not in found and fits(more, self.space):
                        found[more] = self.quick(more)
        finalists = leading(found)[:FINALISTS]
        for rule in leading(found)[:1]:  # a coarser one may do with other forms what it does
            coarser = [rule._replace(by_state=False), rule._replace(features=(), by_state=False)]
            finalists += [] if rule.values else coarser
        last = [self.thorough(rule) for rule in dict.fromkeys(finalists)]
        best = max(last, key=lambda offer: offer.score)
        if best.rule.shift is not None:
            last.append(self.failing(best))
        rest = [each for each in found.values() if each.rule not in {one.rule for one in last}]
        return sorted(last + rest, key=lambda offer: -offer.score)

    def failing(self, best: Candidate) -> Candidate:
        """The same rule where what the action adds may not come, judged by what rows paid as well.

        Next states tell little of that: what came and went at once is as if nothing had come.
        """
        rule = best.rule._replace(fails=True)
        offers = self.families(rule, best.forms, (best.kappa,)) or [self.judge(rule, (), ALONE[1])]
        found = max(offers, key=lambda offer: offer.score)
        fits = (fit_of(self.space, self.rows, self.units, *each[:3]) for each in (best, found))
        error, left = (fit.error for fit in fits)
        pays = float(tempered(self.rows).n.sum()) * math.log(error / left)
        if found.score + pays > best.score:
            found = self.thorough(rule)
        return found._replace(pays=pays)

    def neighbours(self, rule: Rule) -> list[Rule]:
        """The same with another context, by state, or where the action may come to nothing."""
        found = [rule._replace(features=features) for features in contexts(self.space)]
        if not rule.values:
            found += [each._replace(by_state=True) for each in found[:2]]
        return found


def belong(search: Search, best: Candidate) -> Bools:
    """[units] that are likelier under the best rule than by themselves; at least two thirds."""
    scores = best.scores
    if best.rule.fails:  # by next states alone, as it is by themselves
        table = Table(best.rule, search.space, search.rows)
        cells = cells_of(table, search.rows, lands(table, search.rows), search.units)
        scores = search.left_out(cells, best.forms, best.kappa)
    inside = scores > search.outside + math.log(ODD) + math.log(2.0)
    many = 3 * np.count_nonzero(inside) >= 2 * len(inside)
    return np.asarray(inside if many else np.ones(len(inside), bool))


def leading(found: dict[Rule, Candidate]) -> list[Rule]:
    """The best first."""
    return sorted(found, key=lambda rule: -found[rule].score)
