"""The laboratory: trials, engines, a store that goes on where it stopped, and statistics."""

from gim.experiments.execute import execute, grid
from gim.experiments.result import Result
from gim.experiments.results import Results
from gim.experiments.running import run_trial
from gim.experiments.store import Store
from gim.experiments.study import Study
from gim.experiments.trial import Trial

__all__ = ["Result", "Results", "Store", "Study", "Trial", "execute", "grid", "run_trial"]
