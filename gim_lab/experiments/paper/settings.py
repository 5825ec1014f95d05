"""Who plays what: the tasks and agents that all artefacts of the paper share.

Two settings are judged side by side. "authors" is what the published code does: R_max = 1
everywhere, a threshold m of its own for each task, discounted planning or a one-step lookahead.
"fair" is the paper's text: m 40 for all, the horizon as the objective, and R_max the largest reward
of the task. Q-learning and Double-Q are the same in both, so one trial serves both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from gim.agents.gim import GIM
from gim.agents.rmax import RMax
from gim_lab.experiments.cells import Cell
from gim_lab.experiments.experiment import Experiment
from gim_lab.experiments.scale import Scale
from gim_lab.experiments.settings import AUTHORS

GREEDY, RMAX, Q, DELAYED_Q, DOUBLE_Q = "GIM", "RMax", "Q-learning", "Delayed-Q", "Double-Q"
OPTIMAL, RANDOM = "Optimal", "Random"
UCBVI, PSRL, MBIE = "UCBVI", "PSRL", "MBIE-EB"
MODEL_BASED, MODEL_FREE = (GREEDY, RMAX), (Q, DELAYED_Q, DOUBLE_Q)
TODAY = (UCBVI, PSRL, MBIE)
LEARNERS = MODEL_BASED + MODEL_FREE
SEVEN = (*LEARNERS, OPTIMAL, RANDOM)

EPISODES = {"synthetic": 10_000, "gridworld": 10_000, "casinoland": 5_000, "riverswim": 5_000}
TITLES = {
    "synthetic": "Synthetic",
    "gridworld": "GridWorld",
    "casinoland": "CasinoLand",
    "riverswim": "RiverSwim",
}
SAME = {  # under every setting
    Q: "q_learning:alpha=0.1,epsilon=0.1,gamma=0.95",
    DOUBLE_Q: "double_q_learning:alpha=0.05,epsilon=0.1,gamma=0.99",
    OPTIMAL: "optimal",
    RANDOM: "random",
    UCBVI: "ucbvi:scale=0.03",
    PSRL: "psrl",
    MBIE: "mbie_eb",
}

SCORE = "Mean return over the optimum"  # the title of a table
COMPLETION = "als(rank=10,ridge=0.03)"  # of the paper's experiments: the text leaves it open


class PaperArtefact(Experiment, abstract=True):
    """A table or figure that the paper prints."""

    groups = ("paper", "all")
    heading = "The paper"


class UnshownClaim(Experiment, abstract=True):
    """A study of something that the paper says and does not show."""

    groups = ("all",)
    heading = "The paper"


def spec_under(setting: str, agent: str, task: str, m: int | None = None) -> str:
    """The spec of an agent under a setting.

    Args:
        setting: AUTHORS or FAIR.
        agent: its name in the legend.
        task: "synthetic", "gridworld", "casinoland" or "riverswim", without parameters.
        m: the known threshold of GIM and RMax; None for that of the setting.

    Example:
        >>> from gim_lab.experiments.settings import FAIR
        >>> spec_under(FAIR, "RMax", "riverswim", m=100), spec_under(AUTHORS, "RMax", "riverswim")
        ('rmax:m=100', 'rmax:m=50,r_max=1.0,plan_per=pair,planner=lookahead,surplus=1')
    """
    if agent in SAME:
        return SAME[agent]
    authors = setting == AUTHORS
    if agent == DELAYED_Q:
        return "delayed_q_learning:m=5,epsilon1=0.1" + ",r_max=1.0" * authors
    if agent == GREEDY:
        made = GIM.authors(task) if authors else GIM.paper(completion=COMPLETION)
        return str(made if m is None else replace(made, m=m))
    rmax = RMax.authors(task) if authors else RMax()
    return str(rmax if m is None else replace(rmax, m=m))


def specs_under(setting: str, agents: tuple[str, ...], task: str) -> dict[str, str]:
    """The specs of agents under a setting, by their names."""
    return {agent: spec_under(setting, agent, task) for agent in agents}


def on_tasks(
    scale: Scale,
    setting: str,
    agents: tuple[str, ...] | Callable[[str], Mapping[str, str]],
    episodes: int | None = None,
    epsilon: float | None = None,
) -> list[Cell]:
    """The cells of agents on the four tasks.

    Args:
        scale, setting, epsilon: of them all.
        agents: their names, or a function of a task to names and specs.
        episodes: those of the paper unless it is said.
    """
    specs = agents if callable(agents) else partial(specs_under, setting, agents)
    return [
        Cell.of(setting, TITLES[task], name, task, spec, n, scale.seeds(), epsilon=epsilon)
        for task, many in EPISODES.items()
        for n in [scale.episodes(episodes or many)]
        for name, spec in specs(task).items()
    ]
