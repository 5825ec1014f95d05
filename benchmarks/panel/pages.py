"""The tables of the panel."""

from __future__ import annotations

import numpy as np

from benchmarks.common import table
from benchmarks.panel.figures import (
    Floats,
    Runs,
    certified,
    deployed,
    earned,
    gains,
    mean_of,
    over_worlds,
    verdict,
)
from benchmarks.panel.play import CERTIFIED, DEPLOYED, Played

EARLY = 2  # the first looks at deployed policies, whose mean is told apart


def page(now: Runs, before: Runs) -> str:
    """All that is to be said of some runs, beside those that were stored."""
    worlds = list(dict.fromkeys(world for world, _ in now))
    parts = (returns, policies, certificates, times)
    return "\n\n".join(part(worlds, now, before) for part in parts)


def of_world(world: str, now: Runs, before: Runs) -> tuple[list[Played], list[Played], int]:
    """The runs of a world, those stored of the same seeds, and of how many seeds there are both.

    Where nothing was stored the second list is empty, and the first has all runs.
    """
    seeds = [seed for name, seed in now if name == world]
    both = [seed for seed in seeds if (world, seed) in before]
    mine = [now[world, seed] for seed in both or seeds]
    return mine, [before[world, seed] for seed in both], len(both)


def returns(worlds: list[str], now: Runs, before: Runs) -> str:
    """Mean shares over the episodes, and which worlds are lost."""
    rows, all_now, all_before, found = [], [], [], []
    for world in worlds:
        mine, theirs, n = of_world(world, now, before)
        a, b = np.array([*map(earned, mine)]), np.array([*map(earned, theirs)])
        all_now.append(a.mean())
        if not n:
            rows.append([world, "-", f"{a.mean():.3f}", "", "", f"0 of {len(mine)}", ""])
            continue
        gain = mean_of(gains(world, now, before))
        all_before.append(b.mean())
        found.append(gain.mean)
        told = [world, f"{b.mean():.3f}", f"{a.mean():.3f}", f"{gain.mean:+.3f}"]
        of = sum(name == world for name, _ in now)
        seeds = f"{n}" if n == of else f"{n} of {of}"
        rows.append([*told, f"{gain.error:.3f}", seeds, verdict(gain)])
    if found:
        mean = mean_of(found)
        told = ["mean (error over worlds)", f"{np.mean(all_before):.3f}", f"{np.mean(all_now):.3f}"]
        ahead = f"ahead on {sum(g > 0 for g in found)} of {len(found)}"
        rows.append([*told, f"{mean.mean:+.3f}", f"{mean.error:.3f}", "", ahead])
    heads = ["returns of all episodes", "today", "now", "difference", "error", "seeds", ""]
    return table(heads, rows)


def policies(worlds: list[str], now: Runs, before: Runs) -> str:
    """Shares of the policies to deploy, with the difference to today's."""
    rows, found = [], []
    for world in worlds:
        mine, theirs, n = of_world(world, now, before)
        a = np.array([deployed(run) for run in mine]).mean(axis=0)
        b = np.array([deployed(run) for run in theirs]).mean(axis=0) if n else a * np.nan
        rows.append([world, *map(share_of, b), *map(share_of, a)])
        if n:
            found.append(a - b)
    if found:
        by_look = [mean_of(x) for x in np.array(found).T]
        early = mean_of(np.array(found)[:, :EARLY].mean(axis=1))
        rows.append(["difference (error over worlds)", *[""] * len(DEPLOYED)])
        rows[-1] += [f"{m.mean:+.2f} ({m.error:.2f})" for m in by_look]
        looks = " and ".join(map(str, DEPLOYED[:EARLY]))
        rows.append([f"mean of {looks}", *[""] * len(DEPLOYED), str(early)])
    heads = ["policy to deploy after", *(f"{k}, today" for k in DEPLOYED), *map(str, DEPLOYED)]
    return table(heads, rows)


def certificates(worlds: list[str], now: Runs, before: Runs) -> str:
    """How often bounds held, and their median widths, as shares of the way."""
    groups = [of_world(world, now, before) for world in worlds]
    stored = [theirs for _, theirs, n in groups if n]
    parts = []
    for what, held, width in (
        ("lower <= policy, optimum <= upper", "held", "width"),
        ("the policy's value alone", "own_held", "own_width"),
    ):
        rows = [[w, *cells([g[0]], held, width)] for w, g in zip(worlds, groups, strict=True)]
        rows.append(["all, now (error over worlds)", *cells([g[0] for g in groups], held, width)])
        if stored:
            rows.append(["all, today", *cells(stored, held, width)])
        heads = [
            what,
            "held",
            *(f"after {k}" for k in CERTIFIED),
            *(f"width {k}" for k in CERTIFIED),
        ]
        parts.append(table(heads, rows))
    return "\n\n".join([*parts, *errors(now)])


def errors(now: Runs) -> list[str]:
    """A line on certificates that were errors, if there are any; none has held."""
    found = [
        f"{run.world} {run.seed} after {look}"
        for run in now.values()
        for look, bounds in zip(CERTIFIED, run.bounds, strict=False)
        if bounds.failed
    ]
    return [f"errors instead of certificates: {', '.join(found)}"] if found else []


def cells(groups: list[list[Played]], held: str, width: str) -> list[str]:
    """How often bounds held, at all looks and at each, and their median widths."""
    found = [[certified(run) for run in runs] for runs in groups]
    by_world = [np.array([getattr(c, held) for c in each]) for each in found]
    widths = np.concatenate([[getattr(c, width) for c in each] for each in found])
    at_each = [over_worlds([x[:, k] for x in by_world])[0] for k in range(len(CERTIFIED))]
    told = [share_of(*over_worlds([x.ravel() for x in by_world]))]
    told += [share_of(x) for x in at_each]
    return told + [share_of(median(x)) for x in widths.T]


def median(x: Floats) -> float:
    """That of what is there; nan of nothing."""
    there = x[~np.isnan(x)]
    return float(np.median(there)) if there.size else np.nan


def share_of(share: float, error: float = np.nan) -> str:
    """A share, with its error where it has one."""
    if np.isnan(share):
        return "-"
    return f"{share:.2f}" if np.isnan(error) else f"{share:.2f} ({error:.2f})"


def times(worlds: list[str], now: Runs, before: Runs) -> str:
    """Processor seconds of a run: medians over seeds, and their sums."""
    rows, sums = [], np.zeros(2)
    for world in worlds:
        mine, theirs, n = of_world(world, now, before)
        a = float(np.median([run.seconds for run in mine]))
        if not n:
            rows.append([world, "-", f"{a:.2f}", ""])
            continue
        b = float(np.median([run.seconds for run in theirs]))
        sums += b, a
        rows.append([world, f"{b:.2f}", f"{a:.2f}", f"{a / b:.2f}"])
    if sums[0]:
        rows.append(["sum", *(f"{x:.2f}" for x in sums), f"{sums[1] / sums[0]:.2f}"])
    return table(["processor seconds of a run", "today", "now", "ratio"], rows)
