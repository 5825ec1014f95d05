"""Whole numbers from 0 on as keys of a hash table in an array whose size is a power of 2."""

from __future__ import annotations

from typing import Any

from gim._compile.jit import entry, hot

FREE = -1  # a key of the hash table that is not taken


@hot
def find(keys: Any, key: int) -> int:
    """The place of a key, or the free place where it belongs (linear probing)."""
    last = keys.size - 1  # a power of 2 less 1
    mixed = (key & 0x7FFFFFFF) * 0x5BD1E995 ^ (key >> 31)  # below 2^63: plain Python must agree
    place = (mixed >> 15) & last
    while keys[place] != FREE and keys[place] != key:
        place = (place + 1) & last
    return place


@entry
def rehash(old_keys: Any, old_values: Any, keys: Any, values: Any) -> None:
    """Put values by key into a larger hash table."""
    for i in range(old_keys.size):
        if old_keys[i] != FREE:
            place = find(keys, old_keys[i])
            keys[place] = old_keys[i]
            values[place] = old_values[i]


@entry
def misplaced(keys: Any) -> bool:
    """Whether some key would not be found."""
    for place in range(keys.size):
        if keys[place] != FREE and find(keys, keys[place]) != place:
            return True
    return False
