"""How fast the learners are: against the bare walk, and against a public UCBVI.

    python -m benchmarks.agents

All at S=20, A=10, H=10, one core, medians. The agents that plan do so anew before each episode. The
peer, rlberry-scool, has no PSRL: both ratios are to its UCBVI.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import gim
from benchmarks.common import machine, median_seconds, run_peer, table
from benchmarks.loop import agent_rate, dense_world, walk_rate
from gim.runs.agent import agents
from gim.runs.run import prepare

EPISODES = 3000
LEARNERS = {
    "q_learning": 0.3,
    "double_q_learning": 0.3,
    "delayed_q_learning": 0.3,
    "rmax": None,
    "random": None,
}
PLANNERS = {"ucbvi": 200, "ucbvi:bonus=hoeffding": None, "psrl": 50, "mbie_eb": None}


def planner_rate(agent: gim.Agent, mdp: gim.TabularMDP) -> float:
    """Steps a second with a new plan before each episode, all told."""
    seconds = median_seconds(lambda: prepare(agent, mdp, EPISODES, 0).go())
    return EPISODES * mdp.horizon / seconds


def peer_rate(mdp: gim.TabularMDP) -> tuple[float, str]:
    """Steps a second of rlberry-scool's UCBVI in the same MDP, and its version."""
    with tempfile.TemporaryDirectory() as folder:
        problem = Path(folder) / "problem.npz"
        np.savez(problem, P=mdp.transitions, r=mdp.rewards, H=mdp.horizon)
        found = run_peer("rlberry", "rlberry_ucbvi.py", str(problem))
    return found["steps_per_second"], found["peer"]


def main() -> int:
    """Print the tables; 1 if a target is missed."""
    print(machine())
    mdp = dense_world(20, 10)
    floor = walk_rate(mdp)
    rows, missed = [["bare walk", f"{floor / 1e6:.1f}", "1.00", ""]], []
    for word, target in LEARNERS.items():
        rate = agent_rate(agents.make(word), mdp)
        goal = "" if target is None else f"at least {target}"
        rows.append([word, f"{rate / 1e6:.1f}", f"{rate / floor:.2f}", goal])
        if target is not None and rate / floor < target:
            missed.append(f"{word}: {rate / floor:.2f} of the bare walk, not {target}")
    print(table(["S=20, A=10, H=10", "million steps/s", "of the walk", "target"], rows))
    peer, name = peer_rate(mdp)
    rows = [[f"{name}, UCBVI", f"{peer:,.0f}", f"{1e6 * mdp.horizon / peer:,.0f}", "1", ""]]
    for word, target in PLANNERS.items():
        rate = planner_rate(agents.make(word), mdp)
        goal = "" if target is None else f"at least {target}"
        micros = f"{1e6 * mdp.horizon / rate:,.0f}"
        rows.append([word, f"{rate:,.0f}", micros, f"{rate / peer:,.0f}", goal])
        if target is not None and rate / peer < target:
            missed.append(f"{word}: {rate / peer:.0f} times the peer, not {target}")
    print()
    print(table(["a plan each episode", "steps/s", "us/episode", "times the peer", "target"], rows))
    for text in missed:
        print(f"MISSED: {text}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
