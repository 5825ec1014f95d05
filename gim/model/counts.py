"""What was seen (Eq. 1) and what is known (Definitions 4 and 5), kept up to date in O(1) a step.

n(s'|s,a) is stored dense, or as a hash table of the triples met when dense would be large; that is
a choice inside `Counts`, made by size. A full hash table asks for room with GROW.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._base.limits import REWARD
from gim._compile.jit import hot, rare
from gim._compile.memory import COUNT, SAME, VISITS, Limit, Limits
from gim.model.hash_table import FREE, find, misplaced, rehash

DENSE_LIMIT = 1 << 24  # entries of n(s'|s,a) up to which they are stored dense: 128 MiB
LARGE, CROWDED = 1 << 18, 16  # `compact` makes CSR of so many entries if 1 in 16 is not 0
SUM = Limit(-REWARD * COUNT, REWARD * COUNT)  # of rewards
SQUARES = Limit(0, REWARD * REWARD * COUNT)

# News of a step, added up:
PAIR = 1  # the pair became known
STATE = 2  # with it, its state became rho-known
END = 4  # the next state turned out to be terminal


class Counts(NamedTuple):
    """n(s,a), R(s,a) and n(s'|s,a) of Eq. 1."""

    n: NDArray[np.int64]  # [S, A] visits
    R: NDArray[np.float64]  # [S, A] sum of rewards
    R2: NDArray[np.float64]  # [S, A] sum of squared rewards
    next: NDArray[np.float64]  # [S*A*S] n(s'|s,a) dense, or [capacity] along with `keys`
    keys: NDArray[np.int64]  # [0] if dense, or [capacity] (s*A + a)*S + s' of the triples met
    taken: NDArray[np.int64]  # [1] keys in use
    paid: NDArray[np.float64]  # like `next`: sum of rewards by triple; [0] if nobody asks for it
    paid2: NDArray[np.float64]  # sum of squared rewards likewise

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        S, A = self.n.shape
        any_size = self.keys.size > 0
        return {
            "n": VISITS,
            "R": SUM,
            "R2": SQUARES,
            "next": Limit(0, COUNT, grows=any_size),
            "keys": Limit(FREE, S * A * S - 1, grows=any_size),
            "taken": VISITS,
            "paid": SUM._replace(grows=any_size),
            "paid2": SQUARES._replace(grows=any_size),
        }

    def fault(self) -> str:
        """What no run leaves behind; see `gim._compile.memory`."""
        if self.keys.size and (problem := table_fault(self)):
            return problem
        n = np.asarray(transitions(self).sum(axis=-1)).ravel()
        off = np.abs(n - self.n.ravel()) > 1e-6 * np.maximum(1.0, n)
        return "next does not add up to n" if off.any() else ""


class Known(NamedTuple):
    """The known-ness mask P^K (n >= m) and the rho-known states."""

    m: NDArray[np.int64]  # [1] visits that make a pair known
    available: NDArray[np.bool_]  # [S, A]
    mask: NDArray[np.bool_]  # [S, A] P^K
    actions: NDArray[np.int64]  # [S] known actions of each state
    needed: NDArray[np.int64]  # [S] ceil(rho * available actions): enough to be rho-known
    rho_known: NDArray[np.bool_]  # [S]
    terminal: NDArray[np.bool_]  # [S] entered as terminal; nothing is left to learn there
    pairs: NDArray[np.int64]  # [1] known pairs in all, sum(P^K)
    goal: NDArray[np.int64]  # [1] ceil(rho * available pairs): exploration ends there

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        S, A = self.mask.shape
        same = dict.fromkeys(("m", "available", "needed", "goal"), SAME)
        return same | {"actions": Limit(0, A), "pairs": Limit(0, S * A)}


def new_counts(S: int, A: int, by_triple: bool = False) -> Counts:
    """Nothing seen yet; dense or sparse by size. `by_triple`: keep rewards by next state, too."""
    size = S * A * S
    dense = size <= DENSE_LIMIT
    capacity = size if dense else 1 << 12
    return Counts(
        n=np.zeros((S, A), np.int64),
        R=np.zeros((S, A)),
        R2=np.zeros((S, A)),
        next=np.zeros(capacity),
        keys=np.full(0 if dense else capacity, FREE, np.int64),
        taken=np.zeros(1, np.int64),
        paid=np.zeros(capacity if by_triple else 0),
        paid2=np.zeros(capacity if by_triple else 0),
    )


def new_known(available: NDArray[np.bool_], m: int, rho: float) -> Known:
    """Nothing known yet; rho*A that is not whole is rounded up (but for rounding errors)."""
    S, A = available.shape
    return Known(
        m=np.array([m]),
        available=available,
        mask=np.zeros((S, A), bool),
        actions=np.zeros(S, np.int64),
        needed=np.array([_ceil(rho * actions) for actions in available.sum(axis=1)]),
        rho_known=np.zeros(S, bool),
        terminal=np.zeros(S, bool),
        pairs=np.zeros(1, np.int64),
        goal=np.array([_ceil(rho * available.sum())]),
    )


def counts_of(*models: Any) -> Counts:
    """The counts that `LearnedModel`s of one world stand for: their visits, spread as they say."""
    S, A = models[0].S, models[0].A
    counts = new_counts(S, A)
    visits = [sparse.diags_array(model.visits.ravel().astype(np.float64)) for model in models]
    N = sparse.csr_array(sum(n @ m.rows() for n, m in zip(visits, models, strict=True)))
    N.eliminate_zeros()
    while counts.keys.size and 4 * N.nnz > counts.keys.size:
        counts = grown(counts)
    key = np.repeat(np.arange(S * A), np.diff(N.indptr)) * S + N.indices
    if counts.keys.size:
        rehash(key, N.data, counts.keys, counts.next)
        counts.taken[0] = N.nnz
    else:
        counts.next[key] = N.data
    for model in models:
        counts.n[:] += model.visits
        counts.R[:] += model.visits * model.rewards
        counts.R2[:] += model.visits * model.rewards**2
    return counts


def review(known: Known, counts: Counts, terminal: NDArray[np.bool_]) -> None:
    """Set the known-ness mask from scratch, by the counts and the states known to be terminal."""
    known.terminal[:] = terminal
    known.mask[:] = known.available & ((counts.n >= known.m[0]) | terminal[:, None])
    known.actions[:] = known.mask.sum(axis=1)
    known.rho_known[:] = (known.actions >= known.needed) | terminal
    known.pairs[0] = known.mask.sum()


def _ceil(x: float) -> int:
    return max(1, math.ceil(x - 1e-9))  # 0.7 * 10 is 7.000000000000001


@hot
def count(counts: Any, s: int, a: int, r: float, t: int) -> bool:
    """Count one step; True asks for room: the hash table is as full as it may be."""
    S, A = counts.n.shape
    counts.n[s, a] += 1
    counts.R[s, a] += r
    counts.R2[s, a] += r * r
    place = (s * A + a) * S + t
    if counts.keys.size > 0:
        key, place = place, find(counts.keys, place)
        if counts.keys[place] == FREE:
            counts.keys[place] = key
            counts.taken[0] += 1
    counts.next[place] += 1.0
    if counts.paid.size > 0:
        counts.paid[place] += r
        counts.paid2[place] += r * r
    return crowded(counts)


@hot
def crowded(counts: Any) -> bool:
    """Whether the hash table is as full as it may be."""
    return counts.keys.size > 0 and 2 * counts.taken[0] >= counts.keys.size


@hot
def seen(counts: Any, s: int, a: int, t: int) -> float:
    """n(t|s,a)."""
    S, A = counts.n.shape
    key = (s * A + a) * S + t
    if counts.keys.size == 0:
        return counts.next[key]
    place = find(counts.keys, key)
    return counts.next[place] if counts.keys[place] == key else 0.0


def table_fault(counts: Counts) -> str:
    """What is wrong with the hash table of counts that come from a file, or nothing."""
    keys, size = counts.keys, counts.keys.size
    used = keys[keys != FREE]
    if size & (size - 1) or any(part.size not in (0, size) for part in (counts.paid, counts.paid2)):
        return "keys, next and paid are not of one size, a power of 2"
    if counts.next.size != size or counts.taken[0] != used.size or 2 * used.size > size:
        return f"{counts.taken[0]} keys are said to be taken of {size}"
    if np.unique(used).size < used.size or misplaced(keys):
        return "keys are not where they are looked for"
    return ""


def grown(counts: Counts) -> Counts:
    """The same counts with twice the room."""
    keys = np.full(2 * counts.keys.size, FREE, np.int64)
    moved: dict[str, Any] = {}
    for name in ("next", "paid", "paid2"):
        old = getattr(counts, name)
        moved[name] = np.zeros(keys.size if old.size else 0)
        if old.size:
            rehash(counts.keys, old, keys, moved[name])
    return counts._replace(keys=keys, **moved)


@rare
def close_terminal(known: Any, t: int) -> None:
    """All pairs of a terminal state are known: absorbing, reward 0."""
    known.terminal[t] = True
    known.rho_known[t] = True
    for a in range(known.mask.shape[1]):
        if known.available[t, a] and not known.mask[t, a]:
            known.mask[t, a] = True
            known.pairs[0] += 1
            known.actions[t] += 1


@hot
def update_known(known: Any, counts: Any, s: int, a: int, t: int, terminated: bool) -> int:
    """Update P^K after a step (Alg. 2, line 14); returns what is new."""
    news = 0
    if not known.mask[s, a] and counts.n[s, a] >= known.m[0]:
        news += PAIR
        known.mask[s, a] = True
        known.pairs[0] += 1
        known.actions[s] += 1
        if not known.rho_known[s] and known.actions[s] >= known.needed[s]:
            known.rho_known[s] = True
            news += STATE
    if terminated and not known.terminal[t]:
        news += END
        close_terminal(known, t)
    return news


def transitions(counts: Counts) -> Any:
    """n(s'|s,a) as counted: [S, A, S], or CSR of S*A rows if stored sparse."""
    S, A = counts.n.shape
    if counts.keys.size == 0:
        return counts.next.reshape(S, A, S)
    used = np.flatnonzero(counts.keys != FREE)
    pair, t = np.divmod(counts.keys[used], S)
    table = sparse.csr_array((counts.next[used], (pair, t)), shape=(S * A, S))
    table.sort_indices()
    return table


def rewards_by_triple(counts: Counts, columns: Any, starts: Any) -> tuple[Any, Any]:
    """Sums of rewards and of their squares by triple, if kept.

    They are aligned with the CSR rows of `transitions`: next states `columns`, row by row, each
    row from its place in `starts` [S*A + 1].
    """
    if not counts.paid.size:
        return None, None
    pair = np.repeat(np.arange(len(starts) - 1), starts[1:] - starts[:-1])
    key = pair * len(counts.n) + columns
    if counts.keys.size == 0:
        return counts.paid[key], counts.paid2[key]
    used = np.flatnonzero(counts.keys != FREE)
    used = used[np.argsort(counts.keys[used])]
    place = used[np.searchsorted(counts.keys[used], key)]
    return counts.paid[place], counts.paid2[place]


def dense(N: Any, shape: tuple[int, int]) -> NDArray[np.float64]:
    """What is by next state, CSR of S*A rows or not, as an array [S, A, S]."""
    return np.asarray(N.toarray().reshape(*shape, -1) if sparse.issparse(N) else N)


def is_crowded(N: NDArray[np.float64], more: int = 0) -> bool:
    """Whether a dense table had better stay dense, with so many more entries that are not 0."""
    return N.size < LARGE or CROWDED * (more + int(np.count_nonzero(N))) > N.size


def compact(counts: Counts) -> Any:
    """As `transitions`, but CSR as well where a large dense table is nearly empty."""
    S, A = counts.n.shape
    N = transitions(counts)
    if sparse.issparse(N) or is_crowded(N):
        return N
    return sparse.csr_array(nonzeros(N, counts.n), shape=(S * A, S))


def nonzeros(N: Any, n: Any) -> tuple[Any, Any, NDArray[np.int64]]:
    """Values, columns and row starts of the nonzero N [S, A, S] of pairs with n > 0."""
    met = np.flatnonzero(n > 0)
    rows = N.reshape(n.size, -1)[met]
    row, columns = np.nonzero(rows)
    size = np.zeros(n.size + 1, np.int64)
    size[met + 1] = np.bincount(row, minlength=met.size)
    values = rows[row, columns].astype(np.float64)
    return values, np.ascontiguousarray(columns), np.cumsum(size)


def empirical(counts: Counts) -> tuple[Any, NDArray[np.float64]]:
    """p_hat(s'|s,a) in the form of `transitions`, and r_hat [S, A]; zero where n is zero."""
    weight = 1.0 / np.maximum(counts.n, 1)
    N = transitions(counts)
    if sparse.issparse(N):
        N.data *= np.repeat(weight.ravel(), np.diff(N.indptr))
        return N, counts.R * weight
    return N * weight[:, :, None], counts.R * weight
