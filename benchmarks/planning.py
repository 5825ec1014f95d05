"""Planning without end, against QuantEcon's DiscreteDP and mdpsolver at equal measured error.

    python -m benchmarks.planning

Each peer is given many settings. For each error asked for, the fastest of those that met it counts:
measured, in the largest entry, against the exact value of the optimal policy. Ours is one call,
``gim.plan(mdp, discount=..., tolerance=error)``. Conversion of inputs is not counted. The random
MDPs are those with a target; the slow grid stands for the record.
"""

from __future__ import annotations

import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import gim
from benchmarks.common import BATCH_SECONDS, REPEATS, machine, median_seconds, run_peer, table

SIZES = ((50, 40), (500, 20), (2000, 10))
DISCOUNTS = (0.95, 0.99)
ERRORS = (1e-4, 1e-8, 1e-11)
PEER_TOLERANCES = (1e-4, 1e-8)  # with which they reach the last error, too
TARGET = 1.1  # our time over that of the best peer
SMALL = 100  # up to this many states the peers' slow methods are tried too

Settings = list[dict[str, Any]]


def dense_mdp(S: int, A: int) -> gim.TabularMDP:
    """Rows drawn uniformly from the simplex, rewards from [0, 1]."""
    rng = np.random.default_rng(S)
    P = rng.dirichlet(np.ones(S), (S, A))
    return gim.TabularMDP(P, rng.random((S, A)), name=f"random ({S}, {A})")


def slow_grid(side: int) -> gim.TabularMDP:
    """A grid with slips and a reward in one corner, stored sparse: it mixes slowly."""
    cells = np.arange(side * side)
    i, j = np.divmod(cells, side)
    moves = ((0, 1), (1, 0), (0, -1), (-1, 0))
    after = [np.clip(i + di, 0, side - 1) * side + np.clip(j + dj, 0, side - 1) for di, dj in moves]
    P = sparse.lil_array((cells.size * 4, cells.size))
    for a in range(4):
        for turn, chance in ((0, 0.8), (1, 0.1), (3, 0.1)):
            for s in cells:
                P[s * 4 + a, after[(a + turn) % 4][s]] += chance
    r = np.full((cells.size, 4), -0.04)
    r[-1] = 1
    return gim.TabularMDP(P.tocsr(), r, name=f"grid {side}x{side}")


def quantecon_settings(mdp: gim.TabularMDP) -> Settings:
    modified = [
        {"method": "mpi", "k": k, "epsilon": e, "max_iter": 100_000}
        for k in (3, 5, 10, 20)
        for e in PEER_TOLERANCES
    ]
    slow = [{"method": "vi", "epsilon": e, "max_iter": 100_000} for e in PEER_TOLERANCES]
    return [*modified, {"method": "pi", "max_iter": 200}, *(slow if mdp.S <= SMALL else [])]


def mdpsolver_settings(mdp: gim.TabularMDP) -> Settings:
    # Without a start of its own it goes on from its last solution.
    start = {"initValueVector": mdp.rewards.max(axis=1).tolist()}
    updates = ("standard", "gs") if mdp.sparse or mdp.S <= SMALL else ("standard",)
    modified = [
        {"algorithm": "mpi", "update": u, "tolerance": e, "parIterLim": k, **start}
        for u in updates
        for k in (10, 100)
        for e in PEER_TOLERANCES
    ]
    slow = [{"algorithm": "vi", "tolerance": e, **start} for e in PEER_TOLERANCES]
    exact = {"algorithm": "pi", "tolerance": min(PEER_TOLERANCES), **start}
    return [*modified, exact, *(slow if mdp.S <= SMALL else [])]


PEERS = {"quantecon": quantecon_settings, "mdpsolver": mdpsolver_settings}


def exact_values(mdp: gim.TabularMDP, discount: float) -> Any:
    """Values of the optimal policy by a direct solve: plain policy iteration, no code of ours."""
    S = mdp.S
    P = mdp.transitions if mdp.sparse else mdp.transitions.reshape(-1, S)
    policy, last = mdp.rewards.argmax(axis=1), None
    while last is None or (policy != last).any():
        pairs = np.arange(S) * mdp.A + policy
        chosen = P[pairs].toarray() if mdp.sparse else P[pairs]
        system = np.eye(S) - discount * chosen
        v = np.linalg.solve(system, mdp.rewards.reshape(-1)[pairs])
        q = mdp.rewards + discount * (P @ v).reshape(S, mdp.A)
        better = q.max(axis=1) > v + 1e-13 * np.abs(v).max()
        last, policy = policy, np.where(better, q.argmax(axis=1), policy)
    return v


