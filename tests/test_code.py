"""A store that knows its code: an edit runs again exactly the trials that it may change."""

import abc
import ast
import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import gymnasium
import pytest
from gim.agent import agents
from gim.experiments.code import Code, code_of, reason, told
from gim.experiments.execute import grid
from gim.experiments.trial import FORMAT
from gim.registry import Registry
from gim.source import locate

import gim
from gim import files
from gim.agents.random import Random
from gim.experiments import Store, Trial, execute, run_trial
from gim.inference.candidates import candidates

ROOT = Path(__file__).parent.parent
AGENTS = ["rmax:m=2", "q_learning", "gim:m=2", "gim:m=2,exploration=uniform", "psrl:infer=analogy"]
TASKS = ["riverswim", "casinoland"]
# Which trials are asked for: those that are run, and what is said about it.
SCRIPT = f"""
import json, sys, warnings
from gim.experiments import execute
from gim.experiments.execute import grid
{{imports}}
trials = grid({TASKS!r}, {AGENTS!r} + {{more!r}}, 3, [0])
ran = []
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    execute(trials, sys.argv[1], engine="serial", progress=ran.append)
done = sorted(status.result.columns["id"] for status in ran if status.result is not None)
said = [str(each.message) for each in caught]
print(json.dumps([done, [text for text in said if "run again" in text]]))
"""


class Scratch:
    """A copy of gim that may be edited, and a store that its trials go to."""

    def __init__(self, folder):
        self.folder, self.imports, self.more = folder, "", []
        quiet = shutil.ignore_patterns("*.nbi", "*.nbc", "cli")  # bytecode saves time
        shutil.copytree(ROOT / "gim", folder / "gim", ignore=quiet)

    def edit(self, path, old, new):
        file = self.folder / path
        text = file.read_text()
        assert text.count(old) >= 1, f"{path} does not hold {old!r}"
        file.write_text(text.replace(old, new, 1))

    def append(self, path, line):
        with (self.folder / path).open("a") as file:
            file.write(f"\n{line}\n")

    def play(self):
        """The ids of the trials that were run, and the reasons that were given."""
        code = SCRIPT.format(imports=self.imports, more=self.more)
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


def test_what_is_not_code_runs_nothing_again(scratch):
    scratch.edit("gim/agents/rmax.py", '"""', '"""Another docstring. ')
    scratch.edit("gim/loop.py", "from __future__", "# a comment\n\nfrom __future__")
    scratch.edit("gim/agents/q_learning.py", "memory: Any", "memory: object")
    assert scratch.play() == [[], []]


def test_an_edited_agent_runs_exactly_its_trials_again(scratch):
    before = (scratch.folder / "gim/agents/rmax.py").read_text()
    scratch.append("gim/agents/rmax.py", "EDITED = 1")
    assert scratch.play() == [
        ids("rmax:m=2"),
        ["2 trials run again: gim/agents/rmax.py has changed"],
    ]
    assert scratch.play() == [[], []]
    (scratch.folder / "gim/agents/rmax.py").write_text(before)
    assert scratch.play() == [[], []]  # what the code of before has made is still there


@pytest.mark.parametrize(
    ("path", "agents", "tasks"),
    [
        ("gim/exploration/uniform.py", ["gim:m=2,exploration=uniform"], TASKS),
        ("gim/inference/analogy.py", ["psrl:infer=analogy"], TASKS),
        ("gim/inference/candidates/means.py", ["psrl:infer=analogy"], TASKS),
        ("gim/envs/casinoland.py", AGENTS, ["casinoland"]),
        ("gim/loop.py", AGENTS, TASKS),
        ("gim/experiments/measures.py", AGENTS, TASKS),
        ("gim/agents/delayed_q_learning.py", [], TASKS),
        ("gim/__init__.py", [], TASKS),
        ("gim/experiments/ledger.py", [], TASKS),
    ],
)
def test_an_edit_reaches_what_imports_it(scratch, path, agents, tasks):
    scratch.append(path, "EDITED = 1")
    ran, why = scratch.play()
    assert ran == ids(*agents, tasks=tasks)
    assert why == [f"{len(ran)} trials run again: {path} has changed"] * bool(ran)


PLUGIN = """
from dataclasses import dataclass
import gim
from helper import CHOICE

@dataclass(frozen=True)
class Mine(gim.Random, name="mine"):
    "An agent of one's own."
"""


