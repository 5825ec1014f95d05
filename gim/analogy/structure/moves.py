"""Where an outcome leads: s' = T(b, o).

An outcome o changes a block of variables: it adds to the ordinal ones and sets or keeps the nominal
ones; or it goes to fixed values whatever held before. b is where the move begins: the state itself,
or its after-state, in which ordinal actions have been added already. At an edge a move may be
blocked and *stay*, be *clipped* coordinate by coordinate, or *wrap* round; these are outcomes of
their own, alike but at edges. Beyond one edge a move may also lead *home*, to one value from
wherever it comes, as over a waterfall. A target that does not exist is blocked in every case.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gim._compile.jit import entry, hot, seldom
from gim.analogy.structure.triples import Floats, Ints, Mask, Triples, ranked

STAY, CLIP, WRAP = 0, 1, 2
HOME = WRAP + 1  # and more: clipped, but one edge leads home; see `Home`
SIDES = 128  # limit: that a home may lie behind: lower and upper edges of 64 variables
FREE, GONE = -1, -2
PRIME = 2_147_483_647  # below 2^31: products of codes stay below 2^62, plain Python agrees
MOST = 128  # limit: changes that are told apart; the rest is explained by where it leads
INSIDE = (1.0, 0.25, 0.5, 0.25)  # how much a move away from edges looks like one of each kind


class Values(NamedTuple):
    """What a block of variables can be: its values, numbered, and the way back from codes."""

    codes: Ints  # [V, b] of each value
    of_state: Ints  # [S] the value that each state has
    sizes: Ints  # [b]
    table: Ints  # [a power of 2] values by hash of their codes, FREE where there is none


class Outcomes(NamedTuple):
    """The changes that a block may make; outcome number O + v goes to value v."""

    add: Ints  # [O, b] what is added, or what it is set to where `fixed`
    fixed: Mask  # [O, b]
    edge: Ints  # [O] STAY, CLIP, WRAP, or the `code` of a `Home`


class Home(NamedTuple):
    """An edge that leads to one value, whatever was beyond it."""

    place: int  # of the variable within its block
    upper: bool  # which of its edges
    value: int  # where it leads

    @property
    def code(self) -> int:
        """As an edge of `Outcomes`."""
        return HOME + SIDES * self.value + 2 * self.place + self.upper


@hot
def coordinate(
    base: Any, p: int, add: Any, fixed: Any, o: int, i: int, size: int, edge: int
) -> int:
    """Coordinate i after outcome o from base p; FREE if it is blocked, GONE if it leads home."""
    if fixed[o, i]:
        return add[o, i]
    c = base[p, i] + add[o, i]
    if 0 <= c < size:
        return c
    if edge >= HOME and (edge - HOME) % SIDES == 2 * i + (c > 0):
        return GONE
    if edge == CLIP or edge >= HOME:
        return 0 if c < 0 else size - 1
    if edge == WRAP:
        return c % size
    return FREE


@hot
def land(
    base: Any,
    p: int,
    add: Any,
    fixed: Any,
    o: int,
    edge: Any,
    codes: Any,
    sizes: Any,
    table: Any,
    own: int,
) -> int:
    """The value where outcome o leads from base p; `own` if it is blocked."""
    if o >= add.shape[0]:
        return o - add.shape[0]
    key = 0
    for i in range(sizes.size):
        c = coordinate(base, p, add, fixed, o, i, sizes[i], edge[o])
        if c == FREE:
            return own
        if c == GONE:
            return (edge[o] - HOME) // SIDES
        key = (key * sizes[i] + c) % PRIME
    place = key & (table.size - 1)
    while table[place] != FREE:
        v, same = table[place], True
        for i in range(sizes.size):
            if codes[v, i] != coordinate(base, p, add, fixed, o, i, sizes[i], edge[o]):
                same = False
                break
        if same:
            return v
        place = (place + 1) & (table.size - 1)
    return own


@seldom(lambda codes, sizes, table: 2 * (codes.size + table.size))
def hashed(codes: Any, sizes: Any, table: Any) -> None:
    """Fill the table of values by their codes, by linear probing."""
    for v in range(codes.shape[0]):
        key = 0
        for i in range(sizes.size):
            key = (key * sizes[i] + codes[v, i]) % PRIME
        place = key & (table.size - 1)
        while table[place] != FREE:
            place = (place + 1) & (table.size - 1)
        table[place] = v


def values_of(triples: Triples, variables: tuple[int, ...]) -> Values:
    """The values of a block of variables that some state has."""
    of_state = triples.states_by(variables)
    first = np.unique(of_state, return_index=True)[1]
    codes = np.ascontiguousarray(triples.codes[first][:, list(variables)])
    sizes = triples.codes[:, list(variables)].max(axis=0, initial=0) + 1
    table = np.full(1 << max(1, int(2 * len(codes) - 1).bit_length()), FREE, np.int64)
    hashed(codes, sizes, table)
    return Values(codes, of_state, sizes, table)


class Start(NamedTuple):
    """Where moves begin: the state, or its after-state."""

    base: Ints  # [pairs, b] codes
    own: Ints  # [pairs] the value at which a blocked move stays


# The variable of the state; the variable of the action and +1 or -1, or what each action adds.
Shift = tuple[int, int | tuple[int, ...], int]


def start_of(
    triples: Triples,
    variables: tuple[int, ...],
    shifts: tuple[Shift, ...],
    values: Values,
    pairs: Ints,
) -> Start:
    """Where the moves of these pairs begin, after ordinal actions were added to their variables."""
    s, a = pairs // triples.A, pairs % triples.A
    base = np.ascontiguousarray(triples.codes[s][:, list(variables)])
    own = values.of_state[s]
    mine = [shift for shift in shifts if shift[0] in variables]
    if not mine:
        return Start(base, own)
    for variable, j, sign in mine:
        i = variables.index(variable)
        if isinstance(j, tuple):  # found, not known: it may go beyond an edge and come back
            base[:, i] += np.array(j)[a]
            continue
        moved = base[:, i] + sign * triples.action_codes[a, j]
        base[:, i] = np.clip(moved, 0, values.sizes[i] - 1)
    return Start(base, standing(base, own, values))  # where a blocked move stays, if that exists


def standing(base: Ints, own: Ints, values: Values) -> Ints:
    """The value with the codes of each base [n, b], or `own` [n] where there is none."""
    b = base.shape[1]
    no_change = Outcomes(np.zeros((1, b), np.int64), np.zeros((1, b), bool), np.full(1, STAY))
    return leading(base, own, no_change, 0, values)


def leading(base: Ints, own: Ints, outcomes: Outcomes, o: int, values: Values) -> Ints:
    """The value [n] where one outcome leads from each base; `own` may be one beyond the last."""
    one = np.array([0, 1]), np.array([o]), np.ones(1)
    beyond = np.vstack([values.codes, np.full((1, base.shape[1]), FREE)])
    lead = *one, *outcomes, beyond, values.sizes, values.table
    return landed(base, own, np.zeros(len(base), np.int64), *lead)[1]


@entry
def resized(numbers: Any, room: int) -> Any:
    """The same whole numbers with so much room."""
    found = np.empty(room, np.int64)
    for i in range(min(room, numbers.size)):
        found[i] = numbers[i]
    return found


@entry
def longer(outcomes: Any, chances: Any, room: int) -> Any:
    """The same with so much room."""
    more, further = np.empty(room, np.int64), np.empty(room)
    for i in range(min(room, outcomes.size)):
        more[i], further[i] = outcomes[i], chances[i]
    return more, further


@seldom(lambda base, own, which, start, outcome, *_: 0.6 * which.size * outcome.size)
def landed(
    base: Any,
    own: Any,
    which: Any,
    start: Any,
    outcome: Any,
    chance: Any,
    add: Any,
    fixed: Any,
    edge: Any,
    codes: Any,
    sizes: Any,
    table: Any,
) -> Any:
    """Values that each pair may reach, and their chances: starts [pairs + 1], values, chances."""
    P = which.size
    starts, room = np.zeros(P + 1, np.int64), 0
    for p in range(P):
        if which[p] >= 0:
            room += start[which[p] + 1] - start[which[p]]
    values, chances, place = np.empty(room, np.int64), np.empty(room), 0
    sum_at = np.full(codes.shape[0], -1)
    for p in range(P):
        begin = place
        if which[p] >= 0:
            for i in range(start[which[p]], start[which[p] + 1]):
                v = land(base, p, add, fixed, outcome[i], edge, codes, sizes, table, own[p])
                if sum_at[v] < begin:
                    sum_at[v] = place
                    values[place], chances[place] = v, 0.0
                    place += 1
                chances[sum_at[v]] += chance[i]
        starts[p + 1] = place
    values, chances = longer(values, chances, place)
    return starts, values, chances


def outcomes_of(
    base: Ints, target: Ints, ordinal: Mask, sizes: Ints, edge: int = CLIP, near: bool = False
) -> Outcomes:
    """The changes [O] that lead from each base to each target [I], the most frequent first.

    Args:
        base, target: [I, b] codes.
        ordinal: [b].
        sizes: [b].
        edge: what becomes of changes that are not blocked: CLIP, or the code of a `Home`.
        near: whether that is said of changes by no more than 1, too, which else are blocked.
    """
    add = target - base
    fixed = (add != 0) & ~ordinal
    seen = _distinct(np.where(fixed, target, add), fixed, STAY)
    far = ((np.abs(seen.add) > 1) & ~seen.fixed).any(axis=1)
    far |= ((seen.add != 0) & ~seen.fixed).sum(axis=1) > 1
    far |= near
    clipped = Outcomes(seen.add[far], seen.fixed[far], np.full(far.sum(), edge))
    round_ = ordinal & (2 * np.abs(add) > sizes)  # it may have gone round the edge
    short, over = np.where(round_, add - np.sign(add) * sizes, add), round_.any(axis=1)
    wrapped = _distinct(np.where(fixed, target, short)[over], fixed[over], WRAP)
    parts = [np.concatenate(part) for part in zip(seen, clipped, wrapped, strict=True)]
    return Outcomes(*(np.ascontiguousarray(part) for part in parts))


def _distinct(add: Ints, fixed: Mask, edge: int) -> Outcomes:
    """The different changes among these, the most frequent first, MOST at most."""
    rank = ranked(np.column_stack([add, fixed]))
    first = np.unique(rank, return_index=True)[1]
    often = np.bincount(rank, minlength=len(first))
    kept = first[np.argsort(-often, kind="stable")[:MOST]]
    return Outcomes(add[kept], fixed[kept], np.full(len(kept), edge))


def looks(outcomes: Outcomes, o: Ints, base: Ints, target: Ints) -> Floats:
    """How much going from each base to each target looks like change o, which leads there.

    Away from edges it looks like one that stays, rather than like one that is clipped or wraps. At
    an edge, only what goes round it shows itself: what stops there may have come by other ways.
    """
    plain = np.where(outcomes.fixed[o], outcomes.add[o], base + outcomes.add[o])
    inside, edge = (plain == target).all(axis=1), outcomes.edge[o]
    kind = np.minimum(edge, HOME)
    return np.where(inside, np.array(INSIDE)[kind], np.where(edge == WRAP, 1.0, 0.0))
