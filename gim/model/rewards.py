"""How large rewards can be: what optimistic agents must know of a world."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._base.params import Within, brief
from gim._compile.jit import entry
from gim._compile.memory import SAME, Limits, row_fault

# -- rewards that are known beforehand, so that only the dynamics are left to learn


Floats = NDArray[np.float64]
# [S, A] or [S, A, S], or a function of a state, an action and a next state, by label
Payments = (
    NDArray[Any]
    | Sequence[Sequence[float]]
    | Sequence[Sequence[Sequence[float]]]
    | Callable[[Any, Any, Any], float]
)
MOST_CALLS = 1 << 21  # triples for which a user's function is asked


class KnownRewards(NamedTuple):
    """What each pair pays, or each triple; all of size 0 if rewards are to be learned."""

    r: Floats  # [S, A]; where a triple is not listed, this is what it pays
    by_next: Floats  # [nnz] of each triple that is listed
    next: NDArray[np.int64]  # [nnz] its next state, rising for each pair
    first: NDArray[np.int64]  # [S*A + 1] where each pair begins; [0] if no triple is listed

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        return dict.fromkeys(self._fields, SAME)

    @property
    def given(self) -> bool:
        """Whether rewards are known."""
        return self.r.size > 0

    @property
    def range(self) -> tuple[float, float]:
        """The least and the largest reward."""
        values = self.by_next if self.by_next.size else self.r
        return float(values.min()), float(values.max())


def none_known() -> KnownRewards:
    """Rewards are to be learned."""
    whole = np.zeros(0, np.int64)
    return KnownRewards(np.zeros((0, 0)), np.zeros(0), whole, whole.copy())


def by_pair(r: Any) -> KnownRewards:
    """From r(s,a) [S, A]."""
    return none_known()._replace(r=np.array(r, np.float64))


def by_triple(rows: Any, r: Any = None) -> KnownRewards:
    """From r(s,a,s'): an array [S, A, S], or CSR of S*A rows, zeros that are stored included.

    Args:
        rows: the rewards.
        r: [S, A] what a triple pays that is not listed; by default the mean over those listed.
    """
    if not sparse.issparse(rows):
        table = np.asarray(rows, np.float64)
        S, A = table.shape[:2]
        first, next = np.arange(S * A + 1) * S, np.tile(np.arange(S), S * A)
        return KnownRewards(table.mean(axis=2), table.ravel().copy(), next, first)
    rows = sparse.csr_array(rows)
    rows.sort_indices()
    S = rows.shape[1]
    if r is None:
        sums = np.bincount(np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr)), rows.data)
        r = np.zeros(rows.shape[0])
        r[: sums.size] = sums
        r = (r / np.maximum(np.diff(rows.indptr), 1)).reshape(S, -1)
    whole = [np.asarray(part, np.int64) for part in (rows.indices, rows.indptr)]
    return KnownRewards(np.array(r, np.float64), np.array(rows.data, np.float64), *whole)


def by_function(
    paid: Callable[[Any, Any, Any], float], states: Any, actions: Any, pattern: Any = None
) -> KnownRewards:
    """From a function of (s, a, s'), asked for every triple, or for those of a pattern.

    Args:
        paid: the function, of labels.
        states, actions: their labels, sequences [S] and [A].
        pattern: CSR of S*A rows with the triples that can happen, where that is known.
    """
    S, A = len(states), len(actions)
    if pattern is None:
        if S * A * S > MOST_CALLS:
            raise ValueError(
                f"rewards= is a function of {S} x {A} x {S} triples, too many to ask for: give a "
                "table [S, A], or a world that shows its table of transitions"
            )
        pattern = sparse.csr_array(np.ones((S * A, S)))
    pattern = sparse.csr_array(pattern)
    pair = np.repeat(np.arange(S * A), np.diff(pattern.indptr))
    each = zip((pair // A).tolist(), (pair % A).tolist(), pattern.indices.tolist(), strict=True)
    data = np.array([returned(paid(states[s], actions[a], states[t])) for s, a, t in each])
    return by_triple(sparse.csr_array((data, pattern.indices, pattern.indptr), pattern.shape))


def returned(value: Any) -> float:
    """What a function of rewards has returned, as a number."""
    if not isinstance(value, (str, bytes)) and np.ndim(value) == 0 and not np.iscomplexobj(value):
        with suppress(TypeError, ValueError, OverflowError):
            return float(value)
    raise ValueError(f"rewards= returned {brief(value)}: it must return a number")


def checked(known: KnownRewards, S: int, A: int) -> KnownRewards:
    """The same if it is for a world of S states and A actions, and finite; else a ValueError."""
    if any(part.dtype != kept.dtype for part, kept in zip(known, none_known(), strict=True)):
        raise ValueError("rewards= are not numbers of 64 bits")
    if known.r.shape != (S, A):
        raise ValueError(f"rewards= are for {known.r.shape} states and actions, not {(S, A)}")
    if not (np.isfinite(known.r).all() and np.isfinite(known.by_next).all()):
        raise ValueError("rewards= are not finite everywhere")
    if known.first.shape not in ((0,), (S * A + 1,)) or row_fault(
        known.first, known.by_next, known.next
    ):
        raise ValueError("rewards= by next state do not say which triples they are of")
    if known.next.size and not 0 <= known.next.min() <= known.next.max() < S:
        raise ValueError(f"rewards= by next state speak of states beyond 0 to {S - 1}")
    return known


def payments(known: KnownRewards, rows: Any, n: Floats) -> tuple[Floats, Floats, Floats]:
    """Sums of rewards and of their squares [S, A] of so many visits, and those visits.

    Args:
        known: the rewards.
        rows: data, columns and row starts of visits by next state, CSR of S*A rows.
        n: [S, A] visits in all; a pair without one is known to pay r(s,a), as if seen once.
    """
    visits = np.where(n > 0, n, 1.0)
    if not known.first.size:
        return known.r * visits, known.r**2 * visits, visits
    N, columns, starts = rows
    R, R2 = sum_payments(
        N, columns, starts, known.by_next, known.next, known.first, known.r.ravel()
    )
    R, R2 = R.reshape(n.shape), R2.reshape(n.shape)
    return np.where(n > 0, R, known.r), np.where(n > 0, R2, known.r**2), visits


@entry
def sum_payments(
    N: Any, columns: Any, starts: Any, by_next: Any, next: Any, first: Any, r: Any
) -> Any:
    """Sums of N r and of N r^2 over the next states of each row, [rows] each."""
    R, R2 = np.zeros(r.size), np.zeros(r.size)
    for i in range(r.size):
        k = first[i]
        for j in range(starts[i], starts[i + 1]):
            while k < first[i + 1] and next[k] < columns[j]:
                k += 1
            met = k < first[i + 1] and next[k] == columns[j]
            pays = by_next[k] if met else r[i]
            R[i] += N[j] * pays
            R2[i] += N[j] * pays * pays
    return R, R2


# --


LeastReward = Annotated[float | None, Within(), "the least r(s,a); none: the task's"]
LargestReward = Annotated[float | None, Within(), "the largest r(s,a); none: the task's"]


LEARNED_RANGE = (
    "this world does not say how large its rewards can be, so what was seen stands for it: if far "
    "more is possible, give the agent r_max= (and r_min=)"
)


def largest_reward(task: Any, r_max: float | None, counts: Any = None) -> float:
    """The largest r(s,a): as given, else the task's, else that of the rewards counted so far."""
    if r_max is None and task.reward_range is None:
        if counts is None:
            raise ValueError("this world does not say how large its rewards can be: give r_max=")
        return seen_range(counts)[1]
    return float(task.reward_range[1]) if r_max is None else r_max


def reward_range(
    task: Any, r_min: float | None, r_max: float | None, counts: Any = None
) -> tuple[float, float]:
    """The least and the largest r(s,a): as given, else the task's, else those counted so far."""
    told = task.reward_range
    if None in (r_min, r_max) and told is None:
        if counts is None:
            raise ValueError(
                "this world does not say how large its rewards can be: give r_min= and r_max="
            )
        low, high = seen_range(counts)  # what was given holds, whatever was seen
        told = (
            low if r_max is None else min(low, r_max),
            high if r_min is None else max(high, r_min),
        )
    least = float(told[0]) if r_min is None else r_min
    largest = float(told[1]) if r_max is None else r_max
    if least > largest:
        raise ValueError(f"r_min = {least:g} is above r_max = {largest:g}")
    return least, largest


def seen_range(counts: Any) -> tuple[float, float]:
    """The least and the largest mean reward of the pairs met; one unit apart if all are equal.

    While something was never tried in a state that was met, it may pay more than all that was, by
    as much as the range is wide: an agent that took the best so far for the best there is would
    repeat it for ever. Before anything was met a reward is from 0 to 1.
    """
    met = counts.n > 0
    if not met.any():
        return 0.0, 1.0
    r = counts.R[met] / counts.n[met]
    least, largest = float(r.min()), float(r.max())
    untried = not met[met.any(axis=1)].all()
    if largest == least:
        return least, least + 1.0
    return least, largest + (largest - least) * untried


def most_to_come(H: int, r_max: float, discount: float = 1.0) -> NDArray[np.float64]:
    """The most that the steps from h on can pay, [H]: r_max each, or nothing if all of them cost.

    An end of the episode is then the best there is, and terminal states are worth 0. With a
    discount each step weighs as much less than the one before.
    """
    steps = np.arange(H, 0, -1.0)
    if discount < 1.0:
        steps = (1.0 - discount**steps) / (1.0 - discount)
    return max(r_max, 0.0) * steps
