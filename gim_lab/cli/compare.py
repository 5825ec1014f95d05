"""Compare agents on your own tasks: built-in ones, saved MDPs, or Gymnasium ids.

    gim compare riverswim synthetic:rank=4 --agents "gim,rmax:m=40,psrl" --runs 20
    gim compare my.npz FrozenLake-v1 --agents gim psrl --episodes 2000 --out results

A comma before key= belongs to the parameters of an agent, as in rmax:m=40,r_max=1; any other comma
starts the next agent. All agents play the same seeds; run k of a random task (synthetic, gridworld)
plays its instance k, unless the spec fixes the seed. With --out each finished run is kept: the same
command goes on where it was stopped, and takes more runs or agents in."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from pathlib import Path

from gim._base.limits import check_trials
from gim._base.own import own
from gim.cli.command import whole
from gim.envs.worlds import own_world
from gim.runs.agent import agents
from gim_lab.cli.trials import engine_options, engine_words, keep_table, keeping, play, show
from gim_lab.trials.execute import grid
from gim_lab.trials.running import build
from gim_lab.trials.spec import agent_spec, instance


def options(parser: argparse.ArgumentParser) -> None:
    """Take worlds, agents, and how long and how often."""
    add = parser.add_argument
    add("worlds", nargs="+", metavar="WORLD", help="riverswim:length=10, my.npz or a Gymnasium id")
    add("--agents", nargs="+", required=True, metavar="AGENTS", help='"gim,rmax:m=40,psrl"')
    add("--runs", type=whole, default=10, metavar="N", help="runs of each pair (default: 10)")
    add("--episodes", type=whole, default=5000, metavar="N", help="of each run (default: 5000)")
    add("--seed", type=whole, default=0, metavar="N", help="that of the first run (default: 0)")
    add("--out", type=Path, metavar="DIR", help="keep the runs here, and go on from there")
    engine_options(parser)


def run(args: argparse.Namespace) -> int:
    """Check all that can be checked, play, and show a table per world."""
    if args.runs < 1:
        raise ValueError(f"--runs {args.runs}: give 1 or more")
    check_trials(args.runs)
    tried = list(dict.fromkeys(agent_spec(own(spec, agents)) for spec in split_agents(args.agents)))
    worlds = list(dict.fromkeys(map(own_world, args.worlds)))
    trials = grid(worlds, tried, args.episodes, range(args.seed, args.seed + args.runs))
    for world in worlds:
        build(instance(world, args.seed))
    words = _command(args)
    with keeping(args, words):
        results = play(trials, args, "comparing", words)
        if isinstance(results, int):
            return results
        show(worlds, tried, results)
        if args.out is not None:
            keep_table(results, args.out)
    return 0


def split_agents(texts: Iterable[str]) -> list[str]:
    """Specs of agents from lists: a comma that is not before key= starts the next agent.

    Example:
        >>> split_agents(["gim:m=5,completion=als(rank=2,ridge=1),rmax:m=40,r_max=1", "psrl"])
        ['gim:m=5,completion=als(rank=2,ridge=1)', 'rmax:m=40,r_max=1', 'psrl']
    """
    specs: list[str] = []
    for text in texts:
        depth, start = 0, 0
        for i, c in enumerate(text):
            depth += (c in "([") - (c in ")]")
            if c == "," and depth == 0 and not re.match(r",\s*\w+\s*=", text[i:]):
                specs.append(text[start:i])
                start = i + 1
        specs.append(text[start:])
    specs = [spec.strip() for spec in specs if spec.strip()]
    if not specs:
        raise ValueError('--agents names no agent: write --agents "gim,rmax:m=40,psrl"')
    return specs


def _command(args: argparse.Namespace) -> list[str]:
    """The command that goes on with this one."""
    words = ["compare", *args.worlds, "--agents", *args.agents]
    words += ["--runs", str(args.runs), "--episodes", str(args.episodes)]
    if args.seed:
        words += ["--seed", str(args.seed)]
    return words + engine_words(args)
