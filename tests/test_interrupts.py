"""Ctrl-C, TERM and HUP: a word at once whatever runs, an end soon, what was whole is kept."""

import os
import signal
import subprocess
import sys
import threading
import time
from importlib import import_module
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import gim
from gim._base import interrupts
from gim._base.files import load
from gim._compile import backend
from gim.cli import main
from gim.runs.checkpoints import Checkpoints
from gim.runs.run import prepare
from tests.faults import PATIENCE, ROOT

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]

# What a command does, with a sign on stdout once it is in the middle of it.
BEGIN = """
import sys, threading, time
import gim, numba
from gim.cli import main

@numba.njit(nogil=True)
def compiled(n):  # seconds, deaf to all but the end of the process
    x = 1
    for i in range(n):
        x = (x * 3 + i) % 1000003
    return x

def begun():
    print("begun", flush=True)

compiled(10)
"""
THINKS = (  # an agent whose first plan comes after a while, and takes for ever
    BEGIN
    + """
plan = gim.PSRL.think
def think(self, memory, mind):
    memory = plan(self, memory, mind)
    if mind.episode >= 20:
        if mind.episode == 20: begun()
        compiled(1 << 40 if mind.episode == 20 else 10)
    return memory
gim.PSRL.think = think
sys.exit(main(["train", "riverswim", "--agent", "psrl", "--episodes", "500", *sys.argv[1:]]))
"""
)
WORLD = """
import os, time
import gymnasium

class Walk(gymnasium.Env):  # a random walk; stuck in the middle of its 20th episode if asked for
    observation_space = gymnasium.spaces.Discrete(9)
    action_space = gymnasium.spaces.Discrete(2)
    episodes = steps = at = 0

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.episodes += 1
        self.steps = self.at = 0
        return 0, {}

    def step(self, action):
        self.steps += 1
        if "STUCK" in os.environ and (self.episodes, self.steps) == (20, 5):
            print("begun", flush=True)
            while True:
                time.sleep(0.01)
        self.at = min(8, max(0, self.at + int(self.np_random.integers(2)) + action - 1))
        return self.at, float(self.at), False, False, {}

gymnasium.register("Walk-v0", Walk, max_episode_steps=20)
"""
STEPS = (
    BEGIN
    + """
import os
os.environ["STUCK"] = "yes"
import walk
"""
)
IN_A_PROGRAM = """
try:
    gim.run("q_learning", "Walk-v0", 100)
except gim.Interrupted:
    sys.exit(9)
"""
IN_THE_COMMAND = """
words = ["train", "Walk-v0", "--agent", "q_learning", "--episodes", "100", "--save", "run.npz"]
sys.exit(main(words))
"""
LEARNS = (  # a command that is no run, in the middle of compiled code
    BEGIN
    + """
import gim.cli.learn

def run(args):
    threading.Timer(0.5, begun).start()  # once it is in there
    compiled(1 << 40)

gim.cli.learn.run = run
sys.exit(main(["learn", "x.csv", "--out", "here"]))
"""
)


left = []


@pytest.fixture(autouse=True)
def ends():
    """No process outlives its test, whatever became of it."""
    yield
    while left:
        left.pop().kill()


