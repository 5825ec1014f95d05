"""Analogies that people can see: predictions from the variables that states are made of.

`Triples` is what was counted; `candidates` are ways to predict next states from it, `rewards_of`
finds a rule for rewards, `Ends` for states that end an episode, and `rules` says it in words.
`relocated` carries counts over from another world with the same variables.
"""

from gim.analogy.structure.candidates import Candidate, Fitted, candidates
from gim.analogy.structure.ends import Ends
from gim.analogy.structure.exceptions import exceptions
from gim.analogy.structure.relocation import relocated
from gim.analogy.structure.reward_search import Trust, rewards_of
from gim.analogy.structure.rewards import Rewards
from gim.analogy.structure.rule import Rule, RuleNames
from gim.analogy.structure.sentences import rules
from gim.analogy.structure.triples import Triples

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
