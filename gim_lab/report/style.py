"""One look for page and files: an agent has the same colour everywhere.

Okabe and Ito's colours, which most colour-blind readers can tell apart, with three of Paul Tol's; a
lighter twin of each for dark pages; and dashes for those that are no learners, or that are many.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, cycle
from typing import NamedTuple

from gim_lab.experiments.artefact import Artefact, Figure
from gim_lab.experiments.cells import distinct


class Look(NamedTuple):
    """How one line is drawn."""

    light: str  # colour on white
    dark: str  # colour on black
    dash: str = "solid"  # or "dash", "dot"


BLUE, RED = Look("#0072B2", "#5AB4F0"), Look("#D55E00", "#FF8A47")
GREEN, PURPLE = Look("#009E73", "#3CD0A3"), Look("#CC79A7", "#EBA3CB")
ORANGE, SKY = Look("#B87900", "#F0B93C"), Look("#2F97D0", "#9AD6FA")
INDIGO, OLIVE, WINE = (
    Look("#332288", "#A79BF5"),
    Look("#7A7A15", "#CFCF5A"),
    Look("#882255", "#E07BAF"),
)
BLACK, GREY = Look("#222222", "#EEEEEE", "dash"), Look("#888888", "#9A9A9A", "dot")

AGENTS = {
    "Analogist": INDIGO,
    "GIM": BLUE,
    "GIM (paper)": BLUE,
    "GIM (authors)": BLUE._replace(dash="dash"),
    "RMax": RED,
    "Q-learning": GREEN,
    "Delayed-Q": PURPLE,
    "Double-Q": ORANGE,
    "Optimal": BLACK,
    "Random": GREY,
    "UCBVI": SKY,
    "PSRL": OLIVE,
    "MBIE-EB": WINE,
}
CYCLE = (BLUE, RED, GREEN, PURPLE, ORANGE, SKY, INDIGO, OLIVE, WINE)
DASHES = ("solid", "dash", "dot")


def looks(names: Iterable[str]) -> dict[str, Look]:
    """A look for each name: the agent's own, or the next that is free; no two are the same.

    Give it all names of a page at once, so that a name has one look throughout.
    """
    names = list(dict.fromkeys(names))
    taken = {AGENTS[name] for name in names if name in AGENTS}
    free = (look._replace(dash=dash) for dash in DASHES for look in CYCLE)
    rest = (look for look in free if look not in taken)
    endless = chain(rest, cycle(CYCLE))
    return {name: AGENTS.get(name) or next(endless) for name in names}


def names_of(artefacts: Iterable[Artefact]) -> list[str]:
    """All that has a line in a figure of these."""
    return distinct(name for each in artefacts for f in each.figures for name in names_in(f))


def names_in(figure: Figure) -> list[str]:
    """All that has a line in a figure."""
    return distinct(s.name for panel in figure.panels for s in panel.series)
