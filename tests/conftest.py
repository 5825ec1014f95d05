"""One thread for linear algebra, since small batched problems are slower with more and bits differ.

No deadline for examples: the first may have to compile, and a loaded machine changes nothing.

Whoever starts the tests in the background may have Ctrl-C ignored, which all that is started here
would take over: here it is heard.
"""

import os
import signal

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(name, "1")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

from hypothesis import settings  # noqa: E402

settings.register_profile("gim", deadline=None)
settings.load_profile("gim")

collect_ignore = ["mortal.py"]  # whoever imports it has one more agent
