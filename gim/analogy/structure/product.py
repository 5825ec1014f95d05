"""Next states as products: each block of variables changes on its own, given state and action.

Of all combinations those are kept whose chance is not too small; they are made distributions again.
What is said of a pair costs as much as it has successors.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from scipy import sparse

from gim._compile.jit import seldom
from gim.analogy.structure.block import Block, Form
from gim.analogy.structure.explanations import Folds
from gim.analogy.structure.moves import FREE, PRIME, longer
from gim.analogy.structure.triples import Floats, Ints, Triples

SUPPORTS = 4  # kinds of support that are told apart
CUT = 3e-4  # limit: chance of a successor that is kept, relative to the likeliest one
SHARPER = 1.25  # limit: times that for what is kept of a longer row
LONGEST = 128  # limit: successors that are kept, the likeliest


class Product:
    """Blocks of variables, each fitted on its own, as one prediction of the next state.

    Args:
        triples: what was counted.
        blocks: fitted blocks; every variable is in one of them.
    """

    read = False  # whether it speaks of coordinates that nobody gave

    def __init__(self, triples: Triples, blocks: list[Block]) -> None:
        self.triples, self.blocks = triples, blocks
        self.folds = Folds(blocks[0].data, self._without)
        values = [block.data.values for block in blocks]
        self.of_state: Ints = np.column_stack([value.of_state for value in values])  # [S, B]
        rng = np.random.default_rng(0)  # hashes only: every choice gives the same result
        self.mix: list[Ints] = [rng.integers(1 << 40, size=len(v.codes)) for v in values]
        keys = sum(mix[of] for mix, of in zip(self.mix, self.of_state.T, strict=True))
        self.table: Ints = np.full(1 << max(1, int(2 * triples.S - 1).bit_length()), FREE, np.int64)
        by_key(np.asarray(keys), self.table)

    @property
    def form(self) -> tuple[Form, ...]:
        """The structure, which may be fitted to other counts."""
        return tuple(block.form for block in self.blocks)

    def drawn(self, rng: np.random.Generator) -> Product:
        """The same structure with the chances of every context drawn."""
        found = copy(self)
        found.blocks = [block.drawn(rng) for block in self.blocks]
        return found

    def _without(self, fold: int) -> Product:
        """The same structure, fitted without a fold."""
        return Product(self.triples, [Block(b.data, b.form, fold) for b in self.blocks])

    def rows(self, pairs: Ints, apart: bool = False) -> Any:
        """Predicted next states of pairs s*A + a: CSR [pairs, S]; an empty row says nothing.

        Args:
            pairs: s*A + a of those asked for.
            apart: by fits that have not seen them.
        """
        pairs = np.asarray(pairs, np.int64)
        if apart:
            return self.folds.rows(self, pairs)
        parts = [block.distribution(pairs) for block in self.blocks]
        ends = np.cumsum([0] + [len(values) for _, values, _ in parts])
        start, state, chance = combined(
            np.array([part[0] + end for part, end in zip(parts, ends, strict=False)]),
            np.concatenate([part[1] for part in parts]),
            np.concatenate([part[2] for part in parts]),
            np.concatenate([mix[part[1]] for mix, part in zip(self.mix, parts, strict=True)]),
            self.of_state,
            self.table,
        )
        return sparse.csr_array((chance, state, start), shape=(len(pairs), self.triples.S))

    def levels(self, pairs: Ints, apart: bool = False) -> Ints:
        """How far each pair had to back off: 0 where the finest contexts have counts."""
        pairs = np.asarray(pairs, np.int64)
        if apart:
            return self.folds.gathered(self, "levels", pairs).astype(np.int64)
        found = np.zeros(len(pairs), np.int64)
        for block in self.blocks:
            found = np.maximum(found, len(block.levels) - 1 - block.find(pairs)[0])
        return found

    def support(self, pairs: Ints, apart: bool = False) -> Ints:
        """Pairs behind each prediction, in the weakest of its contexts: 0, 1, 2 or 3 doublings."""
        pairs = np.asarray(pairs, np.int64)
        if apart:
            return self.folds.gathered(self, "support", pairs).astype(np.int64)
        found = np.full(len(pairs), 1 << SUPPORTS)
        for block in self.blocks:
            context = block.find(pairs)[1]
            found = np.minimum(found, np.where(context >= 0, block.behind[context], 0))
        return np.asarray(np.log2(np.clip(found, 1, 1 << (SUPPORTS - 1))), np.int64)

    def visits_behind(self, pairs: Ints, apart: bool = False) -> Floats:
        """Visits behind each prediction: those of the block with the fewest."""
        pairs = np.asarray(pairs, np.int64)
        if apart:
            return self.folds.gathered(self, "visits_behind", pairs)
        found = [block.visits_behind(pairs) for block in self.blocks]
        return np.asarray(np.min(found, axis=0), np.float64)


@seldom(lambda keys, table: 2 * (keys.size + table.size))
def by_key(keys: Any, table: Any) -> None:
    """Fill the table of states by their keys, by linear probing."""
    for s in range(keys.size):
        place = (keys[s] % PRIME) & (table.size - 1)
        while table[place] != FREE:
            place = (place + 1) & (table.size - 1)
        table[place] = s


@seldom(lambda starts, value, chance, *_: 8 * len(starts) * value.size)
def combined(starts: Any, value: Any, chance: Any, key: Any, of_state: Any, table: Any) -> Any:
    """Products of the blocks' distributions, as states: starts [P + 1], states, chances."""
    B, P = starts.shape[0], starts.shape[1] - 1
    begin, place, room = np.zeros(P + 1, np.int64), 0, 2 * P + 2
    states, chances = np.empty(room, np.int64), np.empty(room)
    at, best = np.empty(B + 1, np.int64), np.ones(B + 1)
    partial, keys, chosen = np.ones(B + 1), np.zeros(B + 1, np.int64), np.empty(B, np.int64)
    for p in range(P):
        for b in range(B - 1, -1, -1):  # the best that blocks from b on can add
            most = 0.0
            for i in range(starts[b, p], starts[b, p + 1]):
                most = max(most, chance[i])
            best[b] = best[b + 1] * most
        least, total, row = CUT * best[0], 0.0, place
        b = 0
        at[0] = starts[0, p]
        while b >= 0 and best[0] > 0.0:
            if b < B:
                if at[b] == starts[b, p + 1]:
                    b -= 1
                    continue
                i = at[b]
                at[b] += 1
                if partial[b] * chance[i] * best[b + 1] >= least:
                    partial[b + 1] = partial[b] * chance[i]
                    keys[b + 1], chosen[b] = keys[b] + key[i], value[i]
                    b += 1
                    if b < B:
                        at[b] = starts[b, p]
                continue
            spot = (keys[B] % PRIME) & (table.size - 1)
            while table[spot] != FREE:
                s, same = table[spot], True
                for c in range(B):
                    if of_state[s, c] != chosen[c]:
                        same = False
                        break
                if same:
                    if place == states.size:
                        states, chances = longer(states, chances, 2 * place)
                    states[place], chances[place] = s, partial[B]
                    total += partial[B]
                    place += 1
                    break
                spot = (spot + 1) & (table.size - 1)
            b -= 1
        while place - row > LONGEST:  # the likeliest, about
            least, kept = SHARPER * least, 0
            for i in range(row, place):
                kept += chances[i] >= least
            if kept == 0:
                break
            end, total = row, 0.0
            for i in range(row, place):
                if chances[i] >= least:
                    states[end], chances[end] = states[i], chances[i]
                    total += chances[i]
                    end += 1
            place = end
        for i in range(row, place):
            chances[i] /= total
        begin[p + 1] = place
    states, chances = longer(states, chances, place)
    return begin, states, chances
