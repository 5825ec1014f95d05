"""What a run tells its callback while it plays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Report:
    """What a callback is told, about ten times a second; return True to pause the run."""

    episode: int  # episodes finished
    episodes: int  # asked for
    steps: int
    seconds: float  # since the run was started or resumed
    mean: float  # mean return of the last tenth of the finished episodes


Callback = Callable[[Report], Any]
