"""RTDP-MBIE, published as RTDP-IE (Strehl, Li and Littman, 2006): one backup a step, with a bonus.

    q = r(s,a) + gamma sum_s' p(s'|s,a) max_b Q(s',b) + beta / sqrt(n(s,a))

for the pair just played; Q(s,a) becomes q if that is lower by epsilon1 or more. The interval is in
the form of MBIE-EB, a bonus on the value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from gim._base.params import Within
from gim.agents.rtdp import FOREVER, RTDP
from gim.analogy.base import inferences
from gim.model.rewards import LargestReward, LeastReward
from gim.runs.agent import Agent


@dataclass(frozen=True)
class RTDPMBIE(RTDP, Agent, name="rtdp_mbie"):
    """A bonus of beta / sqrt(visits) on every value; one backup a step, no plan."""

    beta: Annotated[float, Within(0), "bonus of a pair met once, in reward ranges"] = 0.5
    m: Annotated[int | None, Within(1), "visits that are counted; none: all of them"] = None
    epsilon1: Annotated[float, Within(1e-6), "least fall of a value, in reward ranges"] = 0.01
    gamma: Annotated[float, Within(0, 0.9999), "discount of the future"] = 0.95
    r_min: LeastReward = None
    r_max: LargestReward = None
    infer: Annotated[Any, inferences, "what predicts pairs from others"] = None

    examples = ("", "beta=2,m=5,epsilon1=0.1,gamma=0.8", "infer=by_completion(m=2,rho=0.3)")

    def limits(self) -> tuple[int, float, float]:
        """Count all visits, or m; back up from the first, with the bonus."""
        return (FOREVER if self.m is None else self.m), 0.0, self.beta
