"""What a trial of the study of logs tries: every safe method on the same logs."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from gim._base.params import OneOf, Within
from gim.analogy.base import inferences
from gim.logs.case import Inferred, baseline_of, inferred
from gim.logs.learned import Learned
from gim.logs.learning import DEFAULT
from gim.logs.log import Log
from gim.logs.safe import METHODS, safe_policy
from gim.logs.truth import placed
from gim.mdp.policy import Policy
from gim_lab.experiments.logs.places import PLACES, Place
from gim_lab.trials import measures
from gim_lab.trials.subject import Measured, Subject, timed

if TYPE_CHECKING:
    from gim_lab.trials.trial import Trial

NAMES = tuple(dict.fromkeys((*METHODS, DEFAULT)))


@dataclass(frozen=True)
class FromLog(Subject):
    """Learn from logs by every safe method; an episode of its trials is one log.

    The k-th log is of the trial's seed plus k. Curves are exact expected returns in the world, by
    method; `return` is that of the default, `lower` and `upper` are the bounds on it.
    """

    place: Annotated[str, OneOf(*PLACES), "who acted where"] = "wet_chicken"
    size: Annotated[int, Within(1), "of a log: transitions, or episodes if its place says so"] = 500
    infer: Annotated[Any, inferences, "what predicts pairs from others; none: counts alone"] = None
    bounded: Annotated[int, Within(0), "one in so many logs is asked for bounds; 0: none"] = 0

    def measured(self, trial: Trial) -> Measured:
        """The returns of all methods on all logs."""
        place, spent = PLACES[self.place], defaultdict[str, float](float)
        logs = [self.one(place, trial.seed + k, spent) for k in range(trial.episodes)]
        at = measures.points(trial.episodes) - 1
        curves = {name: np.array([log[name] for log in logs])[at] for name in logs[0]}
        learned = np.array([log[DEFAULT] for log in logs])
        best = np.array([log["optimum"] for log in logs])
        mdp, _ = place.world(trial.seed)
        columns = measures.of_no_agent(mdp, float((learned / best).mean()), learned, best)
        return columns, curves | measures.curves(learned), spent

    def one(self, place: Place, seed: int, spent: dict[str, float]) -> dict[str, float]:
        """What came of one log, by the names of the curves."""
        with timed(spent, "interacting"):
            mdp, acted = place.world(seed)
            log = place.log(self.size, seed)
        over = mdp.horizon if place.discount is None else None
        given = self.infer, baseline_of(None, log), over, place.discount, "learn"
        with timed(spent, "inferring"):
            behind = inferred(log, *given)
        with timed(spent, "planning"):
            policies = {name: safe_policy(name)(behind.case) for name in NAMES}
            found = {"behaviour": place.worth(seed, acted), "optimum": place.optimum(seed)}
            for name, policy in policies.items():
                found[name] = place.worth(seed, placed(policy, log, mdp))
        found |= dict.fromkeys(("lower", "upper"), math.nan)
        if self.bounded and seed % self.bounded == 0:
            with timed(spent, "bounding"):
                found |= _bounds(log, policies[DEFAULT], behind)
        return found


def _bounds(log: Log, policy: Any, behind: Inferred) -> dict[str, float]:
    """The bounds on the value of a policy, as `gim.learn` gives them."""
    named = Policy(policy, *log.names())
    method = safe_policy(DEFAULT)
    learned = Learned(log, named, behind.model, method, behind)
    return {"lower": learned.value.lower, "upper": learned.value.upper}
