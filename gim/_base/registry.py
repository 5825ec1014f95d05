"""Names for things: how worlds, agents and methods are written, found and listed.

One way of writing serves the command line, study files and saved runs::

    riverswim
    riverswim:length=10
    gim:m=40,completion=als(rank=3,ridge=0.1)

To add a thing is to write one file in the package that its registry watches, or in a package of
your own that names it in the entry-point group ``gim.plugins`` (docs/extending.md). Its name
is that of the class or function in snake_case, unless `name=` is given.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import pkgutil
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, is_dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gim._base.limits import NESTING
from gim._base.params import Params, describe

# -- plugins: modules of other packages, which register things of theirs when they are imported


class Plugins:
    """The modules that a group of entry points names."""

    def __init__(self, group: str, guard: Callable[[], AbstractContextManager[None]]) -> None:
        self.group = group
        self.guard = guard  # entered around each import; undoes what a failing one has done
        self._lock = threading.RLock()
        self._begun = self._done = False

    def load(self) -> None:
        """Import them all, once; one that fails is left out with a warning, never an error."""
        if self._done:
            return
        with self._lock:  # other threads wait; a plugin that looks up a name itself must not
            if self._begun:
                return
            self._begun = True
            entries = sorted(entry_points(group=self.group), key=lambda entry: entry.name)
            problems = [self._import(entry) for entry in entries]
            self._done = True
        for problem in filter(None, problems):
            warnings.warn(problem, stacklevel=4)

    def _import(self, entry: EntryPoint) -> str | None:
        try:
            with self.guard():
                entry.load()
        except (Exception, SystemExit) as problem:  # foreign code, which may raise anything
            kind = "" if isinstance(problem, ValueError) else f"{type(problem).__name__}: "
            reason = kind + " ".join(str(problem).split())
            return f"the plugin {entry.name!r} ({entry.value}) is left out: {reason}"
        return None


# --


LONGEST = 100_000  # letters of a spec string
LONGEST_NAME = 4096  # of the name in it, which may be a path
NAME = r"[\w./-]+"  # what a spec string may begin with


class Spec(NamedTuple):
    """A name and its parameters, as read from a spec string such as ``riverswim:length=10``."""

    name: str
    args: dict[str, Any]

    def __repr__(self) -> str:
        return write(self.name, self.args)


class Registry:
    """The things of one kind, by name: those of a package of gim, and those of plugins."""

    every: ClassVar[list[Registry]] = []

    def __init__(self, kind: str, package: str) -> None:
        self.kind = kind
        self.package = package
        self._made: dict[str, Callable[..., Any]] = {}
        self._found = False
        Registry.every.append(self)

    def add(self, name: str | None, make: Callable[..., Any], replace: bool = False) -> str:
        """Register a class or function; returns its name, by default its own in snake_case.

        A name that is taken is refused, unless by the very same class: a module may be reloaded.
        """
        name = name or snake(make.__name__)
        if not re.fullmatch(NAME, name):
            raise ValueError(f"{name!r} is no name for {_path(make)}: take letters, digits and _")
        if not self.owns(make):
            self.find()  # gim's own come first, so that it is the newcomer who is refused
        taken = self._made.get(name)
        if taken is not None and not replace and _origin(taken) != _origin(make):
            raise ValueError(
                f"the {self.kind} name {name!r} is taken by {_path(taken)}: give {_path(make)} "
                "another with name=, or pass replace=True"
            )
        self._made[name] = make
        return name

    def owns(self, make: Callable[..., Any]) -> bool:
        """Whether this is one of gim's own."""
        return make.__module__.split(".")[0] == self.package.split(".")[0]

    def find(self) -> None:
        """Import every file of the package, and no plugin."""
        if not self._found:
            package = importlib.import_module(self.package)
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{self.package}.{module.name}")
            self._found = True

    def names(self) -> list[str]:
        """All names, sorted."""
        self._look()
        return sorted(self._made)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        self._look(name)
        if name not in self._made:
            raise ValueError(f"unknown {self.kind} {name!r}{did_you_mean(name, self._made)}")
        return self._made[name]

    def __contains__(self, name: str) -> bool:
        self._look(name)
        return name in self._made

    def examples(self, name: str) -> list[str]:
        """The spec strings that the conformance kit is to check under this name."""
        settings = getattr(self[name], "examples", ("",))
        return [f"{name}:{args}" if args else name for args in settings]

    def make(self, word: Any, **more: Any) -> Any:
        """Build from a name, a spec string or a `Spec`; what is built already is passed on."""
        if isinstance(word, str):
            word = parse(word)
        if not isinstance(word, Spec):
            return word
        make = self[word.name]
        known = [p.name for p in describe(make)]
        args = word.args | more
        for key in args:
            if key not in known:
                hint = did_you_mean(key, known) if known else "; it takes no parameters"
                raise ValueError(f"{self.kind} {word.name} has no parameter {key!r}{hint}")
        return make(**args)

    def name_of(self, thing: Any) -> str:
        """The name under which the class of this thing is registered."""
        origin = _origin(type(thing))  # not the class itself: its module may have been reloaded
        for whole in (False, True):  # most are there already
            if whole:
                self._look()
            for name, made in self._made.items():
                if _origin(made) == origin:
                    return name
        raise ValueError(
            f"{type(thing).__name__} is not a registered {self.kind}: see gim._base.registry"
        )

    def known_as(self, make: Any) -> str | None:
        """The name under which a class or function is registered, or None."""
        self._look()
        return next((name for name, made in self._made.items() if made is make), None)

    def write(self, thing: Any) -> str:
        """The spec string that builds this thing again: its name, and what is not by default."""
        return write(self.name_of(thing), arguments(thing), nested=False)

    def check(self, value: Any) -> Any:
        """As a rule of `gim._base.params`: names and spec strings become things."""
        thing = self.make(value) if value is not None else value
        if isinstance(thing, (bool, int, float, tuple, list, dict)):
            raise ValueError(f"is no {self.kind}: give the name of one, such as {self.names()[0]}")
        return thing

    def __str__(self) -> str:
        return f"a {self.kind}"

    def _look(self, name: str | None = None) -> None:
        """Find what there is; of gim's own only the file of this name, where that will do."""
        if name is not None and not self._found and name.isidentifier():
            module = f"{self.package}.{name}"
            if importlib.util.find_spec(module) is not None:
                importlib.import_module(module)
        if name is None or name not in self._made:
            self.find()
        plugins.load()


