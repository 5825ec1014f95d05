"""The default learner: UCBVI that learns by analogy.

Optimistic planning each episode (Azar, Osband and Munos, 2017) on counts plus what is inferred from
other pairs (`gim.inference.analogy`), with one setting for all tasks. The bonus is a small share of
what the concentration inequality says; its width is that of the data, so the share needs no tuning
by task.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from gim.agents.ucbvi import UCBVI
from gim.inference.base import inferences


@dataclass(frozen=True)
class Analogist(UCBVI, name="analogist"):
    """UCBVI with inference by analogy: the learner to start with."""

    infer: Annotated[Any, inferences, "what predicts pairs from others"] = "analogy"
