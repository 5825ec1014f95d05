"""The stepwise loop: any Gymnasium environment with finite spaces, one step at a time.

It advances the clock as the compiled loop does, with the same ``act`` and ``learn``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._base.arguments import flag
from gim._base.limits import REWARD
from gim._base.params import brief
from gim._compile.frames import Frame, opened
from gim.mdp.sampling import CUT, GO_ON, TERMINATED
from gim.mdp.spaces import numbering_of
from gim.runs.agent import Agent
from gim.runs.loop import (
    NO_ACTION,
    TRAIL,
    Clock,
    Driver,
    Streams,
    act,
    learn,
    new_trail,
    no_action,
    wish,
)

OVER, WOKEN = -1, -1  # what `converse` yields besides actions
MOST = 1.7e308  # nearly the largest number there is


class News(NamedTuple):
    """What the environment and the agent's side tell each other at a step."""

    t: NDArray[np.int64]  # [1] next state; less than 0: end
    end: NDArray[np.int64]  # [1] GO_ON, CUT or TERMINATED
    r: NDArray[np.float64]  # [1] reward
    action: NDArray[np.int64]  # [1] the agent's choice, in range or not
    wish: NDArray[np.int64]  # [1] what `learn` has asked for


def no_news() -> News:
    """Before the first step."""
    t, end, action, wish = (np.zeros(1, np.int64) for _ in range(4))
    return News(t, end, np.zeros(1), action, wish)


def converse(frames: Any, news: Any, A: int, agent_rng: Any) -> Iterator[int]:
    """The agent's side of a run that is stepped through: learn from one step, act for the next.

    A generator for the reason that `interact` is one. It yields an action, from 0 on, and goes on
    when what followed stands in `news`; or it yields OVER after the last step of an episode, WOKEN
    less what `learn` has asked for, and NO_ACTION for an action out of range; what was asked for
    or chosen is left in `news`. A negative state ends it.

    Args:
        frames: a `Frame` each of the agent's memory, the run's clock, its returns and its `Trail`.
        news: `News`.
        A: the number of actions.
        agent_rng: the agent's stream.
    """
    while news.t[0] >= 0:
        memory, clock, returns = opened(frames[0]), opened(frames[1]), opened(frames[2])
        h, s = clock.h[0], clock.s[0]
        a = act(memory, s, h, agent_rng)
        news.action[0] = a
        yield a if 0 <= a < A else NO_ACTION
        t, end, r = news.t[0], news.end[0], news.r[0]
        if t < 0:
            break
        # Read anew, so that they need not be kept over a pause:
        memory, clock, returns = opened(frames[0]), opened(frames[1]), opened(frames[2])
        trail, row = opened(frames[3]), clock.episode[0]
        pairs = trail.pairs
        row %= len(pairs)
        step = min(h, pairs.shape[1] - 1)
        pairs[row, step] = s * A + a
        trail.next[row, step] = t
        trail.r[row, step] = r
        clock.total[0] += r
        wake = learn(memory, s, h, a, r, t, end, agent_rng)
        clock.steps[0] += 1
        if end == GO_ON:
            clock.h[0], clock.s[0] = h + 1, t
        else:
            if h + 1 < pairs.shape[1]:
                pairs[row, h + 1] = -1
            returns[clock.episode[0]] = clock.total[0]
            clock.episode[0] += 1
            clock.h[0] = 0
        if wake != 0:
            news.wish[0] = wake
            yield WOKEN - abs(wake)
        elif end != GO_ON:
            yield OVER


