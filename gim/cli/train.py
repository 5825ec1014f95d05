"""Let an agent learn in a world, and show what came of it.

    gim train riverswim
    gim train riverswim:length=10 --agent q_learning:alpha=0.2
    gim train FrozenLake-v1:map_name=8x8 --episodes 20000 --save lake.npz
    gim train riverswim --save-policy river.csv
    gim train riverswim --episodes 1e7 --save river.npz --save-every 10

The best policy is what to deploy: the plan on what was learned, without exploration. Ctrl-C
pauses: with --save the run goes on later by --resume, and ends bit for bit as if never paused.
With --save-every that is so for a run that was killed, too, from its last checkpoint on."""

from __future__ import annotations

import argparse
import math
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path

from gim._base import files
from gim._base.interrupts import broken_off, ending, interrupts, say
from gim._base.limits import check_trials, largest_memory
from gim._base.own import own
from gim._base.terminal import count, duration
from gim.cli.command import (
    INTERRUPTED,
    RESUMABLE,
    WRONG,
    can_go_on,
    is_interrupt,
    message,
    minutes,
    seconds,
    whole,
)
from gim.cli.progress import Progress
from gim.cli.summary import summary, summary_of_many
from gim.envs.worlds import world_of
from gim.mdp.policy import Policy
from gim.mdp.tabular import TabularMDP
from gim.model.loading import load_saved
from gim.planning.checks import check_work
from gim.planning.evaluation import STEP
from gim.planning.linear import entries_of
from gim.runs.agent import agents
from gim.runs.checkpoints import Checkpoints
from gim.runs.reports import Report
from gim.runs.run import prepare
from gim.runs.runs import Interrupted, Run
from gim.runs.several import play_all

COMPILING = "compiling (once, about 10 s)"
DEFAULTS = {"episodes": 5000, "seed": 0}
LONG = 10.0  # seconds that are still to come, of which something is said beforehand
FIRST, AWHILE = 5, 2.0  # episodes, and seconds without compiling, from which they are told
WRITERS = {".csv": Policy.to_csv, ".json": Policy.to_json, ".npz": Policy.save}


def options(parser: argparse.ArgumentParser) -> None:
    """Take a world, an agent, and how long and how often."""
    add = parser.add_argument
    add("world", nargs="?", metavar="WORLD", help="riverswim:length=10, my.npz or a Gymnasium id")
    add("--agent", metavar="AGENT", help="q_learning:alpha=0.2 (default: analogist)")
    add("--episodes", type=whole, metavar="N", help="how many to play (default: 5000)")
    add("--seed", type=whole, metavar="N", help="fixes every bit of the run (default: 0)")
    add("--seeds", type=whole, metavar="N", help="N runs, from --seed onwards")
    add("--horizon", type=whole, metavar="H", help="steps of an episode, if not the world's own")
    add("--rewards", choices=("learn", "known"), help="known: only the dynamics are to be learned")
    add("--seconds", type=seconds, metavar="S", help="of processor time that thinking may take")
    add("--save", type=Path, metavar="FILE", help="keep the run, finished or paused")
    add("--save-policy", type=Path, metavar="FILE", help="write the best policy: .csv, .json, .npz")
    add("--save-every", type=minutes, metavar="MINUTES", help="keep the run while it is played")
    add("--resume", type=Path, metavar="FILE", help="go on with a paused run, and keep it there")


