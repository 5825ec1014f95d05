"""The structure of a block by held-out likelihood: its edges, after-states, contexts, shrinkage.

A form is judged by what all pairs but one say of that one (`gim.inference.structure.em`), for all
pairs that were met, those met once included:

    score = sum over pairs of w(n) mean log((1 - epsilon) q(s') + epsilon / V),
    w(n) = n / (1 + n / FEW)

epsilon is the share of exceptions that suits the form best; a pair met often counts as FEW visits.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from gim.inference.structure.block import Form
from gim.inference.structure.em import fit, judge, stacked
from gim.inference.structure.explanations import Explained, Move
from gim.inference.structure.moves import CLIP, STAY, WRAP
from gim.inference.structure.triples import Floats, Ints, Triples, summed

EDGES = (STAY, CLIP, WRAP)  # in the order of preference
FEW = 5.0
EXCEPTIONS = np.array([0.001, 0.01, 0.05, 0.2])
KAPPAS = (0.03, 0.3, 3.0, 30.0)
DEPTH = 4  # levels of contexts below the root
LEADING = 4  # single features that are tried in pairs
QUICK = 4  # iterations of EM in the search
MARGIN, Z = 1.0, 1.0  # a finer form must be better by so many nats and standard errors
MOSTS = (2.0, 20.0, 1e9)


class Found(NamedTuple):
    """A form and how it did."""

    form: Form
    logs: Floats  # [P] weighted log-likelihood of each pair by the others
    share: Floats

    @property
    def score(self) -> float:
        """Held-out log-likelihood."""
        return float(self.logs.sum())

    def beats(self, other: Found) -> bool:
        """Whether it is better by more than chance."""
        gain = self.logs - other.logs
        return bool(gain.sum() > MARGIN + Z * np.sqrt(gain @ gain))


def logs(held: Floats, weight: Floats, slot: Ints, pairs: int, V: int) -> Floats:
    """Log-likelihood by pair [P], at the share of exceptions that suits best."""
    mixed = np.log((1 - EXCEPTIONS[:, None]) * held + EXCEPTIONS[:, None] / V)
    best = int(np.argmax(mixed @ weight))
    return summed(slot, mixed[best] * weight, pairs)


def contexts(data: Explained, found: Found | None = None) -> Found:
    """Add levels of contexts greedily, one or two features at a time, while they pay."""
    if found is None:
        found = evaluated(data, Form(data.move))
    features = range(data.triples.features)
    while len(found.form.chain) <= DEPTH:
        last = set(found.form.chain[-1])
        rest = [f for f in features if f not in last]
        single = {f: extended(data, found, (f,)) for f in rest}
        leading = sorted(rest, key=lambda f: -single[f].score)[:LEADING]
        double = [extended(data, found, pair) for pair in combinations(leading, 2)]
        best = max([*single.values(), *double], key=lambda each: each.score, default=found)
        if not best.beats(found):
            break
        found = best
    return found


def extended(data: Explained, found: Found, more: tuple[int, ...]) -> Found:
    """One more level, at the shrinkage that suits it best."""
    chain = (*found.form.chain, tuple(sorted({*found.form.chain[-1], *more})))
    return evaluated(data, found.form._replace(chain=chain), found.share)


def evaluated(data: Explained, form: Form, share: Floats | None = None) -> Found:
    """Fit a form, with the last shrinkage chosen."""
    stack = stacked(data, form.chain, form.most)
    known = form.kappa[: len(form.chain) - 1]
    posterior = fit(data, stack, np.array([*known, 1.0]), share, QUICK)
    weight = data.weights(FEW).of
    best: Found | None = None
    for kappa in KAPPAS:
        held = judge(data, stack, np.array([*known, kappa]), posterior.share, posterior.mass)[0]
        found = Found(
            form._replace(kappa=(*known, kappa)),
            logs(held, weight, data.slot, len(data.pairs), len(data.values.codes)),
            posterior.share,
        )
        if best is None or found.score > best.score:
            best = found
    assert best is not None
    return best


def moved(triples: Triples, variables: tuple[int, ...]) -> tuple[Explained, Found]:
    """The way a block moves: its edges and after-states, judged by action alone."""
    best: tuple[Explained, Found] | None = None
    ordinal = [v for v in variables if triples.ordinal[v]]
    for edge in EDGES if ordinal else EDGES[:1]:
        best = _better(best, triples, Move(variables, edge))
    assert best is not None
    free, amounts = ordinal, np.flatnonzero(triples.action_ordinal).tolist()
    while free and amounts:
        move, before = best[1].form.move, best
        for v, j, sign in product(free, amounts, (1, -1)):
            for edge in (STAY, CLIP):
                best = _better(best, triples, Move(variables, edge, (*move.shifts, (v, j, sign))))
        if best is before:
            break
        free = [v for v in free if all(v != shift[0] for shift in best[1].form.move.shifts)]
    return best


def _better(
    best: tuple[Explained, Found] | None, triples: Triples, move: Move
) -> tuple[Explained, Found]:
    data = Explained(triples, move)
    found = max((by_action(data, Form(move, most=most)) for most in MOSTS), key=lambda f: f.score)
    return (data, found) if best is None or found.score > best[1].score + MARGIN else best


def by_action(data: Explained, form: Form) -> Found:
    """A form without contexts, or with the action as the only one."""
    root = evaluated(data, form)
    found = extended(data, root, (data.triples.k,))
    return found if found.beats(root) else root
