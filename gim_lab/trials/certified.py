"""How the certificates of an agent that learns by analogy do, at the end of its run.

`gim_lab.trials.measures` has the meaning of the columns.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gim.analogy.analogy import Analogy
from gim.belief.certificate import Kind, certifiable, certify
from gim.runs.runs import Run
from gim_lab.trials.measures import CERTIFIED

KINDS: dict[str, Kind] = {"": "credible", "guaranteed_": "guaranteed"}  # by prefix of a column


def columns(run: Run) -> dict[str, float]:
    """The columns `CERTIFIED`, where there is anything to certify."""
    by_analogy = isinstance(run.agent.inference(), Analogy)
    if run.mdp is None or not by_analogy or not certifiable(run):
        return {}
    values = {
        prefix + name: value
        for prefix, kind in KINDS.items()
        for name, value in bounds_of(run, kind).items()
    }
    return {name: values[name] for name in CERTIFIED}


def bounds_of(run: Run, kind: Kind) -> dict[str, float]:
    """What a kind of certificate says of a run, beside the truth."""
    assert run.mdp is not None
    said = certify(run, kind=kind)
    true, best = said.against(run.mdp), abs(run.mdp.optimal_return()) or math.nan
    room, told = 1e-9 * (1.0 + abs(true.returns)), math.isfinite(said.loss)
    within = said.earns[0] - room <= true.returns <= said.earns[1] + room
    return {
        "inferred": float(said.inferred.sum()),
        "unmet": float(said.unmet.sum()),
        "unbounded": _share(said.unbounded[said.inferred]),
        "unbounded_unmet": _share(said.unbounded[said.unmet]),
        "coverage": true.value,
        "coverage_unmet": true.unmet_value,
        "coverage_l1": true.l1,
        "coverage_unmet_l1": true.unmet_l1,
        "tightness": true.tightness,
        "loss_bound": said.loss / best if told else math.nan,
        "loss": true.loss / best,
        "loss_kept": float(true.loss <= said.loss + room) if told else math.nan,
        "return_kept": float(within) if told else math.nan,
    }


def _share(found: NDArray[np.bool_]) -> float:
    return float(found.mean()) if found.size else math.nan
