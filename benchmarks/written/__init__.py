"""Some thirty worlds as a user might write them, each a function of a state and an action.

They were written to try the default learner on what it had not seen: games, locks, machines, mazes,
trade, and worlds in which no analogy holds. `python -m benchmarks.first_episodes --written` plays
them. Five of them changed the learner. In `chain` it was far behind its plain twin, because small
rewards near the start ended its search; it was mended, and three more of that kind (`far_chain`,
`deep_sea`, `maze`) were added. In `shortest_path` it sought no end of the episode. In `epidemic`,
one of those in `decisions`, which came later, it took an action that it had hardly tried for the
others. Of those in `uncertain`, the last, it was stuck in one run of five in `lazy`, where it
believed two steps that failed, and overtaken in `perishable`, where one bad day closed an order.
"""

from benchmarks.written import decisions as decisions
from benchmarks.written import grids as grids
from benchmarks.written import others as others
from benchmarks.written import uncertain as uncertain
from benchmarks.written.base import WORLDS as WORLDS
