"""The file layer: what goes in comes out, and nothing else ever does."""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import math
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gim._base import files

ARRAYS = {
    "flags": np.array([True, False, True]),
    "table": np.arange(24, dtype=np.float64).reshape(2, 3, 4),
    "memory.n": np.arange(-3, 3),
    "words": np.array(["left", "", "rechts ünd ♥"]),
    "nothing": np.zeros((0, 3), np.uint8),
    "scalar": np.array(2.5, np.float32),
}
META = {
    "text": "ü ♥ \ud800",
    "numbers": [1, -2.5, 1e300, 2**127, float("inf"), float("-inf")],
    "none": None,
    "nested": {"yes": True, "list": [[], {}]},
}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "a.npz"
    files.save(path, "thing", ARRAYS, META)
    return path


def same(a: files.Saved, arrays: dict, meta: dict) -> bool:
    return (
        a.meta == meta
        and a.arrays.keys() == arrays.keys()
        and all(
            x.dtype == arrays[k].dtype and x.shape == arrays[k].shape and (x == arrays[k]).all()
            for k, x in a.arrays.items()
        )
    )


# -- what goes in comes out


def test_round_trip(saved: Path) -> None:
    back = files.load(saved, "thing")
    assert back.kind == "thing"
    assert same(back, ARRAYS, META)
    back.arrays["table"][0, 0, 0] = 7  # ours to change


def test_numpy_can_open_it(saved: Path) -> None:
    with np.load(saved, allow_pickle=False) as archive:
        for name, array in ARRAYS.items():
            assert archive[name].dtype == array.dtype
            np.testing.assert_array_equal(archive[name], array)


def test_numbers_that_are_none_and_numpy_scalars_in_meta(tmp_path: Path) -> None:
    meta = {"nan": math.nan, "tuple": (1, 2), "one": np.int64(3), "half": np.float32(0.5)}
    files.save(tmp_path / "a", "k", {}, meta)
    back = files.load(tmp_path / "a").meta
    assert math.isnan(back["nan"])
    assert back["tuple"] == [1, 2]
    assert back["one"] == 3
    assert type(back["one"]) is int
    assert back["half"] == 0.5


def test_equal_content_gives_an_equal_file(tmp_path: Path) -> None:
    files.save(tmp_path / "a", "k", {"x": np.arange(6.0), "y": np.ones(2)}, {"p": 1, "q": 2})
    reordered = {"y": np.ones(2), "x": np.arange(6.0, dtype=">f8")}
    files.save(tmp_path / "b", "k", reordered, {"q": 2, "p": 1})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_bytes_of_the_format_are_fixed(tmp_path: Path) -> None:
    """A golden digest: whoever changes the format raises FORMAT and reads the old one too."""
    files.save(tmp_path / "a", "k", {"x": np.arange(3, dtype=np.int64)}, {"p": [1, 2.5, None]})
    digest = hashlib.sha256((tmp_path / "a").read_bytes()).hexdigest()
    assert digest == "b5610ad71baeb6cbdd735e1dc4ec26cda7a6e5881d3746d8e0c0f86ce2c5fdb2"


def test_memory_layout_does_not_matter(tmp_path: Path) -> None:
    x = np.arange(24.0).reshape(4, 6)
    for i, form in enumerate((x, np.asfortranarray(x), x[::-1][::-1], np.repeat(x, 2, 1)[:, ::2])):
        files.save(tmp_path / f"{i}", "k", {"x": form}, {})
        assert (tmp_path / f"{i}").read_bytes() == (tmp_path / "0").read_bytes()


DTYPES = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(sizes=(16, 32, 64), endianness="?"),
    hnp.unicode_string_dtypes(endianness="?"),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(
    array=hnp.arrays(DTYPES, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)),
    meta=st.dictionaries(st.text(), JSON, max_size=3),
)
def test_any_array_and_any_json(tmp_path_factory, array, meta) -> None:
    path = tmp_path_factory.mktemp("any") / "a"
    files.save(path, "k", {"x": array}, meta)
    back = files.load(path)
    assert back.meta == meta
    assert back.arrays["x"].shape == array.shape
    np.testing.assert_array_equal(back.arrays["x"], array)  # NaN equals NaN here


# -- what is refused on saving


@pytest.mark.parametrize(
    "array",
    [
        np.array([None, 1], object),
        np.array([1j]),
        np.array([b"bytes"]),
        np.array(["2020-01-01"], "M8[D]"),
        np.array([(1, 2.0)], "i4,f8"),
        np.array([1], np.longdouble),
    ],
)
def test_other_dtypes_are_refused_by_name(tmp_path: Path, array: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"array 'culprit' has dtype .*astype"):
        files.save(tmp_path / "a", "k", {"good": np.ones(1), "culprit": array}, {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "a/b", "../x", ".hidden", "a\\b", "ü", "a b", 3])