@dataclass(frozen=True)
class Registered(Params):
    """Base of the kinds: ``class Agent(Registered, registry=agents)`` makes one.

    Each class that derives from a kind is registered by that alone, ``class MyAgent(Agent)`` as
    `my_agent`; it may say ``name="mine"``, and ``replace=True`` to take the name of another.
    """

    registry: ClassVar[Registry]
    examples: ClassVar[tuple[str, ...]] = ("",)  # parameters at which the kit checks it

    def __init_subclass__(
        cls,
        name: str | None = None,
        replace: bool = False,
        registry: Registry | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init_subclass__(**kwargs)
        if registry is not None:
            cls.registry = registry
        else:
            cls.registry.add(name, cls, replace)

    def __str__(self) -> str:
        return self.registry.write(self)


@contextmanager
def _undone_if_it_fails() -> Iterator[None]:
    """Forget what a failing plugin has registered, but not what it made gim import of its own."""
    before = {registry: dict(registry._made) for registry in Registry.every}
    try:
        yield
    except BaseException:
        for registry in Registry.every:
            ours = {name: made for name, made in registry._made.items() if registry.owns(made)}
            registry._made = ours | before.get(registry, {})
        raise


plugins = Plugins("gim.plugins", guard=_undone_if_it_fails)


def snake(name: str) -> str:
    """CamelCase to snake_case: QLearning is q_learning."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _origin(make: Any) -> tuple[str, str]:
    """Where a thing is defined: by file, since a script is `__main__` to itself."""
    file = getattr(sys.modules.get(make.__module__), "__file__", None)
    return file or make.__module__, make.__qualname__


def _path(make: Any) -> str:
    return f"{make.__module__}.{make.__qualname__}"


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """A hint to end an error message with: the nearest name, or all of them."""
    words = sorted(words)
    close = difflib.get_close_matches(word, words, n=1)
    listed = " ".join(", ".join(words).split())  # one line, whatever a name holds
    return f": did you mean {close[0]!r}?" if close else f": choose from {listed}"


def parse(word: str) -> Spec:
    """Read ``name``, ``name:key=value,...`` or ``name(key=value,...)``."""
    text = word.strip()
    if len(text) > LONGEST:
        raise ValueError(f"a spec string of {len(text):,} letters: {LONGEST:,} are the limit")
    name, rest = re.match(rf"({NAME})?(.*)", text, re.S).groups()  # type: ignore[union-attr]
    if not name:
        raise ValueError(f"{word!r} does not start with a name: write name or name:key=value")
    if len(name) > LONGEST_NAME:
        raise ValueError(
            f"{name[:40]!r}... is a name of {len(name):,} letters: {LONGEST_NAME:,} are the limit"
        )
    if not rest:
        return Spec(name, {})
    if rest.startswith(":"):
        body = rest[1:]
    elif rest.startswith("(") and rest.endswith(")"):
        body = rest[1:-1]
    else:
        raise ValueError(f"cannot read {word!r} after {name!r}: write {name}:key=value,key=value")
    args: dict[str, Any] = {}
    for part in _split(body, word):
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise ValueError(f"cannot read {part!r} in {word!r}: write key=value")
        if key.strip() in args:
            raise ValueError(f"{key.strip()!r} stands twice in {word!r}")
        args[key.strip()] = _value(value.strip())
    return Spec(name, args)


def write(name: str, args: dict[str, Any], nested: bool = True) -> str:
    """Write a name and its parameters so that `parse` reads them again."""
    body = ",".join(f"{key}={_word(value)}" for key, value in args.items())
    if not body:
        return name
    return f"{name}({body})" if nested else f"{name}:{body}"


def arguments(thing: Any) -> dict[str, Any]:
    """The fields of a dataclass that differ from their defaults."""
    args = {}
    for parameter in describe(type(thing)):
        value = getattr(thing, parameter.name)
        default = parameter.default
        if parameter.rule is not None and isinstance(default, str):
            default = parameter.rule.check(default)
        if value != default:
            if is_dataclass(value) and isinstance(parameter.rule, Registry):
                value = Spec(parameter.rule.name_of(value), arguments(value))
            args[parameter.name] = value
    return args


def _split(body: str, word: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for i, c in enumerate(body):
        depth += (c in "([") - (c in ")]")
        if depth < 0:
            break
        if depth > NESTING:
            raise ValueError(f"brackets in {word[:40]!r}... are nested deeper than {NESTING}")
        if c == "," and depth == 0:
            parts.append(body[start:i])
            start = i + 1
    if depth != 0:
        raise ValueError(f"brackets do not match in {word!r}")
    return [*parts, body[start:]]


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    if text.startswith("[") and text.endswith("]"):
        return tuple(_value(part.strip()) for part in _split(text[1:-1], text) if part.strip())
    return parse(text) if "(" in text else text


def _word(value: Any) -> str:
    if isinstance(value, Spec):
        return write(*value)
    if isinstance(value, (tuple, list)):
        return "[" + ",".join(_word(v) for v in value) + "]"
    if value is None or isinstance(value, (bool, np.bool_)):
        return str(value).lower()
    if isinstance(value, (int, float, str)):
        return str(value)
    raise ValueError(
        f"{type(value).__name__} cannot be written in a spec string: register it first"
    )
