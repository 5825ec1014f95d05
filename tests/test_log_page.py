"""The picture on the page of a log: every label has room."""

from __future__ import annotations

import math
import re

import pytest

import gim
from gim.logs.page import LONGEST, page, picture

font = pytest.importorskip("PIL.ImageFont")
FACE = re.compile(r"<text ([^>]*)>([^<]*)<title>([^<]*)</title></text>")
NAMES = ["go", "W" * 20, "MW" * 30, "i" * 24, "日本" * 10, "a b c"]


@pytest.fixture(scope="module")
def face():
    path = pytest.importorskip("matplotlib").get_data_path()
    return font.truetype(f"{path}/fonts/ttf/DejaVuSans.ttf", 11)  # a wide one


@pytest.mark.parametrize("state", NAMES)
@pytest.mark.parametrize("action", NAMES)
def test_no_label_is_cut(face, state, action):
    log = gim.from_log([(state, action, 1.0, "s"), ("s", "b", 0.0, state)])
    svg = picture(log)
    left, width, height = (float(x) for x in re.findall(
        r'viewBox="(-?[\d.]+) 0 ([\d.]+) ([\d.]+)"', svg)[0])  # fmt: skip
    texts = FACE.findall(svg)
    assert len(texts) == log.S + log.A
    for given, shown, whole in texts:
        assert shown == whole or shown == whole[: LONGEST - 1] + "…"
        x, y = (float(re.findall(rf'{name}="([-\d.]+)"', given)[0]) for name in "xy")
        long = max(face.getlength(shown), 11 * sum(ord(letter) > 0x2000 for letter in shown))
        across, down = (long, 0.0) if "rotate" not in given else (long / math.sqrt(2),) * 2
        assert x - across >= left
        assert x <= left + width
        assert y + down <= height


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
