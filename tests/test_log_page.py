"""The picture on the page of a log: every label has room."""

from __future__ import annotations

import math
import re

import pytest

import gim
from gim.logs.page import LONGEST, picture

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
