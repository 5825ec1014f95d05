"""Random inputs to every public entry: each is answered, or refused with a ValueError.

An entry is a function of a random generator that makes one input and gives it in. It raises
`Refused` if the entry says no in the way it should; anything else that is raised is a find. The
seed of the generator is the input: one that was found is kept in `FOUND` and tried again by the
tests.
"""

from __future__ import annotations

import json
import math
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gim._base import files
from gim._base.params import describe
from gim._base.registry import parse
from gim.envs import tasks
from gim.logs import from_log, learn
from gim.logs.loading import load
from gim.mdp.convert import from_outcomes
from gim.mdp.tabular import TabularMDP
from gim.mdp.variables import Variables
from gim.model.learned import LearnedModel
from gim.runs.agent import agents
from gim.runs.run import prepare
from gim_lab.trials.study import Study
from tools.robustness import command_lines, given, hostile, run_files
from tools.robustness.inputs import ODD, Refused, Rng, array, refusing

SECONDS = 20  # of the processor that one input may take


def dense_tables(rng: Rng) -> None:
    """`TabularMDP` of arrays, planned and played."""
    S, A = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    P = array(rng, S, A, S)
    if (
        isinstance(P, np.ndarray)
        and P.dtype == float
        and P.shape == (S, A, S)
        and rng.random() < 0.8
    ):
        with np.errstate(all="ignore"):
            P = P / P.sum(axis=-1, keepdims=True)
    r = array(rng, *((S, A) if rng.random() < 0.7 else (S, A, S)))
    options: dict[str, Any] = {}
    if rng.random() < 0.3:
        options["terminal"] = rng.choice(ODD, size=int(rng.integers(3))).tolist()
    if rng.random() < 0.3:
        options["available"] = array(rng, S, A)
    if rng.random() < 0.3:
        options["noise"] = rng.choice(ODD)
    if rng.random() < 0.3:
        options["start"] = rng.choice([0, 1, 5, -1]) if rng.random() < 0.5 else array(rng, S)
    with refusing(), np.errstate(all="ignore"):
        mdp = TabularMDP(P, r, horizon=int(rng.integers(1, 6)), **options)
        if not np.isfinite(mdp.rewards).all():
            raise AssertionError("rewards that are not finite")
        mdp.plan()
        prepare(agents.make("random"), mdp, 3, 0).go()


def sparse_tables(rng: Rng) -> None:
    """`TabularMDP` of CSR, CSC and COO with any indices."""
    S, A = int(rng.integers(1, 5)), int(rng.integers(1, 3))
    made = sparse.random_array(
        (S * A, S), density=0.5, rng=rng, format=str(rng.choice(["csr", "csc", "coo"]))
    )
    made.data[:] = 1.0
    if rng.random() < 0.5:  # one certain successor each
        made = sparse.csr_array(np.eye(S)[rng.integers(S, size=S * A)]).asformat(made.format)
    parts = ["data", "indices", "indptr"] if made.format != "coo" else ["data"]
    for _ in range(int(rng.integers(3))):
        part = getattr(made, str(rng.choice(parts)))
        if part.size:
            part[int(rng.integers(part.size))] = int(rng.choice([0, 1, -1, 3, 10**6, -(10**6)]))
    if made.format == "coo" and made.nnz and rng.random() < 0.5:
        made.coords[int(rng.integers(2))][0] = int(rng.choice([0, 5, -1, 10**6]))
    with refusing():
        mdp = TabularMDP(made, np.zeros((S, A)), available=np.ones((S, A), bool))
        prepare(agents.make("random"), mdp, 3, 0).go()


def models(rng: Rng) -> None:
    """`LearnedModel` of any visits, as a prior."""
    P = rng.dirichlet(np.ones(3), size=(3, 2))
    visits = rng.integers(0, 9, (3, 2)).astype(float)
    visits.flat[int(rng.integers(6))] = rng.choice(ODD)
    known = array(rng, 3, 2)
    with refusing(TypeError), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LearnedModel(P, rng.random((3, 2)), visits=visits, known=known)
        world = TabularMDP(P, np.zeros((3, 2)), horizon=3)
        prepare(agents.make("psrl"), world, 3, 0, prior=model).go()


def outcomes(rng: Rng) -> None:
    """`from_outcomes` of lists."""
    rows: list[Any] = [[0, 0, 1, 0.5, 1.0], [0, 0, 0, 0.5, 0.0], [1, 0, 1, 1.0, 2.0]]
    for _ in range(int(rng.integers(3))):
        rows[int(rng.integers(3))][int(rng.integers(5))] = ODD[int(rng.integers(len(ODD)))]
    with refusing(TypeError), np.errstate(all="ignore"):
        from_outcomes([tuple(row) for row in rows], S=2, A=1)


