"""One trial after the other, in this process: the engine to debug with."""

from __future__ import annotations

from itertools import chain

from gim_lab.engines.base import Answers, Keeping, TrialFailed, by_task
from gim_lab.engines.threads import one_thread
from gim_lab.trials.running import run_trial
from gim_lab.trials.trial import Trial


def run(
    trials: list[Trial], workers: int | None = None, unfinished: Keeping | None = None
) -> Answers:
    """Yield the results, task by task."""
    for i in chain.from_iterable(by_task(trials).values()):
        trial = trials[i]
        with one_thread():
            try:
                if unfinished is None:
                    result = run_trial(trial)
                else:
                    result = run_trial(trial, unfinished=unfinished(trial))
            except (ValueError, TypeError, ArithmeticError, LookupError) as problem:
                raise TrialFailed(f"{trial.id}: {problem}") from problem
        yield i, result
