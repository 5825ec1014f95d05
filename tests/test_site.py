"""The site: gallery and examples of the reference run, and links lead somewhere."""

import json
import re
from pathlib import Path

import pytest

import gim
from docs.site import api, build, pages
from docs.site.examples import EXAMPLES, PLOTS

ROOT = Path(__file__).parent.parent
GALLERY = sorted((ROOT / "docs" / "gallery").glob("*.py"))
WRITTEN = [ROOT / "README.md", *map(ROOT.joinpath, build.OUTSIDE), *(ROOT / "docs").rglob("*.md")]
MADE = {"gallery/index.md", *(f"{name}.md" for name in build.TREE["Reference"])}


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_every_page_of_the_gallery_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # and leaves nothing where it was started
    pytest.importorskip("matplotlib")
    cells = pages.run(pages.read(path), path.stem)
    told = [cell for cell in cells if cell.output or cell.pictures]
    assert told
    assert not any(tmp_path.iterdir())
    text = pages.markdown(cells, path.stem, tmp_path / "pictures")
    assert text.startswith("# ")
    words = " ".join(text.split())
    assert all(" ".join(cell.output.split()) in words for cell in told)
    made = json.loads(pages.notebook(cells))
    assert ["".join(c["source"]) for c in made["cells"]] == [cell.text for cell in cells]


def test_the_gallery_has_a_place_for_every_page():
    assert sorted(["tutorial", *build.ORDER]) == [path.stem for path in GALLERY]


def test_the_side_bar_has_every_page():
    """Sphinx warns of a page that nothing leads to, and a warning is an error."""
    shown = {name for names in build.TREE.values() for name in names}
    assert {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"} <= shown


def test_a_page_that_fails_says_where():
    cells = [pages.Cell("markdown", "x"), pages.Cell("code", "1 / 0")]
    with pytest.raises(RuntimeError, match="mine, cell 1: ZeroDivisionError"):
        pages.run(cells, "mine")


def test_the_reference_has_every_name_with_an_example():
    text = "\n".join(api.pages().values())
    for name in gim.__all__:
        entry = text.split(f"## gim.{name}\n")[1].split("\n## ")[0]
        assert ">>> " in entry or "```python\nimport gim" in entry, name
    drawn = [name for name in gim.plot.__all__ if name.islower()]
    assert set(drawn) == set(PLOTS)


AGENTS = [name for name in gim.__all__ if api.example(name) and name not in EXAMPLES]


@pytest.mark.parametrize("name", [*EXAMPLES, *AGENTS])
def test_examples_of_the_reference_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    exec(compile(api.example(name), name, "exec"), {})


@pytest.mark.parametrize("name", PLOTS)
def test_examples_of_pictures_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("matplotlib")
    cells = pages.run([pages.Cell("code", PLOTS[name].strip())], name)
    (drawn,) = cells[0].pictures
    assert drawn.axes


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(path):
    prose = re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        name, _, anchor = target.partition("#")
        if "://" in name:
            continue
        there = (path.parent / name).resolve() if name else path
        gallery = there.parent.name == "gallery" and there.with_suffix(".py").exists()
        assert there.exists() or gallery or there.name in MADE, f"{path.name}: {target}"
        if anchor and there.suffix == ".md" and there.exists():
            heads = re.findall(r"^#+ (.*)$", there.read_text("utf-8"), re.M)
            slugs = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
            assert anchor in slugs, f"{path.name}: {target}"


@pytest.mark.parametrize("path", WRITTEN[1:], ids=lambda path: str(path.relative_to(ROOT)))
def test_no_link_leads_out_of_the_site(path):
    """Sphinx warns of those, too, and a warning is an error."""
    prose = re.sub(r"```.*?```|`[^`]*`", "", build._links(path.read_text("utf-8")), flags=re.S)
    docs = ROOT / "docs"
    here = path.parent if path.is_relative_to(docs) else docs
    for name in re.findall(r"\]\(([^)\s#]+)", prose):
        there = (here / name).resolve()
        gallery = there.parent.name == "gallery" and there.with_suffix(".py").exists()
        made = name in {*MADE, *build.OUTSIDE.values()}
        inside = there.exists() and there.is_relative_to(docs)
        assert inside or gallery or made or "://" in name, f"{path.name}: {name}"
