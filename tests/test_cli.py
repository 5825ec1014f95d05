"""The command `gim`: what it prints, what it refuses, and that it never shows a traceback."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import gim
from gim._base import files
from gim.cli import command, doctor, main
from gim.envs import tasks
from gim.envs.worlds import world_of
from tests.faults import PATIENCE

SHORT = ("--episodes", "50")


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def shows(capsys):
    """Run the command, expect success, return its output."""

    def call(*words: str) -> str:
        status = main(words)
        out, err = capsys.readouterr()
        assert status == 0, err
        return out

    return call


# -- help and lists


def test_alone_it_is_friendly(shows) -> None:
    out = shows()
    first = re.search(r"^  gim (train .*?)   ", out, re.M)
    assert first is not None
    assert "score" in shows(*first[1].split(), *SHORT)  # the first command worth typing works


def test_version_and_help(shows) -> None:
    assert shows("--version") == f"gim {gim.__version__}\n"
    out = shows("--help")
    assert all(name in out for name in ("train", "envs", "agents"))
    assert "--resume" in shows("train", "--help")


@pytest.mark.parametrize("name", ["envs", "agents"])
def test_lists_show_every_parameter(shows, name: str) -> None:
    from gim._base.params import describe
    from gim.runs.agent import agents

    registry = tasks if name == "envs" else agents
    out = shows(name)
    for thing in registry.names():
        assert re.search(rf"^{thing}$", out, re.M)
        alone = shows(name, thing)
        for parameter in describe(registry[thing]):
            assert re.search(rf"^ +{parameter.name}=.*{re.escape(parameter.help)}", alone, re.M)


def test_defaults_and_limits_are_listed(shows) -> None:
    out = shows("envs", "riverswim")
    assert re.search(r"length=6 +2\.\. +states of the river", out)
    assert "Strehl" in out  # in full, with the source
    out = shows("agents", "q_learning")
    assert re.search(r"alpha=0\.1 +0\.\.1 +step size", out)


# -- training


def test_train_shows_figures_curve_and_policy(shows) -> None:
    out = shows("train", "riverswim:length=5", "--agent", "q_learning:alpha=0.2", *SHORT)
    run = gim.run("q_learning:alpha=0.2", "riverswim:length=5", episodes=50)
    figures = dict(re.findall(r"^(\w[\w ]*?)  +(.*)$", out, re.M))
    assert figures["world"] == "riverswim:length=5 (S=5, A=2, H=20)"
    assert figures["agent"] == "q_learning:alpha=0.2"
    assert figures["episodes"] == "50"
    score, told = figures["score"].split(" (")
    assert float(score) == pytest.approx(run.score, abs=1e-4)
    assert told.startswith("mean return over the optimum; ")
    assert float(figures["mean return"].replace(",", "")) == pytest.approx(run.returns.mean(), 1e-3)
    assert float(figures["optimum"].replace(",", "")) == pytest.approx(
        run.mdp.optimal_return(), 1e-3
    )
    assert "1,000 at" in figures["steps"]
    assert re.search(r"return by episode  [▁▂▃▄▅▆▇█]+  ", out)
    assert run.best_policy().table() in out


def test_where_chance_loses_the_score_begins_with_the_way_from_there(shows) -> None:
    out = shows("train", "casinoland", "--agent", "q_learning", *SHORT)
    way = r"^score  +-?[\d.e+-]+ % of the way from the random policy to the optimum "
    assert re.search(way + r"\(mean return over the optimum: -?[\d.]+\)$", out, re.M)


def test_train_tells_the_best_policy_from_the_one_in_force(shows) -> None:
    words = ("FrozenLake-v1", "--agent", "psrl", "--episodes", "100", "--seed", "2")
    out = shows("train", *words)
    run = gim.run("psrl", "FrozenLake-v1", episodes=100, seed=2)
    best, force = run.mdp.policy_return(run.best_policy()), run.mdp.policy_return(run.policy)
    assert best > force + 0.01
    for name, value in (("best policy", best), ("policy in force", force)):
        shown = re.search(rf"^{name} +([\d.]+) \(exact; what", out, re.M)
        assert float(shown[1]) == pytest.approx(value, rel=1e-4)
    assert "best policy: what to deploy\n" in out
    several = shows("train", *words, "--seeds", "2")
    shown = re.search(r"^ *2 +[\d.]+ +[\d.]+ +[\d.]+ +([\d.]+) ", several, re.M)
    assert "best policy" in several
    assert float(shown[1]) == pytest.approx(best, rel=1e-4)


def test_the_policy_of_a_large_world_is_not_shown(shows) -> None:
    assert "best policy: what to deploy\n" in shows("train", "riverswim:length=30", *SHORT)
    out = shows("train", "riverswim:length=31", *SHORT)
    assert "best policy: 31 states, too many to show; --save-policy" in out


@pytest.mark.parametrize("ending", ["csv", "json", "npz"])
def test_the_best_policy_is_saved(shows, ending: str) -> None:
    name = f"best policy.{ending}"
    assert f"best policy saved to {name}" in shows(
        "train", "riverswim", *SHORT, "--save-policy", name, "--save", "run.npz"
    )
    best = gim.load("run.npz").best_policy()
    np.testing.assert_array_equal(np.asarray(gim.load(name)), np.asarray(best))
    assert gim.load(name, "policy")(5) == best(5) == "right"
    shows("train", "--resume", "run.npz", "--save-policy", f"again.{ending}")
    assert Path(f"again.{ending}").read_bytes() == Path(name).read_bytes()


def test_the_loop_of_the_page_plays_what_was_saved(shows) -> None:
    shows("train", "FrozenLake-v1", "--episodes", "300", "--save-policy", "lake.csv")
    page = (Path(__file__).parent.parent / "docs" / "command.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", page, re.S)
    space: dict[str, object] = {}
    exec(block, space)
    assert space["terminated"] or space["truncated"]


def test_an_agent_that_cannot_say_its_policy(shows, refuses, capsys, monkeypatch) -> None:
    """An agent of the user's own may have neither model nor policy: the run is not lost."""
    monkeypatch.setattr("gim.agents.random.Random.policy", lambda self, memory: None)
    words = ("train", "riverswim", *SHORT, "--agent", "random")
    assert "best policy" not in shows(*words)
    assert main([*words, "--save", "run.npz", "--save-policy", "p.csv"]) == 2
    out, err = capsys.readouterr()
    assert "score" in out
    assert "no policy was written to p.csv: Random has neither a model nor a policy" in err
    assert gim.load("run.npz").finished
    assert not Path("p.csv").exists()


