"""What was learned, in words and pictures."""

from __future__ import annotations

import numpy as np

from gim_lab.experiments.artefact import Artefact, Drawing, Figure, Panel, Picture, Series, Table
from gim_lab.experiments.cells import ResultsByCell
from gim_lab.experiments.demo.drawings import policy_on_grid
from gim_lab.experiments.demo.settings import (
    ANALOGIST,
    INVENTORY,
    LAKE,
    WORLDS,
    Demo,
    after_a_little,
    earned,
    rules_after_a_little,
)


class DemoWords(Demo):
    """What was learned, in words and pictures."""

    place = 90.3
    title = "What it learned, in words"
    heading = "Ask it yourself"
    statement = (
        "`run.analogies()` says in sentences what was learned, as far as pairs held out bear it "
        "out; `run.best_policy()` is what to deploy; `gim.certify(run)` says how far both may be "
        "trusted. `gim train inventory --episodes 10` prints all three."
    )

    def analyse(self, results: ResultsByCell) -> Artefact:
        """The rules of a short run in each world, the policy on the lake, and the orders."""
        rows = [
            [world.title, world.few, f"{earned(after_a_little(world)):.0%}", rule]
            for world in WORLDS
            for rule in rules_after_a_little(world)
        ]
        lake = after_a_little(LAKE)
        assert lake.mdp is not None
        actions = np.asarray(lake.best_policy())[0]
        drawing = policy_on_grid(lake.mdp, actions, np.asarray(lake.memory.belief.counts.n))
        caption = (
            f"FrozenLake after {LAKE.few} episodes: what it would do first, in orange where that "
            "pair was never met. Filled cells are holes; a step goes astray two times in three, so "
            "it walks towards walls."
        )
        return self.artefact(
            tables=[Table("Rules", ["world", "episodes", "policy", "rule"], rows, NOTE)],
            pictures=[Picture("demo-lake", "A policy for the lake", [Drawing(caption, drawing)])],
            figures=[_orders()],
        )


NOTE = (
    "Policy: the exact worth of the best policy it knows by then, from the random policy (0 %) to "
    "the optimum (100 %)."
)


def _orders() -> Figure:
    """What to order at each stock, learned and optimal."""
    run = after_a_little(INVENTORY)
    assert run.mdp is not None
    stock = [float(s) for s in range(run.mdp.S)]
    policies = {ANALOGIST: np.asarray(run.best_policy()), "Optimal": run.mdp.plan().policy}
    lines = [
        Series(name, list(stock), [float(a) for a in p[0]], kind="step")
        for name, p in policies.items()
    ]
    after = f"after {INVENTORY.few} episodes of {run.mdp.horizon} days"
    note = f"On the first day, {after}; a step is one stock."
    panel = Panel("Inventory", "stock", "order", lines)
    return Figure("demo-orders", "What to order", [panel], note)
