"""How the things of a registry are listed: name, purpose, parameters with defaults and limits."""

from __future__ import annotations

import inspect
from typing import Any, get_args

from gim._base.params import Parameter, describe
from gim._base.registry import Registry
from gim.cli.screen import table

KINDS = {bool: "true or false", int: "whole number", float: "number", str: "text"}


def listing(registry: Registry, names: list[str]) -> str:
    """All things of a registry in short, or a few of them in full."""
    if names:
        return "\n\n".join(_entry(registry, name, in_full=True) for name in names)
    return "\n\n".join(_entry(registry, name) for name in registry.names())


def _entry(registry: Registry, name: str, in_full: bool = False) -> str:
    """In full: the whole docstring, and what may stand for a parameter that is a thing itself."""
    thing = registry[name]
    text = inspect.getdoc(thing) or ""
    parts = [f"{name}\n{_indented(text if in_full else text.split(chr(10))[0])}"]
    parameters = describe(thing)
    if parameters:
        rows = [_row(parameter) for parameter in parameters]
        parts.append(_indented(table(rows, ["parameter=default", "limits", ""], align="<<<")))
    if not in_full:
        return "\n".join(parts)
    for parameter in parameters:
        if isinstance(rule := parameter.rule, Registry):
            choices = "\n".join(_entry(rule, choice) for choice in rule.names())
            parts.append(f"{parameter.name} of {name} is one of\n\n{_indented(choices)}")
    return "\n\n".join(parts)


def _row(parameter: Parameter) -> list[str]:
    default = parameter.default
    if default is inspect.Parameter.empty:
        shown = "(needed)"
    else:
        plain = default is None or isinstance(default, bool)
        shown = str(default).lower() if plain else str(default)
    return [f"{parameter.name}={shown}", _limits(parameter), parameter.help]


def _limits(parameter: Parameter) -> str:
    if isinstance(parameter.rule, Registry):
        return f"one of {len(parameter.rule.names())}"
    rule = str(parameter.rule) if parameter.rule is not None else ""
    if rule.strip("."):
        return rule
    kinds: tuple[Any, ...] = get_args(parameter.kind) or (parameter.kind,)
    return " or ".join(KINDS[kind] for kind in kinds if kind in KINDS)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())
