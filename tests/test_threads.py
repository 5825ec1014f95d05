"""Inference has linear algebra in one thread, whatever the process has, and gives it back."""

from dataclasses import dataclass

import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

import gim
from gim._base.threads import one_thread
from gim.analogy.analogy import Analogy
from gim.analogy.base import Inference

MANY = 3


def threads() -> set[int]:
    """How many each BLAS that is loaded may use."""
    found = ThreadpoolController().select(user_api="blas").info()
    return {each["num_threads"] for each in found}


@pytest.fixture
def several():
    """A process as it is outside of tests: BLAS takes several threads."""
    with one_thread():
        pass  # both are loaded from here on
    with threadpool_limits(MANY, user_api="blas"):
        assert threads() == {MANY}
        yield
        assert threads() == {MANY}


def test_inside_there_is_one_and_outside_what_there_was(several):
    with one_thread():
        assert threads() == {1}
        with one_thread():
            assert threads() == {1}
        assert threads() == {1}


def test_an_error_gives_it_back(several):
    with pytest.raises(ZeroDivisionError), one_thread():
        _ = 1 / 0
    assert threads() == {MANY}


SEEN: list[set[int]] = []


@dataclass(frozen=True)
class Watched(Inference):
    """By analogy; it notes how many threads it has."""

    def __call__(self, counts, frame, rng):
        SEEN.append(threads())
        return Analogy()(counts, frame, rng)


def test_a_run_infers_so(several):
    SEEN.clear()
    watched = gim.run(gim.Analogist(infer=Watched()), "gridworld", episodes=20, seed=1)
    assert len(SEEN) > 1
    assert all(each == {1} for each in SEEN)
    with threadpool_limits(1, user_api="blas"):
        alone = gim.run(gim.Analogist(infer=Watched()), "gridworld", episodes=20, seed=1)
    assert watched.returns.tobytes() == alone.returns.tobytes()


def test_so_do_runs_side_by_side(several, monkeypatch):
    monkeypatch.setattr("gim.runs.several.processors", lambda: 2)
    SEEN.clear()
    gim.run(gim.Analogist(infer=Watched()), "gridworld", episodes=20, seeds=range(3))
    assert len(SEEN) > 3
    assert all(each == {1} for each in SEEN)
