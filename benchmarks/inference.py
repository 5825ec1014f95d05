"""What `infer=` brings to each model-based agent where dynamics are related.

    python -m benchmarks.inference                                   # 20,000 episodes, 8 seeds
    python -m benchmarks.inference ucbvi --infer analogy --episodes 2000
    python -m benchmarks.inference analogist --infer analogy "analogy(candidates=marginal)" \\
        --task shared_factors:S=200,A=50 --episodes 30000 --seeds 2

Each agent plays the shared-factor task (S=50, A=40, J=2, K=5) or the one given, drawn anew for each
seed, alone and with the inference: the share of the optimum over the first episodes, and the
difference to its plain twin on the same seeds with its standard error.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np

import gim
from benchmarks.common import machine, table
from gim.envs.worlds import world_of
from gim_lab.trials.spec import instance

AGENTS = ("rmax", "rmax:m=10", "ucbvi", "psrl", "mbie_eb")
TASK = "shared_factors:S=50,A=40,J=2,K=5"


def firsts(episodes: int) -> list[int]:
    """The horizons at which to look."""
    return [first for first in (1_000, 5_000) if first < episodes] + [episodes]


def shares(word: str, infer: str, task: str, episodes: int, seeds: range) -> np.ndarray:
    """Share of the optimum over the first episodes, [seeds, horizons]."""
    found = []
    for seed in seeds:
        mdp = world_of(instance(task, seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            returns = gim.run(with_infer(word, infer), mdp, episodes, seed=seed).returns
        found.append([mdp.score(returns[:first]) for first in firsts(episodes)])
        print(f"({word}, infer={infer}, seed {seed} done)", file=sys.stderr, flush=True)
    return np.array(found)


def with_infer(word: str, infer: str) -> str:
    """The agent with this inference; what makes a pair known for RMax does so for completion."""
    name, _, given = word.partition(":")
    if infer == "by_completion" and given.startswith("m="):
        infer = f"by_completion({given})"
    return f"{name}:{given + ',' if given else ''}infer={infer}"


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("agents", nargs="*", default=AGENTS)
    parser.add_argument("--infer", nargs="+", default=["by_completion"])
    parser.add_argument("--task", default=TASK)
    parser.add_argument("--episodes", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args(arguments)
    print(f"{machine()}; {given.task}, {given.seeds} seeds from {given.first}", flush=True)
    rows, seeds = [], range(given.first, given.first + given.seeds)
    for word in given.agents:
        plain = shares(word, "none", given.task, given.episodes, seeds)
        rows.append([word, *(f"{x:.3f}" for x in plain.mean(axis=0)), ""])
        for infer in given.infer:
            told = shares(word, infer, given.task, given.episodes, seeds)
            gain = told[:, -1] - plain[:, -1]
            error = gain.std(ddof=1) / len(gain) ** 0.5 if len(gain) > 1 else np.nan
            rows.append(
                [
                    f"  + {infer}",
                    *(f"{x:.3f}" for x in told.mean(axis=0)),
                    f"{gain.mean():+.3f} ({error:.3f})",
                ]
            )
    headings = [f"first {first:,}" for first in firsts(given.episodes)]
    print(table(["agent", *headings, "gain"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
