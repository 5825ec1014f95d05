"""The page of a log, and the picture on it."""

from __future__ import annotations

import itertools
import re

import gim
from gim._base.escapes import escape
from gim.logs.page import page, picture


def test_the_picture_has_every_pair_and_every_label():
    long = "state <number> with a long name indeed"
    rows = [(long, "go", 1.0, "s")] * 3 + [("s", "b", 0.0, long)]
    drawn = picture(gim.from_log(rows))
    assert f'title="{long}">'.replace("<", "&lt;").replace("r>", "r&gt;") in drawn
    assert "state &lt;number&gt; with a" in drawn
    tips = dict(re.findall(r'<td title="([^"]*): (\d+)"', drawn))
    of = escape(long)
    assert tips == {"s, b": "1", "s, go": "0", f"{of}, b": "0", f"{of}, go": "3"}
    shades = [float(x) for x in re.findall(r"178/([\d.]+)\)", drawn)]
    assert shades == [0.52, 0.04, 0.04, 1.0]
    names = [f"state {k}" for k in range(100)]
    drawn = picture(gim.from_log([(s, "go", 1.0, t) for s, t in itertools.pairwise(names)]))
    assert drawn.count("<td title") == 80
    assert "the first 80 states and 1 actions" in drawn


def test_the_page_compares_with_episodes_of_as_many_steps_only():
    """What a thousand steps returned says nothing of thirty; and one episode is no interval."""
    rows = [(0, 0, 1.0, 0, k) for k in range(12) for _ in range(5)]
    columns = dict(zip(("s", "a", "r", "s2", "e"), zip(*rows, strict=True), strict=True))
    log, row = gim.from_log(columns, episode="e"), "what episodes of the log returned"
    assert row in page(gim.learn(log, horizon=5), "log")
    short = page(gim.learn(log, horizon=3), "log")
    assert row not in short
    assert "Episodes of the log have up to 5: what they returned says nothing here." in short
    one = page(gim.learn(log.part([0]), horizon=5), "log")
    assert "cannot be told" in one.split(row)[1].split("</tr>")[0]
