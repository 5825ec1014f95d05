"""The one page of all benchmarks, and the curves that it draws."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from benchmarks import __main__ as bench
from benchmarks import (
    calibration,
    large_gim,
    large_learner,
    log_bounds,
    sparse_planning,
    versions,
)


def made_up(monkeypatch, name, missed):
    part = ModuleType(f"benchmarks.{name}", f"What {name} measures.\n\nAt length.")
    part.main = lambda: print(f"table of {name}") or missed
    part.SHOWN = Path(f"somewhere/{name}.png")
    monkeypatch.setitem(sys.modules, f"benchmarks.{name}", part)


def test_what_the_parts_print_stands_on_one_page(monkeypatch, tmp_path, capsys):
    made_up(monkeypatch, "one", 0)
    made_up(monkeypatch, "two", 1)
    monkeypatch.setattr(bench, "PAGE", tmp_path / "deep" / "page.md")
    monkeypatch.setattr(sys, "argv", ["bench", "one", "two"])
    assert bench.main() == 1
    page = (tmp_path / "deep" / "page.md").read_text("utf-8")
    for name in ("one", "two"):
        assert f"## {name}\n\nWhat {name} measures. `python -m benchmarks.{name}`" in page
        assert f"```text\ntable of {name}\n```" in page
        assert f"![{name}]({name}.png)" in page
    assert page.endswith("targets missed in: two\n")
    assert "table of one" in capsys.readouterr().out


def test_every_part_is_there():
    for part in bench.PARTS:
        assert (Path(bench.__file__).parent / f"{part}.py").exists(), part


def test_the_reference_of_sparse_planning_is_the_optimum():
    mdp = sparse_planning.random_sparse(30, 4, A=3, paying=0.5)
    assert mdp.transitions.nnz <= 30 * 3 * 4
    exact = mdp.plan(0.99, tolerance=1e-10, method="policy_iteration").v
    assert np.abs(sparse_planning.optimum(mdp, 0.99) - exact).max() <= sparse_planning.ERROR / 10


@pytest.mark.filterwarnings("ignore:.*never had a known action")
def test_the_large_run_tells_its_phases_and_its_gap(monkeypatch, capsys):
    monkeypatch.setattr(large_gim, "TRIALS", 2)
    large_gim.main(20, 0)
    told = capsys.readouterr().out
    assert "400 states" in told
    for word in (
        "interacting",
        "completing",
        "planning",
        "states never left",
        "gap (< 5%)",
        "above 5%",
    ):
        assert word in told


def test_the_large_learner_is_timed_beside_its_twin_and_alone(monkeypatch, capsys):
    monkeypatch.setattr(large_learner, "ALONE", 6)
    assert large_learner.main("shared_factors:S=6,A=3", 10) in (0, 1)  # a time: no promise
    told = capsys.readouterr().out
    assert "twin" in told
    assert told.count("share of the optimum") == 1
    assert large_learner.main("shared_factors:S=7,A=3", 10) == 0  # alone: memory is all there is
    assert "twin" not in capsys.readouterr().out


def test_the_calibration_goes_on_where_it_was(monkeypatch, tmp_path, capsys):
    file = tmp_path / "deep" / "kept.csv"
    given = ["riverswim", "--episodes", "20", "--runs", "2", "--kept", str(file)]
    given += ["--keep", str(tmp_path / "runs")]
    assert calibration.main(given) == 0
    first = calibration.kept(file)
    assert [(place.world, place.episodes, place.seed) for place in first] == [
        ("riverswim", 20, 7100),
        ("riverswim", 20, 7101),
    ]
    told = capsys.readouterr()
    assert told.err.count("riverswim 20") == 2
    for kind in ("credible", "guaranteed"):
        assert f"{kind}\n" in told.out

    def again(*_):
        raise AssertionError("a run that is kept is not played again")

    monkeypatch.setattr(calibration.gim, "run", again)
    file.write_text(file.read_text()[:-30])  # stopped in the middle of a line
    assert list(calibration.kept(file)) == list(first)[:1]
    assert calibration.main([*given, "--table"]) == 0
    assert not capsys.readouterr().err
    assert calibration.main(given) == 0
    assert capsys.readouterr().err.count("riverswim 20 7101") == 1
    for place, found in calibration.kept(file).items():
        for name, value in found.items():
            same = value == first[place][name] or np.isnan([value, first[place][name]]).all()
            assert same or name == "seconds", name


def test_a_star_marks_what_is_below_nominal_by_two_standard_errors():
    below = np.array([0.8, 0.82, 0.81, np.nan])
    assert calibration.text("coverage", below) == "0.810 (0.006)*"
    assert calibration.text("coverage", np.array([0.7, 1.0])) == "0.850 (0.150)"
    assert calibration.text("loss_kept", np.array([1.0, 0.0])) == "0.500 (0.500)"
    assert calibration.text("tightness", np.array([1.0, 3.0, 50.0])) == "3"
    assert calibration.text("largest", np.array([0.1, 0.02])) == "0.1"
    assert calibration.text("coverage_unmet", np.array([np.nan])) == "-"


def test_a_version_plays_what_it_is_asked_to(tmp_path):
    version = versions.Version(versions.ROOT, tmp_path)
    try:
        assert version.rate("random", "riverswim", 200) > 0
        assert any(tmp_path.iterdir())  # compiled there, and nowhere else
        with pytest.raises(SystemExit, match="nobody does not play in riverswim"):
            version.rate("nobody", "riverswim", 200)
    finally:
        version.close()


def test_bounds_on_logs_are_counted_on_both_sides(capsys):
    """Of 36 logs two standard errors at 90 % are .1: six may miss, eight may not."""
    found = np.tile([2.0, 1.0, 3.0, 4.0], (36, 1))  # value, lower, upper, optimum
    found[:3, 0], found[3:6, 0] = 0.5, 3.5
    row = ["a store", "500", "36", "3", "30", "3", "0.833", "0.50", "holds"]
    assert log_bounds.row_of("a store", "500", found) == row
    found[6:8, 0] = 3.5
    assert log_bounds.row_of("a store", "500", found)[-3:] == ["0.778", "0.50", "fails"]
    assert log_bounds.main(["random_mdp_0.9", "--size", "10", "--logs", "2", "--first", "3"]) == 0
    assert capsys.readouterr().out.count("random_mdp_0.9") == 2
    with pytest.raises(SystemExit):
        log_bounds.main(["nowhere"])
    assert "'nowhere' is no place: wet_chicken, " in capsys.readouterr().err
