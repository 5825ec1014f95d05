"""Many tasks of one family: what is carried from one to the next, and what that is worth."""

from gim_lab.experiments.experiment import import_files

import_files(__name__, __path__)
