# mypy: disable-error-code=no-untyped-call
"""The files in which numba keeps machine code: with checksums, and never a reason to fail."""

from __future__ import annotations

import hashlib
import logging
import pickle
from functools import lru_cache
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile


class Data(IndexDataCacheFile):
    """Numba's cache files, with a checksum: machine code with a wrong bit would be run."""

    def _save_index(self, overloads: Any) -> None:
        index = self._dump((self._source_stamp, overloads))
        self._write(self._index_path, self._dump(self._version) + index)

    def _load_index(self) -> Any:
        if Path(self._index_path).exists():
            self._read(self._index_path)
        return super()._load_index()

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), self._dump(data))

    def _load_data(self, name: str) -> Any:
        return pickle.loads(self._read(self._data_path(name)))

    def _write(self, path: str, data: bytes) -> None:
        with self._open_for_write(path) as file:
            file.write(data + hashlib.sha256(data).digest())

    def _read(self, path: str) -> bytes:
        found = Path(path).read_bytes()
        if hashlib.sha256(found[:-32]).digest() != found[-32:]:
            raise ValueError("a file was cut or changed")
        return found[:-32]


class Cache(FunctionCache):
    """Numba's cache of one function, which is never a reason to fail.

    Whatever is wrong with it (empty or cut files, another version, a full disk, a folder that is
    gone or another user's), the function is compiled, with a word, and kept again if that is
    possible.
    """

    def __init__(self, f: Any) -> None:
        super().__init__(f)
        old = self._cache_file
        base = old._index_name.removesuffix(".nbi")
        self._cache_file = Data(old._cache_path, base, old._source_stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What is on disk for a signature; None if there is nothing to be used."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as problem:  # unpickling may raise anything
            say(f"the compile cache is damaged ({line(problem)}): compiling anew")
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep it on disk, if that is possible."""
        try:
            super().save_overload(sig, data)
        except Exception:
            try:
                self.flush()  # an index that cannot be read
                super().save_overload(sig, data)
            except Exception as problem:
                say(f"the compile cache cannot be written ({line(problem)}): not kept")


def line(problem: Exception) -> str:
    """A problem in one line."""
    return " ".join(f"{type(problem).__name__}: {problem}".split())


@lru_cache  # each word once: there are hundreds of functions
def say(text: str) -> None:
    """Say it once, where the user's logging wants it."""
    logging.getLogger("gim").warning(text)
