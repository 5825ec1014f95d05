"""Analogies that people can see: predictions from the variables that states are made of.

`Triples` is what was counted; `by_variables` finds how their blocks move, `rules` says it in words.
`relocated` carries counts over from another world with the same variables.
"""

from gim.analogy.structure.blocks import by_numbers, by_variables
from gim.analogy.structure.exceptions import exceptions
from gim.analogy.structure.relocation import relocated
from gim.analogy.structure.rule import Rule, RuleNames
from gim.analogy.structure.sentences import rules
from gim.analogy.structure.triples import Triples

__all__ = [
    "Rule",
    "RuleNames",
    "Triples",
    "by_numbers",
    "by_variables",
    "exceptions",
    "relocated",
    "rules",
]
