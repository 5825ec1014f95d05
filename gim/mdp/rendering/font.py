"""The smallest letters that can be read: 3 x 5 pixels, for captions without a font library."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ.,-+/():'_#<> "
SHAPES = (  # one octal digit a row, from the top; its three bits are the pixels
    "75557 26227 71747 71717 55711 74717 74757 71122 75757 75717 25755 65656 34443 65556 74647 "
    "74644 34553 55755 72227 11152 55655 44447 57755 65555 25552 65644 25563 65655 34216 72222 "
    "55557 55552 55775 55255 55222 71247 00002 00024 00700 02720 11244 12221 42224 02020 22000 "
    "00007 57575 12421 42124 00000"
)
GLYPHS = dict(zip(LETTERS, SHAPES.split(), strict=True))
UNKNOWN = "77777"


def write(text: str, scale: int, width: int | None = None) -> NDArray[np.float64]:
    """The pixels [5 * scale, columns] of one line of text, 1 where there is ink.

    Args:
        text: any text; small letters are written as capitals, unknown ones as boxes.
        scale: pixels per pixel of the letters.
        width: what goes beyond is cut off.
    """
    shapes = [GLYPHS.get(letter, UNKNOWN) for letter in text.upper()]
    rows = np.array([[int(digit) for digit in shape] for shape in shapes]).reshape(-1, 5).T
    ink = (rows[:, :, None] >> np.array([2, 1, 0])) & 1  # [5, letters, 3]
    ink = np.pad(ink, ((0, 0), (0, 0), (0, 1))).reshape(5, -1)[:, :-1]  # a gap between letters
    return np.kron(ink, np.ones((scale, scale)))[:, :width]
