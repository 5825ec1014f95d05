"""One look for page and files: an agent has the same colour everywhere.

Okabe and Ito's colours, which most colour-blind readers can tell apart; a lighter twin of each for
dark pages; and dashes for those that are no learners.
"""

from __future__ import annotations

from typing import NamedTuple


class Look(NamedTuple):
    """How one line is drawn."""

    light: str  # colour on white
    dark: str  # colour on black
    dash: str = "solid"  # or "dash", "dot"


BLUE, RED = Look("#0072B2", "#5AB4F0"), Look("#D55E00", "#FF8A47")
GREEN, PURPLE = Look("#009E73", "#3CD0A3"), Look("#CC79A7", "#EBA3CB")
ORANGE, SKY = Look("#B87900", "#F0B93C"), Look("#2F97D0", "#9AD6FA")
BLACK, GREY = Look("#222222", "#EEEEEE", "dash"), Look("#888888", "#9A9A9A", "dot")

AGENTS = {
    "GIM": BLUE,
    "RMax": RED,
    "Q-learning": GREEN,
    "Delayed-Q": PURPLE,
    "Double-Q": ORANGE,
    "Optimal": BLACK,
    "Random": GREY,
    "UCBVI": SKY,
    "PSRL": GREEN,
    "MBIE-EB": PURPLE,
}
CYCLE = (BLUE, GREEN, PURPLE, ORANGE, RED, SKY)


def looks(names: list[str]) -> dict[str, Look]:
    """A look for each name: the agent's own, or the next that is free."""
    taken = {AGENTS[name] for name in names if name in AGENTS}
    free = [look for look in CYCLE if look not in taken] or list(CYCLE)
    others = [name for name in names if name not in AGENTS]
    rest = {name: free[i % len(free)] for i, name in enumerate(others)}
    return {name: AGENTS.get(name) or rest[name] for name in names}
