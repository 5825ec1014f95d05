"""A folder of results is replaced whole or not at all."""

import os
import shutil

import pytest

from gim._base.files import replacing_all
from gim.cli import main

OLD = {"a.txt": b"old a", "pictures/b.txt": b"old b", "mine.txt": b"mine"}
NEW = {"a.txt": b"new a", "pictures/b.txt": b"new b", "c/d.txt": b"new"}


def held(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def filled(folder, what):
    for name, text in what.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text)


def test_all_are_replaced_and_others_stay(tmp_path):
    filled(tmp_path / "out", OLD)
    with replacing_all(tmp_path / "out") as made:
        filled(made, NEW)
    assert held(tmp_path / "out") == OLD | NEW


def failing(call, at, problem):
    """The same function, which fails when it is called for that time."""
    left = [at]

    def call_or_fail(*args, **more):
        left[0] -= 1
        if left[0] < 0:
            raise problem
        return call(*args, **more)

    return call_or_fail


@pytest.mark.parametrize("what", ["fsync", "replace"])
@pytest.mark.parametrize("at", range(len(NEW)))
@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_none_is_if_one_cannot_be(tmp_path, monkeypatch, what, at, problem):
    filled(tmp_path / "out", OLD)
    replace, left = os.replace, [at]

    def once(*args):  # it fails once, so that what was moved can go back
        left[0] -= 1
        if left[0] == -1:
            raise problem
        return replace(*args)

    broken = once if what == "replace" else failing(os.fsync, at, problem)
    monkeypatch.setattr(os, what, broken)
    with pytest.raises(type(problem)), replacing_all(tmp_path / "out") as made:
        filled(made, NEW)
    monkeypatch.undo()
    assert held(tmp_path / "out") == OLD


def test_nothing_is_left_of_a_folder_that_was_not_there(tmp_path):
    with pytest.raises(RuntimeError), replacing_all(tmp_path / "out"):
        raise RuntimeError
    assert not (tmp_path / "out").exists()


def test_what_a_killed_writer_left_is_removed(tmp_path):
    left = tmp_path / f".all.{'0' * 16}.tmp"
    (left / "new").mkdir(parents=True)
    (left / "held").touch()
    os.utime(left, (0, 0))
    with replacing_all(tmp_path) as made:
        filled(made, NEW)
    assert held(tmp_path) == NEW


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A log, and the folder that `gim learn` has made of it."""
    folder = tmp_path_factory.mktemp("learned")
    rows = [f"{i % 3},{i % 2},{i % 5},{(i + i % 2) % 3}" for i in range(60)]
    (folder / "log.csv").write_text("\n".join(["s,a,r,s2", *rows]))
    assert main(words(folder)) == 0
    return folder


def words(folder, *more):
    return ["learn", str(folder / "log.csv"), "--next", "s2", "--out", str(folder / "out"), *more]


@pytest.mark.parametrize("at", range(8))
def test_a_full_disk_leaves_what_was_learned_before(learned, monkeypatch, capsys, at):
    before = held(learned / "out")
    assert set(before) == {"policy.csv", "policy.json", "model.npz", "report.html"}
    full = OSError(28, "No space left on device")
    monkeypatch.setattr(os, "fsync", failing(os.fsync, at, full))
    status = main(words(learned, "--horizon", "3"))
    monkeypatch.undo()
    if status == 0:  # the disk was large enough
        shutil.rmtree(learned / "out")
        assert main(words(learned)) == 0
        return
    assert status == 2
    assert "No space left" in capsys.readouterr().err
    assert held(learned / "out") == before