def save(mdp: gim.TabularMDP, discount: float, file: Path) -> None:
    P = mdp.transitions
    parts = {"data": P.data, "indices": P.indices, "indptr": P.indptr} if mdp.sparse else {"P": P}
    np.savez(file, r=mdp.rewards, discount=discount, **parts)


def ask(
    peer: str,
    mdp: gim.TabularMDP,
    discount: float,
    settings: Settings,
    truth: Any,
    repeats: int = REPEATS,
    long: float = 60.0,
) -> tuple[float, list[Any]]:
    """Seconds to build a peer's model, and (seconds, measured error, setting) of each setting.

    A setting that takes more than `long` seconds may be timed once.
    """
    with tempfile.TemporaryDirectory() as folder:
        problem, values, asked = (Path(folder) / f for f in ("p.npz", "v.npz", "s.json"))
        save(mdp, discount, problem)
        order = {"settings": settings, "repeats": repeats, "batch_seconds": BATCH_SECONDS}
        asked.write_text(json.dumps(order | {"long": long}))
        took = run_peer(peer, f"{peer}_plan.py", str(problem), str(values), str(asked))
        with np.load(values) as found:
            errors = [float(np.abs(found[str(i)] - truth).max()) for i in range(len(settings))]
    return took["building"], list(zip(took["seconds"], errors, settings, strict=True))


def peer_times(mdp: gim.TabularMDP, discount: float, truth: Any) -> dict[str, list[Any]]:
    """Each peer's (seconds, measured error, setting) for all of its settings."""
    return {
        peer: ask(peer, mdp, discount, settings_for(mdp), truth)[1]
        for peer, settings_for in PEERS.items()
    }


def fastest(times: list[Any], error: float) -> tuple[float, str]:
    """The least seconds of a setting that met the error, and its name."""
    met = [(seconds, setting) for seconds, e, setting in times if e <= error]
    if not met:
        return np.inf, ""
    seconds, setting = min(met, key=lambda one: one[0])
    words = (setting.get(key) for key in ("method", "k", "algorithm", "update", "parIterLim"))
    return seconds, " ".join(str(word) for word in words if word is not None)


def compare(mdp: gim.TabularMDP) -> list[tuple[float, list[str]]]:
    """For each discount and error our time over the best peer's, and the line of the table."""
    lines = []
    for discount in DISCOUNTS:
        truth = exact_values(mdp, discount)
        times = peer_times(mdp, discount, truth)
        for error in ERRORS:
            plan = partial(gim.plan, mdp, discount=discount, tolerance=error)
            measured = float(np.abs(plan().v - truth).max())
            ours = median_seconds(plan)
            rivals = [fastest(times[peer], error) for peer in PEERS]
            ratio = ours / min(seconds for seconds, _ in rivals) if measured <= error else np.inf
            row = [mdp.name, f"{discount}", f"{error:.0e}", f"{measured:.0e}", f"{1e3 * ours:.3g}"]
            row += [f"{1e3 * t:.3g} ({name})" if t < np.inf else "none" for t, name in rivals]
            lines.append((ratio, [*row, f"{ratio:.2f}" if ratio < np.inf else "missed"]))
    return lines


def main() -> int:
    """Print the table; 1 if a target is missed."""
    print(machine())
    pins = (Path(__file__).parent / "peers" / f"{peer}.txt" for peer in PEERS)
    print("against", ", ".join(_pin(file) for file in pins), flush=True)
    lines = [line for S, A in SIZES for line in compare(dense_mdp(S, A))]
    record = compare(slow_grid(40))
    headings = ["MDP", "discount", "error", "our error", "our ms", *(f"{p} ms" for p in PEERS)]
    print(table([*headings, "ratio"], [cells for _, cells in [*lines, *record]]))
    worst = max(ratio for ratio, _ in lines)
    print(f"worst ratio on the random MDPs {worst:.2f}, target {TARGET}")
    return int(worst > TARGET)


def _pin(file: Path) -> str:
    return next(line for line in file.read_text().split() if line.startswith(file.stem))


if __name__ == "__main__":
    sys.exit(main())
