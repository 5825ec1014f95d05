"""Drawing from a finite MDP in constant time: alias tables over the non-zero probabilities.

A row with n non-zeros becomes n equally likely cells; each holds a cut and two successors, the
first taken below the cut, the second above (Walker, 1977; built as Vose, 1991). One uniform number
in [0, n) picks the cell, by its whole part, and the side: cuts are counted from the start of the
row, so that it is compared as it is. Row s*A + a belongs to the pair (s, a), the last row to the
start.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._compile.jit import hot, seldom

GO_ON = 0  # the episode goes on
CUT = 1  # it ends because the horizon is reached: the state reached is like any other
TERMINATED = 2  # it ends in a terminal state


class AliasTables(NamedTuple):
    """What the compiled loop needs of an MDP."""

    A: int
    H: int
    first: NDArray[np.int64]  # [S*A + 2] where the cells of each row begin
    cut: NDArray[np.float64]  # [cells] from k to k+1 in the row's cell k
    state: NDArray[np.int64]  # [2 * cells] successor below and above the cut
    reward: NDArray[np.float64]  # [S*A] by pair, or [2 * cells] by successor
    by_next: bool  # whether the reward depends on the successor
    noise: NDArray[np.float64]  # [S*A] standard deviation of the reward, or [0] for none
    terminal: NDArray[np.bool_]  # [S]


@hot
def draw(world: Any, row: int, rng: Any) -> Any:
    """Draw a place in `world.state` from the distribution of this row."""
    first = world.first[row]
    u = rng.random() * (world.first[row + 1] - first)
    cell = int(u)
    return 2 * (first + cell) + int(u >= world.cut[first + cell])


@hot
def begin(world: Any, rng: Any) -> Any:
    """Draw the first state of an episode."""
    return world.state[draw(world, world.first.size - 2, rng)]


@hot
def exists(world: Any, s: int, a: int) -> bool:
    """Whether a state has this action: an unavailable pair leads nowhere."""
    pair = s * world.A + a
    return 0 <= a < world.A and world.first[pair] < world.first[pair + 1]


@hot
def step(world: Any, s: int, a: int, rng: Any) -> Any:
    """Draw what follows the pair (s, a): next state, reward, and whether it is terminal."""
    pair = s * world.A + a
    place = draw(world, pair, rng)
    t = world.state[place]
    r = world.reward[place] if world.by_next else world.reward[pair]
    end = TERMINATED if world.terminal[t] else GO_ON
    return t, r, end


@hot
def noisy_step(world: Any, s: int, a: int, rng: Any) -> Any:
    """`step` where rewards are noisy; apart, since the normal distribution is long to compile."""
    t, r, end = step(world, s, a, rng)
    return t, r + world.noise[s * world.A + a] * rng.standard_normal(), end


@hot
def pick(actions: Any, count: Any, s: int, u: float) -> Any:
    """The available action of `s` that the number u in [0, 1) falls on; see `listed`."""
    return actions[s, int(u * count[s])]


def listed(available: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The available actions of each state, first in its row [S, A], and their number [S]."""
    return np.argsort(~available, axis=1, kind="stable"), available.sum(axis=1)


def make_world(mdp: Any) -> AliasTables:
    """Build the alias tables of an MDP, for all pairs and the start at once."""
    rows = mdp.rows()
    starts = np.flatnonzero(mdp.start)
    first = np.append(rows.indptr, rows.indptr[-1] + starts.size).astype(np.int64)
    successor = np.append(rows.indices, starts).astype(np.int64)
    cut = np.append(rows.data, mdp.start[starts])
    other = np.empty_like(successor)
    _fill(first, cut, other, np.empty(max(1, np.diff(first).max()), np.int64))
    places = np.stack([np.arange(successor.size), other], axis=1).ravel()
    if mdp.rewards_next is None:
        reward = mdp.rewards.ravel().copy()
    else:
        reward = np.append(mdp.paid(), np.zeros(starts.size))[places]
    return AliasTables(
        A=mdp.A,
        H=mdp.horizon,
        first=first,
        cut=cut,
        state=successor[places],
        reward=reward,
        by_next=mdp.rewards_next is not None,
        noise=np.zeros(0) if mdp.noise is None else mdp.noise.ravel().copy(),
        terminal=mdp.terminal.copy(),
    )


@seldom(lambda first, cut, *_: 8 * cut.size)
def _fill(first: Any, cut: Any, other: Any, todo: Any) -> None:
    """Turn probabilities (in `cut`) into cuts, and set each cell's second successor (a place).

    u >= cut in place of u - cell >= the cell's share below: no number u is on another side, since
    u - cell is exact.

    `todo` has room for the longest row: to measure that here would compile for seconds.
    """
    for row in range(first.size - 1):
        low, high = first[row], first[row + 1]
        n = high - low
        total = 0.0
        for k in range(low, high):
            total += cut[k]
        poor, rich = 0, n  # cells below 1 from the left of the stack, above 1 from the right
        for k in range(low, high):
            cut[k] *= n / total
            other[k] = k
            if cut[k] < 1.0:
                todo[poor] = k
                poor += 1
            else:
                rich -= 1
                todo[rich] = k
        while poor > 0 and rich < n:
            poor -= 1
            k, giver = todo[poor], todo[rich]
            other[k] = giver
            cut[giver] -= 1.0 - cut[k]
            if cut[giver] < 1.0:  # the giver is poor now: it moves to the other stack
                rich += 1
                todo[poor] = giver
                poor += 1
        for j in range(poor):  # left over by rounding: full cells
            cut[todo[j]] = 1.0
        for j in range(rich, n):
            cut[todo[j]] = 1.0
        for k in range(low, high):
            share, cell = cut[k], float(k - low)
            cut[k] = cell + share
            if cut[k] - cell < share:  # rounded down: the next number is the first above the cut
                cut[k] = np.nextafter(cut[k], np.inf)


@hot
def gamma(shape: float, rng: Any) -> float:
    """Draw a gamma variable (Marsaglia and Tsang, 2000), in half the time of the library's."""
    boost = math.exp(-rng.standard_exponential() / shape) if shape < 1.0 else 1.0
    d = (shape + 1.0 if shape < 1.0 else shape) - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = rng.standard_normal()
        root, x2 = 1.0 + c * x, x * x
        v = root * root * root  # not a power: that has other bits in plain Python
        u = rng.random()
        if v > 0.0 and (
            u < 1.0 - 0.0331 * (x2 * x2) or math.log(u) < 0.5 * x * x + d * (1.0 - v + math.log(v))
        ):
            return d * v * boost
