"""What `infer=` brings to each model-based agent where dynamics are related.

    python -m benchmarks.inference                                   # 20,000 episodes, 8 seeds
    python -m benchmarks.inference ucbvi --infer analogy --episodes 2000

Each agent plays the shared-factor task (S=50, A=40, J=2, K=5), drawn anew for each seed, alone and
with the inference: the share of the optimum over the first episodes, and the difference to its
plain twin on the same seeds with its standard error.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np

import gim
from benchmarks.common import machine, table
from gim.agent import agents

AGENTS = ("rmax", "rmax:m=10", "ucbvi", "psrl", "mbie_eb")
FIRST = (1_000, 5_000, 20_000)


def shares(word: str, infer: str | None, episodes: int, seeds: int) -> np.ndarray:
    """Share of the optimum over the first episodes, [seeds, horizons]."""
    found = []
    for seed in range(seeds):
        mdp = gim.make("shared_factors", S=50, A=40, J=2, K=5, seed=seed)
        agent = agents.make(word) if infer is None else agents.make(with_infer(word, infer))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            returns = gim.run(agent, mdp, episodes, seed=seed).returns
        found.append([mdp.score(returns[:first]) for first in FIRST if first <= episodes])
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
    parser.add_argument("--episodes", type=int, default=FIRST[-1])
    parser.add_argument("--seeds", type=int, default=8)
    given = parser.parse_args(arguments)
    print(f"{machine()}; {given.seeds} seeds", flush=True)
    rows = []
    for word in given.agents:
        plain = shares(word, None, given.episodes, given.seeds)
        rows.append([word, *(f"{x:.3f}" for x in plain.mean(axis=0)), ""])
        for infer in given.infer:
            told = shares(word, infer, given.episodes, given.seeds)
            gain = told[:, -1] - plain[:, -1]
            error = gain.std(ddof=1) / len(gain) ** 0.5 if len(gain) > 1 else np.nan
            rows.append(
                [
                    f"  + {infer}",
                    *(f"{x:.3f}" for x in told.mean(axis=0)),
                    f"{gain.mean():+.3f} ({error:.3f})",
                ]
            )
        print(f"({word} done)", file=sys.stderr, flush=True)
    headings = [f"first {first:,}" for first in FIRST if first <= given.episodes]
    print(table(["agent", *headings, "gain"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
