"""An agent that ends the process it plays in, as often as it is told: a worker that is lost.

Each death leaves a file behind, so that the next worker knows of it; no clock and no luck decides.
Workers find this module by its name, as they find the agents of a user.
"""

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from gim.agents.random import Random

DRIVER, GRAVES = "GIM_TEST_DRIVER", "GIM_TEST_GRAVES"  # who never dies; where deaths are counted


@dataclass(frozen=True)
class Mortal(Random, name="mortal"):
    """Random, but for the processes that it takes along."""

    deaths: Annotated[int, "how many workers it ends"] = 1

    def start(self, task, rng):
        if os.getpid() != int(os.environ[DRIVER]):
            folder = Path(os.environ[GRAVES])
            if len(dead := graves(folder)) < self.deaths:
                (folder / f"grave {len(dead)}").write_text(str(os.getpid()))
                os.kill(os.getpid(), signal.SIGKILL)
        return super().start(task, rng)


def graves(folder: Path) -> list[Path]:
    """The files that say which processes have died."""
    return sorted(folder.glob("grave *"))
