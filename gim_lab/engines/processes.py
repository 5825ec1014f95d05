"""Trials on the processors of this machine: the default engine.

Each kind of agent is compiled by the first worker that meets it, different kinds at the same time;
the others find its loops in the cache. Every kind is begun before a second trial of any: what takes
longest to compile would otherwise come last, with nothing left to do beside it. Workers are plain
processes that speak JSON (`worker.py`): nothing is pickled or forked, scripts need no guard but for
agents of their own, and Ctrl-C reaches this process alone, which ends them.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

from gim._base.limits import processors
from gim_lab.engines.base import Answers, Keeping, TrialFailed, by_task
from gim_lab.engines.compiling import kind_of
from gim_lab.engines.threads import ENVIRONMENT
from gim_lab.engines.worker import (
    REHEARSE,
    UNFINISHED,
    WORKER,
    question,
    result_of,
    user_code,
)
from gim_lab.trials.result import Result
from gim_lab.trials.running import Unfinished
from gim_lab.trials.trial import Trial

TRIES = 3  # how often a trial may end its worker before it is given up
START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); \
from gim_lab.engines.worker import main; main()"


def run(
    trials: list[Trial], workers: int | None = None, unfinished: Keeping | None = None
) -> Answers:
    """Yield results as they come."""
    if os.environ.get(WORKER):
        raise TrialFailed(
            "trials are being started while a worker imports your script: put that part under "
            'if __name__ == "__main__"'
        )
    pool = Pool(trials, unfinished)
    threads = [
        threading.Thread(target=pool.serve, daemon=True)
        for _ in range(min(workers or processors(), len(trials)))
    ]
    try:
        for thread in threads:
            thread.start()
        for _ in trials:
            i, answer = pool.answers.get()
            if isinstance(answer, Exception):
                raise answer
            yield i, answer
    finally:
        pool.end()
        for thread in threads:
            thread.join()


class Pool:
    """The trials still to be done, the workers, and a queue for what they answer."""

    def __init__(self, trials: list[Trial], unfinished: Keeping | None = None) -> None:
        self.trials, self.unfinished = trials, unfinished
        self.left = by_task(trials)
        self.kinds = [kind_of(trial) for trial in trials]
        self.compiled: set[Any] = set()  # kinds of trials
        self.compiling: set[Any] = set()  # kinds of agents; two workers would do the same work
        self.new = {kind[0] for kind in self.kinds}  # kinds of agents of which no trial was taken
        self.warm: set[Any] = set()  # and those of which one has ended: all they need is compiled
        self.change = threading.Condition()
        self.answers: queue.SimpleQueue[tuple[int, Result | Exception]] = queue.SimpleQueue()
        self.greeting = user_code(trials)
        self.workers: set[Worker] = set()
        self.ended = threading.Event()

    def serve(self) -> None:
        """Keep one worker busy (a thread each)."""
        worker, i = None, self.take(None)
        while i is not None and not self.ended.is_set():
            worker = self.attend(i, worker)
            i = self.take(self.trials[i].task)
        if worker is not None:
            worker.end()

    def take(self, task: str | None) -> int | None:
        """The next trial for a worker that has built this task: another one of it, if there is.

        An agent that is new comes first, one whose first trial still runs elsewhere last: it may
        compile more on its way. While it compiles its loop, its trials have to wait.
        """
        with self.change:
            while self.left and not self.ended.is_set():
                tasks = sorted(self.left, key=lambda each: (each != task, -len(self.left[each])))
                ready = (i for each in tasks for i in self.left[each] if self._is_ready(i))
                if (i := self._first(ready)) is not None:
                    return self._taken(i)
                self.change.wait()
            return None

    def _is_ready(self, i: int) -> bool:
        return self.kinds[i] in self.compiled or self.kinds[i][0] not in self.compiling

    def _first(self, ready: Iterator[int]) -> int | None:
        """One of a new agent, else one of a warm agent (found at once), else any."""
        found = None
        for i in ready:
            agent = self.kinds[i][0]
            if agent in self.new or (agent in self.warm and not self.new):
                return i
            if found is None or (agent in self.warm and self.kinds[found][0] not in self.warm):
                found = i
        return found

    def _taken(self, i: int) -> int:
        group = self.left[self.trials[i].task]
        group.remove(i)
        if not group:
            del self.left[self.trials[i].task]
        self.new.discard(self.kinds[i][0])
        if self.kinds[i] not in self.compiled:
            self.compiling.add(self.kinds[i][0])
        return i

    def attend(self, i: int, worker: Worker | None) -> Worker | None:
        """Have one trial done, compiled before if need be; a worker that died is replaced."""
        status = 0
        for _ in range(TRIES):
            if self.ended.is_set():
                return None
            try:
                worker = worker or self.start()
                if self.kinds[i] not in self.compiled:
                    if "error" in (told := worker.ask(self.trials[i], rehearse=True)):
                        raise TrialFailed(told["error"])
                    self._now_compiled(i)
                kept = None if self.unfinished is None else self.unfinished(self.trials[i])
                self.answers.put((i, result_of(worker.ask(self.trials[i], kept=kept))))
                self.warm.add(self.kinds[i][0])
                return worker
            except TrialFailed as problem:
                self.answers.put((i, TrialFailed(f"{self.trials[i].id}: {problem}")))
                return worker
            except Died as death:
                status, worker = death.status, None
        reason = f"it was killed {TRIES} times (signal {-status}; is memory short?)"
        if status >= 0:
            reason = f"its worker ended {TRIES} times with status {status}"
        self.answers.put((i, TrialFailed(f"{self.trials[i].id}: {reason}")))
        return None

    def _now_compiled(self, i: int) -> None:
        with self.change:
            self.compiled.add(self.kinds[i])
            self.compiling.discard(self.kinds[i][0])
            self.change.notify_all()

    def start(self) -> Worker:
        """One more worker."""
        worker = Worker(self.greeting)
        self.workers.add(worker)
        if self.ended.is_set():  # between two looks
            worker.end()
        return worker

    def end(self) -> None:
        """End all workers, whatever they do."""
        self.ended.set()
        with self.change:
            self.change.notify_all()
        for worker in list(self.workers):
            worker.end()


class Died(Exception):
    """A worker ended by itself; `status` is negative for a signal."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Worker:
    """A process that runs one trial at a time."""

    def __init__(self, greeting: dict[str, Any]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | ENVIRONMENT | {WORKER: "1"},
            text=True,
            start_new_session=True,  # Ctrl-C is for the parent alone
        )
        self.greeting: dict[str, Any] | None = greeting

    def ask(
        self, trial: Trial, rehearse: bool = False, kept: Unfinished | None = None
    ) -> dict[str, Any]:
        """Have a trial done, or rehearsed only, and wait for it."""
        asked = question(trial) | ({REHEARSE: True} if rehearse else {})
        asked |= {} if kept is None else {UNFINISHED: kept}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            if self.greeting is not None:
                print(json.dumps(self.greeting), file=self.process.stdin)
                self.greeting = None
            print(json.dumps(asked), file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        except (OSError, ValueError):  # a broken or closed pipe
            line = ""
        if not line.endswith("\n"):
            self.end()
            raise Died(self.process.returncode)
        return json.loads(line)

    def end(self) -> None:
        """End the process at once."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
