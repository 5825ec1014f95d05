"""Returns of version 0.1.0, bit for bit: agents that were not meant to change have not.

What else was in 0.1.0 plays otherwise, for reasons: GIM breaks the ties of Algorithm 1 anew at
every step (docs/exploration.md), and what infers by analogy infers otherwise (docs/analogy.md).
"""

from __future__ import annotations

import hashlib

import pytest

import gim

TWIN = "ucbvi:scale=none,growth=0.1"  # the plain twin, which comparisons are made with
TASKS = {  # and the episodes that were played there, from seed 3
    "riverswim": 300,
    "gridworld": 200,
    "casinoland": 200,
    "synthetic": 300,
    "FrozenLake-v1": 200,
    "shared_factors:S=20,A=10": 200,
}
RETURNS = {  # digests, in the order of the tasks; made by 0.1.0
    "delayed_q_learning": "44f308ea64 4ad01482c1 955c49acc8 7030537cf7 af152d57ef c6bf19ee70",
    "double_q_learning": "abcbcda510 a36c24f57a fc54b14698 a0ab567602 e61f41d57d d16e24bea6",
    "mbie_eb": "d96fc75cef d5c85e543f 124006a6a5 d52100ec47 ac25f299b2 e0b4f9512b",
    "optimal": "74ca82675d ca7ca104fd fd0321e267 fcd9d8b40c 7958a5fb6d eaf05b0c26",
    "psrl": "e19d8b5adf 8bb6e62737 1eb66b7dcf 27a4573ac5 311cf90e67 5f87731336",
    "q_learning": "9506a9b471 a9e5fdc223 f0639d2415 93f61c4835 a021e1c881 42ba2d20e3",
    "random": "a9df520988 bcc22e73e1 3a8933a316 11eca0023c f06d6ceb4b ead89e9ac4",
    "rmax": "5111de9ef1 e7fd81f02b 9ca7424342 e8b5b6b52e 3f2aa5cae7 a5a47bfd5a",
    "ucbvi": "5748b058f8 c31d66ec85 efdd92b9fc 229229e153 3ef4a8e64a 0f4e15dea2",
    TWIN: "9a9d5c5004 07b2bf310b 4ba382c928 d17784519e a7065932a3 d28ae12ddc",
}
LONGER = {  # of the twin, by task and episodes, from seed 7
    ("riverswim", 3000): "077cd839a0",
    ("casinoland", 2000): "c34a19f318",
    ("gridworld", 1500): "e1a76d2074",
    ("shared_factors:S=10,A=8", 400): "80a2023e8e",
}


def played(agent, task, episodes, seed):
    returns = gim.run(agent, task, episodes=episodes, seed=seed).returns
    return hashlib.sha256(returns.tobytes()).hexdigest()[:10]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("agent", RETURNS)
def test_what_was_not_meant_to_change_has_not(agent):
    assert [played(agent, task, n, seed=3) for task, n in TASKS.items()] == RETURNS[agent].split()


@pytest.mark.parametrize(("task", "episodes"), LONGER)
def test_the_plain_twin_is_that_of_0_1_0(task, episodes):
    assert played(TWIN, task, episodes, seed=7) == LONGER[task, episodes]
