"""What was learned, in words: one rule for each action.

north: row - 1 (.80), col - 1 (.10), col + 1 (.10); blocked moves stay; holds for 61 of 64 pairs
held out (118 visits); 3 exceptions: (2,5), (5,2), (5,8)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gim.analogy.structure.block import Block
from gim.analogy.structure.exceptions import exceptions
from gim.analogy.structure.moves import CLIP, HOME, STAY, WRAP, leading, start_of
from gim.analogy.structure.rule import (
    LEAST,
    NAMED,
    SHOWN,
    Change,
    Outcomes,
    Rule,
    RuleNames,
    by_words,
    phrase,
)
from gim.analogy.structure.state_types import Typed
from gim.analogy.structure.triples import Floats, Ints, Mask, Triples, summed

RARE = 0.001  # shown: chance of an outcome that is not looked at
ALIKE = 0.1  # shown: difference of chances that is no other rule
TWICE = 1.5  # shown: visits, shared among explanations: seen more than once
SURE = 4.0  # shown: standard errors at which many chances differ
Key = tuple[tuple[str, float | str], ...]  # a change that can be looked up
PLACES = 4  # shown: kinds of places up to which each has a rule of its own
MOSTLY = 0.5  # shown: of its pairs, each held out, a rule must explain to be one
EDGES = {
    STAY: "blocked moves stay",
    CLIP: "moves end at the edge",
    WRAP: "moves go round the edge",
    HOME: "moves beyond one edge all lead to one place",
}


def rules(fitted: Any, names: RuleNames) -> list[Rule]:
    """A rule for each action that was taken, or one for all if they do the same.

    Where chances depend on few values of variables, or on types of states, each has its rule. What
    is known of a place from its own visits alone is no rule, and is left out.

    Args:
        fitted: a structure found by `by_variables`, `by_numbers` or `by_types`.
        names: of variables, actions, states.
    """
    triples, blocks = fitted.triples, fitted.blocks
    if fitted.read:
        names = replace(names, variables=("row", "column"), values=(), units=())
    pairs = triples.met
    rows = fitted.rows(pairs, apart=True)
    odd, spoken = exceptions(rows, pairs, triples), np.diff(rows.indptr) > 0
    by_action = triples.A == 1 or any(_by_action(block) for block in blocks)
    kind, called = _places(fitted, blocks, names)
    if by_action and not called and triples.A > 1:  # it may be that none differs after all
        each = [pairs % triples.A == a for a in np.unique(pairs % triples.A)]
        many = [float(triples.n.ravel()[pairs[here]].sum()) for here in each]
        by_action = not _alike([_told(blocks, here, names)[0] for here in each], many)
    of = pairs % triples.A if by_action else 0 * pairs
    found: list[Rule] = []
    happened: list[set[Key]] = []
    for a in np.unique(of).tolist():
        parts = [(of == a) & (kind == each) for each in np.unique(kind[of == a]).tolist()]
        if _alike([_told(blocks, here, names)[0] for here in parts]):
            parts = [of == a]
        for here in parts:
            plain = here & ~odd
            plain = plain if plain.any() else here
            outcomes, groups, edges, counts, seen = _told(blocks, plain, names)
            rival, telling = _rival(blocks, plain, names) if len(blocks) == 1 else ("", "")
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
                    counts,
                    rival=rival,
                    telling=telling,
                )
            )
            happened.append(seen)
    said = [
        replace(rule, unseen=_unseen(rule, seen, found))
        for rule, seen in zip(found, happened, strict=True)
    ]
    return [rule for rule in said if rule.explained >= MOSTLY]


def _unseen(rule: Rule, seen: set[Key], others: list[Rule]) -> tuple[Change, ...]:
    """Changes that other rules make, by how often, and this one was never seen to."""
    often: dict[Key, float] = {}
    for other in others:
        for (change, _), visits in zip(other.outcomes, other.counts, strict=True):
            often[tuple(change.items())] = often.get(tuple(change.items()), 0.0) + visits
    missing = sorted((key for key in often if key and key not in seen), key=lambda key: -often[key])
    return tuple(dict(key) for key in missing) if len(rule.groups) == 1 else ()


def _rival(blocks: list[Block], here: Mask, names: RuleNames) -> tuple[str, str]:
    """Another change that explains as well what the likeliest one does here, and where they differ.

    Both lead to the same value wherever the likeliest one was seen to explain something.
    """
    (block,) = blocks
    data, a = block.data, int(block.data.pairs[here][0]) % block.data.triples.A
    weight = data.seen.weight[data.of] * here[data.slot[data.of]]
    mass, _ = _explaining(block, here)
    best = int(np.argmax(mass))
    own = _change(block, best, names, a)
    mine = np.unique(data.of[(data.outcome == best) & (weight > 0)])
    covered = np.bincount(data.outcome[np.isin(data.of, mine)], minlength=data.many)
    as_well = np.flatnonzero(covered == len(mine))
    for o in as_well[np.argsort(-mass[as_well], kind="stable")].tolist():
        other = _change(block, o, names, a)
        if not own or not other or phrase(other) == phrase(own):
            continue
        pairs = np.flatnonzero(data.triples.available.ravel())
        pairs = pairs[pairs % data.triples.A == a]
        base, at = start_of(data.triples, data.move.variables, data.move.shifts, data.values, pairs)
        one, two = (leading(base, at, data.outcomes, each, data.values) for each in (best, o))
        apart = pairs[one != two] // data.triples.A
        if apart.size:
            some = [names.state(data.triples.codes[s], s) for s in apart[:NAMED].tolist()]
            return phrase(other), " or ".join(some)
    return "", ""


def _alike(told: list[Outcomes], visits: Sequence[float] = ()) -> bool:
    """Whether all of these say about the same, as far as so many visits can tell."""
    chances = [{tuple(change.items()): chance for change, chance in each} for each in told]
    for change in {change for each in chances for change in each}:
        p = np.array([each.get(change, 0.0) for each in chances])
        n = np.array(visits) if len(visits) else np.full(len(p), np.inf)
        middle = np.average(p, weights=n) if len(visits) else 0.5 * (p.min() + p.max())
        error = np.sqrt((middle * (1 - middle) + 1.0 / n) / n)  # one more visit, for what is rare
        if (np.abs(p - middle) > 0.5 * ALIKE + SURE * error).any():
            return False
    return True


def _by_action(block: Block) -> bool:
    """Whether chances depend on the action, or what it adds was found."""
    looked = (block.data.triples.variable_of(f) for f in block.form.chain[-1])
    return block.form.move.found or any(v < 0 for v in looked)


def _places(fitted: Any, blocks: list[Block], names: RuleNames) -> tuple[Ints, dict[int, str]]:
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


def _condition(triples: Triples, feature: int, s: int, names: RuleNames) -> str:
    """What a feature says of a state."""
    v = triples.variable_of(feature)
    code = int(triples.codes[s, v])
    if feature < triples.k:
        return f"{names.variable(v)} = {names.value(v, code)}"
    last = int(triples.codes[:, v].max())
    return f"{names.variable(v)} is " + {0: "least", last: "largest"}.get(code, "between")


def _depends(blocks: list[Block], names: RuleNames) -> tuple[str, ...]:
    """Variables of the state that chances depend on."""
    triples = blocks[0].data.triples
    used = (triples.variable_of(f) for block in blocks for f in block.form.chain[-1])
    return tuple(dict.fromkeys(names.variable(v) for v in used if v >= 0))


def _told(
    blocks: list[Block], here: Mask, names: RuleNames
) -> tuple[Outcomes, tuple[int, ...], tuple[str, ...], tuple[float, ...], set[Key]]:
    """Outcomes of pairs with their chances, how many each block has, and what edges do.

    Also the visits behind each, and all that was seen however seldom.
    """
    told: list[list[tuple[Change, float]]] = []
    edges: list[str] = []
    counts: list[float] = []
    seen: set[Key] = set()
    for block in blocks:
        data = block.data
        weight = data.seen.weight[data.of] * block.posterior.share * here[data.slot[data.of]]
        outcome = _seen_to_move(block, weight)
        mass, a = summed(outcome, weight, data.many + 1), int(data.pairs[here][0]) % data.triples.A
        chances: dict[Key, float] = {}
        for o in np.flatnonzero(mass > RARE * mass.sum()).tolist():
            change = () if o == data.many else tuple(_change(block, o, names, a).items())
            chances[change] = chances.get(change, 0.0) + float(mass[o] / mass.sum())
        likely = sorted(chances.items(), key=lambda item: -item[1])
        kept: list[tuple[Change, float]] = [(dict(change), chance) for change, chance in likely]
        told.append([each for each in kept if each[1] >= LEAST] or kept[:1])
        behind = [float(chance * mass.sum()) for _, chance in told[-1]]
        if (always := _always(block, here)) is not None:
            told[-1] = [(_change(block, always, names, a), 1.0)]
            behind, chances = [float(mass.sum())], {tuple(told[-1][0][0].items()): 1.0}
        counts += behind
        seen |= chances.keys()
        if any(
            isinstance(by, (int, float)) or by[0] != "=" for c, _ in told[-1] for by in c.values()
        ):
            edges += [edge for edge in _edges(block, weight) if edge not in edges]
    groups = tuple(map(len, told))
    return tuple(each for part in told for each in part), groups, tuple(edges), tuple(counts), seen


def _explaining(block: Block, here: Mask) -> tuple[Floats, Ints]:
    """Visits that each outcome has a share in, and of how many values it may be the reason."""
    data = block.data
    weight = data.seen.weight[data.of] * here[data.slot[data.of]]
    mass = summed(data.outcome, weight * block.posterior.share, data.many)
    return mass, np.bincount(data.outcome[weight > 0], minlength=data.many)


def _always(block: Block, here: Mask) -> int | None:
    """The outcome that may have led wherever these pairs led, and mostly did, if there is one."""
    (mass, explained), data = _explaining(block, here), block.data
    best = int(np.argmax(mass))
    everything = int((here[data.slot] & (data.seen.weight > 0)).sum())
    return best if explained[best] == everything and mass[best] >= MOSTLY * mass.sum() else None


def _seen_to_move(block: Block, weight: Floats) -> Ints:
    """The outcome of each explanation, as people would tell it; `many` changes nothing.

    A stay is a blocked move only where such moves were seen to move, and never a value that is set
    once more. A move that a likelier addition explains as well is that, rather than a value set.
    """
    data = block.data
    if data.move.shifts:  # what is left of an order is no stay
        return data.outcome
    moved = data.start.own[data.slot[data.of]] != data.target[data.of]
    seen = summed(data.outcome, weight * moved, data.many)
    adds = data.outcome < data.changes
    adds[adds] = ~data.outcomes.fixed[data.outcome[adds]].any(axis=1)
    told = np.where(moved | (adds & (seen[data.outcome] > 0)), data.outcome, data.many)
    order = np.flatnonzero(adds & moved)
    order = order[np.argsort(seen[data.outcome[order]], kind="stable")]
    addition = np.full(int(data.of.max(initial=-1)) + 1, -1)
    addition[data.of[order]] = data.outcome[order]  # the likeliest of each observation comes last
    other = addition[data.of]
    better = moved & ~adds & (other >= 0)
    better[better] = seen[other[better]] > seen[data.outcome[better]]
    return np.where(better, other, told)


def _change(block: Block, o: int, names: RuleNames, a: int) -> Change:
    """An outcome by variable, of action a where it is found what that adds."""
    data = block.data
    variables, (add, fixed, _) = data.move.variables, data.outcomes
    added = {v: (j, sign) for v, j, sign in data.move.shifts if not isinstance(j, tuple)}
    found = {v: amounts[a] for v, amounts, _ in data.move.shifts if isinstance(amounts, tuple)}
    if (
        o < data.changes
        and len(variables) == 1
        and data.values.sizes[0] == 2
        and not data.move.shifts
    ):
        step = int(add[o, 0])  # of two values the other one, or the one that is set
        code = step if fixed[o, 0] else int(step > 0)
        moves = step != 0 or bool(fixed[o, 0])
        return (
            {names.variable(variables[0]): f"= {names.value(variables[0], code)}"} if moves else {}
        )
    if o >= data.changes:
        value = data.values.codes[o - data.changes]
        pairs = zip(variables, value.tolist(), strict=True)
        return {names.variable(v): f"= {names.value(v, c)}" for v, c in pairs}
    change: dict[str, float | str] = {}
    for i, v in enumerate(variables):
        by, name = (int(add[o, i]) + found.get(v, 0)) * names.unit(v), names.variable(v)
        if fixed[o, i]:
            change[name] = f"= {names.value(v, int(add[o, i]))}"
        elif v in added:
            j, sign = added[v]
            more = f" {by_words(by)}" if by else ""
            change[name] = f"{'+' if sign > 0 else '-'} {names.amount(j)}{more}"
        elif by:
            change[name] = by
    return change


def _edges(block: Block, weight: Floats) -> list[str]:
    """What happens where a move would leave the world, if that was seen."""
    data = block.data
    observed = np.flatnonzero((weight > 0) & (data.outcome < data.changes))
    o, i = data.outcome[observed], data.of[observed]
    base, reached = data.start.base[data.slot[i]], data.values.codes[data.target[i]]
    add, fixed, edge = data.outcomes
    plain = np.where(fixed[o], add[o], base + add[o])
    turned = (plain != reached).any(axis=1)
    mass = summed(np.minimum(edge[o], HOME)[turned], weight[observed][turned], len(EDGES))
    stays = (data.start.own[data.slot[i]] == data.target[i]) & turned
    mass[STAY] += weight[observed][stays & (edge[o] == CLIP)].sum()
    mass[CLIP] -= weight[observed][stays & (edge[o] == CLIP)].sum()
    return [EDGES[e] for e in EDGES if mass[e] >= TWICE]


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
