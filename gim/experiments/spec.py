"""One word for one thing: worlds and agents in normal form, so that equal trials are equal."""

from __future__ import annotations

import hashlib
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from gim.agent import agents
from gim.envs import tasks
from gim.params import describe
from gim.registry import Registry, parse, write


@lru_cache(maxsize=4096)
def agent_word(word: str) -> str:
    """The normal form of an agent's word: what differs from the defaults, in their order.

    Example:
        >>> agent_word("gim:rho=0.5,m=40")
        'gim:rho=0.5'
    """
    return str(agents.make(word))


@lru_cache(maxsize=4096)
def task_word(word: str) -> str:
    """The normal form of a world's word; paths stay as they are."""
    if is_file(word):
        return word
    name, args = parse(word)
    if name not in tasks:
        return write(name, args, nested=False)
    defaults = defaults_of(tasks, name)
    given = {key: args[key] for key in defaults if key in args and args[key] != defaults[key]}
    unknown = {key: args[key] for key in args if key not in defaults}  # refused when it is built
    return write(name, given | unknown, nested=False)


@lru_cache(maxsize=4096)
def agent_in_full(agent: str) -> str:
    """An agent with all its parameters, those at their defaults as well."""
    return repr(agents.make(agent))


def task_in_full(word: str) -> str:
    """A world with all its parameters; a saved MDP stands for its content."""
    if is_file(word):
        return content(word)
    name, args = parse(word)
    return repr((name, defaults_of(tasks, name) | args if name in tasks else args))


@lru_cache(maxsize=4096)
def world_word(word: str) -> str:
    """The word of a task without the seed that draws one instance of it.

    Example:
        >>> world_word("synthetic:rank=4,seed=3")
        'synthetic:rank=4'
    """
    if is_file(word):
        return word
    name, args = parse(task_word(word))
    if name not in tasks:
        return task_word(word)
    return write(name, {key: args[key] for key in args if key != "seed"}, nested=False)


def instance(word: str, seed: int) -> str:
    """Run k of a random task plays its instance k, unless the word fixes the seed itself.

    Example:
        >>> instance("synthetic:rank=4", 3), instance("synthetic:seed=7", 3)
        ('synthetic:rank=4,seed=3', 'synthetic:seed=7')
    """
    if is_file(word):
        return word
    name, args = parse(word)
    if name not in tasks or "seed" in args:
        return task_word(word)
    if "seed" not in defaults_of(tasks, name):
        return task_word(word)
    return task_word(write(name, args | {"seed": seed}, nested=False))


@cache
def defaults_of(things: Registry, name: str) -> dict[str, Any]:
    """The parameters of a registered thing, with their defaults, in order."""
    return {p.name: p.default for p in describe(things[name])}


@lru_cache(maxsize=65536)
def parameter(word: str, name: str, things: Registry) -> Any:
    """The value of a parameter that a word of this registry gives, or its default, or None.

    Example:
        >>> parameter("gim:rho=0.5", "m", agents), parameter("gim:rho=0.5", "rho", agents)
        (40, 0.5)
    """
    if is_file(word):
        return None
    kind, args = parse(word)
    if name in args or kind not in things:
        return args.get(name)
    return defaults_of(things, kind).get(name)


def is_file(word: str) -> bool:
    """Whether a word is the path of a saved MDP."""
    return word.endswith(".npz")


def content(word: str) -> str:
    """What a word alone does not say: the checksum of the file that it names."""
    if not is_file(word):
        return ""
    if not Path(word).exists():
        raise FileNotFoundError(f"{word} does not exist: check the path")
    return hashlib.sha256(Path(word).read_bytes()).hexdigest()
