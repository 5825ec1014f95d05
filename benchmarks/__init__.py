"""Measurements against peers and against the floor, on one core: ``make bench``."""

import os

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))  # before numpy is imported
