"""Whether the world changed within a log, and what of the log is then of the world since."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gim.analogy.base import Frame, Inference, inferences
from gim.belief.change import Called, Change
from gim.belief.comparison import Latest
from gim.belief.noticing import change_within
from gim.logs.log import Log
from gim.model.rewards import seen_range

MOST_INFERRED = 1 << 29  # states times pairs seen, beyond which nothing is inferred of a log


def change_in(log: Log, infer: Any, paid: bool) -> Change | None:
    """What changed, and with which episode; where episodes are few and long, with which row."""
    if log.kept is None:  # nobody knows which came first
        return None
    rows, by_episode = log.rows, len(log.starts) ** 2 > len(log)
    infer = inferences.make(infer)
    if not isinstance(infer, Inference) or log.S * np.count_nonzero(log.counts.n) > MOST_INFERRED:
        infer = None
    block = rows.episode.astype(np.int64) if by_episode else np.arange(len(log))
    pair = rows.s.astype(np.int64) * log.A + rows.a
    latest = Latest(pair, rows.t.astype(np.int64), rows.r, block)
    met = log.allowed | log.terminal[:, None] | (log.counts.n > 0)
    made_of = log.variables, log.action_variables
    frame = Frame(met, log.terminal, seen_range(log.counts), (), *made_of, not paid)
    states, actions = log.names()
    called = Called(states, actions, log.variables)
    unit = "episode" if by_episode else "row"
    return change_within(latest, rows.episode, infer, frame, called, unit, paid)


def since(log: Log, change: Change) -> Log:
    """The log without what says nothing of the world since: earlier rows of pairs that changed.

    Who acted stays who acted: rows that are left out were no choice of his.
    """
    rows = log.rows
    if rows.propensity is None:
        likely = log.behaviour[rows.s, rows.a]
        log = replace(log, kept=rows._replace(propensity=likely))
    block = rows.episode if change.unit == "episode" else np.arange(len(log))
    pair = rows.s.astype(np.int64) * log.A + rows.a
    return log.only((block >= change.since) | ~np.isin(pair, change.pairs))
