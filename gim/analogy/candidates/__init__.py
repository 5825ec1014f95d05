"""Candidates: ways to predict p(.|s,a) of a pair from the counts of others. One file each.

Begin with `base.py`. What it takes to write a candidate is exported here.
"""

from gim._base.params import OneOf, Within
from gim.analogy.candidates.base import Candidate, Fitted, Rows, candidates, suited
from gim.analogy.candidates.data import Data

__all__ = ["Candidate", "Data", "Fitted", "OneOf", "Rows", "Within", "candidates", "suited"]
