"""Checks that any inference must pass, whatever it infers from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gim._compile.memory import flatten
from gim.agents.ucbvi import UCBVI
from gim.analogy.base import Frame, Inference, Prior, inferences
from gim.envs import make
from gim.mdp.tabular import TabularMDP
from gim.model.counts import Counts, dense, new_counts
from gim.model.rehearsal import sample
from gim.testing.agents import check_agent, small_worlds


def check_inference(infer: Inference, world: TabularMDP | None = None, seed: int = 0) -> None:
    """Check an inference on small worlds.

    Its spec string builds it again; whatever was counted (nothing, little, much, everything, in
    worlds with terminal states, missing actions or without chance) its predictions are
    distributions worth a number of visits that is not negative, and none is made of pairs that
    cannot be played; counts are left alone and a seed fixes every bit; where pairs are alike and
    most were met, it says of the others more than that any next state is equally likely; and an
    agent that infers so passes `check_agent`.

    Args:
        infer: the inference; one that says something only after many visits should be checked at
            other settings as well.
        world: where it has something to say; by default one with matrices of low rank.
        seed: of the counts and of the inference.

    Raises:
        AssertionError: with what does not hold.

    Example:
        >>> import gim
        >>> from gim.testing import check_inference
        >>> check_inference(gim.ByCompletion(m=2, rho=0.3))
    """
    word = str(infer)
    assert inferences.make(word) == infer, f"{word} does not come back from its spec string"
    related = make("shared_factors", S=12, A=10, J=2, K=3, seed=3) if world is None else world
    for mdp in (related, *small_worlds(), _certain(), _single()):
        for counts in _counted(mdp, seed):
            _check_prior(infer, mdp, counts, seed)
    _check_it_speaks(infer, related, seed)
    check_agent(UCBVI(infer=infer), seed=seed)


def _certain() -> TabularMDP:
    """Nothing is random."""
    to = np.random.default_rng(5).integers(6, size=(6, 4))
    return TabularMDP(np.eye(6)[to], np.zeros((6, 4)), horizon=5, name="certain")


def _single() -> TabularMDP:
    return TabularMDP(np.ones((1, 1, 1)), np.ones((1, 1)), horizon=2, name="single")


def _counted(mdp: TabularMDP, seed: int) -> list[Counts]:
    """Nothing; one visit of half of the pairs; many of most of them; a few of all."""
    rng = np.random.default_rng(seed)
    visits = [sample(mdp, rng, m, rho).counts for m, rho in ((1, 0.5), (60, 0.9), (5, 1.0))]
    return [new_counts(mdp.S, mdp.A), *visits]


def _predict(infer: Inference, mdp: TabularMDP, counts: Counts, seed: int) -> Prior:
    frame = Frame(mdp.available, mdp.terminal, mdp.reward_range)
    return infer(counts, frame, np.random.default_rng(seed))


def _check_prior(infer: Inference, mdp: TabularMDP, counts: Counts, seed: int) -> None:
    place = f"{infer} on {mdp} after {counts.n.sum()} visits"
    before = {key: array.copy() for key, array in flatten(counts).items()}
    prior, again = (_predict(infer, mdp, counts, seed) for _ in range(2))
    same = all(np.array_equal(before[key], array) for key, array in flatten(counts).items())
    assert same, f"{place}: changes the counts"
    for name, one, two in zip(prior._fields, prior, again, strict=True):
        assert np.array_equal(one, two, equal_nan=True), f"{place}: the seed does not fix {name}"
    playable = mdp.available & ~mdp.terminal[:, None]
    for name, worth in (("n0", prior.n0), ("r_n0", prior.r_n0)):
        assert worth.shape == (mdp.S, mdp.A), f"{place}: {name} has shape {worth.shape}"
        assert (worth >= 0).all(), f"{place}: {name} is negative or not a number"
        assert not worth[~playable].any(), f"{place}: {name} speaks of pairs that cannot be played"
    told, paid = prior.n0 > 0, prior.r_n0 > 0
    rows = predicted(prior)[told]
    assert (rows >= 0).all(), f"{place}: a probability is negative or not a number"
    assert np.allclose(rows.sum(axis=1), 1.0, atol=1e-6), f"{place}: a row does not sum to 1"
    assert np.isfinite(prior.r[paid]).all(), f"{place}: a predicted reward is not finite"


def _check_it_speaks(infer: Inference, mdp: TabularMDP, seed: int) -> None:
    """Most pairs well met: the others are predicted, and better than by knowing nothing."""
    counts = _counted(mdp, seed)[2]
    prior = _predict(infer, mdp, counts, seed)
    told = (prior.n0 > 0) & (counts.n == 0)
    assert told.any(), f"{infer} on {mdp}: predicts no pair, where pairs are alike"
    truth = mdp.to_dense().transitions[told]
    error = np.abs(predicted(prior)[told] - truth).sum(axis=1).mean()
    blind = np.abs(1.0 / mdp.S - truth).sum(axis=1).mean()
    assert error < blind, f"{infer} on {mdp}: errs by {error:.2f}, a blind guess by {blind:.2f}"


def predicted(prior: Prior) -> NDArray[np.float64]:
    """The predictions of a prior as an array [S, A, S]."""
    return dense(prior.rows(), prior.n0.shape)
