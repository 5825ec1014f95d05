"""Candidates: ways to predict p(.|s,a) of a pair from the counts of others. One file each."""

from gim.analogy.candidates.base import Candidate, Fitted, candidates, suited
from gim.analogy.candidates.data import Data

__all__ = ["Candidate", "Data", "Fitted", "candidates", "suited"]
