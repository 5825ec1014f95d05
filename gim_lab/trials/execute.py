"""Run trials on an engine, store each as it ends, and give all results as one table."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sized
from pathlib import Path
from typing import Any, NamedTuple

from gim._base.interrupts import interrupts
from gim._base.limits import check_trials
from gim.cli.progress import Progress
from gim_lab.engines import engine_of
from gim_lab.trials.result import Result
from gim_lab.trials.results import Results
from gim_lab.trials.spec import instance
from gim_lab.trials.store import Store
from gim_lab.trials.trial import Trial

STEPS = 10_000  # of the progress bar


class Status(NamedTuple):
    """What a progress callback is told after each trial."""

    done: int  # trials finished, those found in the store included
    total: int  # trials in all
    episodes: int  # episodes of the finished trials
    mean: float  # mean score of the trials finished so far; NaN without any
    result: Result | None  # of the trial that ended; None at the start
    unheard: int = 0  # agents of which no trial has ended: how long theirs take is not known yet
    share: float = 0.0  # of the work that is done, by time as far as it can be told; never falls


class Stopped(KeyboardInterrupt):
    """Ctrl-C: `done` of `total` trials are finished; those in a store are kept."""

    def __init__(self, done: int, total: int) -> None:
        super().__init__(f"stopped after {done} of {total} trials")
        self.done, self.total = done, total


def execute(
    trials: Iterable[Trial],
    store: Store | str | Path | None = None,
    engine: str = "processes",
    workers: int | None = None,
    progress: str | Callable[[Status], Any] | None = None,
    keep: bool = False,
    save_every: float | None = None,
    **options: Any,
) -> Results:
    """Run trials; what a store holds already is not run again, unless its code has changed.

    Which trials are run again, and why, is said in a warning.

    The results, and their order, do not depend on the engine or on the number of workers: only the
    columns of time, memory and host (`trial.MACHINE`) differ.

    Args:
        trials: any number; one that is listed twice is run once.
        store: a folder (or a `Store`), where each trial is kept as soon as it ends.
        engine: ``processes`` (this machine), ``serial`` (this process) or ``ray``.
        workers: how many trials at a time; by default one per processor.
        progress: a label for a progress bar on stderr, or a function that is given a `Status`.
        keep: whether to trust what other code has stored: such a trial is not run again.
        save_every: minutes; a trial that takes longer is kept in the store's folder so often while
            it is played, and gone on with from there (not on Ray, nor with an epsilon).
        options: of the engine, such as ``address=`` of Ray.

    Returns:
        A `Results` with one row per trial, in the order given.

    Raises:
        Stopped: after Ctrl-C; workers are ended, finished trials are kept.
        TrialFailed: when a trial raises an error, or a worker dies in it again and again.
    """
    order = [(trial, trial.digest) for trial in trials]
    unique = {digest: trial for trial, digest in order}
    kept = store if isinstance(store, Store) or store is None else Store(store)
    if save_every is not None:
        if kept is None or engine == "ray":
            raise ValueError("save_every= needs a store, and an engine of this machine")
        options["unfinished"] = kept.keeping(save_every)
    run = engine_of(engine, workers, **options)
    found: dict[str, Result] = {}
    tally = Tally(list(unique.values()))
    for digest, trial in unique.items():
        if kept is not None and (stored := _stored(kept, trial, keep)) is not None:
            found[digest] = stored
            tally.add(trial, stored)
    left = [(digest, trial) for digest, trial in unique.items() if digest not in found]
    if kept is not None:
        for line in kept.why([trial for _, trial in left]):
            warnings.warn(line, stacklevel=2)
    if left:
        with _shown(progress) as show:
            show(tally.status(None))
            try:
                with contextlib.closing(run([trial for _, trial in left])) as answers:
                    for i, result in answers:
                        digest, trial = left[i]
                        with interrupts() as held:  # what has ended is kept
                            if kept is not None:
                                kept.put(trial, result)
                            found[digest] = result
                        if held:
                            raise KeyboardInterrupt
                        show(tally.add(trial, result))
            except KeyboardInterrupt:
                raise Stopped(len(found), len(unique)) from None
        if kept is not None:
            with contextlib.suppress(OSError):  # it is not there, or other trials are in it
                kept.unfinished.rmdir()
    return Results.of(found[digest].of(trial) for trial, digest in order)


def _stored(kept: Store, trial: Trial, keep: bool) -> Result | None:
    """The result that is kept of a trial: of today's code, or, with `keep`, of any."""
    return kept.of_any_code(trial) if keep else kept.get(trial)


