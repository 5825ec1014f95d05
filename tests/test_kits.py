"""The kits for walks, inferences, tasks and candidates bite: what breaks a rule is told which.

That for agents has a file of its own, tests/test_agent_kit.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
import pytest
from scipy import sparse

import gim
from gim._base.params import OneOf
from gim._compile.jit import hot
from gim.analogy import Inference, inferences, prior_of
from gim.analogy.candidates import Candidate, Fitted, candidates
from gim.mdp.sampling import pick
from gim.model.counts import dense, transitions
from gim.paper.walks.balanced import Balanced
from gim.paper.walks.base import NOTHING, Exploration, explorations, new_choices
from gim.testing import check_candidate, check_inference, check_task, check_walk

# -- walks


@hot
def idle(walk, counts, known, s, a, t, news):
    return NOTHING


def silent(walk, counts, known, s, a, t, news):
    pass


def meddle(walk, counts, known, s, a, t, news):
    known.mask[s, a] = True


def first(walk, counts, known, s, rng):
    return 0


def beyond(walk, counts, known, s, rng):
    return counts.n.shape[1]


def counting(walk, counts, known, s, rng):
    counts.n[s, 0] += 1
    return walk.actions[s, 0]


def stubborn(walk, counts, known, s, rng):
    """Available, but never random."""
    return walk.actions[s, 0]


@hot
def shy(walk, counts, known, s, rng):
    """As it should be but for the last action of state 0, which it takes only by chance of beta."""
    u, beta = rng.random(), walk.beta[0]
    if u < beta and (beta == 1.0 or s > 0):
        return pick(walk.actions, walk.n_actions, s, u / beta)
    return walk.actions[s, int(u * (walk.n_actions[s] - (s == 0)))]


class Walking(Exploration):
    """The base of walks that break a rule."""

    observe = staticmethod(idle)

    def start(self, counts, known, beta, rng):
        return new_choices(known.available, beta, rng)


explorations._made.pop("walking")


@pytest.mark.parametrize(
    ("choose", "observe", "complaint"),
    [
        (first, idle, "chooses 0, not available in state"),
        (beyond, idle, "chooses 3, which is no action"),
        (counting, idle, "choosing changes counts"),
        (stubborn, meddle, "observing changes counts"),
        (stubborn, silent, "observe returns None, not what it asks for"),
        (stubborn, idle, "with beta = 1 an action of state .*p-value"),
        (shy, idle, "never makes every pair known|stalled"),
    ],
)
def test_a_walk_that_breaks_a_rule_is_told_which(choose, observe, complaint):
    members = {"choose": staticmethod(choose), "observe": staticmethod(observe)}
    walk = dataclass(frozen=True)(type("Broken", (Walking,), members))
    try:
        with pytest.raises(AssertionError, match=complaint):
            check_walk(walk())
    finally:
        explorations._made.pop("broken")


def test_a_walk_that_its_spec_string_does_not_build_again_is_told_so():
    @dataclass(frozen=True)
    class Forgetful(Balanced):
        """Its spec string leaves a setting out."""

        pace: Annotated[int, "how fast"] = 1

        def __str__(self):
            return "forgetful"

    try:
        with pytest.raises(AssertionError, match="does not come back from its spec string"):
            check_walk(Forgetful(2))
    finally:
        explorations._made.pop("forgetful")


# -- inferences

RULES = {
    "kept": None,
    "mutates": "changes the counts",
    "seed": "the seed does not fix q",
    "negative": "n0 is negative",
    "not a number": "n0 is negative or not a number",
    "unplayable": "n0 speaks of pairs that cannot be played",
    "rewards": "r_n0 speaks of pairs that cannot be played",
    "signs": "a probability is negative",
    "sums": "a row does not sum to 1",
    "infinite": "a predicted reward is not finite",
    "silent": "predicts no pair, where pairs are alike",
    "wrong": "errs by",
}


@dataclass(frozen=True)
class Liar(Inference, name="test_liar"):
    """Every pair is like the average pair, but for one rule that it breaks."""

    rule: Annotated[str, OneOf(*RULES), "what to break"] = "kept"

    def __call__(self, counts, frame, rng):
        S, A = counts.n.shape
        mean = (dense(transitions(counts), (S, A)).sum(axis=(0, 1)) + 1 / S) / (counts.n.sum() + 1)
        playable = frame.available & ~frame.terminal[:, None]
        q, n0, r, r_n0 = np.tile(mean, (S, A, 1)), 1.0 * playable, np.zeros((S, A)), 1.0 * playable
        if self.rule == "mutates":
            counts.R[0, 0] += 1
        elif self.rule == "seed":
            q = np.random.default_rng().dirichlet(np.ones(S), (S, A))
        elif self.rule in ("negative", "not a number"):
            n0[0] = -1.0 if self.rule == "negative" else np.nan
        elif self.rule == "unplayable":
            n0 = np.ones((S, A))
        elif self.rule == "rewards":
            r_n0 = np.ones((S, A))
        elif self.rule == "signs":
            q = q + np.linspace(1, -1, S)
        elif self.rule == "sums":
            q = 0.9 * q
        elif self.rule == "infinite":
            r[0] = np.inf
        elif self.rule == "silent":
            n0 = 0 * n0
        elif self.rule == "wrong":
            q = np.tile(np.eye(S)[mean.argmin()], (S, A, 1))
        return prior_of(q, n0, r=r, r_n0=r_n0)


@pytest.fixture(autouse=True, scope="module")
def unregistered():
    yield
    inferences._made.pop("test_liar")


@pytest.mark.parametrize(("rule", "complaint"), [item for item in RULES.items() if item[1]])
def test_an_inference_that_breaks_a_rule_is_told_which(rule, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check_inference(Liar(rule))


def test_an_inference_that_breaks_none_passes():
    check_inference(Liar())


# -- tasks


class Truth(gim.TabularMDP):
    """A task that says of itself what is so; the others get one thing wrong."""


class Drawn(Truth):
    """Draws from other tables than it shows."""

    @cached_property
    def world(self):
        return gim.TabularMDP(**(self._arguments() | self.wrong)).world


class DrawsOtherPairs(Drawn):
    @property
    def wrong(self):
        return {"transitions": self.to_dense().transitions[:, ::-1]}


class DrawsTheImpossible(Drawn):
    @property
    def wrong(self):
        P = self.to_dense().transitions.copy()
        P[0, 0] = [0.5, 0.4, 0.1]
        return {"transitions": P}


class StartsElsewhere(Drawn):
    @property
    def wrong(self):
        return {"start": [0.2, 0.8, 0.0]}


class PaysOtherwise(Drawn):
    @property
    def wrong(self):
        return {"rewards": self.rewards + np.eye(3, 2)}


class BeatenByChance(Truth):
    def optimal_return(self):
        return self.random_return() - 1.0


class Endless(Truth):
    def optimal_return(self):
        return np.inf


class OtherWhenSparse(Truth):
    def to_sparse(self):
        return self.with_(transitions=self.rows(), rewards=self.rewards + np.eye(3, 2))


class LosesItsStart(Truth):
    def pack(self):
        arrays, meta = super().pack()
        return arrays | {"start": np.roll(arrays["start"], 1)}, meta


class LosesItsName(Truth):
    def pack(self):
        arrays, meta = super().pack()
        return arrays, meta | {"name": meta["name"] + " again"}


class SaysTooMuch(Truth):
    def to_gymnasium(self, render_mode=None):
        env = super().to_gymnasium(render_mode)
        env.reset = lambda **options: (self.S, {})
        return env


def task_of(kind):
    P = np.array([[[0.5, 0.5, 0], [0, 0.9, 0.1]], [[0.3, 0.3, 0.4], [1, 0, 0]], [[0, 0, 1]] * 2])
    return kind(P, [[0, 1], [2, 0], [1, 3]], start=[0.5, 0.5, 0], horizon=5, name="small")


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        (DrawsOtherPairs, r"the pair \(0, 0\) leads where it has probability 0"),
        (DrawsTheImpossible, r"the pair \(0, 0\) leads where it has probability 0"),
        (StartsElsewhere, "the start: p-value"),
        (PaysOtherwise, r"the pair \(0, 0\) pays another reward"),
        (BeatenByChance, "random beats the optimum"),
        (Endless, "optimum inf, .*not finite"),
        (OtherWhenSparse, "dense is not sparse"),
        (LosesItsStart, "packing changes start"),
        (LosesItsName, "packing changes name"),
        (SaysTooMuch, "as a Gymnasium environment"),
    ],
)
def test_a_task_that_breaks_a_rule_is_told_which(kind, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check_task(task_of(kind))


def test_a_task_that_breaks_none_passes():
    check_task(task_of(Truth))


# -- candidates

FAULTS = {
    "kept": None,
    "word": "does not come back from its spec string",
    "shape": "rows have shape",
    "signs": "a probability is negative or not a number",
    "sums": "a row does not sum to 1",
    "company": "what is said of a pair depends on who else is asked for",
    "trace": "held-out pairs leave a trace",
    "no row apart": r"apart\(pairs\) gives None",
    "shape apart": r"apart\(pairs\) has shape",
    "sums apart": r"apart\(pairs\): a row does not sum to 1",
    "own visits": "it has looked at them",
}


@dataclass(frozen=True)
class Cheat(Candidate, name="test_cheat"):
    """Every pair is like the average pair and its own visits, but for one rule that it breaks."""

    rule: Annotated[str, OneOf(*FAULTS), "what to break"] = "kept"
    leaves_one_out = True

    def __str__(self):
        return "test_cheat" if self.rule == "word" else super().__str__()

    def fit(self, data):
        if self.rule == "trace":
            seen.setdefault(id(data.facts), data.rows)
            seen[id(data.facts)] = seen[id(data.facts)].maximum(data.rows)
        return Cheating(self.rule, data)


seen: dict[int, sparse.csr_array] = {}


class Cheating(Fitted):
    def __init__(self, rule, data):
        self.rule, self.data = rule, data

    def _mean(self, pairs, share):
        """The pooled mean, to which each pair adds this share of its own visits."""
        data = self.data
        own = (seen[id(data.facts)] if self.rule == "trace" else data.rows)[pairs].toarray()
        q = (data.total + 1.0) + (share - 1.0) * own if share < 1.0 else data.total + 1.0 + 9 * own
        return q / q.sum(axis=1, keepdims=True)

    def rows(self, pairs):
        q = self._mean(pairs, 1.0)
        if self.rule == "shape":
            q = q[:, 1:]
        elif self.rule == "signs":
            q[:, 0] -= 1.0
            q[:, 1] += 1.0
        elif self.rule == "sums":
            q *= 0.9
        elif self.rule == "company":
            q = 0.5 * (q + q.mean(axis=0))
        return sparse.csr_array(q)

    def apart(self, pairs):
        if self.rule == "no row apart":
            return None
        q = self._mean(pairs, 1.0 if self.rule == "own visits" else 0.0)
        q = q[:, 1:] if self.rule == "shape apart" else q
        return sparse.csr_array(0.9 * q if self.rule == "sums apart" else q)


candidates._made.pop("test_cheat")  # an inference by analogy would try it wherever it is used


@pytest.fixture
def cheating():
    candidates.add("test_cheat", Cheat)
    seen.clear()
    yield
    candidates._made.pop("test_cheat")


@pytest.mark.usefixtures("cheating")
@pytest.mark.parametrize(("rule", "complaint"), [item for item in FAULTS.items() if item[1]])
def test_a_candidate_that_breaks_a_rule_is_told_which(rule, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check_candidate(Cheat(rule))


@pytest.mark.usefixtures("cheating")
def test_a_candidate_that_breaks_none_passes():
    check_candidate(Cheat())
