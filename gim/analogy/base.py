"""What an inference is: from counts, a prediction for every pair and the visits that it is worth.

To add one, write one file in this package::

    @dataclass(frozen=True)
    class Pooled(Inference):                       # registered as `pooled`
        visits: Annotated[float, Within(0), "what the prediction is worth"] = 1.0

        def __call__(self, counts, frame, rng):
            ...
            return prior_of(q, n0)               # or with r=..., r_n0=...

`gim.UCBVI(infer=Pooled())`, or the spec string ``ucbvi:infer=pooled(visits=2)``, then uses it, as
does any other model-based agent. How prior and counts meet is in `gim.belief.evidence`. One in a
package of your own is found as well (docs/extending.md); `gim.testing.check_inference` checks it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gim._base.registry import Registered, Registry
from gim.analogy.prior import Floats, Prior, no_prior, prior_of
from gim.mdp.variables import Variables
from gim.model.counts import Counts
from gim.model.learned import LearnedModel

__all__ = ["Floats", "Frame", "Inference", "Prior", "inferences", "no_prior", "prior_of"]

inferences = Registry("inference", "gim.analogy")


class Frame(NamedTuple):
    """What is certain about the world besides the counts."""

    available: NDArray[np.bool_]  # [S, A] pairs that can be played
    terminal: NDArray[np.bool_]  # [S] states that were seen to end an episode
    reward_range: tuple[float, float]  # of r(s,a)
    models: tuple[LearnedModel, ...] = ()  # learned elsewhere: may hold here, or not, or in part
    variables: Variables | None = None  # what states are made of, where that is known
    action_variables: Variables | None = None  # the same for actions
    rewards_known: bool = False  # there is nothing to infer of them
    pays: Floats | None = None  # [S, A] what each pair pays, where that is known beforehand


class Posterior(NamedTuple):
    """What is inferred, and what it takes to draw it."""

    prior: Prior
    fitted: Any = None  # who predicts (`gim.analogy.candidates.Fitted`); None: its rows are certain
    other: Any = None  # a second belief of rewards (`gim.analogy.ridge.RidgeRewards`); None: no
    shown: Any = None  # [S*A, S] visits, of others too, that showed what may come; None: its own


class Infers(Protocol):
    """What says of counts what may be inferred from them: an inference, or one with limits."""

    def posterior(self, counts: Counts, frame: Frame, rng: np.random.Generator) -> Posterior:
        """What is inferred, and what it takes to draw it."""


@dataclass(frozen=True)
class Inference(Registered, registry=inferences):
    """Base of all inferences: the fields are the parameters, a call infers."""

    retry: ClassVar[float] = 1.1  # visits over those of a call that said nothing, to call again
    reuses: ClassVar[bool] = False  # whether it judges a model learned elsewhere by itself
    by_triple: ClassVar[bool] = False  # whether it wants rewards by next state
    doubted: ClassVar[bool] = False  # whether it says how far its rules are doubted, in plans, too
    elsewhere: ClassVar[bool] = False  # whether what it says was learned, and judged, in others

    def __call__(self, counts: Counts, frame: Frame, rng: np.random.Generator) -> Prior:
        """Predict every pair from the others.

        Args:
            counts: n(s,a), R(s,a), n(s'|s,a); see `gim.model.counts`.
            frame: what is certain besides: available pairs, terminal states, the reward range.
            rng: the one source of randomness.
        """
        raise TypeError(f"{type(self).__name__} must define __call__(counts, frame, rng)")

    def posterior(self, counts: Counts, frame: Frame, rng: np.random.Generator) -> Posterior:
        """The same with what it takes to draw it, for certificates."""
        return Posterior(self(counts, frame, rng))
