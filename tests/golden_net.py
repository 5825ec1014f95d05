"""A net under inference and certificates: what small worlds come to, written down as it was.

Each case is a world, a walk of some steps through it (drawn here, by no agent), and what is made of
its counts: the candidates and their gains, the prior, what the belief comes to, rules in words,
bounds of both kinds. Much of that has no right value, such as a threshold or the grid on which a
number is fitted; a change of it must be meant. `python -m tests.golden_net` (`make golden`) writes
the file anew, and its diff shows what a change of the learner has changed.

Arrays are told by three numbers: how many entries are not 0, the sum of their sizes, and a sum with
weights that tell places apart. A number agrees within 1e-5 of itself, or of the largest in its
array: other machines round otherwise. What rests on a plane of rewards or on drawn models feels
that more (TOLERANCES, from kernels of OpenBLAS for other processors: OPENBLAS_CORETYPE).
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

import gymnasium
import numpy as np
from scipy import sparse

import gim
from gim.analogy import analogy
from gim.analogy.base import Frame
from gim.analogy.candidates.structured import triples_of
from gim.analogy.rewards import RewardRule
from gim.analogy.structure import exceptions
from gim.belief.analogies import analogies, rule_names
from gim.belief.belief import Belief
from gim.belief.certificate import Aim, certify
from gim.belief.knowledge import believed_model, knowledge_of
from gim.mdp.naming import names_of
from gim.model.counts import new_counts
from gim.model.rewards import by_pair
from gim.model.task import Task

FILE = Path(__file__).parent / "golden_net.json"
TOLERANCE = 1e-5
NONE = 1e-9  # what is no larger is 0
TOLERANCES = {  # of what rests on these
    **dict.fromkeys(("r", "r_next", "R", "R2", "rewards", "credible", "guaranteed"), 3e-3),
    **dict.fromkeys(("lower", "upper", "earns", "loss"), 1e-2),
}


class Case(NamedTuple):
    """A world, how many steps are walked in it, and how it is shown to the learner."""

    world: str
    steps: int
    bare: bool = False  # without what states and actions are made of, and in another order
    models: tuple[Case, ...] = ()  # walked in before, as Case: what was learned is handed on
    known: bool = False  # whether rewards are
    horizon: int = 0  # 0: the world's own
    discount: float = 1.0  # below 1: what is certified is a policy without an end
    careful: bool = False  # whether what is certified is the policy that the walk has played


GRID = "gridworld:height=4,width=5,slip=0.2,start=0,horizon=20"
CASES = {
    "slippery grid": Case(GRID, 150),
    "shuffled grid": Case(GRID, 400, bare=True),
    "four rooms": Case("four_rooms", 250),
    "walls": Case("walls:size=5,walls=4", 300),
    "frozen lake": Case("FrozenLake-v1", 300, horizon=30),
    "taxi": Case("taxi:size=3", 300, horizon=20),
    "queues": Case("queues:capacity=4,horizon=20", 200),
    "inventory": Case("inventory:capacity=8,largest=4,demand=2.0,horizon=20", 150),
    "two products": Case("inventory2:capacity=3,largest=2,horizon=20", 200),
    "wet chicken": Case("wet_chicken:length=4,width=4,horizon=20", 250),
    "machines": Case("sysadmin:machines=3,horizon=20", 200),
    "garnet": Case("garnet:S=12,A=4,branching=3", 300),
    "shared factors": Case("shared_factors:S=12,A=8", 500),
    "linear": Case("linear:S=10,A=8,d=3", 500),
    "clusters": Case("clusters:S=16,A=5,clusters=3", 500),
    "mixtures": Case("mixtures:S=10,A=6", 400),
    "noisy arms": Case("noisy_arms:S=5,A=8", 300),
    "prototypes": Case("prototypes:S=10,A=6,J=3", 300),
    "duplicates": Case("duplicates:S=8,A=8,copies=4", 300),
    "maintenance": Case("maintenance:levels=4,horizon=20", 200),
    "teleports": Case("teleports:size=4,teleports=2", 250),
    "windy grid": Case("windy_grid:stochastic=True,horizon=40", 200),
    "casino": Case("casinoland", 200),
    "exceptions": Case("exceptions:S=14,A=8,treasure=2.0", 500),
    "known rewards": Case(GRID, 150, known=True),
    "a model of the same world": Case(
        "shared_factors:S=12,A=8", 60, models=(Case("shared_factors:S=12,A=8", 1500),)
    ),
    "a model of another world": Case(
        "shared_factors:S=12,A=8", 200, models=(Case("shared_factors:S=12,A=8,seed=1", 800),)
    ),
    "without an end": Case("queues:capacity=3,horizon=20", 200, discount=0.9),
    "a given policy": Case("wet_chicken:length=3,width=3,horizon=15", 300, careful=True),
    "rules of a smaller world": Case(
        "gridworld:height=6,width=6,slip=0.2,start=0,horizon=20", 40, models=(Case(GRID, 600),)
    ),
}


# -- what a case comes to


@cache
def walked(case: Case) -> Any:
    """The world as it is shown, and the counts and ends of a walk of random actions."""
    mdp = _world(case.world)
    rng = np.random.default_rng(7)
    order = rng.permutation(mdp.S) if case.bare else np.arange(mdp.S)
    ordered, shape = np.ix_(order, range(mdp.A), order), (mdp.S, mdp.A, mdp.S)
    P = np.cumsum(_full(mdp.transitions, shape)[ordered], axis=2)
    paid = np.repeat(mdp.rewards[:, :, None], mdp.S, axis=2)
    r = (paid if mdp.rewards_next is None else _full(mdp.rewards_next, shape))[ordered]
    noise = np.zeros((mdp.S, mdp.A)) if mdp.noise is None else mdp.noise[order]
    available, terminal = mdp.available[order], mdp.terminal[order]
    start, horizon = np.cumsum(mdp.start[order]), case.horizon or mdp.horizon
    counts, ended = new_counts(mdp.S, mdp.A, by_triple=not case.known), np.zeros(mdp.S, bool)
    s, left = int(np.searchsorted(start, rng.random())), horizon
    for _ in range(case.steps):
        a = int(rng.choice(np.flatnonzero(available[s])))
        t = min(int(np.searchsorted(P[s, a], rng.random())), mdp.S - 1)
        paid = r[s, a, t] + noise[s, a] * rng.standard_normal()
        place = (s * mdp.A + a) * mdp.S + t
        for total, more in ((counts.n, 1), (counts.R, paid), (counts.R2, paid**2)):
            total[s, a] += more
        counts.next[place] += 1
        if not case.known:
            counts.paid[place] += paid
            counts.paid2[place] += paid**2
        ended[t] |= terminal[t]
        s, left = t, left - 1
        if left == 0 or terminal[t]:
            s, left = int(np.searchsorted(start, rng.random())), horizon
    made_of = (None, None) if case.bare else (mdp.variables, mdp.action_variables)
    task = Task(mdp.S, mdp.A, horizon, available, mdp.reward_range, None, None, (), *made_of)
    return SimpleNamespace(mdp=mdp, task=task, counts=counts, ended=ended, start=mdp.start[order])


def _world(spec: str) -> Any:
    return gim.from_gymnasium(gymnasium.make(spec)) if "-v" in spec else gim.make(spec)


def _full(table: Any, shape: tuple[int, ...]) -> Any:
    return (table.toarray() if sparse.issparse(table) else table).reshape(shape)


def frame_of(case: Case) -> Frame:
    """What is certain of a case besides its counts."""
    seen = walked(case)
    models = tuple(learned(other) for other in case.models)
    pays = seen.mdp.rewards if case.known else None
    made_of = (seen.task.variables, seen.task.action_variables)
    limits = seen.task.available, seen.ended, seen.task.reward_range
    return Frame(*limits, models, *made_of, case.known, pays)


@cache
def learned(case: Case) -> Any:
    """The model of a world that was walked in before."""
    seen = walked(case)
    prior = analogy.Analogy()(seen.counts, frame_of(case), np.random.default_rng(1))
    return believed_model(knowledge_of(seen.counts, seen.ended, prior), seen.task)


def outcome(name: str) -> dict[str, Any]:
    """All that is made of a case."""
    case = CASES[name]
    seen, frame = walked(case), frame_of(case)
    judged, chosen = [], []
    infer, worth_of = analogy.Analogy(), analogy.worth_of

    def worth(*given: Any) -> Any:
        judged.append(worth_of(*given))
        return judged[-1]

    def choose(self: Any, *given: Any, choose: Any = analogy.Analogy.choose) -> Any:
        chosen.append(choose(self, *given))
        return chosen[-1]

    with (
        mock.patch.object(analogy, "worth_of", worth),
        mock.patch.object(analogy.Analogy, "choose", choose),
    ):
        prior = infer(seen.counts, frame, np.random.default_rng(1))
    (found,) = chosen
    told: dict[str, Any] = {
        "winner": "nobody" if found is None else found.name,
        "gains": [each.gain for each in judged],
        "doubts": [numbers(each.doubt) for each in judged],
        "leaks": [each.leak for each in judged],
        "prior": {key: numbers(value) for key, value in prior._asdict().items()},
    }
    if found is not None:
        told["structure"] = structure(found)
    belief = knowledge_of(seen.counts, seen.ended, prior)
    told["evidence"] = {k: numbers(each) for k, each in belief.evidence()._asdict().items()}
    model = believed_model(belief, seen.task)
    shown = {"rows": model.rows(), "rewards": model.rewards, "supported": model.supported}
    told["model"] = {key: numbers(each) for key, each in shown.items()}
    told["words"] = words(seen, frame)
    even = seen.task.available / seen.task.available.sum(axis=1, keepdims=True)
    aim = Aim(None, case.discount) if case.discount < 1 else None
    policy = even if case.careful else None
    rewards = by_pair(seen.mdp.rewards) if case.known else belief.rewards
    task = replace(seen.task, priors=frame.models)
    known = belief._replace(rewards=rewards)
    about = Belief(known, task, analogy.Analogy(), policy, seen.start, aim)
    told |= {kind: bounds(certify(about, kind=kind)) for kind in ("credible", "guaranteed")}
    return told


def structure(found: Any) -> dict[str, Any]:
    """What the variables of a world say of exceptions and rewards, each by itself."""
    triples, split = triples_of(found.split.data), found.split
    pairs = split.pairs[split.judges]
    told: dict[str, Any] = {
        "exceptions": np.flatnonzero(exceptions(found.said.rows, pairs, triples)).tolist(),
    }
    if triples.R is not None:
        rule = RewardRule(found.split.data)
        if not rule.silent:
            told["rewards"] = [repr(rule.rule.shape.chain), *map(plain, rule.doubts)]
    return told


def words(seen: Any, frame: Frame) -> list[str]:
    """The rules that a person reads."""
    made_of = (seen.task.variables, seen.task.action_variables)
    names = rule_names(*names_of(seen.mdp), *made_of)
    return [str(rule) for rule in analogies(seen.counts, frame, names)]


def bounds(found: Any) -> dict[str, Any]:
    """What a certificate says."""
    names = "expected lower upper earns loss trivial value l1 unbounded"
    told = {name: plain(getattr(found, name)) for name in names.split()}
    return told | {"sentences": [re.sub(r"[\d.,]+", "#", each) for each in found.sentences]}


# -- numbers that can be compared


def numbers(array: Any) -> Any:
    """An array in three numbers."""
    x = (array.toarray() if sparse.issparse(array) else np.asarray(array)).astype(float).ravel()
    x = np.where(np.isfinite(x), x, 1e6) * (np.abs(x) > NONE)
    weights = np.cos(np.arange(x.size) * 1.0)
    return [int(np.count_nonzero(x)), rounded(np.abs(x).sum()), rounded(x @ weights)]


def plain(value: Any) -> Any:
    """Anything as JSON takes it."""
    if isinstance(value, np.ndarray):
        return numbers(value)
    if hasattr(value, "_asdict"):
        return {key: plain(each) for key, each in value._asdict().items()}
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    return value


def rounded(x: Any) -> Any:
    """Nine digits, more than are compared."""
    return float(f"{float(x):.9g}") if math.isfinite(x) else str(float(x))


def differences(now: Any, then: Any, where: str = "", within: float = TOLERANCE) -> list[str]:
    """Where two outcomes differ, by more than rounding."""
    if isinstance(now, dict) and isinstance(then, dict) and now.keys() == then.keys():
        return [
            each
            for key in now
            for each in differences(
                now[key], then[key], f"{where} {key}", max(within, TOLERANCES.get(key, 0.0))
            )
        ]
    if isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        if not all(isinstance(x, int | float) for x in [*now, *then]):
            both = enumerate(zip(now, then, strict=True))
            return [
                each for i, (a, b) in both for each in differences(a, b, f"{where}[{i}]", within)
            ]
        now, then = np.array(now, float), np.array(then, float)
        same = np.abs(now - then) <= within * np.maximum(
            np.abs(then[1:]).max(initial=0), np.abs(then)
        )
        return [] if same.all() else [f"{where}: {now.tolist()}, and was {then.tolist()}"]
    same = now == then
    if isinstance(now, int | float) and isinstance(then, int | float):
        same = abs(now - then) <= within * abs(then)
    return [] if same else [f"{where}: {now!r}, and was {then!r}"]


def as_json(told: Any) -> Any:
    """As it is read back."""

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: clean(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [clean(v) for v in value]
        if isinstance(value, float | np.floating):
            return rounded(value)
        return value.item() if isinstance(value, np.generic) else value

    return clean(told)


def main() -> None:
    """Write what all cases come to now."""
    lines = [f"{json.dumps(name)}: {json.dumps(as_json(outcome(name)))}" for name in CASES]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
