"""All pictures, in one look that is safe for the colour-blind (Okabe and Ito's colours, cividis).

They have no ground of their own and are legible on white and on dark pages. Each function returns
a matplotlib `Figure`; save it with ``figure.savefig("name.png")``. Needs the extra `plot`:
``pip install "gim[plot]"``.

Imports everything but testing, the command and the laboratory. Begin with `runs.py`.
"""

from gim.plot.logs import family, visits
from gim.plot.look import COLOURS, LOOK, MAP, PAPER, figure, looks, name_of
from gim.plot.models import completion, knownness, rates, singular_values
from gim.plot.runs import analogies, curves
from gim.plot.walk import walk
from gim.plot.worlds import graph, grid

__all__ = [
    "COLOURS",
    "LOOK",
    "MAP",
    "PAPER",
    "analogies",
    "completion",
    "curves",
    "family",
    "figure",
    "graph",
    "grid",
    "knownness",
    "looks",
    "name_of",
    "rates",
    "singular_values",
    "visits",
    "walk",
]