def described(rng: Rng) -> None:
    """`Variables` of any codes."""
    codes = rng.choice([0, 1, 2, -1, 9], size=(4, int(rng.integers(1, 4))))
    names = rng.choice(["a", "b", "", "a"], size=codes.shape[1]).tolist()
    with refusing(TypeError):
        Variables(codes if rng.random() < 0.7 else array(rng, 4, 2), names=names)


def specs(rng: Rng) -> None:
    """Spec strings, read."""
    text = "".join(rng.choice(command_lines.PIECES, size=int(rng.integers(1, 12))).tolist())
    with refusing():
        parse(text)


def agents_by_spec(rng: Rng) -> None:
    """Agents made from spec strings."""
    name = str(rng.choice(agents.names()))
    value = str(rng.choice(command_lines.PIECES))
    keys = list(agents[name].__dataclass_fields__)  # type: ignore[attr-defined]
    key = str(rng.choice(keys)) if keys else "m"
    with refusing():
        str(agents.make(f"{name}:{key}={value}"))


def tasks_by_spec(rng: Rng) -> None:
    """Worlds made from spec strings."""
    name = str(rng.choice([name for name in tasks.names() if name != "taxi"]))
    keys = [parameter.name for parameter in describe(tasks[name])]
    with refusing():
        tasks.make(f"{name}:{rng.choice(keys)}={rng.choice(command_lines.PIECES)}")


def studies(rng: Rng) -> None:
    """Study files."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.toml"
        path.write_text(command_lines.shaken(command_lines.HEAD, rng), errors="replace")
        with refusing(OSError):
            Study.load(path)


def bytes_of_files(rng: Rng) -> None:
    """Saved MDPs with changed bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mdp.npz"
        tasks.make("riverswim").save(path)
        data = bytearray(path.read_bytes())
        for _ in range(int(rng.integers(1, 4))):
            data[int(rng.integers(len(data)))] = int(rng.integers(256))
        path.write_bytes(data[: int(rng.integers(len(data))) if rng.random() < 0.3 else None])
        with refusing():
            load(path)


def contents_of_files(rng: Rng) -> None:
    """Saved MDPs, sparse ones too, with other arrays and meta under a valid checksum."""
    mdp = tasks.make("riverswim")
    arrays, meta = (mdp.to_sparse() if rng.random() < 0.5 else mdp).pack()
    name = str(rng.choice(sorted(arrays)))
    changes = list(run_files.mutated(arrays[name], rng))
    arrays = arrays | {name: changes[int(rng.integers(len(changes)))][1]}
    if rng.random() < 0.3:
        meta = dict(meta) | {
            str(rng.choice(sorted(meta))): run_files.JUNK[int(rng.integers(len(run_files.JUNK)))]
        }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mdp.npz"
        files.save(path, "mdp", arrays, meta)
        with refusing(), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = load(path, "mdp")
            prepare(agents.make("random"), found, 3, 0).go()


def policies(rng: Rng) -> None:
    """Policies as JSON and CSV."""
    with tempfile.TemporaryDirectory() as folder:
        policy = prepare(agents.make("optimal"), tasks.make("riverswim"), 1, 0).go().best_policy()
        path = Path(folder) / ("p.json" if rng.random() < 0.5 else "p.csv")
        (policy.to_json if path.suffix == ".json" else policy.to_csv)(path)
        path.write_text(command_lines.shaken(path.read_text(), rng), errors="replace")
        with refusing(json.JSONDecodeError):
            load(path)


