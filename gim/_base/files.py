"""The one file layer: how everything that is ever saved is written and read.

A file is a zip that `numpy.load` can open too. It holds ``gim.json`` (format version, kind, meta,
the dtype and shape of every array, and a SHA-256 over all of it) and one ``name.npy`` per array.

- Equal content gives an equal file, byte for byte: names sorted, times fixed, nothing compressed.
  Deflate takes 20 times as long to save 5 % of a dense random table or a curve of returns, differs
  between zlib builds, and lets a small file claim a huge memory; zeros are better saved as CSR.
- Writing is atomic: the old file or the whole new one, never half of one.
- Reading executes nothing. All sizes are checked against the limit before memory is taken; array
  headers are not parsed but compared with the only bytes they may be; the checksum covers it all.
- Meta is JSON, with ``NaN`` and ``Infinity`` written as Python does. Tuples come back as lists,
  numpy scalars as Python's own.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import struct
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._base.escapes import shown
from gim._base.replacing import check_source, check_target, replacing, replacing_all

__all__ = [
    "Packed",
    "Saved",
    "check_source",
    "check_target",
    "load",
    "replacing",
    "replacing_all",
    "save",
]

FORMAT = 1
HEADER = "gim.json"
LIMIT = 4 * 2**30  # bytes that a file may ask for, unless the caller allows more
CHUNK = 2**20  # bytes read at a time
DTYPE = re.compile(r"\|[biu]1|<[iu][248]|<f[248]|<U[1-9][0-9]{0,7}")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*")
MAGIC = b"\x93NUMPY\x01\x00"
DAMAGE = (zipfile.BadZipFile, struct.error, EOFError, LookupError, OSError, ArithmeticError)
FOREIGN = "gim did not write it like this; save it again with gim"


class Packed(NamedTuple):
    """A thing as a file holds it: what `pack` of everything that can be saved gives."""

    arrays: dict[str, NDArray[Any]]  # of bool, integers, floats or unicode strings
    meta: dict[str, Any]  # everything else, as JSON


class Saved(NamedTuple):
    """What a file holds."""

    kind: str
    arrays: dict[str, NDArray[Any]]
    meta: dict[str, Any]


def save(
    path: str | Path, kind: str, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]
) -> None:
    """Write one file, atomically.

    Args:
        path: where; its folder must exist, an old file there is replaced.
        kind: what it is, such as "mdp" or "run"; `load` can ask for it.
        arrays: of bool, integers, floats or unicode strings, by name.
        meta: everything else, as JSON.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(f"{folder}/x.npz", "numbers", {"x": np.arange(3)}, {"why": "an example"})
        ...     load(f"{folder}/x.npz").arrays["x"]
        array([0, 1, 2])
    """
    tables = {name: _table(name, arrays[name]) for name in sorted(arrays)}
    header = {
        "format": FORMAT,
        "kind": kind,
        "meta": _json("meta", dict(meta)),
        "arrays": {n: {"dtype": t.dtype.str, "shape": list(t.shape)} for n, t in tables.items()},
    }
    checksum = hashlib.sha256(_text(header))
    for table in tables.values():
        checksum.update(_bytes(table))
    with replacing(path) as file, zipfile.ZipFile(file, "w") as archive:
        _write(archive, HEADER, _text(header | {"sha256": checksum.hexdigest()}))
        for name, table in tables.items():
            _write(archive, f"{name}.npy", _npy(table.dtype.str, table.shape), _bytes(table))


def load(path: str | Path, kind: str | None = None, limit: int = LIMIT) -> Saved:
    """Read what `save` wrote, or raise a ValueError that says what is wrong with the file.

    `kind` is what it must be (None takes anything), `limit` the bytes that it may ask for.
    """
    path = check_source(path, "a file that gim has saved")
    with path.open("rb") as file:
        try:
            return _read(file, kind, limit)
        except _Wrong as problem:
            raise ValueError(
                f"{path} {shown(problem)}"
            ) from None  # a file may call things anything


# -- writing


def _table(name: str, array: Any) -> NDArray[Any]:
    """The array as it is saved: C order, little-endian, of a dtype that needs no pickle."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(f"array name {name!r}: use letters, digits and _ . - only")
    table = np.asarray(array)
    if table.dtype.kind == "U" and table.dtype.itemsize == 0:
        table = table.astype("<U1")
    dtype = table.dtype.newbyteorder("<")
    if not DTYPE.fullmatch(dtype.str):
        raise ValueError(
            f"array {name!r} has dtype {table.dtype}: only bool, integers, floats up to 64 bits "
            "and unicode strings are saved; convert it with astype"
        )
    return np.asarray(table, dtype, order="C")


