"""What a broken environment, a strange file or an absurd number may do: one line, nothing lost."""

import gc
import importlib
import sys
import tempfile

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import gim
from gim._base import files
from gim._base.limits import check_returns
from gim._compile.memory import flatten, rebuild
from gim.cli import main, starting
from gim.planning.checks import NEAREST
from gim.runs.agent import agents
from gim.runs.run import prepare
from gim.testing.agents import small_worlds


class Faulty(gymnasium.Env):
    """An environment without a table that does something strange from its third episode on."""

    observation_space = spaces.Discrete(3)
    action_space = spaces.Discrete(2)

    def __init__(self, reset=None, step=None):
        self.begun, self.strange_reset, self.strange_step = 0, reset, step

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.begun, self.s = self.begun + 1, 0
        if self.begun == 3 and self.strange_reset is not None:
            return self.strange_reset()
        return 0, {}

    def step(self, action):
        self.s = (self.s + 1) % 3
        if self.begun == 3 and self.s == 2 and self.strange_step is not None:
            return self.strange_step()
        return self.s, 0.5, False, False, {}


def raises(problem):
    def do():
        raise problem

    return do


def playing(env, agent="random"):
    return gim.run(agent, env, episodes=5, horizon=4)


@pytest.mark.parametrize(
    ("reset", "said"),
    [
        (lambda: None, "reset failed .TypeError"),
        (lambda: (0,), "reset failed .ValueError: not enough values"),
        (raises(KeyError("a\nb")), "reset failed .KeyError"),
    ],
)
def test_a_reset_that_fails(reset, said):
    with pytest.raises(ValueError, match=f"step 0 of episode 2: the environment.*{said}") as found:
        playing(Faulty(reset=reset))
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (lambda: None, "step failed .TypeError"),
        (lambda: (0, 1.0, False, False), "step failed .ValueError: not enough values"),
        (lambda: (0, 1.0, np.ones(2), False, {}), "terminated = array.* a flag is True, False"),
        (lambda: (-1, 1.0, False, False, {}), "returned state -1, which is not in"),
        (lambda: (0, 1e308, False, False, {}), "paid 1e.308; up to 4.25e.307 is taken"),
        (raises(RuntimeError("the simulator is gone")), "RuntimeError: the simulator is gone"),
        (raises(StopIteration()), "step failed .StopIteration"),
    ],
)
def test_a_step_that_fails(step, said):
    with pytest.raises(ValueError, match=f"step 1 of episode 2: the environment.*{said}"):
        playing(Faulty(step=step))


def test_its_own_error_is_the_cause():
    with pytest.raises(ValueError, match="gone") as found:
        playing(Faulty(step=raises(RuntimeError("gone"))))
    assert isinstance(found.value.__cause__, RuntimeError)


def test_agents_that_count_take_rewards_that_can_be_squared():
    paid = Faulty(step=lambda: (0, 1e80, False, False, {}))
    assert playing(paid).returns.max() >= 1e80
    with pytest.raises(ValueError, match=r"paid 1e.80; up to 1e.70 is taken"):
        playing(Faulty(step=lambda: (0, 1e80, False, False, {})), "ucbvi")


def test_what_was_learned_before_an_environment_failed_is_kept(tmp_path, capsys):
    made = lambda **_: Faulty(step=raises(RuntimeError("the simulator is gone")))  # noqa: E731
    gymnasium.register("gim-test/Faulty-v0", made, max_episode_steps=4)
    try:
        path = tmp_path / "run.npz"
        path.write_bytes(b"what was there before")
        words = ["train", "gim-test/Faulty-v0", "--agent", "random", "--episodes", "9"]
        assert main([*words, "--save", str(path)]) == 2
        note, said = capsys.readouterr().err.splitlines()[-2:]
        assert note.startswith("gim: note: the run up to the error is kept")
        assert said.startswith("gim: step 1 of episode 2: the environment's step failed")
        assert path.read_bytes() == b"what was there before"
        kept = gim.load(tmp_path / "run.failed.npz", "run")
        assert (kept.returns.tolist(), kept.steps) == ([2.0, 2.0], 8)
    finally:
        del gymnasium.registry["gim-test/Faulty-v0"]


