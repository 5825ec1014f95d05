"""The kits for walks and inferences bite: a thing that breaks one rule is told which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pytest

from gim.exploration.balanced import Balanced
from gim.exploration.base import NOTHING, Exploration, explorations, new_choices
from gim.inference import Inference, inferences, prior_of
from gim.jit import hot
from gim.model.counts import dense, transitions
from gim.params import OneOf
from gim.sampling import pick
from gim.testing import check_inference, check_walk

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
