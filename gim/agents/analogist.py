"""The default learner: UCBVI that learns by analogy.

Optimistic planning (Azar, Osband and Munos, 2017) on counts plus what is inferred from other pairs
(`gim.inference.analogy`), with one setting for all tasks. It plans anew when the visits of some
pair have grown by a tenth. The bonus follows a rule, not a setting: along an episode bonuses add up
as H numbers do, the errors that they stand for as independent ones, as sqrt(H); and L is there for
a union bound that no single plan needs. With `scale` = 1 / sqrt(2 L H) the bonuses of an episode
add up to about one standard error of its return. What a few visits may have missed counts as far as
visits have differed from each other so far.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from gim.agents.ucbvi import UCBVI
from gim.inference.base import inferences
from gim.params import Within


@dataclass(frozen=True)
class Analogist(UCBVI, name="analogist"):
    """UCBVI with inference by analogy: the learner to start with."""

    scale: Annotated[
        float | None, Within(0), "times the bonus; none: 1 / sqrt(2 L H), one standard error"
    ] = None
    growth: Annotated[
        float, Within(0), "share by which visits of a pair grow before a plan; 0: each episode"
    ] = 0.1
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = "analogy"

    examples = ("",)
