"""A PostgreSQL server of the tests' own, where one is installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USER, PASSWORD = "reader", "s3cr:t@"


def find() -> Path | None:
    """The folder of its programs, or None."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    some = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return some[-1].parent if some else None


@contextmanager
def server() -> Iterator[str]:
    """The URL of a database "shop", whose user USER has PASSWORD; it ends with the block."""
    programs = find()
    assert programs is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="gim-postgres-"))
    (folder / "password").write_text(PASSWORD)
    as_user = []
    if os.geteuid() == 0:  # it will not run as root
        shutil.chown(folder, "postgres")
        shutil.chown(folder / "password", "postgres")
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]

    def run(program: str, *words: str) -> None:
        subprocess.run(
            [*as_user, programs / program, *words], check=True, capture_output=True, cwd="/"
        )

    data = str(folder / "data")
    try:
        run("initdb", "-D", data, "-U", USER, "-A", "scram-sha-256", "-N",
            f"--pwfile={folder / 'password'}")  # fmt: skip
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -F"
        run("pg_ctl", "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql://{USER}:s3cr%3At%40@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
