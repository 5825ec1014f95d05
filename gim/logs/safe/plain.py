"""Plain: the best policy of the estimate, as if it were the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gim.logs.safe.base import Case, Floats, Safe


@dataclass(frozen=True)
class Plain(Safe):
    """Plan on the estimate; what was seen once counts like what was seen a thousand times."""

    def backup(self, case: Case, made: Any, v: Floats, h: int) -> Floats:
        """The Bellman backup."""
        return case.r + case.gamma * case.expected(v)
