"""How fast world and agent meet: against a hand-written loop, and against the bare walk.

    python -m benchmarks.loop

The bare walk is the floor: a compiled loop that does nothing but draw from the alias tables, its
actions taken in turn, without an agent.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.common import machine, median_seconds, run_script, table  # before numpy

# isort: split
import numpy as np

import gim
from gim._compile.jit import entry
from gim.mdp.sampling import step
from gim.runs.run import prepare

STEPS = 1_000_000
SIZES = ((20, 10), (50, 40), (200, 50))


@entry
def bare_walk(world, rng, steps):
    """Draw from the alias tables, nothing else."""
    total, s, a = 0.0, 0, 0
    for _ in range(steps):
        s, r, _end = step(world, s, a, rng)
        total += r
        a = a + 1 if a + 1 < world.A else 0
    return total


def dense_world(S: int, A: int, closed: bool = False) -> gim.TabularMDP:
    """Full rows; `closed`: a last state that cannot be entered, so that exploration never ends."""
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(S), (S, A))
    if closed:
        P[:, :, -1] = 0
        P /= P.sum(axis=2, keepdims=True)
    return gim.TabularMDP(P, rng.random((S, A)), horizon=10)


def walk_rate(mdp: gim.TabularMDP) -> float:
    """Steps a second of the bare walk."""
    rng = np.random.default_rng(1)
    return STEPS / median_seconds(lambda: bare_walk(mdp.world, rng, STEPS), 7)


def agent_rate(agent: gim.Agent, mdp: gim.TabularMDP) -> float:
    """Steps a second of an agent in the compiled loop, thinking and all."""
    episodes = STEPS // mdp.horizon
    return STEPS / median_seconds(lambda: prepare(agent, mdp, episodes, 0).go(), 7)


def main() -> int:
    """Print the tables; 1 if a target is missed."""
    print(machine())
    listed = run_script(Path(sys.executable), "gym_q_learning.py")["steps_per_second"]
    # An m that is never reached keeps GIM in open states, a small one in rho-known ones.
    open_states = gim.GIM.paper(m=10**9)
    closed_states = gim.GIM.paper(m=40, rho=0.999, patience=10**9)
    rows, missed = [], []
    for S, A in SIZES:
        mdp, closed = dense_world(S, A), dense_world(S, A, closed=True)
        floor = walk_rate(mdp)
        rates = {
            "Q-learning": agent_rate(gim.QLearning(), mdp),
            "GIM, unknown pairs": agent_rate(open_states, mdp),
            "GIM, escaping": agent_rate(closed_states, closed),
        }
        targets = {(20, 10): (0.4, 0.25, 0.25), (50, 40): (None, 0.12, 0.12)}
        rows.append([f"{S} x {A}", "bare walk", f"{floor / 1e6:.1f}", "1.00", ""])
        for (name, rate), target in zip(
            rates.items(), targets.get((S, A), (None,) * 3), strict=True
        ):
            share = rate / floor
            goal = "" if target is None else f"at least {target}"
            rows.append(["", name, f"{rate / 1e6:.1f}", f"{share:.2f}", goal])
            if target is not None and share < target:
                missed.append(f"{name} at {S} x {A}: {share:.2f} of the bare walk, not {target}")
        if (S, A) == (20, 10):
            ratio = rates["Q-learning"] / listed
            rows.append(["", "hand-written Q-learning", f"{listed / 1e6:.3f}", "", ""])
            rows.append(["", "  Q-learning over it", f"{ratio:.0f}x", "", "at least 150x"])
            if ratio < 150:
                missed.append(f"Q-learning is {ratio:.0f} times the hand-written loop, not 150")
    print(table(["S x A", "what", "million steps/s", "of the walk", "target"], rows))
    for text in missed:
        print(f"MISSED: {text}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
