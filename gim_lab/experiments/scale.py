"""How much of an experiment's work is done: from a rehearsal in seconds to the whole of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Scale:
    """How many runs an experiment makes, how long they are, and how fine its sweeps are.

    Example:
        >>> SCALES["smoke"].episodes(10_000), SCALES["smoke"].seeds(), SCALES["paper"].episodes(50)
        (200, range(0, 2), 50)
    """

    name: str
    runs: int
    share: float  # of the episodes
    step: int  # through the values of a sweep

    @property
    def whole(self) -> bool:
        """Whether it is all of the work, not a rehearsal of it."""
        return self.share == 1

    def episodes(self, full: int) -> int:
        """Episodes at this scale."""
        return max(1, round(full * self.share))

    def seeds(self, full: int = 20) -> range:
        """Seeds of the runs, of which the paper makes 20 (10 for Figure 10)."""
        return range(min(full, self.runs))

    def grid(self, values: tuple[T, ...]) -> tuple[T, ...]:
        """The values of a sweep at this scale; the last one is always among them."""
        return values[:: -self.step][::-1]


SCALES = {
    scale.name: scale
    for scale in (
        Scale("smoke", runs=2, share=0.02, step=3),
        Scale("quick", runs=5, share=0.2, step=2),
        Scale("paper", runs=20, share=1.0, step=1),
        Scale("full", runs=20, share=1.0, step=1),  # more only where an experiment says so
    )
}
