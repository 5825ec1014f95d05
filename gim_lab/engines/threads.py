"""One thread for linear algebra: with several, sums are split differently and bits differ.

Worker processes get it from environment variables that are set before numpy loads. A process that
has loaded numpy already asks the loaded libraries themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits

from gim._compile import jit

LIBRARIES = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA")
ENVIRONMENT = {f"{name}_NUM_THREADS": "1" for name in LIBRARIES} | {"VECLIB_MAXIMUM_THREADS": "1"}


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS and numba use one thread while inside."""
    numba: Any = vars(jit)["numba"]
    before = numba.get_num_threads()
    with threadpool_limits(1):
        numba.set_num_threads(1)
        try:
            yield
        finally:
            numba.set_num_threads(before)