def test_one_seed_gives_the_same_run_again(shows) -> None:
    def without_time(*words: str) -> str:
        out = shows("train", "riverswim", *SHORT, *words)
        return re.sub(r"^(steps|time) .*$", "", out, flags=re.M)

    assert without_time("--seed", "7") == without_time("--seed", "7")
    assert without_time("--seed", "7") != without_time("--seed", "8")


def test_several_seeds(shows) -> None:
    out = shows("train", "riverswim", *SHORT, "--seed", "3", "--seeds", "3")
    runs = gim.run("analogist", "riverswim", episodes=50, seeds=range(3, 6))
    lines = re.findall(r"^ *(\d+|mean) +([\d.]+) ", out, re.M)
    assert [name for name, _ in lines] == ["3", "4", "5", "mean"]
    assert [float(score) for _, score in lines] == pytest.approx(
        [*runs.scores, runs.score], abs=1e-4
    )


def test_numbers_may_be_written_short(shows) -> None:
    assert re.search(r"^episodes +1,000$", shows("train", "riverswim", "--episodes", "1e3"), re.M)


def test_save_and_load(shows) -> None:
    out = shows("train", "riverswim", *SHORT, "--save", "a run.npz")
    assert "run saved to a run.npz" in out
    run = gim.load("a run.npz")
    np.testing.assert_array_equal(
        run.returns, gim.run("analogist", "riverswim", episodes=50).returns
    )


def test_a_saved_mdp_is_a_world(shows) -> None:
    gim.make("riverswim", length=4).save("my.npz")
    assert "S=4" in shows("train", "my.npz", *SHORT)
    assert "H=7" in shows("train", "my.npz", *SHORT, "--horizon", "7")


def test_gymnasium_ids_are_worlds(shows) -> None:
    out = shows("train", "FrozenLake-v1:map_name=8x8,is_slippery=false", *SHORT)
    assert "FrozenLake-v1:map_name=8x8,is_slippery=false (S=64, A=4" in out
    assert "H=30" in shows("train", "CliffWalking-v1", *SHORT, "--horizon", "30")
    assert "H=30" in shows("train", "CliffWalking-v1:max_episode_steps=30", *SHORT)


