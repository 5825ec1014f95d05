"""From logs to policies: the benchmarks of the literature, and inventories."""

from gim_lab.experiments.experiment import import_files

import_files(__name__, __path__)
