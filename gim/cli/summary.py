"""What a run has come to, as text: figures, the learning curve, the policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gim.mdp import TabularMDP
from gim.runs import Run
from gim.terminal import count, sparkline, table

FEW = 30  # states of which a policy is shown


def summary(run: Run) -> str:
    """Figures, curve and policy of one run, finished or paused."""
    parts = [table(_figures(run), align="<<")]
    if run.returns.size:
        parts.append(curve(run.returns))
    if run.task.S <= FEW and run.policy is not None:
        parts.append(f"policy\n\n{run.policy_table()}")
    return "\n\n".join(parts)


def summary_of_many(runs: Sequence[Run]) -> str:
    """A line per seed, the mean, and the curve of the mean."""
    exact = runs[0].mdp is not None
    rows: list[list[Any]] = [[run.seed, *_line(run, exact)] for run in runs]
    means = np.mean([row[1:-1] for row in rows], axis=0)
    rows.append(["mean", *means, sum(run.steps for run in runs) / sum(map(_seconds, runs))])
    headers = ["seed", *(["score"] if exact else []), "mean return", "last tenth", "steps/s"]
    lines = [[*map(_figure, row[:-1]), count(row[-1])] for row in rows]
    world: list[list[Any]] = [["world", world_name(runs[0])], ["agent", runs[0].agent]]
    first = table(world, align="<<")
    averaged = np.mean([run.returns for run in runs], axis=0)
    return "\n\n".join([first, table(lines, headers, align=">" * len(headers)), curve(averaged)])


def curve(returns: Any) -> str:
    """The returns as a line of text, with the means of its first and last tenth."""
    few = max(1, len(returns) // 10)
    first, last = np.mean(returns[:few]), np.mean(returns[-few:])
    return f"return by episode  {sparkline(returns, 50)}  {first:.4g} → {last:.4g}"


def world_name(run: Run) -> str:
    """The world's name and its sizes."""
    name = run.world.name if isinstance(run.world, TabularMDP) else run.world.spec.id
    return f"{name} (S={run.task.S}, A={run.task.A}, H={run.task.H})"


def _figures(run: Run) -> list[list[str]]:
    done = run.returns
    played = f"{done.size:,}" if run.finished else f"{done.size:,} of {run.episodes:,}"
    rows: list[list[Any]] = [["world", world_name(run)], ["agent", run.agent], ["seed", run.seed]]
    rows.append(["episodes", played])
    if done.size:
        if run.mdp is not None:
            rows.append(["score", f"{run.score:.4f}"])
        rows.append(["mean return", _figure(done.mean())])
        rows.append(["last tenth", _figure(done[-max(1, done.size // 10) :].mean())])
    if run.mdp is not None:
        rows.append(["optimum", _figure(run.mdp.optimal_return())])
        rows.append(["random policy", _figure(run.mdp.random_return())])
    if run.explored_at is not None:
        rows.append(["explored", f"by episode {run.explored_at:,}"])
    rows.append(["plans", f"{run.plans:,} for the policy, {run.walk_plans:,} to explore"])
    rows.append(["steps", f"{run.steps:,} at {count(run.steps / _seconds(run))}/s"])
    spent = [f"{phase} {seconds:.3g} s" for phase, seconds in run.seconds.items() if seconds]
    rows.append(["time", ", ".join(spent) or "none"])
    return rows


def _line(run: Run, exact: bool) -> list[float]:
    done = run.returns
    score = [run.score] if exact else []
    last = done[-max(1, done.size // 10) :].mean()
    return [*score, float(done.mean()), float(last), run.steps / _seconds(run)]


def _seconds(run: Run) -> float:
    """Time spent on the episodes, which compiling is not."""
    return max(sum(run.seconds.values()) - run.seconds.get("compiling", 0.0), 1e-9)


def _figure(value: Any) -> str:
    return (
        value
        if isinstance(value, str)
        else f"{value:,.5g}"
        if abs(value) < 1e5
        else f"{value:,.0f}"
    )
