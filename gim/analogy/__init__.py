"""Inference: what counted pairs say about the others, for every model-based agent (`infer=`).

Who predicts what from what, and what a prediction is worth. Imports model and what is below. Begin
with `base.py`, then `analogy.py`; `candidates` are who predicts, `structure` what can be seen in
variables.
"""

from gim.analogy.base import Frame, Inference, Prior, inferences, prior_of
from gim.analogy.by_completion import ByCompletion

__all__ = ["ByCompletion", "Frame", "Inference", "Prior", "inferences", "prior_of"]
