"""Reinforcement learning by analogy in finite Markov decision processes."""

from gim import starting, theory  # the first is for while this is imported
from gim.agent import Agent
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
from gim.convert import from_gymnasium, from_outcomes, from_step
from gim.envs import make
from gim.evaluation import evaluate
from gim.inference.analogy import Analogy
from gim.inference.by_completion import ByCompletion
from gim.inference.certificate import Certificate, certify
from gim.inference.structure import Rule
from gim.loading import load
from gim.logs import Log, from_log, learn
from gim.mdp import TabularMDP
from gim.model import completion
from gim.model.learned import LearnedModel
from gim.planning import Plan, plan
from gim.policy import Policy
from gim.reports import Report
from gim.run import run
from gim.runs import Interrupted, Run, Runs
from gim.variables import Variables
from gim.worlds import World

__version__ = "0.2.0.dev0"

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
    "ByCompletion",
    "Certificate",
    "DelayedQLearning",
    "DoubleQLearning",
    "Interrupted",
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
    "TabularMDP",
    "TwoPhase",
    "Variables",
    "World",
    "certify",
    "completion",
    "evaluate",
    "from_gymnasium",
    "from_log",
    "from_outcomes",
    "from_step",
    "learn",
    "load",
    "make",
    "plan",
    "run",
    "theory",
]

starting.imported()
