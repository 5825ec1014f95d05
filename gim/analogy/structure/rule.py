"""A rule in words, and the names that it uses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gim._base.escapes import shown
from gim.analogy.structure.triples import Ints

SHOWN = 5  # shown: outcomes and exceptions in a sentence
NAMED = 2  # shown: outcomes in it that were not seen
LEAST = 0.02  # shown: chance of an outcome that is worth a word
# shown: chance with which so many visits show an outcome not once, if it is as likely as told
MISSED = 0.1
PERCENT = 100  # shown: of all

Change = Mapping[str, float | str]
Outcomes = tuple[tuple[Change, float], ...]


@dataclass(frozen=True)
class Rule:
    """What an action does, wherever it is taken.

    Attributes:
        action: its label, or "any action" if all do the same.
        outcomes: changes by variable, each with its chance, the likeliest first: a number that is
            added, as in {"row": -1}, or words, as in {"light": "= red"}; {} changes nothing.
            Variables that change independently have outcomes of their own, one group of `groups`
            after the other, each of which sums to 1.
        support: visits behind it.
        explained: share of the pairs of this action, each held out, that it explains.
        exceptions: pairs (s, a) that were met and do otherwise.
        groups: outcomes of each group of variables.
        edges: what happens at edges, if that was seen.
        where: the states that it holds for, in words; "" for all.
        depends: what else the chances depend on, by name.
        labels: of the first states among the exceptions.
        counts: visits behind each of the outcomes; where several explain a visit they share it.
        unseen: changes that other rules make and this one was never seen to.
        rival: what explains the same as well or nearly so, in words; "" where nothing does: another
            change, or the rule of another structure.
        nats: by how much less likely pairs held out are under that.
        telling: the states, in words, in which this action would tell which of the two it is.
    """

    action: Any
    outcomes: Outcomes
    support: int
    explained: float
    exceptions: tuple[tuple[int, int], ...]
    groups: tuple[int, ...] = ()
    edges: tuple[str, ...] = ()
    where: str = ""
    depends: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    counts: tuple[float, ...] = ()
    unseen: tuple[Change, ...] = ()
    rival: str = ""
    nats: float = 0.0
    telling: str = ""

    def __str__(self) -> str:
        text = f"{self.action}{f' where {self.where}' if self.where else ''}: {self.does}"
        if self.depends:
            text += f"; chances depend on {', '.join(self.depends)}"
        text += "".join(f"; {edge}" for edge in self.edges)
        text += self._not_seen()
        if self.rival:
            less = f"nearly as well, by {self.nats:.1f} nats less" if self.nats > 0 else "as well"
            tells = f": {self.telling} would tell" if self.telling else ""
            text += f"; {self.rival} would explain it {less}{tells}"
        text += f"; explains {self.explained:.0%} of its pairs held out ({_visits(self.support)})"
        if self.exceptions:
            some = ", ".join(self.labels[:SHOWN])
            more = ", ..." if len(self.exceptions) > SHOWN else ""
            plural = "s" if len(self.exceptions) > 1 else ""
            text += f"; {len(self.exceptions)} exception{plural}: {some}{more}"
        return shown(text, longest=len(text))

    @property
    def does(self) -> str:
        """What it does, in words: the outcomes."""
        parts, at = [], 0
        for many in self.groups or (len(self.outcomes),):
            part = self.outcomes[at : at + many]
            always = bool(self.counts) and self.counts[at] > self.support - 1e-6
            named = always and bool(part[0][0])
            parts.append(_always(part[0][0], self.support) if named else _listed(part))
            at += many
        still = _always({}, self.support) if self.counts else "stays (1.00)"
        return " and ".join(part for part in parts if part) or still

    def _not_seen(self) -> str:
        """What so many visits cannot exclude, though none has shown it."""
        most = not_excluded(self.support)
        if not self.counts or most < LEAST:
            return ""
        chance = _decimal(math.ceil(PERCENT * most) / PERCENT)
        none = f"below {chance} (none in {_visits(self.support)})"
        what = [phrase(change) for change in self.unseen[:NAMED]]
        return f"; {' or '.join(what) or 'anything else'}: {none}"


def not_excluded(visits: int) -> float:
    """The largest chance of what was seen in none of so many visits, with a confidence of 90 %.

    Example:
        >>> round(not_excluded(28), 3)  # .921 ** 28 = .1
        0.079
    """
    return float(1.0 - MISSED ** (1.0 / visits)) if visits else 1.0


def _visits(many: int) -> str:
    return f"{many} visit{'' if many == 1 else 's'}"


def _decimal(chance: float) -> str:
    return f"{chance:.2f}".removeprefix("0")


def _always(change: Change, visits: int) -> str:
    """An outcome that every visit has shown."""
    return f"{phrase(change)} (always, {visits} of {visits})"


def _listed(outcomes: Sequence[tuple[Change, float]]) -> str:
    if len(outcomes) == 1 and not outcomes[0][0]:
        return ""  # the others say more
    each = [f"{phrase(change)} ({_decimal(chance)})" for change, chance in outcomes]
    rest = len(each) - SHOWN
    return ", ".join(each[:SHOWN]) + (f", {rest} more" if rest > 0 else "")


def phrase(change: Change) -> str:
    """What becomes of the variables, in words."""
    return " ".join(f"{name} {by_words(by)}" for name, by in change.items()) or "stays"


def by_words(by: float | str) -> str:
    """A change of one variable: what is added, or what was said in words."""
    return by if isinstance(by, str) else f"{'-' if by < 0 else '+'} {abs(by):g}"


@dataclass(frozen=True)
class RuleNames:
    """What things are called; without variables, "state" is the number of a state."""

    variables: Sequence[str] = ()
    actions: Sequence[Any] = ()
    action_variables: Sequence[str] = ()
    values: Sequence[Sequence[Any]] = ()  # labels of the values of each variable
    states: Sequence[Any] | None = None  # labels; else the values of their variables
    units: Sequence[float] = ()  # what one more of each variable is to the user; else 1

    def unit(self, v: int) -> float:
        """What one more of a variable of the state is."""
        return self.units[v] if v < len(self.units) else 1

    def variable(self, v: int) -> str:
        """The name of a variable of the state."""
        return str(self.variables[v]) if v < len(self.variables) else "state"

    def value(self, v: int, code: int) -> str:
        """The label of a value of a variable."""
        labels = self.values[v] if v < len(self.values) else ()
        return str(labels[code]) if code < len(labels) else str(code)

    def action(self, a: int) -> Any:
        """The label of an action."""
        return self.actions[a] if a < len(self.actions) else a

    def amount(self, j: int) -> str:
        """The name of a variable of the action."""
        return str(self.action_variables[j]) if j < len(self.action_variables) else "action"

    def state(self, codes: Ints, s: int) -> str:
        """The label of a state."""
        if self.states is not None:
            return str(self.states[s])
        return "(" + ",".join(self.value(v, code) for v, code in enumerate(codes.tolist())) + ")"
