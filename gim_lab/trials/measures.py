"""What is measured of a run, defined once.

| column | meaning |
| --- | --- |
| `mean_return` | AvgReward: mean reward of an episode, over all episodes |
| `score` | AvgReward over the optimum of this very MDP (`TabularMDP.score`) |
| `explored`, `total_eps` | whether exploration ended, and TotalEps: the episodes until it did |
| `post_mean_return`, `post_score` | PostAvgReward: the same means over the episodes after that |
| `cumulative_reward` | sum of all rewards, correctly rounded |
| `regret` | episodes times the optimum, less that sum |
| `final_policy_value`, `final_score` | exact value of the policy in force at the end |
| `sample_complexity` | Definition 2; see `gim_lab.trials.sample_complexity` |
| `probe_steps` | steps until the best policy is optimal; see `gim_lab.trials.probes` |
| `plans`, `walk_plans` | dynamic-programming operations: for the policy, for exploration alone |
| `seconds_...` | processor time of interacting, completing, planning, other thinking; in all |
| `inferred`, `unmet` | pairs met no more often than their prediction is worth; those never met |
| `unbounded`, `unbounded_unmet` | share of them for which a credible certificate gives no bound |
| `coverage`, `coverage_unmet` | share of the bounds on abs((p - p~).V) that hold |
| `coverage_l1`, `coverage_unmet_l1` | the same for the bounds on the L1 distance |
| `tightness` | median of the bounds on abs((p - p~).V) over the errors |
| `loss_bound`, `loss` | the most that the best policy loses; what it does; shares of the optimum |
| `loss_kept`, `return_kept` | whether it loses no more; whether it earns what was stated |
| `guaranteed_...` | the same of a guaranteed certificate; all nominally `gim.belief.shares.SHARE` |
| `peak_memory_mb` | largest resident memory of the process during the trial |

A run whose exploration never ends has `explored` false and `total_eps` NaN: it is counted as not
finished and never left out of a mean without saying so. What needs the exact MDP is NaN in an
environment without a table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim._base.averages import equal_groups, size_for
from gim._base.limits import largest_memory
from gim.mdp.tabular import TabularMDP
from gim.runs.runs import Run

POINTS = 1000  # of a stored curve, at the most

MEASURES = (
    "score",
    "mean_return",
    "optimal_return",
    "random_return",
    "explored",
    "total_eps",
    "post_mean_return",
    "post_score",
    "cumulative_reward",
    "regret",
    "final_policy_value",
    "final_score",
    "plans",
    "walk_plans",
    "steps",
    "S",
    "A",
    "H",
    "notes",
)
BOUNDS = (
    "unbounded",
    "unbounded_unmet",
    "coverage",
    "coverage_unmet",
    "coverage_l1",
    "coverage_unmet_l1",
    "tightness",
    "loss_bound",
    "loss_kept",
    "return_kept",
)
CERTIFIED = ("inferred", "unmet", "loss", *BOUNDS, *(f"guaranteed_{name}" for name in BOUNDS))
TIMES = (
    "seconds_interacting",
    "seconds_completing",
    "seconds_planning",
    "seconds_thinking",
    "seconds_total",
)
COMPLETING = ("completing", "inferring")
PLANNING = ("planning", "planning the walk")


def measures(run: Run) -> dict[str, Any]:
    """The exact numbers of a finished run, by column."""
    returns, mdp = run.returns, run.mdp
    total = math.fsum(returns)
    mean = total / returns.size
    at = run.explored_at
    after = returns[at + 1 :] if at is not None else returns[:0]
    post = math.fsum(after) / after.size if after.size else math.nan
    best = mdp.optimal_return() if mdp else math.nan
    value = policy_value(run)
    values = {
        "score": share(mdp, mean),
        "mean_return": mean,
        "optimal_return": best,
        "random_return": mdp.random_return() if mdp else math.nan,
        "explored": at is not None,
        "total_eps": math.nan if at is None else float(at + 1),
        "post_mean_return": post,
        "post_score": share(mdp, post),
        "cumulative_reward": total,
        "regret": best * returns.size - total,
        "final_policy_value": value,
        "final_score": share(mdp, value),
        "plans": run.plans,
        "walk_plans": run.walk_plans,
        "steps": run.steps,
        "S": run.task.S,
        "A": run.task.A,
        "H": run.task.H,
        "notes": "\n".join(dict.fromkeys(run.notes)),
    }
    found = {name: values[name] for name in MEASURES}
    return found | dict.fromkeys(CERTIFIED, math.nan)  # until they are measured


def of_no_agent(
    mdp: TabularMDP, score: float, returns: NDArray[np.float64], best: NDArray[np.float64]
) -> dict[str, Any]:
    """The columns of a trial that plays no agent, from its returns and the largest there may be."""
    return dict.fromkeys((*MEASURES, *CERTIFIED), math.nan) | {
        "score": score,
        "mean_return": float(returns.mean()),
        "optimal_return": float(best.mean()),
        "explored": False,
        "S": mdp.S,
        "A": mdp.A,
        "H": mdp.horizon or 0,
        "notes": "",
    }


def times(spent: Mapping[str, float]) -> dict[str, float]:
    """Where the time went, from the seconds of each phase; compiling is left out."""
    seconds = {name: value for name, value in spent.items() if name != "compiling"}
    interacting = seconds.pop("interacting", 0.0)
    completing = sum(seconds.pop(name, 0.0) for name in COMPLETING)
    planning = sum(seconds.pop(name, 0.0) for name in PLANNING)
    thinking = sum(seconds.values())
    total = interacting + completing + planning + thinking
    return dict(zip(TIMES, (interacting, completing, planning, thinking, total), strict=True))


def share(mdp: TabularMDP | None, mean: float) -> float:
    """A mean return as a score, NaN where there is none to be had."""
    return mdp.score([mean]) if mdp and not math.isnan(mean) else math.nan


def policy_value(run: Run) -> float:
    """Exact expected return of the policy in force; NaN without a policy or a table."""
    policy = run.policy
    return run.mdp.policy_return(policy) if run.mdp and policy is not None else math.nan


def curves(returns: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    """Returns [episodes], thinned to at most `POINTS` points.

    `episode` is the number of episodes played at each point, `cumulative` the reward of all of
    them, `return` the mean over the latest of them, of equally many at every point.
    """
    edges = points(returns.size)
    sums = np.cumsum(returns)[edges - 1]
    means = returns[equal_groups(returns.size, size_for(returns.size, POINTS))].mean(axis=1)
    return {"episode": edges, "cumulative": sums, "return": means}


def points(episodes: int) -> NDArray[np.int64]:
    """The episodes, counted from 1, at which a curve is kept: evenly spaced, and the last."""
    return equal_groups(episodes, size_for(episodes, POINTS))[:, -1] + 1


@contextmanager
def peak_memory() -> Iterator[list[float]]:
    """Measure the largest resident memory of this process while inside, in MB.

    Where the system cannot start the measure anew (all but Linux) it is that since the start.
    """
    peak: list[float] = []
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    yield peak
    peak.append(largest_memory())