def logs(rng: Rng) -> None:
    """Logs as CSV."""
    rows = [
        ",".join(rng.choice(["0", "1", "2", "", "x", "1e400", "nan", "-1"], size=4).tolist())
        for _ in range(6)
    ]
    rows = ["0,1,1.5,1", "1,0,0,2", *rows[: int(rng.integers(3))]]
    text = "s,a,r,s2\n" + "\n".join(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        path.write_text(
            command_lines.shaken(text, rng) if rng.random() < 0.7 else text, errors="replace"
        )
        with refusing(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from_log(path)


ODD_CELLS = [0, 1, 2, "1", "1 ", "1.0", "x", None, math.nan, True, "no", -1.5, math.inf, [0], ""]


def rows_of_logs(rng: Rng) -> None:
    """Logs as columns, with gaps, bans and flags; those that are read are learned from."""
    n = int(rng.integers(1, 14))
    few = int(rng.integers(1, 4))
    columns: dict[str, list[Any]] = {
        name: rng.integers(0, few, n).tolist() for name in ("s", "a", "s2", "e", "done")
    }
    columns |= {"r": rng.normal(size=n).tolist(), "k": list(range(n))}
    for _ in range(int(rng.integers(4))):
        name = str(rng.choice(sorted(columns)))
        odd = ODD_CELLS[int(rng.integers(len(ODD_CELLS)))]
        columns[name][int(rng.integers(n))] = odd
    options: dict[str, Any] = {
        "next_state": None if rng.random() < 0.5 else "s2",
        "strict": bool(rng.random() < 0.3),
    }
    for option, name in (("episode", "e"), ("step", "k"), ("done", "done")):
        if rng.random() < 0.5:
            options[option] = name
    if rng.random() < 0.5:
        banned = {int(a) for a in rng.integers(0, few, int(rng.integers(3)))}
        options["available"] = lambda s, a: a not in banned
    with refusing(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log = from_log(columns, **options)
        log.describe()
        learned = learn(log, infer=None, horizon=3)
        chosen = np.asarray(learned.policy)
        if not (log.allowed | log.terminal[:, None])[np.arange(log.S), chosen].all():
            raise AssertionError("a policy plays what is banned")
        learned.evaluated()
        if rng.random() < 0.1:  # which takes longest
            learned.describe()


class Runs:
    """Run files of some agents, changed; see `run_files`."""

    __doc__ = "Run files with one array or field that no run has left there."

    def __init__(self) -> None:
        self.packed = [run_files.paused(spec) for spec in ("q_learning", "psrl", "rmax:m=2")]

    def __call__(self, rng: Rng) -> None:
        """One change of one of them."""
        packed = self.packed[int(rng.integers(len(self.packed)))]
        name = str(rng.choice(sorted(packed.arrays)))
        changes = list(run_files.mutated(packed.arrays[name], rng))
        change, array = changes[int(rng.integers(len(changes)))]
        case = run_files.Case(name, change, packed.arrays | {name: array}, packed.meta)
        if run_files.outcome(case) == "refused":
            raise Refused


ENTRIES: dict[str, tuple[Callable[[Rng], None], int]] = {  # and the share of the inputs
    "dense tables": (dense_tables, 12),
    "sparse tables": (sparse_tables, 12),
    "learned models": (models, 4),
    "lists of outcomes": (outcomes, 12),
    "variables": (described, 12),
    "spec strings": (specs, 14),
    "agents by spec": (agents_by_spec, 12),
    "worlds by spec": (tasks_by_spec, 3),
    "study files": (studies, 4),
    "bytes of files": (bytes_of_files, 5),
    "contents of files": (contents_of_files, 5),
    "policies as text": (policies, 2),
    "logs": (logs, 2),
    "rows of logs": (rows_of_logs, 1),
    **given.ENTRIES,
    **hostile.ENTRIES,
}
# (entry, seed) of what was found once, tried by the tests
FOUND: tuple[tuple[str, int], ...] = (
    ("lists of outcomes", 129),
    ("logs", 59),
    ("bytes of files", 910_011),
)


class Row(NamedTuple):
    """What came of the inputs of one entry."""

    entry: str
    inputs: int
    answered: int
    refused: int
    finds: list[str]
    seconds: float


def run(number: int, seed: int = 0) -> Iterator[Row]:
    """So many inputs in all, by entry; command lines and run files, which take longer, on top."""
    shares = sum(share for _, share in ENTRIES.values())
    for spec in ("random", "psrl", "optimal"):  # compiled before the clock runs
        prepare(agents.make(spec), tasks.make("riverswim"), 3, 0).go()
    for name, (entry, share) in ENTRIES.items():
        yield row(name, entry, max(1, number * share // shares), seed)


def row(name: str, entry: Callable[[Rng], None], number: int, seed: int = 0) -> Row:
    """So many inputs to one entry."""
    counts: Counter[str] = Counter()
    finds, began = [], time.perf_counter()
    for i in range(number):
        try:
            one(entry, seed + i)
            counts["answered"] += 1
        except Refused:
            counts["refused"] += 1
        except (Exception, command_lines.TooLong) as problem:
            finds.append(f"seed {seed + i}: {type(problem).__name__}: {str(problem)[:150]}")
    return Row(
        name, number, counts["answered"], counts["refused"], finds, time.perf_counter() - began
    )


def one(entry: Callable[[Rng], None], seed: int) -> None:
    """One input; raises `Refused`, or whatever is a find."""
    with command_lines.limited(SECONDS, f"seed {seed}"):
        entry(np.random.default_rng(seed))
