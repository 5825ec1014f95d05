"""A family of units: the distributions of their latent outcomes are drawn around a few kinds.

    theta_k ~ sum_j pi_j Dirichlet(kappa m_j)

Kinds are free, or lie on a curve, m_z = softmax(mu + W z) with z on a grid: a curve of one
dimension holds every exponential family of one parameter, such as Poisson demand of any mean,
without knowing it. Which outcome a row had is latent; units and family are fitted by variational
expectation and maximisation: for a unit w_o = exp E log theta_o, its row is shared out among the
outcomes that explain it in proportion to w, and a kind is as likely as the evidence bound is high;
for the family Minka's fixed point (2000) of the Dirichlet-multinomial.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import digamma, gammaln, logsumexp, softmax

from gim.belief.family.cells import Cells, Layout
from gim.belief.family.units import Bools, Floats, Ints

OUTER, INNER = 30, 3  # limit: iterations of the family, and of units for each
REST = 12  # limit: of units, at the end
STILL = 2e-4  # limit: of the evidence, for each row, by which it must grow to go on
GRID = 17, 5  # limit: places on a curve of one dimension, and on each of two
FAR = 2.2  # how far the grid goes
PRIOR = 1.0  # visits that outcomes share before anything is seen
SLOPE = 0.5  # precision of the slopes of a curve
ODD = 0.01  # of rows that no outcome explains, before anything is seen
ROWS = 50.0  # that this counts for
STEPS = 15  # limit: of the optimiser, for a curve


class Form(NamedTuple):
    """How units may differ in one part of the outcome."""

    kinds: int = 1
    dimensions: int = 0  # of a curve; 0: free kinds

    @property
    def nodes(self) -> int:
        """Kinds, or places on the curve."""
        return len(self.grid) if self.dimensions else self.kinds

    @property
    def grid(self) -> Floats:
        """[nodes, dimensions]."""
        return grid_of(self.dimensions)

    def __str__(self) -> str:
        if self.dimensions:
            return f"a curve of {self.dimensions}"
        return f"{self.kinds} kinds" if self.kinds > 1 else "one kind"


def grid_of(dimensions: int) -> Floats:
    """Places of a standard normal variable."""
    axis = np.linspace(-FAR, FAR, GRID[dimensions - 1])
    return np.stack(np.meshgrid(*[axis] * dimensions, indexing="ij"), -1).reshape(-1, dimensions)


class Kinds(NamedTuple):
    """A family, fitted."""

    forms: tuple[Form, ...]  # [F] of each part
    node: Ints  # [F, J] the node of each part in each kind of the whole
    weight: Floats  # [J]
    m: Floats  # [J, n] mean distributions
    kappa: Floats  # [G] concentrations
    behind: Floats  # [G] visits behind the means
    eps: float  # share of rows that no outcome explains
    curve: tuple[Floats, ...]  # [F] of [1 + dimensions, n]: mu and W; of no size for free kinds


class Posterior(NamedTuple):
    """Units, given a family."""

    alpha: Floats  # [U, J, n] of the Dirichlet distributions
    log_odds: Floats  # [U, J] evidence of each kind, with its weight

    @property
    def share(self) -> Floats:
        """[U, J] how likely each kind is."""
        return np.asarray(softmax(self.log_odds, axis=1))

    @property
    def evidence(self) -> Floats:
        """[U] log-likelihood of all rows of a unit, a lower bound."""
        return np.asarray(logsumexp(self.log_odds, axis=1))


def posterior(
    layout: Layout, X: Floats, family: Kinds, steps: int = REST, L: Floats | None = None
) -> Posterior:
    """What is believed of units [U, M]; L [U, J, n] are latent counts to begin with."""
    a = prior_of(layout, family)
    if L is None:  # in proportion to means: a rare outcome must not be shut out from the start
        mean = np.tile(a / layout.sums(a)[:, layout.group], (len(X), 1, 1))
        L = shared_out(layout, X, mean, family.eps)[0]
    for _ in range(steps):
        L = shared_out(layout, X, w_of(layout, a + L), family.eps)[0]
    alpha = a + L
    log_theta = np.log(w_of(layout, alpha))
    chance = shared_out(layout, X, np.exp(log_theta), family.eps)[1]
    bound = (X[:, None] * np.log(chance)).sum(axis=-1) - divergence(layout, alpha, a, log_theta)
    return Posterior(alpha, bound + np.log(family.weight))


def prior_of(layout: Layout, family: Kinds) -> Floats:
    """[J, n] the Dirichlet of a unit never seen: no surer than the visits behind the family."""
    kappa = family.kappa * family.behind / (family.kappa + family.behind)
    return np.maximum(kappa[layout.group] * family.m, 1e-8)


def w_of(layout: Layout, alpha: Floats) -> Floats:
    """exp E log theta, [..., n]."""
    total = digamma(layout.sums(alpha))[..., layout.group]
    return np.asarray(np.exp(np.maximum(digamma(alpha) - total, -300.0)))


def shared_out(layout: Layout, X: Floats, w: Floats, eps: float) -> tuple[Floats, Floats]:
    """Latent counts [U, J, n], and the chance of each cell [U, J, M]."""
    each: Floats = w[..., layout.of[0]]
    for of in layout.of[1:]:
        each = each * w[..., of]
    U, J, Q = each.shape
    flat = np.asarray(each.reshape(U * J, Q) @ layout.explains.T).reshape(U, J, -1)
    chance = (1.0 - eps) * flat + eps / layout.S
    back = np.asarray(((1.0 - eps) * X[:, None] / chance).reshape(U * J, -1) @ layout.explains)
    counts = each * back.reshape(U, J, Q)
    if len(layout.of) == 1:
        L = np.zeros(w.shape)
        L[..., layout.of[0]] = counts
        return L, chance
    L = np.zeros(w.shape)
    for of in layout.of:
        which, at = np.unique(of, return_inverse=True)
        L[..., which] += counts @ np.eye(len(which))[at.ravel()]
    return L, chance


def divergence(layout: Layout, alpha: Floats, a: Floats, log_theta: Floats) -> Floats:
    """Kullback and Leibler's of Dirichlet distributions, summed over groups [U, J]."""
    by_group = gammaln(layout.sums(alpha)) - gammaln(layout.sums(a))
    by_outcome = gammaln(a) - gammaln(alpha) + (alpha - a) * log_theta
    return np.asarray(by_group.sum(axis=-1) + by_outcome.sum(axis=-1))


