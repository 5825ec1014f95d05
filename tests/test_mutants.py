"""The mutation tool on a toy: faults are made in a copy only, and killed or not as they should."""

from __future__ import annotations

import ast
import importlib
import json
import sys
from pathlib import Path
from types import FunctionType

import pytest

from tools.mutants import __main__ as tool
from tools.mutants.operators import mutants_of
from tools.mutants.reach import Reach
from tools.mutants.scratch import KILLED, SURVIVED, TIMEOUT, UNFIT, Scratch
from tools.mutants.warm import exchange

ROOT = Path(__file__).parent.parent

TOY = '''"""A module: 1 < 2."""
LIMIT = 3


def clamp(x: "int < 3", low: int = 0) -> int:
    """Not 1 < 2."""
    if x < low:
        return low
    return x


def waits(n):
    while n > 0:
        n -= 1
    if n < 0:
        raise ValueError(f"{n + 1} is below {0}")
    return max(n, LIMIT)


def opposite(x):
    return -x


def unused(x):
    return [x]
'''
TESTS = """
import os

from gim.planning import clamp, opposite, waits

def test_clamp():
    assert clamp(2, 1) == 2
    assert clamp(-1) == 0

def test_waits():
    assert waits(1) == 3

def test_fails():
    assert clamp(0) == 1

def test_compiled_only():
    assert opposite(0) == 0
    assert os.environ["NUMBA_DISABLE_JIT"] == "0"
    assert opposite(1) == -1
"""


@pytest.fixture
def toy(tmp_path):
    root = tmp_path / "toy"
    for name, text in {"gim/__init__": "", "gim/planning": TOY, "tests/test_toy": TESTS}.items():
        path = root / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def toy_mutants():
    return mutants_of("gim/planning.py", TOY.encode())


def find(after, before=""):
    (found,) = [m for m in toy_mutants() if m.after == after and before in m.before]
    return found


# -- faults


def test_every_operator_makes_its_faults_and_words_are_left_alone():
    found = {(m.line, m.function, m.operator, m.before, m.after) for m in toy_mutants()}
    assert found == {
        (2, "", "constant", "3", "4"),
        (5, "", "constant", "0", "1"),
        (7, "clamp", "comparison", "x < low", "(x <= low)"),
        (7, "clamp", "comparison", "x < low", "(x >= low)"),
        (8, "clamp", "return", "return low", "return None"),
        (9, "clamp", "return", "return x", "return None"),
        (13, "waits", "comparison", "n > 0", "(n >= 0)"),
        (13, "waits", "comparison", "n > 0", "(n <= 0)"),
        (13, "waits", "constant", "0", "1"),
        (14, "waits", "statement", "n -= 1", "pass"),
        (14, "waits", "arithmetic", "n -= 1", "n += 1"),
        (14, "waits", "constant", "1", "2"),
        (15, "waits", "comparison", "n < 0", "(n <= 0)"),
        (15, "waits", "comparison", "n < 0", "(n >= 0)"),
        (15, "waits", "constant", "0", "1"),
        (16, "waits", "statement", "raise ValueError(f'{n + 1} is below {0}')", "pass"),
        (17, "waits", "return", "return max(n, LIMIT)", "return None"),
        (17, "waits", "call", "max", "(min)"),
        (21, "opposite", "return", "return -x", "return None"),
        (21, "opposite", "sign", "-x", "(x)"),
        (25, "unused", "return", "return [x]", "return None"),
    }


def test_more_operators():
    source = """
def f(x, y):
    "Offsets are those of bytes."
    µ = x and not y  # nothing of a comment is changed: 3 > 2
    x[0] = 2 * y if y else [z for z in x if z]
    mind.note(x + y)
    return 1e200  # and one more is the same
"""
    found = {(m.operator, m.after) for m in mutants_of("m.py", source.encode())}
    assert found == {
        ("boolean", "(x or not y)"),
        ("sign", "(y)"),
        ("statement", "pass"),
        ("constant", "1"),
        ("constant", "3"),
        ("arithmetic", "(2 / y)"),
        ("arithmetic", "(2 + y)"),
        ("condition", "(not (y))"),
        ("condition", "(not (z))"),
    }


def test_every_mutant_of_the_core_is_python_and_has_an_id_of_its_own():
    ids = []
    for path in sorted((ROOT / "gim" / "paper" / "walks").glob("*.py")):
        source = path.read_bytes()
        for mutant in mutants_of(path.name, source):
            ast.parse(mutant.applied(source))
            assert mutant.applied(source) != source
            ids.append(mutant.id)
    assert len(ids) == len(set(ids)) > 300


