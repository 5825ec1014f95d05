"""What does the certificate say?

How much a policy earns, and how much it may lose of the best, with a probability: computed from
what was counted, without knowing the truth.
"""

# %%
import gim

run = gim.run("psrl", "casinoland", episodes=400, seed=0)
certificate = gim.certify(run)
print(certificate)

# %% [markdown]
# Here the truth is known, so the statement can be checked.

# %%
exact = run.mdp.policy_return(certificate.policy)
print(
    f"{certificate.lower:.1f} <= {exact:.1f} <= {certificate.upper:.1f}: the best is "
    f"{run.mdp.optimal_return():.1f}"
)

# %% [markdown]
# `kind="credible"` is what the data make likely, `kind="guaranteed"` holds whatever the world is
# and is far wider. "No bound" is an answer, too: episodes meet pairs that nothing is known of;
# play on, or ask `gim.learn(log).wanted` what to try first.