def vague(layout: Layout, kappa: float, eps: float = ODD) -> Kinds:
    """No family: every outcome alike."""
    G, F = len(layout.begin), len(layout.of)
    forms = (Form(),) * F
    node, none = np.zeros((F, 1), np.int64), np.zeros((2, 0))
    big = np.full(G, kappa)
    return Kinds(
        forms, node, np.ones(1), layout.base[None], big, np.full(G, np.inf), eps, (none,) * F
    )._replace(behind=np.full(G, 1e12))


def fitted(
    cells: Cells,
    forms: tuple[Form, ...],
    kappa: float,
    start: Kinds | None = None,
    outer: int = OUTER,
) -> Kinds:
    """The family of units, by variational EM.

    Args:
        cells: what was counted.
        forms: [F] how units may differ in each part of the outcome.
        kappa: where concentrations begin: the fixed point hardly leaves it.
        start: a family to go on from.
        outer: iterations.
    """
    layout, X = cells.layout, cells.X
    family = _begun(cells, forms, kappa) if start is None else start
    L, before, rows = None, -np.inf, max(float(X.sum()), 1.0)
    for _ in range(outer):
        found = posterior(layout, X, family, INNER, L)
        L = found.alpha - prior_of(layout, family)
        family = _maximised(layout, X, found, L, family)
        now = float(found.evidence.sum())
        if now - before < STILL * rows:
            break
        before = now
    return family


