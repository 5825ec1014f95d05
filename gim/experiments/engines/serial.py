"""One trial after the other, in this process: the engine to debug with."""

from __future__ import annotations

from itertools import chain

from gim.experiments.engines.base import Answers, TrialFailed, by_task
from gim.experiments.engines.threads import one_thread
from gim.experiments.running import run_trial
from gim.experiments.trial import Trial


def run(trials: list[Trial], workers: int | None = None) -> Answers:
    """Yield the results, task by task."""
    for i in chain.from_iterable(by_task(trials).values()):
        trial = trials[i]
        with one_thread():
            try:
                result = run_trial(trial)
            except (ValueError, TypeError, ArithmeticError, LookupError) as problem:
                raise TrialFailed(f"{trial.id}: {problem}") from problem
        yield i, result
