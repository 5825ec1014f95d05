"""Any `TabularMDP` as a Gymnasium environment."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete

from gim._compile.jit import plain
from gim.mdp.picture import Picture
from gim.mdp.sampling import TERMINATED, begin, noisy_step, step

if TYPE_CHECKING:
    from gim.mdp.tabular import TabularMDP

# One call from Python costs less without compilation, and draws the same bits.
_begin, _steps = plain(begin), (plain(step), plain(noisy_step))


class TabularEnv(gymnasium.Env[int, int]):
    """A finite MDP, played step by step; it draws the same bits as the compiled loop.

    ## Action Space
    `Discrete(A)`. An action that is not available in the current state is refused; where there are
    such actions, `info["action_mask"]` tells which are available (1) and which are not (0).

    ## Observation Space
    `Discrete(S)`: the state.

    ## Rewards
    Those of the MDP.

    ## Episode End
    Terminated in a terminal state; truncated after the horizon's number of steps.

    ## Arguments
    `mdp`, which the attribute of the same name keeps; `render_mode`: `ansi` for text, `rgb_array`
    for a picture.

    ## Version History
    * v0: first version

    Example:
        >>> import gim
        >>> env = gim.make("riverswim").to_gymnasium()
        >>> env.reset(seed=1)
        (2, {})
        >>> env.step(0)
        (1, 0.0, False, False, {})
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # noqa: RUF012 as in Env

    def __init__(self, mdp: TabularMDP, render_mode: str | None = None) -> None:
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise ValueError(f"render_mode = {render_mode!r}: must be one of {', '.join(modes)}")
        self.mdp, self.render_mode = mdp, render_mode
        self.observation_space: Any = Discrete(mdp.S)
        self.action_space: Any = Discrete(mdp.A)
        self._masked = not mdp.available.all()
        self._drawn = _steps[mdp.noise is not None]
        self._s, self._h, self._over = 0, 0, True
        self._last: tuple[int, float] | None = None  # action and reward of the last step

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Begin an episode; `options={"state": s}` begins it in this state."""
        super().reset(seed=seed)
        self._s, self._h, self._over = int(_begin(self.mdp.world, self.np_random)), 0, False
        self._last = None
        if options and "state" in options:
            self._s = self._first(options["state"])
        return self._s, self._info()

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Play one action."""
        a, s = self._checked(action), self._s
        t, r, end = self._drawn(self.mdp.world, s, a, self.np_random)
        self._s, self._last = int(t), (a, float(r))
        self._h += 1
        terminated = bool(end == TERMINATED)
        truncated = self._h == self.mdp.horizon and not terminated
        self._over = terminated or truncated
        return self._s, float(r), terminated, truncated, self._info()

    def render(self) -> Any:
        """Show the current state, as text or as an array of pixels [height, width, 3]."""
        if self.render_mode is None:
            gymnasium.logger.warn(
                'render() without a render_mode: make the environment with render_mode="ansi" or '
                'render_mode="rgb_array"'
            )
            return None
        show = self._picture.text if self.render_mode == "ansi" else self._picture.pixels
        return show(self._s, self._caption())

    @cached_property
    def _picture(self) -> Picture:
        return Picture(self.mdp)

    def _info(self) -> dict[str, Any]:
        if not self._masked:
            return {}
        return {"action_mask": self.mdp.available[self._s].astype(np.int8)}

    def _checked(self, action: Any) -> int:
        if self._over:
            raise ValueError("no episode is under way: call reset() first")
        if not self.action_space.contains(action):
            raise ValueError(f"action {action!r} is out of range: give 0 to {self.mdp.A - 1}")
        if not self.mdp.available[self._s, action]:
            names = map(str, np.flatnonzero(self.mdp.available[self._s]))
            raise ValueError(
                f"action {action} is not available in state {self._s}: choose from "
                + ", ".join(names)
            )
        return int(action)

    def _first(self, state: Any) -> int:
        if not self.observation_space.contains(state) or self.mdp.terminal[state]:
            raise ValueError(f"an episode cannot start in state {state!r}")
        return int(state)

    def _caption(self) -> str:
        if self._last is None:
            return "step 0"
        a, r = self._last
        action = self.mdp.action_label(a) if self.mdp.action_labels else f"action {a}"
        return f"step {self._h}: {action}, reward {r:.6g}"
