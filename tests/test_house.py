"""The house: imports point one way, files stay small, nothing speaks of where it was made."""

from __future__ import annotations

import ast
import importlib.util
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from gim_lab.trials.source import imported, modules_in

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "gim").rglob("*.py"))
MODULES = modules_in("gim")
SELF = "__init__"  # gim itself, which only names what the others define

# From the foundation up; a module may import from its own room and from the levels before it.
LEVELS = [
    ["quick_flags", "views"],
    [
        "averages",
        "compile_cache",
        "escapes",
        "frames",
        "inner",
        "limits",
        "once",
        "replacing",
        "shares",
        "starting",
    ],
    [
        "arguments",
        "colour",
        "files",
        "html",
        "interrupts",
        "intervals",
        "jit",
        "memory",
        "params",
        "plugins",
        "reports",
    ],
    [
        "callbacks",
        "columns",
        "names",
        "planning",
        "registry",
        "rendering",
        "run_files",
        "sampling",
        "source",
    ],
    ["sparse_tables", "terminal"],
    ["progress", "tables"],
    ["validation", "variables", "gymnasium_env", "planners", "policy"],
    ["spaces"],
    ["mdp"],
    ["gymnasium_table", "model"],
    ["agent", "convert", "exploration", "theory"],
    ["agent_functions", "deploy", "envs", "gymnasium_task", "loop"],
    ["inference"],
    ["agents", "logs", "rewards_given", "stepwise"],
    ["runs"],
    ["checkpoints", "loading"],
    ["priors_given", "worlds"],
    ["run"],
    ["evaluation"],
    [SELF, "plot"],
    ["experiments"],
    ["testing"],
    ["cli"],
    ["__main__"],
]
LEVEL = {name: level for level, names in enumerate(LEVELS) for name in names}

# What is imported under TYPE_CHECKING points upwards, and only the type checker follows it.
FOR_TYPES_ALONE = {
    ("gim.runs.agent", "gim.analogy.base"),
    ("gim.runs.agent", "gim.belief.belief"),
    ("gim_lab.experiments.logs.from_log", "gim_lab.trials.trial"),
    ("gim_lab.trials.result", "gim_lab.trials.trial"),
    ("gim_lab.trials.running", "gim_lab.trials.trial"),
    ("gim_lab.trials.subject", "gim_lab.trials.trial"),
    ("gim.paper.walks.active", "gim.belief.belief"),
    ("gim.paper.walks.base", "gim.belief.belief"),
    ("gim.mdp.gymnasium_env", "gim.mdp.tabular"),
    ("gim.belief.certificate.sentences", "gim.belief.certificate.certificate"),
    ("gim.mdp.tabular", "gim.mdp.gymnasium_env"),
    ("gim.runs.priors_given", "gim.logs.log"),
    ("gim.mdp.rendering.picture", "gim.mdp.tabular"),
    ("gim.runs.runs", "gim.belief.grounds"),
    ("gim.runs.runs", "gim.analogy.structure.rule"),
}


def room(module):
    return module.split(".")[1] if "." in module else SELF


def test_every_room_has_its_level():
    assert sorted(LEVEL) == sorted({room(module) for module in MODULES}), "see LEVELS"


def named(module):
    """Modules that strings name, to be imported so; but for a registry's folder, and its own."""
    path = ROOT.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    nodes = list(ast.walk(ast.parse(path.read_text())))
    made = [
        node
        for node in nodes
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Registry"
    ]
    strings = {node.value for node in nodes if isinstance(node, ast.Constant)}
    strings -= {part.value for node in made for part in node.args if isinstance(part, ast.Constant)}
    return {each for each in strings & set(MODULES) if not f"{module}.".startswith(f"{each}.")}


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_downwards(module):
    """Those inside functions and by name as well: they may come late, but not from above."""
    here = room(module)
    for target in {*imported(module), *named(module)}:
        there = room(target)
        assert there == here or LEVEL[there] < LEVEL[here], f"{module} imports {target} from above"


def test_no_module_imports_itself_in_a_circle():
    """By statement, or by a name in a string."""
    assert named("gim.runs.runs") >= {"gim.belief.analogies", "gim.belief.grounds"}
    try:
        graph = {module: {*imported(module), *named(module)} for module in MODULES}
        TopologicalSorter(graph).prepare()
    except CycleError as problem:
        pytest.fail(" imports ".join(reversed(problem.args[1])))


def test_imports_for_the_type_checker_alone_are_known():
    found = {(m, target) for m in MODULES for target in imported(m, typing=True)}
    assert found == FOR_TYPES_ALONE


def test_the_picture_of_the_house_has_every_arrow_pointing_down():
    path = ROOT / "docs" / "import_graph.py"
    spec = importlib.util.spec_from_file_location("import_graph", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    graph = script.rooms()
    level, shown = script.settled(graph), script.reduced(graph)
    for name, below in graph.items():
        assert all(level[each] < level[name] for each in below)
        assert script.reachable(shown, name) == script.reachable(graph, name)  # nothing is lost
    assert script.PICTURE.exists()


def test_only_the_compiler_s_rooms_import_numba():
    users = [
        path for path in FILES if re.search(r"^\s*(import|from) numba", path.read_text(), re.M)
    ]
    rooms = ["agent_functions", "compile_cache", "frames", "inner", "jit", "quick_flags"]
    assert sorted(path.stem for path in users) == rooms


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_hold_one_idea(path):
    assert len(path.read_text().splitlines()) <= 600


# Which studies build on another, and why: claims are made about the paper's experiments, and the
# demonstration begins with the paper's Figure 1.
MACHINERY = {"engines", "report"}  # folders of gim/experiments that hold no study
BUILT_ON = {("claims", "paper"), ("demo", "paper")}


def folder(module):
    """Of a module of the laboratory; none for what all studies share."""
    parts = module.split(".")
    return parts[2] if len(parts) > 2 and ROOT.joinpath(*parts[:3]).is_dir() else None


def test_a_study_imports_what_all_share_and_no_other_study():
    found = {
        (folder(module), folder(target))
        for module in MODULES
        if room(module) == "experiments"
        for target in imported(module)
        if room(target) == "experiments" and folder(target) not in {None, folder(module)}
    }
    assert {(a, b) for a, b in found if b not in MACHINERY} == BUILT_ON


def cells_of_first_columns(path):
    """Of all tables of a page."""
    return [row.split("|")[1] for row in path.read_text().splitlines() if row.startswith("| ")]


def test_the_table_of_the_house_has_every_file_and_folder_once():
    cells = cells_of_first_columns(ROOT / "CONTRIBUTING.md")
    told = [name for cell in cells for name in re.findall(r"`gim/([\w/.]+)`", cell)]
    files = [path.name for path in (ROOT / "gim").glob("*.py")]
    assert sorted(told) == sorted([*files, *(f"{each}/" for each in folders("gim"))])


def test_the_laboratory_says_of_each_folder_what_it_holds():
    cells = cells_of_first_columns(ROOT / "gim" / "experiments" / "README.md")
    told = [name for cell in cells for name in re.findall(r"`(\w+)/`", cell)]
    assert sorted(told) == folders("gim/experiments")


def folders(package):
    return sorted(path.parent.name for path in (ROOT / package).glob("*/__init__.py"))


def test_no_global_random_state():
    for path in FILES:
        assert not re.search(r"np\.random\.(seed|rand|randn|choice|random)\(", path.read_text()), (
            path
        )
