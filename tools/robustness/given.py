"""More entries of the fuzzer: what runs, plans, logs and policies are given, and who steps."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from gim.envs import tasks
from gim.logs import from_log, learn
from gim.logs.loading import load
from gim.mdp.convert import from_step
from gim.mdp.policy import Policy
from gim.mdp.tabular import TabularMDP
from gim.model.learned import LearnedModel
from gim.runs.agent import agents
from gim.runs.run import prepare
from tools.robustness.inputs import ODD, Rng, array, refusing

LABELS: tuple[Any, ...] = (
    0,
    1,
    -1,
    "a",
    "",
    (0, 1),
    (1,),
    None,
    2.5,
    float("nan"),
    [1],
    {},
    b"x",
    10**20,
    "é\n",
)
THINGS = (*ODD, *LABELS[:-1], True, 1j, "0.5", [0.5], np.array([1.0]), np.float32(0.5), object())
DTYPES = ("bool", "int8", "uint64", "float16", "complex64", "U3", "S3", "O", "M8[D]")


def one_of(rng: Rng, things: Any) -> Any:
    """One of these, as it is: numpy's own choice would make an array of them."""
    return things[int(rng.integers(len(things)))]


def several_of(rng: Rng, things: Any, n: int) -> list[Any]:
    """So many of these."""
    return [one_of(rng, things) for _ in range(n)]


def often(rng: Rng, usual: Any, odd: Any) -> Any:
    """What is usual, or, once in four times, one of these."""
    return usual if rng.random() < 0.75 else one_of(rng, odd)


def finite(*values: Any) -> None:
    """A find, if one of these is not finite."""
    for value in values:
        if not np.isfinite(np.asarray(value, np.float64)).all():
            raise AssertionError("a number that is not finite")


def world(rng: Rng) -> TabularMDP:
    """A small one, for what is asked about others."""
    return TabularMDP(rng.dirichlet(np.ones(2), size=(2, 2)), rng.random((2, 2)), horizon=3)


def step_functions(rng: Rng) -> None:
    """`from_step` of functions that return anything, played."""
    states = often(rng, list(range(3)), (several_of(rng, LABELS, 2), 5, "ab", set(), None))
    ends = often(rng, [], ([2], 2, LABELS[:3], None))

    def step(state: Any, action: Any) -> Any:
        usual = [(0.5, state, 1.0), (0.5, 0, 0)]
        odd = several_of(rng, THINGS, 3)
        return often(rng, usual, (None, [], 5, "abc", [odd], [(1.0, *odd[:2])], [(1, state)]))

    with refusing():
        start = often(rng, None, (*LABELS, {0: 1.0}, {0: "x"}))
        mdp = from_step(step, states, [0, "go"], horizon=2, start=start, terminal=ends)
        prepare(agents.make("random"), mdp, 2, 0).go()


def columns_of_logs(rng: Rng) -> None:
    """`from_log` of columns, and now and then what is learned from them."""
    n = int(rng.integers(1, 8))
    columns = {
        "s": rng.integers(0, 3, n),
        "a": rng.integers(0, 2, n),
        "r": rng.random(n),
        "s2": rng.integers(0, 3, n),
        "e": rng.integers(0, 2, n),
        "p": rng.random(n),
    }
    odd = (several_of(rng, LABELS, n), several_of(rng, THINGS, n), array(rng, n, 2), 5, None, "x")
    columns = {name: often(rng, column, odd) for name, column in columns.items()}
    options: dict[str, Any] = {"strict": bool(rng.random() < 0.5)}
    for name, usual in (("state", "s"), ("next_state", "s2"), ("reward", "r"), ("action", "a")):
        options[name] = usual if rng.random() < 0.9 else one_of(rng, (None, "q", ["s", "e"], 3))
    for name, column in (("episode", "e"), ("done", "e"), ("step", "e"), ("propensity", "p")):
        if rng.random() < 0.2:
            options[name] = column
    if rng.random() < 0.2:
        options["bins"] = often(rng, {"s": 2}, ({"s": one_of(rng, THINGS)}, 4, {"r": 2}))
    if rng.random() < 0.2:
        options["available"] = one_of(rng, ("all", {0: [0]}, {0: 3}, lambda s, a: True, 7))
    with refusing(), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log = from_log(columns, **options)
        log.describe()
        finite(log.behaviour)
        if rng.random() < 0.2:
            named = str(rng.choice(["plain", "vi_lcb", "spibb", "ramdp", "robust", "bernstein"]))
            learned = learn(
                log,
                infer=None,
                safe=often(rng, named, THINGS),
                horizon=often(rng, 3, THINGS),
                discount=often(rng, None, THINGS),
                rewards=often(rng, "learn", (np.zeros((log.S, log.A)), lambda s, a, t: 1, *THINGS)),
            )
            finite(learned.value.estimate, np.asarray(learned.policy))


def rewards_given(rng: Rng) -> None:
    """`rewards=` of a run: tables and functions."""
    odd = several_of(rng, THINGS, 8)
    tables = array(rng, *((2, 2) if rng.random() < 0.5 else (2, 2, 2)))
    given = often(rng, tables, (lambda *_: rarely(rng, 1.0, odd), lambda *_: odd[0], *THINGS))
    with refusing(), np.errstate(all="ignore"):
        run = prepare(agents.make("ucbvi"), world(rng), 2, 0, rewards=given).go()
        finite(run.returns)
        if run.model is not None:
            finite(run.model.rewards)


