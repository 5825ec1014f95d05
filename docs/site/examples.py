"""Examples of the reference for names whose docstring has none; `tests/test_site.py` runs them."""

from __future__ import annotations

AGENT = """
import gim

run = gim.run(gim.{name}(), "riverswim", episodes=50, seed=0)
run.best_policy()                     # what to deploy
run.mdp.score(run.returns)            # mean return over the optimum
"""
EXAMPLES = {
    "Agent": """
import gim

assert issubclass(gim.QLearning, gim.Agent)
gim.QLearning(alpha=0.2).alpha        # parameters are checked when an agent is made
""",
    "Analogy": """
import gim

gim.run(gim.UCBVI(infer=gim.Analogy()), "riverswim", episodes=20, seed=0)
""",
    "ByCompletion": """
import gim

gim.run(gim.UCBVI(infer=gim.ByCompletion()), "riverswim", episodes=20, seed=0)
""",
    "Certificate": """
import gim

certificate = gim.certify(gim.run("psrl", "riverswim", episodes=200, seed=0))
certificate.lower, certificate.upper  # of what the policy earns
""",
    "files": """
import gim
import numpy as np

gim.files.save("mine.npz", "my kind", {"x": np.arange(3)}, {"why": "an example"})
kind, arrays, meta = gim.files.load("mine.npz", kind="my kind")
""",
    "Inference": """
import gim

assert issubclass(gim.Analogy, gim.Inference)
gim.run(gim.UCBVI(infer="by_completion"), "riverswim", episodes=20, seed=0)
""",
    "Interrupted": """
import gim

try:
    gim.run("q_learning", "riverswim", episodes=100)
except gim.Interrupted as stop:       # Ctrl-C
    gim.run(resume=stop.run)          # goes on where it stood
""",
    "Learned": """
import gim

log = gim.from_log([(0, "go", 1.0, 1), (1, "go", 0.0, 0), (0, "stay", 0.0, 0)])
learned = gim.learn(log, horizon=3)
learned.policy, learned.value.estimate
""",
    "LearnedModel": """
import gim

model = gim.run("psrl", "riverswim", episodes=50, seed=0).model
model.transitions.shape, model.known.mean()
""",
    "Log": """
import gim

log = gim.from_log([(0, "go", 1.0, 1), (1, "go", 0.0, 0), (0, "stay", 0.0, 0)])
log.S, log.A, log.counts.n.sum()
""",
    "Report": """
import gim

gim.run("q_learning", "riverswim", episodes=50, callback=lambda report: report.episode >= 20)
""",
    "Rule": """
import gim

run = gim.run("analogist", "gridworld:height=6,width=6", episodes=8, seed=0)
for rule in run.analogies():
    print(rule.action, rule.outcomes, rule.support)
""",
    "Run": """
import gim

run = gim.run("q_learning", "riverswim", episodes=50, seed=0)
run.returns.mean(), run.best_policy(), run.mdp.optimal_return()
""",
    "Runs": """
import gim

runs = gim.run("q_learning", "riverswim", episodes=50, seeds=range(3))
runs.returns.shape
""",
    "World": """
import gim

world: gim.World = "riverswim:length=8"   # a spec, a path, a TabularMDP or a Gymnasium environment
gim.run("random", world, episodes=10)
""",
    "completion": """
import gim

gim.run("gim:m=5,rho=0.95,completion=als(rank=3)", "casinoland", episodes=300, seed=0)
""",
    "Task": """
import gim

task = gim.run("psrl", "riverswim", episodes=5).task
task.S, task.A, task.H, task.reward_range
""",
    "planning": """
import gim

mdp = gim.make("riverswim")
policy = gim.planning.backward_induction(mdp).policy
gim.planning.evaluate(mdp, policy)[0]  # the value of each state at the first step
""",
    "plot": """
import gim

gim.plot.curves(gim.run("q_learning", "riverswim", episodes=50, seed=0)).savefig("curves.png")
""",
    "theory": """
import gim

mdp = gim.make("riverswim")           # Lemma 2: episodes until a share rho of the pairs is known
gim.theory.exploration_bound(mdp.S, mdp.A, mdp.horizon, mdp.diameter(), m=40, rho=0.8)
""",
}

RUN = """
import gim, gim.plot
run = gim.run("psrl", "riverswim", episodes=60, seed=0)
"""
PLOTS = {
    "curves": """
import gim, gim.plot
seeds = range(3)
runs = {name: gim.run(name, "riverswim", 60, seeds=seeds) for name in ("psrl", "random")}
gim.plot.curves(runs)
""",
    "grid": """
import gim, gim.plot
gim.plot.grid(gim.make("gridworld", map="S..#/..G./#...", horizon=20))
""",
    "graph": """
import gim, gim.plot
gim.plot.graph(gim.make("riverswim"))
""",
    "analogies": """
import gim, gim.plot
run = gim.run("analogist", "gridworld:height=6,width=6", episodes=8, seed=0)
gim.plot.analogies(run)
""",
    "singular_values": """
import gim, gim.plot
gim.plot.singular_values(gim.make("synthetic", seed=0))
""",
    "knownness": """
import gim, gim.plot
gim.plot.knownness(gim.GIM(m=3), gim.make("riverswim"), episodes=50, frames=3)
""",
    "completion": RUN + "gim.plot.completion(run.model, run.mdp, s=1)\n",
    "walk": """
import gim, gim.plot
mdp = gim.make("gridworld", seed=0)
gim.plot.walk(gim.Analogist(), mdp, "walk.gif", s=5, episodes=20, frames=4)
""",
    "figure": """
import gim.plot
made, axes = gim.plot.figure(4.0, 3.0)   # inches; axes [rows, columns]
axes[0, 0].plot([1, 2, 4], color=gim.plot.COLOURS[0])
made
""",
    "looks": """
import gim, gim.plot

@gim.plot.looks                          # a picture of your own in the same look
def horizon(mdp):
    made, axes = gim.plot.figure(4.0, 3.0)
    axes[0, 0].plot(mdp.value(mdp.plan().policy)[:-1, 0], color=gim.plot.COLOURS[0])
    axes[0, 0].set(title=gim.plot.name_of(mdp), xlabel="step", ylabel="value of state 0")
    return made

horizon(gim.make("riverswim"))
""",
    "name_of": """
import gim, gim.plot
made, axes = gim.plot.figure(4.0, 3.0)
axes[0, 0].set_title(gim.plot.name_of(gim.make("riverswim:length=8")))
made
""",
    "family": """
import gim, gim.plot
import numpy as np
rng, rows = np.random.default_rng(0), []
for shop, demand in enumerate((1, 2, 4)):
    stock = 5
    for _ in range(80):
        order = int(rng.integers(0, 4))
        left = max(min(stock + order, 9) - int(rng.poisson(demand)), 0)
        rows.append((shop, stock, order, float(stock + order - left), left))
        stock = left
columns = dict(zip(("shop", "stock", "order", "sold", "left"), zip(*rows)))
named = {"state": "stock", "action": "order", "reward": "sold", "next_state": "left"}
log = gim.from_log(columns, unit="shop", **named)
gim.plot.family(gim.learn(log, horizon=10))
""",
    "visits": """
import gim, gim.plot
gim.plot.visits(gim.from_log([(0, "go", 1.0, 1), (1, "go", 0.0, 0), (0, "stay", 0.0, 0)]))
""",
    "rates": """
import gim.plot
gim.plot.rates([10, 100, 1000], {"mean of samples": [0.3, 0.1, 0.03]}, "errors")
""",
}
