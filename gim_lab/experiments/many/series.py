"""What a trial of the study tries: one way to learn a whole series of worlds."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from gim._base.params import OneOf, Within
from gim.logs import from_log
from gim.logs.learning import learn
from gim.logs.truth import placed
from gim.mdp.tabular import TabularMDP
from gim.model.learned import LearnedModel
from gim.planning import evaluate
from gim.runs.run import run
from gim.runs.series import series
from gim_lab.experiments.many.worlds import FAMILIES, Family, Floats, step
from gim_lab.trials import measures
from gim_lab.trials.subject import Measured, Subject, timed

if TYPE_CHECKING:
    from gim_lab.trials.trial import Trial

FIRST = (1, 5, 20, 100)  # episodes
METHODS = ALONE, SHARED, POOLED, TEMPLATES, CARRIED = (
    "alone",
    "family",
    "pooled",
    "temple",
    "carried",
)
LEARNERS = {
    POOLED: "ucbvi",  # the visits of all worlds so far count as its own
    TEMPLATES: "rmax:m=20,infer=by_templates(m=5)",
    CARRIED: "analogist",  # judges models of earlier worlds, as a whole and by their factors
}
MOST = 6  # earlier models that are carried
AGAIN = 0.05  # chance that a log goes on anywhere, where nobody's habits made it


@dataclass(frozen=True)
class Many(Subject):
    """Learn all worlds of a series in one way; an episode of its trials is one world.

    Curves have a number for each world: what was returned over the first so many episodes (one of
    logs: exact returns), what can be at best, and what whoever acted before has, or chance.
    """

    family: Annotated[str, OneOf(*FAMILIES), "where worlds come from"] = "online"
    method: Annotated[str, OneOf(*METHODS), "who learns"] = SHARED
    episodes: Annotated[int, Within(0), "in each world; 0: learned from logs"] = 20
    rows: Annotated[int, Within(0), "of the log of each world"] = 0

    def measured(self, trial: Trial) -> Measured:
        """The returns of all worlds."""
        family, spent = FAMILIES[self.family], defaultdict[str, float](float)
        rng = np.random.default_rng([trial.seed, list(FAMILIES).index(self.family)])
        worlds = family.worlds(rng, trial.episodes)
        with timed(spent, "interacting"):
            online = self.episodes > 0
            found = self.online(worlds, trial.seed) if online else self.logged(family, worlds, rng)
        best = np.array([world.optimal_return() for world in worlds])
        found |= {"optimum": best, "base": base_of(family, worlds)}
        first = family.left_out(len(worlds))
        scored = found["first_100"][first:]
        score = share_of(found, "first_100", first)
        columns = measures.of_no_agent(worlds[0], score, scored, best[first:])
        return columns, found | measures.curves(found["first_100"]), spent

    def online(self, worlds: list[TabularMDP], seed: int) -> dict[str, Floats]:
        """Mean returns of the first episodes, by world."""
        if self.method in (ALONE, SHARED):
            carry = self.method == SHARED
            runs = list(series("analogist", worlds, self.episodes, seed, carry=carry))
            returns = [each.returns for each in runs]
        else:
            returns, models = [], list[LearnedModel]()
            seeds = np.random.SeedSequence(seed).generate_state(len(worlds)).tolist()
            for world, number in zip(worlds, seeds, strict=True):
                given = models[-MOST:] if self.method == CARRIED else models
                more: Any = {"prior": given} if given else {}
                done = run(LEARNERS[self.method], world, self.episodes, seed=number, **more)
                models.append(done.model)
                returns.append(done.returns)
        return {f"first_{n}": np.array([each[:n].mean() for each in returns]) for n in FIRST}

    def logged(
        self, family: Family, worlds: list[TabularMDP], rng: np.random.Generator
    ) -> dict[str, Floats]:
        """Exact returns of what was learned, by world."""
        acts = np.full((worlds[0].S, worlds[0].A), 1 / worlds[0].A)
        acts = acts if family.acts is None else family.acts()
        table = logged(worlds, acts, self.rows, AGAIN * (family.acts is None), rng)
        log = from_log(table, unit="unit", step="step", start=list(range(worlds[0].S)), **NAMES)
        how: Any = {"horizon": worlds[0].horizon, "safe": "plain"}  # as units are planned for
        if self.method == POOLED:
            plain = from_log({k: v for k, v in table.items() if k != "unit"}, **NAMES)
            learned: Any = dict.fromkeys(range(len(worlds)), learn(plain, **how))
        elif self.method == SHARED:
            learned = learn(log, **how)
        else:
            parts = log.by_unit()
            learned = {k: learn(parts[k], **how) for k in parts}
        worth = []
        for k, world in enumerate(worlds):
            policy = placed(np.asarray(learned[k].policy), learned[k].log, world)
            worth.append(float(world.start @ evaluate(world, policy)[0]))
        return {f"first_{n}": np.array(worth) for n in FIRST}


NAMES: Any = {"state": "s", "action": "a", "reward": "r", "next_state": "t"}


def logged(
    worlds: list[TabularMDP], acts: Floats, rows: int, again: float, rng: np.random.Generator
) -> dict[str, list[Any]]:
    """What units did, row by row."""
    found = []
    for unit, world in enumerate(worlds):
        s = int(rng.integers(world.S))
        for day in range(rows):
            a = int(rng.choice(world.A, p=acts[s]))
            paid, t = step(world, s, a, rng)
            found.append((unit, day, s, a, paid, t))
            s = int(rng.integers(world.S)) if rng.random() < again else t
    names = ("unit", "step", "s", "a", "r", "t")
    return dict(zip(names, map(list, zip(*found, strict=True)), strict=True))


def base_of(family: Family, worlds: list[TabularMDP]) -> Floats:
    """What whoever made the logs returns, or chance."""
    if family.acts is None:
        return np.array([world.random_return() for world in worlds])
    return np.array([world.policy_return(family.acts()) for world in worlds])


def share_of(found: Any, measure: str, first: int) -> float:
    """Of the way from the base to the optimum: a ratio of sums over the worlds that are scored."""
    got, best, base = (found[name][first:] for name in (measure, "optimum", "base"))
    return float((got - base).sum() / (best - base).sum())
