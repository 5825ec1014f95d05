"""A run: one agent in one world from one seed; it can be read, paused, saved and resumed."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim._base import files, html
from gim._base.interrupts import interrupts
from gim._compile.memory import flatten, part, rebuild, trusted
from gim.analogy.structure import Rule
from gim.belief.aim import Done, beginnings_of
from gim.belief.belief import Belief
from gim.belief.change import Change
from gim.belief.knowledge import Knowledge
from gim.belief.noticing import look_back
from gim.mdp.gymnasium_table import spec_of
from gim.mdp.names import Names
from gim.mdp.naming import Built, named, names_of
from gim.mdp.policy import Policy
from gim.mdp.tabular import TabularMDP
from gim.model.deploy import planned
from gim.model.learned import LearnedModel
from gim.model.task import Mind, Task
from gim.runs.agent import GROW, THINK, Agent
from gim.runs.loop import Clock, Compiled, Trail, new_clock, streams
from gim.runs.reports import Callback, Report
from gim.runs.run_files import check_clock, check_kept, check_meta
from gim.runs.stepwise import Stepwise

NO_THOUGHT = ("compiling", "interacting")  # phases that a budget for thinking does not count
SLICE = 0.05  # seconds of compiled play between two looks at callback and Ctrl-C
REPORT = 0.1  # seconds between two calls of the callback
# Of the mind, saved as they are:
RECORD = ("episode", "plans", "walk_plans", "explored_at", "notes")
WAITED = (
    "thinking has waited for its budget (seconds=): the run depends on the pace of this machine, "
    "and another will not have the same bits"
)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, TERM or HUP: the run, paused, is in `.run`; `gim.run(resume=...)` goes on."""

    def __init__(self, run: Run) -> None:
        super().__init__(f"interrupted after {run.returns.size} of {run.episodes} episodes")
        self.run = run


