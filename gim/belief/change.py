"""What has changed in a world, since when, and in words; see `gim.belief.comparison` for how."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.analogy.prior import Prior
from gim.belief.comparison import (
    NEAR,
    Comparison,
    Latest,
    Told,
    changes_by,
    likely_changed,
    moments,
)
from gim.mdp.names import Names
from gim.mdp.variables import Variables
from gim.model.counts import Counts

Bools = NDArray[np.bool_]
SHOWN = 4  # pairs or actions that are named
SURE = 0.9  # chance from which a change is told: one in ten may be none


@dataclass(frozen=True)
class Change:
    """What has changed, and since when.

    Attributes:
        since: the first episode, or row of a log, of the world since, counted from 0.
        what: in words, one statement each.
        nats: ln of the Bayes factor of this change against none.
        visits: of the pairs that changed, since then.
        pairs: s*A + a of those whose earlier visits say nothing of the world since.
        unit: "episode" or "row".
        told: the episode after which, or the last row with which, it was told.

    Example:
        >>> str(Change(300, ("left acts as right",), 25.0, 9, (2, 5)))
        'since episode 300 left acts as right (9 visits)'
    """

    since: int
    what: tuple[str, ...]
    nats: float
    visits: int
    pairs: tuple[int, ...]
    unit: str = "episode"
    told: int = 0

    def __str__(self) -> str:
        visits = f"{self.visits} visit{'' if self.visits == 1 else 's'}"
        return f"since {self.unit} {self.since} {'; '.join(self.what)} ({visits})"

    def packed(self) -> dict[str, Any]:
        """As JSON; the inverse of `unpacked`."""
        return asdict(self)

    @classmethod
    def unpacked(cls, saved: dict[str, Any]) -> Change:
        """From what `packed` gave, after JSON."""
        return cls(**saved | {name: tuple(saved[name]) for name in ("what", "pairs")})


class Called(NamedTuple):
    """What things are called, in a change that is told."""

    states: Names
    actions: Names
    variables: Variables | None = None


def changed(
    counts: Counts,
    prior: Prior,
    latest: Latest,
    called: Called,
    unit: str = "episode",
    within: tuple[int, float] = (0, math.inf),
    paid: bool = True,
    by: Callable[[Any], Any] = changes_by,
) -> Change | None:
    """What has changed, if more likely than SURE anything has.

    Args:
        counts: of all steps, the latest among them.
        prior: what was inferred, as far as may be from earlier ones.
        latest: the latest steps.
        called: what states and actions are called.
        unit: what blocks are.
        within: the first block that may be the first of the world since, and the first that may
            not.
        paid: whether rewards may change, too.
        by: the odds of a change by a block, before anything is seen, added up over the blocks.
    """
    if not latest.pair.size or latest.block[0] == latest.block[-1]:
        return None
    blocks = latest.blocks
    allowed = (blocks >= within[0]) & (blocks < within[1]) & (blocks > blocks[0])
    looked_at = moments(len(blocks))
    coarse = np.unique(blocks[looked_at][allowed[looked_at]])
    if not coarse.size:
        return None
    coarse = np.union1d(coarse, blocks[allowed][0])
    end = min(float(blocks[-1] + 1), within[1])

    def at(first: Any) -> Comparison:
        beforehand = np.log(np.diff(by(np.append(first, end))))
        return Comparison(counts, prior, latest, first, beforehand, called.variables, paid)

    comparison = at(coarse)
    if np.logaddexp.reduce(comparison.odds) < math.log(SURE / (1.0 - SURE)):
        return None
    j, last = int(np.argmax(comparison.odds)), len(coarse) - 1
    near = blocks[(blocks >= coarse[max(j - 1, 0)]) & (blocks <= coarse[min(j + 1, last)])]
    fine = near[np.unique(np.linspace(0, len(near) - 1, NEAR).astype(int))]
    return likeliest(at(fine), called, unit)


def likeliest(of: Comparison, called: Called, unit: str) -> Change:
    """The likeliest change."""
    j, (options, factors) = int(np.argmax(of.odds)), of.factors
    changed_pairs, what = np.zeros(of.S * of.A, bool), []
    for ways, wanted in zip(
        (of.moves, of.pays), options[int(np.argmax(factors[:, j]))], strict=True
    ):
        if wanted:
            more, words = _which(of, max(ways, key=lambda way: float(way.total[j])), j, called)
            changed_pairs |= more
            what += words
    visits = int(of.n_since[j, changed_pairs[of.pairs]].sum())
    pairs = tuple(np.flatnonzero(changed_pairs).tolist())
    nats, told = float(of.odds[j] - of.beforehand[j]), int(of.latest.block[-1])
    return Change(int(of.first[j]), tuple(what), nats, visits, pairs, unit, told)


def _which(of: Comparison, told: Told, j: int, called: Called) -> tuple[Bools, list[str]]:
    """The pairs [S*A] that changed, by one way to group them, and the words."""
    A, actions, every = of.A, called.actions, np.arange(of.S * of.A)
    if told.name == "all":
        return every >= 0, [_words(of, told, j, 0, "any action", called)]
    if told.name == "exchanged":
        a, b = divmod(int(told.best[j, 0]), A)
        said = f"{actions[b]} acts as {actions[a]} and {actions[a]} as {actions[b]}"
        return np.isin(every % A, (a, b)), [said]
    groups = np.flatnonzero(likely_changed(told.factors[j]))
    some, rest = groups[:SHOWN].tolist(), len(groups) - SHOWN
    if told.name == "action":
        words = [_words(of, told, j, a, str(actions[a]), called) for a in some]
        words += [f"so {'does' if rest == 1 else 'do'} {rest} more"] * (rest > 0)
        return np.isin(every % A, groups), words
    names = [f"{actions[i % A]} in {called.states[i // A]}" for i in of.pairs[some].tolist()]
    what = _otherwise(told.names[0])
    words = [f"{name} {what}" for name in names]
    words += [f"so {'does' if rest == 1 else 'do'} {rest} more pairs"] * (rest > 0)
    return np.isin(every, of.pairs[groups]), words


def _words(of: Comparison, told: Told, j: int, g: int, who: str, called: Called) -> str:
    """What has changed for a group."""
    how = told.names[told.best[j, g]]
    if how.startswith("="):
        return f"{who} acts as {called.actions[int(how[1:])]}"
    if how in ("anew", "pays"):
        return f"{who} {_otherwise(how)}"
    x, pair = dict(of.scales())[how], of.of[of.key]
    of_group = of.ruled & (told.name == "all" or of.of_action[:, g])
    steps = np.flatnonzero(of_group[pair])
    steps = steps[steps >= of.start[j]]
    predicted = (of.prior.rows()[of.pairs] @ x)[pair[steps]]
    by = float((x[of.latest.next[steps]] - predicted).mean())
    return f"{who} leaves {how} {abs(by):.2g} {'larger' if by > 0 else 'smaller'} in the mean"


def _otherwise(how: str) -> str:
    return "pays otherwise" if how == "pays" else "does otherwise"
