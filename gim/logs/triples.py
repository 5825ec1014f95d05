"""What a log has seen, counted: by unit, state, action and next state, and episodes by unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.model.counts import Counts, new_counts
from gim.model.tally import with_triples

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
EXTREMES = {"longest": np.maximum, "least": np.minimum, "most": np.maximum}
EXTREMES |= {"low": np.minimum, "high": np.maximum}


def merged(parts: Sequence[Seen], S: int, A: int) -> Seen:
    """Seen with numbers of one world, those alike put together."""
    whole = parts[0] if len(parts) == 1 else Seen(*map(np.concatenate, zip(*parts, strict=True)))
    key = ((whole.unit * S + whole.s) * A + whole.a) * S + whole.t
    if (key[1:] > key[:-1]).all():  # in order, and each once
        return whole
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    found = whole.where(order[first])
    return found._replace(
        **{name: np.add.reduceat(getattr(whole, name)[order], first) for name in SUMMED}
    )


def together(parts: Sequence[Episodes], units: Sequence[Ints], U: int) -> Episodes:
    """Episodes of several logs by unit, whose units have these numbers of U; none is empty."""
    whole = Episodes(*map(np.concatenate, zip(*parts, strict=True)))
    place = np.concatenate(units)
    order = np.argsort(place, kind="stable")
    first = np.searchsorted(place[order], np.arange(U))
    found: dict[str, Any] = {
        name: EXTREMES.get(name, np.add).reduceat(each[order], first)
        for name, each in whole._asdict().items()
    }
    return Episodes(**found)


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
    sums = {"next": alone.n.astype(np.float64), "paid": alone.paid, "paid2": alone.paid2}
    counts = with_triples(new_counts(S, A, by_triple=True), pair * S + alone.t, **sums)
    of_pairs = (np.bincount(pair, x, S * A).reshape(S, A) for x in sums.values())
    for name, each in zip(("n", "R", "R2"), of_pairs, strict=True):
        getattr(counts, name)[:] = each
    return counts
