"""A report page as it looks on a desk in light colours and on a phone in dark ones, as one picture.

    make demo; python -m docs.screens results/demo/report.html docs/pictures/report_demo.png

Needs a Chromium on the machine.
"""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

from tests.chromium import Browser, Tab, browser

DESK, PHONE = (1280, 860), (390, 860)  # pixels
SHOWN, GAP = 0.75, 9  # of them, and between the two


def shot(chromium: Browser, page: Path, size: tuple[int, int], dark: bool, folder: Path) -> Any:
    """What is seen of a page first."""
    tab = Tab(chromium)
    tab.look(*size, dark)
    tab.open(page)
    tab.picture(folder / "shot.png")
    return Image.open(io.BytesIO((folder / "shot.png").read_bytes())).convert("RGB")


def main() -> None:
    """Take both, and put them side by side."""
    page, target = map(Path, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as home, browser(Path(home)) as chromium:
        folder = Path(home)
        desk = shot(chromium, page, DESK, False, folder)
        phone = shot(chromium, page, PHONE, True, folder)
    size = round(SHOWN * DESK[0]), round(SHOWN * DESK[1])
    small = desk.resize(size), phone.resize((round(SHOWN * PHONE[0]), size[1]))
    both = Image.new("RGBA", (size[0] + GAP + small[1].width, size[1]))
    both.paste(small[0], (0, 0))
    both.paste(small[1], (size[0] + GAP, 0))
    both.save(target, optimize=True)
    print(target)


if __name__ == "__main__":
    main()
