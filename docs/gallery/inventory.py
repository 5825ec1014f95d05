"""Inventory, end to end.

Order each day, demand is random, storage costs. The default learner knows the variables stock and
order and nothing else.
"""

# %%
import numpy as np

import gim

run = gim.run("analogist", "inventory", episodes=5, seed=0)
mdp = run.mdp
worth = mdp.policy_return(run.best_policy())
print(
    f"after 5 episodes: {worth:.0f} of {mdp.optimal_return():.0f}, random {mdp.random_return():.0f}"
)

# %% [markdown]
# What was learned:

# %%
for rule in run.analogies():
    print(rule)

# %% [markdown]
# What to order on the first day, by stock:

# %%
policy = run.best_policy()
print({stock: int(np.asarray(policy)[0][stock]) for stock in (0, 4, 8, 12)})

# %% [markdown]
# Take it away: `policy.to_csv("policy.csv")`, or `gim train inventory --save-policy policy.csv`;
# and `gim play policy.csv inventory` plays it.
