"""What factored R-MAX and Met-Rmax share: tables of parts of a step, and optimism about the rest.

A step from (s, a) to s' that pays r has parts: each variable of s' in turn, whether the episode
ends, and the reward. A *guess* says which inputs (variables of s, variables of s' that came before)
a part depends on under one action, and keeps a table of what was seen in each context, a
combination of their values. A guess says nothing of a context met fewer than m times. A part can be
predicted if all its guesses that are still in play say something, and the same to within epsilon
(adaptive k meteorologists: Diuk, Li and Leffler, 2009); with a single guess, if that has m visits.
Only what cannot be predicted is learned from. What cannot leads to a heaven that pays r_max at
every step (R-MAX), so plans seek it out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._compile.jit import hot, rare
from gim._compile.memory import SAME, VISITS, Limit, Limits
from gim.mdp.variables import Variables
from gim.model.task import Task

MOST = 1 << 26  # entries of all tables
NOBODY = -1  # no guess predicts the part
FINITE = Limit(-1e200, 1e200)


class Guess(NamedTuple):
    """On what a part depends under an action; inputs are the k variables of s, then those of s'."""

    action: int
    part: int  # 0 to k - 1: that variable of s'; k: the end of the episode; k + 1: the reward
    inputs: tuple[int, ...]


class Factors(NamedTuple):
    """All guesses and their tables; those of one action and part stand together."""

    x: NDArray[np.int64]  # [S, k] codes of the variables
    state: NDArray[np.int64]  # [product of their sizes] the state with these codes, or -1
    radix: NDArray[np.int64]  # [k] what a code counts in that number
    sizes: NDArray[np.int64]  # [parts] width of a table: values of a variable; 1 for the others
    first: NDArray[np.int64]  # [A*parts + 1] where the guesses of each action and part begin
    stride: NDArray[np.int64]  # [guesses, 2k] what each input counts in the number of a context
    place: NDArray[np.int64]  # [guesses] where its contexts begin in n
    cell: NDArray[np.int64]  # [guesses] where they begin in the table
    active: NDArray[np.bool_]  # [guesses] whether it is still in play
    n: NDArray[np.int64]  # [contexts] visits
    table: NDArray[np.float64]  # [cells] visits by value; ends; sum of rewards
    duel: NDArray[np.int64]  # [A*parts] where the comparisons of pairs of guesses begin
    fought: NDArray[np.int64]  # [comparisons] how often the two have differed
    lead: NDArray[np.float64]  # [comparisons] squared error of the first less that of the second
    m: NDArray[np.int64]  # [1] visits after which a guess speaks
    epsilon: NDArray[np.float64]  # [1] how far two guesses may differ and still agree
    trials: NDArray[np.int64]  # [1] differences after which the worse of two is dropped
    unit: NDArray[np.float64]  # [1] width of the reward range

    def limits(self) -> Limits:
        """All that says where something stands is as at the start (see `gim._compile.memory`)."""
        counts = {"n": VISITS, "fought": VISITS, "table": FINITE, "lead": FINITE}
        return dict.fromkeys(set(self._fields) - {"active"}, SAME) | counts


def variables_of(task: Task) -> Variables:
    """The variables of the world, or the number of the state as the only one."""
    if task.variables is not None:
        return task.variables
    return Variables.coded(np.arange(task.S)[:, None], [range(task.S)], ["state"], [False])


def parts_of(k: int, rewards: str) -> int:
    """How many parts are learned: ends and rewards are no parts if they are known."""
    return k + 2 if rewards == "learn" else k


def new_factors(
    task: Task,
    guesses: Sequence[Guess],
    parts: int,
    limits: tuple[int, float, int],
    unit: float,
) -> Factors:
    """Empty tables for these guesses, which come in the order of actions and parts.

    Args:
        task: what the agent is told.
        guesses: at least one for every action and part.
        parts: see `parts_of`.
        limits: m, epsilon and trials.
        unit: what differences of rewards are measured in.
    """
    variables = variables_of(task)
    values = np.array(variables.sizes)
    k = values.size
    sizes = np.concatenate([values, np.ones(parts - k, np.int64)])
    contexts = [math.prod(values[i % k] for i in guess.inputs) for guess in guesses]
    cells = [n * int(sizes[guess.part]) for n, guess in zip(contexts, guesses, strict=True)]
    if max(sum(cells), math.prod(values)) > MOST:
        raise ValueError(
            f"tables of {max(sum(cells), math.prod(values)):,} entries, where {MOST:,} is the "
            "most: give fewer parents, or leave variables out"
        )
    stride = np.zeros((len(guesses), 2 * k), np.int64)
    for g, guess in enumerate(guesses):
        step = 1
        for i in guess.inputs:
            stride[g, i] = step
            step *= int(values[i % k])
    groups = np.bincount([g.action * parts + g.part for g in guesses], minlength=task.A * parts)
    radix = np.append(np.cumprod(values[:0:-1])[::-1], 1)
    state = np.full(math.prod(values), -1)
    state[variables.codes @ radix] = np.arange(task.S)
    duels = groups**2
    m, epsilon, trials = limits
    return Factors(
        x=variables.codes.copy(),
        state=state,
        radix=radix,
        sizes=sizes,
        first=np.append(0, np.cumsum(groups)),
        stride=stride,
        place=np.append(0, np.cumsum(contexts)[:-1]).astype(np.int64),
        cell=np.append(0, np.cumsum(cells)[:-1]).astype(np.int64),
        active=np.ones(len(guesses), bool),
        n=np.zeros(sum(contexts), np.int64),
        table=np.zeros(sum(cells)),
        duel=np.append(0, np.cumsum(duels)[:-1]),
        fought=np.zeros(int(duels.sum()), np.int64),
        lead=np.zeros(int(duels.sum())),
        m=np.array([m]),
        epsilon=np.array([epsilon]),
        trials=np.array([trials]),
        unit=np.array([unit]),
    )


