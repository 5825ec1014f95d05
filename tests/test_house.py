"""The house: imports point one way, files stay small, nothing speaks of where it was made."""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from docs import import_graph
from docs.import_graph import imported, modules_in

ROOT = Path(__file__).parent.parent
PACKAGES = ("gim", "gim_lab")
FILES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
MODULES = [module for package in PACKAGES for module in modules_in(package)]

# From the foundation up; a module may import from its own room and from those before it. `gim`
# itself only names what the others define, and `gim.__main__` starts the command.
ORDER = [
    ["_base"],
    ["_compile"],
    ["planning"],
    ["mdp"],
    ["model"],
    ["analogy"],
    ["belief"],
    ["paper"],
    ["envs"],
    ["runs"],
    ["agents"],
    ["logs"],
    ["service"],
    ["plot", "testing"],
    ["cli"],
    ["gim_lab"],
]
LEVEL = {name: level for level, names in enumerate(ORDER) for name in names}
LATER = {"service"}  # rooms that are not built yet
OUTSIDE = {"gim", "gim.__main__"}

# Imports under TYPE_CHECKING: most would make a circle of files of one room.
FOR_TYPES_ALONE = {
    ("gim._compile.backend", "gim._compile.internals"),  # the first of two that offer the same
    ("gim.belief.certificate.sentences", "gim.belief.certificate.certificate"),
    ("gim.belief.family.words", "gim.belief.family.family"),
    ("gim.mdp.gymnasium_env", "gim.mdp.tabular"),
    ("gim.mdp.picture", "gim.mdp.tabular"),
    ("gim.mdp.tabular", "gim.mdp.gymnasium_env"),
    ("gim_lab.experiments.logs.from_log", "gim_lab.trials.trial"),
    ("gim_lab.experiments.many.series", "gim_lab.trials.trial"),
    ("gim_lab.trials.result", "gim_lab.trials.trial"),
    ("gim_lab.trials.running", "gim_lab.trials.trial"),
    ("gim_lab.trials.subject", "gim_lab.trials.trial"),
}


def folders(package):
    return sorted(path.parent.name for path in (ROOT / package).glob("*/__init__.py"))


def room(module):
    top, _, rest = module.partition(".")
    return rest.partition(".")[0] if top == "gim" else top


def source(module):
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def test_the_root_holds_rooms_only():
    files = {path.name for path in (ROOT / "gim").iterdir() if path.is_file()}
    assert files == {"__init__.py", "__main__.py", "py.typed"}
    assert {*LEVEL} - LATER - {"gim_lab"} == {*folders("gim")}, "see ORDER"


def named(module):
    """Modules that strings name, to be imported so; but for a registry's folder, and its own."""
    nodes = list(ast.walk(ast.parse(source(module).read_text())))
    made = [
        node
        for node in nodes
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Registry"
    ]
    strings = {node.value for node in nodes if isinstance(node, ast.Constant)}
    strings -= {part.value for node in made for part in node.args if isinstance(part, ast.Constant)}
    found = strings & {*MODULES} - OUTSIDE
    return {each for each in found if not f"{module}.".startswith(f"{each}.")}


@pytest.mark.parametrize("module", [each for each in MODULES if each not in OUTSIDE])
def test_imports_point_downwards(module):
    """Those inside functions, those for the type checker, and those by name as well."""
    here = room(module)
    for target in {*imported(module), *imported(module, typing=True), *named(module)} - OUTSIDE:
        there = room(target)
        assert there == here or LEVEL[there] < LEVEL[here], f"{module} imports {target} from above"


def test_gim_never_imports_the_laboratory():
    """Nor does it name it, but for the entry points in pyproject.toml."""
    for path in (ROOT / "gim").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                text = ast.unparse(node)
                assert "gim_lab" not in text, path


def test_no_module_imports_itself_in_a_circle():
    """By statement, or by a name in a string."""
    try:
        graph = {module: {*imported(module), *named(module)} - OUTSIDE for module in MODULES}
        TopologicalSorter(graph).prepare()
    except CycleError as problem:
        pytest.fail(" imports ".join(reversed(problem.args[1])))


def test_circles_for_the_type_checker_alone_are_known():
    circles = {
        (module, target)
        for module in MODULES
        if source(module).name != "__init__.py"  # where they are names that come lazily
        for target in imported(module, typing=True)
    }
    assert circles == FOR_TYPES_ALONE


@pytest.mark.parametrize("name", [*folders("gim"), "gim_lab"])
def test_every_room_says_what_it_holds(name):
    """What lives there, what it may import, and where to begin reading."""
    path = ROOT / "gim_lab" if name == "gim_lab" else ROOT / "gim" / name
    text = ast.get_docstring(ast.parse((path / "__init__.py").read_text()))
    begin = re.search(r"Begin\s+with\s+`([\w/.]+)`", text)
    assert begin, text
    assert (path / begin[1]).exists()
    assert re.search(r"[Ii]mport", text), text


def test_the_picture_of_the_house_has_every_arrow_pointing_down():
    script = import_graph
    graph = script.rooms()
    level, shown = script.settled(graph), script.reduced(graph)
    for name, below in graph.items():
        assert all(level[each] < level[name] for each in below)
        assert script.reachable(shown, name) == script.reachable(graph, name)  # nothing is lost
    assert script.PICTURE.exists()


def test_only_the_compiler_s_room_imports_numba():
    users = {
        path.parent.name
        for path in FILES
        if re.search(r"^\s*(import|from) numba", path.read_text(), re.M)
    }
    assert users == {"_compile"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_hold_one_idea(path):
    assert len(path.read_text().splitlines()) <= 600


# Which studies build on another, and why: the demonstration begins with the paper's Figure 1.
BUILT_ON = {("demo", "paper")}


def study(module):
    """The folder of a study that a module is in; none for what all studies share."""
    parts = module.split(".")
    inside = parts[:2] == ["gim_lab", "experiments"] and len(parts) > 2
    return parts[2] if inside and ROOT.joinpath(*parts[:3]).is_dir() else None


def test_a_study_imports_what_all_share_and_no_other_study():
    found = {
        (study(module), study(target))
        for module in MODULES
        for target in imported(module)
        if study(module) and study(target) and study(target) != study(module)
    }
    assert found == BUILT_ON


def cells_of_first_columns(path):
    """Of all tables of a page."""
    return [row.split("|")[1] for row in path.read_text().splitlines() if row.startswith("| ")]


def test_the_table_of_the_house_has_every_room_once():
    cells = cells_of_first_columns(ROOT / "CONTRIBUTING.md")
    told = [name for cell in cells for name in re.findall(r"`(gim/\w+/|gim_lab/)`", cell)]
    assert sorted(told) == sorted([*(f"gim/{each}/" for each in folders("gim")), "gim_lab/"])


def test_the_laboratory_says_of_each_folder_what_it_holds():
    cells = cells_of_first_columns(ROOT / "gim_lab" / "README.md")
    told = [name for cell in cells for name in re.findall(r"`([\w/]+)/`", cell)]
    studies = [f"experiments/{each}" for each in folders("gim_lab/experiments")]
    assert sorted(told) == sorted(folders("gim_lab") + studies)


def test_no_global_random_state():
    for path in FILES:
        assert not re.search(r"np\.random\.(seed|rand|randn|choice|random)\(", path.read_text()), (
            path
        )
