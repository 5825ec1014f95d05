"""The scoreboard has every learner, the best first, and leaves out runs that have not ended."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gim.runs.agent import agents
from gim_lab.experiments.catalogue import chosen
from gim_lab.experiments.cells import ResultsByCell
from gim_lab.experiments.scale import SCALES
from gim_lab.experiments.scoreboard import BUDGETS, SMALL, WORLDS, learners
from gim_lab.experiments.tables import shares
from gim_lab.testing.made_up import made_up_results

SMOKE, PAPER = SCALES["smoke"], SCALES["paper"]
BOARD = chosen(["scoreboard"])[0]


def gains(trial):
    """PSRL before all others, who gain the same."""
    return {"score": 0.95 if trial.agent == "psrl" else 0.9, "seconds_total": 2.0}


def test_every_registered_learner_plays_in_every_world():
    cells = BOARD.cells(PAPER)
    assert set(agents.names()) <= set(learners())
    assert len(cells) == len(learners()) * len(WORLDS)
    assert all(len(cell.trials) == 20 for cell in cells)
    assert {trial.episodes for cell in cells for trial in cell.trials} == {BUDGETS[-1]}
    assert {cell.panel for cell in BOARD.cells(SMOKE)} == set(SMALL)


def test_seeds_that_count_are_not_those_of_rehearsals():
    seeds = {s: {t.seed for t in BOARD.trials(SCALES[s])} for s in ("smoke", "quick", "paper")}
    assert not seeds["paper"] & (seeds["smoke"] | seeds["quick"])


def test_the_best_come_first_with_their_times():
    five = replace(SMOKE, runs=5)
    end, each = BOARD.analyse(made_up_results([BOARD], five, gains)).tables
    assert end.rows[0][0] == "psrl"
    assert end.rows[0][1:] == ["0.950 ± 0.000", "0.950 ± 0.000", "0.950", "4.0"]
    assert "gim.paper" in {row[0] for row in end.rows}
    assert [row[1] for row in each.rows if row[1] == "psrl"] == [
        row[1] for row in each.rows[:: len(learners())]
    ]
    assert each.columns == ["world", "learner", "first 100", "seconds"]  # of 100 episodes


def test_scores_after_fewer_episodes_are_those_of_the_same_run():
    found = made_up_results([BOARD], SMOKE)
    cell = BOARD.cells(SMOKE)[0]
    row = found.row(cell.trials[0])
    assert row is not None
    episodes = found.table.curves["episode"][row]
    found.table.curves["cumulative"][row] = np.cumsum(np.arange(episodes.size) % 2 * 10.0)
    assert shares(found, cell, [50, 100])[0] == pytest.approx([0.5, 0.5])
    assert shares(found, cell, [1])[0] == pytest.approx([0.0])


def test_runs_that_have_not_ended_are_left_out_and_said_to_be():
    full = made_up_results([BOARD], SMOKE, gains)
    half = ResultsByCell(full.table[:-1], SMOKE)
    end, each = BOARD.analyse(half).tables
    assert "1 to 2 runs" in end.note
    assert "1 to 2 runs" in each.note
    assert "2 runs;" in BOARD.analyse(full).tables[0].note
    nothing = ResultsByCell(full.table[:0], SMOKE)
    assert BOARD.analyse(nothing).tables[0].rows[0][1] == "not finished"