def test_returns_that_no_number_holds():
    P = np.ones((1, 1, 1))
    with pytest.raises(ValueError, match="no number holds the return"):
        gim.run("random", gim.TabularMDP(P, [[1e308]], horizon=3), 1)
    check_returns(3, 0.0, -1e300)


def test_a_discount_too_near_to_1():
    mdp = gim.make("riverswim")
    with pytest.raises(ValueError, match="lost in rounding: give a horizon"):
        mdp.plan(discount=float(np.nextafter(1, 0)))
    assert mdp.plan(discount=1 - 2 * NEAREST).v.shape == (6,)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: gim.run("random", "riverswim", 3, callback=3), "callback = 3: give a function"),
        (lambda: gim.run("random", "riverswim", 3, seeds=3), "seeds = 3: give several"),
        (lambda: gim.run("random", np.ones((2, 2, 2))), "is not a world"),
        (lambda: gim.certify(3), "a int has learned nothing"),
        (lambda: gim.learn(log(), infer=3), "infer = 3: give a name"),
        (lambda: gim.learn(log(), baseline=np.full((2, 2), np.nan)), "rows that are no prob"),
        (lambda: gim.make("inventory", price=np.nan), "price = nan: must be a number"),
        (lambda: gim.from_outcomes(np.array([[0, 0, 0, 1, np.inf]])), r"0, \(0.0, 0.0, 0.0, 1.0"),
    ],
)
def test_arguments_of_another_kind(call, said):
    with pytest.raises(ValueError, match=said) as found:
        call()
    assert "\n" not in str(found.value)


def log():
    return gim.from_log([(0, 0, 1.0, 1), (1, 1, 0.0, 0)] * 5)


HEAD = b"s,a,r,s2\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\n\n" + HEAD, "begins with an empty line"),
        ((HEAD + b"0,0,1,1\n").decode().encode("utf-16"), "is no CSV in UTF-8"),
        (HEAD + b'0,0,1,1\n1,"1,0,0\n', "cannot be read"),
        (HEAD + b"x" * 9_000_000 + b",0,1,1\n", "a row is longer than 4 MiB"),
        (HEAD, "has no rows"),
        (b"s,a,r\x00,s2\n0,0,1,1\n", "no column 'r'"),
    ],
)
def test_strange_logs(tmp_path, content, said):
    path = tmp_path / "log.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=said):
        gim.from_log(path)


def test_a_log_with_many_columns_and_a_mark_at_its_front(tmp_path):
    more = [f"c{i}" for i in range(20_000)]
    rows = [["s", "a", "r", "s2", *more], ["0", "1", "2", "1", *more], ["1", "0", "2", "0", *more]]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(map(",".join, rows)), encoding="utf-8-sig")
    assert len(gim.from_log(path)) == 2


def test_what_is_no_file(tmp_path):
    with pytest.raises(ValueError, match="is a folder: give a CSV"):
        gim.from_log(tmp_path)
    with pytest.raises(ValueError, match="is a device or a pipe"):
        gim.from_log("/dev/null")


def said_by(capsys, *words):
    assert main(list(words)) == 2
    (line,) = [each for each in capsys.readouterr().err.splitlines() if "gim:" in each]
    return line


def test_messages_do_not_steer_the_terminal(capsys):
    line = said_by(capsys, "learn", "no\x1b]0;title\x07such\x00\x9b31m", "--out", "o")
    assert line.isprintable()
    assert "no\N{REPLACEMENT CHARACTER}]0;title" in line


def test_absurd_numbers_on_the_command_line(capsys, tmp_path, monkeypatch):
    assert "--m = 9999" in said_by(capsys, "inspect", "riverswim", "--m", "1e29")
    assert "--seed = -1" in said_by(capsys, "inspect", "riverswim", "--seed", "-1")
    assert "name one or more" in said_by(capsys, "reproduce")


