"""Checks that any candidate of the inference by analogy must pass, whatever it looks at."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.analogy.base import Frame
from gim.analogy.candidates import Candidate, Data, candidates
from gim.envs import make
from gim.mdp.tabular import TabularMDP
from gim.model.counts import dense, transitions
from gim.model.rehearsal import sample
from gim.testing.agents import small_worlds

PART, SLACK = 0.5, 0.1  # of what a pair's own visits may add where it is left out


def check_candidate(candidate: Candidate, seed: int = 0) -> None:
    """Check a candidate on small worlds.

    Its spec string builds it again; whatever was counted, its rows are distributions over next
    states or empty; pairs that are held out leave no trace; the order and number of pairs asked for
    changes nothing; where it can leave out one pair at a time, there is such a row for every pair,
    in which the pair's own visits are hardly likelier than after fitting without the pair.

    Raises:
        AssertionError: with what does not hold.

    Example:
        >>> from gim.analogy.candidates import candidates
        >>> check_candidate(candidates.make("marginal"))
    """
    word = str(candidate)
    assert candidates.make(word) == candidate, f"{word} does not come back from its spec string"
    related = make("shared_factors", S=12, A=10, J=2, K=3, seed=3)
    for mdp in (related, make("gridworld", height=3, width=3), *small_worlds()):
        for m, rho in ((1, 0.5), (5, 1.0), (60, 0.9)):
            _check_rows(candidate, mdp, _data(mdp, m, rho, seed))
    for mdp in small_worlds() if candidate.leaves_one_out else ():
        _check_own_visits(candidate, mdp, _data(mdp, 1, 0.5, seed))


def _data(mdp: TabularMDP, m: int, rho: float, seed: int) -> Data:
    counts = sample(mdp, np.random.default_rng(seed), m, rho).counts
    playable = mdp.available & ~mdp.terminal[:, None]
    n = np.where(playable, counts.n, 0).astype(np.float64)
    made_of = (mdp.variables, mdp.action_variables)
    frame = Frame(mdp.available, mdp.terminal, mdp.reward_range, (), *made_of)
    N = sparse.csr_array(dense(transitions(counts), n.shape).reshape(n.size, -1))
    return Data(N, n, playable, facts=frame)


def _check_rows(candidate: Candidate, mdp: TabularMDP, data: Data) -> None:
    place = f"{candidate} on {mdp} after {data.n.sum():g} visits"
    pairs = np.flatnonzero(data.available.ravel())
    out = pairs[:: max(1, pairs.size // 7)]
    held = _without(data, out)
    before = candidate.fit(held).rows(out)
    fitted = candidate.fit(data)
    rows = fitted.rows(pairs)
    assert rows.shape == (pairs.size, mdp.S), f"{place}: rows have shape {rows.shape}"
    _check_distributions(rows, place)
    few = candidate.fit(data).rows(pairs[::2])
    assert _apart(few, rows[::2]) < 1e-9, (
        f"{place}: what is said of a pair depends on who else is asked for"
    )
    changed = data.rows.copy()
    lost = np.repeat(np.isin(np.arange(data.n.size), out), np.diff(changed.indptr))
    changed.data = np.where(lost, 7.0, changed.data)
    again = Data(changed, held.n, data.available, data.ridge, data.facts)
    assert _apart(before, candidate.fit(again).rows(out)) == 0, (
        f"{place}: held-out pairs leave a trace"
    )
    if candidate.leaves_one_out:
        apart = fitted.apart(pairs)
        assert apart is not None, f"{place}: apart(pairs) gives None"
        assert apart.shape == rows.shape, f"{place}: apart(pairs) has shape {apart.shape}"
        _check_distributions(apart, f"{place}: apart(pairs)")


def _check_distributions(rows: sparse.csr_array, place: str) -> None:
    assert (rows.data >= 0).all(), f"{place}: a probability is negative or not a number"
    sums = np.asarray(rows.sum(axis=1)).ravel()
    said = np.diff(rows.indptr) > 0
    assert np.allclose(sums[said], 1.0, atol=1e-6), f"{place}: a row does not sum to 1"


def _check_own_visits(candidate: Candidate, mdp: TabularMDP, data: Data) -> None:
    """What `apart` says of a pair's own visits: no more than one that was fitted without them.

    Of the chance that they have by all visits, over the chance without the pair, it may keep a part
    on average: what else was chosen by all pairs, such as the structure, may stay as it is.
    """
    met = np.flatnonzero(data.n.ravel() > 0)
    own = np.asarray(data.rows[met].toarray()) / data.n.ravel()[met, None]
    fitted = candidate.fit(data)
    others = [candidate.fit(_without(data, met[[k]])).rows(met[[k]]) for k in range(met.size)]
    said: Any = (fitted.rows(met), fitted.apart(met), sparse.vstack(others))
    with_all, apart, without = (float((own * each).sum()) / met.size for each in said)
    assert apart - without <= PART * (with_all - without) + SLACK, (
        f"{candidate} on {mdp}: apart(pairs) gives the visits of a pair itself a chance of "
        f"{apart:.2f}, what is fitted without the pair {without:.2f}: it has looked at them"
    )


def _without(data: Data, pairs: NDArray[np.int64]) -> Data:
    out = np.zeros(data.n.size, bool)
    out[pairs] = True
    return data.without(out.reshape(data.n.shape))


def _apart(one: sparse.csr_array, two: sparse.csr_array) -> float:
    return float(np.abs((one - two).toarray()).max(initial=0.0))
