"""What `gim.run(prior=...)` may be: what was learned elsewhere, once or several times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from gim.agent import Agent, Task
from gim.loading import load
from gim.model.learned import LearnedModel, same_variables
from gim.runs import Run

if TYPE_CHECKING:  # runs without a log do not depend on the code of logs
    from gim.logs import Log

GivenPrior: TypeAlias = "LearnedModel | Run | Log | str | Path"
Priors: TypeAlias = "GivenPrior | Sequence[GivenPrior]"


def priors_given(prior: Any, agent: Agent, task: Task) -> tuple[LearnedModel, ...]:
    """The models that `prior=` stands for, each checked against the world.

    Args:
        prior: None, a `LearnedModel`, a run with one, a path to either, or a list of these.
        agent: who is to start from them.
        task: the world as the agent is told of it.
    """
    if prior is None:
        return ()
    given = list(prior) if isinstance(prior, (list, tuple)) else [prior]
    if given and type(agent).belief is Agent.belief:
        raise ValueError(f"{agent} learns no model, so prior= would change nothing: leave it out")
    models = [_model(each) for each in given]
    judged = agent.judges_priors()
    for model in models:
        if (model.S, model.A) != (task.S, task.A) and not (judged and same_variables(model, task)):
            raise ValueError(
                f"the prior has {model.S} states and {model.A} actions, the world {task.S} and "
                f"{task.A}: they must agree, or have the same variables and actions, for an agent "
                "that infers by analogy"
            )
    return tuple(models)


def _model(given: Any) -> LearnedModel:
    if isinstance(given, (str, Path)):
        given = load(given)
    if isinstance(given, Run):
        if given.model is None:
            raise ValueError(f"prior= is a run of {given.agent}, which has learned no model")
        given = given.model
    if not isinstance(given, LearnedModel):
        kind = type(given).__name__
        raise ValueError(f"prior= is a {kind}: give a model (run.model), a run, or a file of one")
    return given
