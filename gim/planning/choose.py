"""One question, `plan`, and the fastest method that answers it."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import Any

from gim.planning.checks import checked_max_iter
from gim.planning.discounted import (
    MAX_ITER,
    modified_policy_iteration,
    policy_iteration,
    value_iteration,
)
from gim.planning.finite import backward_induction
from gim.planning.plan import Dynamics, Plan


def auto(mdp: Dynamics, discount: float, tolerance: float = 1e-8, max_iter: int = MAX_ITER, patience: int=100) -> Plan:
    first = modified_policy_iteration(mdp, discount, tolerance, min(patience, max_iter))
    if first.converged or first.iterations == max_iter:
        return first
    second = policy_iteration(mdp, discount, tolerance, max_iter - first.iterations, v0=first.v)
    return replace(second, iterations=first.iterations + second.iterations)
