"""Where an MDP can lead, and how long that takes: reachable states and the diameter."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components, dijkstra

from gim.planning.evaluation import flat, solve_linear
from gim.planning.plan import Bools, Dynamics, Floats, Ints
from gim.planning.sweeps import pairs_of

BATCH = 256  # targets that are swept together
SWEEPS = 100  # over a batch, before targets are solved for one by one


def reachable(mdp: Dynamics) -> Bools:
    """Which states some policy can reach from the start, in any number of steps, [S]."""
    graph = _successors(mdp)
    found = mdp.start > 0
    for s in np.flatnonzero(found):
        if s == 0 or not found[:s].all():
            found[breadth_first_order(graph, s, return_predecessors=False)] = True
    return found
