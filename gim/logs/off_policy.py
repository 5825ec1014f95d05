"""What a policy is worth by what happened, without trust in a model: off-policy evaluation.

A step of the log counts as often as the policy would have come there, relative to who acted:

    rho_h = prod over steps k <= h of pi(a_k | s_k) / b(a_k | s_k).

*Importance sampling*, weighted and per decision (Precup, Sutton and Singh, 2000), is the sum over
steps of the rho-weighted mean of the rewards. *Doubly robust* evaluation, weighted (Jiang and Li,
2016; Thomas and Brunskill, 2016), corrects the model's values by rho-weighted errors:

    sum_h gamma^h (mean_{rho_h}(r_h - q_h(s_h, a_h)) + mean_{rho_{h-1}} v_h(s_h)),

and is right if the model is, or the weights are. Episodes that ended go on with rewards of 0; those
cut off are left out from there on, doubly robust with the model's value of where they were.
Intervals are quantiles over episodes drawn again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.belief.shares import TAILS
from gim.logs.log import Log
from gim.logs.safe.base import Case, Floats

DRAWS = 400  # times that episodes are drawn again
MOST = 1 << 23  # episodes times steps that are looked at
MOST_EPISODES = 20_000  # that are drawn again
FADED = 1e-4  # weight of a discounted step after which none counts
FEW = 10.0  # episodes that a weighted mean must rest on, to be worth a word


class Estimate(NamedTuple):
    """A return with an interval, and the episodes that it rests on, weights considered."""

    estimate: float
    lower: float
    upper: float
    episodes: float  # the least over steps of (sum rho)^2 / sum rho^2


class Steps(NamedTuple):
    """Episodes by step, [E, T] each."""

    rho: Floats  # weights up to and with the step; after an end, those of the last step
    before: Floats  # weights up to the step
    r: Floats
    q: Floats  # the model's values of the pairs
    v: Floats  # and of the states
    counts: NDArray[np.bool_]  # whether the episode has this step, or has ended
    enters: NDArray[np.bool_]  # whether its state at this step is known, or it has ended


def importance_sampling(steps: Steps, gamma: float, seed: int) -> Estimate:
    """Weighted, per decision; NaN where at some step no episode does as the policy would."""
    return _drawn(steps, gamma, seed, model=False)


def doubly_robust(steps: Steps, gamma: float, seed: int) -> Estimate:
    """Weighted."""
    return _drawn(steps, gamma, seed, model=True)


def _drawn(steps: Steps, gamma: float, seed: int, model: bool) -> Estimate:
    E, T = steps.r.shape
    rng = np.random.default_rng(seed)
    times = np.vstack([np.ones(E), rng.multinomial(E, np.full(E, 1 / E), DRAWS)])
    discount = gamma ** np.arange(T)
    rho = np.where(steps.counts, steps.rho, 0.0)
    gain = rho * (steps.r - steps.q) if model else rho * steps.r
    total = _means(times, gain, rho) @ discount
    if model:
        before = np.where(steps.enters, steps.before, 0.0)
        total = total + _means(times, before * steps.v, before) @ discount
    size = (rho.sum(axis=0) ** 2 / np.maximum((rho**2).sum(axis=0), 1e-300))[
        steps.counts.any(axis=0)
    ]
    if not model and not size.all():
        return Estimate(np.nan, np.nan, np.nan, 0.0)
    low, high = np.quantile(total[1:], TAILS)
    first = float(total[0])
    return Estimate(first, min(float(low), first), max(float(high), first), float(size.min()))


def _means(times: Floats, values: Floats, weights: Floats) -> Floats:
    """Weighted means of every step, [draws, T]; 0 where no weight is left."""
    total = times @ weights
    return np.where(total > 0, times @ values / np.where(total > 0, total, 1.0), 0.0)


def steps_of(log: Log, case: Case, policy: NDArray[Any], values: Floats) -> Steps:
    """Episodes by step with their weights under a policy.

    Args:
        log: the log; `log.behaviour` acted, or whoever its propensities say.
        case: the model, its horizon and discount.
        policy: [S], [H, S], [S, A] or [H, S, A].
        values: [S] or [H, S] the model's values of the policy.
    """
    lengths = log.unbroken
    some = np.flatnonzero(lengths)
    if not some.size:
        raise ValueError("no episode can be evaluated: the first row of each is missing")
    T = int(lengths.max()) if case.horizon is None else min(case.horizon, int(lengths.max()))
    if case.gamma < 1:
        T = min(T, int(np.ceil(np.log(FADED) / np.log(max(case.gamma, 1e-9)))) + 1)
    T += 1  # where the last step led
    most = max(1, min(MOST // T, MOST_EPISODES))
    if len(some) > most:
        some = np.sort(np.random.default_rng(0).permutation(some)[:most])
    at = log.starts[some][:, None] + np.arange(T)
    has = np.arange(T) < lengths[some][:, None]
    at = np.where(has, at, (log.starts + lengths - 1)[some][:, None])
    last = log.starts[some] + lengths[some] - 1
    done = log.rows.done[last] & log.terminal[log.rows.t[last]]
    over = ~has & done[:, None]
    s, a = log.rows.s[at], log.rows.a[at]
    h = np.broadcast_to(np.arange(T), at.shape)
    b = log.rows.propensity[at] if log.rows.propensity is not None else log.behaviour[s, a]
    ratio = np.where(has, _chance(policy, h, s, a) / b, 1.0)
    rho: Floats = np.cumprod(ratio, axis=1).astype(np.float64)
    before = np.hstack([np.ones((len(some), 1)), rho[:, :-1]])
    within = has if case.horizon is None else has & (h < case.horizon)
    entered = np.arange(T) == lengths[some][:, None]  # cut off: it got there, no further
    state = np.where(entered, log.rows.t[at], s)
    v = _value(values, h, state)
    q = case.r + case.gamma * case.expected(values) if values.ndim == 1 else None
    pair = q[s, a] if q is not None else _ahead(case, values, h, s, a)
    known = has | over
    return Steps(
        rho,
        before,
        np.where(within, log.rows.r[at], 0.0),
        np.where(within, pair, 0.0),
        np.where(has | (entered & ~over), v, 0.0),
        known & (h < (case.horizon or T)),
        (known | entered) & (h < (case.horizon or T + 1)),
    )


def _chance(policy: NDArray[Any], h: Any, s: Any, a: Any) -> Floats:
    """pi(a | s) at step h."""
    drawn = policy.dtype.kind == "f"
    timed = policy.ndim == (3 if drawn else 2)
    h = np.minimum(h, len(policy) - 1)
    if drawn:
        return policy[h, s, a] if timed else policy[s, a]
    return ((policy[h, s] if timed else policy[s]) == a).astype(np.float64)


def _value(values: Floats, h: Any, s: Any) -> Floats:
    if values.ndim == 1:
        return values[s]
    return np.where(h < len(values), values[np.minimum(h, len(values) - 1), s], 0.0)


def _ahead(case: Case, values: Floats, h: Any, s: Any, a: Any) -> Floats:
    """q_h(s, a) = r + gamma p.v_{h+1}, [E, T]."""
    found = np.empty(s.shape)
    for k in range(s.shape[1]):
        ahead = values[k + 1] if k + 1 < len(values) else np.zeros(values.shape[1])
        found[:, k] = (case.r + case.gamma * case.expected(ahead))[s[:, k], a[:, k]]
    return found


def agreement(model: Any, robust: Estimate | None) -> str:
    """One sentence on whether the model and what happened say the same."""
    if robust is None:
        return "one episode says nothing of what another policy is worth: the model stands alone"
    shown = f"{robust.estimate:.4g} ({robust.lower:.4g} to {robust.upper:.4g})"
    few = robust.episodes < FEW
    rests = f"it rests on {robust.episodes:.2g} episodes, weights considered"
    if robust.episodes == 0:
        rests = "no episode does as the policy would to the end: there it is the model's word"
    if model.upper < robust.lower or robust.upper < model.lower:
        more = "more" if model.estimate > robust.estimate else "less"
        text = f"the model promises {more} than the log, by doubly robust evaluation {shown}"
        return f"{text}, though {rests}" if few else f"{text}; do not rely on the model"
    return f"the log agrees by doubly robust evaluation: {shown}" + (
        f", but {rests}" if few else ""
    )
