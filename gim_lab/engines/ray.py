"""Trials on Ray (the extra `ray`): for those who outgrow a machine.

Without an address Ray is started here, bound to loopback, without its dashboard and with its usage
statistics switched off, and ended afterwards. With an address (or ``auto``) the trials run on that
cluster, whose machines need the same gim. A trial whose worker is lost is run again on another.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import shutil
import signal
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

from gim._base.limits import processors
from gim._base.replacing import YOUNG, hold
from gim_lab.engines.base import Answers, TrialFailed, by_task
from gim_lab.engines.compiling import compile_loops
from gim_lab.engines.threads import one_thread
from gim_lab.engines.worker import answer, load_user_code, question, result_of, user_code
from gim_lab.trials.result import Result
from gim_lab.trials.trial import Trial

RETRIES = 5  # how often a trial may lose its worker before it is given up
WINDOW = 500  # trials that Ray is given at a time
PREFIX, HELD = "gim-ray-", "held"  # the folder of a Ray of our own, and the lock in it
ROOM = 24  # characters for the path of a temporary folder
KNOCK = 5.0  # seconds to wait for a cluster to answer
LOCAL = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # no cluster, on any system: loopback only
}


def run(trials: list[Trial], workers: int | None = None, address: str | None = None) -> Answers:
    """Yield results as they come; `address` is that of a running cluster, or ``auto``."""
    where = user_code(trials)
    if address is None:
        compile_loops(trials)
    left = chain.from_iterable(by_task(trials).values())
    running: dict[Any, int] = {}
    with _started(address, workers) as ray:
        work = ray.remote(max_retries=RETRIES, num_cpus=1)(_work)
        try:
            while True:
                for i in islice(left, WINDOW - len(running)):
                    running[work.remote(json.dumps(question(trials[i])), where)] = i
                if not running:
                    return
                (answer, *_), _ = ray.wait(list(running), num_returns=1)
                i = running.pop(answer)
                yield i, _result(ray, answer, trials[i])
        finally:
            for answer in running:
                ray.cancel(answer, force=True)


def _result(ray: Any, answer: Any, trial: Trial) -> Result:
    try:
        return result_of(json.loads(ray.get(answer)))
    except TrialFailed as problem:
        raise TrialFailed(f"{trial.id}: {problem}") from None
    except ray.exceptions.RayError as problem:
        text = " ".join(str(problem).split())[:200]
        raise TrialFailed(f"{trial.id}: its worker was lost {RETRIES + 1} times: {text}") from None


@contextmanager
def _started(address: str | None, workers: int | None) -> Iterator[Any]:
    """Ray, started here or connected to; one that runs in this process already is left as it is."""
    with _environment(LOCAL if address is None else {}):
        ray = _ray()
        if ray.is_initialized():
            yield ray
            return
        with _private_folder() as folder:
            term = signal.getsignal(signal.SIGTERM)  # which Ray takes over, and keeps
            try:
                _start(ray, address, workers, folder)
                yield ray
            finally:
                ray.shutdown()
                if threading.current_thread() is threading.main_thread() and term is not None:
                    signal.signal(signal.SIGTERM, term)


@contextmanager
def _private_folder() -> Iterator[str]:
    """Where a Ray of our own keeps its logs and sockets: for this user alone, and gone afterwards.

    Ray opens its folder to everyone, so that it lies within one that is closed. The path of a
    socket has a hundred characters, of which Ray takes sixty.
    """
    short = "/tmp" if len(tempfile.gettempdir()) > ROOM and os.path.isdir("/tmp") else None
    sweep(Path(short or tempfile.gettempdir()))
    made = tempfile.TemporaryDirectory(prefix=PREFIX, dir=short, ignore_cleanup_errors=True)
    with made as at, Path(at, HELD).open("xb") as file:
        hold(file)
        yield f"{at}/ray"


def sweep(parent: Path) -> None:
    """Remove the folders of this user's processes that were killed: nobody holds their locks."""
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            found = folder.lstat()
            mine = stat.S_ISDIR(found.st_mode) and found.st_uid == getattr(os, "getuid", int)()
            if mine and time.time() - found.st_mtime > YOUNG:
                with (folder / HELD).open("rb") as file:
                    if hold(file):
                        shutil.rmtree(folder, ignore_errors=True)


def _start(ray: Any, address: str | None, workers: int | None, folder: str) -> None:
    quiet = {"log_to_driver": False, "logging_level": "warning"}
    if address is not None:
        try:
            _knock(address)
            ray.init(address=address, **quiet)
        except (OSError, ValueError, RuntimeError) as problem:
            raise ValueError(f"there is no Ray at {address!r}: {problem}") from None
        return
    count = workers or processors()
    # Ray says at length that only this user's processes may speak to it; that is as it should be.
    logging.getLogger("ray._private.authentication").setLevel(logging.ERROR)
    with _on_loopback():
        local = {"address": "local", "include_dashboard": False, "_temp_dir": folder}
        ray.init(num_cpus=count, **local, **quiet)
    if not ray.util.get_node_ip_address().startswith("127."):
        raise ValueError(
            "this version of Ray does not stay on this machine: start it yourself with ray.init()"
        )


@contextmanager
def _on_loopback() -> Iterator[None]:
    """Have Ray take the loopback address for that of this machine, as it does on a Mac.

    It reads the environment variable only once, when it is imported, which may have been before.
    """
    constants: Any = importlib.import_module("ray._private.ray_constants")
    before = constants.ENABLE_RAY_CLUSTER
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before


def _knock(address: str) -> None:
    """Raise at once if nobody is there: Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon:
        socket.create_connection((host, int(port)), timeout=KNOCK).close()


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set environment variables while inside, but for those that the user has set."""
    new = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(new)
    try:
        yield
    finally:
        for name in new:
            os.environ.pop(name, None)


def _work(trial: str, where: dict[str, Any]) -> str:
    """What a Ray worker runs: a trial as JSON in, its answer as JSON out."""
    load_user_code(where)
    with one_thread():
        return json.dumps(answer(json.loads(trial)))


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise ValueError('the engine ray needs Ray: pip install "gim[ray]"') from None
