"""What it costs to infer anew, against one plain plan of the same MDP.

    python -m benchmarks.refresh

A refresh is one call of `gim.Analogy()`: all candidates, judged on pairs that were held out, the
choice among them, and the prediction of every pair. A plan is that of UCBVI without inference from
the same counts, H=10. Every pair of a shared-factor task (J=5, K=8) was visited Poisson many times.
Refreshes are due when the visits have doubled, plans before every episode: in n episodes there are
about log2(n) of the one and n of the other.
"""

from __future__ import annotations

import sys

import numpy as np

import gim
from benchmarks.common import machine, median_seconds, table
from gim.analogy.base import Frame
from gim.model.counts import Counts
from gim.model.task import Mind
from gim.runs.run import task_of

STATES, ACTIONS = (20, 50, 100, 200), (10, 40)
VISITS = (1, 10, 100)  # of each pair, on average
TARGET = 500  # plans, at S=50, A=40


def visit(counts: Counts, mdp: gim.TabularMDP, visits: int) -> None:
    """Fill counts as if every pair had been met Poisson many times."""
    rng = np.random.default_rng(0)
    counts.n[:] = rng.poisson(visits, (mdp.S, mdp.A))
    counts.next[:] = rng.multinomial(counts.n, mdp.transitions).ravel()
    counts.R[:], counts.R2[:] = counts.n * mdp.rewards, counts.n * mdp.rewards**2


def seconds(mdp: gim.TabularMDP, visits: int) -> tuple[float, float]:
    """Processor seconds of a refresh and of a plan."""
    agent, mind = gim.UCBVI(), Mind(task_of(mdp), np.random.default_rng(0))
    memory = agent.start(mind.task, mind.rng)
    visit(memory.belief.counts, mdp, visits)
    frame = Frame(mdp.available, mdp.terminal, mdp.reward_range)
    infer = gim.Analogy()
    refresh = median_seconds(
        lambda: infer(memory.belief.counts, frame, np.random.default_rng(0)), repeats=3
    )
    return refresh, median_seconds(lambda: agent.think(memory, mind))


def main() -> int:
    """Print the table; 1 if the target is missed."""
    print(machine())
    rows, judged = [], []
    for S in STATES:
        for A in ACTIONS:
            mdp = gim.make("shared_factors", S=S, A=A, J=5, K=8, seed=0)
            for visits in VISITS:
                refresh, plan = seconds(mdp, visits)
                ratio = refresh / plan
                aimed = (S, A) == (50, 40)
                judged += [ratio] if aimed else []
                cells = [f"{1e3 * refresh:.3g}", f"{1e3 * plan:.3g}", f"{ratio:.0f}"]
                goal = f"under {TARGET}" if aimed else ""
                rows.append([f"{S} x {A}", f"{visits}", *cells, goal])
    print(table(["S x A", "visits", "refresh ms", "plan ms", "plans", "target"], rows))
    print(f"a refresh at 50 x 40 costs {max(judged):.0f} plans at the most, target {TARGET}")
    return int(max(judged) >= TARGET)


if __name__ == "__main__":
    sys.exit(main())
