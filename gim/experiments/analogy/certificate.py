"""Whether the certificate keeps its word: coverage of the bounds over inferred pairs."""

from __future__ import annotations

import math

import numpy as np

from gim.experiments.analogy.gains import NOTHING
from gim.experiments.analogy.settings import ANALOGIST, AnalogyStudy
from gim.experiments.artefact import Artefact, Table
from gim.experiments.cells import Cell, Floats, ResultsByCell, pick
from gim.experiments.experiment import cells_of
from gim.experiments.scale import Scale

PARTS = ("ranks", "unrelated", "classics")  # whose runs are looked at
STATED = 0.9  # the share of inferred pairs whose bound is to hold
HOLDS, FAILS = "holds", "fails"
ERRORS = {  # what is bounded: the columns of coverage and of vacuous bounds
    "|(p - q)·V|": ("coverage", "vacuous"),
    "||p - q||₁": ("coverage_l1", "vacuous_l1"),
}


class CertificateCoverage(AnalogyStudy, name="certificate"):
    """Whether the certificate keeps its word: coverage of the bounds over inferred pairs."""

    names = ("coverage",)
    place = 104
    title = "Study: does the certificate keep its word?"
    statement = "Do the bounds on inferred pairs hold as often as they say, on every task?"

    def cells(self, scale: Scale) -> list[Cell]:
        """The Analogist's runs on every task of the study."""
        return [cell for part in PARTS for cell in pick(cells_of(part, scale), agent=ANALOGIST)]

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Coverage of both bounds, and the bound on the loss of the plan."""
        found = self.cells(results.scale)
        tables = [coverage_table(results, found, error) for error in ERRORS]
        return self.artefact(
            tables=[*tables, unmet_table(results, found), loss_table(results, found)],
            notes=[
                f"Each inferred pair has a bound; the bounds are to hold for {STATED:g} of the "
                "pairs. They do on a task if the mean coverage over the runs is at least that, "
                "less two standard errors. A bound that any guess would keep is vacuous.",
                "Taken at the end of each run, against the exact dynamics.",
            ],
        )


def coverage_table(results: ResultsByCell, cells: list[Cell], error: str) -> Table:
    """A row per task: the share of inferred pairs whose error keeps within its bound."""
    covered, vacuous = ERRORS[error]
    rows = []
    for cell in cells:
        share = measured(results, cell, covered)
        rows.append(
            [
                cell.panel,
                f"{share.size} of {len(cell.trials)}",
                mean(measured(results, cell, "inferred"), ",.0f"),
                f"{STATED:g}",
                with_error(share),
                mean(measured(results, cell, vacuous), ".3f"),
                coverage_verdict(share),
            ]
        )
    heads = ["task", "runs", "inferred pairs", "stated", "coverage", "vacuous", "verdict"]
    note = (
        "Means over the runs in which pairs were inferred; coverage ± its standard error over runs."
    )
    return Table(f"The certificate on {error}", heads, rows, note)


def unmet_table(results: ResultsByCell, cells: list[Cell]) -> Table:
    """A row per task: the inferred pairs that were never met at all."""
    names = ("unmet", "vacuous_unmet")
    rows = []
    for cell in cells:
        pairs, vacuous = (measured(results, cell, name) for name in names)
        rows.append([cell.panel, mean(pairs, ",.0f"), mean(vacuous, ".3f")])
    heads = ["task", "never met", "vacuous"]
    return Table("Bounds on |(p - q)·V| of pairs that were never met", heads, rows)


def loss_table(results: ResultsByCell, cells: list[Cell]) -> Table:
    """A row per task: the bound on what the plan loses, and what it does lose."""
    rows = []
    for cell in cells:
        bound, loss = (measured(results, cell, name) for name in ("loss_bound", "loss"))
        kept = f"{int((loss <= bound).sum())} of {loss.size}" if loss.size else NOTHING
        rows.append([cell.panel, mean(bound, ".3f"), mean(loss, ".3f"), kept])
    note = "Shares of the optimum; means over the runs that have a bound."
    return Table("The loss of the plan", ["task", "bound", "loss", "kept in"], rows, note)


def measured(results: ResultsByCell, cell: Cell, column: str) -> Floats:
    """A column over the runs that have it: NaN is a run in which nothing was inferred."""
    if column not in results.table.columns:
        return np.zeros(0)
    values = results.values(cell, column)
    return values[np.isfinite(values)]


def coverage_verdict(coverage: Floats) -> str:
    """Holds, fails, or cannot be told since nothing was inferred."""
    if not coverage.size:
        return NOTHING
    slack = 2 * standard_error(coverage) if coverage.size > 1 else 0.0
    return HOLDS if coverage.mean() >= STATED - slack else FAILS


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
