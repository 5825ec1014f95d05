"""Every task in a size at which slow, plain code can go through all of it."""

from __future__ import annotations

from gim.envs import tasks
from gim.registry import write

SMALLER: dict[str, dict[str, object]] = {
    "button": {"size": 3, "horizon": 8},
    "clusters": {"S": 10, "A": 4, "clusters": 3},
    "duplicates": {"S": 8, "A": 4, "copies": 2},
    "exceptions": {"S": 10, "A": 6},
    "four_rooms": {"horizon": 6},
    "garnet": {"S": 10, "A": 3, "horizon": 10},
    "gate": {"S": 8, "A": 4, "behind": 3},
    "inventory": {"capacity": 6, "largest": 3, "demand": 2.0, "horizon": 8},
    "inventory2": {"capacity": 2, "largest": 1, "horizon": 8},
    "linear": {"S": 8, "A": 4},
    "maintenance": {"levels": 4, "horizon": 10},
    "noisy_arms": {"S": 4, "A": 5},
    "prototypes": {"S": 8, "A": 4},
    "queues": {"capacity": 3, "horizon": 10},
    "shared_factors": {"S": 10, "A": 6},
    "stock_trading": {"sectors": 1, "horizon": 8},
    "synthetic": {"S": 10, "A": 6},
    "sysadmin": {"machines": 3, "horizon": 8},
    "taxi": {"size": 3, "horizon": 10},
    "teleports": {"size": 3, "teleports": 2, "horizon": 8},
    "walls": {"size": 3, "walls": 2, "horizon": 8},
    "wet_chicken": {"horizon": 10},
    "windy_grid": {"horizon": 10},
}
WORDS = tuple(write(name, SMALLER.get(name, {}), nested=False) for name in tasks.names())
