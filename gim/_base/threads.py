"""One thread for linear algebra, where its matrices are small.

Threads that wait for each other take longer than such products do, several times as long where
other programs want the same cores; and sums that are split differently differ in their last bits,
so that a seed would not say what a run does on a machine with more cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@cache
def _blas() -> Any:
    import scipy.linalg  # noqa: F401 - brings a BLAS of its own, which is to be found, too
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS use one thread while inside.

    The process has one setting. While one Python thread has made it others leave it alone: who
    starts several of them makes it around them all.
    """
    with _blas().limit(limits=1):
        yield
