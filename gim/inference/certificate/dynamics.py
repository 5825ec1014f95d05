"""What is believed of p(.|s,a), ready to be drawn.

With probability w the analogy holds, p(.|s,a) ~ Dirichlet(n + n0 q), else p(.|s,a) ~
Dirichlet(n + c/S). For a pair that judges q is what was predicted without it, so that its visits do
not count twice. n0 is drawn as well: half of the models take what judges say of errors along the
values of the plan, the others the lesser of that and of what they say of errors in all directions.
(A pair is met again if what came of it was good, so along the values alone predictions look better
than they are.) c is the one under which the counts of all pairs are most likely. Of a pair that is
like no judge its own visits tell all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from gim.inference.certificate.draws import Rows, join
from gim.inference.certificate.facts import Bools, Facts
from gim.inference.certificate.judges import DIRECTIONS, Judges, parts_of
from gim.inference.cross_validation import taken
from gim.inference.evidence import compare_likelihoods
from gim.inference.prior import Prior
from gim.inference.reuse import picked

FAILS = 0.5  # doubt above which predictions fail rather than hold


class Dynamics(NamedTuple):
    """What is believed of every pair."""

    along: Rows  # the worth as errors along the values of the plan have it
    everywhere: Rows  # the worth as errors in all directions have it
    unlike: Bools  # [S, A] pairs without judges of their kind, or where analogies fail


def dynamics(facts: Facts, models: int, rng: np.random.Generator) -> Dynamics:
    """What is believed of every pair, for so many models."""
    judges, prior, F = facts.judges, facts.belief.prior, facts.F
    S, A = facts.playable.shape
    mine, nothing = parts_of(judges.all), parts_of(sparse.csr_array((S * A, S)))
    c, zero = judges.blank(), np.zeros(S * A)
    if not judges.pairs.size:
        first, next, n, q = join(*mine, *nothing)
        blank = Rows(first, next, n, q, zero, zero, np.ones((models, S * A)), c)
        return Dynamics(blank, blank, np.ones((S, A), bool))
    signs = judges.curve(np.where(rng.random((S, DIRECTIONS)) < 0.5, -1.0, 1.0))
    values = judges.curve(F) if F.shape[1] else signs
    n0 = signs.n0(judges.evidence)
    failures = judges.failures(n0)
    doubt = np.clip(judges.doubts(failures), 1e-12, 1.0 - 1e-12)
    unlike = ~judges.alike() | (doubt > FAILS)
    said, leak = parts_of(predictions(prior, judges)), np.full(S * A, failures.leak)
    rule, anything = compare_likelihoods(mine, *said, n0.ravel(), leak, S)
    odds = np.log(doubt / (1.0 - doubt)).ravel() + np.clip(anything - rule, -700.0, 700.0)
    holds = 1.0 / (1.0 + np.exp(np.clip(odds, -700.0, 700.0)))
    holds[((prior.n0 == 0) | unlike).ravel()] = 0.0
    e = judges.evidence.ravel()
    along, everywhere, lesser = (each.drawn(e, models, rng) for each in (values, signs, signs))
    along[::2] = np.minimum(along, lesser)[::2]
    everywhere[::2] = np.minimum(everywhere, lesser)[::2]
    first, next, n, q = join(*mine, *said)
    rows = Rows(first, next, n, q, zero, holds, along, c)
    return Dynamics(rows, rows._replace(n0=everywhere, leak=leak), unlike)


def predictions(prior: Prior, judges: Judges) -> sparse.csr_array:
    """What is predicted of every pair [S*A, S]: of a judge, without it."""
    place = np.full(prior.n0.size, -1)
    place[judges.pairs] = np.arange(judges.pairs.size)
    rows = picked(place >= 0, taken(judges.held, place), prior.rows())
    rows.sort_indices()
    return rows
