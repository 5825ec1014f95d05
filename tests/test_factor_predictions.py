"""Whole steps predicted from their parts, against a recursion over the values they may take."""

from __future__ import annotations

from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest

from gim._compile.jit import plain
from gim.agents.factor_predictions import predicted
from gim.agents.factors import Guess, new_factors
from gim.mdp.variables import Variables

PREDICTED = plain(predicted)
SIZES, A, M, EPSILON, UNIT = (2, 3), 2, 3, 0.6, 4.0
CODES = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 2)]  # no state has (1, 1)
S, K = len(CODES), len(SIZES)


def tables(seed, learned=True, guesses=2):
    """Tables of random visits, some contexts with fewer than m, some with none."""
    rng = np.random.default_rng(seed)
    variables = Variables.coded(np.array(CODES), [range(n) for n in SIZES], ["x", "y"], [True] * K)
    task = SimpleNamespace(S=S, A=A, variables=variables)
    parts, found = K + 2 * learned, []
    for a, part in product(range(A), range(parts)):
        inputs = [*range(K), *range(K, K + min(part, K))]
        some = [c for size in range(3) for c in combinations(inputs, size)]
        chosen = rng.choice(len(some), guesses, replace=False)
        found += [Guess(a, part, some[i]) for i in chosen]
    f = new_factors(task, found, parts, (M, EPSILON, 5), UNIT)
    f.n[:] = rng.choice([0, 1, M, M, M, 2 * M], f.n.size)
    for g, guess in enumerate(found):
        width = int(f.sizes[guess.part])
        last = f.place[g + 1] if g + 1 < len(found) else f.n.size
        for c, n in enumerate(f.n[f.place[g] : last].tolist()):
            cell = slice(f.cell[g] + c * width, f.cell[g] + (c + 1) * width)
            if guess.part < K:
                f.table[cell] = rng.multinomial(n, rng.dirichlet(np.ones(width)))
            elif guess.part == K:
                f.table[cell] = rng.integers(0, n + 1)  # an even half ends nothing
            else:
                f.table[cell] = n * rng.random() * UNIT / 2
    f.active[:] = rng.random(len(found)) < 0.9
    return f, found


def twin(f, guesses, available, terminal, any_guess):
    """Rows, rewards, what is unknown and what ends, by going through all next values."""
    learned = len(f.sizes) > K
    P, r, unknown = np.zeros((S, A, S)), np.zeros((S, A)), np.zeros((S, A))
    ends, lost = np.zeros(S, bool), np.zeros((S, A))

    def entry(g, s, values):
        """Visits and table of a guess's context."""
        c, step = 0, 1
        for i in guesses[g].inputs:
            c += step * (CODES[s][i] if i < K else values[i - K])
            step *= SIZES[i % K]
        width = int(f.sizes[guesses[g].part])
        first = f.cell[g] + c * width
        return f.n[f.place[g] + c], f.table[first : first + width]

    def who(s, a, part, values):
        mine = [
            g for g, (b, p, _) in enumerate(guesses) if (b, p) == (a, part) and bool(f.active[g])
        ]
        visits = [entry(g, s, values)[0] for g in mine]
        if any_guess:
            for enough in (M, 1):
                for g, n in zip(mine, visits, strict=True):
                    if n >= enough:
                        return g
            return None
        if not mine or min(visits) < M:
            return None
        said = np.array([entry(g, s, values)[1] / entry(g, s, values)[0] for g in mine])
        apart = np.ptp(said, axis=0).max() / (UNIT if part == K + 1 else 1.0)
        return None if apart > EPSILON else mine[0]

    def go_on(s, a, values, p):
        """Share of what leads to no state, from these first values on, which have chance p."""
        if len(values) < K:
            g = who(s, a, len(values), values)
            if g is None:
                unknown[s, a] += p
                return 0.0
            n, counts = entry(g, s, values)
            return sum(go_on(s, a, (*values, v), p * c / n) for v, c in enumerate(counts) if c > 0)
        if values not in CODES:
            return p
        t = CODES.index(values)
        if learned:
            over, pays = who(s, a, K, values), who(s, a, K + 1, values)
            if over is None or pays is None:
                unknown[s, a] += p
                return 0.0
            n, sums = entry(pays, s, values)
            r[s, a] += p * sums[0] / n
            n, count = entry(over, s, values)
            ends[t] |= count[0] / n > 0.5
        P[s, a, t] += p
        return 0.0

    for s, a in product(range(S), range(A)):
        if available[s, a] and not terminal[s]:
            lost[s, a] = nowhere = go_on(s, a, (), 1.0)
            if nowhere > 1 - 1e-9:
                P[s, a], r[s, a], unknown[s, a] = 0.0, 0.0, 1.0
            else:
                for part in (P, r, unknown):
                    part[s, a] /= 1.0 - nowhere
    return P, r, unknown, ends, lost


@pytest.mark.parametrize("any_guess", [False, True])
@pytest.mark.parametrize(("learned", "guesses"), [(True, 1), (True, 2), (False, 1), (False, 2)])
def test_predictions_go_through_all_next_values(learned, guesses, any_guess):
    torn = ending = 0
    for seed in range(60):
        f, found = tables(seed, learned, guesses)
        rng = np.random.default_rng(seed)
        available, terminal = rng.random((S, A)) < 0.9, rng.random(S) < 0.2
        r, unknown, ends = np.full((S, A), -7.0), np.full((S, A), -7.0), np.zeros(S, bool)
        data, column, start = PREDICTED(f, available, terminal, (r, unknown, ends), any_guess)
        P = np.zeros((S * A, S))
        for pair in range(S * A):
            np.add.at(
                P[pair], column[start[pair] : start[pair + 1]], data[start[pair] : start[pair + 1]]
            )
        expected = twin(f, found, available, terminal, any_guess)
        assert np.allclose(P.reshape(S, A, S), expected[0], rtol=1e-12, atol=1e-14)
        assert np.allclose(unknown, expected[2], rtol=1e-12, atol=1e-14)
        assert np.array_equal(ends, expected[3])
        if learned:
            assert np.allclose(r, expected[1], rtol=1e-12, atol=1e-14)
        else:
            assert (r == -7.0).all()  # left alone
        total = P.sum(axis=1).reshape(S, A) + unknown
        assert np.allclose(total[available & ~terminal[:, None]], 1.0)
        torn += ((expected[4] > 0) & (unknown > 0) & (unknown < 1)).sum()
        ending += ends.sum()
    assert torn > 0  # partly unknown, and partly to no state
    assert (ending > 0) == learned
