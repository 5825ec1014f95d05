"""Ways to explore: how the next action is chosen while the world is not known well enough.

Begin with `base.py`; `curious.py` is Algorithm 1. What it takes to write a walk is exported here.
"""

from typing import TYPE_CHECKING

from gim._base.lazy import lazy

if TYPE_CHECKING:
    from gim._base.params import OneOf, Within
    from gim._compile.jit import hot, rare
    from gim._compile.memory import SAME, VISITS, Limits
    from gim.mdp.sampling import pick
    from gim.paper.walks.base import NOTHING, Exploration, explorations, new_choices
else:
    __getattr__, __dir__ = lazy(__name__)

__all__ = [
    "NOTHING",
    "SAME",
    "VISITS",
    "Exploration",
    "Limits",
    "OneOf",
    "Within",
    "explorations",
    "hot",
    "new_choices",
    "pick",
    "rare",
]
