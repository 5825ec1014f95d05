"""What pages quote of commands that take seconds is what these commands print."""

from __future__ import annotations

import re

import pytest

from docs import quotes


@pytest.mark.parametrize("name", quotes.QUOTES)
def test_a_page_quotes_what_the_command_prints(name):
    quote = quotes.QUOTES[name]
    assert quotes.plain(quote.found()) == quotes.plain(quote.make()), "run python -m docs.quotes"


def test_the_first_pictures_show_what_the_demonstration_draws():
    made = quotes.drawings()
    assert len(made) == 3
    for path, svg in made.items():
        assert path.read_text("utf-8") == svg, "run python -m docs.quotes"
        for page in ("README.md", "docs/index.md"):
            assert f"pictures/{path.name})" in (quotes.ROOT / page).read_text("utf-8")


LONG = re.compile(
    r"`(python -m benchmarks\.[^`]*|gim reproduce [^`]*--scale (?:paper|quick)[^`]*)`"
)
STAMP = re.compile(r"\s\([0-9a-f]{7}, 20\d\d-\d\d-\d\d[);]")
NO_FIGURES = {  # beside which the page has none
    ("README.md", "gim reproduce all --scale paper"),
    ("docs/benchmarks.md", "python -m benchmarks.panel"),
    ("docs/gymnasium.md", "python -m benchmarks.stepwise"),
    ("docs/workshop.md", "python -m benchmarks.start"),
    ("docs/workshop.md", "python -m benchmarks.versions ../before"),
    ("docs/workshop.md", "python -m benchmarks.walks"),
}


def test_figures_of_long_commands_carry_command_commit_and_date():
    seen = 0
    for path in [quotes.ROOT / "README.md", *sorted((quotes.ROOT / "docs").rglob("*.md"))]:
        page, text = str(path.relative_to(quotes.ROOT)), path.read_text("utf-8")
        for found in LONG.finditer(text):
            if (page, found[1]) not in NO_FIGURES:
                seen += 1
                assert STAMP.match(text, found.end()), f"{page}: {found[1]} says no commit and date"
    assert seen > 40
    assert STAMP.search((quotes.ROOT / "docs" / "study.md").read_text("utf-8"))


def test_times_and_breaks_do_not_count_and_all_else_does():
    line = "steps            50,000 at 34.4k/s\ntime             planning 0.523 s\n"
    assert quotes.same(line, line.replace("34.4k", "2.1M").replace("0.523", "11"))
    assert not quotes.same(line, line.replace("50,000", "50,001"))
    assert quotes.same("a b\n    c", "a\n    b c")
    row = "gim:m=10    0.963   39      1   2.66 ms\n"
    assert quotes.same(row, row.replace("2.66 ms", "0.9 ms"))
    assert not quotes.same(row, row.replace("0.963", "0.964"))


def test_a_quote_is_written_where_it_stands(tmp_path, monkeypatch):
    monkeypatch.setattr(quotes, "ROOT", tmp_path)
    (tmp_path / "page.md").write_text("worth 84 % of it, 84 % more")
    quote = quotes.Quote("page.md", r"worth (\d+ %)", str)
    quote.write("100 %")
    assert (tmp_path / "page.md").read_text() == "worth 100 % of it, 84 % more"
    with pytest.raises(ValueError, match=r"page\.md has nothing like"):
        quote._replace(pattern="lost (x)").found()
