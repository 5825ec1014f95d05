"""Finds the experiments: every file that has an `EXPERIMENT`, in one of two packages.

`gim.experiments.paper` holds the paper's artefacts, `gim.experiments.analogy` the study of analogy.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable
from functools import cache
from types import ModuleType

from gim.experiments import analogy, paper
from gim.experiments.experiment import Experiment
from gim.registry import did_you_mean


@cache
def experiments(package: ModuleType = paper) -> dict[str, Experiment]:
    """Those of a package by key, in the paper's order."""
    found = []
    for module in pkgutil.iter_modules(package.__path__):
        experiment = getattr(
            importlib.import_module(f"{package.__name__}.{module.name}"), "EXPERIMENT", None
        )
        if experiment is not None:
            found.append(experiment)
    return {experiment.key: experiment for experiment in sorted(found, key=_place)}


def chosen(words: Iterable[str]) -> list[Experiment]:
    """The experiments that these words name: fig1, figure 7, table3, or one of `groups`."""
    known, many = experiments() | experiments(analogy), groups()
    names = {name: key for key, each in known.items() for name in (key, *each.names)}
    keys: list[str] = []
    for word in words:
        plain = word.lower().replace(" ", "").replace("-", "_")
        if plain in many:
            keys += many[plain]
        elif plain in names:
            keys.append(names[plain])
        else:
            raise ValueError(f"unknown artefact {word!r}{did_you_mean(plain, [*names, *many])}")
    return [each for key, each in known.items() if key in keys]


def groups() -> dict[str, list[str]]:
    """Words for many, with their keys.

    `paper` is what the paper prints, `all` has the studies of claims without a figure besides, and
    `analogy` is the study of what goes beyond the paper.
    """
    ours = experiments()
    return {
        "all": list(ours),
        "paper": [key for key, each in ours.items() if each.paper],
        "analogy": list(experiments(analogy)),
    }


def shortest(keys: Iterable[str]) -> list[str]:
    """Words that name just these experiments, with a word for many where it fits.

    Example:
        >>> shortest(["fig1", *experiments(analogy)])
        ['analogy', 'fig1']
    """
    left, words = list(dict.fromkeys(keys)), []
    for word, many in groups().items():
        if set(many) <= set(left):
            words.append(word)
            left = [key for key in left if key not in many]
    return words + left


def _place(experiment: Experiment) -> tuple[bool, float, str]:
    """By number, as the paper has them: Table 2 stands between Figures 1 and 2; studies last."""
    if experiment.key in analogy.ORDER:
        return True, float(analogy.ORDER.index(experiment.key)), experiment.key
    number = re.search(r"\d+", experiment.key)
    first = float(number.group()) if number and experiment.paper else 0.0
    return not experiment.paper, first - 0.5 * experiment.key.startswith("table"), experiment.key
