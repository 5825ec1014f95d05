"""Rows of several units of one family, counted, and what all units are made of."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.analogy.structure.triples import Triples, distinct
from gim.mdp.variables import Variables

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Rows(NamedTuple):
    """What was seen, one entry for all rows that are alike."""

    unit: Ints  # [I] from 0
    pair: Ints  # [I] s*A + a
    next: Ints  # [I]
    n: Floats  # [I] how often
    r: Floats  # [I] what each of them paid
    way: Ints  # [I] 0; 1: what the action adds has not come, as the reward shows

    def of(self, kept: Bools | Ints) -> Rows:
        """Only some entries."""
        part: Any = [each[kept] for each in self]
        return Rows(*part)


def rows_of(unit: Any, s: Any, a: Any, r: Any, t: Any, A: int, n: Any = None) -> Rows:
    """Rows that are alike as one, in the order of unit, pair, next state and reward."""
    unit, pair = np.asarray(unit, np.int64), np.asarray(s, np.int64) * A + np.asarray(a, np.int64)
    paid, t = np.asarray(r, np.float64) + 0.0, np.asarray(t, np.int64)
    many = np.ones(len(pair)) if n is None else np.asarray(n, np.float64)
    worth = np.unique(paid, return_inverse=True)[1].ravel()
    order = np.lexsort((worth, t, pair, unit))
    key = np.column_stack([unit, pair, t, worth])[order]
    new = np.append(True, (np.diff(key, axis=0) != 0).any(axis=1))[: len(order)]
    first = order[np.flatnonzero(new)]
    total = np.bincount(np.cumsum(new) - 1, many[order], len(first)).astype(np.float64)
    return Rows(
        unit[first], pair[first], t[first], total, paid[first], np.zeros(len(first), np.int64)
    )


class Space:
    """States and actions that all units share, and what they are made of.

    Args:
        available: [S, A] the pairs that can be played.
        variables, action_variables: of states and of actions, as far as they are known.
        terminal: [S] states that end an episode.
    """

    def __init__(
        self,
        available: Bools,
        variables: Variables | None = None,
        action_variables: Variables | None = None,
        terminal: Bools | None = None,
    ) -> None:
        self.available = np.asarray(available, bool)
        self.S, self.A = self.available.shape
        self.variables, self.action_variables = variables, action_variables
        self.terminal = np.zeros(self.S, bool) if terminal is None else np.asarray(terminal, bool)

    def triples(self, rows: Rows) -> Triples:
        """All rows as if they were of one unit."""
        key, at = distinct(rows.pair * self.S + rows.next)
        pair, t = np.divmod(key, self.S)
        first = np.searchsorted(pair, np.arange(self.S * self.A + 1))
        counts = np.bincount(at, rows.n, len(key))
        (codes, ordinal), (acts, order) = (
            (None, None) if each is None else (each.codes, each.ordinal)
            for each in (self.variables, self.action_variables)
        )
        made_of = codes, ordinal, acts, order
        return Triples(first, t, counts, self.available, *made_of, terminal=self.terminal)

    @cached_property
    def bare(self) -> Triples:
        """The same without counts: variables and contexts."""
        none = np.zeros(0, np.int64)
        return self.triples(Rows(none, none, none, np.zeros(0), np.zeros(0), none))


def joined(parts: Iterable[Rows]) -> Rows:
    """The entries of all."""
    whole: Any = [np.concatenate(each) for each in zip(*parts, strict=True)]
    return Rows(*whole)
