"""`gim.believe`: a belief from whatever was counted, a log among it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from gim._base.arguments import whole
from gim.analogy.base import inferences
from gim.analogy.prior import no_prior
from gim.analogy.unseen import Beginnings
from gim.belief.aim import Aim
from gim.belief.belief import Belief
from gim.belief.certificate.certificate import Believes
from gim.belief.knowledge import knowledge_of
from gim.logs.learning import learn
from gim.logs.log import Log
from gim.mdp.tables import own_numbers
from gim.mdp.variables import variables_of
from gim.model.counts import Counts
from gim.model.learned import LearnedModel
from gim.model.loading import load_saved
from gim.model.rewards import Payments, by_function, by_pair, by_triple, none_known
from gim.model.tally import Triples, total
from gim.model.task import Task
from gim.planning.checks import checked_weight


def believe(
    data: Any,
    *,
    infer: Any = "analogy",
    prior: Any = None,
    rewards: Literal["learn"] | Payments = "learn",
    start: Any = None,
    horizon: int | None = None,
    discount: float | None = None,
    variables: Any = None,
    action_variables: Any = None,
    available: Any = None,
    reward_range: tuple[float, float] | None = None,
    seed: int = 0,
) -> Belief:
    """What is believed of a world after so much was counted.

    Args:
        data: a `Log`, a run, what `gim.learn` gives, the counts of any of these, or two arrays:
            visits by next state [S, A, S] (or CSR of S*A rows) and sums of rewards [S, A].
        infer: what predicts pairs from others, by name, spec string or object; None: nothing.
        prior: models learned elsewhere (`LearnedModel`, `Belief`, a path, or a list of them).
        rewards: "learn", or known ones: a table [S, A] or [S, A, S], or a function f(s, a, s').
        start: [S] where episodes begin; by default anywhere.
        horizon: H; with neither this nor a discount, as many steps as there are states.
        discount: the weight of each step against the one before; without a horizon no end.
        variables, action_variables: what states and actions are made of, as for `gim.TabularMDP`.
        available: [S, A] pairs that can be played; by default all.
        reward_range: the least and the most that a step may pay; by default what was seen.
        seed: of all that is drawn.

    Example:
        >>> import gim, numpy as np
        >>> visits = np.zeros((3, 2, 3))
        >>> visits[0, 0, 1] = visits[1, 0, 2] = 4
        >>> belief = gim.believe((visits, np.zeros((3, 2))), horizon=5, infer=None)
        >>> belief.weight.tolist(), round(float(belief.mean.rows()[0, 1]), 3)
        ([[4.0, 0.0], [4.0, 0.0], [0.0, 0.0]], 1.0)
    """
    given: dict[str, Any] = {"infer": infer, "rewards": rewards, "horizon": horizon}
    given |= {"discount": discount, "seed": seed}
    of_arrays: dict[str, Any] = {"start": start, "variables": variables, "available": available}
    of_arrays |= {"action_variables": action_variables, "reward_range": reward_range}
    if isinstance(data, Believes):
        return _told(data, prior, of_arrays | given)
    if isinstance(data, Log):
        if any(each is not None for each in of_arrays.values()):
            names = ", ".join(f"{n}=" for n, each in of_arrays.items() if each is not None)
            raise ValueError(f"{names} of a log are given to gim.from_log")
        seed = given.pop("seed")
        found = replace(learn(data, **given).belief, policy=None, witnesses=(), seed=seed)
        return found if prior is None else found.with_prior(models_of(prior))
    counts = counts_from(data)
    S, A = counts.n.shape
    ok = np.ones((S, A), bool) if available is None else np.asarray(available, bool)
    if ok.shape != (S, A):
        raise ValueError(f"available has shape {ok.shape}, not {(S, A)}")
    weight = 1.0 if discount is None else checked_weight(discount)
    steps = None if horizon is None and discount is not None else (horizon or S)
    aim = Aim(None if steps is None else whole("horizon", steps, low=1), weight)
    made_of = (
        variables_of("state", variables, None, S),
        variables_of("action", action_variables, None, A),
    )
    task = Task(S, A, aim.steps, ok, reward_range, None, None, models_of(prior), *made_of)
    known = knowledge_of(counts, np.zeros(S, bool), no_prior(S, A))
    known = known._replace(rewards=_known(rewards, S, A))
    begins = None
    if start is not None:
        chances = own_numbers("start=", start)
        if chances.shape != (S,) or (chances < 0).any() or abs(chances.sum() - 1.0) > 1e-6:
            raise ValueError(f"start must be {S} chances that add up to 1")
        begins = Beginnings(chances, np.zeros(0), np.ones(S, bool))
    return Belief(known, task, inferences.make(infer), aim=aim, begins=begins, seed=seed)


def _told(data: Believes, prior: Any, options: dict[str, Any]) -> Belief:
    """The belief that a run or a log has come to, with another horizon, seed or prior."""
    found = data.belief
    if not isinstance(found, Belief):
        raise ValueError(f"{data} counts no transitions, so there is nothing to believe")
    given = {name for name, each in options.items() if each is not None}
    left = given - {"infer", "rewards", "horizon", "discount", "seed"}
    if left or not (isinstance(options["rewards"], str) and options["rewards"] == "learn"):
        names = ", ".join(f"{name}=" for name in sorted(left or {"rewards"}))
        raise ValueError(f"{names} are those of the run: leave them out")
    models = () if prior is None else models_of(prior)
    return found.over(options["horizon"], options["discount"], models, options["seed"])


def counts_from(data: Any) -> Counts:
    """Counts, from those of a run or from arrays."""
    if isinstance(data, Counts):
        return data
    if not isinstance(data, tuple) or len(data) != 2:
        raise ValueError(
            f"gim.believe takes a log, a run, counts, or two arrays (visits [S, A, S], sums of "
            f"rewards [S, A]), not {type(data).__name__}"
        )
    R = own_numbers("the sums of rewards", data[1])
    if R.ndim != 2:
        raise ValueError(f"the sums of rewards have shape {R.shape}: give [S, A]")
    S, A = R.shape
    if sparse.issparse(data[0]):
        N = sparse.csr_array(data[0], dtype=np.float64)
    else:
        visits = own_numbers("the visits", data[0])
        if visits.shape != (S, A, S):
            raise ValueError(f"the visits have shape {visits.shape}, not {(S, A, S)}")
        N = sparse.csr_array(visits.reshape(S * A, S))
    if N.shape != (S * A, S):
        raise ValueError(f"the visits have {N.shape} entries, not {(S * A, S)}")
    if N.nnz and not (np.isfinite(N.data).all() and N.data.min() >= 0):
        raise ValueError("the visits hold what is no number of visits: give 0 or more")
    n = np.asarray(N.sum(axis=1)).reshape(S, A)
    if (R[n == 0] != 0).any():
        s, a = np.argwhere((n == 0) & (R != 0))[0]
        raise ValueError(f"pair ({s}, {a}) was never met, but has rewards")
    return total([Triples(N, None, None, R, R * R / np.maximum(n, 1.0))], S, A)


def models_of(prior: Any) -> tuple[LearnedModel, ...]:
    """Models learned elsewhere, in any form that `prior=` takes."""
    if prior is None:
        return ()
    if isinstance(prior, (list, tuple)):
        return tuple(model for each in prior for model in models_of(each))
    if isinstance(prior, (str, Path)):
        return models_of(load_saved(prior))
    if isinstance(prior, LearnedModel):
        return (prior,)
    if isinstance(prior, Believes) and isinstance(prior.belief, Belief):
        return (prior.belief.mean,)
    model = getattr(prior, "model", None)
    if isinstance(model, LearnedModel):
        return (model,)
    raise ValueError(f"prior= takes models, beliefs, runs or paths, not {type(prior).__name__}")


def _known(rewards: Any, S: int, A: int) -> Any:
    if isinstance(rewards, str):
        if rewards != "learn":
            raise ValueError(f'rewards = {rewards!r}: give "learn", a table or a function')
        return none_known()
    if callable(rewards):
        return by_function(rewards, range(S), range(A))
    table = own_numbers("rewards=", rewards)
    if table.shape not in ((S, A), (S, A, S)):
        raise ValueError(f"rewards have shape {table.shape}: give {(S, A)} or {(S, A, S)}")
    return by_pair(table) if table.ndim == 2 else by_triple(table)
