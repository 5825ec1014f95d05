# mypy: disable-error-code=no-untyped-call
"""Whether the functions of an agent fit the loop: asked of agents from outside, once.

Compiled, they become part of the loop, and the compiler's complaint would be about the loop: a page
that does not name the agent. So each is compiled alone first; the loop need not do it again.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

import numba
import numpy as np
from numba import types

from gim._compile.memory import flatten

GIVEN = {
    "act": ("memory", "s", "h", "rng"),
    "learn": ("memory", "s", "h", "a", "r", "t", "end", "rng"),
}
RETURNS = {
    "act": "the number of an action (int(...) makes one)",
    "learn": "GO_ON, or THINK and GROW added up (gim.runs.agent), on every way through it",
}
ALLOCATES = "NRT required but not enabled"  # numba's words for it
LONGEST = 300  # letters of what the compiler says


def check_functions(
    agent: Any, memory: Any, rng: np.random.Generator, to_compile: bool = True
) -> None:
    """Refuse an agent whose memory, `act` or `learn` the loop cannot work with.

    Args:
        agent, memory: an agent, and what its `start` has made.
        rng: its random stream, which is not drawn from.
        to_compile: whether the loop is yet to be compiled; else only forms are looked at.
    """
    kind = type(agent).__name__
    if not hasattr(memory, "_asdict"):
        raise ValueError(
            f"{kind}.start returned a {type(memory).__name__}: it must return a NamedTuple of "
            "arrays"
        )
    try:
        flatten(memory)
    except TypeError as problem:
        raise ValueError(f"{kind}.start: {problem}") from None
    for name in GIVEN:
        _check_signature(kind, name, getattr(agent, name, None))
    if to_compile:
        whole, real, stream = types.int64, types.float64, numba.typeof(rng)
        first = (numba.typeof(memory), whole, whole)
        a = _returned(kind, "act", agent.act, (*first, stream))
        _returned(kind, "learn", agent.learn, (*first, a, real, whole, whole, stream))


def _check_signature(kind: str, name: str, f: Any) -> None:
    form = f"def {name}({', '.join(GIVEN[name])})"
    if not callable(f):
        raise ValueError(f"{kind} has no {name}: write @hot {form}, see gim/runs/agent.py")
    if not hasattr(f, "py_func") and not vars(numba.config)["DISABLE_JIT"]:
        raise ValueError(f"{kind}.{name} is not compiled: write @hot (of gim.agents) above {form}")
    signature = inspect.signature(getattr(f, "py_func", f))
    try:
        signature.bind(*GIVEN[name])
    except TypeError:
        raise ValueError(
            f"{kind}.{name} takes {signature}, which is not what the loop gives: write {form}, and "
            f"in the class {name} = staticmethod({name})"
        ) from None


def _returned(kind: str, name: str, f: Any, given: tuple[Any, ...]) -> Any:
    """The type that a function returns for arguments of these types, if it is one to go on with."""
    try:
        f.compile(given)
    except Exception as problem:  # one of numba's many
        raise ValueError(f"{kind}.{name} cannot be compiled: {_reason(problem, f)}") from None
    made = f.overloads[given].signature.return_type
    if not isinstance(made, types.Integer | types.Boolean):
        what = "nothing" if made is types.none else str(made)
        if isinstance(made, types.Optional):
            what = f"{made.type}, and sometimes nothing"
        raise ValueError(f"{kind}.{name} returns {what}: it must return {RETURNS[name]}{_place(f)}")
    return made


def _reason(problem: Exception, f: Any) -> str:
    """What the compiler says, in a line, and where: the function, if it does not say."""
    text = re.sub(r"\x1b\[[\d;]*m", "", str(problem))
    lines = [line.strip() for line in text.splitlines()]
    told = [line for line in lines if line and not line.startswith("Failed in nopython mode")]
    places = re.findall(r'File "([^"]+)", line (\d+)', text)
    where = f" ({places[-1][0]}, line {places[-1][1]})" if places else _place(f)
    if ALLOCATES in text:
        return f"it makes an array, a slice, a list or the like: make room for it in start{where}"
    reason = " ".join(told[: 2 if told and told[0].endswith(":") else 1])[:LONGEST]
    return f"{reason or 'no reason given'}{where}"


def _place(f: Any) -> str:
    """Where a function is defined."""
    code = getattr(f, "py_func", f).__code__
    return f" ({code.co_filename}, line {code.co_firstlineno})"
