"""Conformance kits: run them over what you add, here or in a package of your own.

There is one for each kind of thing, `check_` and the kind. Each raises AssertionError with what
does not hold; `check_package` runs them over all that a package has registered. Those of
experiments and claims are in `gim_lab.testing`.

Imports everything but pictures, the command and the laboratory. Begin with `agents.py`.
"""

from gim.testing.agents import check_agent
from gim.testing.candidates import check_candidate
from gim.testing.completion import check_completion
from gim.testing.inference import check_inference
from gim.testing.package import check_package
from gim.testing.tasks import check_task
from gim.testing.walks import check_walk

__all__ = [
    "check_agent",
    "check_candidate",
    "check_completion",
    "check_inference",
    "check_package",
    "check_task",
    "check_walk",
]