def test_an_id_outlives_edits_elsewhere():
    before = find("(x <= low)").id
    moved = {m.id for m in mutants_of("gim/planning.py", b"import os\n" + TOY.encode())}
    assert before in moved
    edited = TOY.replace("return low", "return low + 0")
    assert before not in {m.id for m in mutants_of("gim/planning.py", edited.encode())}


# -- reach and fate


@pytest.mark.processes
def test_tests_that_reach_a_mutant_kill_it_or_not(toy, tmp_path, monkeypatch):
    scratch, reach = Scratch(toy), Reach(toy, tmp_path / "reach")
    file = toy / "tests" / "test_toy.py"
    try:
        assert reach.stale([file]) == [file]
        reach.trace(file, scratch)
        tests = {test.name.split("::")[1]: set(test.reach) for test in reach.tests}
        assert tests["test_clamp"] >= {"gim/planning.py clamp"}
        assert "gim/planning.py waits" not in tests["test_clamp"]
        assert sorted(tests) == ["test_clamp", "test_compiled_only", "test_waits"]  # that pass
        assert [t.name.split("::")[1] for t in reach.tests if t.compiled] == ["test_compiled_only"]

        def fate(mutant):
            return tool.judge(mutant, reach, scratch, 60)

        assert fate(find("(x >= low)")) == (KILLED, "tests/test_toy.py::test_clamp")
        assert fate(find("(x <= low)")) == (SURVIVED, "1 of 1 tests pass")
        assert fate(find("(x)")) == (KILLED, "tests/test_toy.py::test_compiled_only")
        assert fate(find("return None", before="[x]")) == (SURVIVED, "no test reaches it")
        assert fate(find("4")) == (KILLED, "tests/test_toy.py::test_waits")
        assert not scratch._warm  # these had a fresh start each
        scratch.warm_up(["tests/test_toy.py"])
        names = [test.name for test in reach.tests if not test.compiled]
        for mutant, expected in [
            (find("(x >= low)"), (KILLED, "tests/test_toy.py::test_clamp")),
            (find("(x <= low)"), (SURVIVED, "")),
            (find("(x >= low)"), (KILLED, "tests/test_toy.py::test_clamp")),  # as at first
            (find("(x >= low)")._replace(function="no_such"), (UNFIT, "")),  # none to exchange
        ]:
            assert scratch.warm(mutant, names, 60) == expected
        assert fate(find("(x >= low)")) == (KILLED, "tests/test_toy.py::test_clamp")
        assert fate(find("4")) == (KILLED, "tests/test_toy.py::test_waits")
        assert scratch.warm(find("pass", before="n -= 1"), names, 1).status == TIMEOUT
        scratch.warm_up(["tests/test_toy.py"], compiled=True)
        assert fate(find("(x)")) == (KILLED, "tests/test_toy.py::test_compiled_only")
        scratch.cool_down()
        monkeypatch.setattr(tool, "EXTRA", 1.0)  # for what never ends
        assert fate(find("pass", before="n -= 1")).status == TIMEOUT
        assert (scratch.root / "gim" / "planning.py").read_text() == TOY
    finally:
        scratch.close()
    assert not scratch.root.exists()
    assert (toy / "gim" / "planning.py").read_text() == TOY
    assert Reach(toy, tmp_path / "reach").stale([file]) == []
    (toy / "gim" / "planning.py").write_text(TOY + "\n")
    assert Reach(toy, tmp_path / "reach").stale([file]) == [file]


SLOW = """
import pytest

from gim.planning import clamp

@pytest.fixture(scope="module")
def study():
    while True:
        pass

def test_of_a_study(study):
    assert clamp(2) == 2

def test_without_it():
    assert clamp(2) == 2
"""


def test_fixtures_that_take_too_long_are_ended_as_tests_are(toy, tmp_path):
    file = toy / "tests" / "test_slow.py"
    file.write_text(SLOW)
    scratch, reach = Scratch(toy), Reach(toy, tmp_path / "reach", slow=0.1)
    try:
        reach.trace(file, scratch)
    finally:
        scratch.close()
    assert [test.name for test in reach.tests] == ["tests/test_slow.py::test_without_it"]


