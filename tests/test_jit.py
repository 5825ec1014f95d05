"""Compilation: caching across processes, digests, the plain twin, and the guards of `_nrt`."""

from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import time
from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core.compiler import Flags

from gim._compile import jit
from gim._compile.internals import Library, QuickFlags
from gim._compile.jit import bind, digest, entry, hot, plain, viewed


@hot
def twice(x):
    return 2 * x


@entry
def fourfold(x):
    return twice(twice(x))


def template(x):
    return callee(x) + 1  # noqa: F821


def test_plain_gives_the_same_without_numba():
    assert fourfold(3) == 12
    f = plain(fourfold)
    assert f(3) == 12
    assert not hasattr(f, "py_func")
    assert not hasattr(f.__globals__["twice"], "py_func")


def test_bind_puts_functions_in_by_name():
    f = bind(template, "twice", callee=twice)
    assert f(5) == 11


def test_digest_watches_callees_and_constants():
    below, above = {"LIMIT": 1}, {}
    exec(compile("def callee(x): return x + LIMIT", "below.py", "exec"), below)
    exec(compile("def caller(x): return callee(x)", "above.py", "exec"), above)
    before = digest(above["caller"])
    assert before == digest(above["caller"])
    above["callee"] = hot(below["callee"])
    watched = digest(above["caller"])
    assert watched != before
    below["LIMIT"] = 2
    limited = digest(above["caller"])
    assert limited != watched
    above["Pair"] = namedtuple("Pair", ["first", "second"])
    paired = digest(above["caller"])
    assert paired != limited
    above["Pair"] = namedtuple("Pair", ["second", "first"])  # read by place: another function
    assert digest(above["caller"]) not in (limited, paired)


CALLEE = """
from gim._compile.jit import hot
@hot
def value(x):
    return x + {number}
"""
CALLER = """
from gim._compile.jit import entry
from callee import value
@entry
def call(x):
    y = 0
    for i in range(10):
        y += value(x)
    return y
print(call(1), sum(call.stats.cache_hits.values()))
"""


def python(folder):
    out = subprocess.run(
        [sys.executable, "caller.py"], cwd=folder, capture_output=True, text=True, check=True
    )
    return tuple(map(int, out.stdout.split()))


def test_cache_serves_a_second_process_and_notices_an_edit_in_another_file(tmp_path):
    (tmp_path / "callee.py").write_text(CALLEE.format(number=1))
    (tmp_path / "caller.py").write_text(CALLER)
    assert python(tmp_path) == (20, 0)
    files = {path.name for path in (tmp_path / "__pycache__").iterdir()}
    assert python(tmp_path) == (20, 1)  # read from the cache, not compiled
    assert {path.name for path in (tmp_path / "__pycache__").iterdir()} == files
    (tmp_path / "callee.py").write_text(CALLEE.format(number=2))
    assert python(tmp_path) == (30, 0)


FIRST_RUN = """
import gim
run = gim.run("q_learning", "riverswim", episodes=10)
print(sum(run._driver.play.stats.cache_hits.values()), run._driver.play.stats.cache_misses)
"""