class Run:
    """One run: what was gained, what was learned, and all that is needed to go on.

    Made by `gim.run`. `world` is a `TabularMDP` or a Gymnasium environment, `mdp` the exact model
    of it where there is one, `task` what the agent was told.
    """

    def __init__(
        self,
        agent: Agent,
        world: Built,
        mdp: TabularMDP | None,
        task: Task,
        episodes: int,
        seed: int,
        budget: float | None = None,
    ) -> None:
        if mdp is None:  # where episodes begin is what is seen of it
            task = replace(task, starts=np.zeros(task.S, np.int64))
        self.agent, self.world, self.mdp, self.task = agent, world, mdp, task
        self.named_by: Built = world  # whose names a policy goes by
        self.episodes, self.seed = episodes, seed
        self.budget = budget  # seconds of thought in the whole run; None: as many as it takes
        self._owed = False  # whether the agent wished to think, and waits
        self.clock: Clock = new_clock()
        self.random = streams(seed)
        self.mind = Mind(task, self.random.thinking)
        self.memory = agent.start(task, self.random.agent)
        self._returns = np.zeros(episodes)
        self._thought = False
        self._once = Once()
        self._believed: tuple[int, Belief | None] | None = None  # at so many steps
        self._driver: Compiled | Stepwise = (
            Compiled(agent, world, self.random, episodes)
            if isinstance(world, TabularMDP)
            else Stepwise(
                agent,
                world,
                task.H,
                self.random,
                agent.belief(self.memory) is not None,
                episodes,
                task.starts,
            )
        )
        self.mind.trail, self.mind.names = self.trail, self._names
        self.to_compile = self._driver.to_compile  # whether the first step waits for the compiler

    def _names(self) -> tuple[Names, Names]:
        """What states and actions are called."""
        return names_of(self.named_by)

    # -- what came of it

    @property
    def returns(self) -> NDArray[np.float64]:
        """Reward of each finished episode."""
        return self._returns[: self.clock.episode[0]]

    @property
    def finished(self) -> bool:
        """Whether all episodes were played."""
        return bool(self.clock.episode[0] >= self.episodes)

    @property
    def steps(self) -> int:
        """Steps taken in all."""
        return int(self.clock.steps[0])

    @property
    def score(self) -> float:
        """Mean return over the optimum of this very MDP; see `TabularMDP.score`."""
        if self.mdp is None:
            raise ValueError("a score needs the exact optimum, and this environment has no table")
        return self.mdp.score(self.returns)

    @property
    def policy(self) -> NDArray[Any] | None:
        """The policy in force: actions [S] or [H, S], or probabilities [S, A] or [H, S, A]."""
        return self.agent.policy(self.memory)

    def best_policy(self) -> Policy:
        """The policy to deploy, as far as the agent knows; `policy` is what it plays to learn.

        For an agent with a model, the plan over the horizon on what it believes: without bonuses,
        without draws, and without a pair of which nothing is known where another is known. For an
        agent that learns values, greedy in them. States and actions go by the world's own names.

        Example:
            >>> import gim
            >>> policy = gim.run("psrl", "riverswim", episodes=200).best_policy()
            >>> policy(0), policy(0, step=19), gim.make("riverswim").policy_return(policy) > 1000
            ('right', 'left', True)
        """
        belief = self.belief
        doubted = getattr(belief.infer, "doubted", False) if belief is not None else False
        if belief is not None and doubted and belief.certifiable:
            return named(belief.deployed, self.named_by)
        return best_policy(self.agent, self.memory, self.task, self.named_by)

    def analogies(self) -> list[Rule]:
        """What was learned of the world, in words: what each action does, wherever it is taken.

        See `gim.Rule`. The list is empty if no rule explains held-out pairs better than means do.

        Example:
            >>> import gim
            >>> run = gim.run("analogist", "gridworld:height=6,width=6", episodes=100)
            >>> rule = run.analogies()[0]
            >>> rule.action, rule.outcomes[0][0]
            ('up', {'row': -1})
        """
        if (belief := self.belief) is None:
            raise ValueError(f"{self.agent} counts no transitions: there are no rules to find")
        return belief.rules()

    @property
    def belief(self) -> Belief | None:
        """What is believed of the world (`gim.Belief`); None if nothing is counted."""
        if self._believed is None or self._believed[0] != self.steps:
            given = self.agent, self.memory, self.task, self.seed, self._names()
            found = belief_in(*given)
            if found is not None:
                change = self._change(found.knowledge)
                found = replace(found, since=change, done=self._done(change))
            self._believed = self.steps, found
        return self._believed[1]

    def _change(self, known: Knowledge) -> Change | None:
        """What has changed: as the agent has noticed, or as one sees who looks back for it now.

        What is then no more true is forgotten, in a copy that is the belief's own.
        """
        if self.agent.notices:
            return self.mind.changes[-1] if self.mind.changes else None
        if known.counts.n.sum() < self.steps:  # some count a pair's first visits only
            return None
        return look_back(known, self.mind, self.returns.size, len(self.trail.pairs) - 1)

    def _done(self, change: Change | None) -> Done:
        """What was done in the latest episodes of the world since."""
        pairs = self.trail.pairs.copy()
        if change is not None:
            latest = np.arange(max(0, self.returns.size - len(pairs)), self.returns.size)
            pairs[latest[latest < change.since] % len(pairs)] = -1
        return Done(pairs, self.returns)

    @property
    def model(self) -> LearnedModel | None:
        """The model that the agent has learned, where it learns one."""
        return self.agent.model(self.memory, self.task)

    @property
    def trail(self) -> Trail:
        """What was done in the latest episodes."""
        return self._driver.trail

    @property
    def explored_at(self) -> int | None:
        """The episode in which exploration ended, or None."""
        return self.mind.explored_at

    @property
    def plans(self) -> int:
        """Dynamic-programming operations for the policy."""
        return self.mind.plans

    @property
    def walk_plans(self) -> int:
        """Dynamic-programming operations that only steered exploration."""
        return self.mind.walk_plans

    @property
    def seconds(self) -> dict[str, float]:
        """Processor time by phase: compiling, interacting, and what thinking counted."""
        return dict(self.mind.seconds)

    @property
    def notes(self) -> list[str]:
        """Warnings of the agent, in the order they came."""
        return list(self.mind.notes)

    def policy_table(self) -> str:
        """The policy in force as text, a line per state, by label."""
        if (policy := self.policy) is None:
            return "this agent has no policy to show"
        return named(policy, self.named_by).table()

    def __repr__(self) -> str:
        done = f"{self.returns.size}/{self.episodes} episodes"
        return f"<Run of {self.agent}, seed {self.seed}, {done}>"

    def _repr_html_(self) -> str:
        return html.of_run(self)

    # -- going on

    def go(self, callback: Callback | None = None) -> Run:
        """Play until all episodes are over, the callback returns True, or Ctrl-C.

        While it plays it cannot be called again, from another thread, the callback or the world.
        """
        with self._once.entered("go()"):
            return self._go(callback)

    def _go(self, callback: Callback | None) -> Run:
        began = reported = time.perf_counter()
        with self.mind.timed("compiling"):
            self._driver.advance(self.memory, self.clock, self._returns, budget=0)
        budget = 1024
        with interrupts() as interrupted:
            since = self._begin()
            while not self.finished:
                before, steps = time.perf_counter(), self.steps
                wake, since = self._advance(budget, since)
                now = time.perf_counter()
                if not wake:  # an undisturbed slice: aim the next one at SLICE seconds
                    rate = (self.steps - steps) / max(now - before, 1e-6)
                    budget = int(min(max(rate * SLICE, 1024), 64 * budget))
                if not self._driver.may_pause(self.clock):
                    continue
                if interrupted:
                    raise Interrupted(self)
                if callback and (now - reported > REPORT or self.finished):
                    reported = now
                    with self._once.paused():
                        enough = callback(self._report(now - began))
                    if enough:
                        break
                    since = time.thread_time()
        return self

    def pause_at(self, steps: int) -> Run:
        """Play up to this number of steps in all, and pause there (or where a pause is next)."""
        with self._once.entered("pause_at()"):
            since = self._begin()
            while not self.finished and self.steps < steps:
                _, since = self._advance(steps - self.steps, since)
        return self

    def _begin(self) -> float:
        """Think once before the first step; the processor time then."""
        thought, self._thought = self._thought, True
        now = time.thread_time()
        return now if thought else self._think(now)

    def _advance(self, budget: int, since: float) -> tuple[int, float]:
        """One slice, `since` a processor time: play, do what the agent asks for; that, and when."""
        if self._owed:
            budget = min(budget, self.task.H)  # look again soon
        wake = self._driver.advance(self.memory, self.clock, self._returns, budget)
        now = time.thread_time()  # as dear as some thoughts, so it is passed on
        self.mind.seconds["interacting"] += now - since
        if wake & GROW:
            self.memory = self.agent.grow(self.memory)
        if wake & THINK or self._owed:
            now = self._think(now)
        return wake, now

    def _may_think(self) -> bool:
        """Whether the budget of the run so far, which grows with the root of it, is not spent."""
        if self.budget is None:
            return True
        spent = sum(each for name, each in self.mind.seconds.items() if name not in NO_THOUGHT)
        played = (self.clock.episode.item() + 1) / self.episodes
        return spent <= self.budget * math.sqrt(min(played, 1.0))

    def _think(self, since: float) -> float:
        """Think, or put it off; see `_advance`."""
        self._owed = not self._may_think()
        if self._owed:
            if WAITED not in self.mind.notes:
                self.mind.note(WAITED)
            return since
        mind, clock = self.mind, self.clock
        mind.episode, mind.step = clock.episode.item(), clock.h.item()
        mind.episode -= mind.step == 0 and clock.steps.item() > 0  # that of the last step
        counted = sum(mind.seconds.values())
        memory = self.agent.think(self.memory, mind)
        self.memory = self.memory if memory is None else memory
        now, named = time.thread_time(), sum(mind.seconds.values()) - counted
        mind.seconds["thinking"] += max(0.0, now - since - named)
        return now

    def _report(self, seconds: float) -> Report:
        done = self.returns
        mean = float(done[-max(1, done.size // 10) :].mean()) if done.size else float("nan")
        return Report(done.size, self.episodes, self.steps, seconds, mean)

    # -- ways out and in

    def save(self, path: str | Path) -> None:
        """Save the run, finished or paused, to one file; `gim.load` reads it again.

        A callback may save it as well, while it is played.
        """
        with self._once.whole("save()"):
            files.save(path, "run", *self._packed())

    def pack(self) -> files.Packed:
        """Arrays and JSON: the memory, the clock, the streams, and the world if it is a table."""
        with self._once.whole("pack()"):
            return self._packed()

    def _packed(self) -> files.Packed:
        if not self._driver.may_pause(self.clock):
            raise ValueError("a stepwise run can be saved between two episodes only")
        inference = self.agent.inference()
        if inference is not None and inference.elsewhere:
            raise ValueError(
                "a run that infers by a family cannot be saved to go on: save its model "
                "(run.model.save) and the family (family.save)"
            )
        arrays = flatten(self.memory, "memory.") | flatten(self.clock, "clock.")
        arrays |= {"returns": self.returns} | self._trail()
        if self.task.starts is not None:
            arrays["starts"] = self.task.starts
        meta: dict[str, Any] = {
            "agent": str(self.agent),
            "seed": self.seed,
            "episodes": self.episodes,
            "horizon": self.task.H,
            "thought": self._thought,
            "budget": self.budget,
            "owed": self._owed,
            "mind": {k: getattr(self.mind, k) for k in RECORD}
            | {"seconds": self.seconds, "changes": [each.packed() for each in self.mind.changes]},
            "random": {
                "world": self._driver.random_state(),
                "agent": self.random.agent.bit_generator.state,
                "thinking": self.random.thinking.bit_generator.state,
            },
        }
        if isinstance(self.world, TabularMDP):
            packed, meta["world"] = self.world.pack()
            arrays |= {f"world.{key}": value for key, value in packed.items()}
        else:
            meta["env"] = spec_of(self.world)
        if self.task.rewards is not None:
            arrays |= flatten(self.task.rewards, "rewards.")
        meta["priors"] = []
        for k, model in enumerate(self.task.priors):
            packed, more = model.pack()
            meta["priors"].append(more)
            arrays |= {f"prior{k}.{key}": value for key, value in packed.items()}
        return files.Packed(arrays, meta)

    def _trail(self) -> dict[str, NDArray[Any]]:
        """The trail by the names that it is saved under."""
        trail = self._driver.trail
        return {"trail": trail.pairs, "trail.next": trail.next, "trail.r": trail.r}

    def go_on_from(self, path: str | Path) -> Run:
        """Take over what a file holds of this very run: of the same agent, world and seed."""
        saved = files.load(path, "run")
        check_meta(saved.meta)
        for name, own in (
            ("agent", str(self.agent)),
            ("seed", self.seed),
            ("episodes", self.episodes),
        ):
            if saved.meta[name] != own:
                raise ValueError(f"{path} holds a run with {name} {saved.meta[name]}, not {own}")
        return self.unpack(saved.arrays, saved.meta)

    def unpack(self, arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> Run:
        """Put a packed state, of checked meta, into this run of the same agent and world."""
        clock = rebuild(self.clock, arrays, "clock.")
        ends = self.world.terminal if isinstance(self.world, TabularMDP) else None
        check_clock(clock, arrays["returns"], self.episodes, self.task, ends)
        kept = {**self._trail(), "starts": self.task.starts}
        check_kept(kept, arrays, self.task.S, self.task.A)
        self.memory = rebuild(self.memory, part(arrays, "memory."))
        if not trusted(self.memory):
            self._driver.check_indices()
        self._returns[: arrays["returns"].size] = arrays["returns"]
        self.clock = clock
        for name, array in kept.items():
            if array is not None and name in arrays:  # runs of gim 0.2 have neither
                array[...] = arrays[name]
        for name in RECORD:
            setattr(self.mind, name, meta["mind"][name])
        self.mind.seconds.update(meta["mind"]["seconds"])
        self.mind.changes = [Change.unpacked(each) for each in meta["mind"].get("changes", [])]
        self._driver.restore(meta["random"]["world"])
        self.random.agent.bit_generator.state = meta["random"]["agent"]
        self.random.thinking.bit_generator.state = meta["random"]["thinking"]
        self._thought, self._owed = meta["thought"], meta["owed"]
        return self


class Runs(list[Run]):
    """Several runs of one agent in one world, a seed each."""

    @property
    def returns(self) -> NDArray[np.float64]:
        """Reward of each episode of each run, [runs, episodes]."""
        return np.stack([run.returns for run in self])

    @property
    def scores(self) -> NDArray[np.float64]:
        """Score of each run, [runs]."""
        return np.array([run.score for run in self])

    @property
    def score(self) -> float:
        """The mean score."""
        return float(self.scores.mean())


def best_policy(agent: Agent, memory: Any, task: Task, world: Built) -> Policy:
    """The policy to deploy of an agent with this memory, in the names of the world."""
    model = agent.model(memory, task)
    found = agent.greedy(memory, task) if model is None else planned(model)
    if found is None:
        kind = type(agent).__name__
        raise ValueError(f"{kind} has neither a model nor a policy: define greedy(memory, task)")
    return named(found, world)


def belief_in(
    agent: Agent,
    memory: Any,
    task: Task,
    seed: int,
    names: tuple[Names, Names] | None = None,
    done: Done | None = None,
) -> Belief | None:
    """That of an agent with this memory; None if it counts nothing."""
    found = agent.belief(memory)
    if found is None:
        return None
    counts = found.counts
    still = {name: np.array(getattr(counts, name)) for name in counts._fields}
    known = found._replace(counts=counts._replace(**still), terminal=found.terminal.copy())
    known = known._replace(infer_at=found.infer_at.copy())
    trusted = task.priors and not agent.judges_priors()
    return Belief(
        known,
        task if task.starts is None else replace(task, starts=task.starts.copy()),
        agent.inference(),
        reward_limits=agent.reward_limits(),
        seed=seed,
        assumed=("the visits of the prior were made in this very world",) if trusted else (),
        begins=beginnings_of(task, found.terminal),
        done=done,
        names=names,
    )


class Once:
    """Held by whoever works on a run; one thread at a time, and once in it.

    A loop that Python resumes cannot be entered a second time, from another thread or from inside
    itself: compiled, it would work on the same memory twice, or end the interpreter. Whoever comes
    while a run is played is told so, before anything is touched.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder: threading.Thread | None = None
        self._paused = False  # whether the holder is where the thing is whole, as in a callback

    @contextmanager
    def entered(self, how: str) -> Iterator[None]:
        """Hold it while inside; `how` is the call, for the one line that others are told."""
        if not self._lock.acquire(blocking=False):
            raise ValueError(self._taken(how))
        self._holder = threading.current_thread()
        try:
            yield
        finally:
            self._holder = None
            self._lock.release()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let the holder's thread look at the thing, and save it, while inside."""
        self._paused = True
        try:
            yield
        finally:
            self._paused = False

    @contextmanager
    def whole(self, how: str) -> Iterator[None]:
        """Be sure that nothing changes it while inside."""
        if self._paused and self._holder is threading.current_thread():
            yield
            return
        with self.entered(how):
            yield

    def _taken(self, how: str) -> str:
        holder = self._holder
        if holder is threading.current_thread():
            return (
                f"this run is being played: {how} cannot be called from inside its world or its "
                "callback; let the first call return, or make another run with gim.run"
            )
        name = "" if holder is None else f" in the thread {holder.name!r}"
        return (
            f"this run is being played{name}: {how} must wait until that call has returned; "
            "or make another run with gim.run"
        )
