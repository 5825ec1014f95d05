"""Engines: ways to run trials, one file each.

An engine is a function ``run(trials, workers, ...)`` that yields ``(index, Result)`` as trials end,
in any order, and that ends its workers when it is closed. Every engine runs a trial by
`gim_lab.trials.running.run_trial` with one BLAS and one numba thread, so that bits agree.
"""

from gim_lab.engines.base import Engine, TrialFailed, engine_of

__all__ = ["Engine", "TrialFailed", "engine_of"]
