"""`gim.check`: what is wrong with an environment or a log, before anything is learned."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gim._base import html
from gim._base.escapes import escape, shown
from gim._base.terminal import duration
from gim.envs.worlds import world_of
from gim.logs.case import MOST_INFERRED
from gim.logs.log import Log
from gim.mdp.spaces import numbering_of
from gim.mdp.tabular import TabularMDP
from gim.runs.gymnasium_task import reward_range_of

STEPS = 2_000  # that are played in an environment
SEED = 0
NAMED = 5  # of a kind that a line names
SELDOM, OFTEN = 3, 30  # rows of a label that may be a typo, and of the one that is meant
CLOSE = 0.8  # how much such labels have in common, as difflib counts
SURE, ODD = 50, 0.02  # visits of a pair that seems certain, and the share that went elsewhere
ALONE = 0.9  # states left once or never, from which on they look like names
MANY = 64  # values of a variable that may be binned
FAR = 100.0  # times the usual size of a reward
STEP, PAIR = 1e-3, 5e-6  # seconds that a step ahead takes, and each pair of it
RISING = (
    ("none", "empty", "zero"), ("tiny", "very low", "very small"), ("low", "small", "few", "short"),
    ("mid", "medium", "middle", "normal", "some", "half"), ("high", "large", "many", "big", "long"),
    ("very high", "huge"), ("full", "all"),
)  # fmt: skip


@dataclass(frozen=True)
class Check:
    """What was found: `str()` is a list, `page()` a page.

    Attributes:
        problems: what must be mended, since what is learned would be wrong or nothing.
        warnings: what is worth a look.
        facts: what there is.
    """

    problems: tuple[str, ...]
    warnings: tuple[str, ...]
    facts: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def __str__(self) -> str:
        parts = (("problem", self.problems), ("warning", self.warnings), ("fact", self.facts))
        lines = [f"{kind + ':':9} {shown(text, 2000)}" for kind, each in parts for text in each]
        n, m = len(self.problems), len(self.warnings)
        return "\n".join([*lines, f"{n} problem{'s' * (n != 1)}, {m} warning{'s' * (m != 1)}"])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = (("Problems", self.problems), ("Warnings", self.warnings), ("Facts", self.facts))
        items = {name: "".join(f"<li>{escape(text)}</li>" for text in each) for name, each in parts}
        return "".join(f"<h2>{name}</h2><ul>{each}</ul>" for name, each in items.items() if each)

    def page(self, title: str = "Before learning") -> str:
        """One HTML file without scripts; nothing is fetched."""
        verdict = f"<p>{escape(str(self).splitlines()[-1])}.</p>"
        return html.document(title, f"<h1>{escape(title)}</h1>{verdict}{self._repr_html_()}")


def check(thing: Any) -> Check:
    """Look at an environment or a log before learning from it.

    Args:
        thing: a `gim.Log`, a Gymnasium environment, a `TabularMDP`, or the name of a world.

    Example:
        >>> import gim
        >>> rows = [("low", "buy", 1.0, "low")] * 40 + [("lwo", "buy", 1.0, "low")]
        >>> print(gim.check(gim.from_log(rows)).warnings[0])
        state 'lwo' (once) may be 'low' (81 times) with a typo
        >>> gim.check("riverswim").ok
        True
    """
    found: dict[str, list[str]] = {"problems": [], "warnings": [], "facts": []}
    if isinstance(thing, Log):
        _log(thing, **found)
    else:
        world = world_of(thing)
        if isinstance(world, TabularMDP):
            _table(world, **found)
        else:
            _environment(world, **found)
    return Check(*map(tuple, found.values()))


# -- logs


def _log(log: Log, problems: list[str], warnings: list[str], facts: list[str]) -> None:
    lines = [" ".join(line.split()) for line in log.describe().splitlines()]
    facts += [line for line in lines if not line.startswith("left out")]
    n, seen = log.counts.n, log.triples
    for reason, many in log.problems.items():
        problems.append(f"{many:,} row{'s' * (many > 1)} cannot be used: {reason}")
    if log.censored > 0.5 * (log.censored + len(log)):
        problems.append(
            f"of {log.censored:,} rows, {log.censored / (log.censored + len(log)):.0%}, nobody saw "
            "where they led: name the column of the next state, or the episodes"
        )
    once = float((n.sum(axis=1) <= 1).mean())
    if log.S > MANY and once > ALONE:
        problems.append(
            f"{once:.0%} of {log.S:,} states were left once or never: one of their columns numbers "
            "rows, or measures something; leave it out of the state, or bin it"
        )
    paid = log.counts.R[n > 0] / n[n > 0]
    if np.allclose(paid, paid[0], rtol=1e-9, atol=0.0) and paid.size > 1:
        problems.append(f"every pair pays {paid[0]:.6g}: all policies look alike")
    of_states = np.bincount(seen.s, seen.n, log.S) + np.bincount(seen.t, seen.n, log.S)
    warnings += _typos("state", log.states, of_states)
    warnings += _typos("action", log.actions, np.bincount(seen.a, seen.n, log.A))
    for kind, made_of in (("state", log.variables), ("action", log.action_variables)):
        each = () if made_of is None else made_of.columns
        for name, (_, levels, ordinal) in zip(made_of.names if made_of else (), each, strict=True):
            if ordinal and len(levels) > MANY:
                warnings.append(f"{name!r} has {len(levels):,} values: bins= may tell more of each")
            elif not ordinal:
                warnings += _order(repr(name), levels)
        if made_of is None:
            labels = log.states if kind == "state" else log.actions
            warnings += _order(f"the column of the {kind}", labels)
    low, high = log.paid
    usual = float(np.quantile(np.abs(paid), 0.9))
    if usual > 0 and max(abs(low), abs(high)) > FAR * usual:
        warnings.append(f"rewards reach from {low:g} to {high:g}, where most are below {usual:g}")
    if log.reward_range is None:
        warnings.append(
            f"nobody said how large rewards may be: reward_range=({low:g}, {high:g}) if those seen "
            "are the extremes; bounds that rest on it are not stated otherwise"
        )
    if log.episodes.n.sum() == 1 and log.given_start is None:
        warnings.append("one long episode tells nothing of where others begin: say start=")
    alone = log.left & ((n > 0).sum(axis=1) == 1)
    if log.A > 1 and alone.sum() > 0.5 * log.left.sum():
        warnings.append(
            f"in {alone.sum():,} of {log.left.sum():,} states one action alone was tried"
        )
    warnings += _strays(log)
    facts += _effort(log)


def _typos(kind: str, labels: Any, often: Any) -> Iterable[str]:
    """Texts that stand there seldom and are nearly others that stand there often."""
    texts = {k: str(x) for k, x in enumerate(labels) if isinstance(x, str)}
    usual = [text for k, text in texts.items() if often[k] >= OFTEN]
    place = {text: k for k, text in texts.items()}
    for k, text in texts.items():
        if 0 < often[k] <= SELDOM and (
            like := difflib.get_close_matches(text, usual, 1, CLOSE * 0.75)
        ):
            if (
                sorted(text) != sorted(like[0])
                and difflib.SequenceMatcher(None, text, like[0]).ratio() < CLOSE
            ):
                continue
            one, other = int(often[k]), int(often[place[like[0]]])
            times = "once" if one == 1 else f"{one} times"
            yield f"{kind} {text!r} ({times}) may be {like[0]!r} ({other:,} times) with a typo"


def _order(name: str, levels: Any) -> Iterable[str]:
    """Texts that have an order of their own, which nobody has said."""
    rank = {word: k for k, words in enumerate(RISING) for word in words}
    found = [str(x) for x in levels if str(x).lower() in rank]
    if len({rank[x.lower()] for x in found}) > 1:
        order = ", ".join(sorted(found, key=lambda x: rank[x.lower()]))
        yield f"{name} seems to rise: {order}; levels= says so"


def _strays(log: Log) -> Iterable[str]:
    """Pairs that always lead to one place, but for a few times."""
    seen = log.triples
    pair = seen.s * log.A + seen.a
    total = np.bincount(pair, seen.n, log.S * log.A)
    most = np.zeros(log.S * log.A)
    np.maximum.at(most, pair, seen.n)
    sure = (total >= SURE) & (most < total) & (most >= (1 - ODD) * total)
    certain = int(((total >= SURE) & (most == total)).sum())
    if certain and sure.sum() <= certain / 4:
        for k in np.flatnonzero(sure)[:NAMED].tolist():
            s, a = divmod(k, log.A)
            yield (
                f"{log.actions[a]!r} in {log.states[s]!r} led elsewhere "
                f"{total[k] - most[k]:.0f} of {total[k]:.0f} times, where {certain:,} other pairs "
                "always do the same"
            )


def _effort(log: Log) -> Iterable[str]:
    """What will take how long."""
    took = duration(max(seconds_to_plan(log, log.longest), 1.0))
    yield f"to plan for {log.longest:,} steps takes some {took}"
    if log.S * int(np.count_nonzero(log.counts.n)) > MOST_INFERRED:
        yield f"{log.S:,} states are too many to infer from one another"


def seconds_to_plan(log: Log, steps: int) -> float:
    """What it takes to look so many steps ahead, roughly."""
    return steps * (STEP + PAIR * log.S * log.A)


# -- worlds


def _table(mdp: TabularMDP, problems: list[str], warnings: list[str], facts: list[str]) -> None:
    low, high = float(mdp.rewards[mdp.available].min()), float(mdp.rewards[mdp.available].max())
    facts.append(f"a table: {mdp.S:,} states, {mdp.A:,} actions, horizon {mdp.horizon}")
    facts.append(f"episodes begin in {np.count_nonzero(mdp.start):,} states")
    facts.append(f"mean rewards of pairs from {low:g} to {high:g}")
    if lost := int((~mdp.reachable()).sum()):
        warnings.append(f"{lost:,} of {mdp.S:,} states are never reached")
    if low == high:
        problems.append(f"every pair pays {low:g}: all policies look alike")
    inner = np.diff(mdp.rows().indptr)[np.repeat(~mdp.terminal, mdp.A)]
    facts.append(f"{(inner == 1).mean():.0%} of pairs always lead to one state")


def _environment(env: Any, problems: list[str], warnings: list[str], facts: list[str]) -> None:
    """Play at random, twice with the same seed."""
    numbers = {}
    for what in ("observation_space", "action_space"):
        try:
            numbers[what] = numbering_of(what, getattr(env, what))
            facts.append(f"{what}: {numbers[what].n:,} values")
        except ValueError as problem:
            problems.append(str(problem))
    try:
        told = reward_range_of(env)
    except ValueError as problem:
        told = None
        problems.append(str(problem))
    if problems:
        return
    one, two = (_played(env, numbers, problems) for _ in range(2))
    if problems:
        return
    if one != two:
        problems.append("the same seed gives another episode: randomness must come from np_random")
    rewards = [r for _, _, r, _ in one]
    low, high = min(rewards), max(rewards)
    facts.append(f"{len(one):,} random steps paid from {low:g} to {high:g}")
    if told is None:
        warnings.append(
            f"nobody said how large rewards may be: env.reward_range = ({low:g}, {high:g})"
        )
    elif low < told[0] or high > told[1]:
        problems.append(
            f"reward_range says {told[0]:g} to {told[1]:g}, but steps paid {low:g} to {high:g}"
        )
    if low == high:
        warnings.append(f"every step paid {low:g}: what pays more was not met at random")
    led: dict[Any, set[Any]] = {}
    for s, a, _, t in one:
        led.setdefault((s, a), set()).add(t)
    share = sum(len(each) == 1 for each in led.values()) / len(led)
    met = len({s for s, *_ in one})
    facts.append(f"{met:,} states met; {share:.0%} of pairs led to one state only")


def _played(env: Any, numbers: dict[str, Any], problems: list[str]) -> list[Any]:
    """So many steps at random."""
    seen, act = numbers["observation_space"], numbers["action_space"]
    rng, steps = np.random.default_rng(SEED), []
    observation, _ = env.reset(seed=SEED)
    s = seen.encode(observation)
    for _ in range(STEPS):
        a = int(rng.integers(act.n))
        observation, r, ended, cut, _ = env.step(act.decode(a))
        t = seen.encode(observation)
        if t < 0 or s < 0:
            problems.append(f"an observation is not in its space: {shown(observation)}")
            return []
        if not isinstance(r, (int, float, np.number)) or not math.isfinite(r):
            problems.append(f"a step paid {r!r}: a reward is a finite number")
            return []
        steps.append((s, a, float(r), t))
        s = t
        if ended or cut:
            observation, _ = env.reset()
            s = seen.encode(observation)
    return steps
