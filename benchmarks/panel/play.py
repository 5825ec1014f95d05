"""One run of the panel: what it earned, what it would deploy, what its certificates said."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from math import isnan, nan
from time import process_time
from typing import Any, NamedTuple

import gim
from benchmarks.panel.worlds import ALL

EPISODES = 100
DEPLOYED = (3, 10, 30, 100)  # after so many episodes the policy to deploy is valued
CERTIFIED = (10, 30, 100)  # and certificates are asked for
SHARE = 0.9


class Bounds(NamedTuple):
    """What a certificate says of its policy, and what is so."""

    value: float  # what the policy earns
    lower: float  # of the policy
    upper: float  # of the best policy there is
    least: float  # the policy alone: from here
    most: float  # to here

    @property
    def failed(self) -> bool:
        """Whether there was an error instead."""
        return isnan(self.value)


FAILED = Bounds(nan, nan, nan, nan, nan)


class Played(NamedTuple):
    """One run; returns are of whole episodes, in the world's own money."""

    world: str
    seed: int
    low: float  # what the random policy earns
    high: float  # what the best one earns
    seconds: float  # of the processor, for the episodes alone
    returns: tuple[float, ...]  # of each episode
    deployed: tuple[float, ...]  # exact returns of best_policy() after DEPLOYED episodes
    bounds: tuple[Bounds, ...]  # after CERTIFIED episodes; empty if the agent counts nothing


def play(world: str, agent: str, seed: int, episodes: int = EPISODES) -> Played:
    """Play a world of the panel from a seed, with a stop at each look."""
    mdp = ALL[world]()
    run = begun(agent, mdp, episodes, seed)
    seconds, deployed, bounds = 0.0, [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that much is unknown yet is no news here
        for look in sorted({*DEPLOYED, *CERTIFIED, episodes}):
            if look > episodes:
                break
            began = process_time()
            play_until(run, look)
            seconds += process_time() - began
            if look in DEPLOYED:
                deployed.append(mdp.policy_return(run.best_policy()))
            if look in CERTIFIED and run.model is not None:
                try:
                    bounds.append(bounds_of(run, mdp))
                except Exception as problem:  # kept and told: it ends no panel
                    where = f"{world} {seed}, certified after {look} episodes"
                    print(f"{where}: {problem!r}", file=sys.stderr, flush=True)
                    bounds.append(FAILED)
    low, high = mdp.random_return(), mdp.optimal_return()
    returns = tuple(float(x) for x in run.returns)
    return Played(world, seed, low, high, seconds, returns, tuple(deployed), tuple(bounds))


def begun(agent: str, mdp: gim.TabularMDP, episodes: int, seed: int) -> gim.Run:
    """A run that waits for its first step: what `gim.run` makes before it plays."""
    place = import_module(gim.run.__module__)  # wherever that is, in whichever tree
    run: gim.Run = place.prepare(place.agents.make(agent), mdp, episodes, seed)
    return run


def play_until(run: gim.Run, episodes: int) -> None:
    """Play until so many episodes are over: each that is left takes a step at least."""
    while (left := episodes - run.returns.size) > 0:
        run.pause_at(run.steps + left)


def bounds_of(run: gim.Run, mdp: gim.TabularMDP) -> Bounds:
    """The certificate of a run, beside the truth."""
    found: Any = gim.certify(run, SHARE)
    least, most = getattr(found, "earns", (nan, nan))
    value = mdp.policy_return(found.policy)
    return Bounds(value, *(float(x) for x in (found.lower, found.upper, least, most)))