def grid(
    worlds: Iterable[str],
    agents: Iterable[str],
    episodes: int,
    seeds: Iterable[int],
    epsilon: float | None = None,
) -> list[Trial]:
    """Every world with every agent from every seed; run k of a random task plays its instance k.

    Example:
        >>> [t.id for t in grid(["synthetic"], ["gim", "rmax"], 100, [7])]
        ['synthetic-seed=7/gim/100/7', 'synthetic-seed=7/rmax/100/7']
    """
    worlds, agents = list(worlds), list(agents)
    if isinstance(seeds, Sized):  # a range is refused before it is made a list
        check_trials(len(worlds) * len(agents) * len(seeds))
    seeds = list(seeds)
    return [
        Trial(instance(world, seed), agent, episodes, seed, epsilon)
        for world in worlds
        for agent in agents
        for seed in seeds
    ]


class Tally:
    """What is done of a list of trials."""

    def __init__(self, trials: list[Trial]) -> None:
        self.total, self.left = len(trials), Counter[str]()  # episodes left, by agent
        for trial in trials:
            self.left[trial.agent] += trial.episodes
        self.played, self.seconds = Counter[str](), Counter[str]()  # by agent
        self.done = self.scored = 0
        self.scores = self.share = 0.0

    def add(self, trial: Trial, result: Result) -> Status:
        """One more is done."""
        self.done += 1
        self.left[trial.agent] -= trial.episodes
        self.played[trial.agent] += trial.episodes
        self.seconds[trial.agent] += result.columns.get("seconds_total", 0.0)
        if not math.isnan(score := result.columns["score"]):
            self.scored, self.scores = self.scored + 1, self.scores + score
        return self.status(result)

    def status(self, result: Result | None) -> Status:
        """Where things stand."""
        mean = self.scores / self.scored if self.scored else math.nan
        unheard = len(self.left) - len(self.played)
        # An estimate may turn out too high: then it waits, since what is done stays done.
        self.share = max(self.share, self._share(unheard))
        share = self.share
        return Status(self.done, self.total, self.played.total(), mean, result, unheard, share)

    def _share(self, unheard: int) -> float:
        """Of the time, if an agent's episodes take as long as they did so far.

        Those of an agent that was not heard of yet count as the dearest, and may well be dearer:
        half of the bar is kept for them.
        """
        each = {a: self.seconds[a] / played for a, played in self.played.items()}
        dearest = max(each.values(), default=0.0)
        spent = sum(self.seconds.values())
        ahead = sum(each.get(a, dearest) * left for a, left in self.left.items())
        share = spent / (spent + ahead) if spent + ahead > 0 else self.done / self.total
        return share / 2 if unheard else share


@contextlib.contextmanager
def _shown(
    progress: str | Callable[[Status], Any] | None,
) -> Iterator[Callable[[Status], Any]]:
    """Whom to tell: the callback given, a bar under the label given, or nobody."""
    if not isinstance(progress, str):
        yield progress or (lambda status: None)
        return
    with Progress(STEPS, progress, rate=False) as bar:

        def draw(status: Status) -> None:
            mean = "" if math.isnan(status.mean) else f"  score {status.mean:.3f}"
            # Compiling comes first, and agents differ: neither tells anything of the time left.
            show = bar.wait if status.result is None or status.unheard else bar.update
            show(round(STEPS * status.share), f"trial {status.done}/{status.total}{mean}")

        yield draw
