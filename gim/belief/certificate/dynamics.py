"""What is believed of p(.|s,a), ready to be drawn.

With probability w the analogy holds, p(.|s,a) ~ Dirichlet(n + n0 q), else p(.|s,a) ~
Dirichlet(n + c/S). For a pair that judges q is what was predicted without it: its visits count
once. n0 is drawn as well, from what judges say of errors along the values of the plan and from
what they say of errors in all directions. (A pair is met again if what came of it was good, so
along the values alone predictions look better than they are.) For returns it is the lesser of both.
Where pairs are bounded, either may be right, each in every second model; for the L1 distance it is
the lesser of two draws of the latter. In a world of variables it is the lesser for pairs as well,
and depends on a pair's own visits: rules are made where the data are. c is the one under which the
counts of all pairs are most likely. Of a pair that is like no judge its own visits tell all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from gim.analogy.cross_validation import taken
from gim.analogy.prior import Prior, compare_likelihoods
from gim.analogy.reuse import picked
from gim.analogy.unseen import weight
from gim.belief.certificate.draws import Rows, join, no_ways
from gim.belief.certificate.facts import Bools, Facts, Floats
from gim.belief.certificate.judges import DIRECTIONS, Curve, Judges, parts_of
from gim.belief.certificate.surprises import surprises

FAILS = 0.1  # doubt above which predictions fail
WORTH = 5.0  # visits that a prediction must be worth for a bound to rest on it


class Kinds(NamedTuple):
    """What judges say of predictions, and of whom they can say it."""

    curve: Curve  # the worth as errors in all directions have it
    doubt: Floats  # [S, A] the chance that the analogy fails at a pair
    leak: float  # share of visits that predictions miss where they hold
    unlike: Bools  # [S, A] pairs without judges of their kind, or where predictions fail
    silent: Bools  # [S, A] these, and pairs whose predictions are worth next to nothing


class BelievedRows(NamedTuple):
    """What is believed of every pair, for a number of models."""

    returns: Rows  # the worth along the values of the plan, whatever a pair's own visits
    along: Rows  # the same for bounds on pairs: their own visits matter
    everywhere: Rows  # the worth as errors in all directions have it


def kinds(judges: Judges, rng: np.random.Generator) -> Kinds:
    """Ask the judges, who are at least one; random signs are functions in all directions."""
    curve = judges.curve(np.where(rng.random((judges.S, DIRECTIONS)) < 0.5, -1.0, 1.0))
    n0 = curve.n0(judges.evidence)
    failures = judges.failures(n0)
    doubt = np.clip(judges.doubts(failures), 1e-12, 1.0 - 1e-12)
    unlike = ~judges.alike() | (doubt > FAILS)
    return Kinds(curve, doubt, failures.leak, unlike, unlike | (n0 < WORTH))


def dynamics(
    facts: Facts, said: Kinds | None, models: int, rng: np.random.Generator
) -> BelievedRows:
    """What is believed of every pair; without judges its own visits are all that is."""
    judges, prior, F = facts.judges, facts.belief.prior, facts.F
    S, A = facts.playable.shape
    mine, c, zero = parts_of(judges.all), judges.blank(), np.zeros(S * A)
    unseen = weight(judges.all)
    if said is None:
        first, next, n, q = join(*mine, *parts_of(sparse.csr_array((S * A, S))))
        own = zero, zero, np.ones((models, S * A)), c
        blank = Rows(first, next, n, q, *own, *no_ways(models, S * A), unseen)
        return BelievedRows(blank, blank, blank)
    told, leak = parts_of(predictions(prior, judges)), np.full(S * A, said.leak)
    n0 = said.curve.n0(judges.evidence).ravel()
    rule, anything = compare_likelihoods(mine, told, n0, leak, S)
    odds = np.log(said.doubt / (1.0 - said.doubt)).ravel() + np.clip(anything - rule, -700.0, 700.0)
    holds = 1.0 / (1.0 + np.exp(np.clip(odds, -700.0, 700.0)))
    holds[((prior.n0 == 0) | said.unlike).ravel()] = 0.0
    e = judges.evidence.ravel()
    values = judges.curve(F) if F.shape[1] else said.curve
    other = surprises(judges, n0[judges.pairs], said.leak)
    first, next, n, q = join(*mine, *told)
    even = [each.drawn(e, models, rng) for each in (values, said.curve)]
    visits = judges.visits.ravel() if facts.ruled else None
    along, everywhere, lesser = (
        each.drawn(e, models, rng, visits) for each in (values, said.curve, said.curve)
    )
    either = np.where(rng.random((models, 1)) < 0.5, along, lesser)
    ways = other.goals, other.drawn(models, rng)
    found = Rows(first, next, n, q, zero, holds, np.minimum(*even), c, *ways, unseen)
    return BelievedRows(
        returns=found,
        along=found._replace(n0=np.minimum(along, lesser) if facts.ruled else either),
        everywhere=found._replace(n0=np.minimum(everywhere, lesser), leak=leak),
    )


def predictions(prior: Prior, judges: Judges) -> sparse.csr_array:
    """What is predicted of every pair [S*A, S]: of a judge, without it."""
    place = np.full(prior.n0.size, -1)
    place[judges.pairs] = np.arange(judges.pairs.size)
    rows = picked(place >= 0, taken(judges.held, place), prior.rows())
    rows.sort_indices()
    return rows
