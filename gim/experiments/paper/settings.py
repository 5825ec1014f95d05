"""Who plays what: tasks, agents and scales, as all artefacts of the paper share them.

Two settings are judged side by side. "authors" is what the published code does: R_max = 1
everywhere, a threshold m of its own for each task, discounted planning or a one-step lookahead.
"fair" is the paper's text: m 40 for all, the horizon as the objective, and R_max the largest reward
of the task. Q-learning and Double-Q are the same in both, so one trial serves both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from gim.agents.gim import GIM
from gim.agents.rmax import RMax
from gim.experiments.spec import instance
from gim.experiments.trial import Trial

AUTHORS, FAIR, STRONG = "authors", "fair", "strong"
SETTINGS = (AUTHORS, FAIR)
SETTING_TITLES = {
    AUTHORS: "authors' settings",
    FAIR: "fair settings",
    STRONG: "beside strong learners of today",
}

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

COMPLETION = "als(rank=10,ridge=0.03)"  # of the paper's experiments: the text leaves it open

T = TypeVar("T")


@dataclass(frozen=True)
class Scale:
    """How much of the paper's work is done: its runs, its episodes, and the values of a sweep."""

    name: str
    runs: int
    share: float  # of the episodes
    step: int  # through the values of a sweep

    @property
    def whole(self) -> bool:
        """Whether it is the paper's work, not a rehearsal of it."""
        return self.share == 1

    def episodes(self, full: int) -> int:
        """Episodes at this scale."""
        return max(1, round(full * self.share))

    def seeds(self, full: int = 20) -> range:
        """Seeds of the runs, of which the paper makes 20 (10 for Figure 10)."""
        return range(min(full, self.runs))

    def grid(self, values: tuple[T, ...]) -> tuple[T, ...]:
        """The values of a sweep at this scale; the last one is always among them."""
        return values[:: -self.step][::-1]


SCALES = {
    scale.name: scale
    for scale in (
        Scale("smoke", runs=2, share=0.02, step=3),
        Scale("quick", runs=5, share=0.2, step=2),
        Scale("paper", runs=20, share=1.0, step=1),
        Scale("full", runs=20, share=1.0, step=1),  # more only where an experiment says so
    )
}


@dataclass(frozen=True)
class Cell:
    """The runs of one agent under one setting in one place of an artefact."""

    setting: str
    panel: str
    agent: str
    x: float  # where a sweep has it; 0 elsewhere
    trials: tuple[Trial, ...]


def cell(
    setting: str,
    panel: str,
    agent: str,
    task: str,
    word: str,
    episodes: int,
    seeds: Iterable[int],
    x: float = 0.0,
    epsilon: float | None = None,
) -> Cell:
    """Run k plays instance k of the task, from seed k."""
    trials = tuple(Trial(instance(task, k), word, episodes, k, epsilon) for k in seeds)
    return Cell(setting, panel, agent, x, trials)


def agent_word(setting: str, agent: str, task: str, m: int | None = None) -> str:
    """How an agent is written under a setting.

    Args:
        setting: AUTHORS or FAIR.
        agent: its name in the legend.
        task: "synthetic", "gridworld", "casinoland" or "riverswim", without parameters.
        m: the known threshold of GIM and RMax; None for that of the setting.

    Example:
        >>> agent_word(FAIR, "RMax", "riverswim", m=100), agent_word(AUTHORS, "RMax", "riverswim")
        ('rmax:m=100', 'rmax:m=50,r_max=1.0,plan_per=pair,planner=discounted')
    """
    if agent in SAME:
        return SAME[agent]
    authors = setting == AUTHORS
    if agent == DELAYED_Q:
        return "delayed_q_learning:m=5,epsilon1=0.1" + ",r_max=1.0" * authors
    if agent == GREEDY:
        made = GIM.authors(task) if authors else GIM.paper(completion=COMPLETION)
        # The published code asks for m+1 visits, and so does GIM.authors.
        return str(made if m is None else replace(made, m=m + authors))
    rmax = RMax.authors(task) if authors else RMax()
    return str(rmax if m is None else replace(rmax, m=m))
