"""What would take for ever says so, and what can go in leaps does."""

import numpy as np
import pytest
from scipy import sparse

import gim
from gim.cli import learn as command
from gim.cli import main
from gim.planning.checks import check_work
from gim.planning.evaluation import solve_chain


def test_a_chain_too_wide_to_be_factorised():
    """20,000 states with two random successors each: a factorisation would fill the memory."""
    rng = np.random.default_rng(1)
    S = 20_000
    row = np.repeat(np.arange(S), 2)
    P = sparse.csr_array((np.full(2 * S, 0.5), (row, rng.integers(0, S, 2 * S))), shape=(S, S))
    r = rng.random(S)
    v = solve_chain(P, r, 0.9, 1e-9)
    assert np.abs(r + 0.9 * (P @ v) - v).max() < 1e-8


@pytest.mark.parametrize(
    "ask",
    [
        lambda world: world.with_(horizon=10**12).optimal_return(),
        lambda world: world.with_(horizon=10**12).random_return(),
        lambda world: world.plan(horizon=10**10, method="backward_induction"),
    ],
)
def test_planning_that_would_not_end(ask):
    with pytest.raises(ValueError, match=r"would take some|more than there is"):
        ask(gim.make("riverswim"))


def test_what_takes_long_is_said_beforehand():
    with pytest.warns(UserWarning, match=r"1,000,000,000 steps take some 0\.5 minutes"):
        check_work(10**9, 20)


def test_a_run_of_which_nothing_could_be_said_is_refused_before(capsys):
    assert main(["train", "riverswim", "--episodes", "1", "--horizon", "1e11"]) == 2
    assert "would take some" in capsys.readouterr().err


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "log.csv"
    rows = [f"{i % 3},{i % 2},{i % 5},{(i + i % 2) % 3}" for i in range(60)]
    path.write_text("\n".join(["s,a,r,s2", *rows]))
    return str(path)


def test_a_forecast_comes_before_a_long_horizon(log, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "SOON", 0.1)
    words = ["learn", log, "--next", "s2", "--out", str(tmp_path / "o"), "--horizon", "400"]
    assert main(words) == 0
    assert "gim: note: looking 400 steps ahead takes some 0:00" in capsys.readouterr().err
    monkeypatch.setattr(command, "SOON", 0.0)
    assert main([*words[:-2], "--discount", "0.9"]) == 0
    assert " worlds of 3 states takes some" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--bins", "s=inf"], "give COLUMN=NUMBER"),
        (["--bins", "s=2.5"], "2.5 is no number of bins"),
        (["--step", ""], "step = '': give the name of a column"),
        (["--reward", ""], "reward = '': give the name of a column"),
        (["--horizon", "1e12"], "too many to plan"),
    ],
)
def test_odd_options_of_learn(log, words, said, capsys):
    assert main(["learn", log, "--out", "o", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", ["s", "a", "r", "s2", "e", "k", "d"])
@pytest.mark.parametrize("kind", ["list", "map", "struct"])
def test_parquet_columns_of_lists_and_maps(tmp_path, name, kind, capsys):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    n = 12
    columns = {
        "s": pa.array([i % 3 for i in range(n)]),
        "a": pa.array([i % 2 for i in range(n)]),
        "r": pa.array([1.0] * n),
        "s2": pa.array([(i + 1) % 3 for i in range(n)]),
        "e": pa.array([0] * n),
        "k": pa.array(list(range(n))),
        "d": pa.array([False] * n),
    }
    columns[name] = {
        "list": pa.array([[1, 2]] * n),
        "map": pa.array([[("a", 1)]] * n, pa.map_(pa.string(), pa.int64())),
        "struct": pa.array([{"a": 1}] * n),
    }[kind]
    parquet.write_table(pa.table(columns), path := tmp_path / "log.parquet")
    options = ["--next", "s2", "--episode", "e", "--step", "k", "--done", "d"]
    assert main(["learn", str(path), "--out", str(tmp_path / "o"), *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"'{name}'" in line
