"""Build the site: run the gallery, write the reference, and let Sphinx make pages of all of it.

    python -m docs.site.build            # into build/docs/html; make docs

The sources are put together in build/docs/source; the tree itself is left as it is. Any warning of
Sphinx, a link that leads nowhere among them, ends it with an error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from docs.site import api, pages

ROOT = Path(__file__).parents[2]
DOCS, BUILD = ROOT / "docs", ROOT / "build" / "docs"
TREE = {  # what the side bar shows
    "Start": [
        "gallery/tutorial",
        "gallery/index",
        "command",
        "gymnasium",
        "logs",
        "policies",
        "tasks",
    ],
    "Learning by analogy": ["analogy", "variables", "structure", "families"],
    "What was measured": ["study", "rivals", "scoreboard", "benchmarks"],
    "The paper": ["paper", "exploration", "completion", "theory", "reproduction", "sentences"],
    "The machinery": ["planning", "framework", "laboratory", "gim_lab", "files", "robustness"],
    "Agents": ["agents/*"],
    "Reference": ["api-functions", "api-types", "api-agents", "api-plot", "api-modules"],
    "The project": ["changes", "contributing", "extending", "workshop"],
}
ORDER = [  # of the gallery: as people ask
    "own_mdp",
    "gymnasium_env",
    "csv_log",
    "which_agent",
    "watch_it_learn",
    "enough_runs",
    "certificate",
    "inventory",
    "many_shops",
    "queues",
    "replacement",
    "reproduce_figure",
    "write_agent",
    "cluster",
    "limits",
]

OUTSIDE = {  # pages that stand elsewhere in the tree, and what the site calls them
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    "gim_lab/README.md": "gim_lab.md",
}


def gather(source: Path) -> None:
    """Copy the pages, run the gallery, write the reference."""
    shutil.rmtree(source, ignore_errors=True)
    ignored = shutil.ignore_patterns("*.py", "site", "__pycache__")
    shutil.copytree(DOCS, source, ignore=ignored)
    shutil.copy(DOCS / "site" / "conf.py", source)
    (source / "_static").mkdir()
    shutil.copy(DOCS / "site" / "site.css", source / "_static")
    for path, name in OUTSIDE.items():
        shutil.copy(ROOT / path, source / name)
    for path in source.rglob("*.md"):
        path.write_text(_links(path.read_text("utf-8")), "utf-8")
    _gallery(source)
    api.write(source)
    _tables_of_contents(source)


def _links(text: str) -> str:
    """Links to files of the tree outside of docs are shown as their paths."""
    text = re.sub(r"\]\((?:\.\./)*docs/", "](", text)
    for path, name in OUTSIDE.items():
        text = re.sub(rf"\]\((?:\.\./)*{re.escape(path)}", f"]({name}", text)
    return re.sub(r"\[([^\]]*)\]\((?:\.\./)+(gim|examples|tests)/([^)]*)\)", r"\1 (`\2/\3`)", text)


def _gallery(source: Path) -> None:
    for path in sorted((DOCS / "gallery").glob("*.py")):
        print(f"running {path.relative_to(ROOT)}", flush=True)
        cells = pages.run(pages.read(path), path.stem)
        text = pages.markdown(cells, path.stem, source / "gallery" / "pictures")
        (source / "gallery" / f"{path.stem}.md").write_text(text, "utf-8")
        shutil.copy(path, source / "gallery")
        (source / "gallery" / f"{path.stem}.ipynb").write_text(pages.notebook(cells), "utf-8")


def _tables_of_contents(source: Path) -> None:
    gallery = source / "gallery" / "index.md"
    listed = "\n".join([gallery.read_text("utf-8"), *map(_entry, ORDER), "", _toctree("", ORDER)])
    gallery.write_text(listed, "utf-8")
    trees = [_toctree(title, names) for title, names in TREE.items()]
    index = source / "index.md"
    index.write_text(index.read_text("utf-8") + "\n".join(trees), "utf-8")


def _entry(name: str) -> str:
    """A line of the gallery: a page, and the first sentence of what it is about."""
    title, _, about = pages.read(DOCS / "gallery" / f"{name}.py")[0].text.partition("\n")
    first = re.split(r"(?<=[.?!])\s", " ".join(about.split()))[0]
    return f"- **[{title.removeprefix('# ')}]({name}.md)**" + (f"  \n  {first}" if first else "")


def _toctree(title: str, names: list[str], hidden: bool = True) -> str:
    options = (
        [f":caption: {title}"] * bool(title) + [":hidden:"] * hidden + [":glob:", ":maxdepth: 1"]
    )
    return "\n".join(["```{toctree}", *options, "", *names, "```", ""])


def main() -> int:
    """Build, and say where."""
    gather(BUILD / "source")
    words = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run([*words, BUILD / "source", BUILD / "html"], env=os.environ, check=False)
    if done.returncode == 0:
        print(f"site: {(BUILD / 'html' / 'index.html').relative_to(ROOT)}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
