"""Checks that any candidate of the inference by analogy must pass, whatever it looks at."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from gim.envs import make
from gim.inference.base import Frame
from gim.inference.candidates import Candidate, Data, candidates
from gim.mdp import TabularMDP
from gim.model.counts import dense, transitions
from gim.model.rehearsal import sample
from gim.testing.agents import small_worlds


def check_candidate(candidate: Candidate, seed: int = 0) -> None:
    """Check a candidate on small worlds.

    Its spec string builds it again; whatever was counted, its rows are distributions over next
    states or empty; pairs that are held out leave no trace; the order and number of pairs asked for
    changes nothing; where it can leave out one pair at a time, that is what fitting without the
    pair says of its own visits: nothing.

    Raises:
        AssertionError: with what does not hold.

    Example:
        >>> from gim.inference.candidates import candidates
        >>> check_candidate(candidates.make("marginal"))
    """
    word = str(candidate)
    assert candidates.make(word) == candidate, f"{word} does not come back from its spec string"
    related = make("shared_factors", S=12, A=10, J=2, K=3, seed=3)
    for mdp in (related, make("gridworld", height=3, width=3), *small_worlds()):
        for m, rho in ((1, 0.5), (5, 1.0), (60, 0.9)):
            _check_rows(candidate, mdp, _data(mdp, m, rho, seed))


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
    rows = candidate.fit(data).rows(pairs)
    assert rows.shape == (pairs.size, mdp.S), f"{place}: rows have shape {rows.shape}"
    assert (rows.data >= 0).all(), f"{place}: a probability is negative or not a number"
    sums = np.asarray(rows.sum(axis=1)).ravel()
    said = np.diff(rows.indptr) > 0
    assert np.allclose(sums[said], 1.0, atol=1e-6), f"{place}: a row does not sum to 1"
    few = candidate.fit(data).rows(pairs[::2])
    off = np.abs((few - rows[::2]).toarray()).max(initial=0.0)
    assert off < 1e-9, f"{place}: what is said of a pair depends on who else is asked for"
    out = np.zeros(data.n.size, bool)
    out[pairs[:: max(1, pairs.size // 7)]] = True
    held = data.without(out.reshape(data.n.shape))
    changed = data.rows.copy()
    changed.data = np.where(np.repeat(out, np.diff(changed.indptr)), 7.0, changed.data)
    again = Data(changed, held.n, data.available, data.ridge, data.facts)
    one, two = (candidate.fit(each).rows(pairs[out[pairs]]) for each in (held, again))
    assert np.abs((one - two).toarray()).max(initial=0.0) == 0, (
        f"{place}: held-out pairs leave a trace"
    )
    fitted = candidate.fit(data)
    if candidate.leaves_one_out:
        apart = fitted.apart(pairs)
        assert apart is not None, f"{place}: apart(pairs) gives None"
        assert apart.shape == rows.shape, f"{place}: apart(pairs) has shape {apart.shape}"
