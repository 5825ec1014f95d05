"""Several runs at once: a thread plays each, and the thread that asked for them answers for all.

Compiled loops run without the interpreter's lock, so that threads fill all cores; what an agent
thinks in Python takes turns, and one that mostly thinks gains little. Each run has its
own memory and random streams, and shares with the others only what none of them writes: its bits
are those of a run by itself, whatever the number of threads. What others see stays where it would
be with one run after the other: callbacks are called, and signals heard, in the thread that called
`gim.run`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from queue import Empty, SimpleQueue
from typing import NamedTuple

from gim._base.interrupts import interrupts
from gim._base.limits import processors
from gim._base.threads import one_thread
from gim.mdp.tabular import TabularMDP
from gim.runs.reports import Callback, Report
from gim.runs.runs import Interrupted, Run

LOOK = 0.1  # seconds between two looks at what was caught, if nothing is asked


class Asked(NamedTuple):
    """A worker has a report, and waits to be told whether that is enough."""

    report: Report
    answer: SimpleQueue[bool]


class Over(NamedTuple):
    """A worker has ended, and how if not well."""

    k: int
    problem: BaseException | None


def play_all(made: Iterator[Run], callback: Callback | None) -> list[Run]:
    """Play all runs, on all cores, and give them in their order.

    A world that is stepped through is one for all: its runs take turns.
    """
    runs: list[Run] = []
    for first in made:
        if isinstance(first.world, TabularMDP) and (threads := processors()) > 1:
            runs += play_together(chain([first], made), callback, threads)
        else:
            runs.append(first.go(callback))
    return runs


def play_together(made: Iterable[Run], callback: Callback | None, threads: int) -> list[Run]:
    """Play all runs, so many at a time, and give them in their order.

    A callback that returns True pauses the run that it was told of. What it raises, and what a run
    raises, ends all: the others pause, and it is raised here, of several the first in order.
    """
    events: SimpleQueue[Asked | Over] = SimpleQueue()
    waiting, runs = iter(made), list[Run]()
    problems: dict[int, BaseException] = {}
    enough = threading.Event()  # all are to pause

    def ask(report: Report) -> bool:
        if callback is None or enough.is_set():
            return enough.is_set()
        answer: SimpleQueue[bool] = SimpleQueue()
        events.put(Asked(report, answer))
        while True:
            with suppress(Empty):
                return answer.get(timeout=LOOK)
            if enough.is_set():  # maybe nobody is left to answer
                return True

    def play(k: int) -> None:
        problem = None
        try:
            runs[k].go(ask)
        except BaseException as raised:
            problem = raised
        events.put(Over(k, problem))

    def begin() -> bool:
        run = None if enough.is_set() else next(waiting, None)
        if run is None:
            return False
        runs.append(run)
        k = len(runs) - 1
        threading.Thread(target=play, args=(k,), name=f"seed {run.seed}", daemon=True).start()
        return True

    playing = 0
    try:
        with interrupts() as interrupted, one_thread():
            while True:
                while playing < threads and begin():
                    playing += 1
                if not playing:
                    break
                event = None
                with suppress(Empty):
                    event = events.get(timeout=LOOK)
                if interrupted:
                    enough.set()
                if isinstance(event, Over):
                    playing -= 1
                    if event.problem is not None:
                        problems[event.k] = event.problem
                        enough.set()
                elif isinstance(event, Asked):
                    event.answer.put(_answered(event.report, callback, enough, problems))
            if problems:
                raise problems[min(problems)]
            if interrupted and (left := _unfinished(runs, waiting)):
                raise Interrupted(left)
    finally:
        enough.set()
    return runs


def _answered(
    report: Report,
    callback: Callback | None,
    enough: threading.Event,
    problems: dict[int, BaseException],
) -> bool:
    """What the callback says; what it raises counts before all else."""
    if callback is None or enough.is_set():
        return True
    try:
        return bool(callback(report))
    except BaseException as raised:
        problems[-1] = raised
        enough.set()
        return True


def _unfinished(runs: list[Run], waiting: Iterable[Run]) -> Run | None:
    """The first run that did not come to its end, begun or not."""
    paused = (run for run in runs if not run.finished)
    return next(paused, None) or next(iter(waiting), None)
