"""Walks at equal budgets: which visits make the better model, if pairs are inferred from others?"""

from __future__ import annotations

from collections.abc import Sequence

from gim.agents.gim import GIM
from gim.agents.two_phase import TwoPhase
from gim.envs import make
from gim_lab.experiments.analogy.gains import SHARE
from gim_lab.experiments.analogy.settings import AnalogyStudy
from gim_lab.experiments.artefact import Artefact, Figure, Panel, Series, Table
from gim_lab.experiments.cells import Cell, ResultsByCell, by_panel, distinct, pick
from gim_lab.experiments.figures import line_through
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.statistics import INTERVAL, compare, interval_of
from gim_lab.experiments.tables import estimate_of, signed, spoken
from gim_lab.trials.seeds import seeds

ACTIVE = "active"
WALKS = (ACTIVE, "planned", "curious", "balanced", "uniform")
VISITS = (1, 3, 10)  # of a pair, on average
AFTER = 3  # episodes with the policy, so that there is one in force at the end
SIZE = "shared_factors:S=30,A=20"
PLACES = {
    "shared state, J=2": f"{SIZE},J=2,K=5",
    "shared state, J=5": f"{SIZE},J=5,K=8",
    "shared action, J=2": f"{SIZE},J=2,K=5,shared=action",
    "mixtures, rewards of states": "mixtures:rewards=state",
    "GridWorld": "gridworld",
    "RiverSwim": "riverswim",
}
SMALL = ("GridWorld", "RiverSwim")  # all that is played at scale smoke
SCORE = "final_score"


def explorer(walk: str, visits: int, budget: int) -> TwoPhase:
    """A two-phase learner that walks for a budget of steps, infers and plans once.

    Walks that finish pairs one by one finish them at the mean number of visits: with m 40 they
    would spend the whole budget on few pairs.
    """
    m, rho = (visits, 1.0) if walk in ("planned", "curious") else (GIM.m, GIM.rho)
    return TwoPhase(m, rho, exploration=walk, learn_on=False, budget=budget)


class Budgets(AnalogyStudy):
    """Walks at equal budgets: which visits make the better model.

    It is run by its own name: it asks about walks, not about the learner, and takes 40 minutes of
    processor time.
    """

    names, groups = ("active",), ()
    place = 105
    title = "Study: walks at equal budgets"
    statement = (
        "Does a walk that asks for the pairs from which most can be inferred make a better model "
        "than other walks of the same length?"
    )

    def cells(self, scale: Scale) -> list[Cell]:
        """Every walk on every task with every budget; run k plays instance k from seed k."""
        found = []
        for panel in SMALL if scale.name == "smoke" else PLACES:
            world = make(PLACES[panel])
            for visits in scale.grid(VISITS):
                budget = visits * world.S * world.A
                n = -(-budget // world.horizon) + AFTER
                for walk in WALKS:
                    task, spec = PLACES[panel], str(explorer(walk, visits, budget))
                    found.append(
                        Cell.of("", panel, walk, task, spec, n, seeds(scale), float(visits))
                    )
        return found

    def analyse(self, results: ResultsByCell) -> Artefact:
        """The value of the policy after each budget, and what active walking gains."""
        found = self.cells(results.scale)
        runs = f"{len(found[0].trials)} runs, {interval_of(len(found[0].trials))}"
        panels = [
            Panel(panel, "visits of a pair, mean", SHARE, _lines(results, inside), log_x=True)
            for panel, inside in by_panel(found)
        ]
        note = f"Exact value of the policy after the budget, {runs}."
        return self.artefact(
            figures=[Figure("analogy-budgets", "Walks at equal budgets", panels, note)],
            tables=[gain_table(results, found), score_table(results, found)],
            notes=[
                "TwoPhase walks for so many steps, infers and plans once; no learning after that. "
                "Curious and planned walking finish a pair at the mean number of visits (m), and "
                "all pairs (rho 1).",
            ],
        )


def score_table(results: ResultsByCell, cells: Sequence[Cell]) -> Table:
    """A row per task and budget, a column per walk."""
    rows = [
        [panel, f"{x:g}", *(spoken(estimate_of(results.values(c, SCORE))) for c in mine)]
        for panel, x, mine in _groups(cells)
    ]
    return Table("Share of the optimum after the budget", ["task", "visits", *WALKS], rows)


def gain_table(results: ResultsByCell, cells: Sequence[Cell]) -> Table:
    """A row per task and budget: active walking less each other walk, paired."""
    rows = []
    for panel, x, (active, *others) in _groups(cells):
        scores = [results.values(cell, SCORE) for cell in (active, *others)]
        gains = [signed(compare(scores[0], other).difference) for other in scores[1:]]
        rows.append([panel, f"{x:g}", *gains])
    heads = ["task", "visits", *(f"over {walk}" for walk in WALKS[1:])]
    return Table("Paired gain of active walking", heads, rows, f"Mean difference, {INTERVAL}.")


def _groups(cells: Sequence[Cell]) -> list[tuple[str, float, list[Cell]]]:
    """The cells of each task and budget, walks in order."""
    return [
        (panel, x, [cell for cell in inside if cell.x == x])
        for panel, inside in by_panel(cells)
        for x in dict.fromkeys(cell.x for cell in inside)
    ]


def _lines(results: ResultsByCell, inside: Sequence[Cell]) -> list[Series]:
    lines = []
    for walk in distinct(cell.agent for cell in inside):
        mine = pick(inside, agent=walk)
        found = [estimate_of(results.values(cell, SCORE)) for cell in mine]
        lines.append(line_through(walk, [cell.x for cell in mine], found))
    return lines
