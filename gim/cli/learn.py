"""Learn a policy from a log: a CSV or Parquet file of what happened, a folder, or a database.

    gim learn sales.csv --state stock --action order --reward profit --next stock_next --out shop
    gim learn sales.csv --state stock,day --action order --reward profit --episode week --out shop
    gim learn postgresql://me@db/shop --query sales --state stock --action order --reward profit \
        --unit store --step time --out shop

Without --next the next row of the episode says where a row led. Writes policy.csv, policy.json and
model.npz, which `gim.load` reads and `gim play` plays, and report.html."""

from __future__ import annotations

import argparse
import math
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gim._base.files import replacing_all
from gim._base.interrupts import heed
from gim._base.terminal import duration
from gim.belief.certificate import certifiable
from gim.belief.worlds import ASKED
from gim.cli.command import whole
from gim.cli.progress import Progress
from gim.logs import Log, from_log, learn
from gim.logs.check import seconds_to_plan
from gim.logs.labels import MOST_LABELS, as_numbers
from gim.logs.learned import Learned
from gim.logs.learning import MOST_PLANNED
from gim.logs.page import page, units_page
from gim.logs.sources import address
from gim.logs.worth import values_of

LONGEST_NAME = 80  # letters of a unit that its folder is called by
ARGUMENTS = "query|next|episode|step|done|unit|levels|variables|states|keep|engine|bins|start"
ARGUMENTS += "|reward_range|horizon|discount"  # of Python, that are options as well
SOON = 10.0  # seconds of which nothing is said beforehand
PARTS: dict[str, Callable[[Learned], Any]] = {  # what takes long, once each: the rest asks again
    "what it is worth": lambda learned: learned.value,
    "against what was done": lambda learned: learned.against(),
    "a certificate": lambda learned: (
        not learned.average and certifiable(learned) and learned.certificate
    ),
    "what to try first": lambda learned: learned.wanted,
}


def options(parser: argparse.ArgumentParser) -> None:
    """Take a log, what its columns are, and how careful to be."""
    text = "a CSV or Parquet file, a folder or a glob of them, or the URL of a database"
    parser.add_argument("log", metavar="LOG", help=text)
    columns(parser)
    add = parser.add_argument
    add("--infer", default="analogy", metavar="METHOD", help="analogy, or none")
    add("--safe", metavar="METHOD", help="spibb, ramdp:kappa=1, ... (see docs/logs.md)")
    add("--discount", type=float, metavar="G", help="weight of each step against the one before")
    add("--horizon", type=whole, metavar="H", help="steps to plan for (the longest episode)")
    text = "plan for the average reward of a step, without end"
    add("--average", action="store_true", help=text)
    add("--out", type=Path, metavar="FOLDER", help="where to write")
    add("--explain", action="store_true", help="show the SQL that reads the log, and learn nothing")


def columns(parser: argparse.ArgumentParser) -> None:
    """Take what the columns of a log are."""
    add = parser.add_argument
    add("--query", metavar="SQL", help="of a database: a SELECT, or the name of a table")
    add("--state", default="s", metavar="COLUMNS", help="of the state, such as x or x,y (s)")
    add("--action", default="a", metavar="COLUMNS", help="of the action (a)")
    add("--reward", default="r", metavar="COLUMN", help="of the reward (r)")
    add("--next", metavar="COLUMNS", help="of the next state (the next row of the episode)")
    for name, text in (
        ("episode", "that tells episodes apart"),
        ("step", "by which rows are put in order: numbers, times, texts"),
        ("done", "that says whether the episode ended here"),
        ("propensity", "of the probability of the action"),
    ):
        add(f"--{name}", metavar="COLUMN", help=text)
    add("--unit", metavar="COLUMNS", help="that tell units apart (shops, machines)")
    text = "the labels of a column in their order"
    add("--levels", action="append", default=[], metavar="COLUMN=A,B,...", help=text)
    text = "the values that a column of the state can have, whether they were met or not"
    add("--variables", action="append", default=[], metavar="COLUMN=A..B", help=text)
    text = "a state that there can be besides those met; may be given several times"
    add("--states", action="append", metavar="STATE", help=text)
    add("--keep", choices=("rows", "counts"), help="rows one by one, or what they come to")
    add("--engine", choices=("duckdb", "ray"), help="ray: workers count one file each")
    add("--bins", action="append", default=[], metavar="COLUMN=N", help="bin a column of numbers")
    add("--skip", action="store_true", help="leave out rows that cannot be used, and count them")
    text, ends = "the least and the largest reward of a step", ("LOW", "HIGH")
    add("--reward-range", nargs=2, type=float, metavar=ends, help=text)
    text = "where episodes begin, if the log does not tell; may be given several times"
    add("--start", action="append", metavar="STATE", help=text)


