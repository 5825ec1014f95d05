"""The learned model: an MDP that knows how it was learned."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gim._base import files
from gim._compile.memory import COUNT
from gim.mdp.tabular import TabularMDP


class LearnedModel(TabularMDP):
    """A `TabularMDP` learned from samples, with what stands behind each pair.

    Like any MDP it can be planned on, saved and loaded. `with_(rewards=...)` gives it new rewards,
    to be planned again without a new sample; `gim.run(..., prior=model)` starts another run from
    it.

    Attributes:
        visits: [S, A] how often each pair was met.
        known: [S, A] whether the pair was known; the others are inferred.
        supported: [S, A] whether visits or an inference stand behind the pair; the row of any
            other is made up: it stays where it is. By default that of every pair never met which
            stays with certainty. Terminal states are supported.
        doubt: [S, A] by how much of the standard deviation of what follows a pair the rule behind
            its row may be wrong; 0 where no rule speaks.
    """

    def __init__(
        self,
        *args: Any,
        visits: Any,
        known: Any,
        supported: Any = None,
        doubt: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.visits = _visits(visits)
        self.known = np.array(known, bool)
        given = (self.visits > 0) | ~self._stays() if supported is None else supported
        self.supported = np.array(given, bool) | self.terminal[:, None]
        self.doubt = np.zeros((self.S, self.A)) if doubt is None else np.array(doubt, np.float64)
        for name in ("visits", "known", "supported", "doubt"):
            if getattr(self, name).shape != (self.S, self.A):
                shape = getattr(self, name).shape
                raise ValueError(f"{name} has shape {shape}, not {(self.S, self.A)}")

    def _stays(self) -> NDArray[np.bool_]:
        """Which pairs lead to where they are with certainty, [S, A]."""
        if not self.sparse:
            return np.einsum("sas->sa", self.transitions) == 1.0
        pairs = np.arange(self.S * self.A)
        here = self.transitions[pairs, pairs // self.A]
        return np.asarray(here == 1.0).reshape(self.S, self.A)

    def _seen(self, s: int) -> NDArray[np.int64]:
        return self.visits[s]

    def compare(self, truth: TabularMDP) -> dict[str, Any]:
        """How far it is from the truth.

        Returns a dict: `l1` [S, A], the distance ||p - p_true||_1 of each pair; `reward` [S, A],
        |r - r_true|; their means over the known and over the inferred pairs; and `loss`, what the
        plan made on this model loses of the true optimal return.
        """
        if (truth.S, truth.A) != (self.S, self.A):
            raise ValueError(f"the truth has {truth.S} states and {truth.A} actions: not the same")
        l1 = np.asarray(abs(self.rows() - truth.rows()).sum(axis=1)).reshape(self.S, self.A)
        reward = np.abs(self.rewards - truth.rewards)
        playable = truth.available & ~truth.terminal[:, None]
        groups = {"known": self.known & playable, "inferred": ~self.known & playable}
        means = {
            f"{what} {group}": float(error[pairs].mean()) if pairs.any() else 0.0
            for what, error in (("l1", l1), ("reward", reward))
            for group, pairs in groups.items()
        }
        policy = self.with_(horizon=truth.horizon, start=truth.start).plan().policy
        loss = truth.optimal_return() - truth.policy_return(policy)
        return {"l1": l1, "reward": reward, "loss": loss, **means}

    def save(self, path: str | Path) -> None:
        """Save to one file, which `gim.load` reads."""
        files.save(path, "model", *self.pack())

    def pack(self) -> files.Packed:
        """Arrays and JSON that `unpack` turns into the same model."""
        arrays, meta = super().pack()
        return files.Packed(arrays | self._behind(), meta)

    @classmethod
    def unpack(cls, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> LearnedModel:
        """The inverse of `pack`."""
        return super().unpack(arrays, meta)  # type: ignore[return-value]

    def _arguments(self) -> dict[str, Any]:
        return super()._arguments() | self._behind()

    def _behind(self) -> dict[str, NDArray[Any]]:
        names = ("visits", "known", "supported", "doubt")
        return {name: getattr(self, name) for name in names}


def _visits(given: Any) -> NDArray[np.int64]:
    """Numbers of visits: whole, none below 0, none that floats could not count on."""
    visits = np.asarray(given)
    if visits.dtype.kind not in "iufb" or not np.all((visits >= 0) & (visits <= COUNT)):
        raise ValueError("visits holds what is no number of visits: give whole numbers from 0 on")
    if not np.all(visits == np.floor(visits)):
        raise ValueError("visits holds a part of a visit: give whole numbers")
    return np.array(visits, np.int64)


def same_variables(model: LearnedModel, world: Any) -> bool:
    """Whether a model and a world (a task, or what a candidate is told) have the same variables."""
    one, other = model.variables, world.variables
    if one is None or other is None or world.available.shape[1] != model.A:
        return False
    return bool(one.names == other.names and one.ordinal == other.ordinal)
