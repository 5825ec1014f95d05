"""From a log to what a safe policy plans on: counts, belief, inference, evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim._base.params import brief
from gim.analogy.base import Inference, Infers, inferences
from gim.analogy.experience import WithinExperience, within_experience
from gim.analogy.prior import no_prior
from gim.belief.evidence import Evidence
from gim.belief.knowledge import Knowledge, believed_model, estimate, inferred_when_due
from gim.logs.bans import some_of
from gim.logs.given import by_labels
from gim.logs.log import Log
from gim.logs.order import LARGEST
from gim.logs.safe.base import Bools, Case, Floats
from gim.mdp.tables import own_numbers
from gim.model.counts import counts_of
from gim.model.learned import LearnedModel
from gim.model.rewards import by_pair, returned, seen_range
from gim.model.tally import total, triples_of
from gim.model.task import Mind, Task
from gim.runs.priors_given import models_given

TRIED = 1.0  # visits that a prediction must be worth for a pair that nobody tried to be played
DOUBTED = 0.1  # chance that its predicted reward fails, above which it is not played either; nor
# is it where a regression has to say what it pays, which errs most where nobody was
MOST_INFERRED = 1 << 29  # states times pairs seen; a quarter of that is predicted at a time
UNCONVINCED = (
    "nothing is inferred: pairs that are held out are hardly likelier as predicted than by how "
    "often each state is entered"
)
SEED = 0  # what is random in an inference is fixed: one log has one policy


class Inferred(NamedTuple):
    """What is believed after a log."""

    belief: Knowledge
    task: Task
    case: Case
    model: LearnedModel
    rows: sparse.csr_array  # [S*A, S] visits behind the estimate, pseudo-visits included
    supported: Bools  # [S, A] pairs that were seen, or predicted well enough to be tried
    notes: list[str]
    limits: tuple[tuple[float, float] | None, tuple[float, float]]  # of rewards: told, and seen
    infer: Infers | None  # what predicts pairs from others, within what was seen of each state


def belief_of_log(
    log: Log, infer: Any, horizon: int, priors: tuple[LearnedModel, ...] = ()
) -> tuple[Knowledge, Task, list[str], Infers | None]:
    """The belief that a log leads to, with the inference run once, and the task as it is allowed.

    Also notes for the user, and the inference within the experience of the log.

    Inference knows banned pairs as far as they were seen, the task does not.
    """
    infer, notes = inferences.make(infer), []
    if not isinstance(infer, (Inference, type(None))):
        raise ValueError(f'infer = {brief(infer)}: give a name such as "analogy", or None')
    if infer is not None and log.S * np.count_nonzero(log.counts.n) > MOST_INFERRED:
        infer, notes = None, [f"nothing is inferred: {log.S:,} states are too many for that"]
    made_of: dict[str, Any] = {"variables": log.variables, "action_variables": log.action_variables}
    met = log.allowed | log.terminal[:, None] | (log.counts.n > 0)
    task = Task(log.S, log.A, horizon, met, seen_range(log.counts), priors=priors, **made_of)
    counts = log.counts
    if priors and (infer is None or not infer.reuses):
        counts = total([triples_of(counts), triples_of(counts_of(*priors))], log.S, log.A)
    belief = Knowledge(
        counts,
        log.terminal,
        no_prior(*((0, 0) if infer is None else (log.S, log.A))),
        visits=np.array([len(log)]),
        infer_at=np.array([0]),
    )
    mind = Mind(task, np.random.default_rng(SEED))
    belief = inferred_when_due(belief, infer, mind, seen_range(log.counts))
    elsewhere = infer is not None and infer.elsewhere
    prior = belief.prior if elsewhere else within_experience(belief.prior, log.counts)
    if prior.speaks:  # in a state that nobody has met there is nothing to overrule
        met_ = log.left | np.isin(np.arange(log.S), log.triples.t)
        n0, r_n0 = (np.where(met_[:, None], x, whole) for x, whole in
                    ((prior.n0, belief.prior.n0), (prior.r_n0, belief.prior.r_n0)))  # fmt: skip
        prior = prior._replace(n0=n0, r_n0=r_n0)
    if belief.prior.speaks and not prior.speaks:
        notes.append(UNCONVINCED)
    allowed = log.allowed | log.terminal[:, None]
    careful = WithinExperience(infer) if infer is not None and not elsewhere else infer
    known = belief._replace(prior=prior)
    return known, replace(task, available=allowed), [*notes, *mind.notes], careful


def models_for(log: Log, prior: Any, infer: Any) -> tuple[LearnedModel, ...]:
    """The models that `prior=` stands for, in the numbers of the log."""
    judge, names = inferences.make(infer), log.names()
    task = Task(log.S, log.A, log.longest, np.ones((log.S, log.A), bool), seen_range(log.counts),
                variables=log.variables, action_variables=log.action_variables)  # fmt: skip
    judged = judge is not None and bool(judge.reuses)
    return models_given(prior, judged, task, names, names)


def inferred(
    log: Log,
    infer: Any,
    baseline: Floats,
    horizon: int | None,
    discount: float | None,
    rewards: Any,
    priors: tuple[LearnedModel, ...] = (),
) -> Inferred:
    """All that planning needs; see `gim.learn`."""
    steps = log.longest if horizon is None else horizon
    belief, task, notes, careful = belief_of_log(log, infer, steps, priors)
    P, seen = estimate(belief, task.available)
    P = P if sparse.issparse(P) else sparse.csr_array(P.reshape(log.S * log.A, log.S))
    n = np.where(log.terminal[:, None], 0.0, seen.n)
    likely = n >= TRIED
    if belief.prior.speaks and isinstance(rewards, str):
        prior = belief.prior  # what only a regression says of a reward is more open than the noise
        ruled = prior.r_noise <= prior.r_noise.min(where=prior.r_n0 > 0, initial=np.inf)
        likely &= (prior.r_doubt <= DOUBTED) & ruled
    supported = ((log.counts.n > 0) | likely) & task.available
    n = np.where(supported, n, 0.0)
    lost = ~supported.any(axis=1, keepdims=True)
    untried = np.flatnonzero(lost.ravel() & log.left & ~log.terminal)
    if untried.size:
        notes.append(
            f"in {some_of(log.states, untried)} nothing that is allowed was tried or is inferred: "
            "what the baseline would do is played there, and taken to pay the least that was paid"
        )
    if isinstance(rewards, str):
        if rewards != "learn":
            raise ValueError(f'rewards = {rewards!r}: give "learn", a table or a function')
        r, spread = rewards_learned(belief, seen, task)
        unpaid = seen.n_r == 0
    else:
        r, spread, unpaid = rewards_of(rewards, log, P), np.zeros(n.shape), ~supported
    least = min(float(r[supported & ~unpaid].min(initial=0.0)), 0.0)
    r = np.where(unpaid | ~supported, least, r)
    r = np.where(log.terminal[:, None], 0.0, r)
    met = r[supported] if supported.any() else r
    width = (float(met.min()), float(met.max()))
    playable = log.allowed & (supported | lost)
    case = Case(P, r, n, spread, playable, log.terminal, baseline, width, horizon, discount)
    model = believed_model(belief, task).with_(
        rewards=np.where(task.available, r, 0.0),
        start=log.start,
        discount=discount,
        state_labels=log.states,
        action_labels=log.actions,
        name="model of a log",
    )
    assert isinstance(model, LearnedModel)
    if not isinstance(rewards, str):
        belief = belief._replace(rewards=by_pair(r))
    N = P * sparse.csr_array(n.reshape(-1, 1))
    told, paid = log.reward_range, log.paid
    if not isinstance(rewards, str):
        told = paid = width
    rows = sparse.csr_array(N)
    limits = told, paid
    return Inferred(belief, task, case, model, rows, supported, notes, limits, careful)


def rewards_learned(belief: Knowledge, seen: Evidence, task: Task) -> tuple[Floats, Floats]:
    """r(s,a) and the variance of a single reward, [S, A].

    Of a pair that nobody tried, the predicted reward fails with a known chance: it may then pay the
    least that was ever paid.
    """
    n_r = np.where(seen.n_r > 0, seen.n_r, 1.0)
    r = seen.R / n_r
    spread = np.maximum(seen.R2 / n_r - r**2, 0.0)
    if belief.prior.speaks and task.reward_range is not None:
        doubt = np.where(belief.counts.n == 0, belief.prior.r_doubt, 0.0)
        r = r - doubt * (r - task.reward_range[0])
    return r, spread


def rewards_of(given: Any, log: Log, P: sparse.csr_array) -> Floats:
    """Known rewards as r(s,a): a table [S, A] or [S, A, S], or a function of labels."""
    S, A = log.S, log.A
    pair = np.repeat(np.arange(S * A), np.diff(P.indptr))
    if callable(given):
        names, acts = log.states, log.actions
        each = zip((pair // A).tolist(), (pair % A).tolist(), P.indices.tolist(), strict=True)
        paid = np.array([returned(given(names[s], acts[a], names[t])) for s, a, t in each])
    else:
        try:
            table = own_numbers("rewards=", given)
        except ValueError:
            text = 'rewards= are not numbers: give "learn", a table or a function'
            raise ValueError(text) from None
        if table.shape not in ((S, A), (S, A, S)):
            raise ValueError(
                f"rewards have shape {table.shape}: give [{S}, {A}] or [{S}, {A}, {S}], in the "
                "order of log.states and log.actions"
            )
        paid = table.ravel()[pair] if table.ndim == 2 else table.reshape(S * A, S)[pair, P.indices]
    if not np.isfinite(paid).all():
        raise ValueError("the rewards given are not finite everywhere")
    if np.abs(paid).max(initial=0.0) > LARGEST:
        raise ValueError(f"the rewards given go beyond {LARGEST:g}: rescale them")
    return np.asarray(np.bincount(pair, P.data * paid, S * A), np.float64).reshape(S, A)


def baseline_of(given: Any, log: Log) -> Floats:
    """Probabilities [S, A] of a policy that is the same at every step; None: the log's own."""
    if given is None:
        return log.behaviour
    array: NDArray[Any] = np.asarray(by_labels(given, log))
    if array.dtype.kind in "iu" and array.shape == (log.S,) and array.min() >= 0:
        if array.max() >= log.A:
            raise ValueError(f"the baseline plays action {array.max()}: 0 to {log.A - 1} are")
        return np.eye(log.A)[array]
    if array.dtype.kind == "f" and array.shape == (log.S, log.A):
        if not ((array >= 0).all() and np.abs(array.sum(axis=1) - 1).max() <= 1e-8):
            raise ValueError("the baseline holds rows that are no probabilities")
        return array
    raise ValueError(
        f"a baseline of shape {array.shape}: give actions [{log.S}] or probabilities "
        f"[{log.S}, {log.A}], the same at every step"
    )
