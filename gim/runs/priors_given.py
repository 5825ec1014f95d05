"""What `gim.run(prior=...)` may be: what was learned elsewhere, once or several times.

A model is matched with the world by name: by label, else by the values of variables, else by number
(`gim.mdp.policy.alignment`), so it may have been learned where states stand in another order.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gim.belief.family import by_family as families
from gim.belief.family.family import Family
from gim.mdp.names import Names
from gim.mdp.naming import Built, names_of
from gim.mdp.policy.alignment import NONE, matched, some_of, unmatched
from gim.mdp.tables import own_numbers
from gim.mdp.tabular import TabularMDP
from gim.mdp.variables import Variables
from gim.model.learned import LearnedModel, same_variables
from gim.model.loading import load_saved
from gim.model.rewards import KnownRewards, Payments, by_function, by_pair, by_triple, checked
from gim.model.task import Task
from gim.runs.agent import Agent
from gim.runs.runs import Run

# -- what `gim.run(rewards=...)` may be: to be learned, the world's own, a table or a function


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
    rows = mdp.rows()
    paid = sparse.csr_array((mdp.paid(), rows.indices, rows.indptr), rows.shape)
    return by_triple(paid, mdp.rewards)


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


# --


@runtime_checkable
class Learnable(Protocol):
    """What can be read as a model of a world, in the names that the world uses: a `gim.Log`."""

    def as_prior(self, task: Task, states: Names, actions: Names) -> LearnedModel:
        """The model, in the numbers of the world."""


GivenPrior: TypeAlias = "LearnedModel | Run | Learnable | str | Path"
Priors: TypeAlias = "Family | GivenPrior | Sequence[GivenPrior]"


def family_in(prior: Any) -> Family | None:
    """The family that `prior=` is, or that a file of one holds; None: it is something else."""
    if isinstance(prior, (str, Path)):
        prior = load_saved(prior)
    return prior if isinstance(prior, Family) else None


def by_family(agent: Agent, family: Family, task: Task) -> Agent:
    """The agent, inferring by a family of worlds with the same states and actions."""
    found = agent.inferring(families.by_family(family, agent.inference()))
    S, A = family.space.S, family.space.A
    if (S, A) != (task.S, task.A):
        raise ValueError(
            f"the family has {S} states and {A} actions, the world {task.S} and {task.A}: they "
            "must agree"
        )
    return found


def models_given(
    prior: Any,
    judged: bool,
    task: Task,
    said: tuple[Names, Names],
    names: tuple[Names, Names],
) -> tuple[LearnedModel, ...]:
    """The models that `prior=` stands for, each checked against the world.

    Args:
        prior: a `LearnedModel`, a run with one, a path to either, a log, or a list of these.
        judged: whether who starts from them judges them by what is seen.
        task: the world as the agent is told of it.
        said: what the world itself calls its states and its actions, as a log does.
        names: the same by label and by variables, as models have them.
    """
    given = list(prior) if isinstance(prior, (list, tuple)) else [prior]
    models, found = [_model(each, task, said) for each in given], []
    for model in models:
        if (model.S, model.A) != (task.S, task.A) and not (judged and same_variables(model, task)):
            raise ValueError(
                f"the prior has {model.S} states and {model.A} actions, the world {task.S} and "
                f"{task.A}: they must agree, or have the same variables and actions, for an agent "
                "that infers by analogy"
            )
        found.append(_renumbered(model, task, *names, judged))
    return tuple(found)


def _renumbered(
    model: LearnedModel, task: Task, states: Names, actions: Names, judged: bool
) -> LearnedModel:
    """The model in the world's numbers, as far as it is one of the same states and actions."""
    if (model.S, model.A) != (task.S, task.A):
        return model
    own = (
        _named("state", model.S, model.state_labels, model.variables),
        _named("action", model.A, model.action_labels, model.action_variables),
    )
    theirs = (
        _named("state", task.S, states.labels, task.variables),
        _named("action", task.A, actions.labels, task.action_variables),
    )
    found = [matched(each, mine, mine) for mine, each in zip(own, theirs, strict=True)]
    for mine, each, number in zip(own, theirs, found, strict=True):
        if (lost := np.flatnonzero(number == NONE)).size:
            if judged and same_variables(model, task):
                return model  # its rules hold in another world, and are judged there
            raise ValueError(
                f"this prior does not fit the world: {lost.size:,} of the {len(each):,} "
                f"{each.kind}s there have no match in it: {unmatched(each, lost)}; its own are "
                f"{some_of(mine)}"
            )
    s, a = found
    if np.array_equal(s, np.arange(model.S)) and np.array_equal(a, np.arange(model.A)):
        return model
    return _in_order(model, s, a, task)


def _named(kind: str, n: int, labels: Any, variables: Variables | None) -> Names:
    """By label and by variables, as far as there are any."""
    if variables is None:
        return Names(kind, n, labels)
    return Names(kind, n, labels, [variables.values(i) for i in range(n)], variables.names)


def _in_order(
    model: LearnedModel, s: NDArray[np.int64], a: NDArray[np.int64], task: Task
) -> LearnedModel:
    """The model whose state k is its state s[k], and whose action k is its action a[k]."""
    pairs = np.ix_(s, a)

    def by_next(table: Any) -> Any:
        rows = (s[:, None] * model.A + a).ravel()
        return table[rows][:, s] if model.sparse else table[np.ix_(s, a, s)]

    noise = 0.0 if model.noise is None else model.noise[pairs]
    paid = model.rewards_next
    found = model.with_(
        transitions=by_next(model.transitions),
        rewards=model.rewards[pairs] if paid is None else by_next(paid),
        start=model.start[s],
        terminal=model.terminal[s],
        available=model.available[pairs],
        noise=noise,
        state_labels=None,
        action_labels=None,
        variables=None if model.variables is None else task.variables,
        action_variables=None if model.action_variables is None else task.action_variables,
        visits=model.visits[pairs],
        known=model.known[pairs],
        supported=model.supported[pairs],
    )
    assert isinstance(found, LearnedModel)
    return found


def _model(given: Any, task: Task, names: tuple[Names, Names]) -> LearnedModel:
    if isinstance(given, (str, Path)):
        given = load_saved(given)
    if isinstance(given, Run):
        if given.model is None:
            raise ValueError(f"prior= is a run of {given.agent}, which has learned no model")
        given = given.model
    if isinstance(given, Learnable):
        return given.as_prior(task, *names)
    if not isinstance(given, LearnedModel):
        kind = type(given).__name__
        raise ValueError(f"prior= is a {kind}: give a model (run.model), a run, or a file of one")
    return given