EXCHANGED = """
from contextlib import contextmanager
from functools import cache, cached_property


class Thing:
    def method(self):
        return 0 + 1

    @property
    def read(self):
        return 0 + 1

    @cached_property
    def kept(self):
        return 0 + 1

    @staticmethod
    def static():
        return 0 + 1

    @classmethod
    def of(cls):
        return 0 + 1


@cache
def remembered():
    return 0 + 1


@contextmanager
def within():
    x = 0 + 1
    yield x
"""


def test_code_is_exchanged_whatever_decorates_it(tmp_path, monkeypatch):
    (tmp_path / "exchanged.py").write_text(EXCHANGED)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("exchanged")
    found = mutants_of("exchanged.py", EXCHANGED.encode())
    for mutant in [m for m in found if m.operator == "constant" and m.before == "1"]:
        exchange(mutant.module, mutant.function, mutant.applied(EXCHANGED.encode()))
    thing = module.Thing()
    assert (thing.method(), thing.read, thing.kept, thing.static()) == (2, 2, 2, 2)
    assert module.Thing.of() == module.remembered() == 2
    with module.within() as got:
        assert got == 2
    monkeypatch.delitem(sys.modules, "exchanged")


@pytest.mark.processes
def test_a_run_is_kept_resumed_and_written_as_a_table(toy, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tool, "ROOT", toy)
    reasons, out = tmp_path / "reasons.toml", tmp_path / "out"
    reasons.write_text("[equivalent]\n[survivor]\n")
    monkeypatch.setattr(tool, "REASONS", reasons)
    clamp = [m for m in toy_mutants() if m.function == "clamp"]
    monkeypatch.setattr(tool, "mutants_of", lambda module, source: clamp)
    words = ["--only", "gim/planning.py", "--out", str(out)]
    assert tool.main([*words, "--sample", "2"]) == 0
    assert "4 mutants, 2 drawn, 2 to run" in capsys.readouterr().out
    with (out / "outcomes.jsonl").open("a") as file:
        file.write('{"id": "a run that was killed while it wro')
    assert tool.main(words) == 0
    assert "4 mutants, 4 drawn, 2 to run" in capsys.readouterr().out
    known = tool._outcomes(out / "outcomes.jsonl", again=False)
    assert sorted(outcome.status for outcome in known.values()) == [KILLED] * 3 + [SURVIVED]
    row = f"| {find('(x <= low)').id} | gim/planning.py:7 clamp | `x < low -> x <= low` |"
    text = (out / "table.md").read_text()
    assert "| all | 4 | 3 | 0 | 1 | 0 | 0.750 |" in text
    assert f"## Survivors\n\n| id | where | fault | |\n| --- | --- | --- | --- |\n{row}" in text
    reasons.write_text(f'[equivalent]\n{find("(x <= low)").id} = "low is low"\n[survivor]\n')
    assert tool.main([*words, "--again"]) == 0
    assert "0 to run" in capsys.readouterr().out
    text = (out / "table.md").read_text()
    assert "| all | 4 | 3 | 0 | 0 | 1 | 1.000 |" in text
    assert f"{row} low is low |" in text


def test_only_survivors_run_again(tmp_path):
    """A timeout is a kill: with fewer tests than before it might not be one."""
    kept, statuses = tmp_path / "outcomes.jsonl", (KILLED, TIMEOUT, SURVIVED)
    lines = [json.dumps({"id": each, "status": each, "test": ""}) for each in statuses]
    kept.write_text("\n".join(lines))
    assert set(tool._outcomes(kept, again=False)) == {*statuses}
    assert set(tool._outcomes(kept, again=True)) == {KILLED, TIMEOUT}


def test_a_mutant_is_shown_as_a_diff(capsys):
    (room,) = tool._modules("mdp/sampling")
    mutant = mutants_of(room, (ROOT / room).read_bytes())[0]
    assert tool.main(["--only", "mdp/sampling", "--show", mutant.id]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "--- gim/mdp/sampling.py"
    assert sum(line.startswith("+") for line in lines) == 2
    with pytest.raises(SystemExit, match="no room or file 'garage'"):
        tool.main(["--only", "garage"])


def test_copies_of_a_function_have_their_code_exchanged_too(tmp_path, monkeypatch):
    source = "def f():\n    return 0 + 1\n"
    (tmp_path / "copied.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    f = importlib.import_module("copied").f
    copy = FunctionType(f.__code__, {})
    exchange("copied.py", "f", source.replace("+", "-").encode())
    assert f() == copy() == -1
    monkeypatch.delitem(sys.modules, "copied")
