"""Why an action: what the others are worth, what follows each, and what would make it another.

Values are of playing an action once and following the policy from there on. So another action is as
good from just that on that makes up its loss: so much more reward, or a good outcome so much more
often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._base import html
from gim._base.escapes import shown
from gim._base.terminal import table
from gim.mdp.names import Names

LIKELY = 3  # outcomes that are shown of an action
ROWS = 12  # actions that are shown
SMALL = 1e-9  # of the size of values: a loss below it is none

Floats = NDArray[np.float64]


class Alternative(NamedTuple):
    """An action of a state."""

    action: Any
    value: float  # to play it once and follow the policy from there on
    loss: float  # by how much that is less than what the policy plays; negative: more
    reward: float
    outcomes: list[tuple[Any, float]]  # next states and their chances, the likeliest first
    visits: int | None  # how often it was seen; None where the world is known
    needs: str  # what would have to be true for it to be as good; "" where nothing would do


@dataclass(frozen=True, eq=False)
class Why:
    """An explanation; `str()` of it is the text.

    Attributes:
        state: the state.
        step: the step of the episode, from 0; None where all steps are alike.
        played: the actions that the policy plays there, with their chances.
        alternatives: all actions that can be played, the best first.
        rules: what was learned of the action played, in words.
        notes: what else there is to say.
    """

    state: Any
    step: int | None
    played: Mapping[Any, float]
    alternatives: list[Alternative]
    rules: Sequence[str] = ()
    notes: Sequence[str] = field(default=())

    def __str__(self) -> str:
        return "\n".join([self.opening, "", self.table, "", *self.sentences])

    __repr__ = __str__

    @property
    def table(self) -> str:
        """The best alternatives, as text."""
        seen = self.alternatives[0].visits is not None
        heads = ["action", "worth", "loses", "pays", "leads to", *(["seen"] if seen else []), ""]
        rows = [
            [
                shown(each.action),
                f"{each.value:.5g}",
                f"{each.loss:.3g}",
                f"{each.reward:.4g}",
                ", ".join(f"{shown(t)} ({p:.2f})" for t, p in each.outcomes[:LIKELY]),
                *([f"{each.visits:,}"] if seen else []),
                "played" if each.action in self.played else "",
            ]
            for each in self.alternatives[:ROWS]
        ]
        more = len(self.alternatives) - ROWS
        return table(rows, heads) + (f"\n... and {more} more" if more > 0 else "")

    @property
    def opening(self) -> str:
        """Where, and what is played there."""
        when = "" if self.step is None else f", step {self.step}"
        likely = sorted(self.played.items(), key=lambda each: -each[1])
        played = [
            shown(action) if chance > 1 - SMALL else f"{shown(action)} with chance {chance:.2f}"
            for action, chance in likely[:LIKELY]
        ]
        played += ["..."] if len(likely) > LIKELY else []
        return f"In state {shown(self.state)}{when}: {', '.join(played)}."

    @property
    def sentences(self) -> list[str]:
        """What would change it, what was learned, and notes."""
        others = [each for each in self.alternatives if each.action not in self.played]
        found = [each.needs for each in others[:1] if each.needs]
        if not others:
            found.append("Nothing else can be played there.")
        return [*found, *(f"Learned: {rule}" for rule in self.rules), *self.notes]

    def _repr_html_(self) -> str:
        return html.text("Why", str(self))


def explain(
    names: tuple[Names, Names],
    s: int,
    step: int | None,
    played: Floats,
    values: tuple[Floats, Any, Floats],
    available: NDArray[np.bool_],
    visits: NDArray[Any] | None = None,
    rules: Sequence[str] = (),
    notes: Sequence[str] = (),
    gain: float = 0.0,
) -> Why:
    """The explanation of a state.

    Args:
        names: of states and actions.
        s: the number of the state.
        step: the step, or None.
        played: [A] how likely the policy plays each action.
        values: rewards [A], rows of next states as CSR [A, S], and what comes after them [S],
            discounted.
        available: [A] what can be played.
        visits: [A] how often each was seen.
        rules: sentences on the action played.
        notes: further sentences.
        gain: what an average step brings, where values are relative to that.
    """
    r, P, ahead = values
    q = r + P @ ahead - gain
    own = float(q[played > 0] @ played[played > 0])
    size = float(np.abs(ahead).max(initial=0.0) + np.abs(r).max() + 1e-300)
    states, actions = names
    found = []
    for a in sorted(np.flatnonzero(available).tolist(), key=lambda a: (-q[a], a)):
        t, p = P.indices[P.indptr[a] : P.indptr[a + 1]], P.data[P.indptr[a] : P.indptr[a + 1]]
        order = np.lexsort((t, -p))
        loss = own - float(q[a])
        loss = 0.0 if abs(loss) <= SMALL * size else loss
        found.append(
            Alternative(
                actions[a],
                float(q[a]),
                loss,
                float(r[a]),
                [(states[int(t[k])], float(p[k])) for k in order if p[k] > 0],
                None if visits is None else int(visits[a]),
                _needs(actions[a], loss, t, p, ahead, states) if played[a] == 0 else "",
            )
        )
    chosen = _played(played, actions)
    better = [each for each in found if each.loss < 0 and each.action not in chosen]
    if better:
        few = "" if better[0].visits is None else f", seen {better[0].visits:,} times"
        notes = [
            f"By these values {shown(better[0].action)}{few} would be worth {-better[0].loss:.3g} "
            "more: the policy was not chosen by them alone.",
            *notes,
        ]
    return Why(states[s], step, chosen, found, rules, notes)


def _played(chances: Floats, actions: Names) -> dict[Any, float]:
    return {actions[a]: float(chances[a]) for a in np.flatnonzero(chances > 0).tolist()}


def _needs(action: Any, loss: float, t: Any, p: Floats, ahead: Floats, states: Names) -> str:
    """What would make an action as good as the one played."""
    name = shown(action)
    if loss < 0:
        return ""
    if loss == 0:
        return f"{name} is as good."
    ways = [f"it paid {loss:.3g} more"]
    likely = np.lexsort((t, -p))[:LIKELY]
    if t.size > 1:
        best = int(likely[np.argmax(ahead[t[likely]])])
        rest = (float(p @ ahead[t]) - p[best] * ahead[t[best]]) / (1 - p[best])
        rise = loss / (ahead[t[best]] - rest) if ahead[t[best]] > rest else np.inf
        if p[best] + rise <= 1:
            ways.append(
                f"it led to {shown(states[int(t[best])])} with chance {p[best] + rise:.3g} in "
                f"place of {p[best]:.3g}"
            )
    return f"{name} would be as good if {', or '.join(ways)}."
