"""The files that `gim new` writes pass the kits of their kinds, and lint."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gim.cli import main
from gim.cli.new import templates
from tests.processes import PLAIN, python

ROOT = Path(__file__).parent.parent
SAYS = {  # what running the file shows, besides that the kit does not complain
    "agent": "LeastTried",
    "task": "optimum",
    "candidate": "passes",
    "experiment": "report:",
}


def test_every_kind_has_a_template():
    found = [*ROOT.glob("gim/**/template.txt"), *ROOT.glob("gim_lab/**/template.txt")]
    assert len(found) == len(templates())
    assert set(SAYS) == set(templates())


@pytest.mark.parametrize("kind", templates())
def test_what_it_writes_passes_its_kit(kind, tmp_path, capsys):
    assert main(["new", kind, "LeastTried", "--out", str(tmp_path)]) == 0
    path = tmp_path / "least_tried.py"
    assert f"python {path}" in capsys.readouterr().out
    found = python(path, folder=tmp_path, **PLAIN)
    assert found.returncode == 0, found.stderr
    assert SAYS[kind].lower() in found.stdout.lower().replace("_", "")
    if kind == "experiment":
        assert (tmp_path / "reproduction-smoke" / "report.html").is_file()


@pytest.mark.parametrize("kind", templates())
def test_what_it_writes_lints(kind, tmp_path):
    ruff = Path(sys.executable).with_name("ruff")
    main(["new", kind, "LeastTried", "--out", str(tmp_path)])
    for words in (["check"], ["format", "--check"]):
        command = [ruff, *words, "--config", ROOT / "pyproject.toml", tmp_path / "least_tried.py"]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["agnt", "mine"], "unknown kind 'agnt': did you mean 'agent'?"),
        (["agent", "my agent"], "'my agent' is no name"),
        (["agent", "class"], "'class' is no name"),
        (["agent", "../mine"], "'../mine' is no name"),
        (["agent", "QLearning"], "the agent 'q_learning' exists"),
        (["task", "riverswim"], "the task 'riverswim' exists"),
    ],
)
def test_what_cannot_be_written_is_one_line(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new", *words]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path, capsys):
    path = tmp_path / "mine.py"
    path.write_text("precious")
    assert main(["new", "agent", "mine", "--out", str(tmp_path)]) == 2
    assert "exists" in capsys.readouterr().err
    assert path.read_text() == "precious"