def priors_given(rng: Rng) -> None:
    """`prior=` of a run: models, logs, and lists of anything."""
    made = world(rng)
    visits = rng.integers(0, 9, (2, 2))
    model = LearnedModel(made.transitions, made.rewards, visits=visits, known=visits > 4)
    other = LearnedModel(np.eye(1)[None], [[0.0]], visits=[[1]], known=[[True]])
    logs = [from_log([(0, a, 1.0, s)]) for a, s in ((0, 1), (1, 0), (5, 1), (0, "b"))]
    things = (model, model, other, *logs, *THINGS, Path("none.npz"))
    given = often(rng, several_of(rng, things, int(rng.integers(3))), things)
    with refusing(OSError), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agent = agents.make(str(rng.choice(["ucbvi", "ucbvi", "random"])))
        finite(prepare(agent, made, 2, 0, prior=given).go().returns)


def policies_made(rng: Rng) -> None:
    """`Policy` of arrays and labels: asked, shown, written and read again."""
    usual = np.array([[0, 1], [1, 0]]) if rng.random() < 0.5 else rng.dirichlet([1, 1], size=2)
    given = often(rng, usual, (array(rng, 2, 2), array(rng, 2), *THINGS))
    labels = often(rng, None, (several_of(rng, LABELS, 2), several_of(rng, THINGS, 2), *THINGS))
    actions = often(rng, None, (several_of(rng, LABELS, 2), *THINGS))
    with refusing(), tempfile.TemporaryDirectory() as folder:
        policy = Policy(given, labels, actions)
        policy.index(0, rng=rng)
        policy.table()
        for name, write in (
            ("p.npz", policy.save),
            ("p.csv", policy.to_csv),
            ("p", policy.to_json),
        ):
            write(Path(folder) / name)
            again = load(Path(folder) / name)
            if not np.array_equal(np.asarray(again), np.asarray(policy)):
                raise AssertionError(f"another policy came back from {name}")
        policy(often(rng, 0, THINGS), often(rng, 0, THINGS))


def described_worlds(rng: Rng) -> None:
    """`variables=` of a world, and of one that was saved and loaded."""
    codes = rng.integers(0, 3, size=(2, int(rng.integers(1, 3))))
    forms: tuple[Any, ...] = (
        codes,
        codes.tolist(),
        {"x": codes[:, 0]},
        {one_of(rng, LABELS[:5]): several_of(rng, THINGS, 2)},
        [tuple(several_of(rng, THINGS, 2)) for _ in range(2)],
        several_of(rng, THINGS, 2),
        *THINGS,
    )
    given = one_of(rng, forms)
    with refusing(), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if given is codes and rng.random() < 0.5:
            given = codes.astype(str(rng.choice(DTYPES)))
        made = world(rng).with_(variables=given)
        with tempfile.TemporaryDirectory() as folder:
            made.save(Path(folder) / "m.npz")
            again = load(Path(folder) / "m.npz", "mdp").variables
        if made.variables is None or again is None:
            same = made.variables is again
        else:
            same = np.array_equal(again.codes, made.variables.codes)
        if not same:
            raise AssertionError("other variables came back from the file")


class Odd(gymnasium.Env[Any, Any]):
    """An environment that returns what it likes."""

    action_space = spaces.Discrete(2)

    def __init__(self, rng: Rng) -> None:
        self.rng = rng
        self.observation_space = often(
            rng,
            spaces.Discrete(3),
            (
                spaces.MultiDiscrete([2, 2]),
                spaces.Discrete(3, start=-1),
                spaces.Box(0, 2, (1,), int),  # type: ignore[arg-type]
            ),
        )

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """The first state, mostly."""
        super().reset(seed=seed)
        return self._state(), {}

    def step(self, action: Any) -> Any:
        """Mostly what a step returns."""
        usual: tuple[Any, ...] = (self._state(), rarely(self.rng, 1.0, THINGS), False, False, {})
        return rarely(self.rng, usual, (None, 5, (), usual[:4], (*usual, 1)))

    def _state(self) -> Any:
        return rarely(self.rng, self.observation_space.sample(), THINGS)


def rarely(rng: Rng, usual: Any, odd: Any) -> Any:
    """What is usual, or, once in thirty times, one of these."""
    return usual if rng.random() < 0.97 else one_of(rng, odd)


def environments(rng: Rng) -> None:
    """Environments that go wrong somewhere."""
    with refusing(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agent = agents.make(str(rng.choice(["random", "q_learning"])))
        finite(prepare(agent, Odd(rng), 3, 0, horizon=4).go().returns)


def plans(rng: Rng) -> None:
    """`plan` with any discount, horizon, tolerance and number of sweeps."""
    options = {
        name: one_of(rng, (*THINGS, 0.9, 0.99, 3, 5))
        for name in ("discount", "horizon", "tolerance", "max_iter")
        if rng.random() < 0.4
    }
    with refusing(), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        finite(world(rng).plan(**options).v)


def numbers_of_runs(rng: Rng) -> None:
    """Episodes, seeds and horizons of a run."""
    numbers = {name: often(rng, 3, (*THINGS, 1000)) for name in ("episodes", "seed", "horizon")}
    with refusing():
        run = prepare(agents.make("random"), tasks.make("riverswim"), **numbers)
        if run.episodes * run.task.H < 100_000:
            finite(run.go().returns)


ENTRIES: dict[str, tuple[Callable[[Rng], None], int]] = {  # and the share of the inputs
    "step functions": (step_functions, 4),
    "columns of logs": (columns_of_logs, 6),
    "rewards= of a run": (rewards_given, 4),
    "prior= of a run": (priors_given, 4),
    "policies": (policies_made, 2),
    "variables of worlds": (described_worlds, 3),
    "environments": (environments, 4),
    "plans": (plans, 4),
    "numbers of runs": (numbers_of_runs, 4),
}
