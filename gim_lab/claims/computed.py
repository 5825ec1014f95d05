"""Claims that are computed from the tasks or counted in the learners; no trial is needed.

They stand with the artefact nearest to them, and their verdict is the same under every setting.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from gim import theory
from gim.agents.rtdp_rmax import RTDPRMax
from gim.envs import make
from gim.envs.table1 import table1
from gim.model.matrices import dynamic_matrices, spectrum
from gim.runs.agent import agents
from gim.runs.run import prepare
from gim_lab.claims.claim import Part, Selection, states
from gim_lab.experiments.paper.settings import TITLES
from gim_lab.experiments.paper.table1 import PRINTED, rank
from gim_lab.trials.spec import instance

SMALL = 2.0  # what the condition number is said to be below
SIDES = (3, 12)  # of the grids whose ranks are compared
ACCURACY = 0.1, 0.05  # epsilon and delta, of the bounds
TWICE = ("shared_factors:S=100,A=20", "shared_factors:S=200,A=40")  # whose memory is compared
EXPONENTS = {"gim": 3, "rmax": 3, "q_learning": 2, "delayed_q_learning": 2, "double_q_learning": 2}
FINER = (0.1, 0.01)  # tolerances of RTDP-RMAX, in units of the reward range


@states(
    "In the 2 × 3 grid two rows of the table are equal, and its rank is 3.",
    "Table 1, Section 1",
    "The printed entries, the equal rows of states 2 and 5, and the rank come out of the MDP.",
    "table1",
)
def table1_as_printed(runs: Selection, setting: str) -> Iterator[Part]:
    """The transition table of the 2 x 3 grid."""
    mdp = table1()
    to_2 = mdp.transitions[:, :, 1]
    rows = {mdp.state_label(s): to_2[s] for s in range(mdp.S)}
    printed = [np.allclose(PRINTED.get(s, [0.0] * 4), row) for s, row in rows.items()]
    apart = float(np.abs(rows["2"] - rows["5"]).max())
    yield Part("entries", all(printed), f"{sum(printed)} of {len(printed)} rows as printed")
    yield Part("equal rows", apart < 1e-12, f"rows 2 and 5 differ by {apart:.1g}")
    yield Part("rank", rank(to_2) == 3, f"{rank(to_2)}")


@states(
    "Low rank is more common in larger environments.",
    "Section 1",
    f"From {SIDES[0]} to {SIDES[1]} cells a side, more of the transition matrices of a grid have a "
    "rank below the number of actions (slip as in Table 1).",
    "table1",
)
def larger_is_low_rank(runs: Selection, setting: str) -> Iterator[Part]:
    """Ranks of the dynamic matrices of grids, small and large."""
    ranks = {side: _ranks(side) for side in SIDES}
    low = {side: float((each < 4).mean()) for side, each in ranks.items()}
    numbers = "; ".join(
        f"side {side}: {100 * low[side]:.0f} % below 4, mean {ranks[side].mean():.2f}"
        for side in SIDES
    )
    yield Part("grids", low[SIDES[1]] > low[SIDES[0]], numbers)


@states(
    "The condition number κ is typically below 2.",
    "Section 6.2",
    "The supremum over the dynamic matrices, which is what Theorem 2 asks for, is below "
    f"{SMALL:g}; on Synthetic that of their best approximations of rank 2.",
    "fig1",
)
def kappa(runs: Selection, setting: str) -> Iterator[Part]:
    """The condition number of the dynamic matrices of the four tasks."""
    drawn = [make(instance("synthetic", k)).info["realised"]["kappa"] for k in range(5)]
    largest = max(each["supremum"] for each in drawn)
    yield _kappa("Synthetic", largest, np.mean([each["median"] for each in drawn]))
    for task in ("gridworld", "casinoland", "riverswim"):
        mdp = make(task)
        found = spectrum(dynamic_matrices(mdp.transitions, mdp.rewards)).kappa
        yield _kappa(TITLES[task], np.nanmax(found), np.nanmedian(found))


@states(
    "The conditions under which GIM's bound is below RMax's hold for most tasks.",
    "Section 6.2",
    f"The rank is below the limit of scenario (1) or (2) at ε {ACCURACY[0]} and δ {ACCURACY[1]}, "
    "constants 1, with κ⁴D/(1-β) taken for a constant as the paper does.",
    "fig1",
)
def scenarios(runs: Selection, setting: str) -> Iterator[Part]:
    """The condition on the rank in scenarios (1) and (2)."""
    for task, title in TITLES.items():
        row = theory_of(task)
        found = theory.scenario(row.S, row.A, row.H, row.r, *ACCURACY)
        numbers = f"rank {row.r}, limit {found.rank_below:.0f}; but with κ and D as they are "
        numbers += f"GIM's bound is {row.episodes / row.episodes_rmax:.0e} times RMax's"
        yield Part(title, found.lower_than_rmax, numbers)


@states(
    "It is mild to assume that the diameter is smaller than the horizon.",
    "Section 6.2, Assumption 1",
    "D < H.",
    "fig1",
)
def diameter(runs: Selection, setting: str) -> Iterator[Part]:
    """Assumption 1 on the four tasks."""
    for task, title in TITLES.items():
        mdp = make(task)
        D, H = mdp.diameter(), mdp.horizon
        yield Part(title, D < H, f"D {D:.1f}, H {H}")


@states(
    "RTDP-RMAX needs O(SAε/V_max) dynamic-programming operations (Lemma 1).",
    "Lemma 1, Section 6.1",
    "With a tolerance ε ten times finer it makes fewer updates, as the printed bound has it "
    "(upside down: SA V_max/ε holds).",
    "fig1",
)
def plans_of_rtdp(runs: Selection, setting: str) -> Iterator[Part]:
    """Backups of RTDP-RMAX that lower a value, at two tolerances."""
    for task in ("casinoland", "riverswim"):
        coarse, fine = (updates(task, epsilon) for epsilon in FINER)
        numbers = f"{coarse} updates at {FINER[0]:g}, {fine} at {FINER[1]:g}"
        yield Part(TITLES[task], fine < coarse, numbers)


@states(
    "Model-based learners need Θ(S²A) memory, model-free ones O(SA).",
    "Section 6.3",
    "When S and A double, the bytes of its memory grow 8 times (S²A) or 4 times (SA), within a "
    "quarter of a doubling.",
    "table1",
)
def space(runs: Selection, setting: str) -> Iterator[Part]:
    """How the memory of learners grows when states and actions double."""
    for name, exponent in EXPONENTS.items():
        small, large = (memory(name, world) for world in TWICE)
        holds = abs(float(np.log2(large / small)) - exponent) <= 0.25
        yield Part(name, holds, f"{small:,} to {large:,} bytes, {large / small:.2f} times")


@cache
def theory_of(task: str) -> theory.Row:
    """The theory of a task, constants set to 1."""
    mdp = make(task).to_dense()
    return theory.table(task, mdp.transitions, mdp.rewards, mdp.horizon, mdp.diameter())


@cache
def updates(task: str, epsilon: float, episodes: int = 300) -> int:
    """Steps of RTDP-RMAX that change a value: watched step by step."""
    run = prepare(RTDPRMax(m=5, epsilon1=epsilon), make(task), episodes, 1)
    count, q = 0, run.memory.q.copy()
    while not run.finished:
        run.pause_at(run.steps + 1)
        if not np.array_equal(q, run.memory.q):
            count, q = count + 1, run.memory.q.copy()
    return count


@cache
def memory(agent: str, world: str) -> int:
    """Bytes of the arrays of an agent's memory before its first step."""
    return _bytes(prepare(agents.make(agent), make(world), 1, 0).memory)


def _bytes(part: Any) -> int:
    if isinstance(part, np.ndarray):
        return part.nbytes
    return sum(map(_bytes, part)) if isinstance(part, tuple) else 0


@cache
def _ranks(side: int) -> np.ndarray:
    """Of every transition matrix of a square grid."""
    P = make(f"gridworld:height={side},width={side}").transitions
    return np.array([rank(P[:, :, t]) for t in range(P.shape[2])])


def _kappa(what: str, largest: float, median: float) -> Part:
    return Part(what, bool(largest < SMALL), f"supremum {largest:.2f}, median {median:.2f}")
