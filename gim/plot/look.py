"""One look for all pictures, safe for the colour-blind (Okabe and Ito's colours, cividis)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from gim.mdp import TabularMDP

F = TypeVar("F", bound=Callable[..., Any])

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MAP = "cividis"
LOOK: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "figure.constrained_layout.use": True,
    "savefig.dpi": 160,
}


def looks(draw: F) -> F:
    """Draw in our look, whatever the user's own settings are."""

    @functools.wraps(draw)
    def drawn(*args: Any, **kwargs: Any) -> Any:
        try:
            from matplotlib import rc_context
        except ImportError:
            raise ImportError('pictures need matplotlib: pip install "gim[plot]"') from None
        with rc_context(LOOK):
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


def name_of(mdp: TabularMDP) -> str:
    """The name of a task, short enough for a title."""
    return mdp.name if len(mdp.name) <= 40 else mdp.name.split(":")[0]
