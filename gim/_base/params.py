"""Parameters: declared once, with their limits and a line of help; every message comes from that.

A parameter is an annotated field of a frozen dataclass, or an annotated argument of a function::

    @dataclass(frozen=True)
    class QLearning(Params):
        alpha: Annotated[float, Within(0, 1), "step size"] = 0.1

The same declaration serves the check at construction, the listing of the command line
(`describe`), and the reading of spec strings such as ``q_learning:alpha=0.1`` (see
`gim._base.registry`).
"""

from __future__ import annotations

import functools
import inspect
import math
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from gim._base.limits import INT

F = TypeVar("F", bound=Callable[..., Any])


class Within(NamedTuple):
    """A number between two limits, both included; None is no limit."""

    low: float | None = None
    high: float | None = None

    def check(self, value: Any) -> Any:
        """Return the value, or raise with the rule that it breaks."""
        numbers = value if isinstance(value, tuple) else (value,)
        for number in numbers:
            if isinstance(number, (int, float)) and not isinstance(number, bool):
                if math.isnan(number):
                    raise ValueError("must be a number, not NaN")
                if self.low is not None and number < self.low:
                    raise ValueError(f"must be at least {self.low:g}")
                if self.high is not None and number > self.high:
                    raise ValueError(f"must be at most {self.high:g}")
        return value

    def __str__(self) -> str:
        low = "" if self.low is None else f"{self.low:g}"
        high = "" if self.high is None else f"{self.high:g}"
        return f"{low}..{high}"


class OneOf:
    """One text of a few."""

    def __init__(self, *choices: str) -> None:
        self.choices = choices

    def check(self, value: Any) -> Any:
        """Return the value, or raise with the rule that it breaks."""
        if value is not None and value not in self.choices:
            raise ValueError(f"must be one of {', '.join(self.choices)}")
        return value

    def __str__(self) -> str:
        return "|".join(self.choices)


class Parameter(NamedTuple):
    """One declared parameter: what `describe` lists."""

    name: str
    kind: Any  # the bare type
    default: Any  # inspect.Parameter.empty where there is none
    rule: Any  # Within, OneOf, a registry's rule, or None
    help: str


@dataclass(frozen=True)
class Params:
    """Base of everything with parameters: checks each field against its declaration."""

    def __post_init__(self) -> None:
        for parameter in describe(type(self)):
            value = _checked(type(self).__name__, parameter, getattr(self, parameter.name))
            object.__setattr__(self, parameter.name, value)


def checked(function: F) -> F:
    """Check the annotated arguments of a function at each call."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        for parameter in describe(function):
            if parameter.name in bound.arguments:
                value = bound.arguments[parameter.name]
                bound.arguments[parameter.name] = _checked(function.__name__, parameter, value)
        return function(*bound.args, **bound.kwargs)

    return call  # type: ignore[return-value]


def describe(thing: Any) -> tuple[Parameter, ...]:
    """List the parameters of a class of `Params` or of a `checked` function."""
    return _described(thing)


@functools.cache  # reading annotations anew took a quarter of a short run
def _described(thing: Any) -> tuple[Parameter, ...]:
    function = inspect.unwrap(thing)
    hints = get_type_hints(function, include_extras=True)
    return tuple(_parameter(name, default, hints.get(name, Any)) for name, default in _of(function))


def _of(thing: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(thing, type):
        signature = inspect.signature(thing)
        for field in fields(thing):
            if field.init:
                yield field.name, signature.parameters[field.name].default
    else:
        for name, argument in inspect.signature(thing).parameters.items():
            yield name, argument.default


def _parameter(name: str, default: Any, hint: Any) -> Parameter:
    kind, rule, text = hint, None, ""
    if get_origin(hint) is Annotated:
        kind, *extras = get_args(hint)
        for extra in extras:
            if isinstance(extra, str):
                text = extra
            else:
                rule = extra
    return Parameter(name, kind, default, rule, text)


def _checked(owner: str, parameter: Parameter, value: Any) -> Any:
    try:
        value = _of_kind(parameter.kind, value)
        return parameter.rule.check(value) if parameter.rule is not None else value
    except (TypeError, ValueError) as problem:
        shown = brief(value)
        raise ValueError(f"{owner}: {parameter.name} = {shown}: {problem}") from None


def brief(value: Any) -> str:
    """A value as a message shows it: itself if it is short, else what it is."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an int of more digits than Python prints; a loop
        return f"a {type(value).__name__}"
    return text if len(text) < 60 else type(value).__name__


def _of_kind(kind: Any, value: Any) -> Any:
    """Bring numpy scalars to Python's own, refuse what is plainly of another kind."""
    if isinstance(value, np.generic):
        value = value.item()
    kinds = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    if any(k is Any for k in kinds) or (value is None and type(None) in kinds):
        return value
    simple = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
    if not all(k in simple or k is type(None) for k in kinds):
        return value
    if type(value) is int and abs(value) > INT:
        raise ValueError("must fit into 64 bits")
    if isinstance(value, float) and math.isinf(value):
        raise ValueError("must be a finite number")
    if isinstance(value, float) and math.isnan(value) and float in kinds:
        raise ValueError("must be a number, not NaN")
    if isinstance(value, bool):
        if bool in kinds:
            return value
    elif isinstance(value, tuple(k for k in kinds if k is not bool)):
        return value
    elif float in kinds and isinstance(value, int):
        return float(value)
    wanted = " or ".join(simple.get(k, "none") for k in kinds)
    raise ValueError(f"must be {wanted}")
