"""Queues: admit, and to which server?

Two queues, a fast and a slow server. The exact optimum is known, so is what a learner loses.
"""

# %%
import numpy as np

import gim

mdp = gim.make("queues")
print(mdp, mdp.variables)
plan = mdp.plan()
first = np.asarray(plan.policy)[0].reshape(20, 20)[:8, :8]
print("rows: queue 1, columns: queue 2; 0 turn away, 1 queue 1, 2 queue 2")
print(first)

# %% [markdown]
# A customer goes to the fast server, 1, until its queue is a few longer than the other. A learner
# without inference after 20 episodes:

# %%
run = gim.run("ucbvi", mdp, episodes=20, seed=0)
worth = mdp.policy_return(run.best_policy())
print(f"{worth:.1f} of {mdp.optimal_return():.1f}")

# %% [markdown]
# `gim train queues --episodes 20` shows what inference adds.
