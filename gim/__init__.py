"""Reinforcement learning by analogy in finite Markov decision processes.

What is public is named here, and imported when it is first used.
"""

from typing import TYPE_CHECKING

from gim._base.gymnasium_ids import announce
from gim._base.lazy import lazy

if TYPE_CHECKING:
    from gim import planning, plot
    from gim._base import files
    from gim.agents.analogist import Analogist
    from gim.agents.delayed_q_learning import DelayedQLearning
    from gim.agents.double_q_learning import DoubleQLearning
    from gim.agents.e3 import E3
    from gim.agents.gim import GIM
    from gim.agents.mbie import MBIE
    from gim.agents.mbie_eb import MBIEEB
    from gim.agents.optimal import Optimal
    from gim.agents.optimistic_q_learning import OptimisticQLearning
    from gim.agents.orlc import ORLC
    from gim.agents.psrl import PSRL
    from gim.agents.q_learning import QLearning
    from gim.agents.random import Random
    from gim.agents.rlsvi import RLSVI
    from gim.agents.rmax import RMax
    from gim.agents.rtdp_mbie import RTDPMBIE
    from gim.agents.rtdp_rmax import RTDPRMax
    from gim.agents.sarsa import SARSA
    from gim.agents.two_phase import TwoPhase
    from gim.agents.ubev import UBEV
    from gim.agents.ucbvi import UCBVI
    from gim.agents.ucrl2 import UCRL2
    from gim.analogy.analogy import Analogy
    from gim.analogy.base import Inference
    from gim.analogy.by_completion import ByCompletion
    from gim.analogy.structure.rule import Rule
    from gim.belief.belief import Belief
    from gim.belief.certificate.certificate import Certificate, certify
    from gim.belief.family.family import Family
    from gim.envs.base import make
    from gim.envs.worlds import World
    from gim.logs.believing import believe
    from gim.logs.check import check
    from gim.logs.counted import from_counts
    from gim.logs.learned import Learned
    from gim.logs.learning import learn
    from gim.logs.loading import load
    from gim.logs.log import Log
    from gim.logs.reading import from_log
    from gim.mdp.convert import from_gymnasium, from_outcomes, from_step
    from gim.mdp.policy.policy import Policy
    from gim.mdp.tabular import TabularMDP
    from gim.mdp.variables import Variables
    from gim.model import completion
    from gim.model.constrained import Constrained, constrained
    from gim.model.learned import LearnedModel
    from gim.model.simple import Simple, simplify
    from gim.model.task import Task
    from gim.paper import theory
    from gim.planning.average import AveragePlan
    from gim.planning.choose import plan
    from gim.planning.types import Plan
    from gim.runs.agent import Agent
    from gim.runs.evaluation import evaluate
    from gim.runs.reports import Report
    from gim.runs.run import run
    from gim.runs.runs import Interrupted, Run, Runs
    from gim.runs.sensitivity import Sensitivity, sensitivity
    from gim.runs.series import Series, series
else:
    __getattr__, __dir__ = lazy(__name__)

__version__ = "0.2.0"

__all__ = [
    "E3",
    "GIM",
    "MBIE",
    "MBIEEB",
    "ORLC",
    "PSRL",
    "RLSVI",
    "RTDPMBIE",
    "SARSA",
    "UBEV",
    "UCBVI",
    "UCRL2",
    "Agent",
    "Analogist",
    "Analogy",
    "AveragePlan",
    "Belief",
    "ByCompletion",
    "Certificate",
    "Constrained",
    "DelayedQLearning",
    "DoubleQLearning",
    "Family",
    "Inference",
    "Interrupted",
    "Learned",
    "LearnedModel",
    "Log",
    "Optimal",
    "OptimisticQLearning",
    "Plan",
    "Policy",
    "QLearning",
    "RMax",
    "RTDPRMax",
    "Random",
    "Report",
    "Rule",
    "Run",
    "Runs",
    "Sensitivity",
    "Series",
    "Simple",
    "TabularMDP",
    "Task",
    "TwoPhase",
    "Variables",
    "World",
    "believe",
    "certify",
    "check",
    "completion",
    "constrained",
    "evaluate",
    "files",
    "from_counts",
    "from_gymnasium",
    "from_log",
    "from_outcomes",
    "from_step",
    "learn",
    "load",
    "make",
    "plan",
    "planning",
    "plot",
    "run",
    "sensitivity",
    "series",
    "simplify",
    "theory",
]

announce()  # `gymnasium.make("gim/RiverSwim-v0")` works from here on
