"""How much is taken on: limits stated once, checked before any work begins."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

INT = 2**63 - 1  # the largest whole number that a table, a file or compiled code holds
SEED = INT
STEPS = 10**11  # of a run: an hour of the fastest agent, days of others
TRIALS = 10**6  # of a study: the files of one folder
REWARD = 1e70  # for agents that count: fourth powers of rewards must not overflow
LARGE = 2**28  # bytes of an array from which on the machine is asked for its memory
NESTING = 20  # brackets within brackets in a spec string


def check_steps(episodes: int, horizon: int) -> None:
    """Refuse a run that would not end within days.

    Example:
        >>> check_steps(10**9, 10**5)
        Traceback (most recent call last):
        ...
        ValueError: 1,000,000,000 episodes of 100,000 steps: 100,000,000,000 steps are the limit
    """
    if episodes * horizon > STEPS:
        raise ValueError(
            f"{episodes:,} episodes of {horizon:,} steps: {STEPS:,} steps are the limit"
        )


def check_rewards(*numbers: float) -> None:
    """Refuse rewards, or their noise, that an agent which counts cannot square.

    Example:
        >>> check_rewards(0.0, 1e300)
        Traceback (most recent call last):
        ...
        ValueError: rewards of 1e+300: agents that count take up to 1e+70; scale them down
    """
    if (largest := max(map(abs, numbers))) > REWARD:
        raise ValueError(
            f"rewards of {largest:g}: agents that count take up to {REWARD:g}; scale them down"
        )


def check_returns(horizon: int, *rewards: float) -> None:
    """Refuse rewards whose sum over an episode no number can hold.

    Example:
        >>> check_returns(100, 0.0, 1e307)
        Traceback (most recent call last):
        ...
        ValueError: 100 steps that pay up to 1e+307: no number holds the return; scale rewards down
    """
    largest = float(max(map(abs, rewards)))
    if not math.isfinite(largest * horizon):
        raise ValueError(
            f"{horizon:,} steps that pay up to {largest:g}: no number holds the return; scale "
            "rewards down"
        )


def check_trials(number: int) -> None:
    """Refuse a study of more trials than a folder can keep."""
    if number > TRIALS:
        raise ValueError(f"{number:,} trials: {TRIALS:,} are the limit of one study")


def check_memory(what: str, size: int) -> None:
    """Refuse an array of so many bytes if the machine has no room for it.

    Example:
        >>> check_memory("2,147,483,648 steps of 2,000 states", 2**31 * 2000 * 8)
        Traceback (most recent call last):
        ...
        ValueError: 2,147,483,648 steps of 2,000 states need 32,000 GiB, more than there is
    """
    if size > LARGE and (available := available_memory()) is not None and size > available:
        raise ValueError(f"{what} need {size / 2**30:,.0f} GiB, more than there is")


def too_large(problem: BaseException) -> str:
    """One line for an array that does not fit into memory, or into any."""
    text = str(problem).rstrip(".")
    return f"this needs more memory than there is ({text or 'out of memory'}): ask for less"


@contextmanager
def bounded_memory() -> Iterator[None]:
    """Let what needs more memory than the machine has fail at once, as a MemoryError.

    Linux grants more than it has, and ends the process when that is used. Elsewhere this does
    nothing.
    """
    available = available_memory()
    if available is None:
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    used = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    ceiling = used + available
    if hard != resource.RLIM_INFINITY:
        ceiling = min(ceiling, hard)
    if soft != resource.RLIM_INFINITY:
        ceiling = min(ceiling, soft)
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (ceiling, hard))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def available_memory() -> int | None:
    """Bytes that could still be used, where the system tells."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        text = Path("/proc/meminfo").read_text()
    except OSError:
        return None
    rows = re.findall(r"^(?:MemAvailable|SwapFree): *(\d+) kB$", text, re.M)
    return 1024 * sum(map(int, rows)) if len(rows) == 2 else None


def largest_memory() -> float:
    """The largest resident memory of this process so far, in MB."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(re.findall(r"^VmHWM:\s*(\d+) kB$", status, re.M)[0]) / 1024
    except (OSError, IndexError):
        import resource

        size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return size / (2**20 if sys.platform == "darwin" else 2**10)


def processors() -> int:
    """How many trials, or runs, can be played here at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
