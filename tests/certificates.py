"""Beliefs from sampled counts, and what is certified of them."""

from __future__ import annotations

import numpy as np
from gim.belief.certificate.facts import facts_of

from gim.analogy.analogy import Analogy
from gim.belief.certificate import certified
from gim.belief.knowledge import knowledge_of
from gim.runs.run import task_of
from tests.sampled_counts import frame_of, sampled

KINDS = ["credible", "guaranteed"]
ANALOGY = Analogy(candidates="matrices")
AGENT = "analogist:infer=analogy(candidates=matrices)"


def belief_in(mdp, visits, seed=0, blank=()):
    """Counts of Poisson many visits of each pair, but in the states `blank`, and the analogy."""
    counts, _, _ = sampled(mdp, visits, seed, by_triple=True)
    for s in blank:
        counts.n[s], counts.R[s], counts.R2[s] = 0, 0, 0
        for array in (counts.next, counts.paid, counts.paid2):
            array.reshape(mdp.S, mdp.A, mdp.S)[s] = 0
    prior = ANALOGY(counts, frame_of(mdp), np.random.default_rng(seed))
    return knowledge_of(counts, mdp.terminal.copy(), prior)


def facts(mdp, belief):
    return facts_of(belief, task_of(mdp), mdp.reward_range)


def certificate_of(mdp, visits, share=0.9, kind="credible", seed=0, blank=()):
    given = facts(mdp, belief_in(mdp, visits, seed, blank))
    return certified(given, share, kind, np.random.default_rng(seed))