def run(args: argparse.Namespace) -> int:
    """Read, learn, write."""
    if args.explain:
        print(";\n".join(read(args).sql) + ";")
        return 0
    if args.out is None:
        raise ValueError("--out FOLDER: say where to write")
    if args.out.exists() and not args.out.is_dir():
        raise ValueError(f"--out {args.out}: that is a file, give a folder")
    log = read(args)
    _forecast(log, args)
    if log.units is not None:
        return _by_unit(log, args)
    with Progress(len(PARTS) + 2, "learning", rate=False) as bar:
        bar.wait(0, "the policy")
        learned = learn(
            log,
            infer=None if args.infer == "none" else args.infer,
            safe=args.safe,
            discount=args.discount,
            horizon=args.horizon,
            average=args.average,
        )
        _forecast_for_ever(learned, bar)
        for i, (what, part) in enumerate(PARTS.items()):
            heed()
            bar.wait(i + 1, what)
            part(learned)
        bar.wait(len(PARTS) + 1, "the page")
        told, html = (
            learned.describe(),
            page(learned, f"{_named(args)}: a policy from a log"),
        )
    heed()
    with replacing_all(args.out) as made:
        learned.policy.to_csv(made / "policy.csv")
        learned.policy.to_json(made / "policy.json")
        learned.model.save(made / "model.npz")
        (made / "report.html").write_bytes(html.encode())
    print(f"{log.describe()}\n{_cut(args)}\n{told}\n")
    print(f"Saved policy.csv, policy.json, model.npz and report.html in {args.out}")
    return 0


def _by_unit(log: Log, args: argparse.Namespace) -> int:
    """A folder for each unit, one page for all, and what they have in common."""
    infer = None if args.infer == "none" else args.infer
    given: dict[str, Any] = {"discount": args.discount, "horizon": args.horizon}
    given |= {"infer": infer, "safe": args.safe, "average": args.average}
    found: Any = learn(log, **given)
    taken: set[str] = set()
    with Progress(len(found) + 1, "learning", rate=False) as bar:
        for k, unit in enumerate(found):
            heed()
            bar.wait(k, f"unit {unit}")
            folder = _folder(str(unit), taken)
            with replacing_all(args.out / folder) as made:
                found[unit].policy.to_csv(made / "policy.csv")
                found[unit].policy.to_json(made / "policy.json")
                found[unit].model.save(made / "model.npz")
        bar.wait(len(found), "the page")
        html = units_page(found, f"{_named(args)}: {len(found)} units of one family")
    heed()
    with replacing_all(args.out) as made:
        found.family.save(made / "family.npz")
        found.new.policy.to_csv(made / "new.csv")
        (made / "report.html").write_bytes(html.encode())
    print(f"{log.describe()}\n{_cut(args)}\n{found.family}\n\n{found.table()}\n")
    print(
        f"Saved a folder of policy.csv, policy.json and model.npz for each of {len(found)} units, "
        f"new.csv for any other, family.npz and report.html in {args.out}"
    )
    return 0


