"""Tables p(s'|s,a) and r(s,a,s'): an own copy of what is given, in one of two forms.

Dense [S, A, S], or a CSR of S*A rows (s*A + a) by S whose columns ascend and that holds no zeros. A
table is copied once, since whoever gave it may change it later. A dense array of float64 that is
marked read-only, down to the one that owns the memory (``P.setflags(write=False)``), is taken as
it is: that mark is the promise not to change it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.mdp.sparse_tables import own_csr as checked_csr

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Table = Any  # [S, A, S], or a csr_array of S*A rows

BLOCK = 1 << 16  # entries that are worked on while they are near: a table is read once


def own_numbers(name: str, given: Any, axes: str = "SAS") -> Floats:
    """An own array of floats, [A, S, S] turned to [S, A, S] if the axes say so."""
    try:
        array = np.asarray(given)
        if np.iscomplexobj(array):
            raise TypeError("complex numbers have no order")
        if np.ma.is_masked(given):
            raise TypeError("an entry is masked")
        if axes == "ASS" and array.ndim == 3:
            array = array.transpose(1, 0, 2)
        if array.dtype == np.float64 and array.flags.c_contiguous and _frozen(array):
            return array
        return np.array(array, np.float64, order="C")
    except (TypeError, ValueError) as problem:
        raise ValueError(f"{name} is not an array of numbers: {problem}") from None


def _frozen(array: Any) -> bool:
    """Whether this array and those that it looks into are marked read-only."""
    while isinstance(array, np.ndarray) and not array.flags.writeable:
        array = array.base
    return array is None


def interleave(matrices: Sequence[Any]) -> Any:
    """A sparse matrices [S, S], one per action, to rows s*A + a."""
    tables = [checked_csr(f"transitions[{a}]", m) for a, m in enumerate(matrices)]
    S, A = tables[0].shape[0], len(tables)
    for a, table in enumerate(tables):
        if table.shape != (S, S):
            raise ValueError(f"transitions[{a}] has shape {table.shape}, not {(S, S)}")
    order = np.arange(A * S).reshape(A, S).T.ravel()
    return sparse.csr_array(sparse.vstack(tables))[order]


def own_csr(name: str, given: Any) -> Table:
    """An own CSR: columns ascend in each row, no zeros, indices of 32 bits where they do."""
    table = checked_csr(name, given)  # compiled code does not look at bounds
    table.sum_duplicates()
    table.eliminate_zeros()
    table.sort_indices()
    if max(table.shape[0], table.nnz) < np.iinfo(np.int32).max:
        table.indices = table.indices.astype(np.int32, copy=False)
        table.indptr = table.indptr.astype(np.int32, copy=False)
    return table


def absorbing(P: Table, terminal: Bools, available: Bools) -> Table:
    """Rows of terminal states become self-loops, rows of unavailable pairs empty."""
    if not terminal.any() and available.all():
        return P
    if sparse.issparse(P):
        return _absorbing_csr(P, np.repeat(terminal, available.shape[1]), available.ravel())
    P = P if P.flags.writeable else P.copy()
    for s in np.flatnonzero(terminal).tolist():
        leads = P[s] != 0
        leads[:, s] = False
        if leads.any():
            raise ValueError(_leads_away(s, *np.argwhere(leads)[0]))
        P[s] = 0
        P[s, :, s] = 1
    P[~available] = 0
    return P


def _absorbing_csr(P: Table, ends: Bools, available: Bools) -> Table:
    """`absorbing` for CSR; ends and available are by row, [S*A]."""
    A, sizes = P.shape[0] // P.shape[1], np.diff(P.indptr)
    looping = np.flatnonzero(ends) // A
    inside = np.flatnonzero(np.repeat(ends, sizes))  # the entries of terminal states
    away = inside[P.indices[inside] != np.repeat(looping, sizes[ends])]
    if away.size:
        raise ValueError(_leads_away(*pair_of(P, away[0], A), P.indices[away[0]]))
    kept = np.repeat(available & ~ends, sizes)
    sizes = np.where(ends, 1, np.where(available, sizes, 0))
    loops = np.repeat(ends, sizes)
    data, indices = np.ones(loops.size), np.empty(loops.size, P.indices.dtype)
    indices[loops] = looping
    data[~loops], indices[~loops] = P.data[kept], P.indices[kept]
    indptr = np.append(0, np.cumsum(sizes)).astype(P.indptr.dtype)
    return sparse.csr_array((data, indices, indptr), shape=P.shape)


def payments(by_next: Table, P: Table, terminal: Bools) -> Table:
    """Rewards by next state in the form of P, on its non-zeros; terminal states pay nothing."""
    if sparse.issparse(P):
        return _payments_csr(by_next, P, terminal)
    table = by_next.toarray().reshape(P.shape) if sparse.issparse(by_next) else by_next
    table = table if table.flags.writeable else table.copy()
    np.copyto(table, 0, where=P == 0)
    for s in np.flatnonzero(terminal).tolist():
        if table[s].any():
            raise ValueError(_pays(s, np.argwhere(table[s])[0][0]))
    return table


def _payments_csr(by_next: Table, P: Table, terminal: Bools) -> Table:
    """`payments` for CSR."""
    S = terminal.size
    A = P.shape[0] // S
    row = np.repeat(np.arange(S * A), np.diff(P.indptr))
    given = by_next if sparse.issparse(by_next) else by_next.reshape(S * A, S)
    data = np.asarray(given[row, P.indices], np.float64).ravel()
    paid = np.flatnonzero(terminal[row // A] & (data != 0))
    if paid.size:
        raise ValueError(_pays(*pair_of(P, paid[0], A)))
    return sparse.csr_array((data, P.indices.copy(), P.indptr.copy()), shape=P.shape)


def expected_payments(by_next: Table, P: Table, S: int, A: int) -> Floats:
    """The expectation of rewards by next state, [S, A].

    Rows are summed as those of a CSR are, without zeros, so that both forms agree bit for bit.
    """
    if sparse.issparse(P):
        paid = sparse.csr_array((P.data * by_next.data, P.indices, P.indptr), shape=P.shape)
        return np.asarray(paid.sum(axis=1)).reshape(S, A)
    chances, payments = P.reshape(S * A, S), by_next.reshape(S * A, S)
    r = np.zeros(S * A)
    rows = max(1, BLOCK // S)
    for first in range(0, S * A, rows):
        paid = chances[first : first + rows] * payments[first : first + rows]
        there = paid != 0
        counts = np.count_nonzero(there, axis=1)
        some = np.flatnonzero(counts)
        if some.size:
            data = paid.ravel() if there.all() else paid[there]
            r[first + some] = np.add.reduceat(data, (np.cumsum(counts) - counts)[some])
    return r.reshape(S, A)


def _leads_away(s: int, a: int, t: int) -> str:
    return (
        f"state {s} is terminal but P[{s}, {a}] leads to {t}: give it a self-loop or an empty row"
    )


def _pays(s: int, a: int) -> str:
    return f"rewards[{s}, {a}] is not 0 but state {s} is terminal: it pays 0"


def pair_of(P: Table, entry: int, A: int) -> tuple[int, int]:
    """State and action of the row that this entry of a CSR is in."""
    row = int(np.searchsorted(P.indptr, entry, side="right")) - 1
    return row // A, row % A
