"""My own problem, from a function.

A machine works, limps or is broken. You may run it or repair it. All that is needed is a function
that lists what may happen.
"""

# %%
import gim


def step(state, action):
    """What may happen: (probability, next state, reward) each."""
    if action == "repair":
        return [(1.0, "works", -4.0)]
    if state == "broken":
        return [(1.0, "broken", 0.0)]
    worse = {"works": "limps", "limps": "broken"}[state]
    return [(0.8, state, 5.0 if state == "works" else 3.0), (0.2, worse, 0.0)]


# %% [markdown]
# States and actions can be anything that can be hashed: words, numbers, tuples.

# %%
machine = gim.from_step(step, ["works", "limps", "broken"], ["run", "repair"], horizon=30)
machine

# %% [markdown]
# The table is exact, so is the best policy. What stands in brackets is the
# step from which on it changes: near the end a repair does not pay any more.

# %%
best = machine.plan()
print(gim.Policy(best.policy, machine.state_labels, machine.action_labels).table())
print(f"worth {machine.optimal_return():.1f}, at random {machine.random_return():.1f}")

# %% [markdown]
# If only samples are to be had, let an agent learn.

# %%
run = gim.run("psrl", machine, episodes=50, seed=0)
print(f"best policy it knows: {machine.policy_return(run.best_policy()):.1f}")
