"""Whether certificates keep their word: coverage of bounds over pairs and over runs, and width."""

from __future__ import annotations

import math

import numpy as np

from gim.belief.shares import SHARE, percent
from gim_lab.experiments.analogy import settings
from gim_lab.experiments.analogy.settings import ANALOGIST, SMALL, AnalogyStudy, Place, longer_only
from gim_lab.experiments.artefact import Artefact, Table
from gim_lab.experiments.cells import Cell, Floats, ResultsByCell, pick
from gim_lab.experiments.experiment import cells_of
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.tables import NOTHING

PARTS = ("ranks", "unrelated", "classics")  # whose runs are looked at
SHORT = longer_only(SMALL) | {"paper": 1_000, "full": 10_000}  # much is still inferred at the end
PLACES = (  # and worlds that break the pattern
    Place("gate", "gate:S=30,A=12,behind=8", SHORT),
    Place("exceptions", "exceptions:S=20,A=12", SHORT),
    Place("linear", "linear:S=20,A=12", SHORT),
    Place("inventory", "inventory:capacity=14,largest=6", SHORT),
)
HOLDS, FAILS = "holds", "fails"
KINDS = {"credible": "", "guaranteed": "guaranteed_"}  # what their columns begin with
ERRORS = {  # what is bounded: the columns of coverage, over inferred pairs and those never met
    "|(p - q)·V|": ("coverage", "coverage_unmet"),
    "||p - q||₁": ("coverage_l1", "coverage_unmet_l1"),
}


class CertificateCoverage(AnalogyStudy, name="certificate"):
    """Whether certificates keep their word: coverage over pairs and over runs, and width."""

    names = ("coverage",)
    place = 104
    title = "Study: do certificates keep their word?"
    statement = "Do bounds on inferred pairs, returns and losses hold as often as they say?"

    def cells(self, scale: Scale) -> list[Cell]:
        """The Analogist's runs on every task of the study, and on those that break patterns."""
        parts = [*(cells_of(part, scale) for part in PARTS), settings.cells(PLACES, scale)]
        return [cell for part in parts for cell in pick(part, agent=ANALOGIST)]

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Coverage of both bounds of each kind, and the bound on the loss of the policy."""
        found = self.cells(results.scale)
        tables = [coverage_table(results, found, kind, error) for kind in KINDS for error in ERRORS]
        return self.artefact(
            tables=[*tables, *(loss_table(results, found, kind) for kind in KINDS)],
            notes=[
                f"Each inferred pair has a bound with a nominal coverage of {percent()}, "
                "or none, for want of judges of its kind. Bounds hold on a task if their mean "
                "coverage over the runs is at least nominal, less two standard errors.",
                f"Bounds on returns and losses are to hold in {percent()} of the runs.",
                "Taken at the end of each run, against the exact dynamics.",
            ],
        )


def coverage_table(results: ResultsByCell, cells: list[Cell], kind: str, error: str) -> Table:
    """A row per task: the share of inferred pairs whose error keeps within its bound."""
    prefix, (of_all, of_unmet) = KINDS[kind], ERRORS[error]
    rows = []
    for cell in cells:
        share, unmet = (measured(results, cell, prefix + name) for name in (of_all, of_unmet))
        rows.append(
            [
                cell.panel,
                f"{share.size} of {len(cell.trials)}",
                mean(measured(results, cell, "inferred"), ",.0f"),
                mean(measured(results, cell, f"{prefix}unbounded"), ".3f"),
                with_error(share),
                coverage_verdict(share, SHARE),
                mean(measured(results, cell, "unmet"), ",.0f"),
                mean(measured(results, cell, f"{prefix}unbounded_unmet"), ".3f"),
                with_error(unmet),
                coverage_verdict(unmet, SHARE),
            ]
        )
        if error == next(iter(ERRORS)):
            rows[-1].append(mean(measured(results, cell, f"{prefix}tightness"), ".2f"))
    heads = ["task", "runs", "inferred", "no bound", "coverage", "verdict"]
    heads += ["never met", "of these no bound", "of these coverage", "of these verdict"]
    heads += ["bound / error"] if error == next(iter(ERRORS)) else []
    note = (
        "Means over the runs in which pairs were inferred; coverage of those with a bound ± its "
        "standard error over runs; bound / error is a median."
    )
    return Table(f"The {kind} certificate on {error}", heads, rows, note)


def loss_table(results: ResultsByCell, cells: list[Cell], kind: str) -> Table:
    """A row per task: the bound on what the policy loses, what it does lose, how often it holds."""
    prefix = KINDS[kind]
    rows = []
    for cell in cells:
        names = (f"{prefix}loss_bound", "loss", f"{prefix}loss_kept", f"{prefix}return_kept")
        bound, loss, kept, earned = (measured(results, cell, name) for name in names)
        rows.append(
            [
                cell.panel,
                mean(bound, ".3f"),
                mean(loss, "z.3f"),
                with_error(kept),
                coverage_verdict(kept, SHARE),
                with_error(earned),
                coverage_verdict(earned, SHARE),
            ]
        )
    heads = ["task", "bound", "loss", "loss kept", "verdict"]
    heads += ["return within its bounds", "verdict of returns"]
    note = "Shares of the optimum; means over the runs that have a bound."
    return Table(f"The loss of the policy: {kind}", heads, rows, note)


def measured(results: ResultsByCell, cell: Cell, column: str) -> Floats:
    """A column over the runs that have it: NaN is a run in which nothing was inferred."""
    if column not in results.table.columns:
        return np.zeros(0)
    values = results.values(cell, column)
    return values[np.isfinite(values)]


def coverage_verdict(coverage: Floats, nominal: float) -> str:
    """Holds, fails, or cannot be told since nothing was inferred."""
    if not coverage.size:
        return NOTHING
    slack = 2 * standard_error(coverage) if coverage.size > 1 else 0.0
    return HOLDS if coverage.mean() >= nominal - slack else FAILS


def standard_error(values: Floats) -> float:
    """Of their mean; NaN for a single one."""
    return float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else math.nan


def mean(values: Floats, form: str) -> str:
    """As text."""
    return format(values.mean(), form) if values.size else NOTHING


def with_error(values: Floats) -> str:
    """Mean ± standard error."""
    error = f" ± {standard_error(values):.3f}" if values.size > 1 else ""
    return mean(values, ".3f") + error
