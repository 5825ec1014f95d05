"""Play a policy in a world, and say what it earns.

    gim play shop/policy.csv inventory --episodes 1000
    gim play river.json riverswim --seed 3

The policy is a file that `gim learn`, `gim train --save-policy` or a policy's own save wrote. Its
states and actions are matched with the world's by name."""

from __future__ import annotations

import argparse
from pathlib import Path

from gim.cli.command import whole
from gim.envs.worlds import world_of
from gim.mdp.tabular import TabularMDP
from gim.model.loading import load_saved
from gim.runs.evaluation import evaluate


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
    policy = load_saved(args.policy, "policy")
    world = world_of(args.world, args.horizon, imports=True)
    found = evaluate(policy, world, args.episodes, args.seed, args.horizon)
    low, high = found.returns.min(), found.returns.max()
    print(f"episodes  {found.returns.size}")
    print(f"return    {found.mean:.6g} in the mean, {low:.6g} to {high:.6g} in single episodes")
    print(f"expected  {found.interval}: {found.note}")
    if isinstance(world, TabularMDP):
        print(f"optimal   {world.optimal_return():.6g}")
        print(f"random    {world.random_return():.6g}")
    return 0
