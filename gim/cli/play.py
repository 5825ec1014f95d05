"""Play a policy in a world, and say what it earns.

    gim play shop/policy.csv inventory --episodes 1000
    gim play river.json riverswim --seed 3

The policy is a file that `gim learn`, `gim train --save-policy` or a policy's own save wrote. Its
states and actions are matched with the world's by label."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gim.cli.command import whole
from gim.deploy import names_of
from gim.loading import load
from gim.mdp import TabularMDP
from gim.names import Names
from gim.policy import Policy
from gim.spaces import numbering_of
from gim.worlds import world_of

Act = Callable[[Any, int], Any]


def options(parser: argparse.ArgumentParser) -> None:
    """Take a policy, a world, and how long."""
    add = parser.add_argument
    add("policy", type=Path, metavar="POLICY", help="a file: policy.csv, policy.json, policy.npz")
    add("world", metavar="WORLD", help="riverswim:length=10, my.npz or a Gymnasium id")
    add("--episodes", type=whole, default=1000, metavar="N", help="how many to play (1000)")
    add("--seed", type=whole, default=0, metavar="N", help="fixes every bit (0)")
    add("--horizon", type=whole, metavar="H", help="steps of an episode, if not the world's own")


def run(args: argparse.Namespace) -> int:
    """Play, and print what was earned."""
    if args.episodes < 1:
        raise ValueError(f"--episodes {args.episodes}: give 1 or more")
    policy = load(args.policy, "policy")
    world = world_of(args.world, args.horizon, imports=True)
    rng, of_policy = np.random.default_rng(args.seed).spawn(2)
    act = in_world(policy, world, of_policy)
    env = world.to_gymnasium() if isinstance(world, TabularMDP) else world
    earned = _played(env, act, args.episodes, rng)
    error = earned.std(ddof=1) / np.sqrt(earned.size) if earned.size > 1 else np.nan
    low, high = earned.min(), earned.max()
    print(f"episodes  {earned.size}")
    print(
        f"return    {earned.mean():.6g} in the mean (standard error {error:.2g}), "
        f"{low:.6g} to {high:.6g}"
    )
    if isinstance(world, TabularMDP):
        print(f"optimal   {world.optimal_return():.6g}")
        print(f"random    {world.random_return():.6g}")
    return 0


def in_world(policy: Policy, world: Any, rng: np.random.Generator) -> Act:
    """The action of a policy in a state of the world, at a step, both as the world has them.

    `rng` is for a policy that draws its actions.
    """
    states, actions = names_of(world)
    _check_names(policy, states, actions)
    is_table, last = isinstance(world, TabularMDP), (policy.horizon or 1) - 1
    space = None if is_table else numbering_of("action space", world.action_space)

    def act(state: Any, step: int) -> Any:
        name = states[state] if is_table else state
        played = actions.find(policy(name, min(step, last), rng))
        return played if space is None else space.decode(played)  # an array, not a tuple

    return act


def _check_names(policy: Policy, states: Names, actions: Names) -> None:
    """Raise if the policy was made for another world: it shares no name of a state or an action."""
    for ours, theirs in ((policy.states, states), (policy.actions, actions)):
        if not any(_knows(ours, theirs[i]) for i in range(theirs.n)):
            raise ValueError(
                f"this policy is for another world: its {ours.kind}s are {_some(ours)}, the "
                f"world's {_some(theirs)}"
            )


def _knows(names: Names, name: Any) -> bool:
    try:
        names.find(name)
    except ValueError:
        return False
    return True


def _some(names: Names) -> str:
    """How many there are, and the first of them."""
    first = ", ".join(str(names[i]) for i in range(min(names.n, 4)))
    return f"{first}{', ...' if names.n > 4 else ''} ({names.n:,} in all)"


def _played(env: Any, act: Act, episodes: int, rng: np.random.Generator) -> Any:
    """Returns [episodes] in an environment of Gymnasium."""
    earned = np.zeros(episodes)
    for e in range(episodes):
        state, _ = env.reset(seed=int(rng.integers(1 << 31)) if e == 0 else None)
        step, over = 0, False
        while not over:
            state, reward, terminated, truncated, _ = env.step(act(state, step))
            earned[e] += float(reward)
            step, over = step + 1, terminated or truncated
    return earned
