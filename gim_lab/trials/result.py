"""What came of a trial: exact numbers by name, and a few curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from gim_lab.trials.measures import TIMES
from gim_lab.trials.spec import world_spec

if TYPE_CHECKING:
    from gim_lab.trials.trial import Trial

IDENTITY = ("task", "agent", "episodes", "seed", "epsilon", "rewards")  # which trial it is
MACHINE = (*TIMES, "peak_memory_mb", "host")  # what may differ between equal results


@dataclass(frozen=True)
class Result:
    """What came of a trial.

    `columns` holds exact numbers by name: the trial's own, those of `gim_lab.trials.measures`, and
    those of the machine (`MACHINE`). `curves` holds arrays of at most 1,000 points: `episode`,
    `cumulative`, `return`, and `value` where sample complexity was measured.
    """

    columns: dict[str, Any]
    curves: dict[str, NDArray[Any]]

    def of(self, trial: Trial) -> Result:
        """The same under the specs of this trial, whose digest must be equal."""
        return Result(self.columns | trial_columns(trial), self.curves)

    def bits(self) -> dict[str, Any]:
        """All but the columns of time, memory and host, floats and curves as their exact text."""
        kept = {k: repr(v) for k, v in self.columns.items() if k not in MACHINE}
        return kept | {f"curve {k}": v.tobytes() for k, v in self.curves.items()}

    def pack(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and JSON that `unpack` turns into the same result."""
        return dict(self.curves), dict(self.columns)

    @classmethod
    def unpack(cls, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> Result:
        """The inverse of `pack`."""
        return cls(dict(meta), dict(arrays))


def trial_columns(trial: Trial) -> dict[str, Any]:
    """The columns that name a trial."""
    own = {name: getattr(trial, name) for name in IDENTITY}
    own["epsilon"] = float("nan") if trial.epsilon is None else trial.epsilon
    return own | {"world": world_spec(trial.task), "id": trial.id}
