"""One share: what holds with a probability holds with the same one everywhere."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import gim
from gim.belief import shares
from gim.cli.summary import summary

ROOT = Path(__file__).parent.parent
SPEAK = ("gim/belief", "gim/logs", "gim/cli", "gim_lab/trials/certified.py", "gim_lab/report")


def test_it_is_nine_of_ten():
    assert (shares.SHARE, shares.percent()) == (0.9, "90 %")
    assert pytest.approx((0.05, 0.95)) == shares.TAILS


def test_certify_and_the_command_s_summary_say_it():
    assert inspect.signature(gim.certify).parameters["share"].default == shares.SHARE
    run = gim.run("analogist", "riverswim", episodes=200, seed=0)
    said = gim.certify(run).sentences
    assert f"with probability {shares.percent()} the policy earns" in said[0]
    assert said[0] in summary(run, run.best_policy())


def test_nothing_that_speaks_has_a_share_of_its_own():
    """No argument or constant is called a share, a level or a nominal coverage, and is a number."""
    names = {"share", "level", "nominal", "coverage", "confidence", "of_pairs"}
    for place in SPEAK:
        path = ROOT / place
        assert path.exists()
        for file in {path} if path.is_file() else {*path.rglob("*.py")} - {Path(shares.__file__)}:
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    given = [(node.targets[0].id, node.value)]
                elif isinstance(node, ast.Call):
                    given = [(word.arg or "", word.value) for word in node.keywords]
                elif isinstance(node, ast.arguments) and node.defaults:
                    taken = [*node.posonlyargs, *node.args][-len(node.defaults) :]
                    given = list(zip((arg.arg for arg in taken), node.defaults, strict=True))
                else:
                    continue
                for name, value in given:
                    own = isinstance(value, ast.Constant) and value.value in (0.9, 0.95, 0.99)
                    assert not (own and name.lower() in names), f"{file}: {name}"
