"""Errors that predictions which are alike have in common.

Where a rule is wrong it is wrong for many pairs at once: an edge at which moves stop instead of
going on, a state like no other. Each of these pairs may have been met once, so that none can tell
by itself, while the pairs that were met often are elsewhere. So the errors x = (p_hat - q).f of
judges are pooled: of a state, of an action, of those met about as often, of those with the same
most likely next state, or with about the same expectation. The mean X of a group has variance v by
chance alone, from counting and from errors of each pair's own; the error u that the group shares is
none, or it is normal:

    X = u + noise,   noise ~ N(0, v),   u ~ (1 - share) 0 + share N(0, size^2).

Who errs alike, share and size are inferred from all groups at once, as a distribution over a grid,
and u is drawn given X. Where predictions are right in every group, next to nothing is added.

One error does not show in X: a rule says what an action does from the visits of that action, and
each of them is judged by the others. If all of them together were unlucky, no residual tells. So
the error of a mean of as many visits as the action has had is drawn besides, in the same direction
for all its pairs and as wide as outcomes spread there: with few visits of an action in all, or with
none where an error would have shown, bounds on its pairs are wide.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit, logsumexp

from gim.belief.certificate.judges import Floats, Ints, Judges

SHARES = np.array([0.03, 0.1, 0.2, 0.4, 0.7])
SIZES = 2.0 ** np.arange(-6, 1.5, 0.5)  # in standard deviations of f over states
LEAST = 6  # judges in a group of like predictions
FLOOR = 1e-4  # the least sd of a mean, in the same unit
FULL = 4.0  # visits at which a judge counts half
UNKNOWN = 1e6  # variance of the mean of a group without judges


class Shared(NamedTuple):
    """The shared errors in each model that is drawn."""

    which: Ints  # [models] by which grouping
    groups: list[Ints]  # of each grouping: [S*A, M] the group of every pair
    u: list[Floats]  # of each grouping: [models, G, M]
    luck: Floats = np.zeros((1, 1, 1))  # [models, A, 1] of all visits of an action together
    open: Floats = np.zeros((1, 1))  # [S*A, M] how far it may have led, one standard deviation

    def of(self, pairs: Ints) -> Floats:
        """Those of these pairs [B], [models, B, M]."""
        steps = np.arange(self.groups[0].shape[1])
        found = np.zeros((self.which.size, pairs.size, steps.size))
        for k, (group, u) in enumerate(zip(self.groups, self.u, strict=True)):
            mine = self.which == k
            found[mine] = u[mine][:, group[pairs], steps]
        return np.asarray(found + self.luck[:, pairs % self.luck.shape[1]] * self.open[pairs])


def groupings(judges: Judges, visits: Ints, told: sparse.csr_array, F: Floats) -> list[Ints]:
    """Who may err alike, [S*A, M] each.

    Pairs of a state, of an action, met about as often, most likely to lead to the same state, or
    with about the same expectation; of the last there are about sqrt(K) groups of K judges.

    Args:
        judges: the K pairs.
        visits: [S*A].
        told: [S*A, S] what is predicted of every pair.
        F: [S, M] functions of the next state.
    """
    said, K = np.asarray(told @ F), judges.pairs.size
    pair, many = np.arange(len(said)), max(1, K // max(LEAST, math.isqrt(K)))
    alike = np.zeros(said.shape, np.int64)
    for m in range(said.shape[1]):
        edges = np.quantile(said[judges.pairs, m], np.arange(1, many) / many)
        alike[:, m] = np.searchsorted(edges, said[:, m], side="right")
    often = np.log2(np.maximum(visits, 1)).astype(np.int64)
    simple = (pair // judges.A, pair % judges.A, often, modes(told))
    return [*(np.broadcast_to(each[:, None], said.shape) for each in simple), alike]


def modes(rows: sparse.csr_array) -> Ints:
    """The state with the largest share of each row; S of an empty one."""
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    order = np.lexsort((rows.data, row))
    found = np.full(rows.shape[0], rows.shape[1], np.int64)
    found[row[order]] = rows.indices[order]  # the last of a row stays
    return found


def shared_along(
    judges: Judges,
    n0: Floats,
    told: sparse.csr_array,
    F: Floats,
    groups: list[Ints],
    models: int,
    rng: np.random.Generator,
) -> Shared:
    """Shared errors of what is told [S*A, S], along F [S, M], if judges' is worth n0 [K]."""
    x, spread, noise = judges.off(F)
    spreads, weight = F.std(axis=0), judges.n / (judges.n + FULL)
    unit = np.where(spreads > 0.0, spreads, 1.0)  # along equal values no error shows
    variance = spread / (n0[:, None] + 1.0) + noise / judges.n[:, None]
    parts = np.ones_like(x), x / unit, weight[:, None] * variance / unit / unit
    means = []
    for group in groups:
        total, X, v = (summed(group, judges.pairs, weight[:, None] * part) for part in parts)
        means.append(_means(total, X, v))
    found = drawn(groups, means, models, rng)
    luck = rng.standard_normal((models, judges.A, 1))
    wide = np.maximum(told @ F**2 - np.asarray(told @ F) ** 2, 0.0)
    return found._replace(u=[u * unit for u in found.u], luck=luck, open=left_open(judges, wide))


