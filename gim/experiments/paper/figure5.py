"""Figure 5: CasinoLand, drawn from the MDP itself."""

from __future__ import annotations

from gim.envs.casinoland import casinoland
from gim.experiments.artefact import Artefact
from gim.experiments.cells import ResultsByCell
from gim.experiments.experiment import Experiment
from gim.experiments.graphs import graph_figure

PLACES = [(2.1 * i, 0.0) for i in range(4)] + [(2.1 * i, 1.8) for i in range(4)]


def analyse(results: ResultsByCell | None = None) -> Artefact:
    """Rooms below, lever rooms above them."""
    return EXPERIMENT.artefact(
        figures=[graph_figure(casinoland(), PLACES, "figure5", "CasinoLand")],
        notes=[
            "As in the published code: four rooms (0 to 3) and four lever rooms (4 to 7). The "
            "paper's text speaks of six rooms and three levers. An arrow without a number is "
            "certain."
        ],
    )


EXPERIMENT = Experiment(
    key="fig5",
    names=("figure5",),
    title="Figure 5: CasinoLand",
    statement="Pulling a lever may pay a large reward with a small probability; action 2 in a "
    "lever room costs 100.",
    cells=lambda scale: [],
    analyse=analyse,
)