def run(args: argparse.Namespace) -> int:
    """Check all that can be checked, then play."""
    given = [
        name
        for name in ("world", "agent", *DEFAULTS, "seeds", "horizon", "rewards", "seconds")
        if getattr(args, name) is not None
    ]
    if args.resume is not None:
        if given:
            flag = "WORLD" if given[0] == "world" else f"--{given[0]}"
            raise ValueError(f"--resume goes on with the run as it was: leave {flag} out")
        path = args.save or args.resume
        _check_targets(path, args.save_policy)
        with can_go_on(_how_to_go_on(args.resume, args.save_every)):
            resumed = load_saved(args.resume, "run")
            return _one(resumed, path, args.save_policy, args.save_every)
    if args.world is None:
        raise ValueError("a world is missing, such as in: gim train riverswim")
    for name, value in DEFAULTS.items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    for flag, path in (("--save", args.save), ("--save-policy", args.save_policy)):
        if path is not None and args.seeds is not None:
            raise ValueError(f"{flag} keeps what came of one run: leave --seeds out")
    if args.save_every is not None and args.save is None:
        raise ValueError("--save-every needs a file to keep the run in: add --save FILE")
    _check_targets(args.save, args.save_policy)
    world = world_of(args.world, args.horizon, imports=True)
    if isinstance(world, TabularMDP):  # what is said of the run afterwards must end, too
        check_work(world.horizon, entries_of(world), STEP)
    agent = agents.make("analogist" if args.agent is None else own(args.agent, agents))
    more = {"rewards": args.rewards or "learn", "seconds": args.seconds}
    if args.seeds is None:
        run = prepare(agent, world, args.episodes, args.seed, args.horizon, **more)
        return _one(run, args.save, args.save_policy, args.save_every)
    if args.seeds < 1:
        raise ValueError(f"--seeds {args.seeds}: give 1 or more")
    check_trials(args.seeds)
    seeds = range(args.seed, args.seed + args.seeds)
    make = partial(prepare, agent, world, args.episodes, horizon=args.horizon, **more)
    return _many([partial(make, seed=s) for s in seeds])


def _check_targets(run: Path | None, policy: Path | None) -> None:
    """Raise unless both can be written, before hours of work."""
    for path in (run, policy):
        if path is not None:
            files.check_target(path)
    if policy is not None:
        if policy.suffix not in WRITERS:
            raise ValueError(f"--save-policy {policy}: the name must end in {', '.join(WRITERS)}")
        if run is not None and run.absolute() == policy.absolute():
            raise ValueError(f"{policy} is where the run goes: give the policy another name")


def _one(run: Run, path: Path | None, policy_path: Path | None, every: float | None) -> int:
    if path is None:
        return _played(run, None, policy_path, _how_to_go_on(None))
    with interrupts() as early:
        kept = Checkpoints(run, path, every)
    how = _how_to_go_on(path, every)

    def ended() -> tuple[str, int]:
        try:
            kept.end()
        except OSError as problem:
            return f"the run cannot be kept: {message(problem)}", WRONG
        return f"ended; {how}", RESUMABLE

    with can_go_on(how), ending(ended):
        return _played(run, kept, policy_path, how, stopped=bool(early))


def _played(
    run: Run, kept: Checkpoints | None, policy_path: Path | None, how: str, stopped: bool = False
) -> int:
    paused, shows = False, True
    try:
        if stopped:
            raise KeyboardInterrupt
        with Progress(run.episodes, "training") as bar:
            _go(run, bar, kept=kept)
    except BaseException as problem:
        if not is_interrupt(problem):
            if kept is not None and run.steps and isinstance(problem, Exception):
                _keep(run, kept.path)
            raise
        paused = True
        shows = not broken_off()  # else nothing was played, and the compiler may be broken
    try:
        if kept is not None:  # before all else, which may take its time
            with interrupts() as late:
                _save(kept)
            paused |= bool(late)
    finally:  # a full disk must not cost the result, nor a closed pipe or terminal the exit status
        with suppress(OSError) if paused else nullcontext():
            if shows:
                _show(run, policy_path)
    if paused:
        say(f"paused after {run.returns.size:,} episodes; {how}")
        return INTERRUPTED if kept is None else RESUMABLE
    if kept is not None:
        print(f"\nrun saved to {kept.path}")
    return 0


def _show(run: Run, policy_path: Path | None) -> None:
    """Write the best policy, and print what came of the run."""
    best, missing = _best(run)
    try:
        if policy_path is not None:
            if best is None:
                raise ValueError(f"no policy was written to {policy_path}: {missing}")
            WRITERS[policy_path.suffix](best, policy_path)
    finally:
        print(summary(run, best))
    for note in dict.fromkeys(run.notes):
        print(f"gim: note: {note}", file=sys.stderr)
    if policy_path is not None:
        print(f"\nbest policy saved to {policy_path}")


def _save(kept: Checkpoints) -> None:
    """Save the run; if its place is full or gone by now, somewhere else, and say where."""
    try:
        kept.save()
    except OSError as problem:
        other = Path(tempfile.mkdtemp(prefix="gim-")) / kept.path.name
        try:
            kept.save(other)
        except OSError:
            other.parent.rmdir()
            raise problem from None
        raise ValueError(f"{message(problem)}; the run is in {other} instead") from None


