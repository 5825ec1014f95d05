"""What source says of itself: imports wherever they stand, and a digest of nothing but the code."""

import importlib
import sys
import textwrap

import pytest

from gim_lab.trials import source
from gim_lab.trials.source import imported, locate, modules_in, reach, read


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write modules into a folder on the path: `a_of_b` is a/b.py; forget what was read before."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def put(**files):
        for name, text in files.items():
            path = tmp_path / f"{name.replace('_of_', '/')}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        forget()

    yield put
    forget()


def forget():
    importlib.invalidate_caches()
    for function in vars(source).values():
        if hasattr(function, "cache_clear"):
            function.cache_clear()


def digest(write, text):
    write(thing=text)
    return read("thing").digest


CODE = '''
"""A module."""

from __future__ import annotations


class Thing:
    """A class."""

    size: int = 3

    def double(self, x: float = 1.0) -> float:
        """A method."""
        # two of them
        return 2 * x
'''
SAME = {
    "a comment": ("# two of them", "# both of them, and\n        # a second line"),
    "a docstring": ('"""A class."""', '"""Another docstring.\n\n    In two paragraphs.\n    """'),
    "no docstring": ('        """A method."""\n', ""),
    "an annotation": ("x: float = 1.0", "x: int | None = 1.0"),
    "what is returned": (" -> float", ""),
    "the annotation of a field": ("size: int", "size: float"),
    "layout": ("(self, x: float = 1.0)", "(\n        self,\n        x: float = 1.0,\n    )"),
    "an import for types": ("class", "if TYPE_CHECKING:\n    import gim\n\n\nclass"),
}
OTHER = {
    "a constant": ("2 * x", "3 * x"),
    "a default": ("x: float = 1.0", "x: float = 1"),
    "an operator": ("2 * x", "2 + x"),
    "a name": ("double", "twice"),
    "a text that is no docstring": ("return 2 * x", "'text'\n        return 2 * x"),
    "a value of a field": ("size: int = 3", "size: int"),
    "an import": ("import annotations", "import annotations\nimport math"),
}


@pytest.mark.parametrize("change", SAME)
def test_what_is_not_code_leaves_the_digest(write, change):
    old, new = SAME[change]
    assert old in CODE
    assert digest(write, CODE.replace(old, new, 1)) == digest(write, CODE)


@pytest.mark.parametrize("change", OTHER)
def test_every_change_of_code_changes_the_digest(write, change):
    old, new = OTHER[change]
    assert old in CODE
    assert digest(write, CODE.replace(old, new, 1)) != digest(write, CODE)


def test_a_text_after_the_docstring_is_code(write):
    assert digest(write, '"""Doc."""\n"""More."""\n') != digest(write, '"""Doc."""\n')


def test_imports_are_seen_wherever_they_stand(write):
    write(
        top="""
            import first
            from second import thing
            def late():
                from third import other
                try:
                    import fourth.part
                except ImportError:
                    with open(".") as file:
                        from fifth import *
            class Inside:
                match 1:
                    case 1:
                        import sixth
            if TYPE_CHECKING:
                import never
            else:
                import seventh
            """,
        first="",
        second="",
        third="",
        fourth_of___init__="",
        fourth_of_part="",
        fifth="",
        sixth="",
        seventh="",
        never="",
    )
    found = {"first", "second", "third", "fourth.part", "fifth", "sixth", "seventh"}
    assert set(imported("top")) == found
    assert imported("top", typing=True) == ("never",)
    assert set(reach(["top"]).modules) == {"top", *found}


def test_a_name_of_a_package_leads_to_where_it_is_defined(write):
    write(
        user="from shop import apple, pear as fruit, plum, basket",
        shop_of___init__="""
            from shop.fruit import apple, pear
            from .stones import cherry as plum
            from shop import fruit
            basket = []
            """,
        shop_of_fruit="",
        shop_of_stones="",
    )
    assert imported("user") == ("shop", "shop.fruit", "shop.stones")  # the basket is its own
    write(user="from shop import apple, fruit")
    assert imported("user") == ("shop.fruit",)
    write(user="from shop import *")
    assert imported("user") == ("shop",)


def test_what_is_no_python_counts_by_its_bytes(write):
    broken = digest(write, "def (:\n")
    assert digest(write, "def (:\n# more\n") != broken
    assert imported("thing") == ()


def test_relative_imports(write):
    write(
        a_of___init__="",
        a_of_b_of___init__="from . import c\nfrom .. import d\nfrom ..d import x\nfrom .c import y",
        a_of_b_of_c="from ... import nothing",
        a_of_d="",
    )
    assert imported("a.b") == ("a.b.c", "a.d")
    assert imported("a.b.c") == ()


def test_of_gim_counts_what_is_used_of_it(write):
    write(mine="import gim\nclass Mine(gim.Agent): pass\n")
    assert imported("mine") == ("gim.runs.agent",)
    write(mine="import gim as g\nx = g.make('riverswim')\n")
    assert imported("mine") == ("gim.envs.base",)
    write(mine="import gim.planning\ngim.planning.plan\n")
    assert imported("mine") == ("gim.planning",)
    write(mine="import gim\nprint(vars(gim))\n")
    assert imported("mine") == ("gim",)


def test_gim_is_not_followed():
    """Its code counts room by room, whoever imports what of it."""
    found = reach(["gim_lab.trials.running", "gim.agents.q_learning"])
    assert {"gim_lab.trials.running", "gim_lab.trials.measures"} <= set(found.modules)
    assert all(name.startswith("gim_lab.") for name in found.modules)
    assert found.packages == set()  # those of gim itself are known


def test_installed_packages_are_named_and_not_followed(write):
    write(mine="import numpy.linalg\nimport pytest\nimport math\nfrom helper import x", helper="")
    found = reach(["mine"])
    assert set(found.modules) == {"mine", "helper"}
    assert found.packages == {"numpy", "pytest"}
    followed = reach(["iniconfig"])  # asked for by itself, an installed package is followed
    assert "iniconfig" in followed.modules


def test_files_are_found_without_being_imported(write, tmp_path):
    write(never_loaded_of___init__="raise RuntimeError", never_loaded_of_part="")
    assert locate("never_loaded.part") == tmp_path / "never_loaded" / "part.py"
    assert "never_loaded" not in sys.modules
    assert locate("never_loaded.other") is None
    assert locate("no_such_thing") is None
    assert read("sys") is None
    assert "gim.agents.rmax" in modules_in("gim")
    assert modules_in("no_such_thing") == []
