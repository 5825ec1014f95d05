"""The idea, in a picture: what was met, what it concludes, what it can plan."""

from __future__ import annotations

import numpy as np

from gim_lab.experiments.artefact import Artefact, Drawing, Picture
from gim_lab.experiments.cells import ResultsByCell
from gim_lab.experiments.demo.drawings import met_pairs, policy_on_grid, what_actions_do
from gim_lab.experiments.demo.settings import GRID, Demo, after_a_little, earned


class DemoIdea(Demo):
    """The idea, in a picture: what was met, what it concludes, what it can plan."""

    place = 90.1
    title = "The idea: learn by analogy"
    heading = "In three sentences"
    statement = (
        "Most pairs of a state and an action are hardly ever met, but they are seldom strangers: "
        "up moves one row up wherever one is. The Analogist infers what actions do from the pairs "
        "it has met, tests that on pairs held out, and plans with the result, also where it has "
        "never been. So a few episodes take it where learners that treat every pair as new need "
        "many more."
    )

    def analyse(self, results: ResultsByCell) -> Artefact:
        """Three drawings of one short run."""
        run = after_a_little(GRID)
        assert run.mdp is not None
        visits = np.asarray(run.memory.belief.counts.n)
        met, seldom = (visits > 0).sum(), ((visits > 0) & (visits < 3)).sum()
        actions = np.asarray(run.best_policy())[0]
        drawn = [
            Drawing(
                f"What it has met in {GRID.few} episodes. A cell is a state, its triangles are the "
                f"four actions: {met} of {visits.size} pairs, {seldom} of them once or twice.",
                met_pairs(run.mdp, visits),
            ),
            Drawing(
                "What it concludes: where each action leads, and how often. (The truth: .60 ahead, "
                ".20 to either side.)",
                what_actions_do(run.analogies()),
            ),
            Drawing(
                "What it can plan: an action for every cell, in orange where that pair was never "
                f"met. This policy is worth {earned(run):.0%} of the way from random to optimal.",
                policy_on_grid(run.mdp, actions, visits),
            ),
        ]
        return self.artefact(
            pictures=[Picture("demo-idea", f"One grid, {GRID.few} episodes", drawn)]
        )