class Switch(gymnasium.Env):
    """Two states without a table: it can only be stepped through."""

    observation_space = gymnasium.spaces.Discrete(2)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = int(self.np_random.integers(2))
        return self.state, {}

    def step(self, action):
        reward = float(action == self.state)
        self.state = int(self.np_random.integers(2))
        return self.state, reward, False, False, {}


@pytest.fixture
def switch():
    gymnasium.register("Switch-v0", Switch, max_episode_steps=10)
    yield "Switch-v0"
    del gymnasium.registry["Switch-v0"]


def test_an_environment_without_a_table_is_stepped_through(shows, switch: str) -> None:
    out = shows("train", switch, *SHORT, "--save", "switch.npz")
    assert "Switch-v0 (S=2, A=2, H=10)" in out
    assert "optimum" not in out  # no one knows it
    assert gim.load("switch.npz").returns.size == 50
    assert "score" not in shows("train", switch, *SHORT, "--seeds", "2")


def test_progress_goes_to_a_terminal_only(capsys) -> None:
    assert main(["train", "riverswim", *SHORT]) == 0
    assert capsys.readouterr().err == ""


# -- pausing and going on


def paused_after(monkeypatch, episodes: int, size: int = 64) -> None:
    """Ctrl-C as soon as so many episodes are over."""
    from gim.runs import runs

    monkeypatch.setattr(runs, "REPORT", 0.0)
    monkeypatch.setattr(runs, "SLICE", 0.0)
    plain = runs.Run._report

    def report(self, seconds):
        if self.returns.size >= episodes:
            signal.raise_signal(signal.SIGINT)
        return plain(self, seconds)

    monkeypatch.setattr(runs.Run, "_report", report)


def test_ctrl_c_saves_and_says_how_to_go_on(capsys, monkeypatch) -> None:
    whole = gim.run("analogist", "riverswim", episodes=5000, seed=4)
    with monkeypatch.context() as patch:
        paused_after(patch, 500)
        words = ["train", "riverswim", "--episodes", "5000", "--seed", "4", "--save", "a b.npz"]
        assert main(words) == 75
    out, err = capsys.readouterr()
    command_line = "gim train --resume 'a b.npz'"
    assert command_line in err
    assert "of 5,000" in out
    paused = gim.load("a b.npz")
    assert 500 <= paused.returns.size < 5000
    assert not paused.finished
    assert main(["train", "--resume", "a b.npz"]) == 0
    done = gim.load("a b.npz")
    assert done.finished
    np.testing.assert_array_equal(done.returns, whole.returns)
    capsys.readouterr()
    assert main(["train", "--resume", "a b.npz"]) == 0  # over already: shown again
    assert "episodes" in capsys.readouterr().out


def test_ctrl_c_without_a_file(capsys, monkeypatch) -> None:
    paused_after(monkeypatch, 100)
    assert main(["train", "riverswim", "--episodes", "100000"]) == 130
    assert "--save FILE" in capsys.readouterr().err
    assert main(["train", "riverswim", "--episodes", "100000", "--seeds", "3"]) == 130
    assert "interrupted after 0 of 3 runs" in capsys.readouterr().err
    assert list(Path().iterdir()) == []


def test_resume_into_another_file(shows, monkeypatch, capsys) -> None:
    with monkeypatch.context() as patch:
        paused_after(patch, 100)
        assert main(["train", "riverswim", "--episodes", "3000", "--save", "a.npz"]) == 75
    before = Path("a.npz").read_bytes()
    capsys.readouterr()
    shows("train", "--resume", "a.npz", "--save", "b.npz")
    assert Path("a.npz").read_bytes() == before
    assert gim.load("b.npz").finished


# -- bad input


