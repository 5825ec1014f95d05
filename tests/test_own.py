"""Agents, tasks and environments of one's own: named with their module or file, everywhere."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path

import pytest

import gim
from gim._base import own as module
from gim._base.own import import_own, own
from gim.agents import agents
from gim.envs.worlds import own_world
from gim_lab import Study
from tests.processes import python

MINE = """
from dataclasses import dataclass
import gymnasium, numpy as np
import gim
from gim.envs import task
from beside import STEPS

@dataclass(frozen=True)
class Mine(gim.Random, name="mine_of_a_file"):
    "An agent of one's own."
    size: int = 1

@task("own-tests/way_of_a_file-v0")
def way_of_a_file(length: int = 3):
    "A way."
    P = np.zeros((length, 2, length))
    for s in range(length):
        P[s, 0, max(s - 1, 0)] = P[s, 1, min(s + 1, length - 1)] = 1.0
    return gim.TabularMDP(P, np.eye(length)[:, [0, 0]], horizon=STEPS)

def made(steps=4):
    return gymnasium.wrappers.TimeLimit(Walk(), steps)

def table(length=3):
    return way_of_a_file(length)

mdp = table()
number = 3

class Walk(gymnasium.Env):
    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(2)
    def __init__(self, steps=4):
        self.steps = steps
    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.at = 0
        return 0, {}
    def step(self, action):
        self.at += 1
        return self.at % 2, float(action), False, self.at >= self.steps, {}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a file of one's own, which is another module for each test."""
    name = f"mine_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(MINE.replace("_of_a_file", f"_{name}"))
    (tmp_path / "beside.py").write_text("STEPS = 5\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(module, "asked", {})
    yield tmp_path, name
    for each in (name, "beside"):
        sys.modules.pop(each, None)
    for registry in (agents, gim.envs.tasks):
        registry._made.pop(f"mine_{name}", None)
        registry._made.pop(f"way_{name}", None)


def test_a_name_behind_a_file_or_a_module(folder):
    _, name = folder
    assert own(f"{name}.py:Mine:size=3", agents) == f"mine_{name}:size=3"  # as in the file
    assert own(f"{name}:mine_{name}", agents) == f"mine_{name}"  # as it is registered
    assert own_world(f"{name}.py:way_{name}:length=4") == f"way_{name}:length=4"
    assert own("q_learning:alpha=0.5", agents) == "q_learning:alpha=0.5"
    assert own_world("riverswim:length=4") == "riverswim:length=4"


def test_a_class_of_environments_gets_an_id(folder):
    _, name = folder
    run = gim.run(f"{name}.py:Mine", f"{name}.py:Walk:max_episode_steps=4", 4)
    assert str(run.agent) == f"mine_{name}"
    assert run.returns.shape == (4,)
    assert own_world(f"{name}.py:Walk") == f"{name}/Walk-v0"


def test_a_function_that_makes_a_world_and_a_table(folder):
    _, name = folder
    assert gim.run("random", f"{name}.py:made:steps=3", 4).steps == 4 * 3
    table = gim.envs.worlds.world_of(f"{name}.py:table:length=4", imports=True)
    assert (table.S, str(table.name)) == (4, f"{name}/table-v0:length=4")
    assert gim.envs.worlds.world_of(f"{name}.py:mdp", imports=True).S == 3
    for wrong in ("number", "nothing"):
        with pytest.raises(ValueError, match=rf"^{name}\.py has no world '{wrong}': name a task"):
            own_world(f"{name}.py:{wrong}")


def test_what_cannot_be_imported_is_one_line(folder):
    path, name = folder
    (path / "broken.py").write_text("1 / 0\n")
    (path / "json.py").write_text("")
    for text, message in (
        ("broken.py:Mine", "cannot import broken.py: ZeroDivisionError: division by zero"),
        ("nowhere.py:Mine", "cannot import nowhere.py: there is no such file"),
        ("no_such_module:Mine", "cannot import no_such_module: No module named"),
        ("json.py:Mine", "another module is called json: give the file another name"),
        (f"{name}.py:Yours", f"{name}.py has no agent 'Yours'"),
    ):
        with pytest.raises(ValueError, match=message):
            own(text, agents)
    assert "broken" not in sys.modules


def test_a_study_imports_and_a_saved_run_does_not(folder):
    _, name = folder
    study = Study.of(
        {"imports": [f"{name}.py"], "tasks": [f"way_{name}"], "agents": [f"{name}.py:Mine"]}
    )
    assert study.agents == (f"mine_{name}",)
    with pytest.raises(ValueError, match=r"imports = 'x\.py': give a list of texts"):
        Study.of({"imports": "x.py", "tasks": ["riverswim"], "agents": ["random"]})
    with pytest.raises(ValueError, match="'elsewhere:Walk' would import elsewhere"):
        gim.envs.worlds.world_of("elsewhere:Walk")


def test_import_own_is_done_once(folder):
    _, name = folder
    assert import_own(f"{name}.py") is import_own(f"{name}.py")
    assert module.asked == {f"{name}.py": str(Path.cwd())}


COMMANDS = """
import json, sys
from gim.cli import main
done = [main(words) for words in json.loads(sys.argv[1])]
print(json.dumps(done))
"""


@pytest.mark.processes
def test_every_command_and_its_workers(folder):
    path, name = folder
    (path / "study.toml").write_text(
        textwrap.dedent(
            f"""
            imports = ["{name}.py"]
            episodes = 3
            runs = 2
            tasks = ["way_{name}", "{name}.py:Walk:max_episode_steps=4"]
            agents = ["mine_{name}"]
            """
        )
    )
    own_ones = ["--import", f"{name}.py"]
    commands = [
        ["agents", f"mine_{name}", *own_ones],
        ["inspect", f"{name}.py:way_{name}"],
        ["train", f"way_{name}", "--agent", f"mine_{name}", "--episodes", "3", *own_ones],
        ["compare", f"{name}.py:way_{name}", f"{name}.py:Walk:max_episode_steps=4"],
        ["run", "study.toml", "--workers", "1"],
    ]
    commands[3] += ["--agents", f"{name}.py:Mine", "--runs", "2", "--episodes", "3"]
    commands[3] += ["--workers", "1"]
    done = python("-W", "ignore", "-c", COMMANDS, json.dumps(commands), folder=path)
    assert json.loads(done.stdout.splitlines()[-1]) == [0] * len(commands), done.stderr
