"""Planning sparse MDPs of many kinds, in turns with QuantEcon and mdpsolver.

    python -m benchmarks.sparse_planning [WORLD ...] [DISCOUNT ...]

What sweeps do to an MDP depends on how it mixes and how long its rows are, not on its size: random
successors, garnets, queues, an inventory and grids, at discounts from .95 to .9999. The values that
count are within `ERROR` of the optimum's, measured in the largest entry; ours is one call,
``gim.plan(mdp, discount=..., tolerance=ERROR)``. Each peer is given several settings, and the
fastest that met the error plays in turns with ours: what is told is the median, over rounds, of our
processor time over the best peer's in the same round. A setting is ended once it has taken
`PATIENCE` times what ours took and a second; that then counts as its time. Building models is not
counted.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median
from time import process_time
from typing import Any

import numpy as np
from scipy import sparse

import gim
from benchmarks.common import PEERS, machine, own_environment, peer_python, table
from benchmarks.planning import Settings

DISCOUNTS = (0.95, 0.99, 0.999, 0.9999)
ERROR = 1e-4
ROUNDS = 5
PATIENCE = 5.0
TARGET, WORST = 0.8, 1.1  # our time over the best peer's: the geometric mean, and any


def random_sparse(S: int, n: int, A: int = 4, paying: float = 1.0) -> gim.TabularMDP:
    """Each pair has n successors drawn uniformly, probabilities Dirichlet(1), rewards in [0, 1)."""
    rng = np.random.default_rng(S + n)
    p, successors = rng.exponential(size=(S * A, n)), rng.integers(S, size=(S * A, n))
    p /= p.sum(axis=1, keepdims=True)
    parts = p.ravel(), successors.ravel(), np.arange(0, p.size + 1, n)
    r = rng.random((S, A)) * (rng.random((S, A)) < paying)
    return gim.TabularMDP(sparse.csr_array(parts, shape=(S * A, S)), r)


def grid(side: int, everywhere: bool = False) -> gim.TabularMDP:
    """Our grid world with slips: two goals in a corner, or a reward of its own for every pair."""
    mdp = gim.make("gridworld", height=side, width=side, slip=0.2).to_sparse()
    if not everywhere:
        return mdp
    return gim.TabularMDP(mdp.transitions, np.random.default_rng(0).random(mdp.rewards.shape))


def made(word: str) -> gim.TabularMDP:
    """A task of ours, stored sparse."""
    return gim.make(word).to_sparse()


WORLDS = {
    "random 10,000 x 10": partial(random_sparse, 10_000, 10),
    "random 10,000 x 40": partial(random_sparse, 10_000, 40),
    "random 100,000 x 10": partial(random_sparse, 100_000, 10),
    "random 100,000 x 40": partial(random_sparse, 100_000, 40),
    "garnet 10,000": partial(random_sparse, 10_000, 4, 6, 0.2),
    "queues 100x100": partial(made, "queues:capacity=99"),
    "inventory 401": partial(made, "inventory:capacity=400,largest=40,demand=20"),
    "grid 100x100": partial(grid, 100),
    "rewards everywhere 100x100": partial(grid, 100, True),
    "grid 316x316": partial(grid, 316),
}


def quantecon_settings(mdp: gim.TabularMDP) -> Settings:
    """Modified policy iteration, and policy iteration where there are few states."""
    modified = [
        {"method": "mpi", "k": k, "epsilon": e, "max_iter": 100_000}
        for k in (5, 20)
        for e in (ERROR, ERROR / 100)
    ]
    return modified + [{"method": "pi", "max_iter": 200}] * (mdp.S < 1000)


def mdpsolver_settings(mdp: gim.TabularMDP) -> Settings:
    """Modified policy iteration with plain sweeps, and with sweeps in place."""
    start = {"initValueVector": mdp.rewards.max(axis=1).tolist()}
    return [
        {"algorithm": "mpi", "update": u, "tolerance": ERROR, "parIterLim": k, **start}
        for u, k in (("standard", 20), ("gs", 100))
    ]


class Peer:
    """A peer at work on one problem: it is asked for a setting at a time."""

    def __init__(self, name: str, problem: Path) -> None:
        self.name, self.problem = name, problem
        self._start()

    def _start(self) -> None:
        script = str(PEERS / f"{self.name}_plan.py")
        self.process = subprocess.Popen(
            [str(peer_python(self.name)), script, str(self.problem), "-", "-"],
            env=own_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, setting: dict[str, Any], limit: float) -> tuple[float, float]:
        """Processor seconds and measured error; infinite if it takes longer than the limit."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"setting": setting, "limit": math.ceil(limit)}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        while answer and not answer.startswith("{"):  # what the peer itself has to say
            answer = self.process.stdout.readline()
        if not answer:
            self.end()
            self._start()
            return math.inf, math.inf
        found = json.loads(answer)
        return found["seconds"], found["error"]

    def end(self) -> None:
        """Close it."""
        self.process.communicate()


def optimum(mdp: gim.TabularMDP, discount: float) -> Any:
    """V*: a plan of ours, its error bounded here by one sweep of SciPy's."""
    v = gim.plan(mdp, discount=discount, tolerance=ERROR / 1000).v
    q = mdp.rewards + discount * (mdp.transitions @ v).reshape(mdp.S, mdp.A)
    off = np.abs(np.where(mdp.available, q, -np.inf).max(axis=1) - v).max() / (1 - discount)
    if off > ERROR / 10:
        raise RuntimeError(f"the reference may be {off:.1e} off, too much for an error of {ERROR}")
    return v


def ours(mdp: gim.TabularMDP, discount: float) -> tuple[float, gim.planning.Plan]:
    """Processor seconds of a plan, and the plan."""
    began = process_time()
    plan = gim.plan(mdp, discount=discount, tolerance=ERROR)
    return process_time() - began, plan


def compare(name: str, mdp: gim.TabularMDP, discount: float) -> tuple[float, list[str]]:
    """Our time over the best peer's, and the line of the table."""
    truth = optimum(mdp, discount)
    ours(mdp, discount)  # compiles
    took, plan = ours(mdp, discount)
    error = float(np.abs(plan.v - truth).max())
    limit = 1 + PATIENCE * took
    best: list[tuple[Peer, dict[str, Any] | None]] = []
    with tempfile.TemporaryDirectory() as folder:
        problem = Path(folder) / "problem.npz"
        P = mdp.transitions
        parts = {"data": P.data, "indices": P.indices, "indptr": P.indptr}
        np.savez(problem, r=mdp.rewards, discount=discount, truth=truth, **parts)
        for peer_name, settings_for in (
            ("quantecon", quantecon_settings),
            ("mdpsolver", mdpsolver_settings),
        ):
            peer = Peer(peer_name, problem)
            tried = [(*peer.ask(setting, limit), i) for i, setting in enumerate(settings_for(mdp))]
            met = [(seconds, i) for seconds, off, i in tried if off <= ERROR]
            best.append((peer, settings_for(mdp)[min(met)[1]] if met else None))
        rounds = []
        for _ in range(ROUNDS):
            seconds = [ours(mdp, discount)[0]]
            for peer, setting in best:
                seconds.append(math.inf if setting is None else peer.ask(setting, limit)[0])
            rounds.append(seconds)
        for peer, _ in best:
            peer.end()
    ratios = (mine / min(limit, *rivals) for mine, *rivals in rounds)
    ratio = median(ratios) if error <= ERROR else math.inf
    over = f"over {1e3 * limit:.0f}"
    times = [median(each) for each in zip(*rounds, strict=True)]
    shown = [f"{1e3 * t:.3g}" if t < math.inf else over for t in times]
    how = plan.method.removesuffix("_policy_iteration")
    return ratio, [name, f"{discount}", how, f"{error:.0e}", *shown, f"{ratio:.2f}"]


def main(*asked: str) -> int:
    """Print the table; 1 if a target is missed."""
    print(machine())
    worlds = [word for word in asked if word in WORLDS] or list(WORLDS)
    discounts = [float(word) for word in asked if word not in WORLDS] or DISCOUNTS
    lines = []
    for name in worlds:
        mdp = WORLDS[name]()
        for discount in discounts:
            lines.append(compare(name, mdp, discount))
            print("  ".join(lines[-1][1]), file=sys.stderr, flush=True)
    headings = ["MDP", "discount", "method", "our error", "our ms"]
    print(table([*headings, "QuantEcon ms", "mdpsolver ms", "ratio"], [row for _, row in lines]))
    ratios = [ratio for ratio, _ in lines]
    mean, worst = geometric_mean(ratios), max(ratios)
    print(f"geometric mean {mean:.2f}, target {TARGET}; worst {worst:.2f}, target {WORST}")
    return int(mean > TARGET or worst > WORST)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
