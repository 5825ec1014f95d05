import math
import re

import numpy as np
import pytest

from gim.agents.gim import GIM
from gim.envs import tasks
from gim.envs.worlds import world_of
from gim.runs.agent import agents
from gim_lab.experiments.catalogue import catalogue, chosen, groups
from gim_lab.experiments.cells import ResultsByCell, pick
from gim_lab.experiments.experiment import cells_of, experiments
from gim_lab.experiments.figures import curves_figure, sweep_figure
from gim_lab.experiments.paper import properties, table1
from gim_lab.experiments.paper.settings import spec_under
from gim_lab.experiments.reproduction import trials_of
from gim_lab.experiments.scale import SCALES
from gim_lab.experiments.settings import AUTHORS, FAIR
from gim_lab.experiments.tables import means_table, sweep_point
from gim_lab.testing import check_experiment
from gim_lab.testing.made_up import made_up_results
from gim_lab.trials.execute import execute
from gim_lab.trials.spec import parameter

PAPER, SMOKE = SCALES["paper"], SCALES["smoke"]
KEYS = groups()["all"]
SHOWN = groups()["paper"]


def test_every_artefact_is_found_in_the_papers_order():
    every = list(catalogue())
    assert every[: len(KEYS)] == KEYS
    assert KEYS[: len(SHOWN)] == SHOWN
    for kind in ("Table", "Figure"):
        titles = [each.title for each in chosen(["paper"]) if each.title.startswith(kind)]
        numbers = [int(re.search(r"\d+", title).group()) for title in titles]
        assert numbers == sorted(numbers)
    assert SHOWN[:4] == ["table1", "fig1", "table2", "fig2"]  # Table 2 is of the runs of Figure 1


def test_every_number_of_the_paper_can_be_asked_for():
    for n in range(1, 15):
        assert len(chosen([f"fig{n}"])) == len(chosen([f"Figure {n}"])) == 1
    for n in (1, 2, 3):
        assert [each.key for each in chosen([f"table{n}"])] == [f"table{n}"]
    assert [each.key for each in chosen(["figures 7 to 9"])] == ["fig7to9"]
    assert [each.key for each in chosen(["all"])] == KEYS
    assert [each.key for each in chosen(["paper"])] == SHOWN
    assert {each.heading for each in chosen(["all"])} == {"The paper"}
    assert [each.key for each in chosen(["table3", "fig1", "fig1"])] == ["fig1", "table3"]


def test_an_unknown_artefact_is_named_with_the_nearest():
    with pytest.raises(ValueError, match="unknown artefact 'fgi1': did you mean 'fig1'"):
        chosen(["fgi1"])


def test_figure_1_asks_for_what_the_paper_says():
    trials = experiments.make("fig1").trials(PAPER)
    assert {t.seed for t in trials} == set(range(20))
    assert len(trials) == 20 * 4 * (3 + 3 + 4 + 3)  # own to a setting, shared, strong
    assert {t.episodes for t in trials if t.task.startswith("synthetic")} == {10_000}
    assert {t.episodes for t in trials if t.task == "riverswim"} == {5_000}
    fair = pick(cells_of("fig1", PAPER), FAIR, "RiverSwim", "GIM")[0].trials[3]
    gim = agents.make(fair.agent)
    assert (gim.m, gim.rho, gim.beta) == (40, 0.8, 0.2)
    assert gim == GIM.paper(completion="als(rank=10,ridge=0.03)")
    seven = pick(cells_of("fig1", PAPER), FAIR, "Synthetic", "Random")[0]
    assert [t.task for t in seven.trials[:3]] == ["synthetic"] + [
        f"synthetic:seed={k}" for k in (1, 2)
    ]


def test_figure_2_has_the_papers_sizes():
    trials = experiments.make("fig2").trials(PAPER)
    sizes = {tuple(parameter(t.task, name, tasks) for name in ("S", "A")) for t in trials}
    assert sizes == {(20, 10), (30, 20), (40, 30), (50, 40)}
    assert {t.episodes for t in trials} == {200_000}


@pytest.mark.parametrize(
    ("part", "whole"),
    [("table2", "fig1"), ("table3", "fig2"), ("fig3", "fig7to9"), ("fig11", "fig4")],
)
def test_artefacts_share_their_trials(part, whole):
    assert set(experiments.make(part).trials(PAPER)) <= set(experiments.make(whole).trials(PAPER))


def test_the_authors_settings_are_those_of_their_code():
    assert spec_under(AUTHORS, "RMax", "riverswim") == (
        "rmax:m=50,r_max=1.0,plan_per=pair,planner=lookahead,surplus=1"
    )
    word = spec_under(AUTHORS, "GIM", "casinoland")
    assert word.startswith("gim:m=10,completion=als(rank=10,ridge=0.03),exploration=published")
    assert "surplus=1" in word
    assert spec_under(AUTHORS, "GIM", "synthetic", m=100).startswith("gim:m=100,")
    assert "r_max=1" in spec_under(AUTHORS, "Delayed-Q", "riverswim")
    assert "r_max" not in spec_under(FAIR, "Delayed-Q", "riverswim")
    assert spec_under(FAIR, "RMax", "synthetic", m=100) == "rmax:m=100"


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
def test_a_scale_keeps_the_last_value_of_a_sweep(scale):
    values = (1, 2, 3, 4, 5, 6, 7, 8)
    grid = scale.grid(values)
    assert grid[-1] == 8
    assert list(grid) == sorted(grid)
    assert grid == values or scale is not PAPER
    assert scale.seeds(10) == range(min(10, scale.runs))


