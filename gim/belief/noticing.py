"""What a learner does about a change: it looks for one between episodes, and forgets the past.

It looks after an episode that surprised (`gim.belief.surprise`), and besides the seldomer, the
longer the run. A look goes back 16 episodes, after every second one twice as far, after every
fourth four times, and so on, as far as a run keeps its steps (`gim.runs.loop.Trail`): what changes
a little takes long to notice, but need not be looked for as often. What is found depends on what a
run saves and on nothing else.

Of a log all rows are known. Each quarter of them is held against what is inferred from those before
it, and what is told best of all counts; none is looked for within the first one. Episodes of a log
may come from many worlds, such as several shops, without any change: then the order in which they
come says no more than others do, and the log is taken as it is: what is told must be likelier than
under any of some other orders by as much as these differ among each other.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim._base.threads import one_thread
from gim.analogy.base import Frame, Inference
from gim.analogy.prior import no_prior
from gim.belief.change import Called, Change, changed
from gim.belief.comparison import FEW, Latest
from gim.belief.knowledge import Knowledge
from gim.belief.surprise import surprising
from gim.model.counts import Counts
from gim.model.halves import without_empty
from gim.model.hash_table import FREE
from gim.model.tally import tally
from gim.model.task import Mind

PARTS = 4  # of a log, each of which is held against those before it
ORDERS = 9  # of episodes, under which a change must be less likely
NEAR = 16  # episodes that every look goes back
LOOKS = 4  # within each doubling of a run, whatever is seen
STEPS = 1 << 14  # the most that it does
SEED = 0  # of an inference that is only held against what came later


def notice(belief: Knowledge, mind: Mind) -> Change | None:
    """Look for a change between two episodes; if there is one, what it made untrue is forgotten."""
    done = mind.episode + 1
    if mind.trail is None or mind.step > 0 or not belief.visits[0]:
        return None
    if done % _apart(done) and not surprising(belief, mind.trail, mind.episode):
        return None
    with mind.timed("inferring"):
        change = look_back(belief, mind, done, NEAR * (done & -done))
    if change is not None:
        mind.kept.clear()
        mind.changes.append(change)
        mind.note(f"the world has changed: {change}")
    return change


def _apart(done: int) -> int:
    """Episodes from one look to the next, where none surprises: 1, 2 from the 8th on, then 4."""
    return 1 << max(0, done.bit_length() - LOOKS.bit_length())


def look_back(belief: Knowledge, mind: Mind, done: int, back: int) -> Change | None:
    """The same within so many of the latest of the episodes done, whoever asks; the mind stays."""
    latest = latest_steps(mind, done, back)
    states, actions = mind.names()
    called, paid = Called(states, actions, mind.task.variables), not belief.rewards.given
    with one_thread():
        change = changed(belief.counts, belief.prior, latest, called, paid=paid)
    if change is not None:
        forget(belief, latest, change)
    return change


def latest_steps(mind: Mind, done: int, back: int) -> Latest:
    """The steps of so many of the latest of the episodes done, as far as they are kept."""
    pairs, next, r = mind.trail
    W, H = pairs.shape
    begin = max(0, done - min(W, back, max(NEAR, STEPS // H)))
    if mind.changes:
        begin = max(begin, mind.changes[-1].since)
    episode = np.arange(begin, done)
    row = episode % W
    on = np.cumsum(pairs[row] < 0, axis=1) == 0  # what stands behind an end is older
    kept = ((next[row] >= 0) | ~on).all(axis=1)  # versions before kept pairs alone
    on &= np.logical_and.accumulate(kept[::-1])[::-1, None]
    block = np.broadcast_to(episode[:, None], on.shape)[on]
    return Latest(pairs[row][on], next[row][on], r[row][on], block)


def forget(belief: Knowledge, latest: Latest, change: Change) -> None:
    """Leave of the pairs that changed only what was counted since; it is time to infer anew.

    A state that was left since does not end an episode any more, whatever it did before.
    """
    S, A = belief.counts.n.shape
    past = np.zeros(S * A, bool)
    past[list(change.pairs)] = True
    since = latest.block >= change.since
    of_past = since & past[latest.pair]
    _recount(belief.counts, past, *(each[of_past] for each in latest[:3]))
    belief.terminal[latest.pair[since] // A] = False
    belief.infer_at[0] = belief.visits[0]


def _recount(counts: Counts, of: NDArray[np.bool_], pair: Any, next: Any, r: Any) -> None:
    """Set what was counted of some pairs [S*A] to these steps, in place."""
    S, A = counts.n.shape
    for name, weight in (("n", None), ("R", r), ("R2", r * r)):
        table = getattr(counts, name).reshape(-1)
        table[of] = np.bincount(pair, weight, S * A)[of]
    key = pair * S + next
    if not counts.keys.size:
        place, gone = key, np.repeat(of, S)
    else:
        used = np.flatnonzero(counts.keys != FREE)
        used = used[np.argsort(counts.keys[used])]
        place = used[np.searchsorted(counts.keys[used], key)]
        gone = (counts.keys != FREE) & of[np.maximum(counts.keys, 0) // S]
    for name, weight in (("next", np.ones(r.size)), ("paid", r), ("paid2", r * r)):
        table = getattr(counts, name)
        if table.size:
            table[gone] = 0.0
            np.add.at(table, place, weight)
    for own, new in zip(counts, without_empty(counts), strict=True):
        own[...] = new


def change_within(
    latest: Latest,
    episode: NDArray[Any],
    infer: Inference | None,
    frame: Frame,
    called: Called,
    unit: str,
    paid: bool = True,
) -> Change | None:
    """The latest change within steps that are all there is.

    Args:
        latest: the steps.
        episode: [n] of each, rising.
        infer: what predicts pairs from others.
        frame: what is certain besides.
        called: what states and actions are called.
        unit: what blocks are.
        paid: whether rewards may change, too.
    """
    found = _change_within(latest, infer, frame, called, unit, paid)
    if found is None:
        return None
    rng, others = np.random.default_rng(SEED), list[float]()
    for _ in range(ORDERS if episode[-1] > 1 else 0):
        number = rng.permutation(episode[-1] + 1)[episode]
        order = np.argsort(number, kind="stable")
        block = np.arange(order.size) if unit == "row" else number[order]
        mixed = Latest(latest.pair[order], latest.next[order], latest.r[order], block)
        other = _change_within(mixed, infer, frame, called, unit, paid)
        others.append(0.0 if other is None else other.nats)
        if found.nats < 2.0 * max(others) - min(others):
            return None
    # The moment is not known well: what came shortly before is the same change.
    since, near = found.since, found.since - (int(latest.block[-1]) - found.since) // 4
    while before := _change_within(latest.before(since), infer, frame, called, unit, paid):
        if before.since < near:
            break
        since = before.since
    visits = np.isin(latest.pair[latest.block >= since], found.pairs).sum()
    return replace(found, since=since, visits=int(visits))


def _change_within(
    latest: Latest, infer: Inference | None, frame: Frame, called: Called, unit: str, paid: bool
) -> Change | None:
    blocks = latest.blocks
    if blocks.size < 2:
        return None
    counts, until = _counted(latest, frame), float(blocks[-1] + 1)

    def any_block(block: Any) -> Any:
        """A log is known to its end: it changes as likely as not, then with any block alike."""
        return block / (blocks[-1] + 1)

    found: list[Change | None] = []
    for part in range(PARTS - 1, 0, -1):
        middle = max(int(latest.block[part * latest.block.size // PARTS]), int(blocks[1]))
        if middle >= until:
            continue
        prior = no_prior(*frame.available.shape)
        first = latest.before(middle)
        if infer is not None and first.pair.size >= FEW:
            with suppress(np.linalg.LinAlgError, ArithmeticError):
                prior = infer(_counted(first, frame), frame, np.random.default_rng(SEED))
        within = middle, until
        found.append(changed(counts, prior, latest, called, unit, within, paid, any_block))
        until = middle
    return max((each for each in found if each is not None), key=lambda x: x.nats, default=None)


def _counted(steps: Latest, frame: Frame) -> Counts:
    S, A = frame.available.shape
    return tally(S, A, *np.divmod(steps.pair, A), steps.r, steps.next)
