"""Factored R-MAX (Guestrin, Patrascu and Schuurmans, 2002; Strehl, 2007): true parents are given.

The world is a dynamic Bayesian network whose arcs are known and whose tables are not. A part of a
step, such as the next column of a taxi, is known in a context, a combination of its parents'
values, after m visits of that context under the action, whatever the other variables were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from gim._base.params import OneOf, Within
from gim.agents.factored import Factored
from gim.agents.factors import Guess, variables_of
from gim.mdp.tabular import TabularMDP
from gim.model.rewards import LargestReward
from gim.model.task import Task
from gim.runs.agent import Agent

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FactoredRMax(Factored, Agent, name="factored_rmax"):
    """R-MAX that is told on which variables each variable depends; tables are learned."""

    m: Annotated[int, Within(1), "visits of a context that make it known"] = 10
    r_max: LargestReward = None
    rewards: Annotated[
        str, OneOf("learn", "known"), "known: rewards and ends are given, as published"
    ] = "learn"

    examples = ("", "m=2,rewards=known")

    def guesses(self, task: Task, parts: int) -> Sequence[Guess]:
        """The true parents; without a table of the world all variables are."""
        inputs = true_parents(task, parts)
        return [Guess(a, part, inputs[a, part]) for a in range(task.A) for part in range(parts)]


def true_parents(task: Task, parts: int) -> dict[tuple[int, int], tuple[int, ...]]:
    """The fewest inputs that decide each part, by action and part (see `gim.agents.factors`).

    Inputs are left out one by one as long as the others decide as much, from the first on and from
    the last on; the way with fewer contexts counts. Without a table of the world all inputs stay.
    """
    sizes = np.tile(variables_of(task).sizes, 2)
    k, found = sizes.size // 2, {}
    for a in range(task.A):
        for part in range(parts):
            inputs = tuple(range(k + min(part, k)))
            if task.truth is not None:
                x, said = part_of_steps(task, task.truth, a, part)
                ways = [fewest(x, said, inputs, order) for order in (inputs, inputs[::-1])]
                inputs = min(ways, key=lambda way: np.prod(sizes[list(way)], initial=1.0))
            found[a, part] = inputs
    return found


def part_of_steps(task: Task, truth: TabularMDP, a: int, part: int) -> tuple[Codes, Floats]:
    """All that can come of an action: inputs [n, 2k], and what is said of the part [n, values].

    Of a variable it is its distribution, given the state and the next variables before it; else it
    is the end, or the reward, of each step from a state to the next. States that no one can come to
    are left out: what would happen there is no one's business.
    """
    rows, codes = truth.rows(), variables_of(task).codes
    k = codes.shape[1]
    pair = np.repeat(np.arange(task.S * task.A), np.diff(rows.indptr))
    s = pair // task.A
    from_here = task.available[:, a] & ~truth.terminal & truth.reachable()
    mine = (pair % task.A == a) & (rows.data > 0) & from_here[s]
    s, t, p = s[mine], rows.indices[mine], rows.data[mine]
    x = np.hstack([codes[s], codes[t]])
    if part == k:
        return x, truth.terminal[t].astype(float)[:, None]
    if part == k + 1:
        return x, truth.paid()[mine][:, None]
    x[:, k + part :] = 0  # not known yet when its turn comes
    x, group = np.unique(x, axis=0, return_inverse=True)
    share = np.zeros((len(x), int(codes[:, part].max()) + 1))
    np.add.at(share, (group.ravel(), codes[t, part]), p)
    return x, share / share.sum(axis=1, keepdims=True)


def fewest(
    x: Codes, said: Floats, inputs: tuple[int, ...], order: tuple[int, ...]
) -> tuple[int, ...]:
    """Leave inputs out in this order as long as the others decide what is said."""
    for i in order:
        fewer = tuple(j for j in inputs if j != i)
        _, first, group = np.unique(
            x[:, list(fewer)], axis=0, return_index=True, return_inverse=True
        )
        if np.allclose(said, said[first[group.ravel()]], rtol=0.0, atol=1e-9):
            inputs = fewer
    return inputs
