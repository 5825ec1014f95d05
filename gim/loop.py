"""Where world and agent meet: the compiled loop for a `TabularMDP`, the stepwise one for the rest.

Both advance the same clock with the same ``act`` and ``learn`` from the same random streams, so a
run on ``mdp`` and a run on ``mdp.to_gymnasium()`` agree bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.agent import Agent
from gim.jit import bind
from gim.mdp import TabularMDP
from gim.sampling import CUT, GO_ON, TERMINATED, begin, step


class Clock(NamedTuple):
    """Where a run stands: all that the loop itself keeps between two calls."""

    now: NDArray[np.int64]  # [4] episode, step h in it, state s, steps in all
    total: NDArray[np.float64]  # [1] reward of the episode under way


EPISODE, STEP, STATE, STEPS = 0, 1, 2, 3  # places in Clock.now


def new_clock() -> Clock:
    """A clock before the first episode."""
    return Clock(np.zeros(4, np.int64), np.zeros(1))


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


def interact(
    world: Any, memory: Any, clock: Any, returns: Any, world_rng: Any, agent_rng: Any, budget: Any
) -> Iterator[int]:
    """Play until the agent wakes, the budget [1] of steps is spent or the last episode is over.

    A generator: each `next` plays on. To enter a compiled function, its arguments must be taken
    apart, which costs 20 microseconds here (most of it for the random streams); to resume costs 1.
    A negative budget ends it; compiled, it would otherwise never let go of its arguments.
    """
    while budget[0] >= 0:
        episode, h, s, steps = clock.now[0], clock.now[1], clock.now[2], clock.now[3]
        total = clock.total[0]
        last = steps + budget[0]
        wake = 0
        while wake == 0 and steps < last and episode < returns.size:
            if h == 0:
                s = begin(world, world_rng)
                total = 0.0
            a = act(memory, s, h, agent_rng)
            t, r, end = step(world, s, a, world_rng)
            if end == GO_ON and h + 1 == world.H:
                end = CUT
            total += r
            wake = learn(memory, s, h, a, r, t, end, agent_rng)
            steps += 1
            if end == GO_ON:
                h += 1
                s = t
            else:
                returns[episode] = total
                episode += 1
                h = 0
        clock.now[0], clock.now[1], clock.now[2], clock.now[3] = episode, h, s, steps
        clock.total[0] = total
        yield wake


def act_once(memory: Any, s: int, h: int, rng: Any) -> int:
    """One compiled `act`, called from Python."""
    return act(memory, s, h, rng)


def learn_once(memory: Any, s: int, h: int, a: int, r: float, t: int, end: int, rng: Any) -> int:
    """One compiled `learn`, called from Python."""
    return learn(memory, s, h, a, r, t, end, rng)


@cache
def _bound(template: Callable[..., Any], act: Any, learn: Any, label: str) -> Callable[..., Any]:
    return bind(template, label, act=act, learn=learn)


class Compiled:
    """The loop on a `TabularMDP`: world, act and learn in one compiled function."""

    def __init__(self, agent: Agent, mdp: TabularMDP, random: Streams) -> None:
        self.world, self.random = mdp.world, random
        self.play = _bound(interact, agent.act, agent.learn, type(agent).__name__)
        self._budget = np.zeros(1, np.int64)
        self._on: tuple[Any, ...] = (None, None, None)  # what is being played on
        self._playing: Iterator[int] = iter(())

    def advance(self, memory: Any, clock: Clock, returns: NDArray[Any], budget: int) -> int:
        """Play on; see `interact`."""
        if self._on[0] is not memory or self._on[1] is not clock or self._on[2] is not returns:
            self._leave()
            random, self._on = self.random, (memory, clock, returns)
            self._playing = self.play(
                self.world, *self._on, random.world, random.agent, self._budget
            )
        self._budget[0] = budget
        return next(self._playing)

    def _leave(self) -> None:
        self._budget[0] = -1
        for _ in self._playing:
            pass

    def __del__(self) -> None:
        self._leave()

    def may_pause(self, clock: Clock) -> bool:
        """Anywhere: the clock holds all there is."""
        return True

    def random_state(self) -> Any:
        """The state of the world's randomness."""
        return self.random.world.bit_generator.state

    def restore(self, state: Any) -> None:
        """Put back a `random_state`."""
        self.random.world.bit_generator.state = state


class Stepwise:
    """The loop on any Gymnasium environment with discrete spaces, one step at a time."""

    def __init__(self, agent: Agent, env: Any, horizon: int, random: Streams) -> None:
        self.env, self.H, self.random = env, horizon, random
        self.act = _bound(act_once, agent.act, agent.learn, type(agent).__name__)
        self.learn = _bound(learn_once, agent.act, agent.learn, type(agent).__name__)
        self.seed: int | None = random.world_seed  # for the first reset only

    def advance(self, memory: Any, clock: Clock, returns: NDArray[Any], budget: int) -> int:
        """Play until the agent wakes, or an episode is over and the budget spent."""
        agent_rng, now, wake = self.random.agent, clock.now, 0
        last = now[STEPS] + budget
        while wake == 0 and now[EPISODE] < returns.size:
            if now[STEP] == 0:
                if now[STEPS] >= last:
                    break
                observation, _ = self.env.reset(seed=self.seed)
                self.seed = None
                now[STATE], clock.total[0] = self._state(observation, now), 0.0
            s, h = int(now[STATE]), int(now[STEP])
            a = self.act(memory, s, h, agent_rng)
            action = a + int(self.env.action_space.start)
            observation, reward, terminated, truncated, _ = self.env.step(action)
            t, r = self._state(observation, now), self._reward(reward, now)
            over = truncated or h + 1 == self.H
            end = TERMINATED if terminated else CUT if over else GO_ON
            clock.total[0] += r
            wake = self.learn(memory, s, h, a, r, t, end, agent_rng)
            now[STEPS] += 1
            if end == GO_ON:
                now[STEP], now[STATE] = h + 1, t
            else:
                returns[now[EPISODE]] = clock.total[0]
                now[EPISODE], now[STEP] = now[EPISODE] + 1, 0
        return wake

    def may_pause(self, clock: Clock) -> bool:
        """Between episodes only: the state of a foreign environment cannot be kept."""
        return bool(clock.now[STEP] == 0)

    def random_state(self) -> Any:
        """The state of the environment's randomness, as far as it follows Gymnasium's custom."""
        return self.env.unwrapped.np_random.bit_generator.state

    def restore(self, state: Any) -> None:
        """Put back a `random_state`; the environment keeps it at the next reset."""
        self.env.reset(seed=self.seed)
        self.seed = None
        self.env.unwrapped.np_random.bit_generator.state = state

    def _state(self, observation: Any, now: NDArray[np.int64]) -> int:
        space = self.env.observation_space
        if not space.contains(observation):
            raise ValueError(
                f"step {now[STEP]} of episode {now[EPISODE]}: the environment returned state "
                f"{observation!r}, which is not in {space}"
            )
        return int(observation) - int(space.start)

    def _reward(self, reward: Any, now: NDArray[np.int64]) -> float:
        r = float(reward)
        if not math.isfinite(r):
            raise ValueError(
                f"step {now[STEP]} of episode {now[EPISODE]}: the environment paid {r}; rewards "
                "must be finite numbers"
            )
        return r
