"""Look at a world: its exact facts, its dynamic matrices, and whether they can be completed.

    gim inspect synthetic
    gim inspect FrozenLake-v1 --rho 0.8 --plot values.png

A rehearsal infers some pairs from samples of the others and judges the plan by the truth."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from gim._base import arguments, files
from gim._base.limits import SEED
from gim._compile.memory import COUNT
from gim.analogy.analogy import Analogy
from gim.analogy.base import Frame
from gim.analogy.prior import no_prior
from gim.analogy.structure import Rule
from gim.belief.analogies import analogies, rule_names
from gim.belief.belief import Belief
from gim.belief.certificate import certified
from gim.belief.knowledge import knowledge_of
from gim.belief.shares import percent
from gim.cli.command import needs, whole
from gim.cli.screen import table
from gim.cli.summary import in_words
from gim.envs.worlds import world_of
from gim.mdp.naming import names_of
from gim.mdp.tabular import TabularMDP
from gim.model.completion.base import completions
from gim.model.matrices import Spectrum, dynamic_matrices, oversampling, spectrum
from gim.model.rehearsal import Rehearsal, rehearse, sample
from gim.runs.run import task_of

ENTRIES = 2_000_000  # of all dynamic matrices together; beyond it only the plain facts are shown
DIAMETER_STATES = 1000


def options(parser: argparse.ArgumentParser) -> None:
    """Take a world, and how it would be explored."""
    add = parser.add_argument
    add("world", metavar="WORLD", help="riverswim:length=10, my.npz or a Gymnasium id")
    add("--horizon", type=whole, metavar="H", help="steps of an episode, if not the world's own")
    add("--m", type=whole, default=40, metavar="N", help="visits that make a pair known (40)")
    add("--rho", type=float, default=0.8, metavar="R", help="share of known pairs (0.8)")
    add("--completion", default="als", metavar="METHOD", help="als, als(rank=3), ...")
    add("--seed", type=whole, default=0, metavar="N", help="of the rehearsal")
    add("--plot", type=Path, metavar="FILE", help="save a picture of the singular values")


def run(args: argparse.Namespace) -> int:
    """Print what can be known of the world."""
    if not 0 < args.rho <= 1:
        raise ValueError(f"--rho {args.rho}: must be above 0 and at most 1")
    arguments.whole("--m", args.m, low=1, high=COUNT)
    arguments.whole("--seed", args.seed, low=0, high=SEED)
    mdp = world_of(args.world, args.horizon, imports=True)
    if not isinstance(mdp, TabularMDP):
        raise ValueError(f"{args.world} has no table of probabilities: there is nothing to inspect")
    completion = completions.make(args.completion)
    if args.plot is not None:
        needs("plot", "matplotlib")
        files.check_target(args.plot)
    print(table(_facts(mdp), align="<<"))
    if mdp.S * mdp.S * mdp.A > ENTRIES:
        print("\nThe dynamic matrices are too large to take apart here.")
        return 0
    found = spectrum(dynamic_matrices(mdp.transitions, mdp.rewards))
    print("\nThe S+1 dynamic matrices\n")
    print(table(_spectral(mdp, found, args.rho), ["", "median", "largest", "rewards"], "<>>>"))
    print("\nSingular values over the largest: median and range over the transition matrices\n")
    print(_bars(found))
    rehearsal = rehearse(
        mdp, completion, np.random.default_rng(args.seed), max(args.m, 1), args.rho
    )
    print(f"\nRehearsal: a share {1 - args.rho:.2g} of the pairs inferred, {args.m} samples else\n")
    print(table(_rehearsed(rehearsal), align="<>"))
    print(f"\n{_verdict(mdp, rehearsal)}")
    print("\nThe same by analogy, with a certificate\n")
    print(_certified(mdp, args))
    if told := in_words(_told(mdp, args)):
        print(f"\nFrom these samples: {told}")
    if args.plot is not None:
        from gim.plot import singular_values

        picture = args.plot.suffix.removeprefix(".") or None
        with files.replacing(args.plot) as file:
            singular_values(mdp).savefig(file, format=picture)
        print(f"\nSaved {args.plot}")
    return 0


def _facts(mdp: TabularMDP) -> list[list[str]]:
    playable = int((mdp.available & ~mdp.terminal[:, None]).sum())
    rows = [
        ["world", mdp.name],
        ["states, actions, horizon", f"{mdp.S}, {mdp.A}, {mdp.horizon}"],
        ["pairs that can be played", f"{playable} of {mdp.S * mdp.A}"],
        ["states within reach", f"{int(mdp.reachable().sum())}"],
        ["best expected return", f"{mdp.optimal_return():.6g}"],
        ["random expected return", f"{mdp.random_return():.6g}"],
    ]
    if mdp.S <= DIAMETER_STATES:
        D = mdp.diameter()
        if not np.isfinite(D):
            text = "infinite: some state cannot be left or reached. Assumption 1 fails"
        else:
            text = f"{D:.4g}: Assumption 1 (D < H) {'holds' if mdp.horizon > D else 'fails'}"
        rows.append(["diameter D", text])
    return rows


def _spectral(mdp: TabularMDP, found: Spectrum, rho: float) -> list[list[str]]:
    enough = oversampling(found, (mdp.S, mdp.A), rho)
    columns = {
        "rank (singular values above 1e-9 of the largest)": found.rank,
        "condition number kappa": found.kappa,
        "mu0, Definition 3 of the paper": found.mu0.definition,
        "mu0, appendix": found.mu0.appendix,
        "mu0, Keshavan": found.mu0.keshavan,
        "mu1, Definition 3 of the paper": found.mu1.definition,
        "mu1, appendix": found.mu1.appendix,
        "mu1, Keshavan": found.mu1.keshavan,
        "degrees of freedom (n1+n2-r)r": found.freedom,
        "known entries per degree of freedom": enough,
    }
    return [[name, *_three(np.asarray(values, float))] for name, values in columns.items()]


def _three(values: np.ndarray) -> list[str]:
    moves = values[:-1][np.isfinite(values[:-1])]
    inner = [float(np.median(moves)), float(moves.max())] if moves.size else [np.nan, np.nan]
    return ["-" if np.isnan(x) else f"{x:.4g}" for x in (*inner, float(values[-1]))]


def _bars(found: Spectrum, width: int = 40, most: int = 12) -> str:
    values = found.values[:-1]
    shares = values[values[:, 0] > 0] / values[values[:, 0] > 0][:, :1]
    lines = []
    for k in range(min(shares.shape[1], most)):
        low, middle, high = np.quantile(shares[:, k], (0, 0.5, 1))
        bar = "█" * round(width * middle) or "▏"
        lines.append(f"{k + 1:>4}  {bar:<{width}}  {middle:.3f}  ({low:.3f} to {high:.3f})")
    if shares.shape[1] > most:
        lines.append(f"      ... and {shares.shape[1] - most} more")
    return "\n".join(lines)


def _rehearsed(found: Rehearsal) -> list[list[str]]:
    return [
        ["error of an inferred p(.|s,a), L1", f"{found.l1:.3f}"],
        ["  had it been the mean of its state", f"{found.state_mean:.3f}"],
        ["  had it been the mean of all", f"{found.marginal:.3f}"],
        ["gap of the plan (0 optimal, 1 random)", f"{found.gap:.3f}"],
        ["  with every pair sampled", f"{found.known_gap:.3f}"],
    ]


def _certified(mdp: TabularMDP, args: argparse.Namespace) -> str:
    """What `gim.Analogy` would infer from such samples, and how far that holds."""
    rng = np.random.default_rng(args.seed)
    counts = sample(mdp, rng, args.m, args.rho).counts
    given = knowledge_of(counts, mdp.terminal, no_prior(mdp.S, mdp.A))
    found = certified(Belief(given, task_of(mdp), Analogy(), seed=args.seed))
    true, best = found.against(mdp), abs(mdp.optimal_return()) or 1.0
    rows = [["loss of the policy over the optimum: bound", f"{found.loss / best:.3f}"]]
    rows += [["  true", f"{true.loss / best:.3f}"]]
    if found.inferred.any():
        rows += [
            ["pairs inferred, their own samples included", f"{found.inferred.sum():,}"],
            ["  without a sample", f"{found.unmet.sum():,}"],
            ["  without a bound: too few like them were tried", f"{found.unbounded.sum():,}"],
        ]
    if true.inferred:
        rows += [
            [f"bounds on |(p-q).V| that hold (nominal {percent()})", f"{true.value:.3f}"],
            ["  over the error, median", f"{true.tightness:.3g}"],
            [f"bounds on ||p-q||_1 that hold (nominal {percent()})", f"{true.l1:.3f}"],
        ]
    said = "\n".join(f"{each[0].upper()}{each[1:]}." for each in found.sentences)
    return f"{said}\n\n{table(rows, align='<>')}"


def _told(mdp: TabularMDP, args: argparse.Namespace) -> list[Rule]:
    """What such samples say in words."""
    counts = sample(mdp, np.random.default_rng(args.seed), args.m, args.rho).counts
    names = rule_names(*names_of(mdp), mdp.variables, mdp.action_variables)
    return analogies(counts, _frame(mdp), names)


def _frame(mdp: TabularMDP) -> Frame:
    """What an inference is told of a world besides counts."""
    made_of = (mdp.variables, mdp.action_variables)
    return Frame(mdp.available, mdp.terminal, mdp.reward_range, (), *made_of)


def _verdict(mdp: TabularMDP, found: Rehearsal) -> str:
    if found.hurts:
        return (
            "Warning: completion hurts here. What is known of other pairs says too little of the "
            "inferred ones;\nexplore all pairs (rho=1), which switches completion off."
        )
    if found.l1 > min(found.state_mean, found.marginal):
        return (
            "Completion is doubtful: a plain mean predicts better, though the plan does not suffer."
        )
    return "Completion is plausible here: it predicts better than plain means, and the plan holds."