def shared_distance(
    judges: Judges,
    n0: Floats,
    told: sparse.csr_array,
    groups: list[Ints],
    models: int,
    rng: np.random.Generator,
) -> Shared:
    """The L1 distances that groups [S*A, 1] share.

    Those of pooled counts and pooled predictions, less what chance alone would make them.
    """
    weight, q = judges.n / (judges.n + FULL), judges.held
    off = sparse.diags_array(weight / judges.n) @ judges.N - sparse.diags_array(weight) @ q
    each = sparse.diags_array(weight**2 * (1.0 / (n0 + 1.0) + 1.0 / judges.n)) @ (q - q.multiply(q))
    means = []
    for group in groups:
        of, G = group[judges.pairs, 0], int(group.max()) + 1
        pool = sparse.csr_array((np.ones(of.size), (of, np.arange(of.size))), shape=(G, of.size))
        total, chance = pool @ weight, pool @ each
        far = np.asarray(abs(pool @ off).sum(axis=1)).ravel()
        usual = np.sqrt(2.0 / math.pi) * np.asarray(chance.sqrt().sum(axis=1)).ravel()
        v = (1.0 - 2.0 / math.pi) * np.asarray(chance.sum(axis=1)).ravel()
        means.append(_means(*(part[:, None] for part in (total, far - usual, v))))
    found = drawn(groups, means, models, rng)
    roots = np.asarray((told - told.multiply(told)).sqrt().sum(axis=1)).reshape(-1, 1)
    far = math.sqrt(2.0 / math.pi) * left_open(judges, roots**2)
    luck = np.ones((1, judges.A, 1))
    return found._replace(u=[np.maximum(u, 0.0) for u in found.u], luck=luck, open=far)


def left_open(judges: Judges, wide: Floats) -> Floats:
    """How far all visits of an action together may mislead, [S*A, M], one standard deviation.

    A visit tells of a pair as far as it could have shown the error: `wide` [S*A, M], the variance
    that is predicted of single outcomes, is small where all moves end at an edge, and what was seen
    there says little of pairs from which they do not.
    """
    A, found = judges.A, np.sqrt(wide)
    for a in np.unique(judges.actions):
        mine = judges.actions == a
        n, here = judges.n[mine], wide[a::A]
        for m, seen in enumerate(wide[judges.pairs[mine]].T):
            order = np.argsort(seen)
            narrower = np.searchsorted(seen[order], here[:, m])
            part = np.append(0.0, np.cumsum((n * seen)[order]))[narrower]
            full = n.sum() - np.append(0.0, np.cumsum(n[order]))[narrower]
            visits = full + part / np.where(here[:, m] > 0.0, here[:, m], 1.0)
            found[a::A, m] /= np.sqrt(np.maximum(visits, 1.0))
    return found


def _means(total: Floats, X: Floats, v: Floats) -> tuple[Floats, Floats]:
    """Weighted means and their variances from sums [G, M]; nothing is known without judges."""
    some = np.where(total > 0, total, 1.0)
    return X / some, np.where(total > 0, np.maximum(v / some**2, FLOOR**2), UNKNOWN)


def summed(group: Ints, pairs: Ints, values: Floats) -> Floats:
    """Sums of values [K, M] of pairs [K] over each group, [G, M]."""
    M, G = values.shape[1], int(group.max()) + 1
    place = group[pairs] * M + np.arange(M)
    return np.asarray(np.bincount(place.ravel(), values.ravel(), G * M).reshape(G, M), np.float64)


def drawn(
    groups: list[Ints], means: list[tuple[Floats, Floats]], models: int, rng: np.random.Generator
) -> Shared:
    """u given X and v, [G, M] each, of each grouping, in so many models.

    Functions are values of one plan: they are one witness, and share the dice.
    """
    share, size = (axis.ravel() for axis in np.meshgrid(SHARES, SIZES, indexing="ij"))
    odds = [slab_odds(X, v, share, size) for X, v in means]
    score = [
        (np.logaddexp(0.0, each) + np.log1p(-share)[:, None, None]).mean(axis=2).sum(axis=1)
        for each in odds
    ]
    total = np.concatenate(score)
    picked = rng.choice(total.size, size=models, p=np.exp(total - logsumexp(total)))
    which, at = np.divmod(picked, share.size)
    found = []
    for (X, v), each in zip(means, odds, strict=True):
        keep = size[at, None, None] ** 2 / (v + size[at, None, None] ** 2)
        there = rng.random((models, len(X), 1)) < expit(each[at])
        u = keep * X + np.sqrt(keep * v) * rng.standard_normal((models, len(X), 1))
        found.append(np.where(there, u, 0.0))
    return Shared(which, groups, found)


def slab_odds(X: Floats, v: Floats, share: Floats, size: Floats) -> Floats:
    """ln of the odds [grid, G, M] that a group with mean X [G, M] errs together."""
    wide = v + size[:, None, None] ** 2
    prior = (np.log(share) - np.log1p(-share))[:, None, None]
    return np.asarray(prior - 0.5 * (np.log(wide / v) + X**2 / wide - X**2 / v))
