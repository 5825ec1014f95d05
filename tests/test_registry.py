"""Registries: one naming rule, no name taken twice, and a kit for every kind."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import pytest

import gim
from gim import testing
from gim._base.params import Within
from gim._base.registry import Registered, Registry, snake
from gim.agents.random import Random
from gim.envs import task, tasks
from gim.envs.riverswim import riverswim
from gim.paper.walks.base import explorations
from gim.runs.agent import agents
from gim_lab import testing as lab_testing

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def restored():
    """What a test registers is gone after it."""
    for registry in Registry.every:
        registry.find()
    before = {registry: dict(registry._made) for registry in Registry.every}
    yield
    Registry.every[:] = before
    for registry, made in before.items():
        registry._made = made


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("QLearning", "q_learning"),
        ("UCBVI", "ucbvi"),
        ("DelayedQLearning", "delayed_q_learning"),
        ("HTTPServer", "http_server"),
        ("Table1", "table1"),
        ("coin", "coin"),
    ],
)
def test_names_are_snake_case(name, expected):
    assert snake(name) == expected


def test_the_rule_is_one_for_all_kinds():
    for registry in Registry.every:
        names = [name for name in registry.names() if registry.owns(registry[name])]
        assert len(names) > 1
        assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) for name in names)


def test_a_kind_is_a_base_with_a_registry():
    kinds = Registry("kind", "gim.envs")

    @dataclass(frozen=True)
    class Kind(Registered, registry=kinds):
        """The base of a new kind."""

    @dataclass(frozen=True)
    class FirstThing(Kind):
        """A thing of it."""

        size: Annotated[int, Within(1), "how large"] = 3
        examples: ClassVar[tuple[str, ...]] = ("", "size=5")

    @dataclass(frozen=True)
    class Second(FirstThing, name="other"):
        """A thing with a name of its own."""

    assert kinds.names() == ["first_thing", "other"]
    assert str(FirstThing(4)) == "first_thing:size=4"
    assert kinds.make("other:size=7") == Second(7)
    assert kinds.examples("first_thing") == ["first_thing", "first_thing:size=5"]
    assert str(kinds) == "a kind"


def test_a_name_that_is_taken_is_refused_and_both_are_named():
    message = r"the agent name 'rmax' is taken by gim.agents.rmax.RMax: give tests\.test_registry\."
    with pytest.raises(ValueError, match=message):

        class Mine(Random, name="rmax"):
            pass

    assert agents["rmax"] is gim.RMax


def test_a_name_is_refused_even_if_its_owner_was_not_imported_yet(monkeypatch):
    """Then the owner is imported first, lest it were told that its own name is taken."""
    registry = Registry("agent", "gim.agents")
    calls = []
    monkeypatch.setattr(registry, "find", lambda: calls.append(1))
    registry.add(None, type("Mine", (), {"__module__": "elsewhere"}))
    assert calls == [1]
    registry.add(None, type("Ours", (), {"__module__": "gim.agents.ours"}))
    assert calls == [1]


def test_a_name_may_be_replaced_if_that_is_said():
    @dataclass(frozen=True)
    class Other(Random, name="rmax", replace=True):
        """In the place of RMax."""

    assert agents.make("rmax") == Other()
    assert str(Other()) == "rmax"
    with pytest.raises(ValueError, match="RMax is not a registered agent"):
        str(gim.RMax())


def test_the_same_class_may_come_again():
    for far in (1, 2):

        @dataclass(frozen=True)
        class Again(Random):
            """The same, with another default, as in a notebook's cell that is run twice."""

            step: Annotated[int, "how far"] = far

        assert agents.make("again").step == far


RELOADED = """
from dataclasses import dataclass
from gim.agents.random import Random
from gim.envs import task
from gim.envs.riverswim import riverswim

@dataclass(frozen=True)
class Careful(Random):
    "A random one."

@task("test/River-v0")
def river():
    "Another river."
    return riverswim(length=4)
"""


def test_a_module_may_be_reloaded(tmp_path, monkeypatch):
    (tmp_path / "reloaded.py").write_text(RELOADED)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("reloaded")
    old = module.Careful()
    importlib.reload(module)  # of which Gymnasium says nothing: warnings are errors here
    assert module.Careful is not type(old)
    assert type(agents.make("careful")) is module.Careful
    assert str(old) == "careful"
    assert tasks.make("river").S == 4
    monkeypatch.delitem(sys.modules, "reloaded")


@pytest.mark.parametrize("name", ["my agent", "gim:m=3", "a(b)"])
def test_a_name_that_no_spec_string_could_begin_with_is_refused(name):
    with pytest.raises(ValueError, match="is no name for"):

        class Mine(Random, name=name):
            pass


def test_a_task_has_a_name_of_its_own_if_it_is_given_one():
    @task("test/Stream-v0", name="stream", examples=("length=3",))
    def another(length: Annotated[int, Within(2), "states"] = 4) -> gim.TabularMDP:
        """A short river."""
        return riverswim(length)

    assert gim.make("stream", length=5).name == "stream:length=5"
    assert tasks.examples("stream") == ["stream:length=3"]
    with pytest.raises(ValueError, match="the task name 'stream' is taken by"):
        task("test/Stream-v1", name="stream")(riverswim)


KINDS = [
    (kind, ast.get_docstring(ast.parse(path.read_text())))
    for path in sorted([*ROOT.rglob("gim/**/*.py"), *ROOT.rglob("gim_lab/**/*.py")])
    for kind in re.findall(r"= Registry\(\"(\w+)\"", path.read_text())
]


@pytest.mark.parametrize(("kind", "recipe"), KINDS, ids=[kind for kind, _ in KINDS])
def test_every_kind_has_a_kit_and_a_recipe(kind, recipe):
    kits = testing if hasattr(testing, f"check_{kind}") else lab_testing
    assert callable(getattr(kits, f"check_{kind}"))
    for part in ("write one file in", f"{kits.__name__}.check_{kind}", "docs/extending.md"):
        assert part in " ".join(recipe.split())


def test_nothing_registered_is_nothing_checked():
    with pytest.raises(AssertionError, match="json has registered nothing"):
        testing.check_package("json")


def test_walks_are_called_walks():
    with pytest.raises(ValueError, match="unknown walk 'curios': did you mean 'curious'"):
        explorations.make("curios")