def test_table_1_is_the_papers():
    found = table1.Table1().analyse()
    rows = found.tables[0].rows
    assert [row[0] for row in rows] == ["1", "2", "3", "4", "5", "6"]
    assert all(row[-1] == "the same" for row in rows)
    ranks = dict(found.tables[1].rows)
    assert ranks["to state 2"] == 3


def test_a_wrong_table_1_would_show(monkeypatch):
    monkeypatch.setitem(table1.PRINTED, "3", [0.2, 0.2, 0.0, 0.6])
    assert [row[-1] for row in table1.Table1().analyse().tables[0].rows].count("differs") == 1


# -- runs that never finish


def unfinished(trial):
    """Of two runs, RMax finishes one."""
    gone = trial.agent.startswith("rmax") and trial.seed == 1
    values = {"explored": False, "total_eps": math.nan, "post_score": math.nan}
    return values if gone else {"total_eps": 30.0, "post_score": 0.8}


def test_a_run_not_finished_is_counted_and_shown():
    found = made_up_results(chosen(["fig3"]), SMOKE, unfinished)
    cell = pick(cells_of("fig3", SMOKE), FAIR, agent="RMax")[0]
    length = sweep_point(found, cell, "total_eps")
    assert length.estimate.mean == (30 + cell.trials[0].episodes) / 2  # a lower bound
    assert (length.finished, length.runs, length.open) == (1, 2, True)
    assert length.hover == "1 of 2 runs finished exploring"
    post = sweep_point(found, cell, "post_score")
    assert (post.estimate.mean, post.finished, post.runs) == (0.8, 1, 2)
    figure = sweep_figure(found, cells_of("fig3", SMOKE), FAIR, "f", "t", "m")
    rmax = next(s for s in figure.panels[1].series if s.name == "RMax")
    assert all(rmax.hollow)
    assert "Hollow marks" in figure.note
    assert f"2 runs of {cell.trials[0].episodes:,} episodes" in figure.note


def test_a_sweep_nobody_finished_has_gaps():
    def never(trial):
        return {"explored": False, "total_eps": math.nan, "post_score": math.nan}

    found = made_up_results(chosen(["fig3"]), SMOKE, never)
    figure = sweep_figure(found, cells_of("fig3", SMOKE), FAIR, "f", "t", "m")
    assert all(y is None for s in figure.panels[2].series for y in s.y)


def test_the_realised_value_stands_on_the_axis():
    found = made_up_results(chosen(["fig4"]), SMOKE)
    artefact = experiments.make("fig4").analyse(found)
    panel = artefact.figures[0].panels[1]
    asked = SMOKE.grid(properties.SWEEPS["mu0"].values)
    there = [
        np.mean(
            [
                world_of(f"synthetic:rank=2,mu0={v},seed={k}").info["realised"]["mu0"]["median"]
                for k in SMOKE.seeds()
            ]
        )
        for v in asked
    ]
    assert panel.series[0].x == pytest.approx(there)
    assert panel.x == "μ₀, realised"


def test_curves_of_different_instances_are_scaled_to_one_optimum():
    def paid(trial):
        return {"optimal_return": 10.0 * (1 + trial.seed), "score": 0.5 * (1 + trial.seed)}

    found = made_up_results(chosen(["fig1"]), SMOKE, paid)
    figure = curves_figure(found, cells_of("fig1", SMOKE), FAIR, "f", "t")
    line = figure.panels[0].series[0]
    episodes = line.x[-1]
    assert line.y[-1] == pytest.approx(0.5 * 15 * episodes)  # both runs have half of the optimum
    assert line.low is None  # of two runs no spread is told


def test_one_run_shows_no_band():
    one = SCALES["smoke"].__class__("one", runs=1, share=0.01, step=8)
    found = made_up_results(chosen(["fig1", "fig3"]), one)
    curves = curves_figure(found, cells_of("fig1", one), FAIR, "f", "t")
    assert curves.panels[0].series[0].low is None
    figure = sweep_figure(found, cells_of("fig3", one), FAIR, "f", "t", "m")
    assert figure.panels[0].series[0].low is None
    table = means_table(found, cells_of("fig1", one), FAIR, "score", "t")
    assert table.rows[0][1] == "0.900"


@pytest.mark.parametrize("key", catalogue())
def test_every_experiment_passes_its_checks(key):
    """A trial of each is played, but of two, whose first takes half a minute to certify.

    Their worlds are built all the same; Analogist and certificates are played for `unrelated`.
    """
    check_experiment(experiments.make(key), play=0 if key in ("ranks", "certificate") else 1)


def test_a_real_run_from_trials_to_artefact():
    """Figure 3 at the smallest scale, really run; GIM with m 20 knows enough before the end."""
    trials = trials_of(chosen(["fig3"]), SMOKE)
    found = ResultsByCell(execute(trials, engine="serial"), SMOKE)
    assert all(found.row(trial) is not None for trial in trials)
    figure = experiments.make("fig3").analyse(found).figures[1]
    scores = [y for s in figure.panels[0].series for y in s.y]
    assert all(-1.5 < y < 1.2 for y in scores)


def test_figures_5_and_6_tell_what_the_levers_and_the_river_pay():
    for key, said in (("fig5", ("0.9  r=64.998", "r=-100", "0.5  r=80")),
                      ("fig6", ("r=5<", ">0.6", "0.3  r=3,000"))):  # fmt: skip
        (picture,) = experiments.make(key).analyse(None).pictures
        assert all(text in picture.drawings[0].svg for text in said)
