"""The reference: every name in `gim.__all__` and `gim.plot`, each with an example that is run."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import gim
import gim.plot
from docs.site.examples import AGENT, EXAMPLES, PLOTS
from docs.site.pages import Cell, run
from gim._base.params import describe

GROUPS: dict[str, Callable[[Any], bool]] = {  # the first that fits
    "Agents": lambda thing: inspect.isclass(thing) and issubclass(thing, gim.Agent),
    "Functions": inspect.isfunction,
    "Modules": inspect.ismodule,
    "Types": lambda thing: True,
}
SECTION = re.compile(r"^(Args|Returns|Raises|Attributes|Example):$", re.M)


def pages() -> dict[str, str]:
    """Markdown by name of the page."""
    found: dict[str, list[str]] = {group: [] for group in GROUPS}
    for name in gim.__all__:
        thing = getattr(gim, name)
        found[next(group for group, fits in GROUPS.items() if fits(thing))].append(name)
    made = {
        f"api-{group.lower()}": f"# {group}\n\n" + "\n\n".join(entry(name) for name in names)
        for group, names in found.items()
    }
    drawn = [
        f"{_entry(f'gim.plot.{name}', getattr(gim.plot, name), code)}\n\n"
        f"![what this draws](plots/{name}.png)"
        for name, code in PLOTS.items()
    ]
    made["api-plot"] = f"# Pictures: gim.plot\n\n{inspect.getdoc(gim.plot)}\n\n" + "\n\n".join(
        drawn
    )
    return made


def entry(name: str) -> str:
    """The entry of a name of gim."""
    return _entry(f"gim.{name}", getattr(gim, name), example(name))


def example(name: str) -> str:
    """The code of its example, other than that of its docstring."""
    thing = getattr(gim, name)
    if name in EXAMPLES:
        return EXAMPLES[name]
    if inspect.isclass(thing) and issubclass(thing, gim.Agent):
        return AGENT.format(name=name)
    return ""


def _entry(name: str, thing: Any, code: str) -> str:
    parts = [f"## {name}"]
    if inspect.isclass(thing) or inspect.isfunction(thing):
        parts.append(f"```python\n{name}{_signature(thing)}\n```")
    parts.append(_text(inspect.getdoc(thing) or ""))
    if inspect.isclass(thing):
        parts += [_parameters(thing), _members(thing)]
    if isinstance(thing, ModuleType):
        parts.append(_contents(thing))
    if code:
        parts.append(f"```python\n{code.strip()}\n```")
    return "\n\n".join(part for part in parts if part)


def _signature(thing: Any) -> str:
    try:
        text = str(inspect.signature(thing))
    except (ValueError, TypeError):
        return "(...)"
    text = re.sub(r"\b(?:[a-z_]\w*\.)+([A-Z]\w*)", r"\1", text).replace("'", "")
    return re.sub(r" object at 0x\w+", "", text)


def _text(doc: str) -> str:
    """A docstring as Markdown: its sections as lists and code, its prose as it is."""
    head, *parts = SECTION.split(doc)
    made = [head.strip()]
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        body = inspect.cleandoc(f"\n{body}")
        if title == "Example":
            made.append(f"```python\n{body}\n```")
        elif title in ("Args", "Attributes", "Raises"):
            made.append(f"**{title}**\n\n{_list(body)}")
        else:
            made.append(f"**{title}**: {body}")
    return (
        "\n\n".join(part for part in made if part).replace("\n## ", "\n**").replace("::\n", ":\n")
    )


def _list(body: str) -> str:
    lines = re.sub(r"\n +", " ", body).splitlines()
    return "\n".join(
        f"- `{name}`: {what.strip()}" for name, _, what in (line.partition(":") for line in lines)
    )


def _parameters(thing: type) -> str:
    try:
        found = describe(thing)
    except (TypeError, AttributeError):
        return ""
    rows = [f"| `{each.name}` | `{each.default}` | {each.help} |" for each in found]
    return "\n".join(["| parameter | default | |", "| --- | --- | --- |", *rows]) if rows else ""


def _members(thing: type) -> str:
    rows = []
    for name, member in vars(thing).items():
        doc = inspect.getdoc(member) if not name.startswith("_") else None
        callable_ = inspect.isfunction(member) or isinstance(member, (property, classmethod))
        if doc and callable_:
            mark = "" if isinstance(member, property) else "()"
            rows.append(f"- `.{name}{mark}`: {doc.splitlines()[0]}")
    return "\n".join(rows)


def _contents(module: ModuleType) -> str:
    rows = []
    for name, thing in vars(module).items():
        if not name.startswith("_") and getattr(thing, "__module__", "").startswith(
            module.__name__
        ):
            rows.append(
                f"- `{module.__name__}.{name}`: {(inspect.getdoc(thing) or '').split(chr(10))[0]}"
            )
    return "\n".join(rows)


def draw(folder: Path) -> None:
    """Run the examples of pictures, each into a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, code in PLOTS.items():
        print(f"drawing gim.plot.{name}", flush=True)
        (picture,) = run([Cell("code", code.strip())], name)[0].pictures
        picture.savefig(folder / f"{name}.png", dpi=110)


def write(folder: Path) -> list[str]:
    """Write all pages; their names."""
    made = pages()
    draw(folder / "plots")
    for name, text in made.items():
        (folder / f"{name}.md").write_text(text + "\n", "utf-8")
    return list(made)
