"""The laboratory: trials, engines, a store that goes on where it stopped, and statistics."""

from gim_lab.trials.execute import execute, grid
from gim_lab.trials.result import Result
from gim_lab.trials.results import Results
from gim_lab.trials.running import run_trial
from gim_lab.trials.store import Store
from gim_lab.trials.study import Study
from gim_lab.trials.trial import Trial

__all__ = ["Result", "Results", "Store", "Study", "Trial", "execute", "grid", "run_trial"]
