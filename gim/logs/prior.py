"""A log as what a run starts from: its counts in the numbers of the world."""

from __future__ import annotations

from typing import Any

import numpy as np

from gim.analogy.prior import no_prior
from gim.belief.belief import Belief, believed_model
from gim.logs.log import Log, found_in
from gim.mdp.names import Names
from gim.model.learned import LearnedModel
from gim.model.tally import tally
from gim.model.task import Task


def read_in(given: Any, task: Task, states: Names, actions: Names) -> Any:
    """What a run is given to start from, with logs as models; the rest is left as it is."""

    def read(each: Any) -> Any:
        return model_in(each, task, states, actions) if isinstance(each, Log) else each

    return [read(each) for each in given] if isinstance(given, (list, tuple)) else read(given)


def model_in(log: Log, task: Task, states: Names, actions: Names) -> LearnedModel:
    """What a log says of a world, as a model; see `gim.run(..., prior=log)`.

    Args:
        log: whose labels are those of the world; a recorded end that the world has no state for is
            left out.
        task: sizes and available pairs of the world.
        states, actions: what the world calls them.
    """
    s_of, a_of = found_in(log, states, actions)
    keep = ~(log.rows.t == log.S - 1) if log.over else np.ones(len(log), bool)
    s, a, t = s_of[log.rows.s[keep]], a_of[log.rows.a[keep]], s_of[log.rows.t[keep]]
    impossible = ~task.available[s, a]
    if impossible.any():
        k = int(impossible.argmax())
        raise ValueError(
            f"the log plays {actions[int(a[k])]!r} in {states[int(s[k])]!r}, which the world does "
            "not allow"
        )
    counts = tally(task.S, task.A, s, a, log.rows.r[keep], t)
    terminal = np.zeros(task.S, bool)
    known = np.flatnonzero(log.terminal[: len(s_of)])
    terminal[s_of[known]] = True
    visits = np.array([counts.n.sum()])
    belief = Belief(counts, terminal, no_prior(0, 0), visits, np.array([0]))
    return believed_model(belief, task)
