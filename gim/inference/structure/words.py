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
from gim.inference.structure.moves import CLIP, HOME, STAY, WRAP
from gim.inference.structure.state_types import Typed
from gim.inference.structure.triples import Floats, Ints, Mask, Triples, summed

SHOWN = 5  # outcomes and exceptions in a sentence
RARE, LEAST = 0.001, 0.02  # chances of an outcome that is not looked at, and of one worth a word
ALIKE = 0.1  # difference of chances that is no other rule
PLACES = 4  # kinds of places up to which each has a rule of its own
EDGES = {
    STAY: "blocked moves stay",
    CLIP: "moves end at the edge",
    WRAP: "moves go round the edge",
    HOME: "moves beyond one edge all lead to one place",
}

Change = Mapping[str, str]
Outcomes = tuple[tuple[Change, float], ...]


@dataclass(frozen=True)
class Rule:
    """What an action does, wherever it is taken.

    Attributes:
        action: its label, or "any action" if all do the same.
        outcomes: changes by variable, such as {"row": "- 1"}, each with its chance, the likeliest
            first; {} changes nothing. Variables that change independently have outcomes of their
            own, one group of `groups` after the other, each of which sums to 1.
        support: visits behind it.
        explained: share of the pairs of this action, each held out, that it explains.
        exceptions: pairs (s, a) that were met and do otherwise.
        groups: outcomes of each group of variables.
        edges: what happens at edges, if that was seen.
        where: the states that it holds for, in words; "" for all.
        depends: what else the chances depend on, by name.
        labels: of the first states among the exceptions.
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

    def __str__(self) -> str:
        parts, at = [], 0
        for many in self.groups or (len(self.outcomes),):
            parts.append(_listed(self.outcomes[at : at + many]))
            at += many
        text = f"{self.action}{f' where {self.where}' if self.where else ''}: "
        text += " and ".join(part for part in parts if part) or "stays (1.00)"
        if self.depends:
            text += f"; chances depend on {', '.join(self.depends)}"
        text += "".join(f"; {edge}" for edge in self.edges)
        text += f"; explains {self.explained:.0%} of its pairs held out ({self.support} visits)"
        if self.exceptions:
            more = ", ..." if len(self.exceptions) > SHOWN else ""
            plural = "s" if len(self.exceptions) > 1 else ""
            some = ", ".join(self.labels[:SHOWN]) + more
            text += f"; {len(self.exceptions)} exception{plural}: {some}"
        return text


def _listed(outcomes: Sequence[tuple[Change, float]]) -> str:
    if len(outcomes) == 1 and not outcomes[0][0]:
        return ""  # the others say more
    shown = [
        f"{_phrase(change)} ({f'{chance:.2f}'.removeprefix('0')})" for change, chance in outcomes
    ]
    more = f", {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    return ", ".join(shown[:SHOWN]) + more


def _phrase(change: Change) -> str:
    return " ".join(f"{name} {by}" for name, by in change.items()) or "stays"


@dataclass(frozen=True)
class Names:
    """What things are called; variables without a name are numbered."""

    variables: Sequence[str] = ()
    actions: Sequence[Any] = ()
    action_variables: Sequence[str] = ()
    values: Sequence[Sequence[Any]] = ()  # labels of the values of each variable
    states: Sequence[Any] | None = None  # labels; else the values of their variables

    def variable(self, v: int) -> str:
        """The name of a variable of the state."""
        return str(self.variables[v]) if v < len(self.variables) else f"variable {v}"

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


def rules(fitted: Any, names: Names) -> list[Rule]:
    """A rule for each action that was taken, or one for all if they do the same.

    Where chances depend on few values of variables, or on types of states, each has its rule.

    Args:
        fitted: a structure found by `by_variables`, `by_numbers` or `by_types`.
        names: of variables, actions, states.
    """
    triples = fitted.triples
    pairs = triples.met
    rows = fitted.rows(pairs, apart=True)
    odd, spoken = exceptions(rows, pairs, triples), np.diff(rows.indptr) > 0
    blocks = [fitted.block] if isinstance(fitted, Typed) else fitted.blocks
    by_action = triples.A == 1 or any(_by_action(block) for block in blocks)
    of = pairs % triples.A if by_action else 0 * pairs
    kind, called = _places(fitted, blocks, names)
    found = []
    for a in np.unique(of).tolist():
        parts = [(of == a) & (kind == each) for each in np.unique(kind[of == a]).tolist()]
        if _alike([_told(blocks, here, names)[0] for here in parts]):
            parts = [of == a]
        for here in parts:
            outcomes, groups, edges = _told(blocks, here, names)
            listed = here & (odd | _walls(blocks[0], here) if len(blocks) == 1 else odd)
            states = (pairs[listed] // triples.A).tolist()
            found.append(
                Rule(
                    names.action(a) if by_action else "any action",
                    outcomes,
                    int(triples.n.ravel()[pairs[here]].sum()),
                    float(1.0 - odd[here & spoken].mean()) if (here & spoken).any() else 0.0,
                    tuple(zip(states, (pairs[listed] % triples.A).tolist(), strict=True)),
                    groups,
                    edges,
                    called.get(int(kind[here][0]), "") if len(parts) > 1 else "",
                    () if called else _depends(blocks, names),
                    tuple(names.state(triples.codes[s], s) for s in states[:SHOWN]),
                )
            )
    return found


def _alike(told: list[Outcomes]) -> bool:
    """Whether all of these say about the same."""
    chances = [{tuple(change.items()): chance for change, chance in each} for each in told]
    changes = {change for each in chances for change in each}
    spread = [[each.get(change, 0.0) for each in chances] for change in changes]
    return all(max(each) - min(each) < ALIKE for each in spread)


def _by_action(block: Block) -> bool:
    """Whether chances depend on the action, or what it adds was found."""
    variable_of, move = block.data.triples.variable_of, block.form.move
    return move.found or any(variable_of(f) < 0 for f in block.form.chain[-1])


def _places(fitted: Any, blocks: list[Block], names: Names) -> tuple[Ints, dict[int, str]]:
    """The kind of place of each pair that was met, and what the kinds are called, if few."""
    triples = fitted.triples
    s = triples.met // triples.A
    if isinstance(fitted, Typed) and fitted.types > 1:
        kind = fitted.chances(triples.met).argmax(axis=1)
        many = np.bincount(fitted.chances(np.arange(triples.S) * triples.A).argmax(axis=1))
        return kind, {k: f"type {k + 1} ({n} states)" for k, n in enumerate(many.tolist()) if n}
    used = {f for block in blocks for f in block.form.chain[-1] if triples.variable_of(f) >= 0}
    # Whether a variable is at an edge says nothing more where its value is looked at.
    features = tuple(sorted(f for f in used if f < triples.k or triples.variable_of(f) not in used))
    kind = triples.group(features)[0]
    kinds, first = np.unique(kind, return_index=True)
    if not features or len(kinds) > PLACES:
        return 0 * s, {}
    called = {
        int(k): " and ".join(_condition(triples, f, int(t), names) for f in features)
        for k, t in zip(kinds, first, strict=True)
    }
    return kind[s], called


def _condition(triples: Triples, feature: int, s: int, names: Names) -> str:
    """What a feature says of a state."""
    code = int(triples.codes[s, v := triples.variable_of(feature)])
    if feature < triples.k:
        return f"{names.variable(v)} = {names.value(v, code)}"
    last = int(triples.codes[:, v].max())
    return f"{names.variable(v)} is " + {0: "least", last: "largest"}.get(code, "between")


def _depends(blocks: list[Block], names: Names) -> tuple[str, ...]:
    """Variables of the state that chances depend on."""
    triples = blocks[0].data.triples
    used = (triples.variable_of(f) for block in blocks for f in block.form.chain[-1])
    return tuple(dict.fromkeys(names.variable(v) for v in used if v >= 0))


def _told(
    blocks: list[Block], here: Mask, names: Names
) -> tuple[Outcomes, tuple[int, ...], tuple[str, ...]]:
    """Outcomes of pairs with their chances, how many each block has, and what edges do."""
    told: list[list[tuple[Change, float]]] = []
    edges: list[str] = []
    for block in blocks:
        data = block.data
        weight = block.stack.weights.of[data.of] * block.posterior.share * here[data.slot[data.of]]
        mass, action = summed(data.outcome, weight, data.many), data.pairs[here][0] % data.triples.A
        chances: dict[tuple[tuple[str, str], ...], float] = {}
        for o in np.flatnonzero(mass > RARE * mass.sum()).tolist():
            change = tuple(_change(block, o, names, action).items())
            chances[change] = chances.get(change, 0.0) + float(mass[o] / mass.sum())
        likely = sorted(chances.items(), key=lambda item: -item[1])
        kept: list[tuple[Change, float]] = [(dict(change), chance) for change, chance in likely]
        told.append([each for each in kept if each[1] >= LEAST] or kept[:1])
        edges += [edge for edge in _edges(block, weight) if edge not in edges]
    return tuple(each for part in told for each in part), tuple(map(len, told)), tuple(edges)


def _change(block: Block, o: int, names: Names, a: int) -> Change:
    """An outcome by variable; `a` is the action, where it matters."""
    data, variables = block.data, block.data.move.variables
    add, fixed, _ = data.outcomes
    added = {v: (j, sign) for v, j, sign in data.move.shifts if not isinstance(j, tuple)}
    found = {v: amounts[a] for v, amounts, _ in data.move.shifts if isinstance(amounts, tuple)}
    if o >= data.changes:
        value = data.values.codes[o - data.changes]
        pairs = zip(variables, value.tolist(), strict=True)
        return {names.variable(v): f"= {names.value(v, c)}" for v, c in pairs}
    change = {}
    for i, v in enumerate(variables):
        by, sets = int(add[o, i]) + (not fixed[o, i]) * found.get(v, 0), bool(fixed[o, i])
        text = f"= {names.value(v, by)}" if sets else f"{'-' if by < 0 else '+'} {abs(by)}"
        if v in added and not sets:
            j, sign = added[v]
            text = f"{'+' if sign > 0 else '-'} {names.amount(j)}" + (f" {text}" if by else "")
        elif by == 0 and not sets:
            continue
        change[names.variable(v)] = text
    return change


def _edges(block: Block, weight: Floats) -> list[str]:
    """What happens where a move would leave the world, if that was seen."""
    data = block.data
    observed = np.flatnonzero((weight > 0) & (data.outcome < data.changes))
    o, i = data.outcome[observed], data.of[observed]
    add, fixed, edge = data.outcomes
    plain = np.where(fixed[o], add[o], data.start.base[data.slot[i]] + add[o])
    turned = (plain != data.values.codes[data.target[i]]).any(axis=1)
    mass = summed(np.minimum(edge[o], HOME)[turned], weight[observed][turned], 4)
    stays = (data.start.own[data.slot[i]] == data.target[i]) & turned
    stopped = weight[observed][stays & (edge[o] == CLIP)].sum()
    mass[[STAY, CLIP]] += stopped, -stopped
    return [EDGES[e] for e in EDGES if mass[e] > 0.01 * weight.sum()]


def _walls(block: Block, here: Mask) -> Mask:
    """Pairs that stayed where the likeliest change leads to what is within reach, but not there."""
    data = block.data
    found, change = np.zeros(len(data.pairs), bool), data.outcome < data.changes
    weight = block.posterior.share * block.stack.weights.of[data.of] * here[data.slot[data.of]]
    mass = summed(data.outcome[change], weight[change], max(data.changes, 1))
    add, fixed, _ = data.outcomes
    if not mass.any() or not add[best := int(np.argmax(mass))].any():
        return found
    plain = np.where(fixed[best], add[best], data.start.base + add[best])
    inside = ((plain >= 0) & (plain < data.values.sizes)).all(axis=1)
    i = data.of[(data.outcome == best) & (weight > 0)]
    found[data.slot[i[data.start.own[data.slot[i]] == data.target[i]]]] = True
    return found & inside
