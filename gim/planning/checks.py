"""What planners accept, and what they say of the rest."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim._base.arguments import number, whole
from gim._base.limits import check_memory
from gim.planning.types import Dynamics, Floats

SUM_TOLERANCE = 1e-8
ENTRY = 1.5e-9  # seconds that one probability takes in a step
SOON, MOST_SECONDS = 20.0, 3600.0  # of which nothing is said, and which are refused
NEAREST = 1e-12  # that a discount may come to 1: the relative error is about 1e-16 over this


def checked_horizon(horizon: int) -> int:
    """A horizon is a whole number of steps, at least 1."""
    return whole("horizon", horizon, low=1)


def check_room(H: int, S: int, A: int = 1) -> None:
    """A number for each of H steps and each state, or each pair, must fit into memory."""
    pairs = f" and {A:,} actions" if A > 1 else ""
    check_memory(f"{H:,} steps of {S:,} states{pairs}", 8 * H * S * A)


def check_work(H: int, entries: int, seconds: float = 0.0) -> None:
    """Refuse steps that would take hours, and say beforehand of those that take long.

    Args:
        H: steps.
        entries: of the transitions, each of which a step takes up.
        seconds: that a step takes besides.

    Example:
        >>> check_work(10**12, 24)
        Traceback (most recent call last):
        ...
        ValueError: 1,000,000,000,000 steps would take some 10 hours: give fewer, or a discount
    """
    needed = H * (entries * ENTRY + seconds)
    if needed > MOST_SECONDS:
        raise ValueError(
            f"{H:,} steps would take some {needed / 3600:,.0f} hours: give fewer, or a discount"
        )
    if needed > SOON:
        warnings.warn(f"{H:,} steps take some {needed / 60:.1f} minutes", stacklevel=3)


def checked_max_iter(max_iter: int) -> int:
    """A limit of iterations is a whole number, at least 1."""
    return whole("max_iter", max_iter, low=1)


def checked_discount(discount: float) -> float:
    """A discount is in [0, 1), and not so near 1 that nothing is left of values but rounding."""
    if not 0 <= number("discount", discount) < 1:
        raise ValueError(
            f"discount = {discount} is not in [0, 1): without discounting, give a horizon instead"
        )
    if 1 - discount < NEAREST:
        raise ValueError(
            f"discount = {discount} is nearer to 1 than {NEAREST:g}, where values are lost in "
            "rounding: give a horizon instead"
        )
    return float(discount)


def checked_weight(discount: float) -> float:
    """A discount over a horizon is in [0, 1]."""
    if not 0 <= number("discount", discount) <= 1:
        raise ValueError(f"discount = {discount} is not in [0, 1]: over a horizon 1 means none")
    return float(discount)


def checked_tolerance(tolerance: float) -> float:
    """A tolerance is positive."""
    if not number("tolerance", tolerance) > 0:
        raise ValueError(f"tolerance {tolerance} is not positive: try 1e-8")
    return float(tolerance)


def checked_values(name: str, values: Any, S: int) -> Floats:
    """Values of states are S finite numbers; they are copied."""
    v = np.array(values, np.float64)
    if v.shape != (S,):
        raise ValueError(f"{name} has shape {v.shape}, not ({S},): give one value for each state")
    if not np.isfinite(v).all():
        s = np.flatnonzero(~np.isfinite(v))[0]
        raise ValueError(f"{name}[{s}] is {v[s]}: values are finite numbers")
    return v


def checked_policy(mdp: Dynamics, policy: Any, horizon: int | None) -> Any:
    """A policy is actions, int [S] or [H, S], or probabilities, float [S, A] or [H, S, A].

    Without a horizon (None) it is the same for all steps: [S] or [S, A].
    """
    pi = np.asarray(policy)
    if pi.dtype.kind in "iu":
        _check_shape("actions", pi, (mdp.S,), horizon)
        return _checked_actions(mdp, pi)
    if pi.dtype.kind == "f":
        _check_shape("probabilities", pi, (mdp.S, mdp.A), horizon)
        return _checked_probabilities(mdp, pi.astype(np.float64, copy=False))
    raise TypeError(
        f"a policy of dtype {pi.dtype} is neither actions (int [S] or [H, S]) "
        "nor probabilities (float [S, A] or [H, S, A])"
    )


def _check_shape(what: str, pi: NDArray[Any], one: tuple[int, ...], horizon: int | None) -> None:
    fits = [one] if horizon is None else [one, (horizon, *one)]
    if pi.shape not in fits:
        wanted = " or ".join(map(str, fits))
        raise ValueError(f"a policy of {what} has shape {pi.shape}, not {wanted}")


def _checked_actions(mdp: Dynamics, pi: Any) -> Any:
    states = np.arange(mdp.S)
    for h, actions in enumerate(np.atleast_2d(pi)):  # by step: a long policy is not copied
        out = (actions < 0) | (actions >= mdp.A)
        wrong = out if out.any() else ~mdp.available[states, actions]
        if not wrong.any():
            continue
        s = int(wrong.argmax())
        where = _at((s,) if pi.ndim == 1 else (h, s))
        if out[s]:
            raise ValueError(f"policy{where} = {actions[s]} is no action: 0 to {mdp.A - 1} are")
        raise ValueError(
            f"policy{where} = {actions[s]}, but action {actions[s]} is not available "
            f"in state {s}: {_available(mdp, s)}"
        )
    return pi


def _checked_probabilities(mdp: Dynamics, pi: Floats) -> Floats:
    wrong = ~((pi >= 0) & (pi <= 1 + SUM_TOLERANCE))
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0].tolist())
        raise ValueError(f"policy{_at(place)} = {pi[place]} is no probability")
    missing = (pi > 0) & ~mdp.available
    if missing.any():
        place = tuple(np.argwhere(missing)[0].tolist())
        raise ValueError(
            f"policy{_at(place)} = {pi[place]}, but action {place[-1]} is not available "
            f"in state {place[-2]}: {_available(mdp, place[-2])}"
        )
    sums = pi.sum(axis=-1)
    off = np.abs(sums - 1) > SUM_TOLERANCE
    if off.any():
        place = tuple(np.argwhere(off)[0].tolist())
        raise ValueError(f"policy{_at(place)} sums to {sums[place]:.6g}, not 1: normalise it")
    return pi


def _at(place: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, place))}]"


def _available(mdp: Dynamics, s: int) -> str:
    actions = np.flatnonzero(mdp.available[s]).tolist()
    return f"choose from {', '.join(map(str, actions))}"
