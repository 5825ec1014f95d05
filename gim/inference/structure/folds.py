"""What a structure says of pairs by counts that have not seen them: fitted again without each fold.

Taking a pair's own counts out of one fit of all would cost less, but the explanations of the others
were found with its help: where little is certain, that looks far better than it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from gim.inference.structure.explanations import Explained
from gim.inference.structure.triples import Floats, Ints


class Folds:
    """The fits without each fold, made when they are asked for.

    Args:
        data: whose pairs are in folds.
        refit: gives the fit without a fold.
    """

    def __init__(self, data: Explained, refit: Callable[[int], Any]) -> None:
        self.data, self.refit = data, refit
        self.fits: dict[int, Any] = {}

    def rows(self, whole: Any, pairs: Ints) -> Any:
        """Rows of pairs, each by the fit that has not seen it; by the whole if none has."""
        parts = self._parts(whole, pairs)
        order = np.argsort(np.concatenate([at for at, _ in parts]), kind="stable")
        rows = [fit.rows(pairs[at]) for at, fit in parts]
        return sparse.csr_array(sparse.vstack(rows, format="csr")[order])

    def gathered(self, whole: Any, what: str, pairs: Ints) -> Floats:
        """The same for a number of each pair, such as `levels`."""
        found = np.zeros(len(pairs))
        for at, fit in self._parts(whole, pairs):
            found[at] = getattr(fit, what)(pairs[at])
        return found

    def _parts(self, whole: Any, pairs: Ints) -> list[tuple[Ints, Any]]:
        """Places of the pairs of each fold (-1: never met), and who speaks of them."""
        slot = self.data.slot_of(pairs)
        fold = np.where(slot >= 0, self.data.fold[slot] if len(self.data.fold) else -1, -1)
        found = [(np.flatnonzero(fold == -1), whole)]
        for each in np.unique(fold[fold >= 0]).tolist():
            if each not in self.fits:
                self.fits[each] = self.refit(each)
            found.append((np.flatnonzero(fold == each), self.fits[each]))
        return found
