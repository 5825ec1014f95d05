"""`gim.learn`: from a log to a policy, with what it is worth."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim._base.arguments import whole
from gim._base.threads import one_thread
from gim.analogy.base import Frame, Inference, inferences
from gim.belief.change import Called, Change
from gim.belief.comparison import Latest
from gim.belief.noticing import change_within
from gim.logs.bans import check_allowed, restricted, restriction
from gim.logs.case import MOST_INFERRED, baseline_of, inferred, models_for
from gim.logs.learned import Learned, scaled
from gim.logs.log import Log
from gim.logs.off_policy import Estimate, doubly_robust, steps_of
from gim.logs.safe import safe_policy, spec_of
from gim.logs.units import learn_of_family, learn_units
from gim.logs.worth import values_of
from gim.mdp.policy import Policy
from gim.model.learned import LearnedModel
from gim.model.rewards import Payments, seen_range
from gim.planning.checks import checked_discount, checked_weight
from gim.runs.priors_given import family_in

DEFAULT = "bernstein"  # chosen by `gim reproduce logs`; see docs/logs.md
FAR = 0.999  # a discount that stands for the average where policies are made safe
MOST_PLANNED = 1 << 27  # steps times pairs
IDENTIFIERS, NEARLY = 1_000, 0.9  # states, and the share of them left once, that look like names
ALL_ALIKE = 20  # pairs that pay the same, from which on it is worth a word


@one_thread()
def learn(
    log: Log,
    *,
    infer: Any = "analogy",
    safe: Any = None,
    baseline: Any = None,
    discount: float | None = None,
    horizon: int | None = None,
    rewards: Literal["learn"] | Payments = "learn",
    average: bool = False,
    prior: Any = None,
) -> Learned:
    """Learn a policy from a log; from one that tells units apart, a policy for each.

    A log with a `unit=` gives a mapping of its units to what was learned of each, from its own rows
    and from what the others of its family have shown (`gim.logs.units.LearnedUnits`).

    Args:
        log: from `gim.from_log`.
        infer: what predicts pairs from others, by name, spec string or object; None: nothing, the
            counts speak for themselves.
        safe: how careful the policy is: "plain", "vi_lcb", "r_min", "ramdp", "duipi", "spibb",
            "lower_spibb", "robust", "bernstein", a spec string such as "spibb:n=5"; None: the last.
        baseline: the policy to improve on, [S] or [S, A], a `Policy`, or a function or a mapping of
            the log's states to its actions; None: the log's behaviour. What `available=` of the
            log bans is taken out of it, which `.behind.notes` then say.
        discount: the weight of each step against the one before; without a horizon there is no end.
        horizon: H; with neither, that of the longest episode.
        rewards: "learn", or known ones: a table [S, A] or [S, A, S], or a function of the labels
            of a state, an action and a next state.
        average: learn for the average reward of a step without end, in place of a return: for logs
            of what goes on and on. The policy is the safe one that looks some thousand steps ahead;
            its `gain` and `bias` are those of no end at all, and values are by step.
        prior: what was learned elsewhere, as in `gim.run`: the `gim.Family` that the log is of a
            unit of, or a model, a log, a run, a path, or a list
            of these, in the labels of the log. Inference judges it by what the log has seen;
            without inference its visits count as the log's own.

    Example:
        >>> import gim
        >>> log = gim.from_log([("low", "buy", -1.0, "high"), ("high", "wait", 2.0, "low")] * 5)
        >>> learned = gim.learn(log, horizon=4)
        >>> learned.policy("low"), round(learned.value.estimate, 9)
        ('buy', 2.0)
    """
    if not isinstance(log, Log):
        raise ValueError(f"gim.learn takes a gim.Log, not {type(log).__name__}: see gim.from_log")
    given = {"baseline": baseline, "discount": discount, "horizon": horizon}
    given |= {"safe": safe, "rewards": rewards, "infer": infer, "average": average}
    if log.units is not None:
        return learn_units(log, given, learn)  # type: ignore[return-value]
    if (family := family_in(prior)) is not None:
        return learn_of_family(family, log, given, learn)
    if average:
        if horizon is not None or discount is not None:
            raise ValueError("the average has no end and no discount: leave out horizon, discount")
        if log.terminal.any():
            warnings.warn(
                "episodes of this log end, and an end pays nothing for ever, so that averages tend "
                "to 0: give horizon= or discount=, or leave the ends out",
                stacklevel=2,
            )
        discount = FAR
    method = safe_policy(DEFAULT if safe is None else safe)
    if discount is not None:
        discount = (checked_discount if horizon is None else checked_weight)(discount)
    if horizon is not None:
        horizon = whole("horizon", horizon, low=1)
    elif discount is None:
        horizon = log.longest
    if horizon is not None and horizon * log.S * log.A > MOST_PLANNED:
        raise ValueError(
            f"{horizon} steps of {log.S * log.A} pairs are too many to plan: give a shorter "
            "horizon=, or discount="
        )
    acted = baseline_of(baseline, log)
    barred = restriction(acted, log.allowed, log.left | (baseline is not None), log)
    acted = restricted(acted, log.allowed)
    once = float((log.counts.n.sum(axis=1) <= 1).mean())
    if log.S > IDENTIFIERS and once > NEARLY:
        warnings.warn(
            f"{once:.0%} of {log.S:,} states were left once or never, which takes long and tells "
            "little: if a column is an identifier or a time, leave it out of the state, or bin it",
            stacklevel=2,
        )
    paid = log.counts.R[log.counts.n > 0] / log.counts.n[log.counts.n > 0]
    alike = paid.size >= ALL_ALIKE and np.allclose(paid, paid[0], rtol=1e-9, atol=0.0)
    if isinstance(rewards, str) and alike:
        warnings.warn(
            f"every pair of the log pays {paid[0]:.6g}, so all policies look alike: what pays more "
            "was never met; log more episodes, or give rewards=",
            stacklevel=2,
        )

    change = change_in(log, infer, isinstance(rewards, str))
    if change is not None:
        log = since(log, change)
    models = () if prior is None else models_for(log, prior, infer)
    found = inferred(log, infer, acted, horizon, discount, rewards, models)
    told = [] if change is None else [f"the world has changed: {change}"]
    found = found._replace(notes=[*told, *found.notes, *barred])
    chosen, (states, actions) = method(found.case), log.names()
    check_allowed(chosen, log, f"the safe policy {type(method).__name__}")
    known = found.supported.any(axis=1) | log.left | log.terminal
    policy = Policy(chosen, states, actions, seen=known, declared=log.declared)
    asked: dict[str, Any] = {
        "infer": None if infer is None else str(infer),
        "safe": spec_of(method),
        "average": average,
    }
    asked |= {} if average else {"discount": discount, "horizon": horizon}
    asked |= {} if baseline is None else {"baseline": acted}
    asked |= {} if isinstance(rewards, str) else {"rewards": found.case.r}
    return Learned(log, policy, found.model, method, found, average, change, asked)


def unpack_learned(arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> Learned:
    """The inverse of `Learned.pack`."""

    def part(name: str) -> dict[str, NDArray[Any]]:
        return {k[len(name) + 1 :]: v for k, v in arrays.items() if k.startswith(f"{name}.")}

    given: dict[str, Any] = {
        name: arrays[name] for name in ("baseline", "rewards") if name in arrays
    }
    priors = enumerate(meta["priors"])
    prior = [LearnedModel.unpack(part(f"prior{k}"), each) for k, each in priors]
    log = Log.unpack(part("log"), meta["log"])
    found = learn(log, **dict(meta["asked"]), **given, prior=prior or None)
    states, actions = log.names()
    policy = Policy(arrays["policy"], states, actions, seen=arrays["known"].astype(bool),
                    declared=log.declared)  # fmt: skip
    model = LearnedModel.unpack(part("model"), meta["model"])
    return replace(found, policy=policy, model=model)


def change_in(log: Log, infer: Any, paid: bool) -> Change | None:
    """What changed, and with which episode; where episodes are few and long, with which row."""
    if log.kept is None:  # nobody knows which came first
        return None
    rows, by_episode = log.rows, len(log.starts) ** 2 > len(log)
    infer = inferences.make(infer)
    if not isinstance(infer, Inference) or log.S * np.count_nonzero(log.counts.n) > MOST_INFERRED:
        infer = None
    block = rows.episode.astype(np.int64) if by_episode else np.arange(len(log))
    pair = rows.s.astype(np.int64) * log.A + rows.a
    latest = Latest(pair, rows.t.astype(np.int64), rows.r, block)
    met = log.allowed | log.terminal[:, None] | (log.counts.n > 0)
    made_of = log.variables, log.action_variables
    frame = Frame(met, log.terminal, seen_range(log.counts), (), *made_of, not paid)
    states, actions = log.names()
    called = Called(states, actions, log.variables)
    unit = "episode" if by_episode else "row"
    return change_within(latest, rows.episode, infer, frame, called, unit, paid)


def since(log: Log, change: Change) -> Log:
    """The log without what says nothing of the world since: earlier rows of pairs that changed.

    Who acted stays who acted: rows that are left out were no choice of his.
    """
    rows = log.rows
    if rows.propensity is None:
        likely = log.behaviour[rows.s, rows.a]
        log = replace(log, kept=rows._replace(propensity=likely))
    block = rows.episode if change.unit == "episode" else np.arange(len(log))
    pair = rows.s.astype(np.int64) * log.A + rows.a
    return log.only((block >= change.since) | ~np.isin(pair, change.pairs))


class Held(NamedTuple):
    """A policy learned without a part of the episodes, and what the model and they say of it."""

    model: float  # its value on the model that it was learned with
    evaluation: Estimate  # doubly robust, by the episodes held out


def held_out(log: Log, folds: int = 2, seed: int = 0, **options: Any) -> list[Held]:
    """Check the whole way from log to policy on episodes that had no part in it.

    Args:
        log: of several episodes.
        folds: parts in which episodes are held out.
        seed: draws the parts.
        options: those of `gim.learn`.

    Example:
        >>> import gim
        >>> log = gim.from_log([("x", "go", 1.0, "x", i % 3 == 2) for i in range(60)], done="done")
        >>> [round(part.evaluation.estimate, 9) for part in gim.logs.held_out(log)]
        [3.0, 3.0]
    """
    folds, episodes = whole("folds", folds, low=2), len(log.starts)
    if episodes < folds:
        raise ValueError(f"{episodes} episodes cannot be held out in {folds} parts")
    fold = np.random.default_rng(seed).permutation(episodes) % folds
    found = []
    for k in range(folds):
        learned = learn(log.part(fold != k), **options)
        case, policy = learned.behind.case, np.asarray(learned.policy)
        steps = steps_of(log.part(fold == k), case, policy, values_of(case, policy))
        told = scaled(doubly_robust(steps, case.gamma, seed), 1 - FAR if learned.average else 1.0)
        found.append(Held(learned.value.estimate, told))
    return found
