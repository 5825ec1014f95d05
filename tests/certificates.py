"""Beliefs from sampled counts, and what is certified of them."""

from __future__ import annotations

from gim.analogy.analogy import Analogy
from gim.analogy.prior import no_prior
from gim.belief.belief import Belief
from gim.belief.certificate import certified
from gim.belief.knowledge import knowledge_of
from gim.runs.run import task_of
from tests.sampled_counts import sampled

KINDS = ["credible", "guaranteed"]
ANALOGY = Analogy(candidates="means")
AGENT = "analogist:infer=analogy(candidates=means)"


def believed(mdp, counts, terminal=None, infer=ANALOGY, **given):
    """What these counts say, and what is inferred from them."""
    terminal = mdp.terminal if terminal is None else terminal
    known = knowledge_of(counts, terminal.copy(), no_prior(mdp.S, mdp.A))
    return Belief(known, task_of(mdp), infer, **given)


def belief_in(mdp, visits, seed=0, blank=(), **given):
    """Counts of Poisson many visits of each pair, but in the states `blank`, and the analogy."""
    counts, _, _ = sampled(mdp, visits, seed, by_triple=True)
    for s in blank:
        forget(counts, s, slice(None))
    return believed(mdp, counts, seed=seed, **given)


def forget(counts, s, a):
    """As if these pairs had never been met."""
    S, A = counts.n.shape
    counts.n[s, a], counts.R[s, a], counts.R2[s, a] = 0, 0, 0
    for array in (counts.next, counts.paid, counts.paid2):
        array.reshape(S, A, -1)[s, a] = 0


def certificate_of(mdp, visits, share=0.9, kind="credible", seed=0, blank=()):
    return certified(belief_in(mdp, visits, seed, blank), share, kind)
