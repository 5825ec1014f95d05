"""Tutorial: from a grid of 2 x 3 to your own problem.

Ten minutes, from the smallest world one can check by hand to a policy for a problem of your own.
"""

# %% [markdown]
# ## A world of six cells
#
# `S` is where one starts, `G` pays 1 whenever one steps into it. A step goes astray with
# probability .4, half to each side; every step costs .2.

# %%
import gim
import gim.plot

world = gim.make("gridworld", map="S../..G", horizon=8)
world

# %% [markdown]
# The table is small enough to look at: from the first cell, action right.

# %%
right = world.action_labels.index("right")
for cell, chance in zip(world.state_labels, world.transitions[0, right], strict=True):
    if chance:
        print(f"{cell}: {chance:.1f}")

# %% [markdown]
# ## The best one can do
#
# With the table known, planning is exact: no learning, no simulation. The picture shows the best
# action of each cell at the first step, and what is to be expected from there.

# %%
print(f"optimum {world.optimal_return():.3f}, random {world.random_return():.3f}")
gim.plot.grid(world)

# %% [markdown]
# ## Learning it
#
# An agent is told the variables (row and column) and nothing else; it plays episodes of 8 steps.
# `run.policy` is what it would play next to learn more, `run.best_policy()` what to deploy.

# %%
run = gim.run("analogist", world, episodes=30, seed=0)
print(f"mean return {run.returns.mean():.3f}")
print(f"best policy {world.policy_return(run.best_policy()):.3f}")

# %% [markdown]
# ## What it learned
#
# In words, as far as pairs that were held out bear it out:

# %%
for rule in run.analogies():
    print(rule)

# %% [markdown]
# And with a probability, from what was counted alone:

# %%
print(gim.certify(run))

# %% [markdown]
# ## Your own problem
#
# The same three steps: say what the world is, let an agent learn, take the policy away. A function
# that lists what may happen is the shortest way in; [others](own_mdp.md) are arrays, Gymnasium
# environments and logs.


# %%
def step(state, action):
    """Water a plant: (probability, next state, reward) each."""
    if action == "water":
        return [(0.9, "fresh", 0.5), (0.1, "soaked", -1.0)]
    return [(1.0, "dry", 0.0)] if state == "dry" else [(0.3, "dry", 1.0), (0.7, "fresh", 1.0)]


plant = gim.from_step(step, ["fresh", "dry", "soaked"], ["water", "wait"], horizon=20)
policy = gim.run("psrl", plant, episodes=60, seed=0).best_policy()
print(policy.table())
print(f"worth {plant.policy_return(policy):.2f} of {plant.optimal_return():.2f}")

# %% [markdown]
# `policy.to_csv("plant.csv")` writes it; `gim.load("plant.csv")` reads it; `policy("dry")` asks it.
