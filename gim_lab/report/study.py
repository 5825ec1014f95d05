"""The report of any folder of trials: returns, regret and a table, world by world.

`gim run` leaves a copy of the study beside its trials, whose name and description the page shows.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from gim._base.averages import equal_groups, size_for
from gim._base.files import replacing
from gim.belief.shares import percent
from gim_lab.experiments.artefact import Artefact, Figure, Panel, Series, Table
from gim_lab.experiments.cells import Floats
from gim_lab.experiments.figures import POINTS, band_line
from gim_lab.experiments.reproduction import Findings, versions
from gim_lab.experiments.statistics import INTERVAL, LEAST, interval_of
from gim_lab.experiments.tables import estimate_of, spoken
from gim_lab.trials.measures import POINTS as KEPT
from gim_lab.trials.results import Results

STUDY = "study.toml"
SCALED = "Runs on drawn instances are scaled to the mean optimum of the instances."
Groups = list[tuple[Any, Results]]
COLUMNS = {
    "score": "score",
    "mean_return": "mean return",
    "final_score": "score of the last policy",
}


def keep_study(path: Path, folder: Path) -> None:
    """Leave a copy of a study file with its trials."""
    with replacing(folder / STUDY) as file:
        file.write(f"# {path.stem}\n".encode() + path.read_bytes())


def study_findings(results: Results, command: str, folder: Path | None = None) -> Findings:
    """An artefact per world, in the order of their specs; `folder` may hold a study file."""
    if not len(results):
        raise ValueError("there are no trials to report on")
    found = sorted(results.groups("world", "episodes"), key=lambda group: group[0])
    title, description = _told(folder)
    return Findings(
        title=title,
        scale="",
        command=command,
        seconds=0.0,
        versions=versions(),
        artefacts=[_world(i, world, part) for i, ((world, _), part) in enumerate(found)],
        made={},
        entries=[],
        remarks=[description] if description else [],
    )


def _told(folder: Path | None) -> tuple[str, str]:
    """Name and description of the study in a folder; the folder's name where there is none."""
    title, description = "A study" if folder is None else f"Study: {folder.resolve().name}", ""
    if folder is not None and (folder / STUDY).is_file():
        try:
            text = (folder / STUDY).read_bytes().decode()
            given = tomllib.loads(text)
            description = str(given.get("description", "")).strip().rstrip(".")
            name = f"Study: {text.splitlines()[0].removeprefix('# ')}"
            title = str(given.get("title", "")).strip() or name
        except (ValueError, IndexError):  # edited, damaged: the results do not depend on it
            pass
    return title, description


def _world(place: int, world: str, results: Results) -> Artefact:
    groups = sorted(results.groups("agent"), key=lambda group: -_rank(group[1]))
    episodes = results.column("episodes")[0]
    columns = [name for name in COLUMNS if np.isfinite(results.column(name)).any()]
    rows = [
        [agent, len(part), *(spoken(estimate_of(part.column(name))) for name in columns)]
        for agent, part in groups
    ]
    most, shown = max(len(part) for _, part in groups), results.curves["episode"][0]
    half = f"Mean ± half of the {INTERVAL}" if most >= LEAST else "Means"
    table = Table(
        f"{half}, the best first",
        ["agent", "runs", *(COLUMNS[name] for name in columns)],
        rows,
    )
    title = f"{world}, {episodes:,} episodes"
    notes = [note for agent, part in groups for note in _certificate(agent, part)]
    key = f"world{place}"
    best = results.column("optimal_return")
    each = size_for(episodes, KEPT) * size_for(shown.size, POINTS)
    caption = f"Mean of {most} runs, {interval_of(most)}." if most > 1 else "One run."
    caption += f" A point of the returns is the mean of {each} episodes." if each > 1 else ""
    caption += f" {SCALED}" if np.all(best > 0) and np.ptp(best) > 0 else ""
    figures = [Figure(key, "Returns and regret", _panels(world, results, groups), caption)]
    return Artefact(key, title, " ".join(notes), figures, [table], heading="Certificates")


def _rank(results: Results) -> float:
    mean = float(results.column("mean_return").mean())
    return mean if np.isfinite(mean) else -np.inf


def _panels(world: str, results: Results, groups: Groups) -> list[Panel]:
    """Returns between the lines of the random policy and of the optimum, and regret."""
    curves = [_curve(agent, part) for agent, part in groups]
    panels = [Panel(world, "episode", "mean return", curves)]
    best, random = (float(results.column(f"{w}_return").mean()) for w in ("optimal", "random"))
    if np.isfinite(best):
        x = [curves[0].x[0], curves[0].x[-1]]
        curves += [Series("Optimal", x, [best, best]), Series("Random", list(x), [random, random])]
        lost = [_regret(agent, part) for agent, part in groups]
        panels.append(Panel(world, "episode", "regret", lost))
    return panels


def _certificate(agent: str, results: Results) -> list[str]:
    """What the credible certificates at the end of its runs say, where there are any."""
    bound, loss = (results.column(name) for name in ("loss_bound", "loss"))
    some = np.isfinite(bound) & np.isfinite(loss)
    if not some.any():
        return []
    most, true = float(bound[some].mean()), float(loss[some].mean())
    what = f"the best policy that {agent} has learned"
    if most >= 1:
        return [
            f"Credible certificate: what {what} loses cannot be bounded yet, more episodes would "
            f"tell; it loses {100 * max(true, 0.0):.3g} % (means over {int(some.sum())} runs)."
        ]
    return [
        f"Credible certificate: with probability {percent()} {what} loses at most "
        f"{100 * most:.3g} % of the best; it loses {100 * max(true, 0.0):.3g} % (means over "
        f"{int(some.sum())} runs)."
    ]


def _curve(agent: str, results: Results) -> Series:
    runs = _scaled(results, results.curve("return"))
    episode = results.curves["episode"][0]
    parts = equal_groups(episode.size, size_for(episode.size, POINTS))
    return band_line(agent, episode[parts].mean(axis=1), runs[:, parts].mean(axis=2))


def _regret(agent: str, results: Results) -> Series:
    episode = results.curves["episode"][0]
    best = results.column("optimal_return")[:, None]
    lost = _scaled(results, episode * best - results.curve("cumulative"))
    keep = np.unique(np.linspace(0, episode.size - 1, POINTS).round().astype(int))
    return band_line(agent, episode[keep], lost[:, keep])


def _scaled(results: Results, runs: Floats) -> Floats:
    """A drawn world pays more in one instance than in another: each is scaled to their mean."""
    best = results.column("optimal_return")
    return runs * (best.mean() / best)[:, None] if np.all(best > 0) else runs
