"""A budget for thinking: what waits, what does not, and what is told of it and before long runs."""

import itertools

import numpy as np
import pytest

import gim
from gim.cli.train import Forecast
from gim.runs.run import prepare
from gim.runs.runs import WAITED

WORLD = "gridworld:height=4,width=4"


@pytest.fixture
def clock(monkeypatch):
    """Processor time that goes on by a thousandth of a second whenever somebody looks."""
    ticks = itertools.count()
    monkeypatch.setattr("time.thread_time", lambda: next(ticks) / 1000)


def thought(run):
    return sum(v for k, v in run.seconds.items() if k not in ("compiling", "interacting"))


def test_a_budget_that_is_not_reached_changes_no_bit():
    free, bounded = (gim.run("analogist", WORLD, 30, seconds=each) for each in (None, 1e6))
    assert np.array_equal(free.returns, bounded.returns)
    assert free.plans == bounded.plans
    assert not bounded.notes


@pytest.mark.parametrize("agent", ["analogist", "ucbvi", "gim:m=3", "e3", "rlsvi", "ucrl2"])
def test_thinking_keeps_within_its_budget_by_one_thought(agent, clock):
    free = prepare(gim.agents.agents.make(agent), gim.make(WORLD), 200).go()
    budget = thought(free) / 4
    run = prepare(gim.agents.agents.make(agent), gim.make(WORLD), 200, seconds=budget)
    largest, before = 0.0, 0.0
    while not run.finished:
        run.pause_at(run.steps + 1)
        largest, before = max(largest, thought(run) - before), thought(run)
        allowed = budget * np.sqrt((run.returns.size + 1) / 200)
        assert thought(run) <= allowed + largest
    assert thought(run) > 0.5 * budget or run.plans == free.plans
    if run.plans < free.plans:
        assert run.notes.count(WAITED) == 1


def test_what_waited_is_thought_later(clock):
    """GIM asks for its plan once, when enough is known, and does not get it then."""
    run = prepare(gim.GIM(m=3), gim.make(WORLD), 400, seconds=1.0)
    run.mind.seconds["before"] = 0.5  # the fourth part of the run is over before more is allowed
    run.go()
    assert 95 <= run.explored_at < 150
    assert run.plans == 1


def test_a_run_that_waits_goes_on_as_such_from_a_file(clock, tmp_path):
    run = prepare(gim.GIM(m=3), gim.make(WORLD), 400, seconds=1.0)
    run.mind.seconds["before"] = 0.5
    run.pause_at(50 * run.task.H)
    run.save(tmp_path / "run.npz")
    again = gim.load(tmp_path / "run.npz")
    assert again.budget == 1.0
    assert 95 <= again.go().explored_at < 150


@pytest.mark.parametrize("wrong", [0, -1.0, np.nan, np.inf, "1", True])
def test_what_is_no_budget_is_refused(wrong):
    with pytest.raises(ValueError, match=r"^seconds = .*: give a number"):
        gim.run("random", "riverswim", 1, seconds=wrong)


class Played:
    """A run of which only the times are looked at."""

    def __init__(self, episodes):
        self.episodes = episodes

    def told(self, forecast, done, **seconds):
        self.returns, self.seconds = np.zeros(done), {"compiling": 9.0} | seconds
        return forecast.told(self)


def test_a_long_run_is_told_of_once():
    run, forecast = Played(1000), Forecast()
    assert run.told(forecast, 0) == ""
    assert run.told(forecast, 1, planning=5.0) == ""  # the first episode tells nothing
    assert run.told(forecast, 4, planning=5.3) == ""
    told = run.told(forecast, 11, planning=6.0)
    assert told.startswith("gim: 1,000 episodes: some 1:45, ")
    assert told.endswith(" GB")
    assert run.told(forecast, 20, planning=7.0) == ""


def test_nothing_is_told_of_what_ends_soon_or_goes_on():
    short = Forecast()
    Played(1000).told(short, 1, planning=1.0)
    assert Played(1000).told(short, 500, planning=4.0) == ""
    assert Played(10**6).told(Forecast(over=True), 500, planning=100.0) == ""


def test_inferences_become_fewer_and_plans_do_not():
    told = []
    for kind in ("inferring", "planning"):
        run, forecast = Played(10_000), Forecast(2)
        run.told(forecast, 1)
        told.append(run.told(forecast, 101, **{kind: 10.0}).split("some ")[1].split(",")[0])
    assert told == ["0:36 of processor time", "33:20 of processor time"]
