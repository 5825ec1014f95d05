"""What rows pay in a family: a line that all units share, and differences on top of it.

    r(p, s') = line(action, after-state, next state) + all units' own of each key + this unit's

The line is found on all units, by least absolute deviations, *with the after-state of the rule*:
without it, what full shelves pay is taken for what slow shops' actions pay. A column of an action
that few different rows show is left out: what rests on one triple must not be a coefficient for
all. What is left is a value of a key (where a row leads; what is done; both), first of all units
and then of the unit, each shrunk by how much units, and single rows, were seen to differ. Which
key, and whether there is a line, is what predicts half of the pairs of units that were left out by
the other half and the other units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gim.analogy.structure.rewards import least_absolute
from gim.analogy.structure.triples import distinct
from gim.belief.family.rules import Table
from gim.belief.family.units import Bools, Floats, Ints, Rows

SHOWN = 3  # different rows that a column must rest on
EXACT = 1e-6  # of the spread of rewards: what is so near is the same
CLEARLY = 0.8  # of the error that is left, by which columns of actions must be better
BETTER = 0.97  # of the error that is left, by which a finer key must be better
STILL = 1e-9
OFTEN = 5.0  # times that a row counts for at the most, about
UNKNOWN = 0.5  # of the variance of keys: that of units, as long as none were compared
FOLDS = 3  # limit: parts of the units, each left out once
TOGETHER = 128  # limit: keys up to which it is told how units' own values go together
TURNS = 8  # limit: of the iteration that finds out
WORTH = 2.0  # units that the belief that keys are independent counts for
RIDGE = 1e-4  # of the variance of a column, that its coefficient is shrunk by
APART = 1e-6  # of its length: what a column must have that no other explains

# What a key may look at.
NOTHING, NEXT, ACTION, STATE, PAIR, MOVE, TRIPLE, AFTER, LEADS = 0, 1, 2, 3, 4, 5, 6, 7, 8
CHAINS = (
    (),
    (NOTHING,),
    (NOTHING, NEXT),
    (NOTHING, ACTION),
    (NOTHING, STATE),
    (NOTHING, AFTER),
    (NOTHING, AFTER, PAIR),
    (NOTHING, STATE, PAIR),
    (NOTHING, NEXT, MOVE),
    (NOTHING, STATE, PAIR, TRIPLE),
    (NOTHING, LEADS),
)
# What a line looks at ahead: nothing, for there is none; what came; what was to be expected.
NONE, CAME, EXPECTED = LINES = 0, 1, 2


class Shape(NamedTuple):
    """What rewards depend on."""

    line: int
    chain: tuple[int, ...]


class Ahead(NamedTuple):
    """Next states and changes of the variables, as numbers that a line may look at."""

    came: Floats  # [I, 2k] the next state, and the change that is to be expected, given that
    expected: Floats  # [I, 2k] both as they were to be expected of the unit
    leads: Floats  # [I, S] chances of next states, as they were; [I, 0] where there are too many

    def of(self, kept: Any) -> Ahead:
        """Only some rows."""
        return Ahead(self.came[kept], self.expected[kept], self.leads[kept])

    def by(self, line: int) -> Floats:
        """What a line looks at."""
        return self.expected if line == EXPECTED else self.came


class Paid(NamedTuple):
    """What a family pays."""

    shape: Shape
    line: Floats  # [d] coefficients; of no size without a line
    columns: Ints  # [c] the actions that have a column
    common: tuple[Floats, ...]  # by level of the chain: [keys] what all units have on top
    between: tuple[Floats, ...]  # by level: [keys] variance of that mean, as it is known
    differ: tuple[Floats, ...]  # by level: variance [1] of a unit's own on top, or covariance
    noise: float  # variance of single rows
    range: tuple[float, float]  # the least and the largest that was met


def sights(table: Table, kind: int, rows: Rows, ahead: Ahead) -> tuple[Ints, int, Floats | None]:
    """The key of each row, how many there are, and shares of keys [I, keys] if it looks at many."""
    if kind == LEADS:
        return rows.next, ahead.leads.shape[1], ahead.leads
    return *keys_of(table, kind, rows.pair, rows.next, rows.way), None


def at(u: Floats, key: Ints, share: Floats | None) -> Floats:
    """[I] the value of the key of each row, or of its shares of keys."""
    return u[key] if share is None else share @ u


def tempered(rows: Rows) -> Rows:
    """The same, where what was seen many times counts for a few: it is no surer for that."""
    return rows._replace(n=rows.n / (1.0 + rows.n / OFTEN))


def keys_of(table: Table, kind: int, pair: Ints, t: Ints, way: Any = 0) -> tuple[Ints, int]:
    """The key of each row, and how many keys there are."""
    S, A = table.space.S, table.space.A
    if kind == NOTHING:
        return np.zeros(len(pair), np.int64), 1
    if kind == NEXT:
        return t, S
    if kind == ACTION:
        return pair % A, A
    if kind == STATE:
        return pair // A, S
    if kind == PAIR:
        return pair, S * A
    if kind == TRIPLE:
        return pair * S + t, S * A * S
    here = table.standing[np.minimum(way, len(table.standing) - 1), pair]
    if kind == AFTER:
        return here, S
    return here * S + t, S * S  # MOVE: the after-state and next


def design(table: Table, columns: Ints, pair: Ints, ahead: Floats, way: Any = 0) -> Floats:
    """[I, d] of the line: 1, actions, the variables after the action, before it, and next.

    What says the same in all rows is said by the first of them. Where no row was ever cut off at an
    edge, the state and the action say together what the after-state does, but not beyond the rows.
    """
    triples = table.space.bare
    order = triples.ordinal
    s, a = np.divmod(pair, table.space.A)
    base = table.base[np.minimum(way, len(table.base) - 1), pair]
    parts = [np.ones((len(pair), 1)), (a[:, None] == columns).astype(np.float64)]
    if table.rule.shift is not None:
        parts.append(np.clip(base, 0, table.values.sizes - 1)[:, order])
    amounts = triples.action_codes[a][:, triples.action_ordinal]
    parts += [
        amounts,
        amounts[:, triples.action_codes[:, triples.action_ordinal].max(axis=0) > 1] > 0,
    ]
    parts += [triples.codes[s][:, order], ahead]
    return np.column_stack(parts).astype(np.float64)


def shown(table: Table, rows: Rows) -> Ints:
    """Actions that enough different rows show, but for the first of them."""
    key = distinct(rows.pair * table.space.S + rows.next)[0]
    often = np.bincount(key // table.space.S % table.space.A, minlength=table.space.A)
    return np.flatnonzero(often >= SHOWN)[1:]


def line_of(table: Table, rows: Rows, ahead: Floats, exact: bool = True) -> tuple[Floats, Ints]:
    """Its coefficients, and the actions that have a column.

    Amounts of actions come first, so that an action that was hardly tried is like those beside it;
    actions have columns of their own on top only if that leaves clearly less.
    """
    none = np.zeros(0, np.int64)
    order = np.random.default_rng(0).permutation(len(rows.n))  # a part of them may stand for all
    rows, ahead = rows.of(order), ahead[order]
    many = len(distinct(rows.pair * table.space.S + rows.next)[0])
    X = design(table, none, rows.pair, ahead, rows.way)
    if many < 2 * X.shape[1]:
        return np.zeros(0), none
    fit = independent if exact else ridge
    line = fit(X, rows.r, rows.n)
    left, columns = rows.r - X @ line, shown(table, rows)
    if many < 2 * (X.shape[1] + len(columns)):
        return line, none
    X = design(table, columns, rows.pair, ahead, rows.way)
    more = fit(X, left, rows.n)
    error, rest = (float(rows.n @ np.abs(e)) for e in (left, left - X @ more))
    floor = EXACT * float(np.ptp(rows.r)) * float(rows.n.sum())
    if rest > CLEARLY * error - floor:
        return line, none
    more[0] += line[0]
    more[1 + len(columns) :] += line[1:]
    return more, columns


def independent(X: Floats, y: Floats, weight: Floats) -> Floats:
    """Least absolute deviations by the columns that say something that none before them says."""
    Q, kept = np.zeros((len(X), 0)), list[int]()
    for j, column in enumerate(X.T):
        rest = column - Q @ (Q.T @ column)
        rest -= Q @ (Q.T @ rest)
        size = float(np.sqrt(rest @ rest))
        if size > APART * float(np.sqrt(column @ column)) and size > 0:
            Q, kept = np.column_stack([Q, rest / size]), [*kept, j]
    found = np.zeros(X.shape[1])
    found[kept] = least_absolute(X[:, kept], y, weight[None])[0]
    return found


def ridge(X: Floats, y: Floats, weight: Floats) -> Floats:
    """Least squares with a little shrinkage: what is to be expected of a unit is itself a guess."""
    share = weight / weight.sum()
    middle = share @ X
    middle[0] = 0.0
    moved = X - middle
    size = np.sqrt(share @ moved**2)
    scaled = moved / np.where(size > 1e-9, size, np.inf)
    left = scaled.T @ (scaled * share[:, None])
    shrink = RIDGE * np.eye(len(left))
    shrink[0, 0] = 0.0 if size[0] > 0 else RIDGE
    b = np.linalg.solve(left + shrink, scaled.T @ (share * y))
    b = np.where(size > 1e-9, b / np.where(size > 1e-9, size, 1.0), 0.0)
    b[0] -= (middle * b).sum()
    return np.asarray(b)


def along(table: Table, paid: Paid, pair: Ints, ahead: Ahead, way: Any = 0) -> Floats:
    """[I] what the line says."""
    if not paid.line.size:
        return np.zeros(len(pair))
    X = design(table, paid.columns, pair, ahead.by(paid.shape.line), way)
    return np.asarray(X @ paid.line)


def fitted(table: Table, rows: Rows, shape: Shape, ahead: Ahead) -> Paid:
    """What all units have in common, level by level, and how much they differ."""
    line, columns = np.zeros(0), np.zeros(0, np.int64)
    if shape.line:
        exact = shape.line == CAME
        line, columns = line_of(table, rows, ahead.by(shape.line), exact)
    span = (float(rows.r.min(initial=0.0)), float(rows.r.max(initial=0.0)))
    paid = Paid(shape, line, columns, (), (), (), 0.0, span)
    left = rows.r - along(table, paid, rows.pair, ahead, rows.way)
    spread = max(span[1] - span[0], 1e-9)
    floor = (1e-4 * spread) ** 2
    common, between, differ = [], [], []
    noise = float(rows.n @ left**2 / max(rows.n.sum(), 1.0))
    for kind in shape.chain:
        key, many, share = sights(table, kind, rows, ahead)
        units, unit = np.unique(rows.unit, return_inverse=True)
        if share is not None:
            mu, variance, cloud, noise = mixed(share, left, rows.n, unit.ravel(), floor)
            common.append(mu)
            between.append(variance)
            differ.append(cloud)
            left = left - share @ mu
            continue
        both, place_of = np.unique(unit.ravel() * many + key, return_inverse=True)
        place_of = place_of.ravel()
        n = np.bincount(place_of, rows.n, len(both))
        mean = np.bincount(place_of, rows.n * left, len(both)) / n
        noise = (
            float(rows.n @ (left - mean[place_of]) ** 2 / max(rows.n.sum() - len(both), 1.0))
            + floor
        )
        who, of = np.divmod(both, many)
        met, place = np.unique(of, return_inverse=True)
        place = place.ravel()
        # variance of units about the mean of their key, and of keys about nothing
        w = np.bincount(place, n, len(met))
        centre = np.bincount(place, n * mean, len(met)) / w
        excess = float((n * (mean - centre[place]) ** 2).sum()) - noise * (len(both) - len(met))
        free = float(n.sum() - (np.bincount(place, n**2, len(met)) / w).sum())
        tau = max(excess, 0.0) / free if free > 0 else 0.0
        v = 1.0 / np.bincount(place, 1.0 / (tau + noise / n), len(met))
        best = v * np.bincount(place, mean / (tau + noise / n), len(met))
        apart = max(float(np.mean(best**2 - v)), floor)
        shrink = apart / (apart + v)
        if free <= 0:  # no key was met by two units: nothing says that they agree
            tau = UNKNOWN * float(np.var(mean))
        mu, variance = np.zeros(many), np.full(many, apart + tau)
        mu[met], variance[met] = shrink * best, shrink * v
        tau = max(tau, STILL * spread**2)
        cloud = np.full(1, tau)
        if many <= TOGETHER and len(units) > 1:
            cloud = covariance(mean - mu[of], noise / n, who, of, len(units), many, tau)
        common.append(mu)
        between.append(variance)
        differ.append(cloud)
        left = left - mu[key]
        for k in range(len(units)):
            mine = rows.unit == units[k]
            value, _ = conditioned(variance, cloud, noise, key[mine], rows.n[mine], left[mine])
            left[mine] -= value[key[mine]]
    return paid._replace(
        common=tuple(common), between=tuple(between), differ=tuple(differ), noise=max(noise, floor)
    )


def mixed(
    share: Floats, y: Floats, n: Floats, unit: Ints, floor: float
) -> tuple[Floats, Floats, Floats, float]:
    """Values of keys of which each row shows a mixture: those of all units, and how units differ.

    Where a row pays what was to be expected of its pair, it pays a mixture of what next states pay.
    Both levels are normal; their variances, and the noise, are found by expectation-maximisation.

    Args:
        share: [I, keys] of each row.
        y, n: [I] what rows paid, and how often.
        unit: [I] from 0.
        floor: of the noise.

    Returns:
        the means [keys], their variances [keys], the variance of units [1], and the noise.
    """
    keys, units = share.shape[1], int(unit.max(initial=0)) + 1
    parts = [(share[unit == k], y[unit == k], n[unit == k]) for k in range(units)]
    G = np.stack([(P * w[:, None]).T @ P for P, _, w in parts])
    b = np.stack([(P * w[:, None]).T @ r for P, r, w in parts])
    eye, mass = np.eye(keys), float(n.sum())
    scale = float(n @ y**2) / mass + floor
    tau, apart, noise, mu = scale, scale, 0.1 * scale + floor, np.zeros(keys)
    for _ in range(TURNS):
        inner = np.linalg.inv(eye + (tau / noise) * G)
        left = (inner @ G).sum(axis=0) / noise + eye / apart
        cover = np.linalg.inv(0.5 * (left + left.T))
        mu = cover @ np.einsum("kij,kj->i", inner, b) / noise
        off = tau / noise * np.einsum("kij,kj->ki", inner, b - G @ mu)
        spread = tau * np.einsum("kii->ki", inner)
        error = [w @ (r - P @ (mu + o)) ** 2 for (P, r, w), o in zip(parts, off, strict=True)]
        noise = float(sum(error)) / mass + floor
        apart = float(np.mean(mu**2 + np.diag(cover))) + floor
        tau = float(np.mean(off**2 + spread)) + floor if units > 1 else UNKNOWN * apart
    return mu, np.diag(cover).copy(), np.full(1, max(tau, STILL * scale)), noise


def covariance(
    off: Floats, error: Floats, who: Ints, of: Ints, units: int, many: int, tau: float
) -> Floats:
    """[many, many] how the own values of units go together, by EM (a unit has met some keys only).

    Shops that sell more pay more on every shelf: one row then says something of all.

    Args:
        off: [B] what units have on top of the mean of each key that they met.
        error: [B] variances of that.
        who, of: [B] units and keys.
        units, many: how many there are.
        tau: variance of each alone; it counts for a few units.
    """
    cloud = tau * np.eye(many)
    for _ in range(TURNS):
        total = WORTH * tau * np.eye(many)
        for unit in range(units):
            mine = who == unit
            at = of[mine]
            gain = np.linalg.solve(cloud[np.ix_(at, at)] + np.diag(error[mine]), cloud[at]).T
            mean = gain @ off[mine]
            total += np.outer(mean, mean) + cloud - gain @ cloud[at]
        cloud = total / (units + WORTH)
    return np.asarray(0.5 * (cloud + cloud.T))


def conditioned(
    between: Floats,
    differ: Floats,
    noise: float,
    key: Ints,
    n: Floats,
    left: Floats,
    share: Floats | None = None,
) -> tuple[Floats, Floats]:
    """What a unit has on top of the mean of each key, and the variance of that, [keys].

    Args:
        between: [keys] variance of the mean itself.
        differ: [keys, keys] covariance of units, or their variance [1].
        noise: variance of single rows.
        key, n, left: [I] rows of the unit, and what they paid more than the mean of their key.
        share: [I, keys] of each row, where it shows several keys.
    """
    many = len(between)
    if share is not None:
        prior = between + differ[0]
        inner = (share * prior) @ share.T + np.diag(noise / n)
        gain = np.linalg.solve(inner, share * prior).T if len(n) else np.zeros((many, 0))
        return gain @ left, np.maximum(prior - (gain.T * share * prior).sum(axis=0), 0.0)
    visits = np.bincount(key, n, many)
    mean = np.bincount(key, n * left, many) / np.maximum(visits, 1e-300)
    met = np.flatnonzero(visits)
    if differ.ndim == 1:
        prior = differ[0] + between * (between > differ[0])
        share = prior / (prior + noise / np.maximum(visits, 1e-300))
        return share * mean, prior * (1.0 - share)
    prior = differ + np.diag(between)
    if not len(met):
        return np.zeros(many), np.diag(prior).copy()
    inner = prior[np.ix_(met, met)] + np.diag(noise / visits[met])
    gain = np.linalg.solve(inner, prior[met]).T
    return gain @ mean[met], np.maximum(np.diag(prior) - (gain * prior[:, met]).sum(axis=1), 0.0)


class Own(NamedTuple):
    """What a unit pays on top, by level of the chain."""

    value: tuple[Floats, ...]  # [keys]
    variance: tuple[Floats, ...]  # [keys]


def own_of(table: Table, paid: Paid, rows: Rows, ahead: Ahead) -> Own:
    """What rows of one unit say of it."""
    left = rows.r - along(table, paid, rows.pair, ahead, rows.way)
    values, variances = [], []
    for level, kind in enumerate(paid.shape.chain):
        key, _, share = sights(table, kind, rows, ahead)
        left = left - at(paid.common[level], key, share)
        given = paid.between[level], paid.differ[level], paid.noise
        value, variance = conditioned(*given, key, rows.n, left, share)
        values.append(value)
        variances.append(variance)
        left = left - at(value, key, share)
    return Own(tuple(values), tuple(variances))


def said_of(
    table: Table, paid: Paid, own: Own, pair: Ints, t: Ints, ahead: Ahead, way: Any = 0
) -> tuple[Floats, Floats]:
    """[I] what rows are expected to pay, and the variance of that."""
    r, variance = along(table, paid, pair, ahead, way), np.zeros(len(pair))
    for level, kind in enumerate(paid.shape.chain):
        if kind == LEADS:
            r = r + ahead.leads @ (paid.common[level] + own.value[level])
            variance = variance + ahead.leads**2 @ own.variance[level]
            continue
        key, _ = keys_of(table, kind, pair, t, way)
        r = r + paid.common[level][key] + own.value[level][key]
        variance = variance + own.variance[level][key]
    return r, variance


def evidence_of(table: Table, paid: Paid, rows: Rows, ahead: Ahead) -> tuple[Bools, Ints]:
    """What rows paid as evidence of what happened: whether what the action adds has come.

    Returns [I, ways] whether each way agrees with the reward, and the way [I] that agrees best.
    """
    said = np.stack([along(table, paid, rows.pair, ahead, way) for way in range(2)], axis=1)
    error = np.abs(rows.r[:, None] - said)
    spread = max(paid.range[1] - paid.range[0], 1e-9)
    middle = float(np.median(error.min(axis=1)))
    near = error <= error.min(axis=1, keepdims=True) + max(6.0 * middle, EXACT * spread)
    return near, np.asarray(np.where(near[:, 0], 0, 1))


def shape_of(
    table: Table, rows: Rows, ahead: Ahead, lines: Sequence[int] = LINES, power: int = 2
) -> tuple[Shape, float]:
    """What predicts half of the pairs of units left out, by the other half and other units.

    By squares of errors, for a plan goes by means: what pays in one place and no other must not be
    overlooked. By absolute errors (`power` 1) where most rows are asked for to the letter. Beside
    it the error that is left, no smaller than the rounding of rewards.
    """
    units = np.unique(rows.unit)
    folds = min(FOLDS, len(units))
    fold = np.zeros(int(units.max(initial=0)) + 1, np.int64)
    fold[units] = np.random.default_rng(len(units)).permutation(len(units)) % max(folds, 1)
    # whole pairs: what a pair pays that was met is known without a rule
    pair, at = distinct(rows.unit * table.space.S * table.space.A + rows.pair)
    half = (np.random.default_rng(len(pair)).random(len(pair)) < 0.5)[at]
    spread = max(float(np.ptp(rows.r)), 1e-9)
    found: list[tuple[Shape, float]] = []
    for line in lines:
        for chain in CHAINS:
            if not line and not chain:
                continue
            if len(chain) == 4 and table.space.S**2 * table.space.A > 1 << 20:
                continue
            if LEADS in chain and (line or not ahead.leads.shape[1]):
                continue
            shape, lost = Shape(line, chain), 0.0
            for each in range(max(folds, 1)):
                out = fold[rows.unit] == each
                kept = ~out | half if folds < 2 else ~out
                paid = fitted(table, rows.of(kept), shape, ahead.of(kept))
                lost += _error(table, paid, rows, ahead, out & half, out & ~half, power)
            mean = (lost / max(rows.n[~half].sum(), 1.0)) ** (1.0 / power)
            found.append((shape, mean + 1e-5 * spread))
    best = found[0]
    for offer in found[1:]:
        if offer[1] < (CLEARLY if offer[0].line and not best[0].line else BETTER) * best[1]:
            best = offer
    return best


def _error(
    table: Table, paid: Paid, rows: Rows, ahead: Ahead, known: Bools, wanted: Bools, power: int
) -> float:
    """Sum of errors, or of their squares, in rows wanted, by those known of the same units."""
    rest = rows.r - along(table, paid, rows.pair, ahead, rows.way)
    given, asked = rows.of(known), rows.of(wanted)
    left, rest = rest[wanted], rest[known]
    for level, kind in enumerate(paid.shape.chain):
        ours, _, ours_of = sights(table, kind, given, ahead.of(known))
        theirs, _, theirs_of = sights(table, kind, asked, ahead.of(wanted))
        left = left - at(paid.common[level], theirs, theirs_of)
        rest = rest - at(paid.common[level], ours, ours_of)
        level_of = paid.between[level], paid.differ[level], paid.noise
        for unit in np.unique(rows.unit[known | wanted]).tolist():
            mine, yours = given.unit == unit, asked.unit == unit
            part = None if ours_of is None else ours_of[mine]
            value, _ = conditioned(*level_of, ours[mine], given.n[mine], rest[mine], part)
            left[yours] -= at(value, theirs[yours], None if theirs_of is None else theirs_of[yours])
            rest[mine] -= at(value, ours[mine], part)
    return float(asked.n @ np.abs(left) ** power)
