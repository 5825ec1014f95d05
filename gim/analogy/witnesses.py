"""What a bound must not contradict: what the very policy earned when it was played.

Three kinds of witnesses tell what a policy earns without a model: episodes of the run itself in
which its actions were played, episodes that were played to find out (`gim.evaluate`), and episodes
of a log. A witness is an interval that holds with the same share as all else; where it lies wholly
outside of what a certificate says, one of them is wrong, and the certificate says so instead of its
bound (`refuted` is the one gate).

Episodes of a run must not be picked by whether they went as the policy would: those that came where
the learner still did something else are missing among them, and may be the worst. So none is left
out: an episode in which another action was played counts with the least that an episode can return
below, and with the most above. The latest 10, 20, 50 or 100 are asked, whichever says most, with
the doubt shared between them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Floats = NDArray[np.float64]
LATEST = (10, 20, 50, 100)  # episodes of a run that are asked
FEWEST = LATEST[0]  # episodes, below which none is asked


class Witness(NamedTuple):
    """What was earned, with an interval."""

    what: str  # "30 episodes of this run"
    mean: float
    lower: float
    upper: float


def refuted(
    earns: tuple[float, float], witnesses: Sequence[Witness], room: float = 0.0
) -> Witness | None:
    """The first witness whose interval has nothing in common with a bound; None: there is none.

    What is no farther off than `room` is rounding.
    """
    for each in witnesses:
        if each.lower > earns[1] + room or each.upper < earns[0] - room:
            return each
    return None


def played(returns: Any, share: float, what: str = "") -> Witness:
    """Episodes that were played with the policy, all of them, as `gim.evaluate` does.

    Args:
        returns: of each episode, or what has them as `.returns`.
        share: the probability with which the interval holds.
        what: these are called.
    """
    given = np.asarray(getattr(returns, "returns", returns), np.float64).ravel()
    if given.size < 2 or not np.isfinite(given).all():
        raise ValueError(
            f"a witness is what gim.evaluate gives, or two returns or more, all finite: these are "
            f"{given.size}"
        )
    what = what or f"{given.size:,} episodes in which it was played"
    low, high = float(given.min()), float(given.max())
    return _interval(given, given, low, high, share, what)


def of_trail(
    policy: NDArray[Any],
    pairs: NDArray[np.int64],
    returns: Floats,
    extremes: tuple[float, float],
    actions: int,
    share: float,
) -> Witness | None:
    """The latest episodes of a run as a witness of a policy; None where they tell nothing.

    Args:
        policy: actions [H, S], or [S]; of a policy that draws them nothing is told.
        pairs: [W, H] s*A + a of each step of episode e in row e % W; -1: over.
        returns: [episodes] of all that were played.
        extremes: the least and the most that an episode can return.
        actions: A.
        share: the probability with which the interval holds.
    """
    W, H = pairs.shape
    episodes = min(len(returns), W - (len(returns) >= W))  # one row may be half written over
    if episodes < FEWEST or policy.dtype.kind not in "iu" or policy.ndim == 2 > len(policy):
        return None
    rows = pairs[np.arange(len(returns) - episodes, len(returns)) % W]
    if policy.ndim == 2 and len(policy) < H:
        return None
    steps = np.arange(H)
    on = np.cumsum(rows < 0, axis=1) == 0  # what stands behind an end is older
    s, a = np.divmod(np.where(on, rows, 0), actions)
    own = policy[s] if policy.ndim == 1 else policy[steps, s]
    alike = ((own == a) | ~on).all(axis=1) & on[:, 0]  # else nobody has kept what was done
    found, got = None, returns[len(returns) - episodes :]
    sizes = [k for k in LATEST if k <= episodes] + [episodes] * (LATEST[0] <= episodes < LATEST[-1])
    for k in dict.fromkeys(sizes):
        same = alike[-k:]
        if not same.any():
            continue
        low, high = (np.where(same, got[-k:], end) for end in extremes)
        what = f"the latest {k} episodes of this run"
        if not same.all():
            what += f", {int(same.sum())} of them as it would play"
        each = _interval(low, high, *extremes, 1.0 - (1.0 - share) / (len(LATEST) + 1), what)
        if found is None or each.upper - each.lower < found.upper - found.lower:
            found = each
    return found


def _interval(
    low: Floats, high: Floats, least: float, most: float, share: float, what: str
) -> Witness:
    """Student's interval from the lower returns to the upper ones, and one more of either extreme.

    Where all returns are the same, one more could be anything.
    """
    n, tail = len(low), (1.0 + share) / 2.0
    t = float(stdtrit(n - 1, tail)) / math.sqrt(n)
    down = (float(low.sum()) + least) / (n + 1) - t * float(low.std(ddof=1))
    up = (float(high.sum()) + most) / (n + 1) + t * float(high.std(ddof=1))
    return Witness(what, float(low.mean() + high.mean()) / 2.0, down, up)
