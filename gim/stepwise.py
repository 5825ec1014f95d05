"""The stepwise loop: any Gymnasium environment with finite spaces, one step at a time.

It advances the clock as the compiled loop does, with the same ``act`` and ``learn``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim.agent import Agent
from gim.frames import Frame, opened
from gim.loop import (
    EPISODE,
    NO_ACTION,
    STATE,
    STEP,
    STEPS,
    Clock,
    Driver,
    Streams,
    act,
    learn,
    no_action,
    wish,
)
from gim.sampling import CUT, GO_ON, TERMINATED
from gim.spaces import numbering_of

OVER, WOKEN = -1, -1  # what `converse` yields besides actions


def converse(frames: Any, news: Any, paid: Any, agent_rng: Any) -> Iterator[int]:
    """The agent's side of a run that is stepped through: learn from one step, act for the next.

    A generator for the reason that `interact` is one. It yields an action, from 0 on, and goes on
    when the state and the end that followed stand in `news` and the reward in `paid`; or it yields
    OVER after the last step of an episode, WOKEN less what `learn` has asked for (left in `news`),
    and NO_ACTION for an action out of range (left there, too). A negative state ends it.

    Args:
        frames: a `Frame` each of the agent's memory, the run's clock and its returns.
        news: [3] next state; end, or what is left for the caller; the number of actions.
        paid: [1] reward.
        agent_rng: the agent's stream.
    """
    while news[0] >= 0:
        memory, clock, returns = opened(frames[0]), opened(frames[1]), opened(frames[2])
        h, s = clock.now[1], clock.now[2]
        a = act(memory, s, h, agent_rng)
        news[1] = a
        yield a if 0 <= a < news[2] else NO_ACTION
        t, end, r = news[0], news[1], paid[0]
        if t < 0:
            break
        # Read anew, so that they need not be kept over a pause:
        memory, clock, returns = opened(frames[0]), opened(frames[1]), opened(frames[2])
        clock.total[0] += r
        wake = learn(memory, s, h, a, r, t, end, agent_rng)
        clock.now[3] += 1
        if end == GO_ON:
            clock.now[1], clock.now[2] = h + 1, t
        else:
            returns[clock.now[0]] = clock.total[0]
            clock.now[0], clock.now[1] = clock.now[0] + 1, 0
        if wake != 0:
            news[1] = wake
            yield WOKEN - abs(wake)
        elif end != GO_ON:
            yield OVER


class Stepwise(Driver):
    """The loop on any Gymnasium environment with finite spaces, one step at a time."""

    def __init__(self, agent: Agent, env: Any, horizon: int, random: Streams) -> None:
        self._news, self._paid = np.zeros(3, np.int64), np.zeros(1)
        super().__init__(converse, agent)
        self.env, self.H, self.random = env, horizon, random
        self.states = numbering_of("observation_space", env.observation_space)
        self.actions = numbering_of("action_space", env.action_space)
        self.seed: int | None = random.world_seed  # for the first reset only

    def advance(self, memory: Any, clock: Clock, returns: NDArray[Any], budget: int) -> int:
        """Play until the agent wakes, or an episode is over and the budget spent."""
        playing, now, wake = self._player(memory, clock, returns), clock.now, 0
        last = now[STEPS] + budget
        try:
            while wake == 0 and now[EPISODE] < returns.size:
                if now[STEP] == 0:
                    if now[STEPS] >= last:
                        break
                    self._begin(clock)
                wake = self._play(playing, now)
        except BaseException:  # foreign code: what the generator waits for will not come
            self._leave()
            raise
        return wake

    def _begin(self, clock: Clock) -> None:
        observation, _ = self.env.reset(seed=self.seed)
        self.seed = None
        s = self.states.encode(observation)
        if s < 0:
            raise self._strange(clock.now, observation, 0.0)
        clock.now[STATE], clock.total[0] = s, 0.0

    def _play(self, playing: Iterator[int], now: NDArray[np.int64]) -> int:
        """Play until the agent wakes or the episode is over: the loop that every step pays for."""
        step, decode, encode = self.env.step, self.actions.decode, self.states.encode
        news, paid, left = self._news, self._paid, self.H - int(now[STEP])
        a = self._next(playing, now)
        while a >= 0:
            observation, r, terminated, truncated, _ = step(decode(a))
            left -= 1
            t = encode(observation)
            if t < 0 or not _finite(r):
                raise self._strange(now, observation, r)
            news[0], paid[0] = t, r
            news[1] = TERMINATED if terminated else CUT if truncated or left == 0 else GO_ON
            a = self._next(playing, now)
        if a == NO_ACTION:
            raise no_action(now, news[1], range(self.actions.n))
        return 0 if a == OVER else wish(int(news[1]))

    def _next(self, playing: Iterator[int], now: NDArray[np.int64]) -> int:
        try:
            return next(playing)
        except IndexError:
            raise self._outside(now) from None

    def _strange(self, now: NDArray[np.int64], observation: Any, reward: Any) -> ValueError:
        where = f"step {now[STEP]} of episode {now[EPISODE]}: the environment"
        if not _finite(reward):
            return ValueError(f"{where} paid {reward}; rewards must be finite numbers")
        space = self.env.observation_space
        return ValueError(f"{where} returned state {observation!r}, which is not in {space}")

    def _enter(self, memory: Any, clock: Clock, returns: NDArray[Any]) -> Iterator[int]:
        self._news[0], self._news[2] = 0, self.actions.n
        self._frames = (Frame(memory), Frame(clock), Frame(returns))
        return self.play(self._frames, self._news, self._paid, self.random.agent)

    def _stop(self) -> None:
        self._news[0] = -1

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


def _finite(reward: Any) -> bool:
    try:
        return math.isfinite(reward)
    except (TypeError, ValueError, OverflowError):
        return False
