"""The conformance kits of experiments and claims; those of everything else are in `gim.testing`."""

from gim_lab.testing.claims import check_claim
from gim_lab.testing.experiments import check_experiment

__all__ = ["check_claim", "check_experiment"]
