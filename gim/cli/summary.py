"""What a run has come to, as text: figures, the learning curve, the best policy."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np

from gim._base.terminal import count, sparkline
from gim.analogy.structure import Rule
from gim.belief.certificate import certifiable, certify
from gim.cli.screen import table, width
from gim.mdp.policy import Policy
from gim.mdp.tabular import TabularMDP
from gim.runs.runs import Run

FEW = 30  # states of which a policy is shown
RULES = 12  # that are shown


def summary(run: Run, best: Policy | None) -> str:
    """Figures, curve and best policy (where there is one) of one run, finished or paused."""
    parts = [table(_figures(run, best), align="<<")]
    if run.returns.size:
        parts.append(curve(run.returns, run.mdp))
    if best is not None:
        many = f"{run.task.S:,} states, too many to show; --save-policy FILE.csv writes it"
        shown = f"what to deploy\n\n{best.table()}" if run.task.S <= FEW else many
        parts.append(f"best policy: {shown}")
    if told := in_words(run.analogies() if run.agent.belief(run.memory) is not None else []):
        parts.append(told)
    return "\n\n".join(parts)


def in_words(rules: Sequence[Rule]) -> str:
    """What was learned, a line or two for each rule."""
    if not rules:
        return ""
    lines = [
        fill(str(rule), width() or 98, initial_indent="  ", subsequent_indent="    ")
        for rule in rules
    ]
    more = len(lines) - RULES
    lines[RULES:] = [f"  and {more} more: run.analogies() has them all"] if more > 0 else []
    return "\n".join(["what was learned, in words", "", *lines])


def summary_of_many(runs: Sequence[Run], policies: Sequence[Policy | None]) -> str:
    """A line per seed, the mean, and the curve of the mean."""
    mdp = runs[0].mdp
    names = ["score", "mean return", "last tenth", "best policy", "steps/s"]
    rows = [list(_measures(run, best)) for run, best in zip(runs, policies, strict=True)]
    rows.append(np.mean(rows, axis=0).tolist())
    seeds = [*(str(run.seed) for run in runs), "mean"]
    cells = [
        [seed, f"{row[0]:.4f}", *map(_figure, row[1:4]), count(row[4])]
        for seed, row in zip(seeds, rows, strict=True)
    ]
    if mdp is None:
        names = ["mean return", "last tenth", "steps/s"]
        cells = [[row[0], row[2], row[3], row[5]] for row in cells]
    world: list[list[Any]] = [["world", world_name(runs[0])], ["agent", runs[0].agent]]
    averaged = np.mean([run.returns for run in runs], axis=0)
    return "\n\n".join(
        [table(world, align="<<"), table(cells, ["seed", *names]), curve(averaged, mdp)]
    )


def curve(returns: Any, mdp: TabularMDP | None) -> str:
    """The returns as a line of text, with the means of its first and last tenth.

    Where they are known, the lowest mark is the random policy and the highest the optimum.
    """
    few = max(1, len(returns) // 10)
    ends = f"{_figure(np.mean(returns[:few]))} → {_figure(np.mean(returns[-few:]))}"
    if mdp is None:
        return f"return by episode  {sparkline(returns, 50)}  {ends}"
    line = sparkline(returns, 50, mdp.random_return(), mdp.optimal_return())
    return f"return by episode  {line}  {ends}\n(▁ is the random policy, █ the optimum)"


def told_score(mdp: TabularMDP, measures: _Measures) -> str:
    """A score, and what it says; where chance loses, the way from there says more, and leads."""
    best, worst = mdp.optimal_return(), mdp.random_return()
    if best <= worst:
        return f"{measures.score:.4f} (every policy earns as much as the random one)"
    way = (
        f"{100 * (measures.mean - worst) / (best - worst):.3g} % of the way from the random policy"
    )
    if worst >= 0:
        return f"{measures.score:.4f} (mean return over the optimum; {way} to it)"
    over = f" (mean return over the optimum: {measures.score:.4f})" if best > 0 else ""
    return f"{way} to the optimum{over}"


def world_name(run: Run) -> str:
    """The world's name and its sizes."""
    if isinstance(run.world, TabularMDP):
        name = run.world.name
    else:
        spec = run.world.spec
        name = type(run.world.unwrapped).__name__ if spec is None else spec.id
    return f"{name} (S={run.task.S}, A={run.task.A}, H={run.task.H})"


def _figures(run: Run, best: Policy | None) -> list[list[Any]]:
    measures = _measures(run, best)
    done = f"{run.returns.size:,}"
    rows: list[list[Any]] = [["world", world_name(run)], ["agent", run.agent], ["seed", run.seed]]
    rows.append(["episodes", done if run.finished else f"{done} of {run.episodes:,}"])
    if run.mdp is not None:
        rows.append(["score", told_score(run.mdp, measures)])
    rows.append(["mean return", _figure(measures.mean)])
    rows.append(["last tenth", _figure(measures.last)])
    if run.mdp is not None:
        if best is not None:
            rows.append(["best policy", f"{_figure(measures.best)} (exact; what to deploy)"])
        if run.policy is not None:
            exact = _figure(run.mdp.policy_return(run.policy))
            rows.append(["policy in force", f"{exact} (exact; what it plays to learn)"])
        rows.append(["optimum", _figure(run.mdp.optimal_return())])
        rows.append(["random policy", _figure(run.mdp.random_return())])
    if run.explored_at is not None:
        rows.append(["explored", f"by episode {run.explored_at:,}"])
    if run.returns.size and certifiable(run):
        first, *rest = certify(run).sentences
        rows += [["certificate", first], *(["", each] for each in rest)]
    rows.append(["plans", f"{run.plans:,} for the policy, {run.walk_plans:,} to explore"])
    rows.append(["steps", f"{run.steps:,} at {count(measures.rate)}/s"])
    spent = [f"{phase} {seconds:.3f} s" for phase, seconds in run.seconds.items()]
    rows.append(["time", ", ".join(part for part in spent if not part.endswith(" 0.000 s"))])
    return rows


class _Measures(NamedTuple):
    score: float
    mean: float
    last: float  # mean of the last tenth
    best: float  # exact return of the best policy; NaN where the world is not known
    rate: float  # steps a second, without compiling


def _measures(run: Run, best: Policy | None) -> _Measures:
    returns = run.returns if run.returns.size else np.array([np.nan])
    score = np.nan if run.mdp is None else run.mdp.score(returns)
    last = returns[-max(1, returns.size // 10) :]
    seconds = sum(run.seconds.values()) - run.seconds.get("compiling", 0.0)
    rate = run.steps / max(seconds, 1e-9)
    value = np.nan if run.mdp is None or best is None else run.mdp.policy_return(best)
    return _Measures(score, float(returns.mean()), float(last.mean()), value, rate)


def _figure(value: float) -> str:
    return f"{value:,.5g}" if abs(value) < 1e5 else f"{value:,.0f}"
