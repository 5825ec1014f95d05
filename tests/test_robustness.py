"""Short forms of what `make fuzz`, `make soak` and `make extremes` do at length."""

import numpy as np
import pytest

import gim
from gim._base.limits import STEPS, TRIALS, bounded_memory, check_trials
from gim.envs import tasks
from gim.runs.run import prepare
from tools.robustness import command_lines, extremes, fuzz, soak, whole_runs


def test_absurd_command_lines_are_answered_in_one_line():
    with command_lines.own_folder() as folder:
        rng = np.random.default_rng(5)
        for line in command_lines.inputs(
            rng, len(command_lines.HUGE) + len(command_lines.STUDIES) + 60, folder
        ):
            command_lines.answer(line, seconds=120)


def test_a_bug_says_how_to_report_it(monkeypatch, capsys):
    def broken(args):
        raise KeyError("nobody thought of this")

    monkeypatch.setattr("gim.cli.agents.run", broken)
    assert gim.cli.main(["agents"]) == 1
    err = capsys.readouterr().err
    assert "nobody thought of this" in err
    assert "please report it" in err.splitlines()[-1]


@pytest.mark.parametrize("entry", [name for name in fuzz.ENTRIES if name != "learned models"])
def test_an_entry_answers_or_refuses(entry):
    row = fuzz.row(entry, fuzz.ENTRIES[entry][0], 25, seed=1000)
    assert not row.finds
    assert row.answered + row.refused == 25


@pytest.mark.parametrize(("entry", "seed"), fuzz.FOUND)
def test_what_was_found_once_is_mended(entry, seed):
    with pytest.raises(fuzz.Refused):
        fuzz.one(fuzz.ENTRIES[entry][0], seed)


SAMPLE = ("agent q_learning", "agent psrl", "plan over the horizon", "plan, discounted", "diameter")


@pytest.mark.parametrize("thing", SAMPLE)
def test_extreme_worlds_are_right_or_refused(thing):
    made = extremes.things()[thing]
    for world, mdp in extremes.worlds().items():
        end = extremes.cell(made, mdp)
        assert not end.startswith("wrong"), (world, end)
        assert end == "right" or "1e" in world, (world, end)


def test_an_episode_of_2_to_the_31_steps():
    mdp = extremes.long()
    run = prepare(gim.QLearning(), mdp, 1, 0).pause_at(5000)
    assert run.steps == 5000
    with pytest.raises(ValueError, match="more memory than there is"):
        prepare(gim.UCBVI(), mdp, 1, 0)


def test_limits():
    check_trials(TRIALS)
    with pytest.raises(ValueError, match="1,000,001 trials"):
        check_trials(TRIALS + 1)
    with pytest.raises(ValueError, match="are the limit"):
        prepare(gim.QLearning(), gim.make("riverswim"), STEPS // 20 + 1, 0)
    with pytest.raises(ValueError, match="seed = "):
        gim.run("random", "riverswim", 1, seed=2**63)
    with bounded_memory(), pytest.raises(MemoryError):
        np.ones(2**45)


def test_memory_stays_flat():
    slices = list(soak.soak("q_learning", 4, 50_000))
    assert len(slices) == 4
    assert not soak.grown(slices)


def test_whole_runs_of_a_few_agents_on_worlds_of_every_kind(tmp_path):
    shares, ledger = {"analogist": 6, "q_learning": 40}, tmp_path / "runs.csv"
    ran = list(whole_runs.all_runs(shares, 502, ledger))
    assert [each for each in ran if each.why] == []
    assert sorted((each.agent, each.seed) for each in ran) == sorted(
        (agent, 502 + k) for agent, share in shares.items() for k in range(share)
    )


@pytest.mark.parametrize(("agent", "seed"), [("analogist", 30064)])  # of what failed once
def test_runs_that_failed_once(agent, seed):
    assert not whole_runs.one(agent, seed).why


def test_whole_runs_go_on_where_they_were_stopped(tmp_path, monkeypatch):
    ledger = tmp_path / "runs.csv"
    first = list(whole_runs.all_runs({"random": 3}, 0, ledger))
    ledger.write_text(ledger.read_text() + "random,3,riv")  # killed in the middle of a line
    played = []
    one = whole_runs.one
    monkeypatch.setattr(whole_runs, "one", lambda *which: played.append(which) or one(*which))
    again = list(whole_runs.all_runs({"random": 5}, 0, ledger))
    assert played == [("random", 3), ("random", 4)]
    assert again[:3] == first
    assert list(whole_runs.kept(ledger).values()) == again


def test_tasks_in_their_small_form():
    assert whole_runs.SMALL.keys() <= set(tasks.names())
    for name in tasks.names():
        assert whole_runs._task(name, 3, False).S <= 200


def test_a_run_that_fails_is_told_with_its_seed(monkeypatch):
    monkeypatch.setattr(whole_runs, "random_mdp", lambda rng: 1 / 0)
    ran = whole_runs.one("random", 0)
    assert ran[:3] == ("random", 0, "random")
    assert ran.why == "ZeroDivisionError: division by zero"