def test_an_agent_outside_gim_is_followed_as_well(scratch):
    (scratch.folder / "plugin.py").write_text(PLUGIN)
    (scratch.folder / "helper.py").write_text("CHOICE = 0\n")
    scratch.imports, scratch.more = "import plugin", ["mine"]
    mine = sorted(f"{task}/mine/3/0" for task in TASKS)
    assert scratch.play() == [mine, []]
    (scratch.folder / "helper.py").write_text("CHOICE = 1\n")
    assert scratch.play() == [mine, ["2 trials run again: helper.py has changed"]]
    scratch.append("gim/agents/random.py", "EDITED = 1")  # the class that it derives from
    assert scratch.play() == [mine, ["2 trials run again: gim/agents/random.py has changed"]]


# -- in one process


def test_the_code_of_a_trial_is_what_its_parts_reach():
    modules = code_of("gim:completion=als", "synthetic").modules
    assert {"gim.agents.gim", "gim.model.completion.als", "gim.envs.synthetic"} <= set(modules)
    assert {"gim.loop", "gim.sampling", "gim.experiments.measures"} <= set(modules)
    for other in ("gim.agents.rmax", "gim.envs.riverswim", "gim.model.completion.svt", "gim"):
        assert other not in modules
    assert "gim.exploration.planned" in code_of("gim:exploration=planned", "synthetic").modules
    plain, inferring = (code_of(f"psrl{more}", "synthetic") for more in ("", ":infer=analogy"))
    certified = "gim.experiments.certified"
    assert certified in inferring.modules
    assert certified not in plain.modules


def test_whoever_draws_on_a_whole_registry_is_made_of_all_its_members():
    modules = code_of("analogist", "synthetic").modules
    for name in candidates.names():
        assert candidates[name].__module__ in modules
    assert "gim.inference.candidates.means" not in code_of("ucbvi", "synthetic").modules


def test_no_other_code_lists_the_members_of_a_registry():
    """What a trial is made of is read from imports: a list by name must be told to it.

    `draws_on` tells of the candidates; `gim.worlds` lists tasks in an error message only.
    """
    found, reached = set(), set()
    for agent in agents.names():
        reached |= set(code_of(agent, "synthetic").modules)
    for name in reached:
        for node in ast.walk(ast.parse(locate(name).read_text())):
            if isinstance(node, ast.Attribute) and node.attr == "names":
                listed = getattr(sys.modules.get(name), getattr(node.value, "id", ""), None)
                if isinstance(listed, Registry):
                    found.add((name, listed.kind))
    assert found == {("gim.inference.candidates.base", "candidate"), ("gim.worlds", "task")}


def test_versions_count_of_what_computes():
    assert set(code_of("random", "riverswim").versions) == {"python", "numpy", "scipy", "numba"}
    foreign = code_of("random", "FrozenLake-v1")
    assert foreign.versions["gymnasium"] == gymnasium.__version__
    assert not any(name.startswith("gymnasium") for name in foreign.modules)
    ours = code_of("random", "gim/RiverSwim-v0")
    assert "gim.envs.riverswim" in ours.modules


def test_what_has_no_source_is_never_the_same(monkeypatch):
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
    monkeypatch.setattr(agents, "_made", dict(agents._made))

    class Based(Random, abc.ABC, name="based_on_abc"):
        pass

    code = code_of("based_on_abc", "riverswim")
    assert "abc" not in code.modules
    assert __name__ in code.modules


def test_reasons_in_words():
    now = Code("x", {"gim.a": "1", "gim.b": "2", "gim.agents": "3"}, {"numpy": "2", "python": "3"})
    same = dict(now.modules), dict(now.versions)
    assert reason(now, *same) == ""
    assert reason(now, now.modules | {"gim.a": "0"}, now.versions) == "gim/a.py has changed"
    both = now.modules | {"gim.a": "0", "gim.agents": "0"}
    assert reason(now, both, now.versions) == "gim/a.py and gim/agents/__init__.py have changed"
    assert reason(now, now.modules, {"numpy": "1", "python": "3"}) == "numpy is 2, was 1"
    assert reason(now, now.modules | {"gim.c": "4"}, now.versions) == "gim/c.py has changed"
    assert reason(now, now.modules, now.versions | {"torch": "9"}) == "it uses other packages"
    many = Code("x", {f"gim.m{i}": "1" for i in range(6)}, {})
    changed = dict.fromkeys(many.modules, "0")
    assert reason(many, changed, {}) == "gim/m0.py, gim/m1.py, gim/m2.py and 3 more have changed"
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
    code["modules"]["gim.agents.random"] = "0"


def test_other_code_is_run_again_and_reported_on_with_a_note(tmp_path):
    before = execute(TRIALS, tmp_path, engine="serial")
    renamed(tmp_path, TRIALS[3], older)
    changed = "gim/agents/random.py has changed"
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
    assert "gim.agents.random" in modules
    assert "gim.envs.riverswim" not in modules
