"""SysAdmin: episodes until the best policy is near-optimal for good, by analogy and without.

    python -m benchmarks.sysadmin                             # 10 machines, 5 seeds from 7000
    python -m benchmarks.sysadmin --first 7005 --least 300    # runs that last longer

0 is the random policy and 1 the optimum, both exact. A run has *settled* after the episodes from
which on `run.best_policy()` is worth at least .9 to the end of the run. Its exact value is computed
every 5 episodes, from 100 on whenever they have grown by a twentieth; the number is as coarse. The
default learner plays until three times the episodes after which it settled, and 60 at least; its
plain twin, UCBVI with its bonus by rule, until ten times those after which the former settled.

Memory is the peak of the process when the default learner has ended; the share of inference is that
of its processor time but for compiling, when it had settled and when it ended. An episode of each
is played beforehand, so that compiled code is there.
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import gim
from benchmarks.common import machine, table
from gim.runs.agent import agents
from gim.runs.run import prepare
from gim.runs.runs import Run

AGENT, TWIN = "analogist", "ucbvi:scale=none,growth=0.1"
NEAR = 0.9  # of the way from the random policy to the optimum
EVERY, GROWTH = 5, 1.05  # episodes between two looks, and from one to the next
ON, LEAST = 3, 60  # times the episodes that the default learner needed, and episodes, it plays on
TIMES = 10  # the twin may take so many times the episodes
LIMIT = 20_000  # episodes of any run
MEMORY, INFERENCE = 2048, 0.5  # targets: MiB, and share of a run's time


class Settled(NamedTuple):
    """What came of a run."""

    at: int | None  # episodes after which the best policy was near-optimal for good
    episodes: int  # played in all
    inferring: tuple[float, float]  # share of its time when it settled, and when it ended


def looks() -> Iterator[int]:
    """The episodes after which the policy is looked at."""
    episodes = 0
    while True:
        episodes = max(episodes + EVERY, int(episodes * GROWTH))
        yield episodes


def settle(run: Run, value: Callable[[Run], float], end: Callable[[int | None], int]) -> Settled:
    """Play until `end` of when it settled (None: it has not), looking in now and then."""
    at: int | None = None
    share = (float("nan"), float("nan"))
    episodes = 0
    for look in looks():
        if episodes >= end(at):
            break
        episodes = min(look, end(at))
        run.pause_at(episodes * run.task.H)
        near = value(run) >= NEAR
        share = (share[0] if near and at else inferring(run), inferring(run))
        at = (at or episodes) if near else None
    return Settled(at, episodes, share)


def inferring(run: Run) -> float:
    """The share of a run's processor time that is inference, but for compiling."""
    seconds = run.seconds
    return seconds.get("inferring", 0.0) / sum(s for k, s in seconds.items() if k != "compiling")


def begun(agent: str, mdp: gim.TabularMDP, seed: int) -> Run:
    """A run that has not begun."""
    return prepare(agents.make(agent), mdp, LIMIT, seed)


def compare(mdp: gim.TabularMDP, seed: int, least: int = LEAST) -> tuple[Settled, Settled, float]:
    """The default learner, its twin, and the peak memory of the former in MiB."""
    low, high = mdp.random_return(), mdp.optimal_return()

    def value(run: Run) -> float:
        return (mdp.policy_return(run.best_policy()) - low) / (high - low)

    def on(at: int | None) -> int:
        return LIMIT if at is None else max(ON * at, least)

    ours = settle(begun(AGENT, mdp, seed), value, on)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    stop = min(TIMES * (ours.at or LIMIT), LIMIT)
    return ours, settle(begun(TWIN, mdp, seed), value, lambda _: stop), memory


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 if a seed misses a target."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--machines", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=7000, help="the first seed")
    parser.add_argument("--least", type=int, default=LEAST, help="episodes of a run of ours")
    given = parser.parse_args(arguments)
    mdp = gim.make("sysadmin", machines=given.machines)
    for agent in (AGENT, TWIN):
        gim.run(agent, mdp, 1)
    rows, missed = [], 0
    for seed in range(given.first, given.first + given.seeds):
        ours, twin, memory = compare(mdp, seed, given.least)
        later = twin.at or twin.episodes
        ratio = later / ours.at if ours.at else float("nan")
        ahead = (
            ours.at is not None and twin.at is None
        )  # else it took no more than ten times as long
        missed += not (ahead and memory < MEMORY and ours.inferring[1] < INFERENCE)
        beyond = "" if twin.at else "> "
        shares = " to ".join(f"{share:.2f}" for share in ours.inferring)
        rows.append([str(seed), f"{ours.at or '-'}", f"{beyond}{later:,}", f"{beyond}{ratio:.1f}"])
        rows[-1] += [f"{ours.episodes}", f"{memory:,.0f}", shares]
        print(*rows[-1], file=sys.stderr, flush=True)
    print(f"{machine()}; {mdp}, settled at {NEAR}")
    heads = ["seed", "analogist", "plain twin", "ratio", "played", "peak MiB", "inferring"]
    print(table(heads, rows))
    print(f"targets (ratio {TIMES}, {MEMORY} MiB, inferring {INFERENCE}) missed: {missed} seeds")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
