"""A store that knows its code: an edit runs again the trials that it may change."""

import abc
import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import gymnasium
import pytest

import gim
from gim._base import files
from gim.agents.random import Random
from gim.runs.agent import agents
from gim_lab import Store, Trial, execute, run_trial
from gim_lab.trials.code import ROOMS, Code, code_of, reason, told
from gim_lab.trials.execute import grid
from gim_lab.trials.trial import FORMAT

ROOT = Path(__file__).parent.parent
AGENTS = ["rmax:m=2", "q_learning", "gim:m=2", "gim:m=2,exploration=uniform", "psrl:infer=analogy"]
TASKS = ["riverswim", "casinoland"]
# Which trials are asked for: those that are run, and what is said about it.
SCRIPT = f"""
import json, sys, warnings
from gim_lab import execute
from gim_lab.trials.execute import grid
{{imports}}
trials = grid({TASKS!r}, {AGENTS!r} + {{more!r}}, 3, [0])
ran = []
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    execute(trials, sys.argv[1], engine="serial", progress=ran.append, keep={{keep}})
done = sorted(status.result.columns["id"] for status in ran if status.result is not None)
said = [str(each.message) for each in caught]
print(json.dumps([done, [text for text in said if "run again" in text]]))
"""


class Scratch:
    """A copy of gim that may be edited, and a store that its trials go to."""

    def __init__(self, folder):
        self.folder, self.imports, self.more = folder, "", []
        quiet = shutil.ignore_patterns("*.nbi", "*.nbc")  # bytecode saves time
        for package in ("gim", "gim_lab"):
            shutil.copytree(ROOT / package, folder / package, ignore=quiet)

    def edit(self, path, old, new):
        file = self.folder / path
        text = file.read_text()
        assert text.count(old) >= 1, f"{path} does not hold {old!r}"
        file.write_text(text.replace(old, new, 1))

    def append(self, path, line):
        with (self.folder / path).open("a") as file:
            file.write(f"\n{line}\n")

    def play(self, keep=False):
        """The ids of the trials that were run, and the reasons that were given."""
        code = SCRIPT.format(imports=self.imports, more=self.more, keep=keep)
        done = subprocess.run(
            [sys.executable, "-c", code, str(self.folder / "store")],
            env=os.environ | {"PYTHONPATH": str(self.folder), "NUMBA_DISABLE_JIT": "1"},
            cwd=self.folder,  # which Python looks at first
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])


def ids(*agents, tasks=TASKS):
    return sorted(trial.id for trial in grid(tasks, agents, 3, [0]))


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Every trial has been run once."""
    scratch = Scratch(tmp_path_factory.mktemp("scratch"))
    assert scratch.play() == [ids(*AGENTS), []]
    return scratch.folder


@pytest.fixture
def scratch(played, tmp_path):
    made = Scratch(tmp_path / "copy")
    shutil.copytree(played / "store", made.folder / "store")
    return made


def test_an_edited_room_runs_all_again_unless_other_code_is_trusted(scratch):
    before = (scratch.folder / "gim/agents/rmax.py").read_text()
    scratch.append("gim/agents/rmax.py", "EDITED = 1")
    assert scratch.play(keep=True) == [[], []]
    everything = ids(*AGENTS)
    why = [f"{len(everything)} trials run again: gim/agents has changed"]
    assert scratch.play() == [everything, why]
    (scratch.folder / "gim/agents/rmax.py").write_text(before)
    assert scratch.play() == [[], []]  # what the code of before has made is still there


def test_what_computes_counts_and_nothing_else(scratch):
    scratch.edit("gim/agents/rmax.py", '"""', '"""Another docstring. ')
    scratch.edit("gim/runs/loop.py", "from __future__", "# a comment\n\nfrom __future__")
    scratch.edit("gim/agents/q_learning.py", "\n\n\n", "\n\n\n\n")
    for path in ("gim/cli/train.py", "gim/__init__.py", "gim_lab/claims/ledger.py"):
        scratch.append(path, "EDITED = 1")
    assert scratch.play() == [[], []]
    for path in ("gim/paper/walks/uniform.py", "gim_lab/trials/measures.py"):
        scratch.append(path, "EDITED = 1")
    ran, why = scratch.play()
    assert ran == ids(*AGENTS)
    assert why == [f"{len(ran)} trials run again: gim/paper and gim_lab/trials have changed"]


PLUGIN = """
from dataclasses import dataclass
import gim

