"""Experiments by name: one at a time, or many under the name of a group."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gim._base.registry import did_you_mean
from gim_lab.experiments.experiment import Experiment, experiments


def catalogue() -> dict[str, Experiment]:
    """All experiments by key, in the order of a report."""
    found: set[Experiment] = {experiments.make(name) for name in experiments.names()}
    return {each.key: each for each in sorted(found, key=lambda each: (each.place, each.key))}


def groups() -> dict[str, list[str]]:
    """Names for many experiments, with their keys; docs/laboratory.md says what each name is."""
    found: dict[str, list[str]] = {}
    for key, each in catalogue().items():
        for group in each.groups:
            found.setdefault(group, []).append(key)
    return found


def chosen(names: Iterable[str]) -> list[Experiment]:
    """The experiments of these names: fig1, figure 7, table3, or one of `groups`."""
    known, many = experiments.names(), groups()
    keys: set[str] = set()
    for name in names:
        plain = re.sub(r"figures?(?=\d)", "fig", name.lower().replace(" ", "").replace("-", "_"))
        if plain in many:
            keys.update(many[plain])
        elif plain in known:
            keys.add(experiments.make(plain).key)
        else:
            raise ValueError(f"unknown artefact {name!r}{did_you_mean(plain, [*known, *many])}")
    return [each for key, each in catalogue().items() if key in keys]


def shortest(keys: Iterable[str]) -> list[str]:
    """Names for just these experiments, those of groups where they fit, the largest first.

    Example:
        >>> shortest(["fig1", *groups()["analogy"]])
        ['analogy', 'fig1']
    """
    left, names = list(dict.fromkeys(keys)), []
    for group, many in sorted(groups().items(), key=lambda item: -len(item[1])):
        if set(many) <= set(left):
            names.append(group)
            left = [key for key in left if key not in many]
    return names + left
