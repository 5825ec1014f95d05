"""Analogies that people can see: predictions from the variables that states are made of.

`Triples` is what was counted; `candidates` are ways to predict next states from it, `rewards_of`
finds a rule for rewards, `Ends` for states that end an episode, and `rules` says it in words.
`relocated` carries counts over from another world with the same variables.
"""

from gim.inference.structure.candidates import Candidate, Fitted, candidates
from gim.inference.structure.ends import Ends
from gim.inference.structure.exceptions import exceptions
from gim.inference.structure.relocation import relocated
from gim.inference.structure.reward_search import rewards_of
from gim.inference.structure.reward_validation import Trust
from gim.inference.structure.rewards import Rewards
from gim.inference.structure.rule import Rule, RuleNames
from gim.inference.structure.sentences import rules
from gim.inference.structure.triples import Triples

__all__ = [
    "Candidate",
    "Ends",
    "Fitted",
    "Rewards",
    "Rule",
    "RuleNames",
    "Triples",
    "Trust",
    "candidates",
    "exceptions",
    "relocated",
    "rewards_of",
    "rules",
]
