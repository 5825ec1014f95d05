"""Checks that any matrix completion must pass, whatever its algorithm."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gim.model.completion.base import Completed, Completion, completions

Floats = NDArray[np.float64]

FAR = 100.0  # times the largest entry seen: what lies beyond is rubbish


class Problem(NamedTuple):
    """Matrices of exactly low rank that share their factors, so that joint methods can do them."""

    truth: Floats  # [3, 30, 20], each of rank 2
    seen: Floats  # [30, 20], 60 % ones


def check_completion(
    method: Completion, recovers: float | None = None, keeps: float = 0.1, seed: int = 0
) -> None:
    """Check a completion method on small matrices.

    It recovers exactly low-rank matrices from 60 % of their entries (pass the debiased form of a
    method that shrinks); keeps fully seen data within its bias; follows the weights, of which only
    the ratios count, or refuses them if ``method.weighted`` is False; leaves its arguments alone; a
    seed fixes every bit; NaN, infinities and negative weights are refused; matrices of zeros, empty
    rows and columns, single rows and columns give finite numbers; and where it fails it says so.

    Args:
        method: any callable with the signature of `gim.model.completion.Completion`.
        recovers: the relative error that a recovered matrix may have; by default what the method
            itself says (``method.recovers``), or a thousandth.
        keeps: the relative error that fully seen data may have.
        seed: of the matrices and of the method.

    Raises:
        AssertionError: with what does not hold.
    """
    problem = make_problem(seed)
    recovers = getattr(method, "recovers", 1e-3) if recovers is None else recovers
    _check_word(method)
    _check_form(method, problem, seed)
    _check_recovery(method, problem, recovers, keeps, seed)
    _check_weights(method, problem, recovers, seed)
    _check_refusals(method, problem, seed)
    _check_corners(method, problem, seed)
    _check_honesty(method, problem, seed)


def make_problem(seed: int) -> Problem:
    """Draw the matrices."""
    rng = np.random.default_rng((seed, 1))
    U, V = rng.standard_normal((30, 2)), rng.standard_normal((2, 20))
    cores = np.linalg.qr(rng.standard_normal((3, 2, 2))).Q * np.array([1.0, 0.7])
    return Problem(U @ cores @ V, (rng.random((30, 20)) < 0.6).astype(float))


def _complete(method: Completion, M: Floats, weights: Floats, seed: int) -> Completed:
    return method(M, weights, np.random.default_rng(seed))


def _error(completed: Floats, truth: Floats) -> float:
    return float(np.linalg.norm(completed - truth) / np.linalg.norm(truth))


def _check_word(method: Any) -> None:
    if type(method) in {completions[name] for name in completions.names()}:
        spec = str(method)
        assert completions.make(spec) == method, f"{spec} does not come back from its spec string"


def _check_form(method: Completion, problem: Problem, seed: int) -> None:
    M, seen = problem.truth * problem.seen, problem.seen.copy()
    before = M.copy()
    one, two = _complete(method, M, seen, seed), _complete(method, M, seen, seed)
    assert isinstance(one, Completed), f"returns {type(one).__name__}, not Completed"
    assert (before == M).all(), "changes the matrices it is given"
    assert (seen == problem.seen).all(), "changes the weights it is given"
    assert one.matrices.shape == M.shape, f"returns {one.matrices.shape}, not {M.shape}"
    assert one.matrices.dtype == np.float64, f"returns {one.matrices.dtype}, not float64"
    assert np.shape(one.rank) in ((), (len(M),)), "rank must be one number, or one a matrix"
    assert np.array_equal(one.matrices, two.matrices), "the seed does not fix the result"


def _check_recovery(
    method: Completion, problem: Problem, recovers: float, keeps: float, seed: int
) -> None:
    truth, seen = problem
    done = _complete(method, truth * seen, seen, seed)
    error = _error(done.matrices, truth)
    assert error <= recovers, f"recovers to {error:.1e}, not {recovers:.1e}"
    assert done.converged, "recovers the matrix, but says that it did not converge"
    assert done.residual <= 2 * recovers, f"residual {done.residual:.1e} of an exact problem"
    error = _error(_complete(method, truth, np.ones_like(seen), seed).matrices, truth)
    assert error <= keeps, f"changes fully seen data by {error:.1e}, more than {keeps:.1e}"
    junk = np.where(seen > 0, truth, 1e3)
    assert _error(_complete(method, junk, seen, seed).matrices, truth) <= recovers, (
        "looks at entries that were not seen"
    )


def _check_weights(method: Completion, problem: Problem, recovers: float, seed: int) -> None:
    truth, seen = problem
    rng = np.random.default_rng((seed, 2))
    wrong = (rng.random(seen.shape) < 0.1) & (seen > 0)
    data = np.where(wrong, truth + 5, truth) * seen
    weights = np.where(wrong, 1e-9, seen)
    if not getattr(method, "weighted", True):
        assert _refuses(method, data, weights, seed), "must refuse weights that it cannot follow"
        return
    error = _error(_complete(method, data, weights, seed).matrices, truth)
    allowed = 2 * recovers + 1e-6
    assert error <= allowed, f"gives weight to entries of weight 1e-9: error {error:.1e}"
    one = _complete(method, data, weights, seed).matrices
    scaled = _complete(method, data, 7 * weights, seed).matrices
    assert _error(scaled, one) < 1e-6, "depends on the size of the weights, not on their ratios"


def _check_refusals(method: Completion, problem: Problem, seed: int) -> None:
    truth, seen = problem
    for value in (np.nan, np.inf, -np.inf):
        broken = truth.copy()
        broken[1, 2, 3] = value
        assert _refuses(method, broken, seen, seed), f"takes {value} in the matrices"
        weights = seen.copy()
        weights[2, 3] = value
        assert _refuses(method, truth, weights, seed), f"takes {value} in the weights"
    weights = seen.copy()
    weights[2, 3] = -1
    assert _refuses(method, truth, weights, seed), "takes a negative weight"
    assert _refuses(method, truth, seen[:, 1:], seed), "takes weights of another shape"


def _refuses(method: Completion, M: Floats, weights: Floats, seed: int) -> bool:
    try:
        _complete(method, M, weights, seed)
    except ValueError:
        return True
    return False


def _check_corners(method: Completion, problem: Problem, seed: int) -> None:
    truth, seen = problem
    holes = seen.copy()
    holes[4], holes[:, 7] = 0, 0
    one_entry = np.zeros_like(seen)
    one_entry[3, 5] = 1
    corners = {
        "an empty row and column": (truth, holes),
        "one entry": (truth, one_entry),
        "nothing": (truth, np.zeros_like(seen)),
        "one row": (truth[:, :1], seen[:1]),
        "one column": (truth[:, :, :1], seen[:, :1]),
        "a single number": (truth[:1, :1, :1], np.ones((1, 1))),
        "zeros": (np.zeros_like(truth), seen),
        "a matrix of zeros among others": (truth * np.array([1, 0, 1])[:, None, None], seen),
        "tiny numbers": (1e-30 * truth, seen),
        "huge numbers": (1e30 * truth, seen),
    }
    for what, (M, weights) in corners.items():
        done = _complete(method, M * weights, weights, seed)
        assert done.matrices.shape == M.shape, f"{what}: the shape changes"
        assert np.isfinite(done.matrices).all(), f"{what}: not finite"
        bound = FAR * np.abs(M * weights).max()
        assert not done.converged or np.abs(done.matrices).max() <= bound, f"{what}: runs away"
    zeros = _complete(method, np.zeros_like(truth), seen, seed)
    assert not zeros.matrices.any(), "zeros become something else"
    assert not _complete(method, truth, np.zeros_like(seen), seed).converged, (
        "says that it converged, with nothing seen"
    )


def _check_honesty(method: Completion, problem: Problem, seed: int) -> None:
    """Noise with few entries seen has no completion: rubbish is allowed, calling it good is not."""
    rng = np.random.default_rng((seed, 3))
    noise, few = rng.standard_normal((3, 12, 10)), (rng.random((12, 10)) < 0.15).astype(float)
    done = _complete(method, noise * few, few, seed)
    assert np.isfinite(done.matrices).all(), "noise: not finite"
    assert not done.converged or np.abs(done.matrices).max() <= FAR * np.abs(noise).max(), (
        "noise: runs away and says that it converged"
    )
    names = [field.name for field in _fields(method)]
    if "max_iterations" in names:
        hasty: Any = dataclasses.replace(method, max_iterations=1)  # type: ignore[type-var]
        done = _complete(hasty, problem.truth * problem.seen, problem.seen, seed)
        assert not done.converged, "says that it converged after one iteration"


def _fields(method: Any) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(method) if dataclasses.is_dataclass(method) else ()
