"""Conformance checks, one for each kind of thing: run them over what you add.

Each raises AssertionError with what does not hold.
"""

from gim.testing.agents import check_agent
from gim.testing.claims import check_claim
from gim.testing.completion import check_completion
from gim.testing.experiments import check_experiment
from gim.testing.tasks import check_task

__all__ = ["check_agent", "check_claim", "check_completion", "check_experiment", "check_task"]
