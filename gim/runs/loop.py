"""Where world and agent meet: the compiled loop for a `TabularMDP`.

Environments without a table are stepped through (`gim.runs.stepwise`). Both loops advance the same
clock with the same ``act`` and ``learn`` from the same random streams, so a run on ``mdp`` and a
run on ``mdp.to_gymnasium()`` agree bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._compile.frames import Frame, opened
from gim._compile.jit import bind, checked, to_compile
from gim.mdp.sampling import CUT, GO_ON, begin, exists, noisy_step, step
from gim.mdp.tabular import TabularMDP
from gim.runs.agent import GROW, THINK, Agent


class Clock(NamedTuple):
    """Where a run stands: all that the loop itself keeps between two calls."""

    episode: NDArray[np.int64]  # [1]
    h: NDArray[np.int64]  # [1] step in it
    s: NDArray[np.int64]  # [1] state
    steps: NDArray[np.int64]  # [1] in all
    total: NDArray[np.float64]  # [1] reward of the episode under way

    def __str__(self) -> str:
        return f"step {self.h[0]} of episode {self.episode[0]}"


def new_clock() -> Clock:
    """A clock before the first episode."""
    episode, h, s, steps = (np.zeros(1, np.int64) for _ in range(4))
    return Clock(episode, h, s, steps, np.zeros(1))


class Trail(NamedTuple):
    """What was done in the latest episodes, and what came of it.

    Who asks whether a policy was played, or whether the world has changed, finds it here.
    """

    # Of episodes longer than STEPS_KEPT nothing is kept: they are [1, 1]
    pairs: NDArray[np.int64]  # [W, H] s*A + a of each step of episode e in row e % W; -1: over
    next: NDArray[np.int64]  # [W, H] the next state
    r: NDArray[np.float64]  # [W, H] the reward


TRAIL = 100  # episodes that are kept
STEPS_KEPT = 1 << 20  # of all of them


def new_trail(episodes: int, H: int) -> Trail:
    """A trail for so many episodes of H steps, of which none was played."""
    shape = (max(1, min(TRAIL, episodes, STEPS_KEPT // H)), H) if H <= STEPS_KEPT else (1, 1)
    return Trail(np.full(shape, -1, np.int64), np.full(shape, -1, np.int64), np.zeros(shape))


class Order(NamedTuple):
    """What the compiled loop is told to play, and what it could not."""

    steps: NDArray[np.int64]  # [1] to play; less than 0: end
    refused: NDArray[np.int64]  # [1] an action that the state does not have


class Streams(NamedTuple):
    """The random streams of one run, all from its seed."""

    world_seed: int
    world: np.random.Generator
    agent: np.random.Generator
    thinking: np.random.Generator


def streams(seed: int) -> Streams:
    """Split one seed into separate streams for world, agent and thinking.

    The world's stream is seeded by a number, because that is all that `env.reset(seed=...)` takes:
    compiled and stepwise runs then agree bit for bit. 32 bits, since many environments take no
    more.
    """
    for_world, for_agent, for_thinking = np.random.SeedSequence(seed).spawn(3)
    world_seed = int(for_world.generate_state(1)[0])
    agent, thinking = np.random.default_rng(for_agent), np.random.default_rng(for_thinking)
    return Streams(world_seed, np.random.default_rng(world_seed), agent, thinking)


def act(memory: Any, s: int, h: int, rng: Any) -> int:
    """Stand in for the agent's `act`, which `bind` puts here."""
    raise NotImplementedError


