"""Conformance checks for agents, tasks and completions: run them over what you add.

Each raises AssertionError with what does not hold.
"""

from gim.testing.agents import check_agent
from gim.testing.completion import check_completion
from gim.testing.tasks import check_task

__all__ = ["check_agent", "check_completion", "check_task"]
