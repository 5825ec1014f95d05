"""What rows pay in a family: a line that all units share, and differences on top of it.

    r(p, s') = line(action, after-state, next state) + all units' own of each key + this unit's

The line is found on all units, by least absolute deviations, *with the after-state of the rule*:
without it, what full shelves pay is taken for what slow shops' actions pay. A column of an action
that few different rows show is left out: what rests on one triple must not be a coefficient for
all. What is left is a value of a key (where a row leads; what is done; both), first of all units
and then of the unit, each shrunk by how much units, and single rows, were seen to differ. Which
key, and whether there is a line, is what predicts half of the rows of units that were left out by
the other half and the other units.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gim.analogy.structure.rewards import least_absolute
from gim.analogy.structure.triples import distinct
from gim.belief.family.rules import Table
from gim.belief.family.units import Bools, Floats, Ints, Rows

FOLDS = 3
SHOWN = 3  # different rows that a column must rest on
EXACT = 1e-6  # of the spread of rewards: what is so near is the same
CLEARLY = 0.8  # of the error that is left, by which columns of actions must be better
BETTER = 0.97  # of the error that is left, by which a finer key must be better
STILL = 1e-9

# What a key may look at, from coarse to fine.
NOTHING, NEXT, ACTION, STATE, PAIR, MOVE, TRIPLE = range(7)
CHAINS = (
    (),
    (NOTHING,),
    (NOTHING, NEXT),
    (NOTHING, ACTION),
    (NOTHING, STATE),
    (NOTHING, STATE, PAIR),
    (NOTHING, NEXT, MOVE),
    (NOTHING, STATE, PAIR, TRIPLE),
)


class Shape(NamedTuple):
    """What rewards depend on."""

    line: bool
    chain: tuple[int, ...]


class Paid(NamedTuple):
    """What a family pays."""

    shape: Shape
    line: Floats  # [d] coefficients; of no size without a line
    columns: Ints  # [c] the actions that have a column
    common: tuple[Floats, ...]  # by level of the chain: [keys] what all units have on top
    between: tuple[Floats, ...]  # by level: [keys] variance of that mean, as it is known
    differ: tuple[float, ...]  # by level: variance of a unit's own on top
    noise: float  # variance of single rows
    range: tuple[float, float]  # the least and the largest that was met

    @property
    def certain(self) -> bool:
        """Whether a row of a key always pays the same."""
        spread = self.range[1] - self.range[0]
        return bool(self.noise <= (1e-3 * max(spread, 1e-12)) ** 2)


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
    return here * S + t, S * S  # MOVE: the after-state and next


def design(table: Table, columns: Ints, pair: Ints, t: Ints, way: Any = 0) -> Floats:
    """[I, d] of the line: 1, actions, the variables before, after the action, and next."""
    triples = table.space.bare
    order = triples.ordinal
    s, a = np.divmod(pair, table.space.A)
    base = table.base[np.minimum(way, len(table.base) - 1), pair]
    parts = [np.ones((len(pair), 1)), (a[:, None] == columns).astype(np.float64)]
    amounts = triples.action_codes[a][:, triples.action_ordinal]
    parts += [
        amounts,
        amounts[:, triples.action_codes[:, triples.action_ordinal].max(axis=0) > 1] > 0,
    ]
    parts += [triples.codes[s][:, order], triples.codes[t][:, order]]
    if table.rule.shift is not None:
        parts.append(np.clip(base, 0, table.values.sizes - 1)[:, order])
    return np.column_stack(parts).astype(np.float64)


def shown(table: Table, rows: Rows) -> Ints:
    """Actions that enough different rows show, but for the first of them."""
    key = distinct(rows.pair * table.space.S + rows.next)[0]
    often = np.bincount(key // table.space.S % table.space.A, minlength=table.space.A)
    return np.flatnonzero(often >= SHOWN)[1:]


def line_of(table: Table, rows: Rows) -> tuple[Floats, Ints]:
    """Its coefficients, and the actions that have a column.

    Amounts of actions come first, so that an action that was hardly tried is like those beside it;
    actions have columns of their own on top only if that leaves clearly less.
    """
    none = np.zeros(0, np.int64)
    order = np.random.default_rng(0).permutation(len(rows.n))  # a part of them may stand for all
    rows = rows.of(order)
    many = len(distinct(rows.pair * table.space.S + rows.next)[0])
    X = design(table, none, rows.pair, rows.next, rows.way)
    if many < 2 * X.shape[1]:
        return np.zeros(0), none
    line = least_absolute(X, rows.r, rows.n[None])[0]
    left, columns = rows.r - X @ line, shown(table, rows)
    if many < 2 * (X.shape[1] + len(columns)):
        return line, none
    X = design(table, columns, rows.pair, rows.next, rows.way)
    more = least_absolute(X, left, rows.n[None])[0]
    error, rest = (float(rows.n @ np.abs(e)) for e in (left, left - X @ more))
    floor = EXACT * float(np.ptp(rows.r)) * float(rows.n.sum())
    if rest > CLEARLY * error - floor:
        return line, none
    more[0] += line[0]
    more[1 + len(columns) :] += line[1:]
    return more, columns


def along(table: Table, paid: Paid, pair: Ints, t: Ints, way: Any = 0) -> Floats:
    """[I] what the line says."""
    if not paid.line.size:
        return np.zeros(len(pair))
    return np.asarray(design(table, paid.columns, pair, t, way) @ paid.line)


def fitted(table: Table, rows: Rows, shape: Shape) -> Paid:
    """What all units have in common, level by level, and how much they differ."""
    line, columns = line_of(table, rows) if shape.line else (np.zeros(0), np.zeros(0, np.int64))
    span = (float(rows.r.min(initial=0.0)), float(rows.r.max(initial=0.0)))
    paid = Paid(shape, line, columns, (), (), (), 0.0, span)
    left = rows.r - along(table, paid, rows.pair, rows.next, rows.way)
    spread = max(span[1] - span[0], 1e-9)
    floor = (1e-4 * spread) ** 2
    common, between, differ = [], [], []
    noise = float(rows.n @ left**2 / max(rows.n.sum(), 1.0))
    for kind in shape.chain:
        key, many = keys_of(table, kind, rows.pair, rows.next, rows.way)
        both, at = np.unique(rows.unit * many + key, return_inverse=True)
        at = at.ravel()
        n = np.bincount(at, rows.n, len(both))
        mean = np.bincount(at, rows.n * left, len(both)) / n
        noise = float(rows.n @ (left - mean[at]) ** 2 / max(rows.n.sum() - len(both), 1.0)) + floor
        of = both % many
        met, place = np.unique(of, return_inverse=True)
        place = place.ravel()
        # variance of units about the mean of their key, and of keys about nothing
        w = np.bincount(place, n, len(met))
        centre = np.bincount(place, n * mean, len(met)) / w
        excess = float((n * (mean - centre[place]) ** 2).sum()) - noise * (len(both) - len(met))
        free = float(n.sum() - (np.bincount(place, n**2, len(met)) / w).sum())
        tau = max(excess, 0.0) / free if free > 0 else 0.0
        if free <= 0:  # no key was met by two units: nothing says that they agree
            tau = float(np.var(mean)) if len(np.unique(rows.unit)) > 1 else 0.0
        v = 1.0 / np.bincount(place, 1.0 / (tau + noise / n), len(met))
        best = v * np.bincount(place, mean / (tau + noise / n), len(met))
        apart = max(float(np.mean(best**2 - v)), floor)
        shrink = apart / (apart + v)
        mu, variance = np.zeros(many), np.full(many, apart + tau)
        mu[met], variance[met] = shrink * best, shrink * v
        common.append(mu)
        between.append(variance)
        differ.append(max(tau, STILL * spread**2))
        left = left - mu[key]
        own = (mean - mu[of]) * tau / (tau + noise / n) if tau > 0 else np.zeros(len(both))
        left = left - own[at]
    return paid._replace(
        common=tuple(common), between=tuple(between), differ=tuple(differ), noise=max(noise, floor)
    )


class Own(NamedTuple):
    """What a unit pays on top, by level of the chain."""

    value: tuple[Floats, ...]  # [keys]
    variance: tuple[Floats, ...]  # [keys]


def own_of(table: Table, paid: Paid, rows: Rows) -> Own:
    """What rows of one unit say of it."""
    left = rows.r - along(table, paid, rows.pair, rows.next, rows.way)
    values, variances = [], []
    for level, kind in enumerate(paid.shape.chain):
        key, many = keys_of(table, kind, rows.pair, rows.next, rows.way)
        n = np.bincount(key, rows.n, many)
        total = np.bincount(key, rows.n * (left - paid.common[level][key]), many)
        prior = paid.differ[level] + paid.between[level] * (
            paid.between[level] > paid.differ[level]
        )
        value = total * prior / (n * prior + paid.noise)
        values.append(value)
        variances.append(prior * paid.noise / (n * prior + paid.noise))
        left = left - paid.common[level][key] - value[key]
    return Own(tuple(values), tuple(variances))


def said_of(
    table: Table, paid: Paid, own: Own | None, pair: Ints, t: Ints, way: Any = 0
) -> tuple[Floats, Floats]:
    """[I] what rows are expected to pay, and the variance of that."""
    r, variance = along(table, paid, pair, t, way), np.zeros(len(pair))
    for level, kind in enumerate(paid.shape.chain):
        key, _ = keys_of(table, kind, pair, t, way)
        r = r + paid.common[level][key]
        if own is None:
            variance = variance + paid.between[level][key] + paid.differ[level]
        else:
            r, variance = r + own.value[level][key], variance + own.variance[level][key]
    return r, variance


def evidence_of(table: Table, paid: Paid, rows: Rows) -> tuple[Bools, Ints]:
    """What rows paid as evidence of what happened: whether what the action adds has come.

    Returns [I, ways] whether each way agrees with the reward, and the way [I] that agrees best.
    """
    said = np.stack([along(table, paid, rows.pair, rows.next, way) for way in range(2)], axis=1)
    error = np.abs(rows.r[:, None] - said)
    spread = max(paid.range[1] - paid.range[0], 1e-9)
    middle = float(np.median(error.min(axis=1)))
    near = error <= error.min(axis=1, keepdims=True) + max(6.0 * middle, EXACT * spread)
    return near, np.asarray(np.where(near[:, 0], 0, 1))


def shape_of(table: Table, rows: Rows) -> Shape:
    """What predicts half of the rows of units that were left out, by the others and by all else."""
    units = np.unique(rows.unit)
    folds = min(FOLDS, len(units))
    fold = np.zeros(int(units.max(initial=0)) + 1, np.int64)
    fold[units] = np.random.default_rng(len(units)).permutation(len(units)) % max(folds, 1)
    half = np.random.default_rng(len(rows.r)).random(len(rows.r)) < 0.5
    spread = max(float(np.ptp(rows.r)), 1e-9)
    found: list[tuple[Shape, float]] = []
    for line in (False, True):
        for chain in CHAINS:
            if not line and not chain:
                continue
            if len(chain) == 4 and table.space.S**2 * table.space.A > 1 << 20:
                continue
            shape, lost = Shape(line, chain), 0.0
            for each in range(max(folds, 1)):
                out = fold[rows.unit] == each
                train = rows.of(~out | half) if folds < 2 else rows.of(~out)
                given, asked = rows.of(out & half), rows.of(out & ~half)
                paid = fitted(table, train, shape)
                lost += _error(table, paid, given, asked)
            found.append((shape, lost / max(rows.n[~half].sum(), 1.0) + 1e-5 * spread))
    best = found[0]
    for offer in found[1:]:
        if offer[1] < BETTER * best[1]:
            best = offer
    return best[0]


def _error(table: Table, paid: Paid, given: Rows, asked: Rows) -> float:
    """Sum of absolute errors in rows that are asked for, by what is given of the same units."""
    left = asked.r - along(table, paid, asked.pair, asked.next, asked.way)
    rest = given.r - along(table, paid, given.pair, given.next, given.way)
    for level, kind in enumerate(paid.shape.chain):
        ours, many = keys_of(table, kind, given.pair, given.next, given.way)
        theirs, _ = keys_of(table, kind, asked.pair, asked.next, asked.way)
        left, rest = left - paid.common[level][theirs], rest - paid.common[level][ours]
        both, at = np.unique(
            np.concatenate([given.unit * many + ours, asked.unit * many + theirs]),
            return_inverse=True,
        )
        mine, yours = at.ravel()[: len(ours)], at.ravel()[len(ours) :]
        n = np.bincount(mine, given.n, len(both))
        total = np.bincount(mine, given.n * rest, len(both))
        between = paid.between[level][both % many]
        prior = paid.differ[level] + between * (between > paid.differ[level])
        value = total * prior / (n * prior + paid.noise)
        left, rest = left - value[yours], rest - value[mine]
    return float(asked.n @ np.abs(left))
