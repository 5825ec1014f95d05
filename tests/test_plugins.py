"""A package outside the repository adds a thing of every kind: that of docs/extending.md."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from gim import testing
from gim_lab import testing as lab_testing
from tests.processes import PLAIN, python

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "extending.md").read_text()
COMMANDS = re.findall(r"^gim (.*)$", PAGE, re.M)
SHORT = {  # what makes a command of the page take seconds
    "train": ["--episodes", "5"],
    "compare": ["--episodes", "5", "--runs", "1", "--workers", "1"],
    "reproduce": ["--engine", "serial"],
}
KINDS = {
    name.removeprefix("check_") for kits in (testing, lab_testing) for name in kits.__all__
} - {"package"}


def blocks(file):
    """The code of a file on the page, put together."""
    return "\n\n".join(re.findall(rf"```\w+ {re.escape(file)}\n(.*?)```", PAGE, re.S))


def put(folder, name, module, entry=None):
    """A package as it looks when installed: a module, and a folder with its entry points."""
    (folder / f"{name}.py").write_text(module)
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir()
    (about / "entry_points.txt").write_text(f"[gim.plugins]\n{name} = {entry or name}\n")


@pytest.fixture
def outside(tmp_path):
    """The page's package, with the entry points that its pyproject.toml asks for."""
    project = tomllib.loads(blocks("pyproject.toml"))["project"]
    (name, entry), *others = project["entry-points"]["gim.plugins"].items()
    assert not others
    put(tmp_path, name, blocks("my_gim.py"), entry)
    return tmp_path


def gim(folder, *words):
    return python("-m", "gim", *words, folder=folder, **PLAIN)


def test_the_command_line_finds_what_a_package_adds(outside):
    agents = gim(outside, "agents")
    assert agents.stderr == ""
    assert "least_tried\n    Takes the action that it has taken least" in agents.stdout
    assert "coin\n    Guess how a coin falls" in gim(outside, "envs", "coin").stdout
    inside = gim(outside, "agents", "gim").stdout
    inside += gim(outside, "agents", "two_phase").stdout
    for name in ("hard_impute", "first_unknown", "pooled"):
        assert name in inside
    wrong = gim(outside, "train", "coin", "--agent", "least_tryed")
    assert wrong.returncode == 2
    assert wrong.stderr == "gim: unknown agent 'least_tryed': did you mean 'least_tried'?\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_page_run(outside, command):
    """Workers of a comparison find what the package adds, too."""
    words = shlex.split(command)
    done = gim(outside, *words, *SHORT.get(words[0], []))
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert "Traceback" not in done.stderr
    if words[0] == "reproduce":
        assert "PSRL guesses better than LeastTried, whatever the bias." in done.stdout
        (entry,) = json.loads((outside / "reproduction-smoke" / "ledger.json").read_text())
        assert entry["key"] == "rewards_matter"


RECORDED = """
import json
import gim.testing
check, checked = gim.testing.check_package, []
gim.testing.check_package = lambda name: checked.extend(check(name)) or checked
import test_my_gim
test_my_gim.test_all_that_this_package_adds()
print(json.dumps(checked))
"""


def test_every_kind_is_added_and_passes_its_kit(outside):
    """The test on the page, and `gim list` has under each kind what was checked."""
    (outside / "test_my_gim.py").write_text(blocks("test_my_gim.py"))
    done = python("-W", "ignore", "-c", RECORDED, folder=outside, **PLAIN)
    assert done.returncode == 0, done.stderr
    checked = [re.split("[ :]", each)[:2] for each in json.loads(done.stdout)]
    assert {kind for kind, _ in checked} == KINDS
    listed = dict(re.findall(r"^(\w+)\n((?:    .*\n)+)", gim(outside, "list").stdout, re.M))
    assert listed.keys() == KINDS
    used = " ".join(COMMANDS)
    for kind, name in checked:
        assert name in re.split(r"[,\s]+", listed[kind])
        assert kind == "claim" or re.search(rf"\b{name}\b", used), f"no command uses {name}"
    unknown = gim(outside, "list", "agnt")
    assert unknown.stderr.startswith("gim: unknown kind 'agnt': did you mean 'agent'")


