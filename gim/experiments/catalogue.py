"""Finds the paper's artefacts: every file of `gim.experiments.paper` that has an `EXPERIMENT`."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable
from functools import cache

from gim.experiments import paper
from gim.experiments.paper.base import Experiment
from gim.registry import did_you_mean


@cache
def experiments() -> dict[str, Experiment]:
    """All of them by key, in the paper's order."""
    found = []
    for module in pkgutil.iter_modules(paper.__path__):
        experiment = getattr(
            importlib.import_module(f"{paper.__name__}.{module.name}"), "EXPERIMENT", None
        )
        if experiment is not None:
            found.append(experiment)
    return {experiment.key: experiment for experiment in sorted(found, key=_place)}


def chosen(words: Iterable[str]) -> list[Experiment]:
    """The experiments that these words name: fig1, figure 7, table3; `paper` or `all` for many.

    `paper` is what the paper prints, `all` has the studies of claims without a figure besides.
    """
    known = experiments()
    names = {name: key for key, each in known.items() for name in (key, *each.names)}
    keys: list[str] = []
    for word in words:
        plain = word.lower().replace(" ", "").replace("-", "_")
        if plain in ("all", "paper"):
            keys += [key for key, each in known.items() if plain == "all" or each.paper]
        elif plain in names:
            keys.append(names[plain])
        else:
            raise ValueError(f"unknown artefact {word!r}{did_you_mean(plain, [*names, 'all'])}")
    return [each for key, each in known.items() if key in keys]


def _place(experiment: Experiment) -> tuple[bool, float, str]:
    """By number, as the paper has them: Table 2 stands between Figures 1 and 2; studies last."""
    number = re.search(r"\d+", experiment.key)
    first = float(number.group()) if number and experiment.paper else 0.0
    return not experiment.paper, first - 0.5 * experiment.key.startswith("table"), experiment.key
