"""Experiments and claims of one's own: found by name, reported, and checked by the kits."""

import inspect
import itertools
import json
import math
import re
import textwrap
from pathlib import Path

import pytest

from gim.cli.command import parsers_of
from gim_lab.claims import claim
from gim_lab.claims.claim import Claim, Part, claims
from gim_lab.claims.ledger import ledger
from gim_lab.cli import reproduce
from gim_lab.experiments import experiment
from gim_lab.experiments.artefact import Figure, Panel, Series, Table
from gim_lab.experiments.catalogue import catalogue, chosen, groups
from gim_lab.experiments.cells import Cell
from gim_lab.experiments.experiment import LAST, Experiment, experiments
from gim_lab.experiments.scale import SCALES
from gim_lab.experiments.tables import means_table
from gim_lab.report.text import ledger_lines, ledger_markdown
from gim_lab.testing import check_claim, check_experiment
from gim_lab.testing.made_up import made_up_results
from tests.processes import PLAIN, python

ROOT = Path(__file__).parent.parent
HEAD = """
from gim_lab.experiments.cells import Cell
from gim_lab.claims.claim import states
from gim_lab.experiments.experiment import Experiment
from gim_lab.claims.parts import more
from gim_lab.experiments.tables import means_table
"""
COMMAND = "import sys, rivers; from gim.cli import main; sys.exit(main(sys.argv[1:]))"


def recipe(module):
    """The code in the docstring that says how to add one."""
    lines = inspect.getdoc(module).split("::\n")[1].splitlines()
    inside = [line for line in lines if not line or line.startswith("    ")]
    return textwrap.dedent("\n".join(inside))


@pytest.fixture
def plugin(tmp_path):
    """A folder with a module that has both recipes."""
    code = HEAD + recipe(experiment) + "\n" + recipe(claim)
    (tmp_path / "rivers.py").write_text(code)
    return tmp_path


