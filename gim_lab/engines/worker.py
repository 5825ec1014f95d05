"""A worker process of the engine `processes`: trials come in by stdin, results leave by stdout.

One line of JSON each. Floats are written so that they are read back to the last bit. A worker ends
as soon as stdin does, even in the middle of a trial: none outlives the process that started it.
"""

from __future__ import annotations

import importlib
import json
import os
import queue
import re
import runpy
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from types import ModuleType
from typing import Any, TextIO

import numpy as np

from gim._base.interrupts import of_worker
from gim._base.own import NAMED, asked, import_own
from gim._base.registry import parse
from gim.envs import tasks
from gim.envs.worlds import own_world
from gim_lab.engines.base import TrialFailed
from gim_lab.engines.compiling import rehearse
from gim_lab.engines.threads import one_thread
from gim_lab.trials.code import parts_of_agent
from gim_lab.trials.result import Result
from gim_lab.trials.running import Unfinished, run_trial
from gim_lab.trials.spec import is_file
from gim_lab.trials.trial import Trial

WORKER = "GIM_WORKER"  # set in the environment of a worker
REHEARSE = "rehearse"  # asked with a trial: play a little of it only, to compile what it runs
UNFINISHED = "unfinished"  # likewise: where it is kept while it is played, and how often
MAIN = "__gim_main__"  # the name under which a worker runs the script that started it


def main() -> None:
    """Answer until stdin ends."""
    of_worker()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what foreign code prints must not come between
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(sys.stdin, lines), daemon=True).start()
    try:
        load_user_code(json.loads(lines.get()))
    except Exception as problem:  # whatever a user's module raises
        wrong = {"error": f"a worker cannot load your code: {type(problem).__name__}: {problem}"}
        print(json.dumps(wrong), file=answers, flush=True)
        return
    with one_thread():
        while True:
            print(json.dumps(answer(json.loads(lines.get()))), file=answers, flush=True)


def answer(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Run one trial, or rehearse it if told so; an error is an answer as well."""
    asked = dict(fields)
    only_rehearse, kept = asked.pop(REHEARSE, False), asked.pop(UNFINISHED, None)
    try:
        if only_rehearse:
            rehearse(Trial(**asked))
            return {}
        result = run_trial(Trial(**asked), unfinished=None if kept is None else Unfinished(*kept))
    except Exception as problem:  # foreign code may raise anything; the trial is told by name
        known = isinstance(problem, ValueError)
        return {"error": str(problem) if known else f"{type(problem).__name__}: {problem}"}
    curves = {k: [v.dtype.str, v.tolist()] for k, v in result.curves.items()}
    return {"columns": result.columns, "curves": curves}


def result_of(answer: Mapping[str, Any]) -> Result:
    """The result in an answer; the error in it is raised."""
    if "error" in answer:
        raise TrialFailed(answer["error"])
    curves = {name: np.array(data, dtype) for name, (dtype, data) in answer["curves"].items()}
    return Result(answer["columns"], curves)


def question(trial: Trial) -> dict[str, Any]:
    """A trial as plain data."""
    return asdict(trial)


def user_code(trials: list[Trial]) -> dict[str, Any]:
    """Where agents and tasks that are not gim's own come from, so that workers can find them."""
    parts = {part for spec in {trial.agent for trial in trials} for part in parts_of_agent(spec)}
    names = {parse(trial.task).name for trial in trials if not is_file(trial.task)}
    parts |= {tasks[name] for name in names if name in tasks}
    modules = {part if isinstance(part, str) else part.__module__ for part in parts}
    known = {"gim", "gim_lab", *sys.stdlib_module_names}
    modules = {name for name in modules if name.split(".")[0] not in known}
    main = None
    if "__main__" in modules:
        modules.remove("__main__")
        main = getattr(sys.modules["__main__"], "__file__", None)
        if main is None:
            raise ValueError(
                "an agent or task of yours is defined in this session, where workers cannot find "
                'it: put it into a file that you import, or take engine="serial"'
            )
    return {
        "asked": dict(asked),
        "modules": sorted(modules),
        "main": main and os.path.abspath(main),
    }


def load_user_code(where: Mapping[str, Any]) -> None:
    """Import what `user_code` named."""
    for what, folder in where["asked"].items():
        with suppress(ValueError):  # what is gone since; a trial that needs it says so itself
            _import_in(folder, what)
    for name in where["modules"]:
        importlib.import_module(name)
    if where["main"] and MAIN not in sys.modules:
        module = ModuleType(MAIN)
        module.__dict__.update(runpy.run_path(where["main"], run_name=MAIN))
        sys.modules[MAIN] = module


def _import_in(folder: str, what: str) -> None:
    """Import what was asked for in a folder: a module, a file, or a world of either."""
    if folder not in sys.path:
        sys.path.append(folder)
    path = os.path.join(folder, what) if re.search(r"\.py(:|$)", what) else what
    _ = own_world(path) if NAMED.fullmatch(path) else import_own(path)


def _listen(stream: TextIO, lines: queue.Queue[str]) -> None:
    for line in stream:
        lines.put(line)
    os._exit(0)
