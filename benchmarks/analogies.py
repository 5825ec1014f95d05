"""What `run.analogies()` says of grids, beside what is so: moves, their chances, and walls.

    python -m benchmarks.analogies                   # 8x8 grid and four rooms, seeds 7000 and 7001
    python -m benchmarks.analogies four_rooms --episodes 300 --say

True chances are read off a cell whose neighbours are all free. *Named* counts the actions whose
rule has the changes that are possible and no others; *error* is the largest of a chance (0 is said
of a change that is not mentioned). A *wall* is a pair (s, a) whose own move leads to no cell,
*inner* if what it leads to lies between the first and the last row and column that have cells, else
*outer*. It was met if the pair was played and stayed. Rules should list inner walls as exceptions;
outer ones may be listed, or be edges, of which rules say "blocked moves stay".
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

import gim
from benchmarks.common import machine, table

WORLDS = {
    "gridworld:height=8,width=8,horizon=40,slip=0.2,start=0": (100,),
    "four_rooms": (100, 300),
}
AGENT = "analogist"
CLOSE = 0.05  # of a chance, asked
Change = tuple[tuple[str, float | str], ...]  # by variable, without those that stay
Pairs = set[tuple[int, int]]


def change(mdp: gim.TabularMDP, s: int, t: int) -> Change:
    """What is added to the variables from one state to another."""
    made_of = mdp.variables
    assert made_of is not None
    by = (made_of.codes[t] - made_of.codes[s]).tolist()
    return tuple((name, step) for name, step in zip(made_of.names, by, strict=True) if step)


def chances(mdp: gim.TabularMDP) -> list[dict[Change, float]]:
    """What each action does in a cell from which most others can be reached."""
    rows = mdp.rows()
    pair = np.repeat(np.arange(mdp.S * mdp.A), np.diff(rows.indptr))
    reached = np.unique(np.stack([pair // mdp.A, rows.indices])[:, rows.data > 0], axis=1)
    s = int(np.bincount(reached[0, reached[0] != reached[1]]).argmax())
    found = []
    for a in range(mdp.A):
        at = slice(*rows.indptr[s * mdp.A + a : s * mdp.A + a + 2])
        pairs = zip(rows.indices[at].tolist(), rows.data[at].tolist(), strict=True)
        found.append({change(mdp, s, t): p for t, p in pairs if p > 0})
    return found


def walls(mdp: gim.TabularMDP) -> tuple[Pairs, Pairs]:
    """Pairs whose likeliest change leads to no state: inner walls, and outer ones."""
    made_of = mdp.variables
    assert made_of is not None
    codes = made_of.codes
    inner: Pairs = set()
    outer: Pairs = set()
    for a, true in enumerate(chances(mdp)):
        step: dict[str, Any] = dict(max(true.items(), key=lambda item: item[1])[0])
        moved = codes + [step.get(name, 0) for name in made_of.names]
        between = ((moved >= codes.min(axis=0)) & (moved <= codes.max(axis=0))).all(axis=1)
        there = {tuple(cell) for cell in codes.tolist()}
        for s in np.flatnonzero(~mdp.terminal).tolist():  # in a terminal state nothing is done
            if tuple(moved[s].tolist()) not in there:
                (inner if between[s] else outer).add((s, a))
    return inner, outer


class Compared(NamedTuple):
    """What rules say, beside what is so."""

    named: int  # actions
    error: float  # the largest of a chance
    listed: Pairs  # exceptions
    inner: Pairs  # walls that were met
    outer: Pairs


def compare(run: gim.Run, rules: Iterable[gim.Rule]) -> Compared:
    """Set rules against the world of their run."""
    mdp, belief = run.mdp, run.agent.belief(run.memory)
    assert mdp is not None
    assert belief is not None
    said: dict[str, dict[Change, float]] = {mdp.action_label(a): {} for a in range(mdp.A)}
    listed: Pairs = set()
    for rule in rules:
        said[str(rule.action)] = {tuple(each.items()): p for each, p in rule.outcomes}
        listed |= set(rule.exceptions)
    named, error = 0, 0.0
    for a, true in enumerate(chances(mdp)):
        told = said[mdp.action_label(a)]
        named += told.keys() == true.keys()
        error = max(error, *(abs(told.get(by, 0) - true.get(by, 0)) for by in told | true))
    N = belief.counts.next.reshape(mdp.S, mdp.A, mdp.S)
    inner, outer = ({(s, a) for s, a in pairs if N[s, a, s] > 0} for pairs in walls(mdp))
    return Compared(named, error, listed, inner, outer)


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("worlds", nargs="*")
    parser.add_argument("--episodes", type=int, nargs="+")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first", type=int, default=7000, help="the first seed")
    parser.add_argument("--say", action="store_true", help="print the rules as well")
    given = parser.parse_args(arguments)
    rows = []
    for world in given.worlds or WORLDS:
        for episodes in given.episodes or WORLDS.get(world, (100,)):
            for seed in range(given.first, given.first + given.seeds):
                run = gim.run(AGENT, world, episodes, seed)
                assert run.mdp is not None
                rules = run.analogies()
                found = compare(run, rules)
                rows.append([world.partition(":")[0], f"{episodes}", f"{seed}"])
                rows[-1] += [f"{found.named} of {len(chances(run.mdp))}", f"{found.error:.3f}"]
                for met in (found.inner, found.outer):
                    rows[-1].append(f"{len(met & found.listed)} of {len(met)}")
                rows[-1].append(f"{len(found.listed - found.inner - found.outer)}")
                if given.say:
                    print(*rules, sep="\n")
    print(f"{machine()}; chances asked within {CLOSE}")
    heads = ["world", "episodes", "seed", "named", "error", "inner listed", "outer listed"]
    print(table([*heads, "no wall"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