@pytest.mark.parametrize(
    ("words", "because"),
    [
        (["trian"], "unknown command 'trian': did you mean 'train'"),
        (["--nonsense"], "nonsense|COMMAND"),
        (["train"], "a world is missing.*gim train riverswim"),
        (["train", "riverswim", "casinoland"], "unrecognized arguments: casinoland"),
        (["train", "riverswim", "--episode", "3"], "--episode 3: did you mean '--episodes'"),
        (["train", "riverswim", "--zzz"], "unrecognized arguments: --zzz .see gim train --help"),
        (["train", "riverswin"], "unknown world 'riverswin': did you mean 'riverswim'"),
        (["train", "xyzzy"], "choose from .*riverswim.*my.npz.*Taxi"),
        (["train", ""], "does not start with a name"),
        (["train", "riverswim:"], "key=value"),
        (["train", "riverswim:length"], "key=value"),
        (["train", "riverswim:lenght=3"], "no parameter 'lenght': did you mean 'length'"),
        (["train", "riverswim:length=1"], "length = 1: must be at least 2"),
        (["train", "riverswim:length=long"], "length = 'long': must be a whole number"),
        (["train", "riverswim:length=3,length=4"], "twice"),
        (["train", "riverswim:length=[3"], "brackets"),
        (["train", "riverswim", "--agent", "q_lerning"], "did you mean 'q_learning'"),
        (["train", "riverswim", "--agent", "q_learning:alfa=1"], "no parameter 'alfa'"),
        (["train", "riverswim", "--agent", "q_learning:alpha=2"], "alpha = 2.*at most 1"),
        (["train", "riverswim", "--agent", "q_learning:alpha=nan"], "alpha = nan.*NaN"),
        (["train", "riverswim", "--agent", ""], "does not start with a name"),
        (["train", "riverswim", "--episodes", "-5"], "episodes = -5.*1 or more"),
        (["train", "riverswim", "--episodes", "0"], "episodes = 0"),
        (["train", "riverswim", "--episodes", "many"], "--episodes: 'many' is no whole"),
        (["train", "riverswim", "--episodes", "2.5"], "--episodes: '2.5' is no whole"),
        (["train", "riverswim", "--episodes", "inf"], "--episodes: 'inf' is no whole"),
        (["train", "riverswim", "--episodes"], "--episodes: expected one argument"),
        (["train", "riverswim", "--seed", "-1"], "seed = -1"),
        (["train", "riverswim", "--seeds", "0"], "--seeds 0"),
        (["train", "riverswim", "--horizon", "0"], "horizon = 0"),
        (["train", "missing.npz"], "missing.npz does not exist"),
        (["train", "."], "unknown world '.'"),
        (["train", "Taxi-v99"], "unknown world 'Taxi-v99': did you mean 'Taxi"),
        (["train", "FrozenLake-v1:colour=red"], "cannot make FrozenLake-v1.*colour"),
        (["train", "FrozenLake-v1:map_name=9x9"], "cannot make FrozenLake-v1"),
        (["train", "CliffWalking-v1"], "no time limit.*max_episode_steps=100"),
        (["train", "CartPole-v1"], "observation_space.*Discrete"),
        (["train", "Blackjack-v1"], "observation_space|time limit"),
        (["train", "riverswim", "--save", "missing/a.npz"], "make the folder missing first"),
        (["train", "riverswim", "--save", "."], "is a folder"),
        (["train", "riverswim", "--save", "a.npz", "--seeds", "2"], "leave --seeds out"),
        (["train", "riverswim", "--save-policy", "p.txt"], "must end in .csv, .json, .npz"),
        (["train", "riverswim", "--save-policy", "missing/p.csv"], "make the folder missing first"),
        (["train", "riverswim", "--save-policy", "p.csv", "--seeds", "2"], "leave --seeds out"),
        (["train", "riverswim", "--save", "a.npz", "--save-policy", "a.npz"], "another name"),
        (["train", "--resume", "missing.npz"], "missing.npz does not exist"),
        (["train", "riverswim", "--resume", "a.npz"], "leave WORLD out"),
        (["train", "--resume", "a.npz", "--episodes", "9"], "leave --episodes out"),
        (["envs", "riverswin"], "did you mean 'riverswim'"),
        (["agents", "q"], "unknown agent 'q'"),
    ],
)
def test_bad_words(refuses, words: list[str], because: str) -> None:
    refuses(*words, because=because)


def test_a_bad_place_is_refused_before_the_run(refuses, monkeypatch) -> None:
    monkeypatch.setattr("gim.runs.runs.Run.go", lambda *a, **k: pytest.fail("the run has begun"))
    refuses("train", "riverswim", "--save", "missing/a.npz", because="make the folder")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write anything")
