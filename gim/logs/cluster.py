"""Logs of many files, counted by Ray's workers: on a cluster, or by processes of one machine.

Each file is looked at by itself, then counted by itself with the labels of all. A worker that is
lost takes nothing with it: its files are counted again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gim.logs.order import Facts

RETRIES = 5  # times that a file is counted again


def total(parts: Sequence[Facts]) -> Facts:
    """What is known of all parts together."""
    labels: dict[str, dict[Any, int]] = {}
    for part in parts:
        for name, each in part.labels.items():
            found = labels.setdefault(name, {})
            for value, n in each.items():
                found[value] = found.get(value, 0) + n
    steps = np.array([part.steps[:3] for part in parts]).sum(axis=0).tolist()
    spans = {
        name: (min(x.spans[name][0] for x in parts), max(x.spans[name][1] for x in parts))
        for name in parts[0].spans
    }
    whole = all(part.steps[3] for part in parts)
    n, there = sum(part.n for part in parts), sum(part.episodes for part in parts)
    large = max(part.large for part in parts)
    return Facts(n, large, there, (steps[0], steps[1], steps[2], whole), spans, labels)


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
