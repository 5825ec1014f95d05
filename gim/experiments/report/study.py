"""The report of any folder of trials: learning curves and a table, world by world."""

from __future__ import annotations

import numpy as np

from gim.experiments.artefact import Artefact, Figure, Panel, Series, Table
from gim.experiments.figures import POINTS
from gim.experiments.measures import OF_RETURNS
from gim.experiments.reproduction import Findings, versions
from gim.experiments.results import Results
from gim.experiments.statistics import curve_band
from gim.experiments.tables import estimate_of, spoken

COLUMNS = {"score": "score", "mean_return": "mean return", "final_score": "last policy"}


def study_findings(results: Results, command: str) -> Findings:
    """An artefact per world, in the order of their specs."""
    if not len(results):
        raise ValueError("there are no trials to report on")
    found = sorted(results.groups("world", "episodes"), key=lambda group: group[0])
    return Findings(
        title="A study",
        scale="",
        command=command,
        seconds=0.0,
        versions=versions(),
        artefacts=[_world(i, world, part) for i, ((world, _), part) in enumerate(found)],
        made={},
        entries=[],
    )


def _world(number: int, world: str, results: Results) -> Artefact:
    groups = list(results.groups("agent"))
    curves = [_curve(agent, part) for agent, part in groups]
    episodes = results.column("episodes")[0]
    panel = Panel(world, "episode", "mean return since the last point", curves)
    columns = [name for name in COLUMNS if np.isfinite(results.column(name)).any()]
    rows = [
        [agent, len(part), *(spoken(estimate_of(part.column(name))) for name in columns)]
        for agent, part in groups
    ]
    table = Table(
        "Mean ± half of the 95 % interval",
        ["agent", "runs", *(COLUMNS[name] for name in columns)],
        rows,
    )
    title = f"{world}, {episodes:,} episodes"
    notes = [note for agent, part in groups for note in _certificate(agent, part)]
    figures = [Figure(f"world{number}", title, [panel])]
    return Artefact(f"world{number}", title, "", figures, [table], notes)


def _certificate(agent: str, results: Results) -> list[str]:
    """What the credible certificates at the end of its runs say, where there are any."""
    bound, loss = (results.column(name) for name in ("loss_bound", "loss"))
    some = np.isfinite(bound) & np.isfinite(loss)
    if not some.any():
        return []
    most, true = float(bound[some].mean()), float(loss[some].mean())
    what = f"the best policy that {agent} has learned"
    if most >= 1:
        return [f"Credible certificate: no useful bound on what {what} loses."]
    return [
        f"Credible certificate: with probability {100 * OF_RETURNS:g} % {what} loses at most "
        f"{100 * most:.3g} % of the best; it loses {100 * max(true, 0.0):.3g} % (means over "
        f"{int(some.sum())} runs)."
    ]


def _curve(agent: str, results: Results) -> Series:
    runs = results.curve("return")
    episode = results.curves["episode"][0]
    shares = np.array_split(np.arange(episode.size), min(POINTS, episode.size))
    thin = np.stack([runs[:, part].mean(axis=1) for part in shares], axis=1)
    band = curve_band(thin)
    return Series(
        agent,
        [float(episode[part[-1]]) for part in shares],
        [float(v) for v in band.mean],
        None if band.low is None else [float(v) for v in band.low],
        None if band.high is None else [float(v) for v in band.high],
    )