def _folder(unit: str, taken: set[str]) -> str:
    """A name for the folder of a unit: letters, digits, and what is harmless; none twice."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "_", unit).strip(".")[:LONGEST_NAME] or "unit"
    found, k = name, 1
    while found.lower() in taken:
        k += 1
        found = f"{name}-{k}"
    taken.add(found.lower())
    return found


def _forecast(log: Log, args: argparse.Namespace) -> None:
    """Say beforehand what takes long: most of the time goes by steps ahead."""
    steps = args.horizon or 0
    seconds = seconds_to_plan(log, steps)
    if seconds > SOON and steps * log.S * log.A <= MOST_PLANNED:
        print(
            f"gim: note: looking {steps:,} steps ahead takes some {duration(seconds)}; a shorter "
            "--horizon takes less",
            file=sys.stderr,
        )


def _forecast_for_ever(learned: Learned, bar: Progress) -> None:
    """The same of what has no end: one solution of many is timed."""
    case = learned.behind.case
    if case.horizon is not None:
        return
    began = time.perf_counter()
    values_of(case, np.asarray(learned.policy))
    seconds = 3 * ASKED * (time.perf_counter() - began)
    if seconds > SOON:
        bar.clear()
        print(
            f"gim: note: to value policies in {ASKED} worlds of {learned.log.S:,} states "
            f"takes some {duration(seconds)}; --horizon with --discount may take less",
            file=sys.stderr,
        )


def read(args: argparse.Namespace) -> Log:
    """The log that these options describe."""
    try:
        return from_log(
            args.log,
            query=args.query,
            state=_columns(args.state),
            action=_columns(args.action),
            reward=args.reward,
            next_state=None if args.next is None else _columns(args.next),
            episode=args.episode,
            step=args.step,
            done=args.done,
            propensity=args.propensity,
            unit=None if args.unit is None else _columns(args.unit),
            levels=dict(map(_levels, args.levels)),
            variables=dict(map(_variables, args.variables)) or None,
            states=None if args.states is None else [_label(each, args) for each in args.states],
            keep=args.keep,
            engine=args.engine,
            bins=dict(map(_bins, args.bins)),
            strict=not args.skip,
            start=None if args.start is None else [_label(each, args) for each in args.start],
            reward_range=args.reward_range,
        )
    except ValueError as problem:  # in the words of the command line
        raise ValueError(as_options(str(problem))) from None


def as_options(text: str) -> str:
    """What is said of arguments, in the words of the command line.

    Example:
        >>> as_options('give "sqlite:///x" and query="...", or next_state=')
        'give "sqlite:///x" and --query "...", or --next'
    """
    text = text.replace("strict=False", "--skip").replace("next_state=", "next=")
    text = re.sub(r"\breward_range=\((\S+), (\S+)\)", r"--reward-range \1 \2", text)
    text = re.sub(rf"^({ARGUMENTS}) =", r"--\1 =", text)
    text = re.sub(rf"\b({ARGUMENTS})=(?=[\w\"'(\[{{])", r"--\1 ", text)
    return re.sub(rf"\b({ARGUMENTS})=", r"--\1", text).replace("--reward_", "--reward-")


def _named(args: argparse.Namespace) -> str:
    """What a log is called, without what is secret in a URL."""
    if "://" in args.log:
        return f"{address(args.log)}, {args.query}"
    return Path(args.log).name


def _cut(args: argparse.Namespace) -> str:
    """How episodes were told apart, where no column does."""
    if args.episode is not None or not (args.next or args.done or args.unit is None):
        return ""
    where = "is not where the row before led" if args.next else "follows an end"
    return f"episodes     begin where a row {where}; --episode COLUMN tells them apart\n"


def _label(text: str, args: argparse.Namespace) -> Any:
    """A state as the log has it: a tuple if it is made of several columns; numbers as numbers."""

    def value(part: str) -> Any:
        try:
            return float(part)  # 3.0 is found as 3
        except ValueError:
            return part

    parts = [*map(value, text.split(","))] if "," in args.state else [value(text)]
    return tuple(parts) if len(parts) > 1 else parts[0]


def _columns(text: str) -> Any:
    """One name, or several with commas between them."""
    return text.split(",") if "," in text else text


def _variables(text: str) -> tuple[str, Any]:
    """The values of a column: a range of whole numbers, both ends included, or one by one."""
    column, _, given = text.rpartition("=")
    values: Any = given.split(",")
    values = as_numbers(values) or values
    if ends := re.fullmatch(r"(-?\d{1,9})\.\.(-?\d{1,9})", given):
        values = range(int(ends[1]), int(ends[2]) + 1)
    if not column or not given or not 0 < len(values) <= MOST_LABELS:
        raise ValueError(f"--variables {text}: give COLUMN=0..9, or COLUMN=VALUE,VALUE,...")
    return column, values


def _levels(text: str) -> tuple[str, list[str]]:
    column, _, given = text.partition("=")
    if not column or not given:
        raise ValueError(f"--levels {text}: give COLUMN=LABEL,LABEL,... in their order")
    return column, given.split(",")


def _bins(text: str) -> tuple[str, Any]:
    column, _, given = text.rpartition("=")
    try:
        numbers = [float(part) for part in given.split(",")]
    except ValueError:
        numbers = []
    if not column or not numbers or not all(map(math.isfinite, numbers)):
        raise ValueError(f"--bins {text}: give COLUMN=NUMBER, or COLUMN=EDGE,EDGE,...")
    if len(numbers) > 1:
        return column, numbers
    if not numbers[0].is_integer():
        raise ValueError(f"--bins {text}: {numbers[0]:g} is no number of bins: give a whole one")
    return column, int(numbers[0])
