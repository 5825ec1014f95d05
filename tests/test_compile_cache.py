"""The compile cache may be in any state: what is wrong is compiled anew, with a word."""

import logging
import os
import pickle
import shutil
from pathlib import Path

import pytest

from gim._compile import internals as compile_cache
from gim._compile import jit

SOURCE = """
def twice(x):
    return x + x
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A module in a folder of its own, with its own __pycache__."""
    (tmp_path / "mine.py").write_text(SOURCE)
    monkeypatch.setattr(jit.numba.config, "CACHE_DIR", "")
    compile_cache.say.cache_clear()
    return tmp_path


def twice(folder: Path):
    """The function, as a new process would make it."""
    path = folder / "mine.py"
    space: dict = {"__name__": "mine", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), space)
    return jit.entry(space["twice"])


def kept(folder: Path, kind: str = "nb?") -> list[Path]:
    return sorted((folder / "__pycache__").glob(f"*.{kind}"))


def hits(f) -> int:
    return sum(f.stats.cache_hits.values())


def test_a_second_process_finds_what_the_first_has_compiled(folder, caplog):
    first = twice(folder)  # kept: numba looks for what belongs to its module, which none can import
    assert first(2) == 4
    again = twice(folder)
    assert again(2) == 4
    assert hits(again) == 1
    assert not caplog.records


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def empty(path):
    path.write_bytes(b"")


def garbage(path):
    path.write_bytes(b"\x80\x05garbage" * 50)


def other_version(path):
    path.write_bytes(pickle.dumps("0.0.1") + b"what that version wrote")


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", [cut, flip, empty, garbage, other_version])
def test_a_damaged_file_is_compiled_anew_and_mended(folder, damage, kind, caplog):
    twice(folder)(2)
    (path,) = kept(folder, kind)
    damage(path)
    with caplog.at_level(logging.WARNING, "gim"):
        f = twice(folder)
        assert f(3) == 6
    assert hits(f) == 0
    assert "the compile cache is damaged" in caplog.text
    assert caplog.text.count("\n") == 1
    again = twice(folder)
    assert again(3) == 6
    assert hits(again) == 1, "it was not mended"


def test_files_that_vanish_are_made_again(folder):
    twice(folder)(2)
    kept(folder, "nbc")[0].unlink()
    assert twice(folder)(2) == 4
    f = twice(folder)
    shutil.rmtree(folder / "__pycache__")
    assert f(2) == 4
    assert len(kept(folder)) == 2


def test_a_full_disk_costs_the_cache_and_nothing_else(folder, monkeypatch, caplog):
    def full(self, name, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compile_cache.Data, "_save_data", full)
    f = twice(folder)
    assert f(2) == 4
    assert (
        "cannot be written (OSError: [Errno 28] No space left on device): not kept" in caplog.text
    )


def test_no_folder_to_write_to_costs_the_cache_and_nothing_else(folder, monkeypatch, caplog):
    def none(self, f):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(compile_cache.Cache, "__init__", none)
    assert twice(folder)(2) == 4
    assert "each start compiles anew" in caplog.text


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes anywhere")
def test_a_read_only_folder_is_no_failure(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "none"))
    folder.chmod(0o500)
    try:
        assert twice(folder)(2) == 4
    finally:
        folder.chmod(0o700)
