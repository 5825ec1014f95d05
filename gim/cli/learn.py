"""Learn a policy from a log: a CSV or Parquet file of what happened.

    gim learn sales.csv --state stock --action order --reward profit --next stock_next --out shop
    gim learn sales.csv --state stock,day --action order --reward profit --episode week --out shop

Without --next the next row of the episode says where a row led. Writes policy.csv, policy.json and
model.npz, which `gim.load` reads and `gim play` plays, and report.html."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from gim.cli.command import whole
from gim.files import replacing
from gim.logs import Log, from_log, learn
from gim.logs.page import page


def options(parser: argparse.ArgumentParser) -> None:
    """Take a log, what its columns are, and how careful to be."""
    add = parser.add_argument
    add("log", metavar="LOG", help="a CSV or Parquet file")
    add("--state", default="s", metavar="COLUMNS", help="of the state, such as x or x,y (s)")
    add("--action", default="a", metavar="COLUMNS", help="of the action (a)")
    add("--reward", default="r", metavar="COLUMN", help="of the reward (r)")
    add("--next", metavar="COLUMNS", help="of the next state (the next row of the episode)")
    for name, text in (
        ("episode", "that tells episodes apart"),
        ("step", "of the step within the episode"),
        ("done", "that says whether the episode ended here"),
        ("propensity", "of the probability of the action"),
    ):
        add(f"--{name}", metavar="COLUMN", help=text)
    add("--bins", action="append", default=[], metavar="COLUMN=N", help="bin a column of numbers")
    add("--skip", action="store_true", help="leave out rows that cannot be used, and count them")
    add("--infer", default="analogy", metavar="METHOD", help="analogy, or none")
    add("--safe", metavar="METHOD", help="spibb, ramdp:kappa=1, ... (see docs/logs.md)")
    add("--discount", type=float, metavar="G", help="weight of each step against the one before")
    add("--horizon", type=whole, metavar="H", help="steps to plan for (the longest episode)")
    add("--out", type=Path, required=True, metavar="FOLDER", help="where to write")


def run(args: argparse.Namespace) -> int:
    """Read, learn, write."""
    if args.out.exists() and not args.out.is_dir():
        raise ValueError(f"--out {args.out}: that is a file, give a folder")
    log = _read(args)
    learned = learn(
        log,
        infer=None if args.infer == "none" else args.infer,
        safe=args.safe,
        discount=args.discount,
        horizon=args.horizon,
    )
    args.out.mkdir(parents=True, exist_ok=True)
    learned.policy.to_csv(args.out / "policy.csv")
    learned.policy.to_json(args.out / "policy.json")
    learned.model.save(args.out / "model.npz")
    print(f"{log.describe()}\n{_cut(args)}\n{learned.describe()}\n")
    with replacing(args.out / "report.html") as file:
        file.write(page(learned, f"{Path(args.log).name}: a policy from a log").encode())
    print(f"Saved policy.csv, policy.json, model.npz and report.html in {args.out}")
    return 0


def _read(args: argparse.Namespace) -> Log:
    try:
        return from_log(
            args.log,
            state=_columns(args.state),
            action=_columns(args.action),
            reward=args.reward,
            next_state=None if args.next is None else _columns(args.next),
            episode=args.episode,
            step=args.step,
            done=args.done,
            propensity=args.propensity,
            bins=dict(map(_bins, args.bins)),
            strict=not args.skip,
        )
    except ValueError as problem:  # in the words of the command line
        raise ValueError(str(problem).replace("strict=False", "--skip")) from None


def _cut(args: argparse.Namespace) -> str:
    """How episodes were told apart, where no column does."""
    if args.episode is not None:
        return ""
    where = "is not where the row before led" if args.next else "follows an end"
    return f"episodes     begin where a row {where}; --episode COLUMN tells them apart\n"


def _columns(text: str) -> Any:
    """One name, or several with commas between them."""
    return text.split(",") if "," in text else text


def _bins(text: str) -> tuple[str, Any]:
    column, _, given = text.rpartition("=")
    try:
        numbers = [float(part) for part in given.split(",")]
    except ValueError:
        numbers = []
    if not column or not numbers:
        raise ValueError(f"--bins {text}: give COLUMN=NUMBER, or COLUMN=EDGE,EDGE,...")
    return column, int(numbers[0]) if len(numbers) == 1 else numbers
