"""The store: atomic, resumable, and wary of what it finds."""

import shutil
import warnings

import numpy as np
import pytest

import gim
from gim_lab import Store, Trial, execute, run_trial
from gim_lab.trials.execute import grid

TRIALS = grid(["riverswim"], ["q_learning", "random"], 30, range(3))


def played(trials, folder):
    """Run with a store; the results, and how many trials were really run."""
    steps = []
    results = execute(trials, folder, engine="serial", progress=steps.append)
    return results, sum(step.result is not None for step in steps)


def test_a_second_start_runs_nothing_twice(tmp_path):
    first, n = played(TRIALS[:4], tmp_path / "new" / "folder")
    assert n == 4
    second, n = played(TRIALS, tmp_path / "new" / "folder")
    assert n == 2
    assert second[:4].same_bits(first)
    third, n = played(TRIALS, tmp_path / "new" / "folder")
    assert n == 0
    assert third.same_bits(second)
    assert third.column("seconds_total").tolist() == second.column("seconds_total").tolist()


def test_stored_results_are_those_of_an_undisturbed_run(tmp_path):
    execute(TRIALS, tmp_path, engine="serial")
    for trial in TRIALS:
        stored = Store(tmp_path).get(trial)
        assert stored.bits() == run_trial(trial).bits()


def test_a_changed_parameter_is_a_new_trial(tmp_path):
    played([Trial("riverswim", "q_learning", 30, 0)], tmp_path)
    for changed in (
        Trial("riverswim", "q_learning:alpha=0.2", 30, 0),
        Trial("riverswim:length=7", "q_learning", 30, 0),
        Trial("riverswim", "q_learning", 31, 0),
        Trial("riverswim", "q_learning", 30, 1),
    ):
        assert Store(tmp_path).get(changed) is None
    assert Store(tmp_path).get(Trial("riverswim:length=6", "q_learning:alpha=0.1", 30, 0))


def flip(path):
    data = bytearray(path.read_bytes())
    data[data.rindex(b"\x93NUMPY") + 140] ^= 1  # in an array: a date of the zip would not matter
    path.write_bytes(data)


DAMAGE = {
    "truncated": lambda path, other: path.write_bytes(path.read_bytes()[:-100]),
    "empty": lambda path, other: path.write_bytes(b""),
    "a flipped bit": lambda path, other: flip(path),
    "another trial": lambda path, other: shutil.copy(other, path),
    "another kind": lambda path, other: gim.make("riverswim").save(path),
    "no gim file": lambda path, other: path.write_text("hello"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_file_that_cannot_be_trusted_is_reported_and_made_again(tmp_path, damage):
    before, _ = played(TRIALS, tmp_path)
    store = Store(tmp_path)
    path, other = store.path(TRIALS[0]), store.path(TRIALS[1])
    DAMAGE[damage](path, other)
    with pytest.warns(UserWarning, match=f"{path.name}.*riverswim/q_learning/30/0 is run again"):
        after, n = played(TRIALS, tmp_path)
    assert n == 1
    assert after.same_bits(before)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert played(TRIALS, tmp_path)[1] == 0


def test_all_that_is_stored_as_one_table(tmp_path):
    results, _ = played(TRIALS, tmp_path)
    table = Store(tmp_path).results()
    assert sorted(table.column("id")) == sorted(results.column("id"))
    Store(tmp_path).path(TRIALS[0]).write_text("hello")
    with pytest.warns(UserWarning, match="left out"):
        assert len(Store(tmp_path).results()) == len(TRIALS) - 1


def test_a_moved_mdp_is_found_again_under_its_new_name(tmp_path):
    gim.make("riverswim").save(tmp_path / "a.npz")
    first, _ = played([Trial(str(tmp_path / "a.npz"), "random", 9, 0)], tmp_path / "out")
    shutil.copy(tmp_path / "a.npz", tmp_path / "b.npz")
    trials = [Trial(str(tmp_path / f"{x}.npz"), "random", 9, 0) for x in "ab"]
    both, n = played(trials, tmp_path / "out")
    assert n == 0
    assert both.column("task").tolist() == [trial.task for trial in trials]
    assert both.column("score").tolist() == [first.column("score")[0]] * 2


def test_a_file_that_lacks_a_column_is_not_used(tmp_path):
    trial = TRIALS[0]
    result = run_trial(trial)
    del result.columns["score"]
    Store(tmp_path).put(trial, result)
    with pytest.warns(UserWarning, match="lacks the column score"):
        assert Store(tmp_path).get(trial) is None


WRONG = {
    "a word for a number": lambda r: r.columns.update(score="high"),
    "a list for a number": lambda r: r.columns.update(steps=[1, 2]),
    "a number for a word": lambda r: r.columns.update(notes=3.0),
    "another seed": lambda r: r.columns.update(seed=7),
    "episodes without end": lambda r: r.columns.update(episodes=10**9),
    "a curve cut short": lambda r: r.curves.update({"return": r.curves["return"][:-1]}),
    "a curve of words": lambda r: r.curves.update({"return": np.full(30, "x")}),
    "a square curve": lambda r: r.curves.update(cumulative=np.zeros((30, 30))),
    "other episodes": lambda r: r.curves.update(episode=np.arange(30)),
    "no curve": lambda r: r.curves.clear(),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_contents_that_no_trial_gives_are_not_used(tmp_path, wrong):
    """A valid checksum does not make them true."""
    result = run_trial(TRIALS[0])
    WRONG[wrong](result)
    Store(tmp_path).put(TRIALS[0], result)
    with pytest.warns(UserWarning, match=r"(in the column|has no curve|a curve of) .*run again"):
        assert Store(tmp_path).get(TRIALS[0]) is None


def test_half_written_files_are_not_seen(tmp_path):
    played(TRIALS, tmp_path)
    (tmp_path / "trials" / ".abc.npz.0123.tmp").write_bytes(b"half")
    assert len(Store(tmp_path).results()) == len(TRIALS)


def test_an_empty_or_missing_folder_is_an_empty_table(tmp_path):
    assert len(Store(tmp_path / "none").results()) == 0


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="is a file"):
        Store(tmp_path / "file")
