"""The candidates that see structure, in one family.

Each is a function `fit(triples, form=None) -> Fitted`. Without a form it searches for one, by
held-out pairs of its own within the triples it is given; with the form of an earlier fit it only
fits that form anew, which is what to do until visits have doubled, and within the folds of an
cross-validation around it. A pair that is to be held out is simply absent from the triples.

- variables: blocks of variables, each with its own outcomes, contexts and after-states
- types: types of states, learned from what their actions do
- numbers: the numbering itself as coordinates, where nothing is known of what states are made of
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from gim.analogy.structure.blocks import by_variables
from gim.analogy.structure.numbering import by_numbers
from gim.analogy.structure.state_types import by_types
from gim.analogy.structure.triples import Ints, Triples


class Fitted(Protocol):
    """A structure, fitted to counts."""

    @property
    def form(self) -> Any:
        """The structure alone, to be fitted to other counts."""

    def rows(self, pairs: Ints, apart: bool = False) -> Any:
        """Predicted next states of pairs s*A + a: CSR [pairs, S]; an empty row says nothing.

        With `apart`, by fits of this form that have not seen them: each pair that was met is in a
        fold, and fits without the fold speak of it. A cross-validation around it asks for that.
        """

    def levels(self, pairs: Ints, apart: bool = False) -> Ints:
        """How far each pair had to back off: 0 where the finest contexts have counts."""


Candidate = Callable[..., Fitted]


def candidates(triples: Triples) -> dict[str, Candidate]:
    """Those that can say something about such data, the simplest first."""
    first: dict[str, Candidate] = (
        {"variables": by_variables} if triples.named else {"numbers": by_numbers}
    )
    return {**first, "types": by_types}
