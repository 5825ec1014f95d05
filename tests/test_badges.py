"""Badges say what is so, and those in the tree are not out of date."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tools import badges


def words(text):
    return [each.text for each in ElementTree.fromstring(text).iter() if each.tag.endswith("text")]


@pytest.mark.parametrize("name", badges.of_project())
def test_those_in_the_tree_are_what_the_project_says(name):
    kept = (badges.PICTURES / name).read_text("utf-8")
    assert kept == badges.of_project()[name], "python -m tools.badges writes them anew"
    assert f"](docs/pictures/{name})" in (badges.ROOT / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("suite", "told", "colour"),
    [
        ('tests="1204" skipped="4" failures="0" errors="0"', "1,200 passed", badges.GREEN),
        ('tests="9" skipped="1" failures="2" errors="1"', "3 failed", badges.RED),
    ],
)
def test_a_report_of_tests_becomes_a_badge(suite, told, colour, tmp_path):
    (tmp_path / "tests.xml").write_text(f"<testsuites><testsuite {suite}/></testsuites>")
    assert badges.main([str(tmp_path / "tests.xml"), "--out", str(tmp_path / "made")]) == 0
    made = (tmp_path / "made" / "badge-tests.svg").read_text("utf-8")
    assert words(made) == ["tests", told]
    assert colour in made


def test_what_is_written_is_escaped():
    assert words(badges.badge("a < b", '"c" & d')) == ["a < b", '"c" & d']
