"""What an agent has seen and what it infers: in the memory of every agent that counts.

The prior is inferred anew when the visits have doubled, while most pairs were never met when they
have grown by half (unless that costs much: COSTLY), and once all were met when there is news
(`news_after`); as long as it says nothing at all, when there are so many more as the inference
itself asks for (`Inference.retry`). An inference that fails is left out with a note, and the run
goes on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._base.limits import check_rewards
from gim._base.threads import one_thread
from gim._compile.jit import hot
from gim._compile.memory import LARGE, VISITS, Limits
from gim.analogy.base import Frame
from gim.analogy.prior import Floats, Prior, check_form, check_prior, no_prior
from gim.belief.evidence import Evidence, SharedRows, evidence
from gim.mdp.sampling import TERMINATED
from gim.model.counts import (
    Counts,
    count,
    counts_of,
    grown,
    new_counts,
    new_known,
    review,
)
from gim.model.dynamics import learned
from gim.model.learned import LearnedModel
from gim.model.rewards import KnownRewards, none_known
from gim.model.task import Mind, Task

AGAIN = 2.0  # visits over those at the last inference that said something
EARLY = 1.5  # the same while most pairs were never met: what is inferred of them then matters most
COSTLY = 1 << 20  # numbers of a prior, from which it is not inferred anew as soon as that
LATE = 16.0  # the same at the most, where all pairs were met and hardly a visit is news
FULL, NEWS = 20.0, 1.25  # visits that a pair counts for in the end; growth of all that is news
SOON = 16  # visits by which a model learned elsewhere is judged for the first time
NEVER = np.iinfo(np.int64).max  # as a number of visits


class Knowledge(NamedTuple):
    """What an agent has seen and what it infers."""

    counts: Counts
    terminal: NDArray[np.bool_]  # [S] states seen to end an episode
    prior: Prior  # of size 0 if nothing is ever inferred
    visits: NDArray[np.int64]  # [1] in all
    infer_at: NDArray[np.int64]  # [1] visits at which to infer next
    rewards: KnownRewards = none_known()

    def evidence(
        self, rows: SharedRows | None = None, kept: dict[str, Any] | None = None
    ) -> Evidence:
        """Counts and prior together, or apart; see `gim.belief.evidence`."""
        return evidence(self.counts, self.prior, self.terminal, self.rewards, rows, kept)

    def limits(self) -> Limits:
        """See `gim._compile.memory`."""
        return {"visits": VISITS, "infer_at": LARGE}

    def fault(self) -> str:
        """What no run leaves behind; see `gim._compile.memory`."""
        try:
            if self.prior.n0.size:
                check_form(self.prior, *self.counts.n.shape)
        except ValueError as problem:
            return str(problem)
        return ""


def new_belief(task: Task, infer: Any) -> Knowledge:
    """Nothing seen, or what a model learned elsewhere stands for, unless that is to be judged."""
    S, A = task.S, task.A
    noise = None if task.truth is None else task.truth.noise
    check_rewards(*(task.reward_range or (0.0,)), 0.0 if noise is None else float(noise.max()))
    trusted = () if infer is not None and infer.reuses else task.priors
    known = none_known() if task.rewards is None else task.rewards
    by_triple = infer is not None and infer.by_triple and not known.given
    counts = counts_of(*trusted) if trusted else new_counts(S, A, by_triple)
    terminal = np.any([np.zeros(S, bool), *(model.terminal for model in trusted)], axis=0)
    return Knowledge(
        counts,
        terminal,
        no_prior(*((0, 0) if infer is None else (S, A))),
        visits=np.array([counts.n.sum()]),
        infer_at=np.array([first_inference(task, infer)]),
        rewards=known,
    )


def first_inference(task: Task, infer: Any) -> int:
    """Visits at which to infer for the first time."""
    if infer is None:
        return NEVER
    if infer.elsewhere:
        return 0
    return min(task.H, SOON) if task.priors else task.H


def knowledge_of(counts: Counts, terminal: NDArray[np.bool_], prior: Prior) -> Knowledge:
    """What counts from anywhere and an inference from them stand for."""
    return Knowledge(counts, terminal, prior, np.array([counts.n.sum()]), np.array([NEVER]))


@hot
def observe(belief: Any, s: int, a: int, r: float, t: int, end: int) -> bool:
    """Count one step; True asks for room (GROW)."""
    belief.visits[0] += 1
    if end == TERMINATED:
        belief.terminal[t] = True
    return count(belief.counts, s, a, r, t)


@hot
def due(belief: Any) -> bool:
    """Whether it is time to infer again."""
    return belief.visits[0] >= belief.infer_at[0]


def with_room(belief: Knowledge) -> Knowledge:
    """The same with room for more triples."""
    return belief._replace(counts=grown(belief.counts))


def inferred_when_due(
    belief: Knowledge, infer: Any, mind: Mind, reward_range: tuple[float, float]
) -> Knowledge:
    """The belief with its prior inferred anew if it is time; the very same object if it is not.

    It is the same, too, if there is nothing to say as before.
    """
    if infer is None or belief.visits[0] < belief.infer_at[0]:
        return belief
    task, visits, spoke = mind.task, int(belief.visits[0]), belief.prior.speaks
    made_of, known = (task.variables, task.action_variables), belief.rewards.given
    pays = belief.rewards.r if known and not belief.rewards.first.size else None
    frame = Frame(task.available, belief.terminal, reward_range, task.priors, *made_of, known, pays)
    with mind.timed("inferring"), one_thread():
        try:
            prior = infer(belief.counts, frame, mind.rng)
        except (np.linalg.LinAlgError, ArithmeticError) as problem:
            mind.note(f"an inference failed ({problem}) and was left out; the run goes on without")
            prior = no_prior(task.S, task.A)
    check_prior(prior, task.S, task.A)
    playable = frame.available & ~frame.terminal[:, None]  # nothing is inferred of the others
    r_n0 = (prior.n0 > 0) * 1.0 if known else prior.r_n0
    prior = prior._replace(n0=prior.n0 * playable, r_n0=r_n0 * playable)
    again = news_after(belief.counts.n[playable]) if prior.speaks else infer.retry
    if prior.q.size >= COSTLY:
        again = max(again, AGAIN)
    if infer.elsewhere:  # what a step shows may complete at once what is known from others
        again = 1.0
    belief.infer_at[0] = max(visits + 1, int(again * visits))
    return belief._replace(prior=prior) if spoke or prior.speaks else belief


def news_after(n: NDArray[np.int64]) -> float:
    """Visits over those now at which to infer anew, given those of every playable pair.

    A pair that was met often says little more by another visit: all of them count for FULL in the
    end. Once every pair was met, there is news when what all count for would have grown by NEWS.
    """
    if 2 * np.count_nonzero(n) < n.size:
        return EARLY
    again = AGAIN
    if n.all():
        counted = (n / (1.0 + n / FULL)).sum()
        while again < LATE and (again * n / (1.0 + again * n / FULL)).sum() < NEWS * counted:
            again *= AGAIN
    return again


def divided(N: Any, n: Floats) -> Any:
    """N / n, in the form of N; 0 where n is 0."""
    n = np.where(n > 0, n, np.inf)
    if sparse.issparse(N):
        data = N.data / np.repeat(n.ravel(), np.diff(N.indptr))
        return sparse.csr_array((data, N.indices, N.indptr), shape=N.shape)
    return N / n[:, :, None]


def mean_rewards(seen: Evidence, r_max: float) -> Floats:
    """R / n, and the largest where nothing is known of it: optimism, whatever the prior says."""
    return np.where(seen.n_r > 0, seen.R / np.where(seen.n_r > 0, seen.n_r, 1.0), r_max)


def with_loops(P: Any, pairs: NDArray[np.int64], A: int) -> Any:
    """Add a certain way back to itself for these pairs s*A + a, whose rows are empty."""
    if not sparse.issparse(P):
        P.reshape(-1, P.shape[-1])[pairs, pairs // A] = 1.0
        return P
    loops = sparse.csr_array((np.ones(pairs.size), (pairs, pairs // A)), shape=P.shape)
    return sparse.csr_array(P + loops)


def estimate(belief: Knowledge, available: NDArray[np.bool_]) -> tuple[Any, Evidence]:
    """p(.|s,a) of every pair, in the form of the evidence, and the evidence behind it.

    A pair of which nothing is known stays where it is, as a terminal state does.
    """
    seen = belief.evidence()
    n = np.where(belief.terminal[:, None], 0.0, seen.n)
    P = divided(seen.N, n)
    return with_loops(P, np.flatnonzero((n == 0) & available), available.shape[1]), seen


def believed_model(belief: Knowledge, task: Task, m: int = 1) -> LearnedModel:
    """The estimate as a model; a pair of which nothing is known stays and pays nothing.

    Where rewards are negative it pays the least of them: what was never tried must not look cheap.
    """
    P, seen = estimate(belief, task.available)
    least = mean_rewards(seen, 0.0).min(initial=0.0)
    r = mean_rewards(seen, least)
    return learned_of(P, r, belief, task, m, seen.n > 0, rule_doubt(belief, seen))


def learned_of(
    P: Any, r: Floats, belief: Knowledge, task: Task, m: int, supported: Any, doubt: Any
) -> LearnedModel:
    """Transitions and rewards as a model, with what was counted behind it."""
    known = new_known(task.available, m, 1.0)
    review(known, belief.counts, belief.terminal)
    return learned(P, r, belief.counts, known, task, supported, doubt)


def rule_doubt(belief: Knowledge, seen: Evidence) -> Floats:
    """How wrong the rule of each pair may be, in standard deviations of what follows, [S, A].

    That is the part of the rule in the estimate, by the root of the visits behind it.
    """
    if not belief.prior.speaks:
        return np.zeros(seen.n.shape)
    met = seen.n > 0
    share = np.where(met, 1.0 - belief.counts.n / np.where(met, seen.n, 1.0), 0.0)
    return np.asarray(np.maximum(share, 0.0) / np.sqrt(belief.prior.behind + 1.0))