def test_a_read_that_fails_says_of_what(tmp_path, monkeypatch):
    path = tmp_path / "mdp.npz"
    gim.make("riverswim").save(path)
    monkeypatch.setattr(files, "_read", lambda *_: raises(OSError(5, "Input/output error"))())
    with pytest.raises(OSError, match=r"Input/output error.*mdp.npz"):
        gim.load(path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        gim.load(tmp_path / "none.npz")


@pytest.mark.parametrize(
    ("word", "module", "ours"),
    [
        ("-m", "gim", True),
        ("-m", "another", False),
        ("/usr/bin/gim", "", True),
        ("pytest", "", False),
        ("", "", False),
    ],
)
def test_while_the_command_is_imported(monkeypatch, capsys, word, module, ours):
    """Ctrl-C is one line, and no garbage is collected; of other programs nothing is touched."""
    monkeypatch.setattr(sys, "argv", [word])
    monkeypatch.setattr(sys, "orig_argv", ["python", word, module])
    monkeypatch.setattr(sys, "excepthook", before := sys.excepthook)
    importlib.reload(starting)
    assert gc.isenabled() != ours
    starting.imported()
    assert gc.isenabled()
    gc.unfreeze()
    assert (sys.excepthook is not before) == ours
    if ours:
        sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
        assert capsys.readouterr().err == "gim: interrupted\n"
        sys.excepthook(ValueError, ValueError("another"), None)
        assert "ValueError: another" in capsys.readouterr().err


def test_ctrl_c_while_compiled_code_hands_its_result_over(monkeypatch, capsys):
    def interrupted(args):
        inner = SystemError("returned a result with an exception set")
        inner.__cause__ = KeyboardInterrupt()
        raise SystemError("returned a result with an exception set") from inner

    monkeypatch.setattr("gim.cli.agents.run", interrupted)
    assert main(["agents"]) == 130
    assert capsys.readouterr().err == "gim: interrupted\n"


@pytest.mark.parametrize(
    "words",
    [
        ("new", "agent", "mine"),
        ("reproduce", "fig1", "--scale", "smoke"),
        ("compare", "riverswim", "--agents", "random", "--out", "kept"),
    ],
)
def test_the_current_folder_was_deleted(tmp_path, monkeypatch, capsys, words):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert said_by(capsys, *words) == (
        "gim: the current folder was deleted: change to one that exists"
    )


def test_a_run_is_not_lost_when_its_place_is_full_or_gone(tmp_path, monkeypatch, capsys):
    room = tmp_path / "room"
    room.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(room))
    path, save = tmp_path / "gone" / "run.npz", gim.runs.runs.Run.save

    def full(run, where):
        if where == path:
            with files.replacing(tmp_path / "run.npz"):
                raise OSError(28, "No space left on device")
        save(run, where)

    monkeypatch.setattr(gim.runs.runs.Run, "save", full)
    path.parent.mkdir()
    line = said_by(capsys, "train", "riverswim", "--agent", "random", "--episodes", "3",
                   "--save", str(path))  # fmt: skip
    (kept,) = room.glob("gim-*/run.npz")
    assert f"{tmp_path}/run.npz: No space left on device" in line
    assert line.endswith(f"; the run is in {kept} instead")
    assert gim.load(kept, "run").returns.size == 3
    assert [each.name for each in tmp_path.iterdir() if each.name.endswith(".tmp")] == []


@pytest.mark.parametrize("name", ["factored_rmax", "met_rmax"])
def test_no_table_of_parts_from_a_file_leads_outside_an_array(name):
    memory = prepare(agents.make(name), small_worlds()[1], 3, 0).memory
    flat = flatten(memory)
    for key in ("policy", *(key for key in flat if key.startswith("factors."))):
        if flat[key].dtype.kind == "i" and flat[key].size:
            for wrong in (-1, 2**60):
                with pytest.raises(ValueError, match=f"the saved memory has .*{key}"):
                    rebuild(memory, flat | {key: np.full_like(flat[key], wrong)})
