"""A run is entered once: a thousand others are told so in one line, and no bits change."""

import threading

import gymnasium
import numpy as np
import pytest

import gim
from gim.envs import tasks
from gim.runs.agent import agents
from gim.runs.run import prepare

WAYS = ("go", "pause_at", "save", "pack")


def enter(run, k: int) -> str:
    """One of the ways in, and the line that comes of it."""
    way = WAYS[k % len(WAYS)]
    given = {"pause_at": (run.steps + 50,), "save": ("never.npz",)}.get(way, ())
    with pytest.raises(ValueError, match="this run is being played") as refused:
        getattr(run, way)(*given)
    line = str(refused.value)
    assert f"{way}()" in line
    assert "gim.run" in line
    assert "\n" not in line
    return line


class Nosy(gymnasium.Wrapper):
    """A world that enters the run that steps through it."""

    run = None
    lines = 0

    def step(self, action):
        if self.run is not None:
            assert "inside its world" in enter(self.run, self.lines)
            self.lines += 1
        return super().step(action)

    def reset(self, **given):
        if self.run is not None:
            enter(self.run, self.lines)
            self.lines += 1
        return super().reset(**given)


def test_a_step_of_the_world_cannot_enter(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    world = Nosy(gim.make("riverswim").to_gymnasium())
    run = prepare(agents.make("q_learning"), world, 20, 3, stepwise=True)
    world.run = run
    run.go()
    assert world.lines == 20 * 21
    assert np.array_equal(run.returns, gim.run("q_learning", "riverswim", 20, 3).returns)
    assert not any(tmp_path.iterdir())


def test_what_a_world_lets_through_is_one_line():
    class Plain(gymnasium.Wrapper):
        def step(self, action):
            return run.go()

    run = prepare(
        agents.make("psrl"), Plain(tasks.make("riverswim").to_gymnasium()), 3, stepwise=True
    )
    with pytest.raises(ValueError, match=r"step failed .*being played") as refused:
        run.go()
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("agent", ["q_learning", "analogist"])
def test_callbacks_and_threads_cannot_enter(agent, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gim.runs.runs.REPORT", 0.0)
    run = prepare(agents.make(agent), tasks.make("riverswim"), 300, 5)
    lines, looks, playing = [], [], threading.Event()

    def other(k):
        playing.wait()
        for i in range(12):
            lines.append(enter(run, i + k))

    threads = [threading.Thread(target=other, args=(k,), name=f"t{k}") for k in range(12)]

    def look(report):
        if not looks:
            playing.set()  # while this thread is inside
            for thread in threads:
                thread.join()
            for way in ("go", "pause_at"):
                lines.extend(enter(run, WAYS.index(way)) for _ in range(73))
            run.save("seen.npz")  # here it is whole
        looks.append(report)

    for thread in threads:
        thread.start()
    run.go(look)
    assert len(lines) == 290
    assert sum("in the thread 'MainThread'" in line for line in lines) == 144
    assert len(looks) > 0
    assert not (tmp_path / "never.npz").exists()
    alone = gim.run(agent, "riverswim", 300, 5)
    assert np.array_equal(run.returns, alone.returns)
    assert np.array_equal(gim.load("seen.npz").go().returns, alone.returns)


def test_a_thread_may_go_on_where_another_has_stopped():
    run = prepare(agents.make("q_learning"), tasks.make("riverswim"), 500, 1)
    for k in range(1, 5):
        thread = threading.Thread(target=run.pause_at, args=(2000 * k,))
        thread.start()
        thread.join()
    assert np.array_equal(run.go().returns, gim.run("q_learning", "riverswim", 500, 1).returns)