def test_no_permission(refuses, tmp_path: Path) -> None:
    Path("locked.npz").write_bytes(b"x")
    Path("locked.npz").chmod(0)
    refuses("train", "locked.npz", because="locked.npz: Permission denied")
    tmp_path.chmod(0o500)
    refuses("train", "riverswim", "--save", "a.npz", because="not writable")
    tmp_path.chmod(0o700)


def test_files_that_are_no_worlds(refuses, shows) -> None:
    Path("text.npz").write_text("hello")
    refuses("train", "text.npz", because="text.npz is not a gim file")
    Path("plain").write_text("hello")
    refuses("train", "plain", because="plain is not a gim file")
    np.savez("foreign.npz", P=np.ones(3))
    refuses("train", "foreign.npz", because=r"foreign.npz is a zip without gim\.json")
    shows("train", "riverswim", *SHORT, "--save", "run.npz", "--save-policy", "p.csv")
    refuses("train", "run.npz", because="run.npz holds a 'run', not a 'mdp'")
    refuses("train", "p.csv", because="p.csv holds a 'policy', not a 'mdp'")
    refuses("train", "--resume", "p.csv", because="p.csv holds a 'policy', not a 'run'")
    gim.make("riverswim").save("mdp.npz")
    refuses("train", "--resume", "mdp.npz", because="mdp.npz holds a 'mdp', not a 'run'")
    for name in ("run.npz", "mdp.npz"):
        Path("cut.npz").write_bytes(Path(name).read_bytes()[:-100])
        words = ["train", "--resume", "cut.npz"] if name == "run.npz" else ["train", "cut.npz"]
        refuses(*words, because="cut.npz is truncated or damaged")


def test_a_file_with_a_valid_checksum_and_an_invalid_mdp(refuses) -> None:
    arrays, meta = gim.make("riverswim").pack()
    files.save("half.npz", "mdp", arrays | {"transitions": arrays["transitions"] / 2}, meta)
    refuses("train", "half.npz", because=r"half.npz: P\[0, 0\] sums to 0.5")
    files.save("lacks.npz", "mdp", {"start": arrays["start"]}, meta)
    refuses("train", "lacks.npz", because="lacks.npz does not hold a whole mdp")
    files.save("other.npz", "poem", {}, {})
    refuses("train", "other.npz", because="holds a 'poem'")


def test_a_warning_is_one_line(capsys, monkeypatch) -> None:
    import warnings

    def warn(args):
        warnings.warn("\x1b[33mbeware\nof this\x1b[0m", stacklevel=1)
        return 0

    monkeypatch.setattr("gim.cli.envs.run", warn)
    assert main(["envs"]) == 0
    assert capsys.readouterr().err == "gim: note: beware of this\n"


# -- as a process


def gim_process(*words: str, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "gim", *words],
        **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options),
        text=True,
        encoding="utf-8",
    )


@pytest.mark.processes
def test_as_a_process(tmp_path: Path) -> None:
    process = gim_process("train", "riverswin")
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (2, "")
    assert err == "gim: unknown world 'riverswin': did you mean 'riverswim'?\n"


@pytest.mark.processes
def test_ctrl_c_in_a_terminal(tmp_path: Path) -> None:
    """A process on a pseudo-terminal: the bar moves, Ctrl-C stops it at once and saves."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    words = ["train", "riverswim:horizon=1000", "--agent", "q_learning", "--episodes", "1e7"]
    process = gim_process(*words, "--save", "a.npz", stderr=theirs)
    os.close(theirs)
    seen = ""
    while " left" not in seen:  # the bar of a run that is under way
        seen += os.read(ours, 1000).decode(errors="replace")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    seen += os.read(ours, 10_000).decode(errors="replace")
    os.close(ours)
    assert re.search(r"training █? *.* 0%  .* left", seen)
    assert process.returncode == 75
    assert "gim train --resume a.npz" in seen
    assert "of 10,000,000" in out


def test_commands_are_found(monkeypatch) -> None:
    assert set(command.commands()) >= {"agents", "envs", "train"}
    assert list(command.commands("train")) == ["train"]
    assert command.commands("trane") == command.commands("summary") == {}


def test_the_page_lists_every_command() -> None:
    page = (Path(__file__).parent.parent / "docs" / "command.md").read_text()
    first = page.split("```")[1]
    assert set(re.findall(r"^gim (\w+)", first, re.M)) == set(command.commands())


def test_a_command_imports_nothing_of_the_others() -> None:
    code = (
        "import sys; from gim.cli import main; main(['agents']); "
        "sys.exit(any(name in sys.modules for name in ('gim.plot', 'scipy.stats', 'matplotlib')))"
    )
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE).returncode == 0


# -- worlds in code


def test_what_is_built_is_passed_on() -> None:
    mdp, env = gim.make("riverswim"), Switch()
    assert world_of(mdp) is mdp
    assert world_of(env) is env
    assert world_of(mdp, horizon=3).horizon == 3
    mdp.save("my.npz")
    assert world_of(Path("my.npz")).S == mdp.S


MODULE = """
import gymnasium

