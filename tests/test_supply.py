"""What comes from others: audited on request, bounded where an internal is used, and no network."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tools import audit

ROOT = Path(__file__).parents[1]

# In every process that is started: a look beyond this machine is noted in a file.
WATCH = """
import os, sys

HERE = ("127.", "::1", "localhost", "/", "\\0", "@")

def watch(event, args):
    if event in ("socket.connect", "socket.sendto"):
        where = args[1][0] if isinstance(args[1], tuple) else args[1]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        where = args[0]
    else:
        return
    text = os.fsdecode(where) if isinstance(where, bytes) else str(where)
    if where is not None and not text.startswith(HERE):
        with open(os.environ["WATCHED"], "a") as file:
            file.write(f"{event} {text} {sys.argv}\\n")

sys.addaudithook(watch)
"""


@pytest.fixture
def watched(tmp_path):
    """Run a command in which every process is watched; what it asked of the network."""
    (tmp_path / "sitecustomize.py").write_text(WATCH)
    note = tmp_path / "asked"
    paths = os.pathsep.join([str(tmp_path), str(ROOT)])

    def run(*words):
        environment = os.environ | {"PYTHONPATH": paths, "WATCHED": str(note)}
        done = subprocess.run(
            [sys.executable, *words], env=environment, cwd=tmp_path, capture_output=True, text=True
        )
        return done, note.read_text() if note.exists() else ""

    return run


def test_the_watcher_sees_a_look_beyond_this_machine(watched):
    ask = (
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('192.0.2.1', 9))"
    )
    assert "192.0.2.1" in watched("-c", ask)[1]


@pytest.mark.parametrize(
    "words",
    [
        "train riverswim --episodes 20",
        "compare riverswim --agents random,q_learning --runs 2 --episodes 5 --workers 2 --out out",
    ],
)
def test_nothing_is_asked_of_a_network(watched, words):
    done, asked = watched("-m", "gim", *words.split())
    assert done.returncode == 0, done.stderr
    assert asked == ""


def test_an_audit_says_what_it_found():
    weak = {"name": "a", "version": "1", "vulns": [{"id": "X-1"}]}
    good = {"name": "b", "version": "2", "vulns": []}
    unknown = {"name": "c", "skip_reason": "not found"}
    assert audit.verdict([weak, good]) == (1, "known weaknesses:\na 1: X-1")
    assert audit.verdict([good, unknown])[0] == 0
    assert "1 package could not be looked up" in audit.verdict([good, unknown])[1]
    assert audit.verdict([unknown])[0] == 2


def test_an_audit_without_an_answer_says_that_nothing_was_checked(monkeypatch, capsys):
    for answer in ("", "no JSON", json.dumps([])):
        command = ("-c", f"print({answer!r})")
        monkeypatch.setattr(audit, "COMMAND", command)
        assert audit.main() == 2
        assert "nothing was audited" in capsys.readouterr().err


def test_what_is_used_by_an_internal_has_an_upper_bound():
    """numba's cache and a switch of its own; Ray's constants."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["ray"]]
    bounded = {re.match(r"[a-z]+", each)[0] for each in wanted if "<" in each}
    assert bounded >= {"numba", "ray"}
