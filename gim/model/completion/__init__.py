"""Matrix completion: one method a file, all with the signature of `Completion`."""

from gim.model.completion.als import ALS
from gim.model.completion.base import Completed, Completion, Fit, Method, completions
from gim.model.completion.optspace import OptSpace
from gim.model.completion.tucker import Tucker

__all__ = [
    "ALS",
    "Completed",
    "Completion",
    "Fit",
    "Method",
    "OptSpace",
    "Tucker",
    "completions",
]
