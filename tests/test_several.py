"""Several runs at once: the bits of one after the other, and one thread that is told and asked."""

import signal
import threading

import gymnasium
import numpy as np
import pytest

import gim
from gim.runs import several
from gim.runs.loop import Compiled
from tests.faults import PATIENCE

processors = "gim.runs.several.processors"


@pytest.fixture
def two(monkeypatch):
    """Two threads, whatever the machine, and a report after each slice."""
    monkeypatch.setattr(processors, lambda: 2)
    monkeypatch.setattr("gim.runs.runs.REPORT", 0.0)


@pytest.mark.parametrize("agent", ["q_learning", "psrl", "analogist"])
def test_bits_do_not_depend_on_the_number_of_threads(agent, monkeypatch):
    found = []
    for threads in (1, 2, 7):
        monkeypatch.setattr(processors, lambda threads=threads: threads)
        runs = gim.run(agent, "gridworld:height=4,width=4", 8, seeds=[3, 1, 4, 1])
        assert [run.seed for run in runs] == [3, 1, 4, 1]
        found.append(runs.returns)
    alone = gim.run(agent, "gridworld:height=4,width=4", 8, seed=4)
    assert all(np.array_equal(each, found[0]) for each in found)
    assert np.array_equal(found[0][2], alone.returns)


def test_so_many_play_at_a_time_as_there_are_processors(two, monkeypatch):
    lock, playing, most = threading.Lock(), [0], [0]
    both, advance = threading.Barrier(2, timeout=PATIENCE), Compiled.advance

    def watched(self, *given, **more):
        with lock:
            playing[0] += 1
            most[0] = max(most[0], playing[0])
            first = self.random.world_seed not in seen
            seen.add(self.random.world_seed)
        if first and len(seen) <= 2:
            both.wait()  # until the other has begun as well
        wake = advance(self, *given, **more)
        with lock:
            playing[0] -= 1
        return wake

    seen: set[int] = set()
    monkeypatch.setattr(Compiled, "advance", watched)
    gim.run("q_learning", "riverswim", 50, seeds=range(6))
    assert len(seen) == 6
    assert most[0] == 2


def test_the_callback_is_called_here_and_pauses_the_run_that_it_is_told_of(two):
    threads, told = set(), []

    def look(report):
        threads.add(threading.current_thread())
        told.append(report)
        return report.episode >= 1000

    runs = gim.run("q_learning", "riverswim", 200_000, callback=look, seeds=range(4))
    assert threads == {threading.main_thread()}
    assert all(1000 <= run.returns.size < 200_000 for run in runs)
    assert sum(report.episode >= 1000 for report in told) == 4
    rest = gim.run(resume=runs[2], callback=lambda report: report.episode >= 100_000)
    alone = gim.run("q_learning", "riverswim", 200_000, 2, lambda report: report.episode >= 9000)
    least = min(rest.returns.size, alone.returns.size)
    assert least > 1000
    assert np.array_equal(rest.returns[:least], alone.returns[:least])


def test_what_a_callback_raises_comes_out_at_once(two):
    def look(report):
        raise LookupError("enough of that")

    with pytest.raises(LookupError, match="enough of that"):
        gim.run("q_learning", "riverswim", 30_000_000, callback=look, seeds=range(3))
    assert not any(thread.name.startswith("seed ") for thread in threading.enumerate())


def test_what_a_run_raises_ends_the_others(two, monkeypatch):
    advance = Compiled.advance

    def broken(self, memory, clock, returns, budget):
        if self.random.world_seed == bad and budget:
            raise ValueError("a fault of seed 1")
        return advance(self, memory, clock, returns, budget)

    bad = gim.run("random", "riverswim", 1, 1).random.world_seed
    monkeypatch.setattr(Compiled, "advance", broken)
    with pytest.raises(ValueError, match="a fault of seed 1"):
        gim.run("q_learning", "riverswim", 30_000_000, seeds=range(3))


def test_ctrl_c_pauses_all_and_hands_out_the_first_that_is_not_over(two):
    def press(report):
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(several.Interrupted) as caught:
        gim.run("q_learning", "riverswim", 30_000_000, callback=press, seeds=[8, 9, 10])
    run = caught.value.run
    assert run.seed == 8
    assert 0 < run.returns.size < 30_000_000
    alone = gim.run("q_learning", "riverswim", 1000, seed=8)
    least = min(1000, run.returns.size)
    assert np.array_equal(run.returns[:least], alone.returns[:least])


def test_a_callback_may_play_other_runs(two):
    inner = []

    def look(report):
        if not inner:
            inner.append(gim.run("q_learning", "riverswim", 30, seeds=range(2)))

    runs = gim.run("q_learning", "riverswim", 5000, callback=look, seeds=range(2))
    assert runs.returns.shape == (2, 5000)
    assert np.array_equal(inner[0].returns[1], gim.run("q_learning", "riverswim", 30, 1).returns)


def test_a_stepped_world_is_one_for_all_and_its_runs_take_turns(two):
    class Alone(gymnasium.Wrapper):
        inside = False

        def step(self, action):
            assert not self.inside
            assert threading.current_thread() is threading.main_thread()
            self.inside = True
            found = super().step(action)
            self.inside = False
            return found

    mdp = gim.make("riverswim")
    runs = gim.run("q_learning", Alone(mdp.to_gymnasium()), 20, seeds=range(3))
    assert np.array_equal(runs.returns, gim.run("q_learning", mdp, 20, seeds=range(3)).returns)
