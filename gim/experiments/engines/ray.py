"""Trials on Ray (the extra `ray`): for those who outgrow a machine.

Without an address Ray is started here, bound to loopback, without its dashboard and with its usage
statistics switched off, and ended afterwards. With an address (or ``auto``) the trials run on that
cluster, whose machines need the same gim. A trial whose worker is lost is run again on another.
"""

from __future__ import annotations

import importlib
import json
import os
from typing import Any

from gim.experiments.engines.base import Answers, TrialFailed, processors
from gim.experiments.engines.compiling import compile_loops
from gim.experiments.engines.worker import question, result_of, user_code
from gim.experiments.trial import Trial

RETRIES = 5  # how often a trial may lose its worker before it is given up
LOOPBACK = "127.0.0.1"


def run(trials: list[Trial], workers: int | None = None, address: str | None = None) -> Answers:
    """Yield results as they come; `address` is that of a running cluster, or ``auto``."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray = _ray()
    where = user_code(trials)
    running: dict[Any, int] = {}
    ours = not ray.is_initialized()
    if address is None:
        compile_loops(trials)
    if ours:
        _start(ray, address, workers)
    try:
        work = ray.remote(max_retries=RETRIES, num_cpus=1)(_work)
        running = {work.remote(json.dumps(question(t)), where): i for i, t in enumerate(trials)}
        while running:
            done, _ = ray.wait(list(running), num_returns=1)
            for answer in done:
                i = running.pop(answer)
                try:
                    yield i, result_of(json.loads(ray.get(answer)))
                except (TrialFailed, ray.exceptions.RayError) as problem:
                    text = str(problem).strip().splitlines()[0]
                    raise TrialFailed(f"{trials[i].id}: {text}") from None
    finally:
        if ours:
            ray.shutdown()
        else:
            for answer in running:
                ray.cancel(answer, force=True)


def _start(ray: Any, address: str | None, workers: int | None) -> None:
    if address is not None:
        try:
            ray.init(address=address, log_to_driver=False, logging_level="warning")
        except (ConnectionError, ValueError, RuntimeError) as problem:
            raise ValueError(f"there is no Ray at {address!r}: {problem}") from None
        return
    ray.init(
        address="local",
        num_cpus=workers or processors(),
        include_dashboard=False,
        log_to_driver=False,
        logging_level="warning",
        _node_ip_address=LOOPBACK,
    )


def _work(trial: str, where: dict[str, Any]) -> str:
    """What a Ray worker runs: a trial as JSON in, its answer as JSON out."""
    from gim.experiments.engines.threads import one_thread
    from gim.experiments.engines.worker import answer, load_user_code

    load_user_code(where)
    with one_thread():
        return json.dumps(answer(json.loads(trial)))


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise ValueError('the engine ray needs Ray: pip install "gim[ray]"') from None