def test_a_second_process_starts_its_first_run_from_the_cache():
    command = [sys.executable, "-c", textwrap.dedent(FIRST_RUN)]
    for _ in range(2):
        out = subprocess.run(command, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "1 Counter()"


@hot
def total_of(values, times):
    total = 0.0
    for k in range(times):
        total += values[k % values.size]
    return total


def _loop(values, times):
    return total_of(values, times)


def test_hot_functions_keep_no_references():
    loop = entry(_loop)
    values = np.ones(10)
    loop(values, 1)
    before = sys.getrefcount(values)
    for _ in range(100):
        loop(values, 10)
    assert sys.getrefcount(values) == before


def test_hot_functions_are_compiled():
    loop = entry(_loop)
    values = np.ones(10)
    loop(values, 1)
    before = time.process_time()  # of this process: others may be busy
    loop(values, 10_000_000)
    assert time.process_time() - before < 10  # plain Python would take a minute


def test_hot_functions_can_be_called_from_python_too():
    space = {"twice": twice}  # without a file there is nothing on disk that would be loaded
    exec("def anew(x):\n    return twice(twice(x))", space)
    assert entry(space["anew"])(2) == 8
    inlined = list(twice.overloads.values())
    assert inlined
    assert all(isinstance(made.library, Library) for made in inlined), "it has machine code"
    assert twice(4) == 8


ADD_UP = """
from gim._compile.jit import seldom
@seldom(lambda values: values.size)
def add_up(values):
    total = 0.0
    for i in range(values.size):
        total += 1.0 / values[i]
    return total
"""


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Makes `add_up` as a new process would; ten steps are much."""
    monkeypatch.setattr(jit.numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(jit, "MUCH", 10)
    path = tmp_path / "mine.py"
    path.write_text(ADD_UP)

    def make():
        space = {"__name__": "mine", "__file__": str(path)}
        exec(compile(ADD_UP, str(path), "exec"), space)
        return space["add_up"]

    return make


def test_what_seldom_has_work_is_compiled_when_it_has(made):
    add_up, values = made(), np.array([3.0, 7.0, 0.0, 11.0])
    plainly = [add_up(values[:2]), add_up(values)]  # 2 and 4 steps, and no warning of 1/0
    assert add_up(values) == plainly[1]  # 10
    assert not add_up.signatures
    assert add_up(values[:1]) == 1 / 3  # 11, which is much
    assert len(add_up.signatures) == 1
    again = made()
    assert again(values[:2]) == plainly[0]
    assert sum(again.stats.cache_hits.values()) == 1, "machine code on disk was not used"


def test_plain_python_may_work_on_views_that_give_its_own_numbers():
    def scale(values, table, factor):
        for i in range(len(values)):
            assert type(values[i]) is type(table[i, 0]) is type(factor) is float
            table[i, 1] = values[i] * factor

    values, table = np.array([1.5, 2.0, 0.1]), np.zeros((3, 2))
    seldom_run = jit.seldom(lambda *_: 0.0, by_views=True)(scale)
    seldom_run(values[::-1], table, np.float64(3.0))
    assert np.array_equal(table[:, 1], values[::-1] * 3.0)
    assert not seldom_run.signatures


class Held(NamedTuple):
    values: Any
    more: Any


def test_views_keep_the_names_of_fields():
    seen = viewed((Held(np.arange(2.0), (np.ones(1), 3)), np.float64(0.5)))
    assert seen[0].values.tolist() == [0.0, 1.0]
    assert seen[0].more[0].tolist() == [1.0]
    assert type(seen) is type(seen[0].more) is tuple
    assert (type(seen[0].values), type(seen[1])) == (memoryview, float)


def test_what_earlier_processes_have_done_counts(made):
    values = np.array([3.0, 7.0, 11.0])
    for steps in (3, 6, 9):
        add_up = made()
        add_up(values)
        assert not add_up.signatures
        add_up._keep_tally()  # as at the end of a process
        assert add_up._file.read_text() == str(steps)
    add_up._file.write_text("damaged")
    fresh = made()
    fresh(values)
    assert not fresh.signatures
    add_up._file.write_text("9")
    add_up = made()
    add_up(values)
    assert len(add_up.signatures) == 1, "12 steps are much"


def test_compiling_is_timed_once():
    @jit.entry
    def inner(x):
        return x + 1

    space = {"inner": inner}
    exec("def outer(x):\n    return inner(x) + 1", space)
    outer = jit.entry(space["outer"])
    before, began = jit.compiled_for(), time.thread_time()
    assert outer(1) == 3
    took = jit.compiled_for() - before
    assert 0 < took <= time.thread_time() - began
    outer(2)
    assert jit.compiled_for() - before == took


def added(n):
    def callee(x):
        return x + n

    return hot(callee)


@hot
def thrice(x):
    return 3 * x


def test_functions_of_one_file_are_not_taken_for_each_other(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for callee, wanted in ((twice, 9), (thrice, 13), (added(1), 6), (added(5), 10)):
        assert bind(template, "one label", callee=callee)(4) == wanted
    assert bind(template, "one label", callee=twice).__qualname__ == (
        bind(template, "one label", callee=twice).__qualname__
    )


def test_labels_of_gims_own_functions_stay_as_they_are():
    from gim.planning.sweeps import expected_dense

    assert expected_dense.__qualname__.startswith("_expected[dense].")


@pytest.mark.parametrize("one", [{}, {"nrt": True}, {"nrt": False}, {"fastmath": True}])
@pytest.mark.parametrize("two", [{}, {"nrt": True}, {"boundscheck": True}])
def test_quick_flags_are_equal_where_numba_s_are(one, two):
    flags = []
    for options in (one, two):
        flags.append(Flags())
        for name, value in options.items():
            setattr(flags[-1], name, value)
    (a, b), (quick_a, quick_b) = flags, map(QuickFlags, flags)
    assert (quick_a == quick_b) == (quick_a == b) == (a == quick_b) == (a == b)
    assert hash(a) == hash(quick_a)
    assert type(quick_a.copy()) is QuickFlags
    assert quick_a != "flags"


@pytest.mark.parametrize("collects", [True, False])
def test_the_collector_is_as_it_was_after_compiling(collects):
    double = jit.entry(lambda x: x + x)
    before = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        assert double(2) == 4
        assert gc.isenabled() == collects
    finally:
        (gc.enable if before else gc.disable)()
