"""Compile once, then fan out: loops are compiled here and found in the cache by all workers."""

from __future__ import annotations

from typing import Any

from gim.agent import agents
from gim.experiments.engines.base import TrialFailed
from gim.experiments.engines.threads import one_thread
from gim.experiments.trial import Trial, build
from gim.launch import prepare
from gim.registry import parse


def compile_loops(trials: list[Trial]) -> None:
    """Play a little of each kind of trial, so that workers find its loop in the cache."""
    kinds = {(_kind(trial.agent), _kind(trial.task)): trial for trial in reversed(trials)}
    with one_thread():
        for trial in kinds.values():
            try:
                prepare(agents.make(trial.agent), build(trial.task), 1, trial.seed).go()
            except ValueError as problem:
                raise TrialFailed(f"{trial.id}: {problem}") from None


def _kind(word: str) -> tuple[Any, ...]:
    """What of a word may matter to the compiler: not the numbers."""
    if word.endswith(".npz"):
        return (word,)
    name, args = parse(word)
    return (name, *((k, type(v) if isinstance(v, int | float) else v) for k, v in args.items()))
