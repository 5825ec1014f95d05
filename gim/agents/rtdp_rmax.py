"""RTDP-RMAX (Strehl, Li and Littman, 2006): RMAX with one backup a step in place of a plan.

    q = r(s,a) + gamma sum_s' p(s'|s,a) max_b Q(s',b)

for the pair just played, once it has m visits; Q(s,a) becomes q if that is lower by epsilon1 or
more. Until then the pair is worth r_max / (1 - gamma). The estimates stand after m visits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from gim._base.params import Within
from gim.agents.rtdp import RTDP
from gim.analogy.base import inferences
from gim.model.rewards import LargestReward, LeastReward
from gim.runs.agent import Agent


@dataclass(frozen=True)
class RTDPRMax(RTDP, Agent, name="rtdp_rmax"):
    """What was met fewer than m times counts as the best there is; one backup a step, no plan."""

    m: Annotated[int, Within(1), "visits that make a pair known"] = 40
    epsilon1: Annotated[float, Within(1e-6), "least fall of a value, in reward ranges"] = 0.01
    gamma: Annotated[float, Within(0, 0.9999), "discount of the future"] = 0.95
    r_min: LeastReward = None
    r_max: LargestReward = None
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = None

    examples = ("", "m=3,epsilon1=0.1,gamma=0.8", "m=4,infer=by_completion(m=2,rho=0.3)")

    def limits(self) -> tuple[int, float, float]:
        """Count m visits, then back up, without a bonus."""
        return self.m, float(self.m), 0.0
