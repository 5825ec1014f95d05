"""Table 1: a 2 x 3 grid, its transition table to state 2, and the rank of that."""

from __future__ import annotations

import numpy as np

from gim.envs.table1 import table1
from gim_lab.experiments.artefact import Artefact, Table
from gim_lab.experiments.cells import ResultsByCell
from gim_lab.experiments.paper.settings import PaperArtefact

PRINTED = {  # the paper's rows; those of states 4 and 6 are zero and left out there
    "1": [0.2, 0.2, 0.0, 0.6],
    "2": [0.6, 0.0, 0.2, 0.2],
    "3": [0.2, 0.2, 0.6, 0.0],
    "5": [0.6, 0.0, 0.2, 0.2],
}


class Table1(PaperArtefact):
    """Table 1: a 2 x 3 grid, its transition table to state 2, and the rank of that."""

    place = 0.5
    title = "Table 1: an example of related dynamics"
    statement = (
        "In a slippery grid of two rows and three columns the rows of states 2 and 5 of the "
        "transition table to state 2 are equal, and its rank is 3: less than the number of states "
        "or actions."
    )

    def analyse(self, results: ResultsByCell | None = None) -> Artefact:
        """The table from the MDP itself, and the rank of every dynamic matrix."""
        mdp = table1()
        to_2 = mdp.transitions[:, :, 1]
        rows = [
            [mdp.state_label(s), *map(float, to_2[s]), _same(mdp.state_label(s), to_2[s])]
            for s in range(mdp.S)
        ]
        actions = [mdp.action_label(a) for a in range(mdp.A)]
        ranks = [
            [f"to state {mdp.state_label(t)}", rank(mdp.transitions[:, :, t])] for t in range(mdp.S)
        ]
        return self.artefact(
            tables=[
                Table("Transition probabilities to state 2", ["from", *actions, "paper"], rows),
                Table("Rank of every transition matrix", ["matrix", "rank"], ranks),
            ],
            notes=["Computed from the MDP itself; nothing is run."],
        )


def rank(matrix: np.ndarray) -> int:
    """Singular values above 1e-9 of the largest."""
    return int(np.linalg.matrix_rank(matrix, rtol=1e-9))


def _same(state: str, row: np.ndarray) -> str:
    return "the same" if np.allclose(PRINTED.get(state, [0.0] * 4), row) else "differs"