class Stepwise(Driver):
    """The loop on any Gymnasium environment with finite spaces, one step at a time."""

    def __init__(
        self,
        agent: Agent,
        env: Any,
        horizon: int,
        random: Streams,
        counts: bool = False,
        episodes: int = TRAIL,
        starts: NDArray[Any] | None = None,
    ) -> None:
        self._news = no_news()
        super().__init__(converse, agent)
        self.env, self.H, self.random = env, horizon, random
        self.trail, self.starts = new_trail(episodes, horizon), starts
        self.states = numbering_of("observation_space", env.observation_space)
        self.actions = numbering_of("action_space", env.action_space)
        self.seed: int | None = random.world_seed  # for the first reset only
        # What a step may pay: returns must be finite, and agents that count square rewards.
        self.most = min(MOST / horizon, REWARD if counts else MOST)

    def advance(self, memory: Any, clock: Clock, returns: NDArray[Any], budget: int) -> int:
        """Play until the agent wakes, or an episode is over and the budget spent."""
        playing, wake = self._player(memory, clock, returns), 0
        last = clock.steps[0] + budget
        try:
            while wake == 0 and clock.episode[0] < returns.size:
                if clock.h[0] == 0:
                    if clock.steps[0] >= last:
                        break
                    self._begin(clock)
                wake = self._play(playing, clock)
        except BaseException:  # foreign code: what the generator waits for will not come
            self._leave()
            clock.steps[0] -= clock.h[0]  # what was learned stays, and the run can be kept
            clock.h[0] = clock.total[0] = 0
            raise
        return wake

    def _begin(self, clock: Clock) -> None:
        try:
            observation, _ = self.env.reset(seed=self.seed)
        except Exception as problem:
            raise _failed(clock, "reset", problem) from problem
        self.seed = None
        s = self.states.encode(observation)
        if s < 0:
            raise self._strange(clock, observation, 0.0)
        clock.s[0], clock.total[0] = s, 0.0
        if self.starts is not None:
            self.starts[s] += 1

    def _play(self, playing: Iterator[int], clock: Clock) -> int:
        """Play until the agent wakes or the episode is over: the loop that every step pays for."""
        step, decode, encode = self.env.step, self.actions.decode, self.states.encode
        next_state, ended, paid = self._news.t, self._news.end, self._news.r
        left, most = self.H - int(clock.h[0]), self.most
        a = self._next(playing, clock)
        while a >= 0:
            left -= 1
            try:
                observation, r, terminated, truncated, _ = step(decode(a))
                if terminated.__class__ is not bool or truncated.__class__ is not bool:
                    terminated = flag("terminated", terminated)
                    truncated = flag("truncated", truncated)
            except Exception as problem:
                raise _failed(clock, "step", problem) from problem
            ended[0] = TERMINATED if terminated else CUT if truncated or left == 0 else GO_ON
            t = encode(observation)
            if t < 0 or not _finite(r, most):
                raise self._strange(clock, observation, r)
            next_state[0], paid[0] = t, r
            a = self._next(playing, clock)
        if a == NO_ACTION:
            raise no_action(clock, int(self._news.action[0]), range(self.actions.n))
        return 0 if a == OVER else wish(int(self._news.wish[0]))

    def _next(self, playing: Iterator[int], clock: Clock) -> int:
        try:
            return next(playing)
        except IndexError:
            raise self._outside(clock) from None

    def _strange(self, clock: Clock, observation: Any, reward: Any) -> ValueError:
        where = f"{clock}: the environment"
        if not _finite(reward, MOST):
            return ValueError(f"{where} paid {brief(reward)}; rewards must be finite numbers")
        if not _finite(reward, self.most):
            return ValueError(
                f"{where} paid {reward}; up to {self.most:g} is taken here: scale rewards down"
            )
        space = self.env.observation_space
        return ValueError(f"{where} returned state {observation!r}, which is not in {space}")

    def _enter(self, memory: Any, clock: Clock, returns: NDArray[Any]) -> Iterator[int]:
        self._news.t[0] = 0
        self._frames = tuple(Frame(each) for each in (memory, clock, returns, self.trail))
        return self.play(self._frames, self._news, self.actions.n, self.random.agent)

    def _stop(self) -> None:
        self._news.t[0] = -1

    def may_pause(self, clock: Clock) -> bool:
        """Between episodes only: the state of a foreign environment cannot be kept."""
        return bool(clock.h[0] == 0)

    def random_state(self) -> Any:
        """The state of the environment's randomness, as far as it follows Gymnasium's custom."""
        if self.seed is not None:  # not reset yet, so not seeded: what it will be by custom
            return np.random.default_rng(self.seed).bit_generator.state
        return self.env.unwrapped.np_random.bit_generator.state

    def restore(self, state: Any) -> None:
        """Put back a `random_state`; the environment keeps it at the next reset."""
        if state == self.random_state():  # of a run that has not begun
            return
        self.env.reset(seed=self.seed)
        self.seed = None
        self.env.unwrapped.np_random.bit_generator.state = state


def _failed(clock: Clock, what: str, problem: Exception) -> ValueError:
    reason = " ".join(f"{type(problem).__name__}: {problem}".split())
    return ValueError(f"{clock}: the environment's {what} failed ({reason})")


def _finite(reward: Any, most: float) -> bool:
    try:
        return math.isfinite(reward) and -most <= reward <= most
    except (TypeError, ValueError, OverflowError):
        return False
