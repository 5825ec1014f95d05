"""What a reward may depend on: features of a triple (s, a, s'); a set of them is a key."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gim.inference.structure.triples import Floats, Ints, Triples, distinct, ranked, summed


class Feature(NamedTuple):
    """Something that a triple has."""

    kind: str
    variable: int = -1  # of the state or the action, if it is one of a variable


def features_of(triples: Triples) -> list[Feature]:
    """The action and its variables, those of s and s', changes, edges, s', if it is s or an end."""
    k, own = triples.k, triples.action_codes.shape[1]
    return [
        Feature("action"),
        Feature("next state"),
        *(Feature("action variable", j) for j in range(own if own > 1 else 0)),
        *(Feature("next", i) for i in range(k)),
        *(Feature("variable", i) for i in range(k)),
        *(Feature("change", i) for i in range(k)),
        *(Feature("edge", i) for i in np.flatnonzero(triples.edged).tolist()),
        Feature("stays"),
        *([Feature("end")] if triples.terminal.any() else []),
    ]


def column(triples: Triples, feature: Feature, pair: Ints, t: Ints) -> Ints:
    """The values of one feature for triples (pair, t)."""
    s, a = np.divmod(pair, triples.A)
    kind, i = feature
    if kind == "action":
        return a
    if kind == "action variable":
        return triples.action_codes[a, i]
    if kind == "next":
        return triples.codes[t, i]
    if kind == "variable":
        return triples.codes[s, i]
    if kind == "edge":
        return triples.edges[s, i]
    if kind == "change":
        return triples.codes[t, i] - triples.codes[s, i]
    if kind == "end":
        return triples.terminal[t].astype(np.int64)
    return t if kind == "next state" else (s == t).astype(np.int64)


def keyed(triples: Triples, features: tuple[Feature, ...], pair: Ints, t: Ints) -> Ints:
    """The key of each triple: triples that no feature of these tells apart share it."""
    return ranked(
        np.column_stack([column(triples, each, pair, t) for each in features] or [0 * pair])
    )


def valued(key: Ints, y: Floats, weight: Floats, many: int, tolerance: float) -> Floats:
    """The value of each key [many]: that of most, if more than half agree on it; else the mean."""
    total = summed(key, weight, many)
    value = summed(key, weight * y, many) / np.maximum(total, 1e-300)
    rounded = equal(y, tolerance)
    width = rounded.max(initial=0) + 1
    cell, of = distinct(key * width + rounded)
    mass = summed(of, weight, len(cell))
    middle = summed(of, weight * y, len(cell)) / np.maximum(mass, 1e-300)
    most = mass > 0.5 * total[cell // width]
    value[cell[most] // width] = middle[most]
    return value


def equal(y: Floats, tolerance: float) -> Ints:
    """One number for all values that differ by no more than rounding."""
    order = np.argsort(y, kind="stable")
    rank = np.empty(len(y), np.int64)
    rank[order] = np.cumsum(np.diff(y[order], prepend=y[order[:1]]) > tolerance)
    return rank
