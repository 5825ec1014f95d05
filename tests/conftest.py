"""One thread for linear algebra, since small batched problems are slower with more and bits differ.

No deadline for examples: the first may have to compile, and a loaded machine changes nothing.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from hypothesis import settings  # noqa: E402

settings.register_profile("gim", deadline=None)
settings.load_profile("gim")

collect_ignore = ["mortal.py"]  # whoever imports it has one more agent
