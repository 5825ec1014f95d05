"""What does it not do?

Finite states and actions, known when the run begins; no neural networks, no pixels, no partial
observation. What does not fit is refused in a line that says so:
"""

# %%
import gymnasium

import gim


def refused(ask):
    """The message of what is refused."""
    try:
        ask()
    except ValueError as problem:
        return str(problem)
    return "not refused"


# %%
print(refused(lambda: gim.run("q_learning", gymnasium.make("CartPole-v1"), episodes=1)))
print(refused(lambda: gim.run("q_learning", "Blackjack-v1", episodes=1)))
print(refused(lambda: gim.make("riverswim", lenght=3)))

# %% [markdown]
# - Continuous observations must be binned first (see [Gymnasium](../gymnasium.md)).
# - The Analogist thinks for milliseconds to seconds after an episode: it saves samples, not time.
# - Rules are found where variables are told or can be read off names; a world without structure
#   gains nothing from them ([study](../study.md)).
# - [Certificates](../analogy.md#certificates) are wide after few episodes, and say so.
# - There is no page that runs in the browser. Numba compiles there by now, in patched builds that
#   one conda channel has for JupyterLite; pip does not install them, and we have not tried gim with
#   them. Without numba the loop is a thousand times slower.
