"""The paper's tables and figures, and studies of what it says without showing it: one file each."""

from gim_lab.experiments.experiment import import_files

import_files(__name__, __path__)
