"""Inference: what counted pairs say about the others, for every model-based agent (`infer=`)."""

from gim.analogy.base import Frame, Inference, Prior, inferences, prior_of
from gim.analogy.by_completion import ByCompletion

__all__ = ["ByCompletion", "Frame", "Inference", "Prior", "inferences", "prior_of"]
