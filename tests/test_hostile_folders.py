"""Folders of results that hold what nobody has run: one line each, no traceback, no waiting."""

import json
import os

import pytest

from gim._base import files
from gim.cli import main
from gim.logs import from_log
from gim_lab import Study, Trial, execute
from gim_lab.experiments.reproduction import MANIFEST, Manifest
from gim_lab.trials.store import Store

GOOD = {"keys": ["fig1"], "scale": "smoke", "command": "gim", "seconds": 1.0, "versions": {}}
ODD = (
    b"",
    b"[]",
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"keys":' + b"9" * 6000 + b"}",
    *(
        json.dumps(GOOD | {name: junk}).encode()
        for name, junks in {
            "keys": (None, 3, [], [3], [["fig1"]], [{}], {"fig1": 1}, ["nope"]),
            "scale": (None, [], {}, 3, "x", "x" * 10**5),
            "command": (None, 3, ["a"]),
            "seconds": ("x", None, float("nan"), float("inf"), -1, 10**400, True),
            "versions": (None, [], "x", {"a": []}),
            "more": (1,),
        }.items()
        for junk in junks
    ),
)


@pytest.mark.parametrize("text", ODD, ids=lambda text: text[:30].decode("latin1") + str(len(text)))
def test_manifests(tmp_path, text):
    (tmp_path / MANIFEST).write_bytes(text)
    with pytest.raises(ValueError, match="cannot be used") as found:
        Manifest.load(tmp_path)
    assert "\n" not in str(found.value)
    assert len(str(found.value)) < 1000


def fifo(path):
    os.mkfifo(path)


def loop(path):
    path.symlink_to(path.name)


def device(path):
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("made", [fifo, loop, device])
@pytest.mark.parametrize(
    ("name", "read"),
    [
        (MANIFEST, lambda path: Manifest.load(path.parent)),
        ("study.toml", Study.load),
        ("log.csv", from_log),
        ("world.npz", lambda path: execute([Trial(str(path), "random", 2, 0)], engine="serial")),
        ("run.npz", files.load),
    ],
)
def test_what_would_be_waited_for(tmp_path, made, name, read):
    made(tmp_path / name)
    with pytest.raises(ValueError, match=r"is a device or a pipe|is a link that leads to itself"):
        read(tmp_path / name)


TRIAL = Trial("riverswim", "random", 4, 0)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored")
    execute([TRIAL, Trial("riverswim", "random", 4, 1)], folder, engine="serial")
    return folder, files.load(Store(folder).path(TRIAL))


@pytest.mark.parametrize(
    ("part", "name", "junk"),
    [
        ("trial", "task", None),
        ("trial", "agent", []),
        ("trial", "episodes", True),
        ("code", "modules", "\x1b[31m"),
        ("code", "modules", {"a": 3}),
        ("code", "versions", float("nan")),
        ("columns", "score", 10**30),
        ("columns", "episodes", 0),
        (None, "trial", 3),
        (None, "code", []),
        (None, "columns", "x"),
    ],
)
def test_trials(stored, part, name, junk):
    """One that cannot be trusted is said to be left out, and run again to the same bits."""
    folder, good = stored
    path = Store(folder).path(TRIAL)
    meta = json.loads(json.dumps(good.meta))
    (meta if part is None else meta[part])[name] = junk
    files.save(path, "trial", good.arrays, meta)
    with pytest.warns(UserWarning, match=path.stem) as told:
        assert len(Store(folder).results()) == 1
    assert all("\n" not in str(each.message) for each in told)
    with pytest.warns(UserWarning, match="is run again"):
        assert len(execute([TRIAL], folder, engine="serial")) == 1
    assert files.load(path).arrays["cumulative"].tolist() == good.arrays["cumulative"].tolist()


def test_a_link_loop_does_not_fail_a_report(stored, capsys):
    folder, good = stored
    path = Store(folder).path(TRIAL)
    path.unlink()
    loop(path)
    (nowhere := path.with_name(path.name.replace("-", "-0"))).symlink_to("nowhere")
    assert main(["report", str(folder)]) == 0
    assert "is a link that leads to itself" in capsys.readouterr().err
    nowhere.unlink()
    with pytest.warns(UserWarning, match="is run again"):
        execute([TRIAL], folder, engine="serial")
    assert files.load(path).meta["digest"] == good.meta["digest"]


@pytest.mark.parametrize("word", ["a" * 100_000, "a-" * 50_000, "a/" * 50_000, "a:" * 50_000])
@pytest.mark.parametrize("agent", [True, False])
def test_names_of_any_length(word, agent, capsys):
    words = ["riverswim", "--agent", word] if agent else [word]
    assert main(["train", *words, "--episodes", "2"]) == 2
    assert len(capsys.readouterr().err) < 1100


def test_what_is_wrong_is_said_after_a_long_name(capsys):
    assert main(["play", "a" * 100_000, "riverswim"]) == 2
    said = capsys.readouterr().err
    assert len(said) < 1100
    assert said.endswith("File name too long\n")