def started(script, folder, *words):
    """A process in the middle of what it does."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    left.append(process)
    assert process.stdout.readline() == "begun\n", process.stderr.read()
    return process


def line_of(process) -> str:
    """Its next line, but for those of progress; one that says nothing is ended, and fails."""
    patience = threading.Timer(PATIENCE / 10, process.kill)
    patience.start()
    try:
        while (line := process.stderr.readline()).startswith("training"):
            pass
        return line
    finally:
        patience.cancel()


def ended(process) -> str:
    """What it says besides, once it has ended."""
    told = process.communicate(timeout=PATIENCE / 10)[1]
    return "".join(line for line in told.splitlines(True) if not line.startswith("training"))


@pytest.mark.processes
@pytest.mark.parametrize("number", SIGNALS)
def test_in_the_middle_of_compiled_code_there_is_a_word_and_a_second_one_ends(number, tmp_path):
    process = started(THINKS, tmp_path, "--save", "run.npz")
    process.send_signal(number)
    assert line_of(process) == f"gim: {interrupts.PAUSING}\n"  # while the plan goes on for ever
    assert process.poll() is None
    process.send_signal(number)
    assert ended(process) == "gim: ended; to go on: gim train --resume run.npz\n"
    assert process.returncode == 75
    kept = gim.load(tmp_path / "run.npz")
    assert kept.returns.size < 20
    whole = gim.run("psrl", "riverswim", 500)
    assert np.array_equal(kept.go().returns, whole.returns)


@pytest.mark.processes
def test_without_a_file_a_second_one_ends_as_well(tmp_path):
    process = started(THINKS, tmp_path)
    process.send_signal(signal.SIGTERM)
    line_of(process)
    process.send_signal(signal.SIGTERM)
    assert ended(process) == "gim: interrupted\n"
    assert process.returncode == 130


@pytest.mark.processes
def test_a_command_that_is_no_run(tmp_path):
    process = started(LEARNS, tmp_path)
    process.send_signal(signal.SIGHUP)
    assert line_of(process) == f"gim: {interrupts.PAUSING}\n"
    process.send_signal(signal.SIGINT)
    assert ended(process) == "gim: interrupted\n"
    assert process.returncode == 130


@pytest.mark.processes
def test_a_stepped_episode_hears_it_too(tmp_path):
    (tmp_path / "walk.py").write_text(WORLD)
    process = started(STEPS + IN_A_PROGRAM, tmp_path)
    process.send_signal(signal.SIGINT)
    assert line_of(process) == f"gim: {interrupts.PAUSING}\n"
    assert process.poll() is None  # this episode may yet end
    process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in ended(process)  # in a program it is Python's own
    assert process.returncode not in (0, 9)


@pytest.mark.processes
def test_what_a_stepped_run_was_before_the_episode_is_kept(tmp_path, monkeypatch):
    (tmp_path / "walk.py").write_text(WORLD)
    process = started(STEPS + IN_THE_COMMAND, tmp_path)
    process.send_signal(signal.SIGTERM)
    assert line_of(process) == f"gim: {interrupts.PAUSING}\n"
    process.send_signal(signal.SIGTERM)
    assert ended(process) == "gim: ended; to go on: gim train --resume run.npz\n"
    assert process.returncode == 75
    monkeypatch.syspath_prepend(tmp_path)
    import_module("walk")
    kept = gim.load(tmp_path / "run.npz")
    assert kept.returns.size < 20
    assert np.array_equal(kept.go().returns, gim.run("q_learning", "Walk-v0", 100).returns)


@pytest.mark.processes
def test_a_killed_run_goes_on_from_its_checkpoint(tmp_path):
    process = started(THINKS, tmp_path, "--save", "run.npz", "--save-every", "1e-9")
    process.kill()
    ended(process)
    kept = gim.load(tmp_path / "run.npz")
    assert kept.returns.size < 20
    assert not kept.finished
    assert np.array_equal(kept.go().returns, gim.run("psrl", "riverswim", 500).returns)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_program_is_told_by_an_exception_with_the_run(number, capsys):
    reports = []

    def press(report):
        reports.append(report)
        signal.raise_signal(number)

    before = [signal.getsignal(each) for each in SIGNALS]
    with pytest.raises(gim.Interrupted) as stop:
        gim.run("q_learning", "riverswim", 10**7, 4, press)
    assert [signal.getsignal(each) for each in SIGNALS] == before
    assert signal.set_wakeup_fd(-1) == -1
    (report,), returns = reports, stop.value.run.returns
    assert 0 < report.episode <= returns.size < 10**7
    few = min(1000, returns.size)
    assert np.array_equal(returns[:few], gim.run("q_learning", "riverswim", few, 4).returns)
    assert capsys.readouterr().err == f"gim: {interrupts.PAUSING}\n"


def test_what_a_program_does_with_term_itself_stays_so(capsys):
    heard = []
    before = signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
    try:
        run = gim.run(
            "q_learning", "riverswim", 50_000, 4, lambda _: signal.raise_signal(signal.SIGTERM)
        )
    finally:
        signal.signal(signal.SIGTERM, before)
    assert run.finished
    assert heard
    assert capsys.readouterr().err == ""


def test_what_a_world_forks_can_be_ended():
    ends = []

    class Forks(gymnasium.Wrapper):
        def reset(self, **given):
            pid = os.fork()
            if pid == 0:
                signal.raise_signal(signal.SIGTERM)
                os._exit(0)
            ends.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            return super().reset(**given)

    run = prepare(gim.Random(), Forks(gim.make("riverswim").to_gymnasium()), 3, stepwise=True)
    assert run.go().finished
    assert ends == [-signal.SIGTERM] * 3


def test_the_descriptor_of_another_is_left_alone():
    import socket

    here, there = socket.socketpair()
    there.setblocking(False)
    signal.set_wakeup_fd(there.fileno())
    try:
        with pytest.raises(gim.Interrupted):
            gim.run("random", "riverswim", 10**7, 4, lambda _: signal.raise_signal(signal.SIGINT))
        assert here.recv(8) == bytes([signal.SIGINT])
    finally:
        assert signal.set_wakeup_fd(-1) == there.fileno()
        here.close()
        there.close()


# -- what is kept


def test_what_is_kept_in_memory_does_not_change_with_the_run(tmp_path):
    run = prepare(gim.PSRL(), gim.make("riverswim"), 200, 3)
    run.pause_at(777)
    kept = Checkpoints(run, tmp_path / "run.npz")
    run.pause_at(2500)
    kept.end()
    again = gim.load(tmp_path / "run.npz")
    assert again.steps == 777
    whole = run.go()
    assert np.array_equal(again.go().returns, whole.returns)
    assert again.notes == whole.notes


def test_checkpoints_come_as_often_as_is_asked_for(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    run = prepare(gim.QLearning(), gim.make("riverswim"), 200, 3)
    path = tmp_path / "run.npz"
    kept = Checkpoints(run, path, minutes=10)
    seen = []
    for k in range(1, 7):
        now[0] = 300.0 * k
        run.pause_at(100 * k)
        kept.look()
        seen.append(gim.load(path).steps)
    assert seen == [0, 200, 200, 400, 400, 600]
    run.pause_at(650)
    now[0] += 2.0
    kept.look()
    kept.end()
    assert gim.load(path).steps == 650


def test_a_full_disk_costs_a_checkpoint_and_not_the_run(tmp_path, monkeypatch):
    run = prepare(gim.QLearning(), gim.make("riverswim"), 200, 3)
    kept = Checkpoints(run, tmp_path / "run.npz", minutes=1e-9)
    run.pause_at(50)

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(type(run), "save", full)
        with pytest.warns(UserWarning, match="no checkpoint was written: .*No space"):
            kept.look()
    kept.save()
    assert load(tmp_path / "run.npz", "run").meta["episodes"] == 200


@pytest.mark.parametrize("wrong", ["0", "-1", "x", "nan", "inf"])
def test_minutes(wrong, capsys):
    assert main(["train", "riverswim", "--save", "a.npz", "--save-every", wrong]) == 2
    assert "give a number of minutes" in capsys.readouterr().err


def test_checkpoints_need_a_file(capsys):
    assert main(["train", "riverswim", "--save-every", "5"]) == 2
    assert "add --save FILE" in capsys.readouterr().err


def test_the_way_to_go_on_keeps_its_checkpoints(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gim.runs.runs.REPORT", 0.0)

    def press(self, seconds, plain=gim.Run._report):
        signal.raise_signal(signal.SIGINT)
        return plain(self, seconds)

    monkeypatch.setattr(gim.Run, "_report", press)
    words = ["train", "riverswim", "--save", "a.npz", "--save-every", "0.5"]
    assert main([*words, "--episodes", "1e6", "--agent", "random"]) == 75
    assert capsys.readouterr().err.endswith("gim train --resume a.npz --save-every 0.5\n")
    assert Path("a.npz").exists()


def test_what_is_interrupted_before_its_first_step_can_go_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def press(self, plain=gim.Run._packed):
        if self.steps == 0:
            signal.raise_signal(signal.SIGINT)
        return plain(self)

    with monkeypatch.context() as patch:
        patch.setattr(gim.Run, "_packed", press)
        patch.setattr(interrupts, "GRACE", PATIENCE)  # it is pressed again while it is saved
        words = ["train", "riverswim", "--agent", "psrl", "--episodes", "50", "--save", "a.npz"]
        assert main(words) == 75
    assert capsys.readouterr().err.endswith("gim train --resume a.npz\n")
    whole = gim.run("psrl", "riverswim", 50)
    assert np.array_equal(gim.load("a.npz").go().returns, whole.returns)


@pytest.mark.parametrize(
    ("became", "status"), [(RuntimeError, 130), (SystemError, 130), (ValueError, 2)]
)
def test_what_an_interrupt_has_broken_is_an_interrupt(became, status, monkeypatch, capsys):
    """The generators of a compiler end at one for ever, and C makes another error of it."""

    def command(words):
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise became("something else") from None

    monkeypatch.setattr("gim.cli.command._run", command)
    assert main(["envs"]) == status
    said = "interrupted" if status == 130 else "something else"
    assert capsys.readouterr().err.splitlines()[-1] == f"gim: {said}"


def test_an_interrupt_that_was_lost_is_heard_by_the_run():
    run = prepare(gim.PSRL(), gim.make("riverswim"), 100, 0)

    @interrupts.commanded(lambda: ("", 0))
    def command():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        run.go()

    with pytest.raises(gim.Interrupted):
        command()
    assert run.returns.size < 100
    whole = gim.run("psrl", "riverswim", 100)
    assert np.array_equal(run.go().returns, whole.returns)


def test_what_is_interrupted_while_it_compiles_is_kept_and_not_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def broken(*_, **__):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise SystemError("returned a result with an exception set")

    monkeypatch.setattr("gim.cli.train._go", broken)
    monkeypatch.setattr("gim.cli.train._show", lambda *_: pytest.fail("it may need the compiler"))
    assert main(["train", "riverswim", "--agent", "psrl", "--save", "a.npz"]) == 75
    assert capsys.readouterr().err.endswith("gim train --resume a.npz\n")
    assert Path("a.npz").exists()


def test_an_interrupt_that_was_lost_is_heard_before_files_are_written(tmp_path, monkeypatch):
    def lost(plain=gim.learn, **options):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return plain(**options)

    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text("s,a,r,s2\n" + "0,0,1,1\n1,1,0,0\n" * 3)
    monkeypatch.setattr("gim.cli.learn.learn", lambda log, **options: lost(log=log, **options))
    words = ["learn", "log.csv", "--state", "s", "--action", "a", "--reward", "r", "--next", "s2"]
    assert main([*words, "--out", "here"]) == 130
    assert not Path("here").exists()


@pytest.mark.parametrize("number", SIGNALS)
def test_a_compiler_is_never_broken_off(number, monkeypatch):
    """An exception in what it hands to C has ended the interpreter."""
    heard = []

    def compiling(self, sig):
        signal.raise_signal(number)
        heard.append("compiled")

    @interrupts.commanded(lambda: ("", 0))
    def command():
        backend.made(lambda: 0, backend.Entry, {}).compile(())

    monkeypatch.setattr("numba.core.dispatcher.Dispatcher.compile", compiling)
    with pytest.raises(KeyboardInterrupt):
        command()
    assert heard == ["compiled"]
