"""One thread for linear algebra: with several, sums are split differently and bits differ.

Worker processes get it from environment variables that are set before numpy loads. A process that
has loaded numpy already asks the loaded libraries themselves.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gim._compile import jit

LIBRARIES = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA")
ENVIRONMENT = {f"{name}_NUM_THREADS": "1" for name in LIBRARIES} | {"VECLIB_MAXIMUM_THREADS": "1"}
MARKS = ("openblas", "mkl_rt", "libblis")  # in the names of libraries that have threads
PAIRS = (  # how their number is read and set
    ("scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"),
    ("scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads"),
    ("openblas_get_num_threads64_", "openblas_set_num_threads64_"),
    ("openblas_get_num_threads", "openblas_set_num_threads"),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
    ("bli_thread_get_num_threads", "bli_thread_set_num_threads"),
)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS and numba use one thread while inside."""
    with ExitStack() as stack:
        for get, put in _switches():
            stack.callback(put, get())
            put(1)
        numba: Any = vars(jit)["numba"]
        stack.callback(numba.set_num_threads, numba.get_num_threads())
        numba.set_num_threads(1)
        yield


@cache
def _switches() -> list[tuple[Any, Any]]:
    """The functions of the loaded libraries that read and set the number of threads."""
    found = []
    for path in _libraries():
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        for get, put in PAIRS:
            if hasattr(library, get) and hasattr(library, put):
                found.append((getattr(library, get), getattr(library, put)))
                break
    return found


def _libraries() -> list[str]:
    maps = Path("/proc/self/maps")
    if maps.exists():
        paths = {line.split(maxsplit=5)[-1].strip() for line in maps.read_text().splitlines()}
    else:  # the libraries that come with the wheels
        site = Path(np.__file__).parent.parent
        folders = ("numpy.libs", "scipy.libs", "numpy/.dylibs", "scipy/.dylibs")
        paths = {str(path) for name in folders for path in (site / name).glob("*")}
    return sorted(path for path in paths if any(mark in Path(path).name for mark in MARKS))
