"""What `gim.run(rewards=...)` may be: to be learned, the world's own, a table or a function."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse

from gim.agent import Agent, Task
from gim.deploy import Built, names_of
from gim.mdp import TabularMDP
from gim.model.known_rewards import KnownRewards, Payments, by_function, by_pair, by_triple, checked
from gim.tables import own_numbers

Rewards = Literal["learn", "known"] | Payments | KnownRewards


def rewards_given(
    rewards: Any, agent: Agent, world: Built, mdp: TabularMDP | None, task: Task
) -> KnownRewards | None:
    """What `rewards=` says; None: they are to be learned."""
    if isinstance(rewards, str) and rewards == "learn":
        return None
    if type(agent).belief is Agent.belief:
        raise ValueError(f"{agent} learns no model, so rewards= would change nothing: leave it out")
    if isinstance(rewards, KnownRewards):
        return checked(rewards, task.S, task.A)
    if isinstance(rewards, str):
        if rewards != "known":
            raise ValueError(f'rewards = {rewards!r}: give "learn", "known", a table or a function')
        if mdp is None:
            raise ValueError('rewards="known" needs a world that shows its table: give an array')
        return _own(mdp)
    if callable(rewards):
        pattern = None if mdp is None else mdp.rows()
        return checked(by_function(rewards, *names_of(world), pattern), task.S, task.A)
    return checked(_table(rewards, task.S, task.A), task.S, task.A)


def _own(mdp: TabularMDP) -> KnownRewards:
    """The rewards of a world, by triple where they depend on the next state."""
    if mdp.rewards_next is None:
        return by_pair(mdp.rewards)
    if sparse.issparse(mdp.rewards_next):
        return by_triple(mdp.rewards_next, mdp.rewards)
    rows = mdp.rows()
    pair = np.repeat(np.arange(mdp.S * mdp.A), np.diff(rows.indptr))
    paid = mdp.rewards_next.reshape(-1, mdp.S)[pair, rows.indices]
    return by_triple(sparse.csr_array((paid, rows.indices, rows.indptr), rows.shape), mdp.rewards)


def _table(given: Any, S: int, A: int) -> KnownRewards:
    """A table of the user's own."""
    wanted = f"give an array [{S}, {A}] or [{S}, {A}, {S}]"
    try:
        table = own_numbers("rewards=", given)
    except ValueError:
        raise ValueError(f"rewards= are not numbers: {wanted}, or a function") from None
    if table.shape not in ((S, A), (S, A, S)):
        raise ValueError(f"rewards= have the shape {table.shape}: {wanted}")
    return by_pair(table) if table.ndim == 2 else by_triple(table)
