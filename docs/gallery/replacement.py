"""Replace it when? By discount, on average, within a limit.

A machine wears from 0 to 4. Worn, it makes less; a new one costs 8. The same problem comes in three
ways: as arrays, as a simulator that can only be stepped, and as a log of what was done.
"""

# %%
import gymnasium
import numpy as np

import gim

MAKES = np.array([10.0, 9.0, 7.0, 4.0, 0.0])  # in a day, by wear
WEARS = {0: 0.5, 1: 0.4, 2: 0.1}  # chances to wear by so much in a day
P, R = np.zeros((5, 2, 5)), np.column_stack([MAKES, MAKES - 8])
for wear in range(5):
    for more, chance in WEARS.items():
        P[wear, 0, min(wear + more, 4)] += chance
        P[wear, 1, more] += chance  # a new one works from the next day on, and wears
machine = gim.TabularMDP(
    P, R, horizon=250, state_labels=range(5), action_labels=["keep", "replace"], name="machine"
)

# %% [markdown]
# ## From arrays
#
# A discount says what tomorrow is worth today; the average asks for nothing but a day in the long
# run. The gain is what a day brings, the bias how much better it is to start there.

# %%
names = machine.action_labels
soon = machine.plan(discount=0.95)
print("discount .95:", [names[a] for a in soon.policy], "worth", soon.v.round(2))
long_run = machine.plan(average=True)
print("average:     ", [names[a] for a in long_run.policy], f"gain {long_run.gain[0]:.4f}")
print("bias", long_run.bias.round(2))

# %% [markdown]
# QuantEcon solves the discounted problem, where it is installed. Version 0.11.4 gives the same
# policy and the same values to the last digit shown; it has neither averages nor limits.

# %%
try:
    from quantecon.markov import DiscreteDP
except ImportError:
    print("pip install quantecon, to compare")
else:
    peer = DiscreteDP(R, P, 0.95).solve(method="policy_iteration")
    print("QuantEcon:   ", [names[a] for a in peer.sigma], "worth", peer.v.round(2))

# %% [markdown]
# ### A limit
#
# A machine at wear 3 or more is unsafe: it should be found so on one day in fifty. The policy then
# draws in one state, and the price says what a looser limit would bring.

# %%
unsafe = {"unsafe": lambda wear, action: float(wear >= 3)}
safe = gim.constrained(machine, unsafe, {"unsafe": 0.02}, average=True)
print(safe)
print(safe.policy.table())

# %% [markdown]
# What cannot be kept together is said: fewer than one new machine in five days is too few for that.

# %%
limits = {"unsafe": 0.02, "bought": 0.2}
try:
    gim.constrained(
        machine, unsafe | {"bought": lambda wear, a: a == "replace"}, limits, average=True
    )
except ValueError as problem:
    print(problem)

# %% [markdown]
# ### Why, what else, and how sure
#
# What each action is worth and what would turn the decision; which loses less than a tenth; how the
# year's return is spread; and at which price of a machine the policy turns.

# %%
print(machine.why(2, average=True))
print("free within .1:", long_run.freedom(0.1).tolist())
print(machine.distribution(long_run.policy))
prices = gim.sensitivity(
    lambda price: machine.with_(rewards=np.column_stack([MAKES, MAKES - price])),
    range(2, 15, 2),
    name="price",
    average=True,
)
print(prices)

# %% [markdown]
# ## From a simulator
#
# Nothing but `step` and `reset`: a learner finds the model, and the same questions can be asked of
# that.


# %%
class Machine(gymnasium.Env):
    """A machine that is stepped."""

    observation_space = gymnasium.spaces.Discrete(5)
    action_space = gymnasium.spaces.Discrete(2)
    reward_range = (-8.0, 10.0)

    def reset(self, *, seed=None, options=None):
        """A new machine."""
        super().reset(seed=seed)
        self.wear = 0
        return 0, {}

    def step(self, action):
        """A day: keep it, or replace it."""
        pays = float(MAKES[self.wear] - 8 * action)
        more = int(self.np_random.choice(3, p=[*WEARS.values()]))
        self.wear = min((0 if action else self.wear) + more, 4)
        return self.wear, pays, False, False, {}


run = gim.run("analogist", Machine(), episodes=20, horizon=50, seed=0)
print("discount .95:", [names[a] for a in run.model.plan(discount=0.95).policy])
print("average:     ", [names[a] for a in run.model.plan(average=True).policy])
print(run.model.why(2, average=True))
found = gim.constrained(run, unsafe, {"unsafe": 0.02}, average=True)
print(found)
print("in truth:", machine.value(np.asarray(found.policy), average=True)[0].round(4))

# %% [markdown]
# ## From a log
#
# A year of days, in which one replaced at wear 3 or 4 and now and then by chance. `average=True`
# learns for the long run; `why` says what stands behind a recommendation.

# %%
rng, wear, rows = np.random.default_rng(0), 0, []
for day in range(730):
    action = int(wear >= 3) if rng.random() < 0.7 else int(rng.integers(2))
    after = int(rng.choice(5, p=P[wear, action]))
    rows.append((day, wear, names[action], R[wear, action], after))
    wear = after
columns = list(zip(*rows, strict=True))
log = gim.from_log(
    dict(zip(("day", "wear", "action", "profit", "after"), columns, strict=True)),
    state="wear",
    action="action",
    reward="profit",
    next_state="after",
    step="day",
    reward_range=(-8.0, 10.0),
)
learned = gim.learn(log, average=True)
print("average:     ", [learned.policy(wear) for wear in range(5)])
print("a day brings {:.2f} ({:.2f} to {:.2f})".format(*learned.value))
print("discount .95:", [gim.learn(log, discount=0.95).policy(wear) for wear in range(5)])
print(learned.why(2))
print(gim.constrained(learned, unsafe, {"unsafe": 0.02}, average=True))
print({name: round(worth, 4) for name, worth in learned.compare(machine).items()})
