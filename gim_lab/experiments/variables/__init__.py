"""Worlds made of variables: learners that know or find structure, side by side. One file each."""

from gim_lab.experiments.experiment import import_files

import_files(__name__, __path__)
