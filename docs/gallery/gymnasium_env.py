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
run = gim.run("q_learning", env, episodes=300, seed=0)
print(run.task.variables, run.task.action_variables)
print(f"first 30 episodes {run.returns[:30].mean():.1f}, last 30 {run.returns[-30:].mean():.1f}")

# %% [markdown]
# The policy takes and returns what the environment uses.

# %%
policy = run.best_policy()
policy(np.array([0, 3]))