class Walk(gymnasium.Env):
    observation_space = gymnasium.spaces.MultiDiscrete([3, 3])
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, size=3, **options):
        self.observation_space = gymnasium.spaces.MultiDiscrete([size, size])

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.nvec * 0, {}

    def step(self, action):
        return self.observation_space.nvec * 0 + action, float(action), False, False, {}

gymnasium.register("my/Walk-v0", Walk, max_episode_steps=6)
"""


def test_a_module_is_imported_where_a_person_says_so(shows, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("my_walks.py").write_text(MODULE)
    Path("broken.py").write_text("1 / 0")
    with pytest.raises(ValueError, match="would import my_walks, which is not done from a file"):
        world_of("my_walks:my/Walk-v0")
    assert "my_walks" not in sys.modules
    out = shows("train", "my_walks:my/Walk-v0", "--episodes", "30")
    assert "analogist" in out
    run = gim.run("q_learning", "my_walks:my/Walk-v0:size=5", episodes=200)
    assert (run.task.S, run.task.H) == (25, 6)
    assert run.returns[-50:].mean() > 5
    for word, message in (
        ("broken:Walk-v0", "cannot import broken.*division by zero"),
        ("no_such_thing:Walk-v0", "cannot import no_such_thing.*No module named"),
        ("my_walks:Walk-v7", "my_walks has no world 'Walk-v7'"),
        ("riverswim:length", "cannot read 'length'"),
        ("FrozenLake-v1:map", "cannot read 'map'"),
    ):
        with pytest.raises(ValueError, match=message):
            gim.run("random", word, episodes=3)
    run.save("run.npz")
    assert gim.load("run.npz").finished
    gymnasium.registry.pop("my/Walk-v0")
    with pytest.raises(ValueError, match="'my/Walk-v0' is not registered: import it first"):
        gim.load("run.npz")


def test_doctor_says_what_is_there_and_what_is_missing(capsys, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert main(["doctor"]) == 0
    told = capsys.readouterr().out
    for text in (
        "python",
        "numba",
        "processors",
        "GiB",
        "compile cache",
        "extra lab",
        "all is well",
    ):
        assert text in told
    assert re.search(r"note +compile cache +empty", told)
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    monkeypatch.setattr(doctor, "_writable", lambda folder: folder == tmp_path)
    assert main(["doctor"]) == 1
    told = capsys.readouterr().out
    assert 'pip install "gim[ray]"' in told
    assert re.search(r"bad +temporary +.* cannot be written", told)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_commands_options_and_names(shell, capsys) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("reproduce", "casinoland", "q_learning", "fig12to14", "analogist"):
        assert word in script
    assert ("-l episodes" if shell == "fish" else "--episodes") in script


def test_completion_in_bash(capsys) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash on this machine: its completion was not tried")
    assert main(["completion", "bash"]) == 0
    Path("gim.sh").write_text(capsys.readouterr().out)

    def completed(*words: str) -> set[str]:
        ask = f"source gim.sh; COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; _gim"
        answer = f'{ask}; printf "%s\\n" "${{COMPREPLY[@]}}"'
        done = subprocess.run([bash, "-c", answer], capture_output=True, text=True, check=True)
        return set(done.stdout.split())

    assert completed("gim", "tr") == {"train"}
    assert completed("gim", "train", "river") == {"riverswim"}
    assert completed("gim", "train", "riverswim", "--ep") == {"--episodes"}
    assert {"psrl"} == completed("gim", "train", "riverswim", "--agent", "ps")
