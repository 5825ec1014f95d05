"""Logs of many files, counted by Ray's workers: on a cluster, or by processes of one machine.

Each file is looked at by itself, then counted by itself with the labels of all. A worker that is
lost takes nothing with it: its files are counted again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

RETRIES = 5  # times that a file is counted again


def mapped(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """What a function gives for each, in their order, by workers; lost ones are replaced."""
    try:
        import ray
    except ImportError:
        raise ValueError('engine="ray" needs Ray: pip install "gim[ray]"') from None
    if not ray.is_initialized():
        ray.init(num_cpus=os.cpu_count(), include_dashboard=False, log_to_driver=False)
    remote = ray.remote(max_retries=RETRIES)(function)
    try:
        return list(ray.get([remote.remote(*each) for each in arguments]))
    except ray.exceptions.RayTaskError as problem:
        cause = problem.cause if isinstance(problem.cause, ValueError) else problem
        raise ValueError(str(cause)) from None
