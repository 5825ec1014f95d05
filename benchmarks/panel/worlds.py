"""Which worlds are on the panel, and those for calibration besides, by name.

This module, `play`, and all that they import use public names of gim alone, and so play that of
another tree as well.
"""

from __future__ import annotations

from collections.abc import Callable

import gymnasium
import numpy as np

import gim
from benchmarks import cases, written
from benchmarks.panel import rules

World = Callable[[], gim.TabularMDP]


def named(word: str) -> World:
    """The task of a spec string."""
    return lambda: gim.make(word)


def lake() -> gim.TabularMDP:
    """Gymnasium's, 8x8 and slippery."""
    return gim.from_gymnasium(gymnasium.make("FrozenLake-v1", map_name="8x8"))


PANEL: dict[str, World] = {
    "grid": named("gridworld:height=8,width=8,horizon=40,slip=0.2,start=0"),
    "lake": lake,
    "button": named("button"),
    "maze": written.WORLDS["maze"],
    "inventory": named("inventory"),
    "revenue": cases.revenue,
    "perishable": written.WORLDS["perishable"],
    "lossy_shop": lambda: cases.shop(3.0, lost=0.2),
    "car_rental": written.WORLDS["car_rental"],
    "queues": named("queues"),
    "tandem": written.WORLDS["tandem"],
    "epidemic": written.WORLDS["epidemic"],
    "repair": written.WORLDS["repair"],
    "garnet": named("garnet"),
    "prototypes": named("prototypes"),
    "unrelated": lambda: cases.unrelated(np.random.default_rng(4000)),
}
CALIBRATION: dict[str, World] = {
    world.__name__: world
    for world in (
        rules.two_regions,
        rules.mostly,
        rules.drift,
        rules.counter,
        rules.two_sorts_of_days,
        rules.no_structure,
    )
}
SETS = {"panel": PANEL, "calibration": CALIBRATION, "all": PANEL | CALIBRATION}
OTHERS: dict[str, World] = {
    "gridworld": named("gridworld"),
    "large_grid": named("gridworld:height=20,width=20,horizon=100,slip=0.2,start=0"),
    "casinoland": named("casinoland"),
    "queue": lambda: cases.drawn_queue(np.random.default_rng(0)),
    "dark_room": lambda: cases.dark_room(57),
    "wearing": lambda: cases.wearing(12),
}
ALL = SETS["all"] | OTHERS | written.WORLDS  # what `--worlds` may name