def test_array_names_stay_plain(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="array name"):
        files.save(tmp_path / "a", "k", {name: np.ones(1)}, {})


def test_meta_that_is_no_json_is_named(tmp_path: Path) -> None:
    itself: dict = {}
    itself["itself"] = itself
    for meta, culprit in (
        ({"a": {"b": [0, {1, 2}]}}, r"meta\.a\.b\[1\] is a set"),
        ({"a": np.ones(2)}, r"meta\.a is a ndarray.*among the arrays"),
        ({"a": {3: 4}}, r"meta\.a has the key 3"),
        ({"f": len}, r"meta\.f is a builtin_function"),
        ({"c": 1j}, r"meta\.c is a complex"),
        (itself, "nested too deep"),
    ):
        with pytest.raises(ValueError, match=culprit):
            files.save(tmp_path / "a", "k", {}, meta)
    assert list(tmp_path.iterdir()) == []


# -- atomic writing


def test_a_failure_leaves_the_old_file_and_nothing_else(saved: Path, monkeypatch) -> None:
    before = saved.read_bytes()

    def broken(*args):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="disk full"):
        files.save(saved, "thing", {"other": np.ones(1000)}, {})
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_ctrl_c_while_writing_leaves_nothing(tmp_path: Path) -> None:
    def interrupted():
        with files.replacing(tmp_path / "a") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_places_where_nothing_can_be_saved(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"make the folder .*missing first"):
        files.save(tmp_path / "missing" / "a", "k", {}, {})
    with pytest.raises(ValueError, match="is a folder"):
        files.save(tmp_path, "k", {}, {})
    (tmp_path / "file").touch()
    with pytest.raises(FileNotFoundError, match="make the folder"):
        files.check_target(tmp_path / "file" / "a")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="not writable"):
        files.check_target(tmp_path / "a")
    tmp_path.chmod(0o700)