def test_help_and_the_page_name_every_group_and_every_study():
    """A study that is one experiment, in a file or folder of its own, has no group."""
    every = catalogue().values()
    rooms = {each: type(each).__module__.split(".")[2] for each in every}
    grouped = {rooms[each] for each in every if each.groups}
    alone = {each.key for each in every if not each.groups and rooms[each] not in grouped}
    wanted = {*groups(), *alone}
    assert {"paper", "demo", "logs", "scoreboard"} <= wanted
    option = next(a for a in parsers_of()["reproduce"]._actions if a.dest == "artefacts")
    page = (ROOT / "docs" / "laboratory.md").read_text()
    rows = [row.split("|")[1] for row in page.splitlines() if "| `gim_lab/experiments/" in row]
    assert wanted <= set(re.findall(r"\w+", option.help))
    assert wanted <= set(re.findall(r"`(\w+)`", reproduce.__doc__))
    assert wanted == {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def test_the_recipes_are_found_run_reported_and_judged(plugin):
    out = plugin / "out"
    words = ["reproduce", "rivers", "--scale", "smoke", "--engine", "serial", "--out", str(out)]
    done = python("-c", COMMAND, *words, folder=plugin, **PLAIN)
    assert done.returncode == 0, done.stderr
    assert "the length of the river" in done.stdout
    assert "PSRL gains more than RMax, however long the river." in done.stdout
    (entry,) = json.loads((out / "ledger.json").read_text())
    assert entry["key"] == "far_end"
    assert [part["what"] for part in entry["judgements"][""]["parts"]] == ["length 15"]
    assert "<h3>The question</h3>" in (out / "report.html").read_text()


def test_the_recipes_pass_the_kits(plugin):
    code = "import rivers; from gim_lab.testing import *; "
    code += "check_experiment(rivers.Lengths(), play=1); check_claim(rivers.far_end())"
    done = python("-c", code, folder=plugin, **PLAIN)
    assert done.returncode == 0, done.stderr


# -- the kits find what is wrong


@pytest.fixture(autouse=True)
def registries(monkeypatch):
    """What a test registers is forgotten afterwards."""
    for registry in (experiments, claims):
        registry.names()
        registry.find()
        monkeypatch.setattr(registry, "_made", dict(registry._made))


def river(setting="", agent="Random", seeds=(0, 1), x=0.0):
    return Cell.of(setting, "RiverSwim", agent, "riverswim", "random", 20, seeds, x)


class Sound:
    """What the faulty ones below share; registered only together with `Experiment`."""

    title, statement = "Study: sound", "It is sound."

    def cells(self, scale):
        return [river()]

    def analyse(self, results):
        table = means_table(results, self.cells(results.scale), "", "score", "Scores")
        return self.artefact(tables=[table])


def test_a_sound_one_passes_and_stands_last():
    class Mine(Sound, Experiment):
        names = ("my_own",)
        groups = ("all_of_mine",)

    check_experiment(Mine())
    assert Mine.place == LAST
    assert list(catalogue())[-1] == Mine.key == "mine"
    assert [each.key for each in chosen(["my-own"])] == [Mine.key]


def test_two_cells_in_one_place():
    class Twice(Sound, Experiment):
        def cells(self, scale):
            return [river(), river()]

    with pytest.raises(AssertionError, match="two cells at"):
        check_experiment(Twice())


def test_cells_that_change_between_calls():
    calls = itertools.count()

    class Fickle(Sound, Experiment):
        def cells(self, scale):
            return [river(x=float(next(calls)))]

    with pytest.raises(AssertionError, match="cells differ between calls"):
        check_experiment(Fickle())


def test_an_analysis_that_crashes_on_missing_runs():
    class Brittle(Sound, Experiment):
        def analyse(self, results):
            (cell,) = self.cells(results.scale)
            scores = results.table.column("score").tolist()
            rows = [[scores[results.row(trial)]] for trial in cell.trials]
            return self.artefact(tables=[Table("t", ["score"], rows)])

    with pytest.raises(AssertionError, match="crashes where runs are missing"):
        check_experiment(Brittle())


def test_an_artefact_is_plain_data():
    class Arrays(Sound, Experiment):
        def analyse(self, results):
            (cell,) = self.cells(results.scale)
            return self.artefact(tables=[Table("t", ["scores"], [[results.values(cell, "score")]])])

    with pytest.raises(AssertionError, match="Object of type ndarray"):
        check_experiment(Arrays())


def test_an_analysis_that_looks_at_the_order_of_results():
    class Ordered(Sound, Experiment):
        def analyse(self, results):
            first = results.table.columns.get("seed", ["none"])[0]
            return self.artefact(tables=[Table("t", ["seed"], [[str(first)]])])

    with pytest.raises(AssertionError, match="the same results in another order"):
        check_experiment(Ordered())


def test_a_nan_in_a_figure():
    class Gap(Sound, Experiment):
        def analyse(self, results):
            y = float(results.values(self.cells(results.scale)[0], "score").mean())
            line = Series("a", [0.0], [y])
            return self.artefact(figures=[Figure("f", "t", [Panel("p", "x", "y", [line])])])

    with pytest.raises(AssertionError, match="None leaves a gap"):
        check_experiment(Gap())


def test_a_group_may_not_have_the_name_of_an_experiment():
    class Grouped(Sound, Experiment):
        groups = ("grouped",)

    with pytest.raises(AssertionError, match="is the name of a group"):
        check_experiment(Grouped())


class Stated:
    statement, source, rule, needs = "S.", "Here", "So.", ("fig3",)


def test_a_claim_that_holds_on_nothing_is_found():
    class Rash(Stated, Claim):
        def check(self, results, setting):
            runs = self.runs(results, setting)
            mean = runs.sweep("rank 2", "GIM", "score").mean()
            return [Part("high", not mean < 0.5, f"{mean:.3f}")]

    with pytest.raises(AssertionError, match="holds although nothing was run"):
        check_claim(Rash())


def test_a_claim_without_parts_or_with_an_unknown_experiment():
    class Empty(Stated, Claim):
        def check(self, results, setting):
            return []

    with pytest.raises(AssertionError, match="no parts"):
        check_claim(Empty())

    class Lost(Stated, Claim):
        needs = ("fig99",)

        def check(self, results, setting):
            return [Part("x", True, "1")]

    with pytest.raises(ValueError, match="unknown experiment 'fig99'"):
        check_claim(Lost())


def test_a_claim_under_a_setting_of_its_own_leaves_the_others_empty():
    class Mine(Stated, Claim, name="mine_alone"):
        settings = ("tuned",)

        def check(self, results, setting):
            return [Part("x", True, "1")]

    entries = ledger(made_up_results(chosen(["fig3"]), SCALES["smoke"]), ["fig3"])
    short = ledger_markdown(entries, in_full=False).splitlines()
    assert short[0] == "| claim | where | authors' settings | fair settings | tuned |"
    assert short[-1] == "| S. | Here |  |  | holds (1 of 1) |"
    assert "tuned" in ledger_lines(entries)
    assert "Tuned: **holds** (1 of 1)" in ledger_markdown(entries)


def test_missing_runs_are_gaps_in_curves_and_lengths():
    results = made_up_results(chosen(["fig3"]), SCALES["smoke"])
    cell = chosen(["fig3"])[0].cells(SCALES["smoke"])[0]
    # seed 0 is gone
    results._row = {key: row for key, row in results._row.items() if key.endswith("/1")}
    episode, runs = results.curves(cell, "cumulative")
    assert runs.shape == (2, episode.size)
    assert math.isnan(runs[0, 0])
    assert runs[1, -1] == 9.0 * episode[-1]
    assert [math.isnan(x) for x in results.lengths(cell)] == [True, False]
