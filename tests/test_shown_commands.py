"""Commands that pages and docstrings show exist, with their options, agents, worlds and names."""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import gymnasium
import pytest

from gim._base.registry import parse
from gim.cli.command import parsers_of
from gim.envs import tasks
from gim.runs.agent import agents
from gim_lab.cli.compare import split_agents
from gim_lab.experiments.catalogue import chosen
from gim_lab.experiments.scale import SCALES

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "examples/study.toml")),
    *sorted(path for kind in ("*.md", "*.py") for path in (ROOT / "docs").rglob(kind)),
    *sorted((ROOT / "gim").rglob("*.py")),
    *sorted((ROOT / "benchmarks").rglob("*.py")),
]
OWN = ("docs/extending.md", "gim_lab/experiments/experiment.py", "gim_lab/claims/claim.py")
SHOWN = re.compile(r"(?:^[ #>]*(?:\$ )?|`|; )((?:gim|python -m|make) [a-z][^`\n]*)", re.M)
END = re.compile(r"\s#|\s\||\s>|;|  +[a-z]|[^.\w]*\"\"\"|\.\s|, |\.$|\)$")  # of what is typed
PLACEHOLDER = re.compile(r"[A-Z]+\b|.*[\[\]{}].*|\.\.+")
PARSERS = parsers_of()
TARGETS = re.findall(r"^([a-z ]+):", (ROOT / "Makefile").read_text(), re.M)


def commands(path):
    """What a page shows, as it would be typed."""
    for shown in SHOWN.findall(path.read_text("utf-8")):
        try:
            words = shlex.split(END.split(shown)[0])
        except ValueError:  # prose with an apostrophe
            continue
        if words[0] != "make" or path.suffix == ".md":  # in docstrings it is a word like others
            yield shlex.join(word for word in words if not PLACEHOLDER.fullmatch(word))


SEEN = sorted({(str(path.relative_to(ROOT)), line) for path in PAGES for line in commands(path)})


def test_there_are_many():
    assert len([line for _, line in SEEN if line.startswith("gim ")]) > 100
    assert len([line for _, line in SEEN if line.startswith("make ")]) > 10
    assert len([line for _, line in SEEN if line.startswith("python ")]) > 10


@pytest.mark.parametrize(("page", "line"), SEEN)
def test_a_command_that_is_shown_is_one(page, line):
    first, name, *words = shlex.split(line)
    if first == "make":
        assert name in {target for targets in TARGETS for target in targets.split()}
    elif first == "python" and words:
        assert find_spec(words[0]) is not None
    elif first == "gim":
        check_options(name, words)
        if page not in OWN:  # which are on things that the reader is to write
            check_names(name, words)


def check_options(name, words):
    parser = PARSERS[name]
    known = {word for action in parser._actions for word in action.option_strings}
    assert {word.split("=")[0] for word in words if word.startswith("--")} <= known
    if "--scale" in words:
        assert words[words.index("--scale") + 1] in SCALES


def check_names(name, words):
    plain = next((i for i, word in enumerate(words) if word.startswith("--")), len(words))
    if name == "reproduce":
        chosen(words[:plain])
    if name in ("train", "compare", "inspect", "envs"):
        for world in words[:plain]:
            known = [*tasks.names(), *gymnasium.registry]
            assert world.endswith(".npz") or "my_module" in world or parse(world).name in known
    for option in ("--agent", "--agents"):
        if option in words:
            rest = words[words.index(option) + 1 :]
            given = rest[: next((i for i, w in enumerate(rest) if w.startswith("--")), len(rest))]
            for agent in split_agents(given):
                agents.make(agent)