def test_plugins_are_not_loaded_before_a_name_is_looked_up(outside):
    code = "import sys, gim.agents\nprint('my_gim' in sys.modules)\ngim.agents.agents.names()\n"
    done = python("-c", code + "print('my_gim' in sys.modules)", folder=outside, **PLAIN)
    assert done.stdout.split() == ["False", "True"], done.stderr


def test_a_plugin_may_be_run_as_a_script(outside):
    """Then the same class is defined twice, in `__main__` and in the module."""
    script = (outside / "my_gim.py").read_text() + "\nprint(gim.run(LeastTried(), 'coin', 3).agent)"
    (outside / "my_gim.py").write_text(script)
    done = python("my_gim.py", folder=outside, **PLAIN)
    assert done.stdout.splitlines()[-1] == "least_tried", done.stderr
    assert done.stderr == ""


TAKEN = """
from dataclasses import dataclass
from gim.agents.random import Random as Ours

@dataclass(frozen=True)
class Fresh(Ours):
    "An agent whose name is free."

@dataclass(frozen=True)
class Random(Ours{more}):
    "An agent with a name that is not free."
"""


def test_a_taken_name_is_refused_in_one_line_and_the_plugin_is_left_out_whole(outside):
    put(outside, "greedy", TAKEN.format(more=""))
    done = gim(outside, "agents")
    assert done.returncode == 0
    assert done.stderr == (
        "gim: note: the plugin 'greedy' (greedy) is left out: the agent name 'random' is taken by "
        "gim.agents.random.Random: give greedy.Random another with name=, or pass replace=True\n"
    )
    assert "Picks every action" not in done.stdout
    assert "least_tried" in done.stdout
    assert "fresh" not in done.stdout


def test_a_name_can_be_replaced_when_that_is_said(outside):
    put(outside, "greedy", TAKEN.format(more=", replace=True"))
    done = gim(outside, "agents")
    assert done.stderr == ""
    assert "An agent with a name that is not free." in done.stdout


BROKEN = {
    "absent": ("import no_such", "ModuleNotFoundError: No module named 'no_such'"),
    "garbled": ("def (", "SyntaxError: invalid syntax (garbled.py, line 1)"),
    "leaving": ("raise SystemExit(3)", "SystemExit: 3"),
    "wrong": ("1 / 0", "ZeroDivisionError: division by zero"),
}


def test_a_broken_plugin_is_a_warning_and_the_rest_works(outside):
    for name, (module, _) in BROKEN.items():
        put(outside, name, module)
    done = gim(outside, "train", "coin", "--agent", "least_tried", "--episodes", "5")
    assert done.returncode == 0
    notes = [line for line in done.stderr.splitlines() if "note" in line]
    assert sorted(notes) == [
        f"gim: note: the plugin '{name}' ({name}) is left out: {reason}"
        for name, (_, reason) in BROKEN.items()
    ]


def test_what_a_broken_plugin_made_gim_import_is_kept(tmp_path):
    """It is the first to load a file of gim, and fails afterwards."""
    put(tmp_path, "broken", "import gim.paper.walks.published\nraise ValueError('too late')")
    code = "import gim; from gim.paper.walks.base import explorations as e; print(e.names())"
    done = python("-c", code, folder=tmp_path, **PLAIN)
    assert "published" in done.stdout
    assert "UserWarning: the plugin 'broken' (broken) is left out: too late" in done.stderr


def test_a_plugin_may_look_up_names_while_it_is_loaded(tmp_path):
    put(tmp_path, "curious_one", "from gim.runs.agent import agents\nprint(agents.make('random'))")
    done = gim(tmp_path, "agents", "random")
    assert done.stdout.startswith("random\n"), done.stderr
    assert done.stderr == ""
