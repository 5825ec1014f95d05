"""What was learned, in words: one rule for each action.

north: row - 1 (.80), col - 1 (.10), col + 1 (.10); blocked moves stay; holds for 61 of 64 pairs
held out (118 visits); 3 exceptions: (2,5), (5,2), (5,8)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gim.inference.structure.block import Block
from gim.inference.structure.exceptions import exceptions
from gim.inference.structure.moves import CLIP, STAY, WRAP
from gim.inference.structure.product import Product
from gim.inference.structure.triples import Floats, Ints, Mask, Triples, summed

SHOWN = 5  # outcomes and exceptions in a sentence
LEAST = 0.02  # chance of an outcome worth a word
EDGES = {
    STAY: "blocked moves stay",
    CLIP: "moves end at the edge",
    WRAP: "moves go round the edge",
}

Change = Mapping[str, str]


@dataclass(frozen=True)
class Rule:
    """What an action does, wherever it is taken.

    Attributes:
        action: its label.
        outcomes: changes by variable, such as {"row": "- 1"}, each with its chance, the likeliest
            first; {} changes nothing. Variables that change independently have outcomes of their
            own, one group of `groups` after the other, each of which sums to 1.
        support: visits behind it.
        explained: share of the pairs of this action, each held out, that it explains.
        exceptions: pairs (s, a) that were met and do otherwise.
        groups: outcomes of each group of variables.
        edges: what happens at edges, if that was seen.
        depends: what else the chances depend on, by name.
        labels: of the states among the exceptions.
    """

    action: Any
    outcomes: tuple[tuple[Change, float], ...]
    support: int
    explained: float
    exceptions: tuple[tuple[int, int], ...]
    groups: tuple[int, ...] = ()
    edges: tuple[str, ...] = ()
    depends: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts, at = [], 0
        for many in self.groups or (len(self.outcomes),):
            parts.append(_listed(self.outcomes[at : at + many]))
            at += many
        text = f"{self.action}: " + (" and ".join(part for part in parts if part) or "stays (1.00)")
        if self.depends:
            text += f"; chances depend on {', '.join(self.depends)}"
        text += "".join(f"; {edge}" for edge in self.edges)
        text += f"; explains {self.explained:.0%} of its pairs held out ({self.support} visits)"
        if self.exceptions:
            some = ", ".join(self.labels[:SHOWN])
            more = ", ..." if len(self.exceptions) > SHOWN else ""
            plural = "s" if len(self.exceptions) > 1 else ""
            text += f"; {len(self.exceptions)} exception{plural}: {some}{more}"
        return text


def _listed(outcomes: Sequence[tuple[Change, float]]) -> str:
    if len(outcomes) == 1 and not outcomes[0][0]:
        return ""  # the others say more
    shown = [
        f"{_phrase(change)} ({f'{chance:.2f}'.removeprefix('0')})" for change, chance in outcomes
    ]
    rest = len(shown) - SHOWN
    return ", ".join(shown[:SHOWN]) + (f", {rest} more" if rest > 0 else "")


def _phrase(change: Change) -> str:
    return " ".join(f"{name} {by}" for name, by in change.items()) or "stays"


@dataclass(frozen=True)
class Names:
    """What things are called."""

    variables: Sequence[str]
    actions: Sequence[Any]
    action_variables: Sequence[str] = ()
    states: Sequence[str] | None = None  # labels; else the values of their variables


def rules(fitted: Product, names: Names) -> list[Rule]:
    """A rule for each action that was taken, or one for all if they do the same."""
    triples = fitted.triples
    pairs, n = triples.met, triples.n.ravel()[triples.met]
    rows = fitted.rows(pairs, apart=True)
    spoken = np.diff(rows.indptr) > 0
    odd = exceptions(rows, pairs, triples)
    of = pairs % triples.A if any(_by_action(block) for block in fitted.blocks) else 0 * pairs
    found = []
    for a in np.unique(of).tolist():
        here = of == a
        told = [_told(block, here[block.data.slot], names) for block in fitted.blocks]
        listed = odd & here
        if len(fitted.blocks) == 1:
            listed |= here & _walls(fitted.blocks[0], here)
        states = (pairs[listed] // triples.A).tolist()
        found.append(
            Rule(
                names.actions[a] if _several(of, triples) else "any action",
                tuple(outcome for outcomes, _ in told for outcome in outcomes),
                int(n[here].sum()),
                float(1.0 - odd[here & spoken].mean()) if (here & spoken).any() else 0.0,
                tuple(zip(states, (pairs[listed] % triples.A).tolist(), strict=True)),
                tuple(len(outcomes) for outcomes, _ in told),
                tuple(dict.fromkeys(edge for _, edges in told for edge in edges)),
                tuple(dict.fromkeys(name for b in fitted.blocks for name in _depends(b, names))),
                tuple(_label(fitted, s, names) for s in states[:SHOWN]),
            )
        )
    return found


def _by_action(block: Block) -> bool:
    """Whether chances depend on the action."""
    triples = block.data.triples
    return any(triples.variable_of(f) < 0 for f in block.form.chain[-1])


def _several(of: Ints, triples: Triples) -> bool:
    return triples.A == 1 or bool(of.any())


def _label(fitted: Product, s: int, names: Names) -> str:
    if names.states is not None:
        return str(names.states[s])
    return "(" + ",".join(str(code) for code in fitted.triples.codes[s]) + ")"


def _told(
    block: Block, observed: Mask, names: Names
) -> tuple[list[tuple[Change, float]], list[str]]:
    """Outcomes of a block with their chances, and what happens at edges."""
    data = block.data
    weight = block.stack.weights.of[data.of] * block.posterior.share * observed[data.of]
    mass = summed(data.outcome, weight, data.many)
    chances: dict[tuple[tuple[str, str], ...], float] = {}
    for o in np.flatnonzero(mass > 0).tolist():
        change = tuple(_change(block, o, names).items())
        chances[change] = chances.get(change, 0.0) + float(mass[o] / mass.sum())
    likely = sorted(chances.items(), key=lambda item: -item[1])
    told: list[tuple[Change, float]] = [(dict(change), chance) for change, chance in likely]
    return [each for each in told if each[1] >= LEAST] or told[:1], _edges(block, weight)


def _change(block: Block, o: int, names: Names) -> Change:
    """An outcome by variable."""
    data = block.data
    variables, (add, fixed, _, _) = data.move.variables, data.outcomes
    added = {v: (j, sign) for v, j, sign in data.move.shifts}
    if o >= data.changes:
        value = data.values.codes[o - data.changes]
        return {names.variables[v]: f"= {c}" for v, c in zip(variables, value, strict=True)}
    change = {}
    for i, v in enumerate(variables):
        by = (
            f"= {add[o, i]}" if fixed[o, i] else f"{'-' if add[o, i] < 0 else '+'} {abs(add[o, i])}"
        )
        if v in added and not fixed[o, i]:
            j, sign = added[v]
            name = names.action_variables[j] if j < len(names.action_variables) else "action"
            by = f"{'+' if sign > 0 else '-'} {name}" + ("" if add[o, i] == 0 else f" {by}")
        elif add[o, i] == 0 and not fixed[o, i]:
            continue
        change[names.variables[v]] = by
    return change


def _edges(block: Block, weight: Floats) -> list[str]:
    """What happens where a move would leave the world, if that was seen."""
    data = block.data
    observed = np.flatnonzero((weight > 0) & (data.outcome < data.changes))
    o, i = data.outcome[observed], data.of[observed]
    base, reached = data.start.base[data.slot[i]], data.values.codes[data.target[i]]
    add, fixed, edge, _ = data.outcomes
    plain = np.where(fixed[o], add[o], base + add[o])
    turned = (plain != reached).any(axis=1)
    mass = summed(edge[o][turned], weight[observed][turned], 3)
    stays = (data.start.own[data.slot[i]] == data.target[i]) & turned
    mass[STAY] += weight[observed][stays & (edge[o] == CLIP)].sum()
    mass[CLIP] -= weight[observed][stays & (edge[o] == CLIP)].sum()
    return [EDGES[e] for e in (STAY, CLIP, WRAP) if mass[e] > 0.1 * max(mass.sum(), 1e-300)]


def _walls(block: Block, here: Mask) -> Mask:
    """Pairs that stayed where the likeliest change leads to what is within reach, but not there."""
    data = block.data
    found = np.zeros(len(data.pairs), bool)
    weight = block.posterior.share * block.stack.weights.of[data.of] * here[data.slot[data.of]]
    change = data.outcome < data.changes
    mass = summed(data.outcome[change], weight[change], max(data.changes, 1))
    add, fixed = data.outcomes.add, data.outcomes.fixed
    if not mass.any() or not add[best := int(np.argmax(mass))].any():
        return found
    plain = np.where(fixed[best], add[best], data.start.base + add[best])
    inside = ((plain >= 0) & (plain < data.values.sizes)).all(axis=1)
    i = data.of[(data.outcome == best) & (weight > 0)]
    found[data.slot[i[data.start.own[data.slot[i]] == data.target[i]]]] = True
    return found & inside


def _depends(block: Block, names: Names) -> list[str]:
    """Variables of the state that the chances depend on."""
    triples = block.data.triples
    return [names.variables[triples.variable_of(f)] for f in block.form.chain[-1]
            if triples.variable_of(f) >= 0]  # fmt: skip
