"""My Gymnasium environment.

Any environment with finite spaces works as it is; `MultiDiscrete`, `Tuple`, `Dict` and integer
`Box` become variables. A time limit around it is seen.
"""

# %%
import gymnasium
import numpy as np

import gim


class Shop(gymnasium.Env):
    """Two goods; order up to two of each a day."""

    observation_space = gymnasium.spaces.MultiDiscrete([6, 6])
    action_space = gymnasium.spaces.MultiDiscrete([3, 3])

    def reset(self, *, seed=None, options=None):
        """Begin with empty shelves."""
        super().reset(seed=seed)
        self.stock = np.zeros(2, np.int64)
        return self.stock.copy(), {}

    def step(self, order):
        """Sell what is asked for."""
        filled = np.minimum(self.stock + order, 5)
        self.stock = np.maximum(filled - self.np_random.poisson(1.0, 2), 0)
        earned = 2.0 * (filled - self.stock).sum() - order.sum()
        return self.stock.copy(), float(earned), False, False, {}


# %%
env = gymnasium.wrappers.TimeLimit(Shop(), 20)
run = gim.run("analogist", env, episodes=30, seed=0)
print(run.task.variables, run.task.action_variables)
print(f"first 5 episodes {run.returns[:5].mean():.1f}, last 5 {run.returns[-5:].mean():.1f}")

# %% [markdown]
# The policy takes what the environment shows and returns a tuple, of which `MultiDiscrete` wants an
# array. It can be saved, loaded and played: by `gim.evaluate`, or step by step.

# %%
run.best_policy().save("shop.npz")
policy = gim.load("shop.npz")
print(gim.evaluate(policy, env, episodes=100))
stock, _ = env.reset(seed=1)
earned, step, over = 0.0, 0, False
while not over:
    stock, reward, terminated, truncated, _ = env.step(np.array(policy(stock, step)))
    earned, step, over = earned + reward, step + 1, terminated or truncated
earned

# %% [markdown]
# Registered, it goes by its name, also in the shell: `gim train my_module:Shop-v0`. An environment
# does not say how large its rewards can be; see [Gymnasium](../gymnasium.md) for what is done then.