def learn(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """Stand in for the agent's `learn`, which `bind` puts here."""
    raise NotImplementedError


NO_ACTION = -(1 << 62)  # what both loops yield for an action that the state does not have


def interact(frames: Any, world_rng: Any, agent_rng: Any, order: Any) -> Iterator[int]:
    """Play until the agent wakes, the steps ordered are played or the last episode is over.

    A generator: each `next` plays on. To enter a compiled function, its arguments must be taken
    apart, which costs 20 microseconds here (most of it for the random streams); to resume costs 1.
    What it works on is read from its frames whenever it resumes. An order of less than 0 steps
    ends it; compiled, it would else never let go of its arguments.

    An action that the state does not have is not played: it is left in `order`, and NO_ACTION
    yielded. Its row has no successor, so that this costs two comparisons a step.

    Args:
        frames: a `Frame` each of the world (`gim.mdp.sampling.AliasTables`), the agent's memory,
            the run's clock, its returns [episodes] and its `Trail`, as rows one after the other.
        world_rng, agent_rng: their streams.
        order: `Order`.
    """
    while order.steps[0] >= 0:
        world, memory = opened(frames[0]), opened(frames[1])
        clock, returns = opened(frames[2]), opened(frames[3])
        trail = opened(frames[4])
        pairs, next_states, rewards = trail.pairs, trail.next, trail.r
        width = world.H if pairs.size > 1 else 1
        episode, h, s, steps = clock.episode[0], clock.h[0], clock.s[0], clock.steps[0]
        total = clock.total[0]
        first, end_of_row = episode % (pairs.size // width) * width, width - 1
        last = steps + order.steps[0]
        wake = 0
        while wake == 0 and steps < last and episode < returns.size:
            if h == 0:
                s = begin(world, world_rng)
                total = 0.0
            a = act(memory, s, h, agent_rng)
            if not exists(world, s, a):
                order.refused[0] = a
                wake = NO_ACTION
                break
            at = np.uint64(first + min(h, end_of_row))
            pairs[at] = s * world.A + a
            t, r, end = step(world, s, a, world_rng)
            if end == GO_ON and h + 1 == world.H:
                end = CUT
            total += r
            next_states[at] = t
            rewards[at] = r
            wake = learn(memory, s, h, a, r, t, end, agent_rng)
            steps += 1
            if end == GO_ON:
                h += 1
                s = t
            else:
                if h < end_of_row:
                    pairs[first + h + 1] = -1
                returns[episode] = total
                episode += 1
                first = episode % (pairs.size // width) * width
                h = 0
        clock.episode[0], clock.h[0], clock.s[0], clock.steps[0] = episode, h, s, steps
        clock.total[0] = total
        yield wake


@cache
def _bound(template: Callable[..., Any], label: str, **functions: Any) -> Callable[..., Any]:
    return bind(template, label, **functions)


def _written_in(kind: type[Agent]) -> type:
    """The class that brings `act` or `learn`: all agents that inherit both share one loop."""
    return next(each for each in kind.__mro__ if vars(each).keys() & {"act", "learn"})


_checked = cache(checked)


class Driver:
    """What both loops share: a compiled generator that plays on as long as it may."""

    _on: tuple[Any, ...] = (None, None, None)  # what is being played on
    _playing: Iterator[int] = iter(())
    _frames: tuple[Frame, ...]  # what it reads, kept as long as it plays
    trail: Trail  # what was done of late

    def __init__(
        self, template: Callable[..., Any], agent: Agent, kind: str = "", **functions: Any
    ) -> None:
        label = _written_in(type(agent)).__name__ + kind
        self.play = _bound(template, label, act=agent.act, learn=agent.learn, **functions)

    @property
    def to_compile(self) -> bool:
        """Whether the first step will wait for the compiler."""
        return to_compile(self.play)

    def check_indices(self) -> None:
        """Play on with a loop whose indices are checked; see `gim._compile.jit.checked`."""
        self.play = _checked(self.play)

    def _player(self, memory: Any, clock: Clock, returns: NDArray[Any]) -> Iterator[int]:
        """The generator for these; a new one where they are not those of the last call."""
        if self._on[0] is not memory or self._on[1] is not clock or self._on[2] is not returns:
            self._leave()
            self._on = (memory, clock, returns)
            self._playing = self._enter(*self._on)
        return self._playing

    def _enter(self, memory: Any, clock: Clock, returns: NDArray[Any]) -> Iterator[int]:
        raise NotImplementedError

    def _stop(self) -> None:
        """Tell the generator to end: compiled, it would else never let go of its arguments."""
        raise NotImplementedError

    def _leave(self) -> None:
        self._stop()
        for _ in self._playing:
            pass
        self._on, self._playing, self._frames = (None, None, None), iter(()), ()

    def _outside(self, clock: Clock) -> ValueError:
        """What to raise after an IndexError; a compiled generator must not be entered again."""
        self._on, self._playing = (None, None, None), iter(())
        return ValueError(
            f"{clock}, or soon after: act or learn reads or writes outside an array of the memory"
        )

    def __del__(self) -> None:
        if self._on[0] is not None:  # else there is nothing to leave, and maybe no way to
            self._leave()


class Compiled(Driver):
    """The loop on a `TabularMDP`: world, act and learn in one compiled function."""

    def __init__(
        self, agent: Agent, mdp: TabularMDP, random: Streams, episodes: int = TRAIL
    ) -> None:
        if mdp.noise is None:
            super().__init__(interact, agent)
        else:
            super().__init__(interact, agent, ".noisy", step=noisy_step)
        self.world, self.random = mdp.world, random
        self.trail = new_trail(episodes, mdp.horizon)
        self._order = Order(np.zeros(1, np.int64), np.zeros(1, np.int64))

    def advance(self, memory: Any, clock: Clock, returns: NDArray[Any], budget: int) -> int:
        """Play on; see `interact`."""
        playing = self._player(memory, clock, returns)
        self._order.steps[0] = budget
        try:
            wake = next(playing)
        except IndexError:
            raise self._outside(clock) from None
        if wake == NO_ACTION:
            A, first = self.world.A, clock.s[0] * self.world.A
            there = [
                a for a in range(A) if self.world.first[first + a] < self.world.first[first + a + 1]
            ]
            raise no_action(clock, self._order.refused[0], there)
        return wish(wake)

    def _enter(self, memory: Any, clock: Clock, returns: NDArray[Any]) -> Iterator[int]:
        pairs, t, r = self.trail
        trail = Trail(pairs.ravel(), t.ravel(), r.ravel())  # the same memory
        given = (self.world, memory, clock, returns, trail)
        self._frames = tuple(Frame(each) for each in given)
        return self.play(self._frames, self.random.world, self.random.agent, self._order)

    def _stop(self) -> None:
        self._order.steps[0] = -1

    def may_pause(self, clock: Clock) -> bool:
        """Anywhere: the clock holds all there is."""
        return True

    def random_state(self) -> Any:
        """The state of the world's randomness."""
        return self.random.world.bit_generator.state

    def restore(self, state: Any) -> None:
        """Put back a `random_state`."""
        self.random.world.bit_generator.state = state


def no_action(clock: Clock, a: int, there: Sequence[int]) -> ValueError:
    """What is wrong with an action that the state does not have; `there` are those it has."""
    names = (
        ", ".join(map(str, there))
        if len(there) < 10
        else f"{len(there)} of {there[0]} to {there[-1]}"
    )
    return ValueError(
        f"{clock}: the agent chose action {a} in state {clock.s[0]}, which does not have it: there "
        f"are {names}; act must choose among the available ones (task.available)"
    )


def wish(wake: int) -> int:
    """What `learn` has asked for, if it is something that can be asked for."""
    if wake not in (GO_ON, THINK, GROW):
        raise ValueError(f"the agent's learn returned {wake}: it must be GO_ON, THINK or GROW")
    return wake
