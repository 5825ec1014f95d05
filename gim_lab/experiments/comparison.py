"""How results are told in the terminal: one table per world, and what it does not show."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gim._base.terminal import table
from gim_lab.experiments import statistics
from gim_lab.trials.results import Results

EXPLORED, NONE = 5, "–"  # a column, and what it holds where there is nothing to tell


def comparison_table(
    agents: Sequence[str], parts: Sequence[Results], width: int | None = None
) -> str:
    """Agents side by side in one world, the best first.

    Args:
        agents: a name each.
        parts: their runs, on the same seeds in the same order.
        width: columns of the screen; None: any.

    Score is the mean return over the optimum, `vs best` the mean paired difference to the best
    agent, both with intervals from five runs on; `effect` is that difference in standard
    deviations. Without an exact optimum the returns themselves are compared. `explored after` are
    the episodes until an agent that explores first had done so; a dash where it explores as it
    goes, or had not by the end.
    """
    measure = measure_of(parts)
    best = best_of(parts)
    order = sorted(range(len(parts)), key=lambda i: -_mean(parts[i], measure))
    rows = [[agents[i], *_cells(parts[i], parts[best], measure, i == best)] for i in order]
    vs = f"vs {agents[best]}"
    head = [
        "agent",
        measure.replace("_", " "),
        f"{100 * statistics.LEVEL:g} % interval",
        vs,
        "effect",
    ]
    head += ["explored after", "plans", "time"]
    if all(row[EXPLORED] == NONE for row in rows):
        for row in (head, *rows):
            del row[EXPLORED]
    return table(rows, head, align="<".ljust(len(head), ">"), width=width)


def scale(results: Results) -> str:
    """What a score is to be compared with: that of the random policy, where there is one."""
    best, random = results.column("optimal_return"), results.column("random_return")
    if not np.isfinite(best).all() or not (best > 0).all():
        return ""  # else a score is 0 for the random policy
    return f" (score 1 is the optimum, {(random / best).mean():.3g} the random policy)"


def hints(agents: Sequence[str], parts: Sequence[Results]) -> list[str]:
    """Which agents the runs cannot tell from the best, and how many runs it would take."""
    measure, best = measure_of(parts), best_of(parts)
    found = []
    for i, part in enumerate(parts):
        if i != best:
            compared = statistics.compare(part.column(measure), parts[best].column(measure))
            found.append(statistics.hint(agents[best], agents[i], compared))
    return [text for text in found if text]


def notes(agents: Sequence[str], parts: Sequence[Results]) -> list[str]:
    """Warnings of the agents, once for each, with the number of runs that had one."""
    lines = []
    for agent, part in zip(agents, parts, strict=True):
        texts = [text for text in part.column("notes").tolist() if text]
        if texts:
            first = texts[0].splitlines()[0]
            lines.append(f"{agent}, in {len(texts)} of {len(part)} runs: {first}")
    return lines


def measure_of(parts: Sequence[Results]) -> str:
    """The column to compare by: the score, or the return where there is no optimum."""
    known = all(not np.isnan(part.column("score")).any() for part in parts)
    return "score" if known else "mean_return"


def best_of(parts: Sequence[Results]) -> int:
    """Which part has the highest mean."""
    measure = measure_of(parts)
    return int(np.argmax([_mean(part, measure) for part in parts]))


def _mean(part: Results, measure: str) -> float:
    return float(part.column(measure).mean())


def _cells(part: Results, best: Results, measure: str, is_best: bool) -> list[str]:
    estimate = statistics.mean_interval(part.column(measure))
    several = not np.isnan(estimate.low)
    versus = effect = ""
    if not is_best:
        compared = statistics.compare(part.column(measure), best.column(measure))
        gap = compared.difference
        versus = f"{gap.mean:+.3f}"
        if several:
            versus += f" ({gap.low:+.3f}..{gap.high:+.3f})"
        if gap.runs > 1:
            effect = f"{compared.effect:+.1f}"
    length = statistics.exploration_length(part.column("total_eps"), part.column("episodes"))
    return [
        f"{estimate.mean:.3f}",
        f"{estimate.low:.3f}..{estimate.high:.3f}" if several else "",
        versus,
        effect,
        str(length) if length.finished else NONE,
        f"{part.column('plans').mean():,.4g}",
        _time(float(part.column("seconds_total").mean())),
    ]


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"
