"""Checks on entry: what comes in as an MDP leaves this file valid, or not at all.

Every message names the place, the rule and the fix. Tables are read, not copied: the least entry
and the sums of the rows tell whether anything is wrong, and only then is its place looked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gim._base.arguments import as_whole
from gim.mdp.tables import (
    BLOCK,
    Bools,
    Floats,
    Table,
    interleave,
    own_csr,
    own_numbers,
    pair_of,
)

SUM_TOLERANCE = 1e-6  # rows of float32 tables pass, forgotten successors do not


def transitions_of(given: Any, axes: str) -> tuple[Table, int, int]:
    """Bring transitions to [S, A, S] or CSR of S*A rows; return them with S and A."""
    if axes not in ("SAS", "ASS"):
        raise ValueError(f'axes = {axes!r}: must be "SAS" ([S, A, S]) or "ASS" ([A, S, S])')
    if axes == "ASS" and isinstance(given, (list, tuple)) and any(map(sparse.issparse, given)):
        given = interleave(given)
    if sparse.issparse(given):
        rows, S = given.shape
        if rows == 0 or S == 0 or rows % S:
            raise ValueError(
                f"sparse transitions have shape {given.shape}: they need S*A rows and S columns, "
                "the row of the pair (s, a) is s*A + a"
            )
        return own_csr("transitions", given), S, rows // S
    table = own_numbers("transitions", given, axes)
    if table.ndim != 3 or 0 in table.shape:
        raise ValueError(
            f"transitions have shape {table.shape}: they need [S, A, S], or [A, S, S] "
            'with axes="ASS", with at least one state and one action'
        )
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
        return None, own_csr("rewards", given)
    table = own_numbers("rewards", given, axes)
    if table.shape == (S, A):
        return table, None
    if table.shape == (S, A, S):
        return None, table
    raise ValueError(
        f"rewards have shape {table.shape}: with {S} states and {A} actions they need "
        f"{(S, A)} (by pair) or {(S, A, S)} (by next state)"
    )


def check_rows(P: Table, needed: Bools) -> None:
    """Each needed row is a distribution: no entry negative or NaN, sum 1."""
    S, A = needed.shape
    data = P.data if sparse.issparse(P) else P.reshape(S * A, S)
    if sparse.issparse(P):
        sums, least = np.asarray(P.sum(axis=-1)), data.min(initial=0)
    else:
        sums, least = np.empty(S * A), 0.0
        rows = max(1, BLOCK // S)
        for first in range(0, S * A, rows):
            block = data[first : first + rows]
            block.sum(axis=1, out=sums[first : first + rows])
            least = min(least, block.min())  # NaN is in the sums
    sums = sums.reshape(S, A)  # NaN or infinite if an entry is
    off = needed & ~(np.abs(sums - 1) <= SUM_TOLERANCE)
    if least >= 0 and not off.any() and np.isfinite(sums).all():
        return
    for bad, rule in (
        (np.isnan(data), "NaN"),
        (np.isinf(data), "infinite"),
        (data < 0, "negative"),
    ):
        if bad.any():
            s, a, t = _place(P, bad, A)
            raise ValueError(f"P[{s}, {a}, {t}] is {rule}: probabilities are numbers from 0 to 1")
    s, a = np.argwhere(off)[0]
    more = f" (and {off.sum() - 1} more)" if off.sum() > 1 else ""
    raise ValueError(
        f"P[{s}, {a}] sums to {sums[s, a]:.6g}, not 1{more}: normalise it, or mark the pair "
        "as not available"
    )


def check_finite(name: str, table: Table) -> None:
    """No entry is NaN or infinite."""
    data = table.data if sparse.issparse(table) else table
    if np.isfinite(data.sum()):
        return
    bad = ~np.isfinite(data)  # a sum of finite numbers may be infinite
    if bad.any():
        place = "" if sparse.issparse(table) else str(np.argwhere(bad)[0].tolist())
        raise ValueError(f"{name}{place} is NaN or infinite: give a finite number")


def start_of(given: Any, S: int) -> Floats:
    """A state or a distribution, as a distribution [S]."""
    if np.ndim(given) == 0:
        start = np.zeros(S)
        start[state_of("start", given, S)] = 1.0
        return start
    start = own_numbers("start", given)
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


def flags_of(name: str, given: Any, S: int) -> Bools:
    """States as a mask [S]: from a mask or from indices."""
    array = np.asarray(given)
    if array.dtype == bool:
        if array.shape != (S,):
            raise ValueError(f"{name} has shape {array.shape}: a mask has shape {(S,)}")
        return array.copy()
    mask = np.zeros(S, bool)
    if array.dtype.kind not in "iu" or ((array < 0) | (array >= S)).any():
        array = np.array([state_of(name, state, S) for state in array.ravel()], np.int64)
    mask[array] = True
    return mask


def available_of(given: Any, terminal: Bools, A: int) -> Bools:
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
    noise = own_numbers("noise", given)
    if noise.shape not in ((), (S, A)):
        raise ValueError(f"noise has shape {noise.shape}: give a number or {(S, A)}")
    if not np.isfinite(noise).all() or (noise < 0).any():
        raise ValueError("noise is a standard deviation: finite, and not below 0")
    return np.broadcast_to(noise, (S, A)).copy() if noise.any() else None


def _place(P: Table, bad: Bools, A: int) -> tuple[int, int, int]:
    if sparse.issparse(P):
        k = np.flatnonzero(bad)[0]
        return *pair_of(P, k, A), int(P.indices[k])
    row, t = np.argwhere(bad)[0]
    return int(row) // A, int(row) % A, int(t)
