"""Time a hand-written Q-learning loop on Gymnasium's FrozenLake 8x8, the usual way to start.

Tables are lists, the env is stepped one action at a time. Prints steps a second as JSON.
"""

import json
from random import Random
from statistics import median
from time import process_time

import gymnasium

STEPS = 50_000
REPEATS = 5
ALPHA, EPSILON, GAMMA = 0.1, 0.1, 0.95


def q_learning(env, steps, seed):
    """Learn for this many steps and return the table."""
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


def main():
    """Print the median over the repeats."""
    env = gymnasium.make("FrozenLake-v1", map_name="8x8", is_slippery=True)
    q_learning(env, STEPS // 10, seed=0)
    rates = []
    for seed in range(REPEATS):
        began = process_time()
        q_learning(env, STEPS, seed)
        rates.append(STEPS / (process_time() - began))
    print(json.dumps({"steps_per_second": median(rates), "gymnasium": gymnasium.__version__}))


main()
