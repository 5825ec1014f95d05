"""The laboratory: trials, engines, a store that goes on where it stopped, statistics, reports.

The paper's tables and figures, the studies and the ledger are made here. It may import everything
of gim; gim never imports it. Begin with `experiments/experiment.py`.
"""

from typing import TYPE_CHECKING

from gim._base.lazy import lazy

if TYPE_CHECKING:
    from gim_lab.trials.execute import execute, grid
    from gim_lab.trials.result import Result
    from gim_lab.trials.results import Results
    from gim_lab.trials.running import run_trial
    from gim_lab.trials.store import Store
    from gim_lab.trials.study import Study
    from gim_lab.trials.trial import Trial
else:
    __getattr__, __dir__ = lazy(__name__)

__all__ = ["Result", "Results", "Store", "Study", "Trial", "execute", "grid", "run_trial"]
