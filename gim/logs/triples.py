"""What a log has seen, counted: by unit, state, action and next state, and episodes by unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.model import tally
from gim.model.counts import Counts
from gim.model.tally import total

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


class Rows(NamedTuple):
    """The transitions one by one, episode by episode, [n] each."""

    episode: NDArray[np.int32]  # from 0, rising
    s: NDArray[np.int32]
    a: NDArray[np.int32]
    r: Floats
    t: NDArray[np.int32]  # the next state
    done: Bools  # whether the log says that the episode ended here
    propensity: Floats | None  # of the action, where the log has it
    resumed: Bools  # whether what came just before, in the episode, is missing or left out
    unit: NDArray[np.int32] | None = None  # its number in `log.units`, where there are units


class Seen(NamedTuple):
    """What happened, each triple (s, a, s') of each unit once, [m] each, in their order."""

    unit: Ints  # 0 where there are no units
    s: Ints
    a: Ints
    t: Ints  # the next state
    n: Ints  # how often
    paid: Floats  # sum of rewards
    paid2: Floats  # sum of their squares
    begun: Ints  # how many of them began an episode
    ended: Ints  # of how many the log says that the episode ended here
    likely: Floats  # sum of propensities; 0 where there are none

    def where(self, which: Any) -> Seen:
        """Some of them, by a mask, their places or a slice."""
        some: Any = [each[which] for each in self]
        return Seen(*some)


class Episodes(NamedTuple):
    """Episodes of each unit, [units] each; of one unit where there are none."""

    n: Ints
    steps: Ints
    longest: Ints  # steps of the longest
    total: Floats  # sum of their returns
    squares: Floats  # sum of squared returns
    least: Floats  # the least return
    most: Floats  # and the largest
    low: Floats  # the least reward of a step
    high: Floats  # and the largest
    gaps: Ints  # rows after one that is left out or missing

    @property
    def mean(self) -> float:
        """The mean return."""
        return float(self.total.sum() / self.n.sum())

    @property
    def sd(self) -> float:
        """The standard deviation of returns; infinite for one episode, which says nothing of it."""
        n = float(self.n.sum())
        if n < 2:
            return math.inf
        return math.sqrt(max(float(self.squares.sum()) - n * self.mean**2, 0.0) / (n - 1.0))


SUMMED = ("n", "paid", "paid2", "begun", "ended", "likely")


def merged(parts: Sequence[Seen], S: int, A: int) -> Seen:
    """Seen with numbers of one world, those alike put together."""
    whole = parts[0] if len(parts) == 1 else Seen(*map(np.concatenate, zip(*parts, strict=True)))
    key = ((whole.unit * S + whole.s) * A + whole.a) * S + whole.t
    if (key[1:] > key[:-1]).all():  # in order, and each once
        return whole
    found, first, place = np.unique(key, return_index=True, return_inverse=True)
    sums: dict[str, Any] = {
        name: _summed(getattr(whole, name), place, found.size) for name in SUMMED
    }
    named: dict[str, Any] = {name: getattr(whole, name)[first] for name in ("unit", "s", "a", "t")}
    return whole._replace(**named, **sums)


def _summed(values: NDArray[np.generic], place: Ints, n: int) -> NDArray[np.generic]:
    total = np.zeros(n, values.dtype)
    np.add.at(total, place, values)
    return total


def together(parts: Sequence[Episodes], units: Sequence[Ints], U: int) -> Episodes:
    """Episodes of several logs by unit, whose units have these numbers of U."""
    whole = Episodes(*map(np.concatenate, zip(*parts, strict=True)))
    place = np.concatenate(units)
    sums: Any = [_summed(each, place, U) for each in whole]
    found = Episodes(*sums)
    ends: dict[str, Any] = {"longest": _extreme(np.maximum, whole.longest, place, U)}
    for name, of in (("least", np.minimum), ("most", np.maximum)):
        ends[name] = _extreme(of, getattr(whole, name), place, U)
    for name, of in (("low", np.minimum), ("high", np.maximum)):
        ends[name] = _extreme(of, getattr(whole, name), place, U)
    return found._replace(**ends)


def _extreme(of: np.ufunc, values: NDArray[Any], place: Ints, n: int) -> NDArray[Any]:
    """The least or the largest value of each of n groups, none of which is empty."""
    order = np.argsort(place, kind="stable")
    return np.asarray(of.reduceat(values[order], np.searchsorted(place[order], np.arange(n))))


def counts_of(seen: Seen, S: int, A: int) -> Counts:
    """Counts of all units together, with rewards by triple.

    Example:
        >>> one, pay = np.ones(1, np.int64), np.ones(1)
        >>> seen = Seen(one * 0, one * 0, one * 0, one, one * 3, pay, pay, one, one, pay)
        >>> counts_of(seen, 2, 1).n.tolist()
        [[3], [0]]
    """
    alone = merged([seen._replace(unit=seen.unit * 0)], S, A)
    pair = alone.s * A + alone.a
    ends = np.searchsorted(pair, np.arange(S * A + 1))
    N = sparse.csr_array((alone.n.astype(np.float64), alone.t, ends), shape=(S * A, S))
    sums: Any = [np.bincount(pair, x, S * A).reshape(S, A) for x in (alone.paid, alone.paid2)]
    return total([tally.Triples(N, alone.paid, alone.paid2, *sums)], S, A)
