"""What all this is for: `gim reproduce demo`, or `make demo`. One file a section."""

from gim_lab.experiments.experiment import import_files

import_files(__name__, __path__)
