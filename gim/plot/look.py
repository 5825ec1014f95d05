"""One look for all pictures, safe for the colour-blind (after Okabe and Ito; cividis).

Pictures have no ground of their own: a page may be white or nearly black, and every colour here is
at least three times as light or dark as either, text four times.
"""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

from gim.mdp.tabular import TabularMDP

F = TypeVar("F", bound=Callable[..., Any])

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B87900", "#2F97D0", "#7B7B7B")
INK, FAINT = "#7B7B7B", "#8C8C8C"  # text and axes; what stands behind
VEIL = "#80808050"  # over what is not known
MAP = "cividis"
DARK = "#222222"  # text on paper
TEXTS = ("text.color", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color")
EDGES = ("axes.edgecolor", "patch.edgecolor")
GROUNDS = ("figure.facecolor", "axes.facecolor")
LETTERS, HANDLE = 11, 8  # of a legend: letters of an inch, and those that a line and its gaps take


def _look(ink: str, ground: str) -> Any:
    return {
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 10,
        "axes.titleweight": "bold",
        "figure.constrained_layout.use": True,
        "savefig.dpi": 160,
        **dict.fromkeys(GROUNDS, ground),
        **dict.fromkeys((*TEXTS, *EDGES), ink),
    }


LOOK: Any = _look(INK, "none")
PAPER: Any = _look(DARK, "white")  # for what goes to a printer


def looks(draw: F, look: Any = LOOK) -> F:
    """Draw in our look, whatever the user's own settings are."""

    @functools.wraps(draw)
    def drawn(*args: Any, **kwargs: Any) -> Any:
        try:
            from matplotlib import rc_context
        except ImportError:
            raise ImportError('pictures need matplotlib: pip install "gim[plot]"') from None
        with rc_context(look):
            return _literally(draw(*args, **kwargs))

    return drawn  # type: ignore[return-value]


def _literally(made: Any) -> Any:
    """Show labels as they are: a dollar in a name is no formula."""
    from matplotlib.text import Text

    for text in made.findobj(Text):
        if "$" in text.get_text():
            text.set_parse_math(False)
    return made


def figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    """An empty figure and its axes [rows, columns]."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height))
    return made, made.subplots(rows, columns, squeeze=False)


def legend_below(made: Any, handles: Any, labels: Any, title: str | None = None) -> Any:
    """A legend below all axes, in as many columns as there is room for; long names are folded."""
    room = int(LETTERS * made.get_figwidth())
    labels = [textwrap.fill(str(label), room - HANDLE) for label in labels]
    longest = max((len(line) for label in labels for line in label.splitlines()), default=1)
    columns = max(1, min(len(labels), room // (longest + HANDLE)))
    place = {"loc": "outside lower center", "ncols": columns, "frameon": False}
    return made.legend(handles, labels, title=title, **place)


def folded(text: object, letters: int) -> str:
    """A label on as many lines as it takes: what is cut may read as something else."""
    return textwrap.fill(f"{text}", letters)


def name_of(mdp: TabularMDP) -> str:
    """The name of a task, short enough for a title."""
    return mdp.name if len(mdp.name) <= 40 else mdp.name.split(":")[0]
