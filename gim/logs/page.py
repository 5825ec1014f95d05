"""The report page of a log: what it covers, what was inferred, what the policy is worth.

One HTML file without scripts, and nothing is fetched; every label is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.special import stdtrit

from gim._base import html
from gim._base.escapes import escape
from gim.belief.certificate import certifiable
from gim.belief.family.family import Family
from gim.belief.family.words import Measure, kinds_of, measures
from gim.belief.shares import SHARE, percent
from gim.logs.learned import Learned, Value
from gim.logs.log import Log
from gim.logs.units import LearnedUnits

ROWS = 50  # states of a table
EXPLAINED = 3  # states of which the page says why
LOOKED_AT = 5  # units that the page says are worth a look
KIND_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#B87900", "#CC79A7")
CELLS = 80  # states or actions of a picture
LONGEST, LETTER = 24, 11  # letters of a label in a picture, pixels of a wide one
SHADES = (
    ".shades td,.shades th{border:1px solid #8882;padding:0 .3rem;height:1.1rem;min-width:.8rem;"
    "white-space:nowrap;font:11px system-ui}.shades tr:first-child span{writing-mode:vertical-rl}"
)


def page(learned: Learned, title: str) -> str:
    """The whole page."""
    log = learned.log
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p class=lead>{escape(_opening(learned))}</p>",
        *_worth(learned),
        "<h2>What the log covers</h2>",
        _facts(log.describe()),
        picture(log),
        "<h2>What was inferred</h2>",
        *_inferred(learned),
        "<h2>What the new policy does</h2>",
        *_policy(learned),
        "<h2>Why</h2>",
        *_reasons(learned),
        "<h2>Where it is unsure</h2>",
        *_unsure(learned),
    ]
    return html.document(title, "\n".join(parts))


def units_page(units: LearnedUnits, title: str) -> str:
    """One page for all units: what they share, a line for each, and how far they are apart."""
    lines = [line.split("; ") for line in str(units.family).splitlines()]
    heads, *rows = units.cells()
    parts = [
        f"<h1>{escape(title)}</h1>",
        *(f"<p class=lead>{escape(each)}</p>" for line in lines for each in line),
        *(_spread(units.family, each) for each in measures(units.family)),
        "<h2>The units</h2>",
        _table(heads, rows),
        "<p class=soft>fits: nats by which what a unit did is likelier for what the others did; "
        "those with the lowest are least like them.</p>",
        *_looked_at(units),
        "<h2>A unit never seen</h2>",
        *_policy(units.new),
    ]
    return html.document(title, "\n".join(parts))


def _looked_at(units: LearnedUnits) -> Iterable[str]:
    """Which units to look at first: where more rows would bring most, and where least is sure."""
    if not (wanted := units.wanted):
        return
    yield "<h2>Which unit to look at</h2>"
    first = wanted[0]
    yield (
        f"<p>As many rows again in {escape(str(first.unit))} are expected to bring "
        f"{_number(first.gain)} in what is earned from its start, more than in any other.</p>"
    )
    rows = []
    for each in wanted[:LOOKED_AT]:
        gain = f"{_number(each.gain)} ± {_number(each.error)}"
        better = _interval(units[each.unit].against())
        rows.append((each.unit, f"{each.rows:,}", gain, _number(each.most), *better))
    heads = ("unit", "more rows", "bring", "to know all", "better than so far by", "from", "to")
    yield _table(heads, rows)


def _spread(family: Family, measure: Measure) -> str:
    """What units differ in as SVG: means with intervals of nine in ten, sorted, kinds by colour."""
    kind, _ = kinds_of(family, 0)
    order = np.argsort(measure.value, kind="stable")
    ends = measure.ends
    low, high = float(ends[0].min()), float(ends[1].max())
    names = [_short(family.units[k]) for k in order]
    left, wide, each_high = LETTER * max(map(len, names)) + 8, 280, 14
    at = (wide - 10) / ((high - low) or 1.0)
    drawn = []
    for row, k in enumerate(order.tolist()):
        points = (measure.value[k], ends[0][k], ends[1][k])
        (x, left_end, right_end), y = (
            (5 + at * (each - low) for each in points),
            row * each_high + 8,
        )
        between = f'x1="{left_end:.1f}" x2="{right_end:.1f}" y1="{y}" y2="{y}"'
        colour = KIND_COLOURS[int(kind[k]) % len(KIND_COLOURS)]
        drawn.append(
            f'<text x="-6" y="{y}" text-anchor="end" dominant-baseline="central">'
            f"{escape(names[row])}</text>"
            f'<line {between} stroke="{colour}" stroke-width="2" stroke-opacity=".55"/>'
            f'<circle cx="{x:.1f}" cy="{y}" r="3.5" fill="{colour}">'
            f"<title>{escape(f'{family.units[k]}: {measure.of(k)}')}</title></circle>"
        )
    width, height = left + wide, len(order) * each_high + 24
    for value, anchor in ((low, "start"), (high, "end")):
        x = 5 + at * (value - low)
        drawn.append(
            f'<text x="{x:.1f}" y="{height - 6}" text-anchor="{anchor}">{value:.3g}</text>'
        )
    text = f"{_sentence(measure.what)} Of each unit the mean, with the interval of nine in ten."
    size = f'width="{width}" height="{height}" viewBox="{-left} 0 {width} {height}"'
    label = f'role="img" aria-label="{escape(measure.what)} of units"'
    return (
        f"<figure><svg {size} {label}>{''.join(drawn)}</svg>"
        f'<figcaption class="soft">{escape(text)}</figcaption></figure>'
    )


def _opening(learned: Learned) -> str:
    """What a reader in a hurry should know."""
    log, (gain, lower, upper) = learned.log, learned.against()
    value, low, high = learned.value
    so_far = "what was done so far" + (", without what is banned now" if log.banned else "")
    better = f"{_number(abs(gain))} {'more' if gain >= 0 else 'less'} than {so_far}"
    ends = f"{_number(low)} to {_number(high)}" if learned.value.bounded else learned.no_bound
    if learned.against().bounded:
        better += f" ({_number(lower)} to {_number(upper)})"
    if lower <= 0 < upper:
        better += ", so the log cannot rule out that it is no better"
    if lower == upper == 0:
        better = f"for it does {so_far}"
    tried = "It plays only what the log has tried."
    if learned.unseen:
        pairs = "1 pair" if learned.unseen == 1 else f"{learned.unseen:,} pairs"
        tried = f"It plays {pairs} of a state and an action that nobody has tried yet."
    since = "" if learned.since is None else f"The world has changed: {learned.since}. "
    return (
        f"{since}From {len(log):,} transitions in {log.S:,} states with {log.A:,} actions: the new "
        f"policy is expected to return {_number(value)} ({ends}), {better}. "
        f"{tried}"
    )


def _worth(learned: Learned) -> Iterable[str]:
    banned = ", without what is banned," if learned.log.banned else ""
    rows: list[Sequence[Any]] = [
        ("the new policy", *_interval(learned.value)),
        (f"better than the log's own policy{banned} by", *_interval(learned.against())),
    ]
    case, log = learned.behind.case, learned.log
    longest = log.longest
    if case.horizon is not None and longest <= case.horizon:
        mean, error = log.episodes.mean, log.episodes.sd / np.sqrt(log.episodes.n.sum())
        t = float(stdtrit(max(float(log.episodes.n.sum()) - 1.0, 1.0), (1.0 + SHARE) / 2.0))
        ends = (mean - t * error, mean + t * error)
        rows.append(("what episodes of the log returned", *map(_number, (mean, *ends))))
    for way, found in learned.evaluated().items():
        rows.append((f"the new policy by {way}", *_interval(Value(*found[:3]))))
    yield "<h2>Expected return</h2>"
    yield _table(("", "estimate", "from", "to"), rows)
    yield f"<p>{escape(_sentence(learned.agreement))}</p>"
    over = "for ever" if case.horizon is None else f"over {case.horizon} steps"
    over = "by step, on average" if learned.average else over
    plain = case.discount is None or learned.average
    weight = "" if plain else f", each step weighing {case.discount:g} of the last"
    chosen = f"Chosen by {type(learned.safe).__name__}."
    text = f"Returns {over}{weight}; intervals of {percent()}. {chosen}"
    steps = log.episodes.steps.sum() / log.episodes.n.sum()
    if case.horizon is not None and longest > case.horizon:
        text += (
            f" Episodes of the log have up to {longest:,}: what they returned says nothing here."
        )
    elif case.horizon is not None and steps < case.horizon:
        text += (
            f" Episodes of the log have {steps:.3g} steps in the mean: what they "
            "returned is for these."
        )
    yield f'<p class="soft">{escape(text)}</p>'
    if not learned.average and certifiable(learned):
        yield f"<p>{escape(_sentence(learned.certificate.sentences[0]))}</p>"


def _inferred(learned: Learned) -> Iterable[str]:
    log, behind = learned.log, learned.behind
    inferred = int(((log.counts.n == 0) & behind.supported).sum())
    pairs = (
        "1 pair that was never seen is"
        if inferred == 1
        else f"{inferred:,} pairs that were never seen are"
    )
    yield f"<p>{pairs} predicted from others.</p>"
    yield from (f"<p>{escape(_sentence(note))}</p>" for note in behind.notes)
    if not behind.belief.prior.speaks:
        return
    if rules := learned.rules:
        yield "<ul>" + "".join(f"<li>{escape(str(rule))}</li>" for rule in rules) + "</ul>"
    elif inferred:
        yield "<p>There are no words for it: states and actions are alike in what they do.</p>"


def _policy(learned: Learned) -> Iterable[str]:
    """States by how often the new policy comes by, with both actions at the first step."""
    log, often = learned.log, learned.visits()
    array = np.asarray(learned.policy)
    drawn = array.dtype.kind == "f"
    first = array[0] if array.ndim == (3 if drawn else 2) else array
    new = first.argmax(axis=1) if drawn else first
    old = log.behaviour.argmax(axis=1)  # of what is banned now, too
    known = np.flatnonzero(learned.behind.supported.any(axis=1) & ~log.terminal)
    shown = known[np.argsort(-often[known], kind="stable")][:ROWS]
    differ = int((new[known] != old[known]).sum())
    what = "the likeliest action" if drawn else "the action"
    yield (
        f"<p>At the first step {what} differs from what was done most so far in {differ} of "
        f"{known.size} states, in bold; policy.csv has all states and steps. Below are "
        f"{'all' if shown.size == known.size else f'the {ROWS}'} states, those first where the new "
        "policy is most often.</p>"
    )
    rows = [
        (
            log.states[s],
            log.actions[old[s]],
            log.actions[new[s]],
            f"{log.counts.n[s, new[s]]:,}",
            _number(often[s]),
        )
        for s in shown
    ]
    heads = ("state", "so far", "new", "visits of new", "times there")
    yield _table(heads, rows, marked=(new != old)[shown])


def _reasons(learned: Learned) -> Iterable[str]:
    """The first actions that the policy takes, explained: where it is most often."""
    log, often = learned.log, learned.visits()
    known = np.flatnonzero(learned.behind.supported.any(axis=1) & ~log.terminal)
    yield f"<p>In Python: <code>{escape('learned.why(state, step)')}</code>.</p>"
    for s in known[np.argsort(-often[known], kind="stable")][:EXPLAINED]:
        told = learned.why(log.states[s])
        yield f"<p>{escape(told.opening)}</p>"
        yield f"<pre>{escape(told.table)}</pre>"
        yield from (f'<p class="soft">{escape(each)}</p>' for each in told.sentences)


def _unsure(learned: Learned) -> Iterable[str]:
    pairs = (
        "1 recommended pair was"
        if learned.unseen == 1
        else f"{learned.unseen:,} recommended pairs were"
    )
    yield f"<p>{pairs} never tried.</p>"
    rows = [(w.state, w.action, _number(w.gain), f"{w.visits:,}") for w in learned.wanted]
    if rows:
        yield "<p>Worth trying first: what each might gain in an episode.</p>"
        yield _table(("state", "action", "gain", "visits"), rows)
    for note in learned.behind.notes:
        yield f"<p>{escape(note)}</p>"


def picture(log: Log) -> str:
    """Visits of all pairs as a table of shades, states down and actions across; darker is more."""
    S, A = min(log.S, CELLS), min(log.A, CELLS)
    n = log.counts.n[:S, :A]
    shade = np.log1p(n) / max(float(np.log1p(n).max()), 1.0)
    rows = ["<tr><td></td>" + "".join(f"<th>{_brief(log.actions[a])}</th>" for a in range(A))]
    for s in range(S):
        rows.append(f"<tr><th>{_brief(log.states[s])}</th>")
        for a in range(A):
            tip = escape(f"{log.states[s]}, {log.actions[a]}: {n[s, a]:,}")
            colour = f"background:rgb(0 114 178/{0.04 + 0.96 * shade[s, a]:.2f})"
            rows.append(f'<td title="{tip}" style="{colour}"></td>')
    cut = "" if (S, A) == (log.S, log.A) else f", the first {S} states and {A} actions"
    text = (
        f"Visits of pairs{cut}: states from top to bottom, actions from left to right; the fuller "
        f"the colour the more, on a logarithmic scale up to {n.max():,}."
    )
    return (
        f"<figure><style>{SHADES}</style><table class=shades>{''.join(rows)}</table>"
        f'<figcaption class="soft">{escape(text)}</figcaption></figure>'
    )


def _brief(name: Any) -> str:
    """A label, which ends in dots if it is long; its tip has all of it."""
    return f'<span title="{escape(str(name))}">{escape(_short(name))}</span>'


def _short(name: Any) -> str:
    text = str(name)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _facts(text: str) -> str:
    rows = [(line[:12].strip(), line[13:]) for line in text.splitlines()]
    return _table((), rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]], marked: Any = None) -> str:
    """A table; rows that are marked are bold."""
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    lines = ["".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows]
    bold = [False] * len(lines) if marked is None else marked
    body = "".join(
        f"<tr class=new>{line}</tr>" if new else f"<tr>{line}</tr>"
        for line, new in zip(lines, bold, strict=True)
    )
    return f"<table>{f'<tr>{head}</tr>' if heads else ''}{body}</table>"


def _interval(value: Value) -> tuple[str, ...]:
    return tuple(map(_number, value))


def _number(x: float) -> str:
    return f"{x:.4g}" if np.isfinite(x) else "cannot be told"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
