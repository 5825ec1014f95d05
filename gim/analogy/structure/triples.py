"""What was counted, and what states and actions are made of: all that a structured candidate sees.

A *feature* is anything that a context may look at: the variables of the state and the action first;
then, of each ordinal variable, whether it is at its lower or upper edge; then the variables of the
action where it has several, and each action against all others; last what the pair pays, where that
is known beforehand: pairs that pay the same are often alike.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Colour = NDArray[np.uint64]

FOLDS = 4  # parts in which pairs are held out
OFTEN = 5.0  # visits that a pair met often counts for, where forms are judged
MOST = 20.0  # and where they are fitted
SINGLED = 32  # limit: actions up to which each is a feature of its own
MOST_PAYS = 16  # limit: different rewards up to which what a pair pays is a feature
ROUNDS = 4  # limit: of refining colours: how far a pair may see
MIXER = (30, 27, 31, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # paper: SplitMix64, Steele 2014
MIXED = np.uint64(0x9E3779B97F4A7C15)
SMALL = 4  # limit: times as many as there are keys, up to which they are not sorted


class Triples:
    """Counts of (s, a, s') with the variables behind the numbers.

    Args:
        indptr, indices, counts: CSR of S*A rows (s*A + a) over next states; pairs that are held out
            have an empty row.
        available: [S, A] pairs that can be played.
        codes: [S, k] the variables of each state as whole numbers from 0, or None if nothing is
            known of them: then they are just numbered. States that share all of their variables get
            one more that tells them apart.
        ordinal: [k] variables whose order means something; all of them unless given.
        action_codes: [A, j] the same for actions, or None if nothing is known of them: then the
            number of the action is tried as an amount where there are more than two.
        action_ordinal: [j].
        R, R2: sums of rewards and of their squares by triple, aligned with `counts`, or None.
        terminal: [S] states that were seen to end an episode.
        pays: [S, A] what each pair pays, where that is known beforehand.

    Example:
        >>> Triples([0, 1, 1, 2, 2], [1, 0], [3, 1], np.ones((2, 2), bool), [[0], [1]]).n
        array([[3., 0.],
               [1., 0.]])
    """

    def __init__(
        self,
        indptr: ArrayLike,
        indices: ArrayLike,
        counts: ArrayLike,
        available: ArrayLike,
        codes: ArrayLike | None,
        ordinal: ArrayLike | None = None,
        action_codes: ArrayLike | None = None,
        action_ordinal: ArrayLike | None = None,
        R: ArrayLike | None = None,
        R2: ArrayLike | None = None,
        terminal: ArrayLike | None = None,
        pays: ArrayLike | None = None,
    ) -> None:
        self.available: Mask = np.asarray(available, bool)
        self.S, self.A = self.available.shape
        self.indptr, self.indices = _ints(indptr), _ints(indices)
        self.counts: Floats = np.asarray(counts, np.float64)
        self.R = None if R is None else np.asarray(R, np.float64)
        self.R2 = None if R2 is None else np.asarray(R2, np.float64)
        self.terminal: Mask = (
            np.zeros(self.S, bool) if terminal is None else np.asarray(terminal, bool)
        )
        self.pays = None if pays is None else np.asarray(pays, np.float64)
        codes = None if codes is None or np.size(codes) == 0 else codes
        action_codes = None if action_codes is None or np.size(action_codes) == 0 else action_codes
        self.named = codes is not None  # whether anything is known of what states are made of
        numbered = np.arange(self.S)[:, None] if codes is None else codes
        self.codes, self.ordinal = apart(*_variables(numbered, ordinal, self.S))
        numbers = np.arange(self.A)[:, None]
        amounts = [self.A > 2] if action_codes is None else action_ordinal
        self.action_codes, self.action_ordinal = _variables(
            numbers if action_codes is None else action_codes, amounts, self.A
        )
        if len(self.indptr) != self.S * self.A + 1:
            raise ValueError(
                f"indptr has {len(self.indptr)} entries: S*A rows need {self.S * self.A + 1}"
            )
        self.pair: Ints = np.repeat(np.arange(self.S * self.A), np.diff(self.indptr))  # [nnz]
        n = np.bincount(self.pair, self.counts, self.S * self.A)
        self.n: Floats = n.reshape(self.S, self.A).astype(np.float64)
        self.met: Ints = np.flatnonzero(n > 0)  # pairs s*A + a that were met
        self._groups: dict[tuple[str, tuple[int, ...]], Ints] = {}

    @property
    def k(self) -> int:
        """Variables of a state."""
        return int(self.codes.shape[1])

    @property
    def features(self) -> int:
        """How many features there are; the first k + 1 are the variables and the action."""
        return len(self._place)

    @cached_property
    def _state_features(self) -> Ints:
        """[S, k and one for the edges of each ordinal variable that has a middle]"""
        return np.column_stack([self.codes, self.edges[:, self.edged]])

    @cached_property
    def edges(self) -> Ints:
        """Whether each variable is at its lower edge, 1, or its upper one, 2; [S, k]."""
        last = self.codes.max(axis=0, initial=0)
        return np.where(self.codes == 0, 1, np.where(self.codes == last, 2, 0))

    @cached_property
    def edged(self) -> Mask:
        """Variables that have edges and a middle, [k]."""
        return np.asarray(self.ordinal & (self.codes.max(axis=0, initial=0) > 2))

    @cached_property
    def _action_features(self) -> Ints:
        """[A, the action, its own variables if it has several, each action against the others]"""
        columns = [np.arange(self.A)[:, None]]
        if self.action_codes.shape[1] > 1:
            columns.append(self.action_codes)
        if 2 < self.A <= SINGLED:
            columns.append(np.eye(self.A, dtype=np.int64))
        return np.column_stack(columns)

    @cached_property
    def colours(self) -> Colours:
        """What tells states, actions and pairs apart whatever they are called."""
        return colours_of(self.pair, self.indices, self.counts, self.S, self.A)

    def variable_of(self, feature: int) -> int:
        """The variable of the state that a feature looks at; -1 if it looks at the action, too."""
        kind, column = self._place[feature]
        if kind != "state" or column < self.k:
            return column if kind == "state" else -1
        return int(np.flatnonzero(self.edged)[column - self.k])

    def without(self, held: Mask) -> Triples:
        """The same without the pairs of a mask [S, A]: they leave no trace."""
        keep = ~np.asarray(held, bool).ravel()[self.pair]
        size = np.bincount(self.pair[keep], minlength=self.S * self.A)
        return Triples(
            np.append(0, np.cumsum(size)),
            self.indices[keep],
            self.counts[keep],
            self.available,
            self.codes if self.named else None,
            self.ordinal,
            self.action_codes,
            self.action_ordinal,
            None if self.R is None else self.R[keep],
            None if self.R2 is None else self.R2[keep],
            self.terminal,
            self.pays,
        )

    def thinned(self, most: int, by_state: bool = False) -> Triples:
        """About so many triples at the most: whole pairs, or whole states, drawn once for all."""
        if len(self.counts) <= most:
            return self
        rng = np.random.default_rng(len(self.counts))
        place = placed(self.colours.state if by_state else self.colours.pair)
        drop = rng.random(place.size)[place] >= most / len(self.counts)
        return self.without(np.broadcast_to(drop.reshape(self.S, -1), self.n.shape))

    def with_codes(self, codes: ArrayLike, ordinal: ArrayLike | None = None) -> Triples:
        """The same counts, with variables that nobody gave."""
        return Triples(
            self.indptr,
            self.indices,
            self.counts,
            self.available,
            codes,
            ordinal,
            self.action_codes,
            self.action_ordinal,
            self.R,
            self.R2,
            self.terminal,
            self.pays,
        )

    def states_by(self, variables: tuple[int, ...]) -> Ints:
        """The group [S] of each state: states that share these variables are together."""
        return self._by("state", variables, self.codes)

    def group(self, features: tuple[int, ...]) -> tuple[Ints, Ints]:
        """Groups of states [S] and of actions [A] that no feature of these tells apart."""
        state, action = (
            tuple(self._place[f][1] for f in features if self._place[f][0] == kind)
            for kind in ("state", "action")
        )
        return (
            self._by("state", state, self._state_features),
            self._by("action", action, self._action_features),
        )

    @cached_property
    def _place(self) -> list[tuple[str, int]]:
        """What each feature is one of, states, actions or pairs, and its column there."""
        of_state, of_action = self._state_features.shape[1], self._action_features.shape[1]
        first = [("state", i) for i in range(self.k)] + [("action", 0)]
        more = [("state", i) for i in range(self.k, of_state)]
        more += [("action", i) for i in range(1, of_action)]
        return first + more + [("pair", 0)] * (self._paid is not None)

    @property
    def pay(self) -> tuple[int, ...]:
        """The feature that is what a pair pays, if there is one."""
        return tuple(f for f, (kind, _) in enumerate(self._place) if kind == "pair")

    @cached_property
    def _paid(self) -> Ints | None:
        """The rank of what each pair pays, [S*A], if there are a few ranks."""
        if self.pays is None:
            return None
        values, rank = np.unique(self.pays.ravel(), return_inverse=True)
        return rank.ravel().astype(np.int64) if 1 < len(values) <= MOST_PAYS else None

    def context(self, features: tuple[int, ...], pairs: Ints) -> Ints:
        """The context of each pair by these features."""
        state, action = self.group(features)
        many = int(action.max(initial=0)) + 1
        context = state[pairs // self.A] * many + action[pairs % self.A]
        if self._paid is not None and any(self._place[f][0] == "pair" for f in features):
            context = context * MOST_PAYS + self._paid[pairs]
        return context

    def _by(self, kind: str, columns: tuple[int, ...], codes: Ints) -> Ints:
        key = (kind, columns)
        if key not in self._groups:
            self._groups[key] = ranked(codes[:, list(columns)])
        return self._groups[key]


class Colours(NamedTuple):
    """Numbers that tell things apart by what they did, not by how they are numbered."""

    state: Colour  # [S]
    action: Colour  # [A]
    pair: Colour  # [S*A]


def colours_of(pair: Ints, t: Ints, counts: Floats, S: int, A: int) -> Colours:
    """Colours by refinement (Weisfeiler and Leman, 1968), of triples (s*A + a, s') and counts.

    That of a pair is refined by where it led and how often, that of a state by its pairs and by
    those that led there, that of an action by its pairs. Whoever draws in the order of colours
    draws the same for a world whose states and actions stand in another order; what keeps one
    colour can be exchanged.
    """
    often = np.asarray(counts, np.float64).view(np.uint64)
    state, action = np.zeros(S, np.uint64), np.zeros(A, np.uint64)
    for _ in range(ROUNDS):
        led, came = np.zeros(S * A, np.uint64), np.zeros(S, np.uint64)
        np.add.at(led, pair, _mixed(often + _mixed(state[t])))
        both = _mixed(led.reshape(S, A) + _mixed(state)[:, None] + _mixed(action + MIXED)).ravel()
        np.add.at(came, t, _mixed(often ^ both[pair]))
        state = _mixed(came + both.reshape(S, A).sum(axis=1, dtype=np.uint64))
        action = _mixed(both.reshape(S, A).sum(axis=0, dtype=np.uint64))
    return Colours(state, action, both)


def _mixed(x: Colour) -> Colour:
    """Whole numbers that look drawn (the finaliser of SplitMix64: Steele and others, 2014)."""
    one, two, three, times, again = map(np.uint64, MIXER)
    x = ((x + MIXED) ^ ((x + MIXED) >> one)) * times
    x = (x ^ (x >> two)) * again
    return x ^ (x >> three)


def placed(colour: Colour) -> Ints:
    """The place of each in the order of colours."""
    place = np.empty(colour.size, np.int64)
    place[np.argsort(colour, kind="stable")] = np.arange(colour.size)
    return place


def ranked(rows: Ints) -> Ints:
    """The rank [n] of each row of whole numbers [n, k] among the different ones, in their order.

    One column at a time, so that nothing overflows however many there are.
    """
    rank = np.zeros(len(rows), np.int64)
    for column in rows.T:
        least = int(column.min(initial=0))
        width = int(column.max(initial=0)) - least + 1
        if width == 1:  # it tells nothing apart
            continue
        key = rank * width + (column - least)
        rank = distinct(key)[1]
    return rank


def distinct(key: Ints) -> tuple[Ints, Ints]:
    """The different ones of whole numbers from 0, in their order, and the place [n] of each.

    Sorting is what takes long elsewhere: where the numbers are small they need none.
    """
    most = int(key.max(initial=0)) + 1
    if most > SMALL * len(key):
        values, place = np.unique(key, return_inverse=True)
        return values, place.astype(np.int64).ravel()
    there = np.zeros(most, bool)
    there[key] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[key]


def summed(group: Ints, values: Floats, groups: int) -> Floats:
    """Sums [groups] of the values of each group."""
    return np.bincount(group, values, groups).astype(np.float64)


def apart(codes: Ints, ordinal: Mask) -> tuple[Ints, Mask]:
    """Codes that differ between any two states: a last variable numbers those that share all."""
    group = ranked(codes)
    if group.max(initial=-1) + 1 == len(codes):
        return codes, ordinal
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], group[order])
    number = np.empty(len(codes), np.int64)
    number[order] = np.arange(len(codes)) - first
    return np.column_stack([codes, number]), np.append(ordinal, False)


def _variables(codes: ArrayLike, ordinal: Any, rows: int) -> tuple[Ints, Mask]:
    table = _ints(codes)
    table = table[:, None] if table.ndim == 1 else table
    if len(table) != rows:
        raise ValueError(f"codes have {len(table)} rows: give one for each of the {rows}")
    if table.min(initial=0) < 0:
        raise ValueError("codes are whole numbers from 0: shift them")
    flags = np.ones(table.shape[1], bool) if ordinal is None else np.asarray(ordinal, bool)
    if flags.shape != (table.shape[1],):
        raise ValueError(f"ordinal has shape {flags.shape}: give a flag for each variable")
    return table, flags


def _ints(values: ArrayLike) -> Ints:
    return np.ascontiguousarray(values, dtype=np.int64)
