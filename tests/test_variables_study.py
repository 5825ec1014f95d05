"""The study of variables: its words, its analysis on results known beforehand, the probes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import gim
from gim.envs.worlds import world_of
from gim.runs.agent import agents
from gim.runs.run import prepare
from gim_lab import Trial, run_trial
from gim_lab.experiments.catalogue import chosen, groups
from gim_lab.experiments.cells import ResultsByCell, by_panel, pick
from gim_lab.experiments.scale import SCALES
from gim_lab.experiments.variables import scores, settings, taxi
from gim_lab.experiments.variables.settings import ANALOGIST, CHOOSING, TWIN
from gim_lab.testing.made_up import made_up_result
from gim_lab.trials.probes import LOOK, Probed
from gim_lab.trials.results import Results

SMOKE, PAPER = SCALES["smoke"], SCALES["paper"]
PARTS = ["structured", "withheld", "broken", "taxi_probes"]


def test_the_group_has_its_parts_and_is_no_part_of_all():
    assert groups()["variables"] == PARTS
    assert not set(PARTS) & set(groups()["all"])


@pytest.mark.parametrize("name", PARTS[:3])
def test_learners_are_compared_on_seeds_on_which_nothing_is_chosen(name):
    cells = chosen([name])[0].cells(PAPER)
    for _, inside in by_panel(cells):
        choosing = {t.seed for cell in pick(inside, setting=CHOOSING) for t in cell.trials}
        comparing = {t.seed for cell in pick(inside, setting="") for t in cell.trials}
        assert choosing == set(range(6000, 6020))
        assert comparing == set(range(7200, 7220))
    looked_at = {t.seed for cell in chosen([name])[0].cells(SMOKE) for t in cell.trials}
    assert not looked_at & set(range(6000, 8000))


def test_worlds_are_what_their_titles_say():
    places = {p.title: p.task for p in (*settings.STRUCTURED, *settings.WITHHELD, *settings.BROKEN)}
    sizes = {"grid 4x4": 16, "grid 8x8": 64, "FrozenLake 8x8": 64, "two queues": 400}
    assert {name: world_of(places[name]).S for name in sizes} == sizes
    given, hidden = (world_of(places[f"grid 8x8{more}"]) for more in ("", ", withheld"))
    shuffled = world_of(places["grid 8x8, shuffled"])
    assert hidden.variables is None
    for other in (hidden, shuffled):
        assert np.array_equal(other.transitions, given.transitions)
    told, true = shuffled.variables.codes, given.variables.codes
    assert sorted(map(tuple, told)) == sorted(map(tuple, true))
    assert (told != true).any(axis=1).mean() > 0.9


# -- the analysis, on results known beforehand


def earning(share):
    """Results in which agent and setting fix what is earned: random is 1, optimal 10."""

    def result(cell, trial):
        return made_up_result(trial, mean_return=1 + 9 * share(cell, trial))

    cells = chosen(["structured"])[0].cells(SMOKE)
    table = Results.of(result(cell, trial) for cell in cells for trial in cell.trials)
    return ResultsByCell(table, SMOKE), cells


def test_scores_are_the_way_from_random_to_optimal():
    results, cells = earning(lambda cell, trial: 0.25 if cell.agent == ANALOGIST else 0.5)
    mine = pick(cells, setting="", agent=ANALOGIST)[0]
    assert scores.ways(results, mine, [1, 5, 10]) == pytest.approx(np.full((2, 3), 0.25))
    assert scores.last(results, mine) == pytest.approx(np.full(2, 0.25))
    row = scores.gain_table(results, cells).rows[0]
    assert row[0] == "grid 4x4"
    assert all(cell.startswith("-0.250") for cell in row[1:])


def test_last_is_the_mean_of_the_last_tenth():
    results, cells = earning(lambda cell, trial: 0.0)
    mine = pick(cells, setting="", agent=ANALOGIST)[0]
    for trial in mine.trials:  # 9 episodes that pay nothing above random, one that is optimal
        row = results.row(trial)
        results.table.curves["cumulative"][row] = np.append(np.arange(1.0, 10.0), 19.0)
    assert scores.last(results, mine) == pytest.approx(np.ones(2))
    assert scores.ways(results, mine, [10])[:, 0] == pytest.approx(np.full(2, 0.1))


def test_the_best_plain_learner_is_chosen_on_the_seeds_for_choosing():
    """Scale .01 is best where it is chosen and .1 where it is compared: .01 is shown."""

    def share(cell, trial):
        best = "0.01" if cell.setting == CHOOSING else "0.1"
        return 0.9 if cell.agent == best else 0.5

    results, cells = earning(share)
    assert scores.best_plain(results, cells).agent == "0.01"
    assert scores.best_plain(results, cells).setting == ""
    names = scores.shown(results, cells)
    assert list(names)[:3] == [ANALOGIST, TWIN, "best plain (0.01)"]
    assert names[TWIN].trials[0].agent == "ucbvi:scale=none,growth=0.1"
    assert scores.best_plain(ResultsByCell(Results.of([]), SMOKE), cells) is None


def test_runs_of_taxi_that_never_came_to_it_are_counted():
    study = chosen(["taxi_probes"])[0]
    cells = study.cells(SMOKE)
    made = [
        made_up_result(trial, probe_steps=500.0 if i == 0 else math.nan)
        for cell in cells
        for i, trial in enumerate(cell.trials)
    ]
    (table,) = study.analyse(ResultsByCell(Results.of(made), SMOKE)).tables
    assert table.rows[0][1:4] == ["1 of 2", "500", "500 to 500"]
    assert {row[0]: row[4] for row in table.rows if row[4]} == taxi.PUBLISHED
    told = {cell.agent: cell.trials[0].rewards for cell in cells}
    assert told["Analogist"] == "learn"
    assert told["Analogist, rewards known"] == "known"


# -- the probes


def test_probe_steps_are_those_after_which_the_best_policy_stays_optimal():
    """Against pausing by hand; the bits of the run are those of one that is not watched."""
    mdp, agent = gim.make("taxi:size=3,horizon=20"), agents.make("rmax:m=1")
    probes = mdp.info["probes"]
    best = mdp.plan().v[0, probes]
    by_hand, wrong = prepare(agent, mdp, 60, 5), 0
    while not by_hand.finished:
        by_hand.pause_at(by_hand.steps + LOOK)
        if not np.allclose(mdp.value(by_hand.best_policy())[0, probes], best):
            wrong = by_hand.steps
    trial = Trial("taxi:size=3,horizon=20", "rmax:m=1", 60, 5, epsilon=0.1)
    columns = run_trial(trial).columns
    assert 0 < wrong < by_hand.steps
    assert columns["probe_steps"] == wrong + LOOK
    assert columns["cumulative_reward"] == math.fsum(by_hand.returns)


def test_a_run_that_is_wrong_at_the_end_has_no_probe_steps():
    mdp = gim.make("taxi:size=3,horizon=20")
    run = Probed.of(prepare(agents.make("random"), mdp, 3, 1)).go()
    assert math.isnan(run.probe_steps())


def test_probes_are_measured_only_where_they_are_asked_for():
    assert math.isnan(run_trial(Trial("taxi:size=3", "rmax:m=1", 2, 1)).columns["probe_steps"])
    watched = run_trial(Trial("riverswim", "optimal", 5, 1, epsilon=0.1))
    assert math.isnan(watched.columns["probe_steps"])


def test_taxi_names_the_published_probes():
    assert gim.make("taxi").info["probes"] == gim.envs.taxi.probes()