@dataclass(frozen=True)
class Mine(gim.Random, name="mine"):
    "An agent of one's own."

    def begin(self, *args, **kwargs):
        from helper import CHOICE
        return super().begin(*args, **kwargs)
"""


def test_an_agent_outside_gim_is_followed_as_well(scratch):
    (scratch.folder / "plugin.py").write_text(PLUGIN)
    (scratch.folder / "helper.py").write_text("CHOICE = 0\n")
    scratch.imports, scratch.more = "import plugin", ["mine"]
    mine = sorted(f"{task}/mine/3/0" for task in TASKS)
    assert scratch.play() == [mine, []]
    (scratch.folder / "helper.py").write_text("CHOICE = 1\n")
    assert scratch.play() == [mine, ["2 trials run again: helper.py has changed"]]


# -- in one process


def test_the_code_of_a_trial_is_that_of_all_rooms_that_compute():
    modules = code_of("gim:completion=als", "synthetic").modules
    found = {name for name in modules if "/" in name}
    assert found == {*ROOMS, "gim_lab/trials"}
    others = {"_base", "plot", "testing", "cli"}  # they compute nothing
    folders = {path.parent.name for path in (ROOT / "gim").glob("*/__init__.py")}
    assert {f"gim/{folder}" for folder in folders - others} == {*ROOMS}


def test_what_measures_in_the_place_of_an_agent_counts():
    name = "gim_lab/experiments/logs"
    modules = code_of("gim_lab.experiments.logs.from_log.FromLog:size=20", "riverswim").modules
    assert name in modules
    assert name not in code_of("random", "riverswim").modules
    old = code_of("gim.experiments.logs.from_log.FromLog:size=20", "riverswim")  # up to 0.2.0.dev0
    assert old.modules == modules


def test_versions_count_of_what_computes():
    assert set(code_of("random", "riverswim").versions) == {"python", "numpy", "scipy", "numba"}
    foreign = code_of("random", "FrozenLake-v1")
    assert foreign.versions["gymnasium"] == gymnasium.__version__
    assert foreign.modules == code_of("random", "riverswim").modules


def test_what_has_no_source_is_never_the_same(monkeypatch):
    agents.find()
    monkeypatch.setattr(agents, "_made", dict(agents._made))

    class Typed(Random, name="typed_into_a_console"):
        pass

    monkeypatch.setattr(Typed, "__module__", "nowhere")
    before = code_of("typed_into_a_console", "riverswim")
    assert code_of("typed_into_a_console", "riverswim") == before
    assert "nowhere:" in next(name for name in before.modules if name.startswith("nowhere"))
    agents._made.pop("typed_into_a_console")
    again = type("Typed", (Random,), {"__module__": "nowhere"}, name="typed_into_a_console")
    assert code_of("typed_into_a_console", "riverswim").digest != before.digest
    assert again.__mro__[1] is Random


def test_classes_of_the_standard_library_are_no_parts(monkeypatch):
    agents.find()
    monkeypatch.setattr(agents, "_made", dict(agents._made))

    class Based(Random, abc.ABC, name="based_on_abc"):
        pass

    code = code_of("based_on_abc", "riverswim")
    assert not any("abc" in name for name in code.modules)
    assert __name__.replace(".", "/") + ".py" in code.modules


def test_reasons_in_words():
    now = Code("x", {"gim/a": "1", "gim/b": "2", "my.py": "3"}, {"numpy": "2", "python": "3"})
    assert reason(now, {"gim.runs": "1"}, {}) == "it was made by gim 0.2.0.dev0 or earlier"
    assert reason(now, now.modules, now.versions) == ""
    assert reason(now, now.modules | {"gim/a": "0"}, now.versions) == "gim/a has changed"
    both = now.modules | {"gim/a": "0", "my.py": "0"}
    assert reason(now, both, now.versions) == "gim/a and my.py have changed"
    assert reason(now, now.modules, {"numpy": "1", "python": "3"}) == "numpy is 2, was 1"
    assert reason(now, now.modules | {"c.py": "4"}, now.versions) == "c.py has changed"
    assert reason(now, now.modules, now.versions | {"torch": "9"}) == "it uses other packages"
    many = Code("x", {f"m{i}.py": "1" for i in range(6)}, {})
    changed = dict.fromkeys(many.modules, "0")
    assert reason(many, changed, {}) == "m0.py, m1.py, m2.py and 3 more have changed"
    assert told(["b", "a", "b"]) == ["2 trials run again: b", "1 trial run again: a"]


# -- what other code has made

TRIALS = grid(["riverswim"], ["q_learning", "random"], 5, range(2))


def renamed(folder, trial, change):
    """As if a result had been stored by other code: `change` edits what is recorded of it."""
    path = Store(folder).path(trial)
    saved = files.load(path, "trial")
    meta = saved.meta
    change(meta["code"])
    meta["digest"] = f"{trial.key}-{'0' * 16}"
    files.save(path.with_stem(meta["digest"]), "trial", saved.arrays, meta)
    path.unlink()


def older(code):
    code["modules"]["gim/agents"] = "0"


def test_other_code_is_run_again_and_reported_on_with_a_note(tmp_path):
    before = execute(TRIALS, tmp_path, engine="serial")
    renamed(tmp_path, TRIALS[3], older)
    changed = "gim/agents has changed"
    with pytest.warns(UserWarning, match=f"1 of 4 results are of other code: {changed}"):
        assert len(Store(tmp_path).results()) == 4
    found, notes = Store(tmp_path).find(TRIALS)
    assert None not in found
    assert notes == [f"1 of 4 results are of other code: {changed}"]
    with pytest.warns(UserWarning, match=f"1 trial run again: {changed}"):
        after = execute(TRIALS, tmp_path, engine="serial")
    assert after.same_bits(before)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(Store(tmp_path).results()) == 4  # today's stands for both
        assert len(list(Store(tmp_path).trials.iterdir())) == 5
        assert execute(TRIALS, tmp_path, engine="serial").same_bits(before)


def test_another_version_of_a_package_is_said(tmp_path):
    execute(TRIALS, tmp_path, engine="serial")
    for trial in TRIALS:
        renamed(tmp_path, trial, lambda code: code["versions"].update(numpy="1.0"))
    with pytest.warns(UserWarning, match=r"4 trials run again: numpy is .*, was 1\.0"):
        execute(TRIALS, tmp_path, engine="serial")


def test_results_of_0_1_0_are_refused_in_one_line(tmp_path):
    """They are named by 32 digits alone, and hold no code."""
    trial = TRIALS[0]
    arrays, columns = run_trial(trial).pack()
    name = "0123456789abcdef" * 2
    (tmp_path / "trials").mkdir()
    meta = {"format": 2, "trial": {}, "digest": name, "columns": columns}
    files.save(tmp_path / "trials" / f"{name}.npz", "trial", arrays, meta)
    said = "holds 1 results of gim 0.1.0, which did not record its code: they are not used"
    with pytest.warns(UserWarning, match=said) as caught:
        assert len(Store(tmp_path).results()) == 0
    assert len(caught) == 1
    with pytest.warns(UserWarning, match=said) as caught:
        execute([trial], tmp_path, engine="serial")
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        execute([trial], tmp_path, engine="serial")  # nothing is run: nothing is said


def test_the_record_is_kept_with_each_result(tmp_path):
    execute(TRIALS[:1], tmp_path, engine="serial")
    (path,) = Store(tmp_path).trials.iterdir()
    meta = files.load(path, "trial").meta
    assert path.stem == meta["digest"] == TRIALS[0].digest
    assert meta["format"] == FORMAT
    code = TRIALS[0].code
    assert meta["code"] == {"modules": code.modules, "versions": code.versions}


def test_a_saved_mdp_has_no_code_of_its_own(tmp_path):
    gim.make("riverswim").save(tmp_path / "river.npz")
    modules = Trial(str(tmp_path / "river.npz"), "random", 3, 0).code.modules
    assert modules == Trial("riverswim", "random", 3, 0).code.modules
