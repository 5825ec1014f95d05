"""Draw the pictures of the docs.

python docs/pictures.py
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.completion import VISITS, noise_errors
from gim import plot
from gim.model.completion.base import completions

FOLDER = Path(__file__).resolve().parent / "pictures"
METHODS = ("als", "optspace", "soft_impute", "unfolding", "tucker")


def main() -> None:
    """How the error of completion falls with m."""
    FOLDER.mkdir(exist_ok=True)
    errors = {name: noise_errors(completions.make(name)) for name in METHODS}
    drawn = plot.rates(VISITS, errors, "Completion of a rank-2 world, 50 x 40, 80 % known")
    drawn.savefig(FOLDER / "completion_noise.png")


if __name__ == "__main__":
    main()