def _json(place: str, value: Any) -> Any:
    """The value as JSON holds it, or an error that names the place."""
    if type(value) in (str, int, float):  # nearly all of a file's
        return value
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    try:
        if isinstance(value, Mapping):
            for key in value:
                if not isinstance(key, str):
                    raise ValueError(f"{place} has the key {key!r}: JSON keys are strings")
            return {key: _json(f"{place}.{key}", item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [_json(f"{place}[{i}]", item) for i, item in enumerate(value)]
    except RecursionError:
        raise ValueError("meta is nested too deep, or holds itself") from None
    fix = "save it among the arrays" if isinstance(value, np.ndarray) else "convert it"
    raise ValueError(f"{place} is a {type(value).__name__}, which JSON cannot hold: {fix}")


def _text(header: Mapping[str, Any]) -> bytes:
    return json.dumps(header, sort_keys=True).encode()


def _bytes(table: NDArray[Any]) -> memoryview:
    return memoryview(table.reshape(-1).view(np.uint8))  # type: ignore[arg-type]


def _npy(dtype: str, shape: tuple[int, ...]) -> bytes:
    """The one header (version 1.0 of numpy's format) that an array of this form may have."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(MAGIC) + 2 + len(text) + 1) % 64) + "\n"
    return MAGIC + struct.pack("<H", len(text)) + text.encode()


def _write(archive: zipfile.ZipFile, name: str, *parts: bytes | memoryview) -> None:
    info = zipfile.ZipInfo(name)  # dated 1980, stored
    info.create_system, info.external_attr = 3, 0o644 << 16  # the same on every system
    info.file_size = sum(len(part) for part in parts)  # decides on zip64 beforehand
    with archive.open(info, "w") as member:
        for part in parts:
            member.write(part)


# -- reading


class _Wrong(Exception):
    """What is wrong with a file; the path comes in front."""


@contextmanager
def _damage() -> Iterator[None]:
    try:
        yield
    except (*DAMAGE, RuntimeError, ValueError) as problem:
        raise _Wrong(f"is truncated or damaged ({problem}): restore it from a copy") from None


def _read(file: IO[bytes], kind: str | None, limit: int) -> Saved:
    if file.read(4) != b"PK\x03\x04":  # as every zip begins
        raise _Wrong("is not a gim file: give one that gim has saved")
    with _damage():
        archive = zipfile.ZipFile(file)
    members = _members(archive, limit)
    header, found = _header(archive)
    if kind is not None and header["kind"] != kind:
        raise _Wrong(f"holds a {header['kind']!r}, not a {kind!r}: gim.load reads any kind")
    arrays = {}
    for name, (dtype, shape) in _forms(header["arrays"], members).items():
        arrays[name] = _array(archive, name, dtype, shape)
        found.update(_bytes(arrays[name]))
    if found.hexdigest() != header["sha256"]:
        raise _Wrong("has a wrong checksum: it was changed or damaged; restore it from a copy")
    return Saved(header["kind"], arrays, header["meta"])


def _members(archive: zipfile.ZipFile, limit: int) -> dict[str, int]:
    """Declared sizes by name, checked against the limit; no member has been read yet."""
    members = {info.filename: info.file_size for info in archive.infolist()}
    if HEADER not in members:
        raise _Wrong(f"is a zip without {HEADER}, not a gim file: give one that gim has saved")
    if len(members) < len(archive.infolist()):
        raise _Wrong(f"holds two members of one name: {FOREIGN}")
    for info in archive.infolist():
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise _Wrong(f"holds a compressed {info.filename}: gim stores plainly (zip -0)")
    if (total := sum(members.values())) > limit:
        raise _Wrong(f"needs {total} bytes, the limit is {limit}: if you trust it, raise the limit")
    return members


def _header(archive: zipfile.ZipFile) -> tuple[dict[str, Any], Any]:
    """The header, and the checksum of all of it but the checksum."""
    with _damage():
        text = archive.read(HEADER)
    try:
        header = json.loads(text)
        rest = {key: header[key] for key in header if key != "sha256"}
        found = hashlib.sha256(_text(rest))
    except (ValueError, TypeError, LookupError, RecursionError):
        raise _Wrong(f"holds a {HEADER} that is no JSON: {FOREIGN}") from None
    version = rest.get("format")
    if type(version) is not int or version < 1:
        raise _Wrong(f"holds a {HEADER} without a format version: {FOREIGN}")
    if version > FORMAT:
        raise _Wrong(f"has format {version}, this gim reads up to {FORMAT}: install a newer gim")
    kinds = {"kind": str, "meta": dict, "arrays": dict, "sha256": str}
    whole = all(isinstance(header.get(key), kind) for key, kind in kinds.items())
    if not whole or not all(isinstance(form, dict) for form in header["arrays"].values()):
        raise _Wrong(f"holds an incomplete {HEADER}: {FOREIGN}")
    return header, found


def _forms(
    given: dict[str, Any], members: dict[str, int]
) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Dtype and shape of every array, checked against the size of its member."""
    if strange := members.keys() ^ {HEADER, *(f"{name}.npy" for name in given)}:
        raise _Wrong(f"lacks or should not hold {min(strange)}: {FOREIGN}")
    forms = {}
    for name, form in given.items():
        dtype, shape = (form.get(key) for key in ("dtype", "shape"))
        if not isinstance(dtype, str) or not DTYPE.fullmatch(dtype):
            raise _Wrong(f"declares {name} as {dtype}: that dtype is never loaded (no pickle)")
        natural = isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape)
        if not natural or len(shape) > 32:
            raise _Wrong(f"declares {name} with shape {shape}: {FOREIGN}")
        needed = len(_npy(dtype, tuple(shape))) + math.prod(shape) * np.dtype(dtype).itemsize
        if needed != (held := members[f"{name}.npy"]):
            raise _Wrong(f"declares {needed} bytes for {name} but holds {held}: {FOREIGN}")
        forms[name] = (dtype, tuple(shape))
    return dict(sorted(forms.items()))


def _array(archive: zipfile.ZipFile, name: str, dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    with _damage(), archive.open(f"{name}.npy") as member:
        table = np.empty(shape, dtype)
        expected = _npy(dtype, shape)
        if member.read(len(expected)) != expected:
            raise _Wrong(f"holds another array header for {name}: {FOREIGN}")
        view = _bytes(table)
        for start in range(0, len(view), CHUNK):
            part = view[start : start + CHUNK]
            part[:] = member.read(len(part))
        member.read(1)  # reaches the end, where the zip's own check is made
    if (kind := dtype[1]) in "bU" and table.size:
        largest = np.frombuffer(view, "u1" if kind == "b" else "<u4").max()
        if largest > (1 if kind == "b" else 0x10FFFF):
            raise _Wrong(f"holds values in {name} that {dtype} cannot have: {FOREIGN}")
    return table
