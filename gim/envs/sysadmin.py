"""SysAdmin: which machine of a network to reboot."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from scipy import sparse

from gim._base.params import OneOf, Within
from gim.envs.base import described, made_of, task
from gim.mdp.tabular import TabularMDP

STAYS, LIFT = 0.45, 0.5  # a running machine stays up: STAYS + LIFT (1 + running) / (1 + neighbours)
COMES_BACK = 0.1  # a broken machine comes back by itself
PENALTY = 0.75  # of a reboot


@task("gim/SysAdmin-v0", examples=("machines=3,horizon=8",))
def sysadmin(
    machines: Annotated[int, Within(1, 11), "machines of the network"] = 10,
    topology: Annotated[str, OneOf("ring", "star"), "who hears whom"] = "ring",
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 50,
) -> TabularMDP:
    """Keep a network of machines running, one reboot a step at the most.

    ## Description
    The SysAdmin problem of Guestrin, Koller, Parr and Venkataraman (2003), with numbers after the
    RDDL form of Sanner (2010). Machines fail more often next to broken ones: a running machine
    stays up with probability 0.45 + 0.5 (1 + running neighbours) / (1 + neighbours), a broken one
    comes back with 0.1, a rebooted one is up, all independently of each other. In the ring each
    machine hears the one before it, the first hears the last; in the star all hear machine 0, and
    machine 0 hears no one. A world of many variables with few parents each.

    ## Action Space
    `Discrete(machines + 1)`: 0 does nothing, k reboots machine k - 1.

    ## Observation Space
    `Discrete(2^machines)`: one variable for each machine, 1 if it is running; that of machine 0
    changes slowest.

    ## Starting State
    All running.

    ## Rewards
    One for each machine that is running before the step, less 0.75 for a reboot.

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `machines`, `topology` and `horizon`.

    ## Version History
    * v0: first version
    """
    states = made_of(**{f"machine{i}": range(2) for i in range(machines)})
    actions = ("nothing", *(f"reboot {i}" for i in range(machines)))
    up, S = states.codes, len(states.codes)  # [S, machines]
    stays_up = np.empty((S, machines))
    for i in range(machines):
        heard = neighbours(i, machines, topology)
        share = (1 + up[:, heard].sum(axis=1)) / (1 + len(heard))
        stays_up[:, i] = np.where(up[:, i], STAYS + LIFT * share, COMES_BACK)
    P = []
    for a in range(machines + 1):
        chances = stays_up.copy()
        if a > 0:
            chances[:, a - 1] = 1.0
        row = np.ones((S, 1))  # of the machines so far [S, 2^i]
        for q in chances.T:
            row = (row[:, :, None] * np.stack([1 - q, q], axis=1)[:, None]).reshape(S, -1)
        P.append(sparse.csr_array(row))
    r = up.sum(axis=1, keepdims=True) - PENALTY * (np.arange(machines + 1) > 0)
    return TabularMDP(P, r, axes="ASS", start=S - 1, horizon=horizon, **described(states, actions))


def neighbours(i: int, machines: int, topology: str) -> list[int]:
    """The machines that machine i hears."""
    if topology == "star":
        return [] if i == 0 else [0]
    return [(i - 1) % machines] if machines > 1 else []