def test_an_old_files_mode_is_kept(saved: Path) -> None:
    saved.chmod(0o640)
    files.save(saved, "numbers", {}, {})
    assert saved.stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link_to_the_file_that_is_replaced(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    link, target = tmp_path / "link.npz", tmp_path / "there" / "file.npz"
    link.symlink_to(target)
    files.save(link, "first", {}, {})  # what it points to need not exist yet
    files.save(link, "second", {}, {})
    assert link.is_symlink()
    assert files.load(target).kind == "second"
    assert [each.name for each in target.parent.iterdir()] == ["file.npz"]


def test_a_link_to_nowhere_or_to_itself(tmp_path: Path) -> None:
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing" / "file")
    with pytest.raises(FileNotFoundError, match=r"make the folder .*missing first"):
        files.save(tmp_path / "nowhere", "k", {}, {})
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    with pytest.raises(ValueError, match="leads to itself"):
        files.save(tmp_path / "circle", "k", {}, {})


def test_what_a_killed_writer_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    """Swept: old, ours by its name, and held by nobody."""
    dead, young, held = (tmp_path / f".x.npz.{16 * digit}.tmp" for digit in "abc")
    foreign, folder = tmp_path / ".notes.tmp", tmp_path / f".y.npz.{16 * 'd'}.tmp"
    for each in (dead, young, held, foreign):
        each.write_bytes(b"half")
    folder.mkdir()
    for each in (dead, held, foreign, folder):
        os.utime(each, (0, 0))
    with held.open("rb") as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        files.save(tmp_path / "x.npz", "numbers", {}, {})
    assert {each.name for each in tmp_path.iterdir()} == {
        "x.npz",
        *(each.name for each in (young, held, foreign, folder)),
    }


def test_a_saved_file_has_ordinary_permissions(saved: Path) -> None:
    umask = os.umask(0o022)
    os.umask(umask)
    assert saved.stat().st_mode & 0o777 == 0o666 & ~umask


# -- what is refused on loading


def refused(path: Path, match: str, **options) -> None:
    with pytest.raises(ValueError, match=match) as caught:
        files.load(path, **options)
    assert str(caught.value).startswith(str(path))
    assert ": " in str(caught.value)  # and says what to do


def forge(path: Path, header: object, members: dict[str, bytes], sign: bool = True) -> Path:
    """A zip with any header, signed as `save` would if it can be."""
    if sign and isinstance(header, dict):
        digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
        for name in sorted(members):
            digest.update(members[name][128:] if len(members[name]) >= 128 else b"")
        header = header | {"sha256": digest.hexdigest()}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("gim.json", header if isinstance(header, str) else json.dumps(header))
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def npy(dtype: str, shape: tuple, data: bytes) -> bytes:
    return files._npy(dtype, shape) + data


def header(**arrays) -> dict:
    return {"format": 1, "kind": "k", "meta": {}, "arrays": arrays}


def test_the_forger_can_write_a_valid_file(tmp_path: Path) -> None:
    """So that the refusals below are not for another reason."""
    content = npy("<f8", (2,), np.array([1.0, 2.0]).tobytes())
    good = forge(tmp_path / "a", header(x={"dtype": "<f8", "shape": [2]}), {"x.npy": content})
    np.testing.assert_array_equal(files.load(good).arrays["x"], [1.0, 2.0])


def test_what_is_no_gim_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist"):
        files.load(tmp_path / "missing")
    refused(tmp_path, "is a folder")
    path = tmp_path / "x"
    for content in (b"", b"PK", b"plain text\n" * 100, pickle.dumps([1, 2])):
        path.write_bytes(content)
        refused(path, "is not a gim file")
    path.write_bytes(b"PK\x03\x04 but no zip" * 10)
    refused(path, "truncated or damaged")
    np.savez(tmp_path / "foreign.npz", x=np.ones(3))
    refused(tmp_path / "foreign.npz", r"without gim\.json")


def test_a_pickle_is_never_executed(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self):
            return (Path(tmp_path / "executed").touch, ())

    np.savez(tmp_path / "a.npz", x=np.array([Bomb()], object))
    refused(tmp_path / "a.npz", r"without gim\.json")
    buffer = io.BytesIO()
    np.save(buffer, np.array([Bomb()], object), allow_pickle=True)
    declared = header(x={"dtype": "|O", "shape": [1]})
    refused(forge(tmp_path / "b.npz", declared, {"x.npy": buffer.getvalue()}), "no pickle")
    declared = header(x={"dtype": "<f8", "shape": [1]})
    content = buffer.getvalue()[:128].ljust(136, b"\0")
    refused(forge(tmp_path / "c.npz", declared, {"x.npy": content}), "another array header")
    assert not (tmp_path / "executed").exists()


def test_kind_and_version(saved: Path, tmp_path: Path) -> None:
    refused(saved, "holds a 'thing', not a 'run'", kind="run")
    refused(forge(tmp_path / "b", header() | {"format": 2}, {}), "format 2.*newer gim")
    for strange in (None, 0, "1", 1.0, True):
        refused(forge(tmp_path / "b", header() | {"format": strange}, {}), "format version")


@pytest.mark.parametrize("text", ["", "{", "[]", "[5]", "3", '"x"', "[" * 100_000, "{}"])
def test_a_header_that_is_none(tmp_path: Path, text: str) -> None:
    refused(forge(tmp_path / "b", text, {}), "holds a gim.json")


def test_a_header_that_lacks_something(tmp_path: Path) -> None:
    for key, value in (("kind", 3), ("meta", []), ("arrays", [1]), ("arrays", {"x": 3})):
        refused(forge(tmp_path / "b", header() | {key: value}, {}), "incomplete")
    refused(forge(tmp_path / "b", header(), {}, sign=False), "incomplete")


def test_members_and_header_must_agree(tmp_path: Path) -> None:
    form = {"dtype": "<f8", "shape": [1]}
    content = npy("<f8", (1,), bytes(8))
    refused(forge(tmp_path / "b", header(x=form), {}), r"x\.npy")
    refused(forge(tmp_path / "b", header(), {"x.npy": content}), r"x\.npy")
    refused(forge(tmp_path / "b", header(x=form), {"x.npy": content + b"1"}), "bytes for x")
    refused(forge(tmp_path / "b", header(x=form), {"x.npy": content[:-1]}), "bytes for x")
    other = npy("<i8", (1,), bytes(8))
    refused(forge(tmp_path / "b", header(x=form), {"x.npy": other}), "another array header")
    with pytest.warns(UserWarning, match="Duplicate"):
        forge(tmp_path / "b", header(x=form), {"x.npy": content, "gim.json": b"{}"})
    refused(tmp_path / "b", "two members")


@pytest.mark.parametrize(
    "form",
    [
        {"dtype": "|O", "shape": [0]},
        {"dtype": "<c16", "shape": [0]},
        {"dtype": "<U0", "shape": [0]},
        {"dtype": "<U999999999", "shape": [0]},
        {"dtype": "<f8,<f8", "shape": [0]},
        {"dtype": "f8", "shape": [0]},
        {"dtype": 8, "shape": [0]},
        {"shape": [0]},
        {"dtype": "<f8"},
        {"dtype": "<f8", "shape": 0},
        {"dtype": "<f8", "shape": [-1]},
        {"dtype": "<f8", "shape": [0.0]},
        {"dtype": "<f8", "shape": [True]},
        {"dtype": "<f8", "shape": [0] * 65},
        {"dtype": "<f8", "shape": [0, 2**62, 2**62]},
        {"dtype": "<f8", "shape": [0, 10**400]},
        {"dtype": "<f8", "shape": [2**61]},
        {"dtype": "<f8", "shape": [2**62, 2**62]},
    ],
)
def test_forms_that_no_array_has(tmp_path: Path, form: dict) -> None:
    try:
        content = npy(form["dtype"], tuple(form["shape"]), b"")
    except (KeyError, TypeError):
        content = b""
    refused(forge(tmp_path / "b", header(x=form), {"x.npy": content}), "declares|too big|dimension")


def test_values_that_a_dtype_does_not_have(tmp_path: Path) -> None:
    for dtype, data in (("|b1", b"\x02"), ("<U1", b"\xff\xff\xff\x7f")):
        form = {"dtype": dtype, "shape": [1]}
        path = forge(tmp_path / "b", header(x=form), {"x.npy": npy(dtype, (1,), data)})
        refused(path, "cannot have")


def test_the_limit_is_checked_before_memory_is_touched(saved: Path, tmp_path: Path) -> None:
    refused(saved, "the limit is 100", limit=100)
    # A directory that promises 2**40 bytes: nothing may be read or allocated for it.
    content = bytearray(saved.read_bytes())
    place = content.find(b"PK\x01\x02")
    for field in (20, 24):  # stored and plain size, 32 bits each
        content[place + field : place + field + 4] = (2**32 - 2).to_bytes(4, "little")
    (tmp_path / "b").write_bytes(content)
    refused(tmp_path / "b", "the limit is")


def test_compressed_members_are_refused(tmp_path: Path) -> None:
    """A few kilobytes of deflate can claim gigabytes; ours are stored."""
    with zipfile.ZipFile(tmp_path / "b", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("gim.json", json.dumps(header()) + " " * 10_000_000)
    refused(tmp_path / "b", "compressed")


def test_a_lying_directory(saved: Path, tmp_path: Path) -> None:
    """Sizes in the directory that are not those in front of the members."""
    content = bytearray(saved.read_bytes())
    place = content.find(b"PK\x01\x02")
    for change in (-1, 1, 1000):
        lie = bytearray(content)
        size = int.from_bytes(content[place + 24 : place + 28], "little") + change
        for field in (20, 24):
            lie[place + field : place + field + 4] = size.to_bytes(4, "little")
        (tmp_path / "b").write_bytes(lie)
        refused(tmp_path / "b", "truncated or damaged|no JSON")


def test_content_changed_together_with_its_crc(saved: Path, tmp_path: Path) -> None:
    """A zip tool can rewrite a member properly; the checksum still sees it."""
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(tmp_path / "b", "w") as new:
        for name in old.namelist():
            content = bytearray(old.read(name))
            if name == "table.npy":
                content[-1] ^= 1
            new.writestr(name, bytes(content))
    refused(tmp_path / "b", "wrong checksum")
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(tmp_path / "b", "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"-2.5", b"-3.5"))
    refused(tmp_path / "b", "wrong checksum")


# -- fuzz


def survives(path: Path, content: bytes) -> bool:
    """Whether it loads; anything but a ValueError or the true content fails the test."""
    path.write_bytes(content)
    try:
        back = files.load(path)
    except ValueError as problem:
        if str(problem).startswith(str(path)):  # ours, with the path
            return False
        raise
    assert back.kind == "thing"
    assert same(back, ARRAYS, META)
    return True


def test_every_truncation_is_noticed(saved: Path, tmp_path: Path) -> None:
    content = saved.read_bytes()
    rng = np.random.default_rng(1)
    cuts = {0, 1, len(content) - 1, *rng.integers(0, len(content), 300).tolist()}
    assert not any(survives(tmp_path / "b", content[:cut]) for cut in cuts)


def test_bit_flips_never_give_wrong_content(saved: Path, tmp_path: Path) -> None:
    content = saved.read_bytes()
    rng = np.random.default_rng(2)
    loaded = 0
    for _ in range(3000):
        flipped = bytearray(content)
        for _ in range(rng.integers(1, 4)):
            place = rng.integers(len(content))
            flipped[place] ^= 1 << rng.integers(8)
        loaded += survives(tmp_path / "b", bytes(flipped))
    assert loaded < 1000  # flips of dates and attributes do no harm; the others are seen


def test_random_blocks_never_give_wrong_content(saved: Path, tmp_path: Path) -> None:
    content = saved.read_bytes()
    rng = np.random.default_rng(3)
    for _ in range(500):
        low, high = sorted(rng.integers(0, len(content), 2))
        noise = rng.bytes(int(rng.integers(0, 50)))
        survives(tmp_path / "b", content[:low] + noise + content[high:])