def _begun(cells: Cells, forms: tuple[Form, ...], kappa: float) -> Kinds:
    """Kinds to begin with: units in the order of what sets them apart most, cut into parts."""
    layout, X = cells.layout, cells.X
    alone = posterior(layout, X, vague(layout, 1.0), INNER)
    share = alone.alpha[:, 0] / layout.sums(alone.alpha[:, 0])[:, layout.group]
    many = np.maximum(layout.sums(alone.alpha[:, 0] - layout.base), 0.0)  # [U, G] visits
    J = int(np.prod([form.nodes for form in forms]))
    node = np.stack(np.unravel_index(np.arange(J), [form.nodes for form in forms]))
    m, curves = np.empty((J, len(layout.group))), []
    for f, form in enumerate(forms):
        mine = layout.part[layout.group] == f
        weight = many[:, layout.group[mine]]
        mean = (share[:, mine] * weight).sum(axis=0) + layout.base[mine]
        mean = mean / _sums(mean, layout.group[mine])
        apart = (np.sqrt(share[:, mine]) - np.sqrt(mean)) * np.sqrt(weight)
        heavy = np.sqrt(np.maximum(weight.sum(axis=1, keepdims=True), 1.0))
        scores = _principal(apart / heavy, max(1, form.dimensions))
        if form.dimensions:
            near = -0.5 * ((form.grid[:, None] - scores[None]) ** 2).sum(-1) / 0.3**2
            r = softmax(near, axis=0).T  # [U, nodes]
        else:
            rank = np.argsort(np.argsort(scores[:, 0], kind="stable"), kind="stable")
            r = np.eye(form.nodes)[rank * form.nodes // max(len(rank), 1)]
        t = r.T @ (share[:, mine] * weight) + layout.base[mine] + 0.1 * mean
        curve = np.zeros((0, mine.sum()))
        if form.dimensions:
            curve, nodes = _bent(t, form.grid, layout.group[mine], None)
        else:
            nodes = t / _sums(t, layout.group[mine])
        curves.append(curve)
        m[:, mine] = nodes[node[f]]
    weight = np.ones(J)
    for f, form in enumerate(forms):
        if form.dimensions:
            weight = weight * np.exp(-0.5 * (form.grid[node[f]] ** 2).sum(axis=1))
    G = len(layout.begin)
    full = np.full(G, float(kappa))
    behind = many.sum(axis=0) + PRIOR
    return Kinds(forms, node, weight / weight.sum(), m, full, behind, ODD, tuple(curves))


def _sums(x: Floats, group: Ints) -> Floats:
    """[..., n] the sum of the group of each parameter; groups stand together."""
    begin = np.flatnonzero(np.append(True, np.diff(group) != 0))
    at = np.cumsum(np.append(False, np.diff(group) != 0))
    return np.asarray(np.add.reduceat(x, begin, axis=-1)[..., at])


def _principal(x: Floats, dimensions: int) -> Floats:
    """[U, dimensions] scores on the leading directions, of variance 1."""
    x = x - x.mean(axis=0)
    wide = x.shape[1] > len(x)  # of the smaller product, which never fails to converge
    found = np.linalg.eigh(x @ x.T if wide else x.T @ x)[1][:, ::-1][:, :dimensions]
    size = np.linalg.norm(found.T @ x, axis=1) if wide else 1.0
    scores = np.zeros((len(x), dimensions))
    scores[:, : found.shape[1]] = (found if wide else x @ found) * size
    return np.asarray(scores / np.maximum(scores.std(axis=0), 1e-12))


def _maximised(layout: Layout, X: Floats, found: Posterior, L: Floats, old: Kinds) -> Kinds:
    """The family that suits what is believed of units."""
    r = found.share
    a = np.maximum(old.kappa[layout.group] * old.m, 1e-8)
    t = np.einsum("uj,ujn->jn", r, a * (digamma(a + L) - digamma(a)))
    Lg = layout.sums(L)
    spread = np.einsum("uj,ujg->g", r, digamma(old.kappa + Lg) - digamma(old.kappa))
    total = layout.sums(t.sum(axis=0))
    kappa = np.where(spread > 1e-9, (total + 2.0) / np.maximum(spread, 1e-9), old.kappa)
    kappa = np.clip(np.where(total > 0, np.minimum(kappa, 1.5 * old.kappa), old.kappa), 0.5, 5e3)
    m, curves = np.empty_like(old.m), []
    for f, form in enumerate(old.forms):
        mine = layout.part[layout.group] == f
        group = layout.group[mine]
        by_node = np.zeros((form.nodes, mine.sum()))
        np.add.at(by_node, old.node[f], t[:, mine])
        root = _root(layout, mine, by_node)
        if form.dimensions:
            curve, nodes = _bent(
                by_node + PRIOR * root / form.nodes, form.grid, group, old.curve[f]
            )
        else:
            curve, nodes = old.curve[f], by_node + PRIOR * root
            nodes = nodes / _sums(nodes, group)
        curves.append(curve)
        m[:, mine] = nodes[old.node[f]]
    weight = r.sum(axis=0) + 1.0 / len(old.weight)
    behind = np.einsum("uj,ujg->g", r, Lg) + PRIOR
    _, chance = shared_out(layout, X, w_of(layout, found.alpha), old.eps)
    odd = np.einsum("um,ujm,uj->", X, old.eps / layout.S / chance, r)
    eps = float((odd + ODD * ROWS) / (X.sum() + ROWS))
    return Kinds(old.forms, old.node, weight / weight.sum(), m, kappa, behind, eps, tuple(curves))


def _root(layout: Layout, mine: Bools, t: Floats) -> Floats:
    """[n] outcomes of all contexts together, half of it evenly: what a context never met has."""
    outcome, base, group = layout.outcome[mine], layout.base[mine], layout.group[mine]
    total = np.bincount(outcome + 1, t.sum(axis=0), int(outcome.max(initial=0)) + 2)
    root = (total[outcome + 1] + PRIOR * base) / (total[1:].sum() + PRIOR)
    seen = _sums(np.where(outcome >= 0, root, 0.0), group)
    root = np.where(outcome >= 0, root, np.maximum(1.0 - seen, 0.0))
    return np.asarray(0.5 * root + 0.5 * base)


def _bent(t: Floats, grid: Floats, group: Ints, start: Floats | None) -> tuple[Floats, Floats]:
    """The curve mu and W [1 + d, n] that suits counts t [nodes, n], and its places [nodes, n]."""
    Z = np.column_stack([np.ones(len(grid)), grid])
    begin = np.flatnonzero(np.append(True, np.diff(group) != 0))
    at = np.cumsum(np.append(False, np.diff(group) != 0))
    total = np.add.reduceat(t, begin, axis=1)
    if start is None or not start.size:
        mean = t.sum(axis=0)
        start = np.vstack(
            [
                np.log(np.maximum(mean / _sums(mean, group), 1e-9)),
                np.zeros((grid.shape[1], t.shape[1])),
            ]
        )
        # a first slope: what places away from the middle have more of
        centre = np.log((t + 0.1) / _sums(t + 0.1, group))
        w = total.sum(axis=1, keepdims=True)
        start[1:] = (grid * w).T @ (centre - start[0]) / ((grid**2 * w).sum(axis=0)[:, None] + 1.0)
        start[1:] *= 0.5

    def places(curve: Floats) -> Floats:
        x = Z @ curve
        x = x - np.maximum.reduceat(x, begin, axis=1)[:, at]
        return np.asarray(x - np.log(np.add.reduceat(np.exp(x), begin, axis=1))[:, at])

    def loss(flat: Floats) -> tuple[float, Floats]:
        curve = flat.reshape(len(Z.T), -1)
        x = places(curve)
        gradient = Z.T @ (np.exp(x) * total[:, at] - t)
        gradient[1:] += SLOPE * curve[1:]
        return float(-(t * x).sum() + 0.5 * SLOPE * (curve[1:] ** 2).sum()), gradient.ravel()

    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    curve = found.x.reshape(len(Z.T), -1)
    return curve, np.exp(places(curve))
