"""How the certificate of an agent that learns by analogy does, at the end of its run.

`gim.experiments.measures` has the meaning of the columns. This file stands apart so that the trials
of agents that infer nothing do not depend on the code of inference.
"""

from __future__ import annotations

from gim.experiments.measures import CERTIFIED
from gim.inference.analogy import Analogy
from gim.inference.certificate import certifiable, certify
from gim.runs import Run


def columns(run: Run) -> dict[str, float]:
    """The columns `CERTIFIED`, where there is anything to certify."""
    by_analogy = isinstance(getattr(run.agent, "infer", None), Analogy)
    if run.mdp is None or not by_analogy or not certifiable(run):
        return {}
    found = certify(run)
    true, best = found.against(run.mdp), abs(run.mdp.optimal_return()) or float("nan")
    values = {
        "inferred": true.inferred,
        "coverage": true.value,
        "vacuous": found.vacuous,
        "coverage_l1": true.l1,
        "vacuous_l1": found.l1_vacuous,
        "unmet": found.unmet.sum(),
        "vacuous_unmet": found.unmet_vacuous,
        "loss_bound": found.loss / best,
        "loss": true.loss / best,
    }
    return {name: float(values[name]) for name in CERTIFIED}
