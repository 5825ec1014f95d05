"""What a step of exploring costs, against the number of states and of actions.

    python -m benchmarks.walks            # S = 20 ... 100,000 and A = 2 ... 200
    python -m benchmarks.walks --quick    # up to 10,000 states

Curious and planned walking explore slippery grids (uniform start) and sparse random worlds (four
successors a pair, drawn among all states) for .8 m S A steps, the least that makes .8 of the pairs
known. The floor is the bare walk with the same access pattern: the same steps replayed, counted and
checked for what is known by the same agent, by a walk that reads its actions from a list and keeps
nothing. Beside processor time, the work of a walk is counted: transitions looked at to keep what it
knows up to date. Exponents are the slopes of log cost on log size. Against A, what a walk adds to
the floor is divided by the levels of its trees, 1 + log2 A: logarithmic means that it stays put.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from functools import cache
from time import process_time
from typing import Any, NamedTuple

from benchmarks.common import machine, table  # before numpy

# isort: split
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import gim
from gim._compile.jit import bind, hot
from gim.envs.gridworld import steps
from gim.model.counts import Counts, Known
from gim.paper.walks.base import NOTHING, Exploration, explorations
from gim.paper.walks.transitions import STATE
from gim.runs.run import prepare

SIZES = (20, 100, 1_000, 10_000, 100_000)
ACTIONS = (2, 5, 20, 60, 200)
M, RHO = 40, 0.8
SHARE = 0.8  # of m S A steps
LEAST = 200_000  # steps that a figure rests on
REPEATS = 2  # of each run; the faster one counts
ALLOWED = 0.1  # by which the exponent may exceed that of the bare walk
NEVER = np.iinfo(np.int64).max


def grid(S: int) -> gim.TabularMDP:
    """A square of about S cells, slip .2, each cell equally likely to start from."""
    side = round(S**0.5)
    cells = [(i, j) for i in range(side) for j in range(side)]
    return sparse_world(np.array(list(steps(cells, 0.2))), len(cells), 4)


def random_world(S: int, A: int = 4, successors: int = 4) -> gim.TabularMDP:
    """Each pair leads to a few states drawn among all, with probabilities of any size."""
    rng = np.random.default_rng(S * 1000 + A)
    pair = np.repeat(np.arange(S * A), successors)
    p = rng.dirichlet(np.ones(successors), S * A).ravel()
    rows = np.column_stack([pair // A, pair % A, rng.integers(S, size=pair.size), p])
    return sparse_world(rows, S, A)


def sparse_world(rows: NDArray[np.float64], S: int, A: int) -> gim.TabularMDP:
    """An MDP from rows (s, a, s', p), without rewards, H = 1,000."""
    s, a, t = rows[:, :3].astype(np.int64).T
    P = sparse.csr_array((rows[:, 3], (s * A + a, t)), shape=(S * A, S))
    return gim.TabularMDP(P, np.zeros((S, A)), start=np.full(S, 1 / S), horizon=1_000)


class Actions(NamedTuple):
    """What a walk did, step by step."""

    taken: NDArray[np.int16]  # [steps]
    at: NDArray[np.int64]  # [1] steps so far


class Track(NamedTuple):
    """A walk and what it did."""

    walk: Any
    actions: Actions


def choose(walk, counts, known, s, rng):
    """Stand in for the walk's own, which `bind` puts here."""
    raise NotImplementedError


def observe(walk, counts, known, s, a, t, news):
    """Stand in for the walk's own, which `bind` puts here."""
    raise NotImplementedError


def choose_and_list(track, counts, known, s, rng):
    """Choose as the walk does, and write it down."""
    a = choose(track.walk, counts, known, s, rng)
    track.actions.taken[track.actions.at[0]] = a
    track.actions.at[0] += 1
    return a


def just_observe(track, counts, known, s, a, t, news):
    """Observe as the walk does."""
    return observe(track.walk, counts, known, s, a, t, news)


@hot
def next_listed(actions, counts, known, s, rng):
    """Take the next action of the list."""
    a = int(actions.taken[actions.at[0]])
    actions.at[0] += 1
    return a


@hot
def see_nothing(actions, counts, known, s, a, t, news):
    """Keep nothing."""
    return NOTHING


@cache
def bound(template: Any, walk: Exploration) -> Any:
    """A template with a walk's own functions in it."""
    return bind(template, "tracked", inner=True, choose=walk.choose, observe=walk.observe)


@dataclass(frozen=True)
class Tracked(Exploration):
    """Another walk, and a list of what it does."""

    walk: Any = None
    steps: int = 0

    choose = property(lambda self: bound(choose_and_list, self.walk))
    observe = property(lambda self: bound(just_observe, self.walk))

    def start(self, counts: Counts, known: Known, beta: float, rng: np.random.Generator) -> Track:
        """An empty list."""
        actions = Actions(np.zeros(self.steps + 1, np.int16), np.zeros(1, np.int64))
        return Track(self.walk.start(counts, known, beta, rng), actions)

    def grow(self, walk: Track) -> Track:
        """Make room as the walk does."""
        return walk._replace(walk=self.walk.grow(walk.walk))


@dataclass(frozen=True)
class Replay(Exploration):
    """The bare walk: what a list says, and nothing kept."""

    taken: Any = None

    choose = staticmethod(next_listed)
    observe = staticmethod(see_nothing)

    def start(self, counts: Counts, known: Known, beta: float, rng: np.random.Generator) -> Actions:
        """At the top of the list."""
        return Actions(self.taken, np.zeros(1, np.int64))


def explored(walk: Exploration, mdp: gim.TabularMDP, seed: int, steps: int) -> tuple[Any, float]:
    """The run after so many steps of exploring, and its processor seconds."""
    agent = gim.GIM(m=M, rho=RHO, exploration=walk, patience=NEVER)
    run = prepare(agent, mdp, steps, seed)
    run.memory.known.goal[0] = NEVER  # exploration goes on to the last step
    run.pause_at(1)  # compiles
    began = process_time()
    run.pause_at(steps)
    return run, process_time() - began


class Cost(NamedTuple):
    """Of one step."""

    walk: float  # ns
    floor: float  # ns
    links: float  # transitions looked at to keep ways and escapes up to date


def cost(word: str, mdp: gim.TabularMDP) -> Cost:
    """What a step of this walk costs in this world, and a bare one on the same way."""
    walk = explorations.make(word)
    steps = int(SHARE * M * mdp.S * mdp.A)
    seconds, bare, links, seeds = 0.0, 0.0, 0, range(-(-LEAST // steps))
    for seed in seeds:
        listed, _ = explored(Tracked(walk, steps), mdp, seed, steps)
        bare_walk = Replay(listed.memory.walk.actions.taken)
        (run, spent), (replayed, least) = (
            min((explored(w, mdp, seed, steps) for _ in range(REPEATS)), key=lambda pair: pair[1])
            for w in (walk, bare_walk)
        )
        assert np.array_equal(run.memory.belief.counts.n, replayed.memory.belief.counts.n)
        seconds, bare, links = seconds + spent, bare + least, links + looked_at(run.memory)
    total = steps * len(seeds)
    return Cost(1e9 * seconds / total, 1e9 * bare / total, links / total)


def looked_at(memory: Any) -> int:
    """Transitions that a walk has looked at, beside those that it took."""
    walk = memory.walk
    if hasattr(walk, "ways"):
        return int(walk.ways.work[0])
    closed = memory.known.rho_known[walk.links.table[: walk.links.used[0], STATE]]
    return int(closed.sum())  # each once, when the state that it leads to is closed


def exponent(sizes: list[int], costs: list[float]) -> float:
    """The slope of log cost on log size."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def against_states(word: str, name: str, worlds: list[gim.TabularMDP]) -> str:
    """Print what a step costs against S; what misses the target, or nothing."""
    costs, S = [cost(word, mdp) for mdp in worlds], [mdp.S for mdp in worlds]
    walk, floor = (exponent(S, [c[i] for c in costs]) for i in (0, 1))
    found = f"{word} walking, {name}, A = {worlds[0].A}: S^{walk:.3f}, bare walk S^{floor:.3f}"
    rows = [
        [
            f"{size:,}",
            f"{c.walk:.0f}",
            f"{c.floor:.0f}",
            f"{c.walk / c.floor:.2f}",
            f"{c.links:.2f}",
        ]
        for size, c in zip(S, costs, strict=True)
    ]
    print(f"\n{found}")
    print(table(["S", "walk", "bare walk", "ratio", "links looked at"], rows))
    return found if walk > floor + ALLOWED else ""


def against_actions(word: str, worlds: list[gim.TabularMDP]) -> str:
    """Print what a step costs against A; what misses the target, or nothing."""
    costs, A = [cost(word, mdp) for mdp in worlds], [mdp.A for mdp in worlds]
    levels = [1 + (actions - 1).bit_length() for actions in A]  # of the tree over the actions
    each = [(c.walk - c.floor) / n for c, n in zip(costs, levels, strict=True)]
    found = (
        f"{word} walking, random world, S = {worlds[0].S}: what it adds to the bare walk, for each "
        f"level of its trees, grows as A^{exponent(A, each):.3f}"
    )
    rows = [
        [str(actions), f"{c.walk:.0f}", f"{c.floor:.0f}", str(n), f"{ns:.1f}"]
        for actions, c, n, ns in zip(A, costs, levels, each, strict=True)
    ]
    print(f"\n{found}")
    print(table(["A", "walk", "bare walk", "levels", "added, by level"], rows))
    return found if exponent(A, each) > ALLOWED else ""


def main(arguments: list[str] | None = None) -> int:
    """Print the tables; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="up to 10,000 states")
    quick = parser.parse_args(arguments or []).quick
    print(f"{machine()}; GIM with m = {M}, rho = {RHO}; nanoseconds of processor time a step")
    missed, walks = [], ("curious", "planned")
    worlds = [random_world(S=20, A=A) for A in ACTIONS]
    missed += [against_actions(word, worlds) for word in walks]
    for name, make in (("grid", grid), ("random world", random_world)):
        worlds = [make(S) for S in (SIZES[:-1] if quick else SIZES)]
        missed += [against_states(word, name, worlds) for word in walks]
    for text in filter(None, missed):
        print(f"MISSED: {text}")
    return 1 if any(missed) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
