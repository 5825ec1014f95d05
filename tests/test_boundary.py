"""What is public: names on purpose, lazily, and nothing that only leaked."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import ModuleType

import gymnasium
import pytest

import gim
from gim._base.gymnasium_ids import ids
from gim._base.lazy import exported
from gim.envs import tasks
from tests.processes import python

ROOT = Path(__file__).parent.parent
MODULES = {"completion", "files", "planning", "plot", "theory"}  # that are public as such
LAZY = ["gim", "gim_lab", "gim.agents", "gim.envs", "gim.paper.walks"]


def alone(code):
    """What a fresh interpreter prints."""
    done = python("-c", code)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_dir_has_the_public_names_and_no_other_modules():
    gim.run("random", "riverswim", 1)  # whatever has been imported meanwhile
    names = {name for name in dir(gim) if not name.startswith("__")}
    assert names == {*gim.__all__}
    assert {name for name in names if isinstance(getattr(gim, name), ModuleType)} == MODULES


def test_what_was_missing_is_there():
    assert gim.Task.__name__ == "Task"
    assert gim.Learned.__name__ == "Learned"
    assert gim.Inference.__name__ == "Inference"
    assert callable(gim.run)
    assert gim.planning.evaluate is not gim.evaluate
    assert gim.theory.sample_complexity
    assert gim.completion.ALS


@pytest.mark.parametrize("package", LAZY)
def test_what_a_package_says_is_what_it_gives(package):
    module = __import__(package, fromlist=["x"])
    homes = exported(package)
    assert {*homes} == {*module.__all__}
    for name in homes:
        assert getattr(module, name) is not None
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nonsense'"):
        _ = module.nonsense


def test_a_wrong_name_is_answered_with_a_near_one():
    with pytest.raises(AttributeError, match="did you mean 'QLearning'"):
        _ = gim.QLearnin


def test_to_import_gim_loads_next_to_nothing():
    told = alone("import sys, gim; print(sorted({m.split('.')[0] for m in sys.modules}))")
    found = set(ast.literal_eval(told))
    assert not found & {"numpy", "scipy", "numba", "gymnasium", "matplotlib", "gim_lab"}
    told = alone(
        "import sys; from gim.cli import main; main(['--version'])\n"
        "print('numpy' in sys.modules, 'argparse' in sys.modules)"
    )
    assert told.split() == ["gim", gim.__version__, "False", "False"]


def test_gim_runs_without_the_laboratory():
    code = (
        "import sys; sys.modules['gim_lab'] = None\n"
        "import gim; gim.run('q_learning', 'riverswim', 3)\n"
        "from gim.cli import main; sys.exit(main(['envs', 'riverswim']))"
    )
    assert "riverswim" in alone(code)


@pytest.mark.parametrize("first", ["import gim, gymnasium", "import gymnasium, gim"])
def test_gymnasium_knows_the_tasks_whoever_is_imported_first(first):
    told = alone(
        f"{first}; print('gim.envs' in __import__('sys').modules)\n"
        "print(gymnasium.make('gim/RiverSwim-v0', length=9).observation_space.n)"
    )
    assert told.split() == ["False", "9"]


def test_the_ids_that_are_read_are_those_that_tasks_register():
    found = dict(ids())
    assert sorted(found.values()) == [name for name in tasks.names() if tasks.owns(tasks[name])]
    for task_id, name in found.items():
        assert gymnasium.registry[task_id].kwargs == {"task": name}


COMMAND = '''"""Say hello."""

def options(parser):
    parser.add_argument("name")

def run(args):
    print("hello", args.name)
    return 0
'''


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """A folder on the path with a package that has commands."""
    (tmp_path / "hello_gim.py").write_text(COMMAND)
    (tmp_path / "broken_gim.py").write_text("1 / 0\n")
    (tmp_path / "empty_gim.py").write_text('"""Nothing."""\n')
    info = tmp_path / "hello_gim-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hello-gim\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[gim.commands]\nhello = hello_gim\nbroken = broken_gim\nempty = empty_gim\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in ("hello_gim", "broken_gim", "empty_gim"):
        sys.modules.pop(name, None)


def test_a_package_may_bring_a_command(outside, capsys):
    from gim.cli import main

    assert main(["hello", "you"]) == 0
    assert capsys.readouterr().out == "hello you\n"
    assert main(["--help"]) == 0
    out, err = capsys.readouterr()
    assert "Say hello." in out
    assert "compare" in out
    assert "the command 'broken' (broken_gim) is left out: ZeroDivisionError" in err
    assert "the command 'empty' (empty_gim) is left out: it needs a docstring, options" in err
    assert main(["broken"]) == 2
