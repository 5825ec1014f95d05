"""Write an agent.

An agent is a frozen dataclass of parameters and three functions that are compiled: what it
remembers, how it acts, how it learns. [Extending](../extending.md) has the recipe with a package of
its own; here is one that exists, whole.
"""

# %%
import inspect

from gim.agents import q_learning

print(inspect.getsource(q_learning))

# %% [markdown]
# `gim new agent mine` writes a file to begin with. `gim.testing.check_agent(YourAgent())` says
# whether yours behaves: compiled, plain, stepwise and resumed runs agree bit for bit.
