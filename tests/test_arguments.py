"""Checks of single arguments: one rule for whole numbers, wherever one is asked for."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

import gim
from gim import planning
from gim._base.arguments import as_whole, whole
from gim.envs.worlds import world_of
from gim_lab.engines.base import engine_of
from gim_lab.trials.study import Study
from gim_lab.trials.trial import Trial


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3), np.array(3)])
def test_whole_numbers_become_ints(value):
    assert whole("n", value, 1, 3) == 3
    assert type(whole("n", value)) is int


@pytest.mark.parametrize("value", [True, np.True_, 3.0, np.float64(3), "3", None, [3], 2.5])
def test_what_is_no_whole_number(value):
    assert as_whole(value) is None
    with pytest.raises(ValueError, match=r"n = .*: give a whole number$"):
        whole("n", value)


@pytest.mark.parametrize(
    ("value", "low", "high", "says"),
    [
        (0, 1, None, "n = 0: give a whole number, 1 or more"),
        (4, None, 3, "n = 4: give a whole number, 3 or less"),
        (4, 1, 3, "n = 4: give a whole number from 1 to 3"),
        (0, 1, 3, "n = 0: give a whole number from 1 to 3"),
    ],
)
def test_limits_are_included_and_named(value, low, high, says):
    with pytest.raises(ValueError, match=says):
        whole("n", value, low, high)
    edge = low if value == 0 else high
    assert whole("n", edge, low, high) == edge


MDP = gim.TabularMDP(np.ones((1, 1, 1)), [[1.0]], horizon=2)
ASKED = {
    "horizon of an MDP": ("horizon", lambda n: MDP.with_(horizon=n)),
    "horizon of a plan": ("horizon", lambda n: gim.plan(MDP, horizon=n)),
    "horizon of a world": ("horizon", lambda n: world_of("riverswim", n)),
    "iterations of a plan": ("max_iter", lambda n: gim.plan(MDP, discount=0.5, max_iter=n)),
    "episodes of a run": ("episodes", lambda n: gim.run("random", MDP, episodes=n)),
    "episodes of a trial": ("episodes", lambda n: Trial("riverswim", "random", n, 0)),
    "runs of a study": (
        "runs",
        lambda n: Study.of({"tasks": ["riverswim"], "agents": ["random"], "runs": n}),
    ),
    "workers of an engine": ("workers", lambda n: engine_of("serial", n)),
}


@pytest.mark.parametrize("place", ASKED)
@pytest.mark.parametrize("wrong", [0, -1, True, 1.0, "1"])
def test_the_same_rule_everywhere(place, wrong):
    name, ask = ASKED[place]
    with pytest.raises(ValueError, match=rf"^{name} = {wrong!r}: give a whole number, 1 or more$"):
        ask(wrong)
    ask(np.int64(10))


RUN = gim.run("ucbvi", MDP, episodes=1)
SHARES = {
    "statements on returns": ("share", "share", lambda x: gim.certify(RUN, x).share),
    "pairs": ("of_pairs", "share", lambda x: gim.certify(RUN, of_pairs=x).of_pairs),
    "the optimum": (
        "epsilon",
        r"share of V\*",
        lambda x: Trial("riverswim", "random", 1, 0, epsilon=x).epsilon,
    ),
}


@pytest.mark.parametrize("place", SHARES)
def test_a_share_is_the_same_everywhere(place):
    name, what, ask = SHARES[place]
    for given in (0.5, np.float32(0.5), np.array(0.5), Fraction(1, 2)):
        assert ask(given) == 0.5
        assert type(ask(given)) is float
    for wrong in (0, 1.0, -0.1, 1.5, np.nan):
        with pytest.raises(ValueError, match=rf"^{name} = {wrong}: give a {what} between 0 and 1$"):
            ask(wrong)
    for wrong in (True, "0.5", [0.5]):
        with pytest.raises(
            ValueError, match=rf"^{name} = {re.escape(repr(wrong))}: give a number$"
        ):
            ask(wrong)


@pytest.mark.parametrize("wrong", [-0.1, 1.5, np.nan, True, "0.5"])
def test_a_discount_over_a_horizon_is_the_same_everywhere(wrong):
    said = set()
    for ask in (
        lambda: MDP.with_(discount=wrong),
        lambda: gim.plan(MDP, discount=wrong, horizon=3),
        lambda: planning.evaluate(MDP, [0], 3, wrong),
    ):
        with pytest.raises(ValueError, match=r"^discount = ") as problem:
            ask()
        said.add(str(problem.value))
    assert len(said) == 1
    for right in (0, 1, np.float32(0.5)):
        assert MDP.with_(discount=right).discount == right
