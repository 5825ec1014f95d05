"""The order of a log: which row follows which, where episodes begin and end."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.logs.coding import NONE
from gim.logs.faults import Faults
from gim.logs.table import Table

END = -2  # in place of a next state: the episode is over, and what came then was not recorded
Ints = NDArray[Any]  # whole numbers of 32 or 64 bits


class Followed(NamedTuple):
    """Rows in the order in which they happened, episode by episode."""

    rows: Ints  # [m] their numbers in the log
    episode: Ints  # [m] from 0, rising
    next: Ints  # [m] keys of next states; END where it was not recorded
    done: NDArray[np.bool_]  # [m]
    resumed: NDArray[np.bool_]  # [m] whether what came just before, in their episode, is missing
    censored: int  # rows left out since nobody saw where they led


def followed(table: Table, faults: Faults, here: Ints, there: Ints | None, where: str) -> Followed:
    """Put rows in order, and find the next state of each.

    A row with a fault is left out whole: it does not say where the row before it led, nor does the
    row after it.

    Args:
        table: the columns of the log.
        faults: where bad rows are marked.
        here: [n] keys of states, -1 where missing.
        there: [n] those of next states; None: the next row of the episode says.
        where: the column to name for a next state.
    """
    found, name = table.columns, table.names
    rows, lost = _sorted(found, faults)
    episode = found["episode"][rows] if "episode" in found else None
    done = found["done"][rows] if "done" in found else np.zeros(rows.size, bool)
    if there is not None:
        faults.mark(rows[(there[rows] == NONE) & ~done], where, "the next state is missing")
    if "step" in found:
        same = np.diff(found["step"][rows]) == 0
        if episode is not None:
            same &= np.diff(episode) == 0
        text = "this step of the episode stands twice"
        rows, episode, done = _without(1 + np.flatnonzero(same), rows, episode, done, faults,
                                       name["step"] or "", text)  # fmt: skip
    if episode is not None:
        over = np.cumsum(done, dtype=np.int32) - done
        over -= over[_starts(episode)][_number(episode)]
        text = "an action after the end of its episode"
        rows, episode, done = _without(np.flatnonzero(over > 0), rows, episode, done, faults,
                                       name["done"] or "", text)  # fmt: skip
    wrong = faults.bad[rows]
    chained = episode is not None and there is not None
    if episode is None:
        cut = np.zeros(rows.size, bool)
        cut[1:] = done[:-1]
        if there is not None:  # of a row that is wrong nobody knows whether it began an episode
            cut[1:] |= ~wrong[:-1] & ~wrong[1:] & (there[rows][:-1] != here[rows][1:])
        episode = np.cumsum(cut, dtype=np.int32)
    last = np.append(np.diff(episode) != 0, True)[: rows.size]
    after = np.append(here[rows][1:], here.dtype.type(NONE))[: rows.size]
    skips = np.zeros(rows.size, bool)
    if "step" in found and rows.size:
        skips[:-1] = (np.diff(found["step"][rows]) != 1) & ~last[:-1]
    between, just_before = _beside(rows, lost if "step" not in found else lost[:0])
    gap = skips | (between & ~last)
    blind = gap | (np.append(wrong[1:], False)[: rows.size] & ~last)
    if there is None:
        following = after
        following[last & done] = END
        faults.mark(rows[skips], name["step"] or "", "the next step of the episode is missing")
        blind |= last & ~done
    else:
        following = there[rows]
        following[(following == NONE) & done] = END
        broken = ~last & ~blind & ~wrong & (after != following)
        text = "the next row of the episode begins in another state"
        faults.mark(rows[broken & chained], where, text)
        blind[:] = False
    blind &= ~faults.bad[rows]
    keep = ~faults.bad[rows] & ~blind
    resumed = just_before | np.append(False, ((~keep | gap) & ~last)[:-1])[: rows.size]
    number, kept = _number(episode[keep]), rows[keep]
    return Followed(kept, number, following[keep], done[keep], resumed[keep], int(blind.sum()))


def _beside(rows: Ints, lost: Ints) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether rows that could not be placed stand between a row and the next one; or just before.

    They may belong there. Where steps are counted, those tell.
    """
    before = np.searchsorted(lost, rows)
    between = np.append(np.diff(before) != 0, False)[: rows.size]
    return between, np.isin(rows - 1, lost)


def _sorted(found: Any, faults: Faults) -> tuple[Ints, Ints]:
    """Rows by episode and step, as they stand where there is neither; and those without a place."""
    placed = np.ones(faults.bad.size, bool)
    keys = []
    if "step" in found:
        placed &= np.isfinite(found["step"])
        keys.append(found["step"])
    if "episode" in found:
        placed &= found["episode"] >= 0
        keys.append(found["episode"])
    rows, lost = np.flatnonzero(placed), np.flatnonzero(~placed)
    if len(keys) == 2:
        rows = rows[np.lexsort([key[rows] for key in keys])]
    elif keys and (np.diff(keys[0][rows]) < 0).any():
        rows = rows[np.argsort(keys[0][rows], kind="stable")]
    return rows, lost


def _without(
    wrong: Ints, rows: Any, episode: Any, done: Any, faults: Faults, column: str, text: str
) -> tuple[Any, Any, Any]:
    if not wrong.size:
        return rows, episode, done
    faults.mark(rows[wrong], column, text)
    keep = np.ones(rows.size, bool)
    keep[wrong] = False
    return rows[keep], None if episode is None else episode[keep], done[keep]


def _starts(episode: Ints) -> Ints:
    """The first place of each episode."""
    return np.flatnonzero(np.append(True, np.diff(episode) != 0)[: episode.size])


def _number(episode: Ints) -> Ints:
    """The number of the episode of each place, from 0."""
    return np.cumsum(np.append(False, np.diff(episode) != 0)[: episode.size], dtype=np.int32)
