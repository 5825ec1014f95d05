"""Agents from outside whose functions do not fit the loop: one line that names what is wrong."""

import os
import re
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import gim
from gim._compile.jit import hot
from gim.cli import main
from gim.runs.agent import GO_ON, Agent, agents
from gim.runs.run import prepare

NAME = "unfit_for_a_test"
compiled = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") != "0",
    reason="what functions return is known to the compiler alone",
)


class Memory(NamedTuple):
    n: NDArray[np.int64]  # [S]


def act(memory, s, h, rng):
    return 0


def act_float(memory, s, h, rng):
    return 0.0


def act_nothing(memory, s, h, rng):
    memory.n[s] += 1


def act_now_and_then(memory, s, h, rng):
    if memory.n[s] > 3:
        return 1
    return None


def act_without_step(memory, s, rng):
    return 0


def act_of_another_memory(memory, s, h, rng):
    return memory.best[s]


def act_with_room(memory, s, h, rng):
    return np.zeros(3, np.int64)[0]


def act_with_a_list(memory, s, h, rng):
    return [s, h][0]


def learn(memory, s, h, a, r, t, end, rng):
    memory.n[s] += 1
    return GO_ON


def learn_float(memory, s, h, a, r, t, end, rng):
    return r


def learn_nothing(memory, s, h, a, r, t, end, rng):
    memory.n[s] += 1


def learn_now_and_then(memory, s, h, a, r, t, end, rng):
    if r > 0:
        return GO_ON
    return None


def learn_of_a_step(memory, s, a, r, t):
    return GO_ON


@pytest.fixture
def make():
    """Make an agent of these functions, under NAME as long as the test lasts."""

    def made(act=act, learn=learn, memory=lambda task: Memory(np.zeros(task.S, np.int64)), by=hot):
        class Unfit(Agent, name=NAME):
            def start(self, task, rng):
                return memory(task)

        qualnames = act.__qualname__, learn.__qualname__
        Unfit.act, Unfit.learn = staticmethod(by(act)), staticmethod(by(learn))
        act.__qualname__, learn.__qualname__ = qualnames  # which `hot` has added to
        return Unfit()

    yield made
    agents._made.pop(NAME, None)


FORMS = [
    ({"act": act_without_step}, r"^Unfit.act takes \(memory, s, rng\), .*act\(memory, s, h, rng\)"),
    ({"learn": learn_of_a_step}, r"^Unfit.learn takes \(memory, s, a, r, t\), .* t, end, rng\)"),
    ({"memory": lambda task: {"n": 1}}, r"^Unfit.start returned a dict: .* NamedTuple of arrays"),
    ({"memory": lambda task: Memory(3)}, r"^Unfit.start: memory field n is a int: .* arrays only"),
]
TYPES = [
    ({"act": act_float}, r"^Unfit.act returns float64: it must return the number of an action"),
    ({"act": act_nothing}, r"^Unfit.act returns nothing: it must return the number"),
    ({"act": act_now_and_then}, r"^Unfit.act returns int64, and sometimes nothing: it must"),
    ({"act": act_of_another_memory}, r"^Unfit.act cannot be compiled: Unknown attribute 'best'.*"),
    ({"act": act_with_room}, r"^Unfit.act cannot be compiled: .* zeros\(.*, line \d+\)$"),
    ({"act": act_with_a_list}, r"^Unfit.act cannot be compiled: it makes an array, .* in start"),
    ({"learn": learn_float}, r"^Unfit.learn returns float64: it must return GO_ON, or THINK"),
    ({"learn": learn_nothing}, r"^Unfit.learn returns nothing: it must return GO_ON"),
    ({"learn": learn_now_and_then}, r"^Unfit.learn returns int64, and sometimes nothing"),
    ({"by": lambda f: f}, r"^Unfit.act is not compiled: write @hot .* def act\(memory, s, h, rng"),
]


@pytest.mark.parametrize(
    ("given", "said"), FORMS + [pytest.param(*each, marks=compiled) for each in TYPES]
)
def test_what_does_not_fit_is_named(make, given, said):
    agent = make(**given)
    for world in (gim.make("riverswim"), gim.make("riverswim").to_gymnasium()):
        with pytest.raises(ValueError, match=said) as caught:
            prepare(agent, world, 2, stepwise=True)
        assert "\n" not in str(caught.value)
        if "cannot be compiled" in said or ("returns" in said and "Unfit.start" not in said):
            assert re.search(
                r"\((.*test_agent_functions\.py|<.*>).*, line \d+\)$", str(caught.value)
            )


@compiled
def test_on_the_command_line_too(make, capsys):
    make(act=act_float)
    assert main(["train", "riverswim", "--agent", NAME, "--episodes", "2"]) == 2
    err = capsys.readouterr().err
    assert err.splitlines()[-1].startswith("gim: Unfit.act returns float64")
    assert "Traceback" not in err


@compiled
def test_what_fits_is_compiled_once(make, monkeypatch):
    def no_cache(f):
        raise OSError

    # Else it need not be compiled at all:
    monkeypatch.setattr("gim._compile.internals.Cache", no_cache)
    agent = make()
    run = prepare(agent, gim.make("riverswim"), 3)
    assert [len(f.overloads) for f in (agent.act, agent.learn)] == [1, 1]
    run.go()
    assert [len(f.overloads) for f in (agent.act, agent.learn)] == [1, 1]
    assert run.memory.n.sum() == 60
