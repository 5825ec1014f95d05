"""Badges as SVG files of our own, which any host shows and no service has to make.

    python -m tools.badges                               # of pyproject.toml, into docs/pictures
    pytest --junitxml=tests.xml ...; python -m tools.badges tests.xml --out build/badges

The first are facts of the project and stand in the tree; `tests/test_badges.py` keeps them true.
What passed today is no fact of the tree: the second form makes that badge where the tests ran.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Sequence
from html import escape
from pathlib import Path
from xml.etree import ElementTree

import gim

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
BLUE, GREEN, RED, GREY = "#0072B2", "#00735A", "#B34700", "#444444"
LETTER, PAD, HIGH = 6.6, 6, 20  # of a letter, around a text, of the badge


def badge(name: str, value: str, colour: str = BLUE) -> str:
    """Two words side by side, as an SVG file.

    Example:
        >>> badge("python", "3.11+").count("<text")
        2
    """
    left, right = (round(LETTER * len(word)) + 2 * PAD for word in (name, value))
    texts = "".join(
        f'<text x="{x}" y="14" text-anchor="middle">{escape(word)}</text>'
        for x, word in ((left / 2, name), (left + right / 2, value))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{HIGH}" '
        f'role="img" aria-label="{escape(name)}: {escape(value)}">'
        f'<clipPath id="round"><rect width="{left + right}" height="{HIGH}" rx="3"/></clipPath>'
        f'<g clip-path="url(#round)"><rect width="{left}" height="{HIGH}" fill="{GREY}"/>'
        f'<rect x="{left}" width="{right}" height="{HIGH}" fill="{colour}"/></g>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{texts}</g>'
        "</svg>\n"
    )


def of_project() -> dict[str, str]:
    """Badges of what pyproject.toml says, by the names of their files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    python = project["requires-python"].removeprefix(">=")
    return {
        "badge-version.svg": badge("gim", gim.__version__),
        "badge-python.svg": badge("python", f"{python}+"),
        "badge-licence.svg": badge("licence", project["license"]),
    }


def of_tests(report: Path) -> dict[str, str]:
    """The badge of a JUnit report, as pytest writes it."""
    suites = list(ElementTree.parse(report).getroot().iter("testsuite"))
    total, skipped, *bad = (
        sum(int(suite.get(what, 0)) for suite in suites)
        for what in ("tests", "skipped", "failures", "errors")
    )
    wrong = sum(bad)
    told = f"{wrong:,} failed" if wrong else f"{total - skipped:,} passed"
    return {"badge-tests.svg": badge("tests", told, RED if wrong else GREEN)}


def main(argv: Sequence[str] | None = None) -> int:
    """Write badges, and say where."""
    parser = argparse.ArgumentParser(prog="python -m tools.badges", description=__doc__)
    parser.add_argument("report", nargs="?", type=Path, help="what pytest --junitxml wrote")
    parser.add_argument("--out", type=Path, default=PICTURES, metavar="FOLDER")
    args = parser.parse_args(argv)
    made = of_project() if args.report is None else of_tests(args.report)
    args.out.mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        (args.out / name).write_text(text, "utf-8")
        print(args.out / name)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
