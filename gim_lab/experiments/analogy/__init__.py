"""Beyond the paper: studies that could prove learning by analogy wrong. One file each."""

from gim_lab.experiments.experiment import import_files

import_files(__name__, __path__)
