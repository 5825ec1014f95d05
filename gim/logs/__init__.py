"""Logs: from a table of what happened to a policy."""

from gim.logs.log import Log
from gim.logs.reading import from_log

__all__ = ["Log", "from_log"]
