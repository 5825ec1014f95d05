"""Specs in normal form: one for each world and agent, so that equal trials are equal.

A spec is a name with its parameters, such as ``riverswim:length=10``; see `gim._base.registry`.
"""

from __future__ import annotations

import hashlib
from functools import cache, lru_cache
from typing import Any

from gim._base.files import check_source
from gim._base.params import describe
from gim._base.registry import Registry, parse, write
from gim.envs import tasks
from gim_lab.trials.subject import subject_of


@lru_cache(maxsize=4096)
def agent_spec(spec: str) -> str:
    """The normal form of an agent's spec: what differs from the defaults, in their order.

    Example:
        >>> agent_spec("gim:rho=0.5,m=40")
        'gim:rho=0.5'
    """
    return str(subject_of(spec))


@lru_cache(maxsize=4096)
def task_spec(spec: str) -> str:
    """The normal form of a world's spec; paths stay as they are."""
    if is_file(spec):
        return spec
    name, args = parse(spec)
    if name not in tasks:
        return write(name, args, nested=False)
    defaults = defaults_of(tasks, name)
    given = {key: args[key] for key in defaults if key in args and args[key] != defaults[key]}
    unknown = {key: args[key] for key in args if key not in defaults}  # refused when it is built
    return write(name, given | unknown, nested=False)


@lru_cache(maxsize=4096)
def agent_in_full(agent: str) -> str:
    """An agent with all its parameters, those at their defaults as well."""
    return repr(subject_of(agent))


def task_in_full(spec: str) -> str:
    """A world with all its parameters; a saved MDP stands for its content."""
    if is_file(spec):
        return content(spec)
    name, args = parse(spec)
    return repr((name, defaults_of(tasks, name) | args if name in tasks else args))


@lru_cache(maxsize=4096)
def world_spec(spec: str) -> str:
    """The spec of a task without the seed that draws one instance of it.

    Example:
        >>> world_spec("synthetic:rank=4,seed=3")
        'synthetic:rank=4'
    """
    if is_file(spec):
        return spec
    name, args = parse(task_spec(spec))
    if name not in tasks:
        return task_spec(spec)
    return write(name, {key: args[key] for key in args if key != "seed"}, nested=False)


def instance(spec: str, seed: int) -> str:
    """Run k of a random task plays its instance k, unless the spec fixes the seed itself.

    Example:
        >>> instance("synthetic:rank=4", 3), instance("synthetic:seed=7", 3)
        ('synthetic:rank=4,seed=3', 'synthetic:seed=7')
    """
    if is_file(spec):
        return spec
    name, args = parse(spec)
    if name not in tasks or "seed" in args:
        return task_spec(spec)
    if "seed" not in defaults_of(tasks, name):
        return task_spec(spec)
    return task_spec(write(name, args | {"seed": seed}, nested=False))


@cache
def defaults_of(things: Registry, name: str) -> dict[str, Any]:
    """The parameters of a registered thing, with their defaults, in order."""
    return {p.name: p.default for p in describe(things[name])}


@lru_cache(maxsize=65536)
def parameter(spec: str, name: str, things: Registry) -> Any:
    """The value of a parameter that a spec of this registry gives, or its default, or None.

    Example:
        >>> from gim.runs.agent import agents
        >>> parameter("gim:rho=0.5", "m", agents), parameter("gim:rho=0.5", "rho", agents)
        (40, 0.5)
    """
    if is_file(spec):
        return None
    kind, args = parse(spec)
    if name in args or kind not in things:
        return args.get(name)
    return defaults_of(things, kind).get(name)


def is_file(spec: str) -> bool:
    """Whether a spec is the path of a saved MDP."""
    return spec.endswith(".npz")


def content(spec: str) -> str:
    """What a spec alone does not say: the checksum of the file that it names."""
    if not is_file(spec):
        return ""
    path = check_source(spec, "an MDP that gim has saved")
    return hashlib.sha256(path.read_bytes()).hexdigest()
