"""Figures that pages quote of commands that take seconds: one place each, refreshed by one command.

    python -m docs.quotes            # writes what has changed into the pages

`tests/test_quotes.py` makes them again and compares. Figures of commands that take longer stand
beside their command, the commit and the date that they were measured at.
"""

from __future__ import annotations

import contextlib
import io
import re
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import gim
from gim.cli import main as command
from gim_lab.experiments.demo.idea import DemoIdea
from gim_lab.experiments.demo.settings import GRID, after_a_little, earned

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
HIGH = 225  # of a drawing, in pixels: three have room side by side
WIDTH = 100  # of quoted text
# What differs from machine to machine: times and speeds, with the spaces before them.
BUSY = re.compile(r" at [\d.]+[kM]?/s|(?<=time  ).*|(?m:  +[\d.]+ m?s$)|(?m: +time$)|─+")


class Quote(NamedTuple):
    """What stands in a page between two texts, and what makes it."""

    page: str
    pattern: str  # of which group 1 is the quoted text
    make: Callable[[], str]

    def found(self) -> str:
        """What the page has."""
        match = re.search(self.pattern, (ROOT / self.page).read_text("utf-8"), re.S)
        if match is None:
            raise ValueError(f"{self.page} has nothing like {self.pattern}: change docs/quotes.py")
        return match[1]

    def write(self, text: str) -> None:
        """Put another text in its place."""
        path = ROOT / self.page
        page = path.read_text("utf-8")
        match = re.search(self.pattern, page, re.S)
        assert match is not None
        path.write_text(page[: match.start(1)] + text + page[match.end(1) :], "utf-8")


def same(one: str, other: str) -> bool:
    """Whether two texts agree, but for times and where lines are broken."""
    return plain(one) == plain(other)


def plain(text: str) -> str:
    """A text without what differs from run to run."""
    return " ".join(BUSY.sub("", text).split())


@cache
def printed(*words: str) -> str:
    """What a command prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        status = command([*words])
    if status:
        raise ValueError(f"gim {' '.join(words)} ended with status {status}")
    return out.getvalue().rstrip()


@cache
def _grid() -> gim.Run:
    return gim.run("analogist", "gridworld:height=8,width=8,horizon=40", episodes=100)


def _rule() -> str:
    """The chances of the first rule on the grid."""
    return str(_grid().analogies()[0]).split(";")[0]


def _certificate() -> str:
    world = "gridworld:height=8,width=8,horizon=40,slip=0.2,start=0"
    run = gim.run("analogist", world, episodes=30)
    return textwrap.indent(textwrap.fill(str(gim.certify(run)), WIDTH), "    ")


def _train() -> str:
    """The first lines of a training run, with two states of the policy."""
    lines = printed("train", "casinoland").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("room 0 "))
    return "\n".join(lines[: first + 1])


def _compare() -> str:
    words = ["--agents", "gim:m=10,rmax:m=10,q_learning", "--runs", "20", "--episodes", "2000"]
    return printed("compare", "casinoland", *words, "--engine", "serial")


def _idea() -> str:
    """What stands below the picture of the index."""
    return f"{earned(after_a_little(GRID)):.0%}".replace("%", " %")


RULE = r"up: [^;]*"
QUOTES = {
    "readme-rule": Quote("README.md", rf"# ({RULE}); \.\.\.", _rule),
    "analogy-rule": Quote("docs/analogy.md", rf"# ({RULE}); blocked", _rule),
    "certificate": Quote(
        "docs/analogy.md", r"hold\?\n```\n\n(    credible: .*?)\n\nA belief", _certificate
    ),
    "train": Quote("docs/command.md", r"\$ gim train casinoland\n(.*?)\n\.\.\.\n", _train),
    "compare": Quote(
        "docs/laboratory.md", r"\$ gim compare casinoland [^\n]*\n(.*?)\n```", _compare
    ),
    "index-worth": Quote("docs/index.md", r"worth\s(\d+ %)", _idea),
    "readme-worth": Quote("README.md", r"worth\s(\d+ %)", _idea),
}


def drawings() -> dict[Path, str]:
    """The drawings of the idea, which first pages show side by side, on a phone in a column."""
    (picture,) = DemoIdea().analyse(None).pictures  # type: ignore[arg-type]
    made = {}
    for i, each in enumerate(picture.drawings, start=1):
        _, _, wide, high = map(float, re.findall(r'viewBox="([^"]*)"', each.svg)[0].split())
        size = f'<svg width="{HIGH * wide / high:.0f}" height="{HIGH}"'
        made[PICTURES / f"idea-{i}.svg"] = each.svg.replace("<svg", size, 1) + "\n"
    return made


def main() -> None:
    """Make all quotes again; write what differs, and say so."""
    for name, quote in QUOTES.items():
        made = quote.make()
        if not same(quote.found(), made):
            quote.write(made)
            print(f"{quote.page}: {name} is written anew")
    for path, svg in drawings().items():
        if not path.exists() or path.read_text("utf-8") != svg:
            path.write_text(svg, "utf-8")
            print(f"{path.relative_to(ROOT)} is drawn anew")


if __name__ == "__main__":
    main()