@hot
def context(f: Any, g: int, s: int, y: Any, t: int) -> int:
    """The context of a guess in state s, where the next variables are y[t]."""
    k = f.x.shape[1]
    c = 0
    for j in range(k):
        c += f.stride[g, j] * f.x[s, j] + f.stride[g, k + j] * y[t, j]
    return c


@rare
def speaker(f: Any, s: int, a: int, part: int, y: Any, t: int) -> int:
    """A guess that predicts the part, or NOBODY if one is silent or two differ."""
    k, width = f.x.shape[1], f.sizes[part]
    unit = f.unit[0] if part == k + 1 else 1.0
    group = a * f.sizes.size + part
    found = NOBODY
    for g in range(f.first[group], f.first[group + 1]):
        if f.active[g]:
            if f.n[f.place[g] + context(f, g, s, y, t)] < f.m[0]:
                return NOBODY
            found = g if found == NOBODY else found
    for v in range(width):
        low, high = np.inf, -np.inf
        for g in range(f.first[group], f.first[group + 1]):
            if f.active[g]:
                c = context(f, g, s, y, t)
                p = f.table[f.cell[g] + c * width + v] / f.n[f.place[g] + c]
                low, high = min(low, p), max(high, p)
        if high - low > f.epsilon[0] * unit:
            return NOBODY
    return found


@rare
def judge(f: Any, s: int, a: int, part: int, t: int, value: int, paid: float) -> bool:
    """Compare all pairs of guesses that differ here; whether one was dropped."""
    k, width = f.x.shape[1], f.sizes[part]
    unit = f.unit[0] if part == k + 1 else 1.0
    group = a * f.sizes.size + part
    first, last = f.first[group], f.first[group + 1]
    dropped = False
    for g in range(first, last):
        for o in range(g + 1, last):
            if not (f.active[g] and f.active[o]):
                continue
            c, d = context(f, g, s, f.x, t), context(f, o, s, f.x, t)
            gap = one = two = 0.0
            for v in range(width):
                p = f.table[f.cell[g] + c * width + v] / f.n[f.place[g] + c] / unit
                q = f.table[f.cell[o] + d * width + v] / f.n[f.place[o] + d] / unit
                z = paid / unit if part >= k else 1.0 if v == value else 0.0
                gap = max(gap, abs(p - q))
                one += (p - z) * (p - z)
                two += (q - z) * (q - z)
            if gap < f.epsilon[0] / 2.0:
                continue
            i = f.duel[group] + (g - first) * (last - first) + o - first
            f.fought[i] += 1
            f.lead[i] += one - two
            if f.fought[i] >= f.trials[0]:
                f.active[g if f.lead[i] > 0.0 else o] = False
                dropped = True
    return dropped


@rare
def take_in(f: Any, s: int, a: int, r: float, t: int, ends: bool) -> bool:
    """Learn from what could not be predicted of a step; whether anything can be now."""
    k = f.x.shape[1]
    news = False
    for part in range(f.sizes.size):
        value = f.x[t, part] if part < k else 0
        paid = r if part == k + 1 else 1.0 if ends else 0.0
        group, silent = a * f.sizes.size + part, False
        for g in range(f.first[group], f.first[group + 1]):
            c = context(f, g, s, f.x, t)
            at = f.place[g] + c
            if f.active[g] and f.n[at] < f.m[0]:
                silent = True
                f.n[at] += 1
                f.table[f.cell[g] + c * f.sizes[part] + value] += paid if part >= k else 1.0
                news = news or f.n[at] == f.m[0]
        if not silent and speaker(f, s, a, part, f.x, t) == NOBODY:
            news = judge(f, s, a, part, t, value, paid) or news
    return news


@rare
def foreseen(f: Any, s: int, a: int, t: int) -> bool:
    """Whether every part of the step from (s, a) to t can be predicted."""
    silent = 0
    for part in range(f.sizes.size):
        silent += speaker(f, s, a, part, f.x, t) == NOBODY
    return silent == 0
