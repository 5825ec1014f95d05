"""Draw the pictures of the docs.

python docs/pictures.py
"""

from __future__ import annotations

from pathlib import Path

import gim
from benchmarks.completion import VISITS, noise_errors
from gim import plot
from gim.model.completion.base import completions

FOLDER = Path(__file__).resolve().parent / "pictures"
METHODS = ("als", "optspace", "tucker")


def main() -> None:
    """The film of a walk, and how the error of completion falls with m."""
    FOLDER.mkdir(exist_ok=True)
    grid = gim.make("gridworld:height=5,width=5,horizon=20")
    plot.walk(gim.Analogist(), grid, FOLDER / "walk.gif", s=12, episodes=12, frames=20)
    errors = {name: noise_errors(completions.make(name)) for name in METHODS}
    drawn = plot.rates(VISITS, errors, "Completion of a rank-2 world, 50 x 40, 80 % known")
    drawn.savefig(FOLDER / "completion_noise.png")


if __name__ == "__main__":
    main()
