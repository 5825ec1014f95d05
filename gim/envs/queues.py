"""Two queues: whom to send where, and whom to turn away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from gim._base.params import Within
from gim.envs.base import described, made_of, task
from gim.mdp.convert import from_outcomes
from gim.mdp.tabular import TabularMDP

AWAY, FIRST, SECOND = range(3)
ACTIONS = ("turn away", "queue 1", "queue 2")


@task("gim/Queues-v0", examples=("capacity=3,horizon=10",))
def queues(
    capacity: Annotated[int, Within(1), "longest either queue can be"] = 19,
    arrival: Annotated[float, Within(0, 1), "chance that someone arrives"] = 0.5,
    service1: Annotated[float, Within(0, 1), "chance that queue 1 serves someone"] = 0.35,
    service2: Annotated[float, Within(0, 1), "chance that queue 2 serves someone"] = 0.2,
    prize: Annotated[float, "earned for an admission that finds room"] = 5.0,
    holding: Annotated[float, "paid for everyone who waits after the service"] = 0.3,
    horizon: Annotated[int, Within(1), "steps of an episode, H"] = 100,
) -> TabularMDP:
    """Send arrivals to one of two queues, or turn them away.

    ## Description
    Admission and routing to two servers in discrete time (Puterman, 1994, section 3.7, for the one
    server; the numbers are this project's). In each step someone arrives with probability
    `arrival` and goes where the action says; then each queue that is not empty serves one with its
    own probability, those just admitted included.

    ## Action Space
    `Discrete(3)`: 0 turns away who arrives in this step, 1 sends to queue 1, 2 to queue 2. Who is
    sent to a full queue is lost.

    ## Observation Space
    `Discrete((capacity + 1)^2)`: the lengths x and y of the queues, y running faster.

    ## Starting State
    Both queues empty.

    ## Rewards
    `prize` for an admission that finds room, less `holding` (x + y) after the service. The same
    step from s to s' may come about with and without an admission; the expectation given s' is
    paid.

    ## Episode End
    Truncated after `horizon` steps.

    ## Arguments
    `capacity`, `arrival`, `service1`, `service2`, `prize`, `holding` and `horizon`.

    ## Version History
    * v0: first version
    """
    states = made_of(x=range(capacity + 1), y=range(capacity + 1))

    def served(length: int, chance: float) -> list[tuple[int, float]]:
        return [(length - 1, chance), (length, 1 - chance)] if length else [(0, 1.0)]

    def outcomes() -> Iterator[tuple[int, int, int, float, float]]:
        for s, (x, y) in enumerate(states.labels):
            for action in (AWAY, FIRST, SECOND):
                joins = action == FIRST and x < capacity, action == SECOND and y < capacity
                for comes, p in ((1, arrival), (0, 1 - arrival)):
                    for x2, p1 in served(x + comes * joins[0], service1):
                        for y2, p2 in served(y + comes * joins[1], service2):
                            r = prize * comes * any(joins) - holding * (x2 + y2)
                            yield s, action, x2 * (capacity + 1) + y2, p * p1 * p2, r

    return from_outcomes(outcomes(), start=0, horizon=horizon, **described(states, ACTIONS))
