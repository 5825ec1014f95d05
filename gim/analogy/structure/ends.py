"""Which states end an episode: the chance of it for states that were never entered.

Where an episode ends can seldom be told from elsewhere: a hole in the ice looks like any other
cell. So a rule over variables (or over two of them being equal) must show on held-out states that
it says more than the share of all states that end one; what is said is a chance, not a verdict:

    p_c = (ends_c + kappa p_parent) / (states_c + kappa).
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from gim.analogy.structure.search import MARGIN, Z
from gim.analogy.structure.triples import Floats, Ints, Mask, Triples, ranked, summed

KAPPA = 1.0
DEPTH = 2
LEADING = 4
MOST_PAIRS = 10  # variables up to which each two are compared


class Test(NamedTuple):
    """A variable, or whether two of them are equal."""

    variable: int
    equals: int = -1


Tests = tuple[Test, ...]


class Ends:
    """The chance that entering a state ends the episode.

    Args:
        triples: what was counted, and the states seen to end an episode.
        chain: tests of an earlier search, to be fitted again; None searches.
    """

    def __init__(self, triples: Triples, chain: tuple[Tests, ...] | None = None) -> None:
        self.triples = triples
        self.entered: Mask = np.zeros(triples.S, bool)
        self.entered[triples.indices[triples.counts > 0]] = True
        self.entered[triples.met // triples.A] = True  # an episode began there, perhaps
        self.entered |= triples.terminal
        self.ended: Floats = triples.terminal[self.entered].astype(np.float64)
        self.chain = self._search() if chain is None else chain

    def chance(self, states: Ints) -> Floats:
        """Of each state: 0 or 1 where it was entered, else what states like it do."""
        states = np.asarray(states, np.int64)
        p = self._chances(self.chain, apart=False)[states]
        return np.where(self.entered[states], self.triples.terminal[states] * 1.0, p)

    def held_out(self) -> Floats:
        """Chance of each entered state by the others, in the order of the states."""
        return self._chances(self.chain, apart=True)[self.entered]

    def _search(self) -> tuple[Tests, ...]:
        chain: tuple[Tests, ...] = ((),)
        if not 0 < self.ended.sum() < len(self.ended):
            return chain
        logs = self._logs(chain)
        while len(chain) <= DEPTH:
            tests: list[Tests] = [(t,) for t in _tests(self.triples) if t not in chain[-1]]
            tried = {more: self._logs(_finer(chain, more)) for more in tests}
            leading = sorted(tried, key=lambda more: -tried[more].sum())[:LEADING]
            for one, other in combinations(leading, 2):
                tried[one + other] = self._logs(_finer(chain, one + other))
            if not tried:
                break
            best = max(tried, key=lambda more: tried[more].sum())
            gain = tried[best] - logs
            if gain.sum() <= MARGIN + Z * np.sqrt(gain @ gain):
                break
            chain, logs = _finer(chain, best), tried[best]
        return chain

    def _logs(self, chain: tuple[Tests, ...]) -> Floats:
        """Log-likelihood of each entered state by the others."""
        p = self._chances(chain, apart=True)[self.entered]
        return np.log(np.where(self.ended > 0, p, 1.0 - p))

    def _chances(self, chain: tuple[Tests, ...], apart: bool) -> Floats:
        """Of every state; of entered ones by the others only, if `apart`."""
        own = (self.entered & apart) * 1.0
        own_end = own * self.triples.terminal
        p = np.full(self.triples.S, 0.5 / max(len(self.ended), 1))
        for tests in chain:
            group = _groups(self.triples, tests)
            many = int(group.max(initial=0)) + 1
            states = summed(group[self.entered], np.ones(len(self.ended)), many)[group] - own
            ends = summed(group[self.entered], self.ended, many)[group] - own_end
            p = (ends + KAPPA * p) / (states + KAPPA)
        return p


def _finer(chain: tuple[Tests, ...], more: Tests) -> tuple[Tests, ...]:
    return (*chain, tuple(sorted({*chain[-1], *more})))


def _tests(triples: Triples) -> list[Test]:
    tests = [Test(i) for i in range(triples.k)]
    if triples.k <= MOST_PAIRS:
        sizes = triples.codes.max(axis=0, initial=0)
        both = combinations(range(triples.k), 2)
        tests += [Test(i, j) for i, j in both if sizes[i] > 1 and sizes[j] > 1]
    return tests


def _groups(triples: Triples, tests: Tests) -> Ints:
    """The group [S] of each state: those that no test tells apart."""
    columns = [
        triples.codes[:, test.variable]
        if test.equals < 0
        else (triples.codes[:, test.variable] == triples.codes[:, test.equals]).astype(np.int64)
        for test in tests
    ]
    return ranked(np.column_stack(columns or [np.zeros(triples.S, np.int64)]))
