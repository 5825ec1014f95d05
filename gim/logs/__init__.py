"""Logs: from a table of what happened to a policy.

Imports agents and what is below. Begin with `learning.py`, which is `gim.learn`, then `log.py`.
"""

from gim.logs.check import Check, check
from gim.logs.counted import from_counts
from gim.logs.learned import Learned
from gim.logs.learning import held_out, learn
from gim.logs.log import Log
from gim.logs.reading import from_log

__all__ = ["Check", "Learned", "Log", "check", "from_counts", "from_log", "held_out", "learn"]
