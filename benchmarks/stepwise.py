"""The stepwise loop against a hand-written one, on the same environment in the same run.

    python -m benchmarks.stepwise

Gymnasium's FrozenLake 8x8, stepped through as if it had no table, by Q-learning: ours, and the
loop that everyone writes first. The two take turns. Beside it what a step costs on observations
that are tuples, and what it costs where the table is used.
"""

from __future__ import annotations

import statistics
import sys
from random import Random
from time import process_time
from typing import Any

import gymnasium

import gim
from benchmarks.common import machine, table
from gim.runs.run import prepare

STEPS, REPEATS = 40_000, 7
ALPHA, EPSILON, GAMMA = 0.1, 0.1, 0.95
TARGET = 0.5  # of the hand-written loop's steps a second


def by_hand(env: Any, steps: int, seed: int) -> list[list[float]]:
    """Q-learning as it is usually written: tables are lists, a step at a time."""
    random = Random(seed)
    S, A = int(env.observation_space.n), int(env.action_space.n)
    q = [[0.0] * A for _ in range(S)]
    s, _ = env.reset(seed=seed)
    for _ in range(steps):
        row = q[s]
        a = random.randrange(A) if random.random() < EPSILON else row.index(max(row))
        t, r, terminated, truncated, _ = env.step(a)
        ahead = 0.0 if terminated else max(q[t])
        row[a] += ALPHA * (r + GAMMA * ahead - row[a])
        s = env.reset()[0] if terminated or truncated else t
    return q


def rate_by_hand(env: Any, seed: int) -> float:
    """Steps a second of the hand-written loop."""
    began = process_time()
    by_hand(env, STEPS, seed)
    return STEPS / (process_time() - began)


def rate(env: Any, seed: int, stepwise: bool = True, **options: Any) -> float:
    """Steps a second of ours; what was compiled before counts neither here nor there."""
    agent = gim.QLearning(alpha=ALPHA, epsilon=EPSILON, gamma=GAMMA)
    run = prepare(agent, env, STEPS, seed, stepwise=stepwise, **options)
    run.pause_at(1)
    before, began = run.steps, process_time()
    run.pause_at(STEPS)
    return (run.steps - before) / (process_time() - began)


def main() -> int:
    """Print the table; 1 if the target is missed."""
    lake = gymnasium.make("FrozenLake-v1", map_name="8x8")
    cards = gymnasium.make("Blackjack-v1")
    rows: dict[str, list[float]] = {"by hand": [], "ours": [], "tuples": [], "from the table": []}
    for seed in range(REPEATS + 1):  # the first round does not count
        rows["by hand"].append(rate_by_hand(lake, seed))
        rows["ours"].append(rate(lake, seed))
        rows["tuples"].append(rate(cards, seed, horizon=20))
        rows["from the table"].append(rate(lake, seed, stepwise=False))
    share = statistics.median(
        ours / hand for ours, hand in zip(rows["ours"][1:], rows["by hand"][1:], strict=True)
    )
    what = {
        "by hand": "FrozenLake 8x8, by hand",
        "ours": "FrozenLake 8x8, stepped through",
        "tuples": "Blackjack, stepped through",
        "from the table": "FrozenLake 8x8, from its table",
    }
    shown = [[what[k], f"{statistics.median(v[1:]):,.0f}"] for k, v in rows.items()]
    print(machine())
    print(table(["Q-learning", "steps a second"], shown))
    print(f"ours over by hand: {share:.2f} (median of {REPEATS}; target {TARGET})")
    return int(share < TARGET)


if __name__ == "__main__":
    sys.exit(main())
