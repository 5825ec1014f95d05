"""Checks that any experiment must pass, whatever it is about."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from gim_lab.experiments.artefact import Artefact, Figure
from gim_lab.experiments.catalogue import chosen, groups
from gim_lab.experiments.cells import Cell, ResultsByCell
from gim_lab.experiments.experiment import Experiment, experiments
from gim_lab.experiments.scale import SCALES, Scale
from gim_lab.testing.made_up import made_up_results, varied
from gim_lab.trials.execute import execute
from gim_lab.trials.results import Results
from gim_lab.trials.running import build
from gim_lab.trials.spec import agent_spec, task_spec
from gim_lab.trials.subject import subject_of

SMOKE = SCALES["smoke"]


def check_experiment(experiment: Experiment, play: int | None = 3) -> None:
    """Check an experiment.

    Its names find it, and no group has one of them. At every scale it has the same cells whenever
    it is asked, no two in one place, and the specs of their agents are valid; at scale smoke every
    world can be built. Its analysis is pure: the same results, in whatever order, give the same
    artefact and are left as they were. Runs may be missing, some or all: then there are gaps, and
    no number is made up. The artefact can be drawn: lists of equal length, no NaN in a figure.

    Args:
        experiment: of a registered class.
        play: how many of its trials at scale smoke are really run; None runs all.
    """
    _check_names(experiment)
    for scale in SCALES.values():
        _check_cells(experiment, scale)
    for task in {cell.trials[0].task for cell in experiment.cells(SMOKE)}:
        build(task)
    _check_analysis(experiment)
    _check_runs(experiment, play)


def _check_names(experiment: Experiment) -> None:
    key = experiment.key
    for name in (key, *experiment.names):
        assert experiments.make(name) == experiment, f"{name} is another experiment than {key}"
        assert name not in groups(), f"{name} is the name of a group: {key} needs another"
        assert chosen([name]) == [experiment], f"gim reproduce {name} does not find {key}"
    for group in experiment.groups:
        assert experiment in chosen([group]), f"gim reproduce {group} lacks {key}"
    for text in ("title", "statement", "heading"):
        assert getattr(experiment, text, ""), f"{key} has no {text}"


def _check_cells(experiment: Experiment, scale: Scale) -> None:
    where = f"{experiment.key} at scale {scale.name}"
    found = experiment.cells(scale)
    made = getattr(type(experiment).cells, "__wrapped__", None)  # past what is kept of it
    assert made is None or made(experiment, scale) == found, f"{where}: cells differ between calls"
    places = [(cell.setting, cell.panel, cell.agent, cell.x) for cell in found]
    twice = {place for place in places if places.count(place) > 1}
    assert not twice, f"{where}: two cells at {min(twice)}"
    for cell in found:
        _check_cell(cell, f"{where}, cell {cell.panel}, {cell.agent}")
    specs = {trial.agent for cell in found for trial in cell.trials}
    for spec in specs:
        assert str(subject_of(spec)) == spec, f"{where}: {spec} does not come back from its spec"


def _check_cell(cell: Cell, where: str) -> None:
    assert cell.trials, f"{where}: no trials"
    assert len({trial.episodes for trial in cell.trials}) == 1, f"{where}: unequal episodes"
    seeds = [trial.seed for trial in cell.trials]
    assert len(set(seeds)) == len(seeds), f"{where}: a seed stands twice"
    for trial in cell.trials:
        normal = task_spec(trial.task), agent_spec(trial.agent)
        assert normal == (trial.task, trial.agent), f"{where}: {trial.id} is not in normal form"


def _check_analysis(experiment: Experiment) -> None:
    key = experiment.key
    results = made_up_results([experiment], SMOKE, varied)
    before = results.table[:]
    artefact = experiment.analyse(results)
    _check_artefact(experiment, artefact)
    assert results.table.same_bits(before), f"{key}: its analysis changes the results"
    assert _same(experiment.analyse(results), artefact), f"{key}: two analyses of one result differ"
    order = np.arange(len(before))[::-1]
    for rows, what in ((order, "in another order"), (np.tile(order, 2), "listed twice")):
        other = experiment.analyse(ResultsByCell(before[rows], SMOKE))
        assert _same(other, artefact), f"{key}: the same results {what} give another artefact"
    for table in (before[order[::2]], before[order[:1]], before[order[:0]], Results.of([])):
        few = _with_gaps(experiment, table)
        assert not len(before) or not _same(few, artefact), f"{key}: it does not look at all runs"


def _with_gaps(experiment: Experiment, table: Results) -> Artefact:
    try:
        artefact = experiment.analyse(ResultsByCell(table, SMOKE))
    except Exception as problem:
        raise AssertionError(
            f"{experiment.key}: its analysis crashes where runs are missing: {problem!r}"
        ) from problem
    _check_artefact(experiment, artefact)
    return artefact


def _check_runs(experiment: Experiment, play: int | None) -> None:
    """Really run a few trials, evenly spread, and analyse what there is."""
    trials = experiment.trials(SMOKE)
    if play is not None and len(trials) > play:
        trials = [trials[i] for i in np.linspace(0, len(trials) - 1, play).astype(int)]
    table = execute(trials, engine="serial")
    for trial, mean in zip(trials, table.columns.get("mean_return", ()), strict=True):
        assert np.isfinite(mean), f"{experiment.key}: {trial.id} has a mean return of {mean}"
    _check_artefact(experiment, experiment.analyse(ResultsByCell(table, SMOKE)))


def _check_artefact(experiment: Experiment, artefact: Artefact) -> None:
    key = experiment.key
    assert artefact.key == key, f"{key}: its artefact is called {artefact.key}"
    shown = artefact.figures or artefact.tables or artefact.pictures
    assert shown, f"{key}: neither a figure nor a table nor a picture"
    try:
        _written(artefact)
    except TypeError as problem:
        raise AssertionError(f"{key}: its artefact is no plain data: {problem}") from None
    names = [figure.name for figure in artefact.figures]
    assert len(set(names)) == len(names), f"{key}: two figures of one name in {names}"
    for figure in artefact.figures:
        _check_figure(figure, f"{key}, figure {figure.name}")
    for table in artefact.tables:
        for row in table.rows:
            fits = len(row) == len(table.columns)
            assert fits, f"{key}, table {table.title!r}: a row of {len(row)} cells: {row}"


def _check_figure(figure: Figure, where: str) -> None:
    assert figure.panels, f"{where}: no panels"
    for panel in figure.panels:
        assert panel.series, f"{where}, panel {panel.title!r}: no lines"
        for line in panel.series:
            for name in ("y", "low", "high", "text", "hollow"):
                given = getattr(line, name)
                fits = given is None or len(given) == len(line.x)
                assert fits, f"{where}, line {line.name}: {name} is not as long as x"
    try:
        _written(figure, allow_nan=False)
    except ValueError:
        raise AssertionError(f"{where}: a NaN or an infinite number; None leaves a gap") from None


def _same(a: Artefact, b: Artefact) -> bool:
    return _written(a) == _written(b)


def _written(shown: Artefact | Figure, allow_nan: bool = True) -> str:
    """As JSON; `asdict` would copy every number of every line first."""
    return json.dumps(shown, default=_fields, allow_nan=allow_nan)


def _fields(part: Any) -> dict[str, Any]:
    """What a dataclass holds; nothing else is plain data."""
    if not is_dataclass(part):
        raise TypeError(f"Object of type {type(part).__name__}")
    return {field.name: getattr(part, field.name) for field in fields(part)}
