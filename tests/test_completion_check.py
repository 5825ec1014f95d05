"""The conformance check of completions: it finds what is wrong, and nothing else."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from gim.model.completion import ALS, Completed, completions
from gim.testing.completion import check_completion, make_problem


class Liar:
    """A completion that breaks one rule at a time."""

    def __init__(self, rule):
        self.rule = rule
        self.calls = 0

    def __call__(self, matrices, weights, rng):
        self.calls += 1
        if self.rule == "nan":
            matrices = np.nan_to_num(matrices, posinf=0, neginf=0)
        elif self.rule == "weights":
            weights = (weights > 0) + 0.0 * weights
        done = ALS(rank=2, ridge=0)(matrices, weights, rng)
        if self.rule == "seed":
            return done._replace(matrices=done.matrices + 1e-12 * self.calls)
        if self.rule == "shape":
            return done._replace(matrices=done.matrices[:1])
        if self.rule == "mutates":
            matrices[0, 0, 0] += 1
        if self.rule == "zeros":
            return done._replace(matrices=np.zeros_like(matrices))
        if self.rule == "nothing seen":
            return done._replace(converged=True)
        return done


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        ("nan", "takes nan"),
        ("weights", "gives weight to entries"),
        ("seed", "seed does not fix"),
        ("shape", "returns"),
        ("mutates", "changes the matrices"),
        ("zeros", "recovers to"),
        ("nothing seen", "nothing seen|runs away"),
    ],
)
def test_the_check_finds_what_is_wrong(rule, complaint):
    with pytest.raises(AssertionError, match=complaint):
        check_completion(Liar(rule))


def test_the_check_takes_a_plain_function():
    def mine(matrices, weights, rng):
        return ALS(rank=2, ridge=0)(matrices, weights, rng)

    check_completion(mine)


def test_the_check_finds_a_method_that_always_says_converged():
    @dataclasses.dataclass(frozen=True)
    class Hasty:
        max_iterations: int = 500

        def __call__(self, matrices, weights, rng):
            method = ALS(rank=2, ridge=0, max_iterations=self.max_iterations)
            done = method(matrices, weights, rng)
            return done._replace(converged=bool(weights.any()))

    with pytest.raises(AssertionError, match=r"converged after one iteration|runs away"):
        check_completion(Hasty())


def test_make_problem_is_of_rank_two():
    truth, seen = make_problem(0)
    assert np.linalg.matrix_rank(truth).tolist() == [2, 2, 2]
    assert isinstance(ALS(rank=2)(truth, seen, np.random.default_rng(0)), Completed)


@pytest.mark.parametrize("name", completions.names())
def test_what_a_method_says_it_recovers_is_more_than_zeros_would(name):
    """Zeros in place of all entries are off by 1, relatively: a check at 1 would check nothing."""
    assert getattr(completions[name], "recovers", 1e-3) < 0.2