def _keep(run: Run, path: Path) -> None:
    """Keep what was learned before an error, beside what is there: it may be the better one."""
    path = path.with_name(f"{path.stem}.failed{path.suffix}")
    with suppress(ValueError, OSError):
        run.save(path)
        print(f"gim: note: the run up to the error is kept; {_how_to_go_on(path)}", file=sys.stderr)


def _best(run: Run) -> tuple[Policy | None, str]:
    """The best policy, or why there is none: an agent of the user's own may not tell."""
    try:
        return run.best_policy(), ""
    except ValueError as problem:
        return None, str(problem)


def _many(makers: list[Callable[[], Run]]) -> int:
    runs: list[Run] = []
    status = 0
    with Progress(0, "training") as bar:

        def made() -> Iterator[Run]:
            for make in makers:
                runs.append(make())
                if len(runs) == 1:
                    bar.total = len(makers) * runs[0].episodes
                    _wait(runs[0], bar)
                yield runs[-1]

        forecast = Forecast(len(makers))

        def show(report: Report) -> None:
            if line := forecast.told(runs[0]):
                bar.tell(line)
            bar.update(sum(run.returns.size for run in runs), _earned(report))

        try:
            play_all(made(), show)
        except Interrupted:
            status = INTERRUPTED
    runs = [run for run in runs if run.finished]
    if runs:
        print(summary_of_many(runs, [_best(run)[0] for run in runs]))
    for note in dict.fromkeys(note for run in runs for note in run.notes):
        print(f"gim: note: {note}", file=sys.stderr)
    if status:
        print(f"gim: interrupted after {len(runs)} of {len(makers)} runs", file=sys.stderr)
    return status


def _go(run: Run, bar: Progress, kept: Checkpoints | None = None) -> Run:
    forecast = Forecast(over=run.returns.size > 0)  # one that goes on has been told of

    def show(report: Report) -> None:
        if line := forecast.told(run):
            bar.tell(line)
        if kept is not None:
            kept.look()
        bar.update(report.episode, _earned(report))

    _wait(run, bar)
    return run.go(show)


def _wait(run: Run, bar: Progress) -> None:
    bar.wait(run.returns.size, COMPILING if run.to_compile else "compiling", long=run.to_compile)


def _earned(report: Report) -> str:
    return f"return {count(report.mean)}" if report.episode else "first episode"


class Forecast:
    """What a long run will take, told once, after its first episodes.

    Inferences come at visits that grow by a share, so their time grows with the logarithm of the
    episodes; all else grows with the episodes, of which the first is left out.
    """

    def __init__(self, runs: int = 1, over: bool = False) -> None:
        self.runs, self.over = runs, over
        self.first: tuple[int, float] | None = None

    def told(self, run: Run) -> str:
        """One line, once it can be said that the run is long, and all like it; else ""."""
        done, episodes, spent = run.returns.size, run.episodes, run.seconds
        inferring = spent.get("inferring", 0.0)
        others = sum(spent.values()) - spent.get("compiling", 0.0) - inferring
        if self.over or not done:
            return ""
        if self.first is None:
            self.first = done, others
        if done < FIRST or done == self.first[0] or inferring + others < AWHILE:
            return ""
        left = (episodes - done) * (others - self.first[1]) / (done - self.first[0])
        left += inferring * math.log(episodes / done) / (1.0 + math.log(done))
        whole = self.runs * (inferring + others + left)
        self.over = whole - inferring - others >= LONG
        many, of = (f"{self.runs:,} times ", " of processor time") if self.runs > 1 else ("", "")
        took = f"some {duration(whole)}{of}, {largest_memory() / 1024:.1f} GB"
        return f"gim: {many}{episodes:,} episodes: {took}" if self.over else ""


def _how_to_go_on(path: Path | None, every: float | None = None) -> str:
    if path is None:
        return "nothing is kept; with --save FILE it could go on later"
    again = "" if every is None else f" --save-every {every:g}"
    return f"to go on: gim train --resume {shlex.quote(str(path))}{again}"
