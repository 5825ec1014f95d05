"""Checks on entry: what comes in as an MDP leaves this file valid, or not at all.

Every message names the place, the rule and the fix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.arguments import as_whole
from gim.sparse_tables import own_csr

SUM_TOLERANCE = 1e-6  # rows of float32 tables pass, forgotten successors do not

Floats = NDArray[np.float64]
Table = Any  # [S, A, S], or a csr_array of S*A rows


def transitions_of(given: Any, axes: str) -> tuple[Table, int, int]:
    """Bring transitions to [S, A, S] or CSR of S*A rows; return them with S and A."""
    if axes not in ("SAS", "ASS"):
        raise ValueError(f'axes = {axes!r}: must be "SAS" ([S, A, S]) or "ASS" ([A, S, S])')
    if axes == "ASS" and isinstance(given, (list, tuple)) and any(map(sparse.issparse, given)):
        given = _interleave(given)
    if sparse.issparse(given):
        rows, S = given.shape
        if rows == 0 or S == 0 or rows % S:
            raise ValueError(
                f"sparse transitions have shape {given.shape}: they need S*A rows and S columns, "
                "the row of the pair (s, a) is s*A + a"
            )
        return _canonical("transitions", given), S, rows // S
    table = _numbers("transitions", given)
    if table.ndim != 3 or 0 in table.shape:
        raise ValueError(
            f"transitions have shape {table.shape}: they need [S, A, S], or [A, S, S] "
            'with axes="ASS", with at least one state and one action'
        )
    if axes == "ASS":
        table = np.ascontiguousarray(table.transpose(1, 0, 2))
    S, A, T = table.shape
    if S != T:
        other = "ASS" if axes == "SAS" and table.shape[1] == T else None
        hint = f': if the array is [A, S, S], pass axes="{other}"' if other else ""
        raise ValueError(f"transitions have {S} states but {T} next states{hint}")
    return table, S, A


def rewards_of(given: Any, axes: str, S: int, A: int) -> tuple[Floats | None, Table]:
    """Return (r [S, A], None) or (None, rewards by next state)."""
    if sparse.issparse(given):
        if given.shape != (S * A, S):
            raise ValueError(f"sparse rewards have shape {given.shape}, not {(S * A, S)}")
        return None, _canonical("rewards", given)
    table = _numbers("rewards", given)
    if table.shape == (S, A):
        return table, None
    if axes == "ASS" and table.shape == (A, S, S):
        table = np.ascontiguousarray(table.transpose(1, 0, 2))
    if table.shape == (S, A, S):
        return None, table
    raise ValueError(
        f"rewards have shape {table.shape}: with {S} states and {A} actions they need "
        f"{(S, A)} (by pair) or {(S, A, S)} (by next state)"
    )


def absorbing(P: Any, terminal: NDArray[np.bool_], available: NDArray[np.bool_]) -> Any:
    """Rows of terminal states become self-loops, rows of unavailable pairs empty."""
    S, A = available.shape
    if not terminal.any() and available.all():
        return P
    dense = not sparse.issparse(P)
    rows = sparse.csr_array(P.reshape(S * A, S)) if dense else P
    pair = np.repeat(np.arange(S * A), np.diff(rows.indptr))
    s, a = pair // A, pair % A
    leaves = terminal[s] & (rows.indices != s) & (rows.data != 0)
    if leaves.any():
        k = np.flatnonzero(leaves)[0]
        raise ValueError(
            f"state {s[k]} is terminal but P[{s[k]}, {a[k]}] leads to {rows.indices[k]}: "
            "give it a self-loop or an empty row"
        )
    keep = available[s, a] & ~terminal[s]
    ends = np.flatnonzero(np.repeat(terminal, A))
    data = np.append(rows.data[keep], np.ones(ends.size))
    place = (np.append(pair[keep], ends), np.append(rows.indices[keep], ends // A))
    table = sparse.csr_array((data, place), shape=(S * A, S))
    table.sort_indices()
    return table.toarray().reshape(S, A, S) if dense else table


def payments(by_next: Table, P: Table, terminal: NDArray[np.bool_]) -> Table:
    """Rewards by next state in the form of P, on its non-zeros; terminal states pay nothing."""
    S = terminal.size
    if sparse.issparse(P):
        rows = P
    else:
        rows = sparse.csr_array(P.reshape(-1, S))
        by_next = by_next.toarray() if sparse.issparse(by_next) else by_next
    A = rows.shape[0] // S
    pair = np.repeat(np.arange(S * A), np.diff(rows.indptr))
    given = by_next if sparse.issparse(by_next) else by_next.reshape(S * A, S)
    table = rows.copy()
    table.data = np.asarray(given[pair, rows.indices], np.float64).ravel()
    paid = terminal[pair // A] & (table.data != 0)
    if paid.any():
        s, a = divmod(int(pair[np.flatnonzero(paid)[0]]), A)
        raise ValueError(f"rewards[{s}, {a}] is not 0 but state {s} is terminal: it pays 0")
    return table if sparse.issparse(P) else table.toarray().reshape(S, A, S)


def check_rows(P: Table, needed: NDArray[np.bool_]) -> None:
    """Each needed row is a distribution: no entry negative or NaN, sum 1."""
    S, A = needed.shape
    data = P.data if sparse.issparse(P) else P.reshape(S * A, S)
    for bad, rule in (
        (np.isnan(data), "NaN"),
        (np.isinf(data), "infinite"),
        (data < 0, "negative"),
    ):
        if bad.any():
            s, a, t = _place(P, bad, A)
            raise ValueError(f"P[{s}, {a}, {t}] is {rule}: probabilities are numbers from 0 to 1")
    sums = np.asarray(P.sum(axis=-1)).reshape(S, A)
    wrong = needed & (np.abs(sums - 1) > SUM_TOLERANCE)
    if wrong.any():
        s, a = np.argwhere(wrong)[0]
        more = f" (and {wrong.sum() - 1} more)" if wrong.sum() > 1 else ""
        raise ValueError(
            f"P[{s}, {a}] sums to {sums[s, a]:.6g}, not 1{more}: normalise it, or mark the pair "
            "as not available"
        )


def check_finite(name: str, table: Any) -> None:
    """No entry is NaN or infinite."""
    data = table.data if sparse.issparse(table) else table
    bad = ~np.isfinite(data)
    if bad.any():
        place = "" if sparse.issparse(table) else str(np.argwhere(bad)[0].tolist())
        raise ValueError(f"{name}{place} is NaN or infinite: give a finite number")


def start_of(given: Any, S: int) -> Floats:
    """A state or a distribution, as a distribution [S]."""
    if np.ndim(given) == 0:
        start = np.zeros(S)
        start[state_of("start", given, S)] = 1.0
        return start
    start = _numbers("start", given)
    if start.shape != (S,):
        raise ValueError(f"start has shape {start.shape}: give a state, or {S} probabilities")
    if not np.isfinite(start).all() or (start < 0).any():
        raise ValueError("start has an entry that is negative, NaN or infinite")
    if abs(start.sum() - 1) > SUM_TOLERANCE:
        raise ValueError(f"start sums to {start.sum():.6g}, not 1: normalise it")
    return start


def state_of(name: str, given: Any, S: int) -> int:
    """One state, in range."""
    state = as_whole(given)
    if state is None:
        raise ValueError(f"{name} = {given!r}: give a whole number, the index of a state")
    if not 0 <= state < S:
        raise ValueError(f"{name} = {given} is out of range: states are 0 to {S - 1}")
    return state


def flags_of(name: str, given: Any, S: int) -> NDArray[np.bool_]:
    """States as a mask [S]: from a mask or from indices."""
    array = np.asarray(given)
    if array.dtype == bool:
        if array.shape != (S,):
            raise ValueError(f"{name} has shape {array.shape}: a mask has shape {(S,)}")
        return array.copy()
    mask = np.zeros(S, bool)
    for state in array.ravel():
        mask[state_of(name, state, S)] = True
    return mask


def available_of(given: Any, terminal: NDArray[np.bool_], A: int) -> NDArray[np.bool_]:
    """Which pairs exist [S, A]; each state keeps at least one action."""
    S = terminal.size
    if given is None:
        return np.ones((S, A), bool)
    mask = np.array(given)
    if mask.shape != (S, A) or mask.dtype != bool:
        raise ValueError(f"available has shape {mask.shape} of {mask.dtype}: give bool {(S, A)}")
    mask[terminal] = True
    stuck = ~mask.any(axis=1)
    if stuck.any():
        s = np.flatnonzero(stuck)[0]
        raise ValueError(f"state {s} has no available action: give it one, or make it terminal")
    return mask


def noise_of(given: Any, S: int, A: int) -> Floats | None:
    """Standard deviation of the reward per pair [S, A], or None for none at all."""
    noise = _numbers("noise", given)
    if noise.shape not in ((), (S, A)):
        raise ValueError(f"noise has shape {noise.shape}: give a number or {(S, A)}")
    if not np.isfinite(noise).all() or (noise < 0).any():
        raise ValueError("noise is a standard deviation: finite, and not below 0")
    return np.broadcast_to(noise, (S, A)).copy() if noise.any() else None


def _numbers(name: str, given: Any) -> Floats:
    try:
        if np.iscomplexobj(given):
            raise TypeError("complex numbers have no order")
        return np.array(given, np.float64, order="C")
    except (TypeError, ValueError) as problem:
        raise ValueError(f"{name} is not an array of numbers: {problem}") from None


def _interleave(matrices: Sequence[Any]) -> Any:
    """A sparse matrices [S, S], one per action, to rows s*A + a."""
    tables = [own_csr(f"transitions[{a}]", m) for a, m in enumerate(matrices)]
    S, A = tables[0].shape[0], len(tables)
    for a, table in enumerate(tables):
        if table.shape != (S, S):
            raise ValueError(f"transitions[{a}] has shape {table.shape}, not {(S, S)}")
    order = np.arange(A * S).reshape(A, S).T.ravel()
    return sparse.csr_array(sparse.vstack(tables))[order]


def _canonical(name: str, given: Any) -> Any:
    """A copy as CSR: entries checked, in order, none twice (those are added up), none 0."""
    table = own_csr(name, given)
    table.sum_duplicates()
    table.eliminate_zeros()
    return table


def _place(P: Table, bad: NDArray[np.bool_], A: int) -> tuple[int, int, int]:
    if sparse.issparse(P):
        k = np.flatnonzero(bad)[0]
        row = int(np.searchsorted(P.indptr, k, side="right")) - 1
        return row // A, row % A, int(P.indices[k])
    row, t = np.argwhere(bad)[0]
    return int(row) // A, int(row) % A, int(t)
