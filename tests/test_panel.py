"""The panel: what it plays, keeps and makes of its runs."""

from __future__ import annotations

import json
from math import isnan, nan

import numpy as np
import pytest

import gim
from benchmarks import cases
from benchmarks.panel import __main__ as command
from benchmarks.panel import figures, pages, session, store, tree, worlds
from benchmarks.panel.play import FAILED, Bounds, Played, begun, bounds_of, play, play_until


def made_up(world="a", seed=0, returns=(4.0, 6.0), bounds=(), deployed=(2.0, 4.0, 6.0, 6.0)):
    """A run in a world whose random policy earns 2 and whose best one earns 6."""
    return Played(world, seed, 2.0, 6.0, 1.5, returns, deployed, bounds)


def of(*runs):
    return {(run.world, run.seed): run for run in runs}


# -- from runs to figures


def test_shares_are_of_the_way_from_random_to_optimal():
    assert figures.earned(made_up(returns=(2.0, 4.0, 6.0))) == 0.5
    assert figures.deployed(made_up()).tolist() == [0.0, 0.5, 1.0, 1.0]


def test_a_certificate_holds_for_its_policy_and_for_the_optimum():
    bounds = (
        Bounds(4.0, 3.0, 7.0, 3.0, 5.0),  # both hold, and so do those of the policy alone
        Bounds(4.0, 4.5, 7.0, 3.0, 3.5),  # the policy earns less than it says, and more
        Bounds(6.0, 2.0, 5.0, nan, nan),  # the optimum is above; nothing is said of the policy
    )
    found = figures.certified(made_up(bounds=bounds))
    assert found.held.tolist() == [1, 0, 0]
    assert found.width.tolist() == [1.0, 0.625, 0.75]
    assert found.own_held[:2].tolist() == [1, 0]
    assert isnan(found.own_held[2])
    assert found.own_width[:2].tolist() == [0.5, 0.125]
    above = figures.certified(made_up(bounds=(Bounds(4.0, 3.0, 7.0, 4.5, 5.0),) * 3))
    assert above.held.tolist() == [1, 1, 1]
    assert above.own_held.tolist() == [0, 0, 0]


def test_a_certificate_that_was_an_error_has_not_held():
    run = made_up(bounds=(Bounds(4.0, 3.0, 7.0, 3.0, 5.0), FAILED, FAILED))
    found = figures.certified(run)
    assert found.held.tolist() == found.own_held.tolist() == [1, 0, 0]
    told = pages.page(of(run), {})
    assert "errors instead of certificates: a 0 after 30, a 0 after 100" in told
    assert "errors" not in pages.page(of(made_up()), {})


def test_an_error_ends_no_run(monkeypatch, capsys):
    def certify(run, share):
        if run.returns.size == 10:
            raise ValueError("no luck")
        return gim_certify(run, share)

    gim_certify = gim.certify
    monkeypatch.setattr(gim, "certify", certify)
    found = play("unrelated", "psrl", seed=3, episodes=30)
    assert [bounds.failed for bounds in found.bounds] == [True, False]
    said = capsys.readouterr().err
    assert said == "unrelated 3, certified after 10 episodes: ValueError('no luck')\n"


def test_a_bound_may_be_off_by_rounding_alone():
    exact = (Bounds(6.0, 6.0 + 1e-12, 6.0 - 1e-12, 6.0, 6.0),) * 3
    assert figures.certified(made_up(bounds=exact)).held.all()
    off = (Bounds(6.0, 6.0 + 1e-6, 7.0, 6.0, 6.0),) * 3
    assert not figures.certified(made_up(bounds=off)).held.any()


def test_a_world_is_lost_two_standard_errors_below():
    mean = figures.mean_of([-0.1, -0.2, -0.3])
    assert mean.mean == pytest.approx(-0.2)
    assert mean.error == pytest.approx(0.1 / 3**0.5)
    assert figures.verdict(mean) == "LOST"
    assert figures.verdict(figures.Mean(-0.1, 0.05)) == "more seeds"
    assert figures.verdict(figures.Mean(-0.03, 0.004)) == "LOST"
    assert figures.verdict(figures.Mean(-0.009, 0.0)) == ""
    assert figures.verdict(figures.mean_of([-0.5])) == "more seeds"  # one seed loses nothing


def test_seeds_are_paired():
    before = of(made_up(seed=0), made_up(seed=1, returns=(2.0, 2.0)), made_up("b", returns=(6.0,)))
    now = of(made_up(seed=1, returns=(6.0, 2.0)), made_up(seed=7), made_up("b", returns=(2.0,)))
    assert figures.gains("a", now, before).tolist() == [0.5]
    assert figures.gains("b", now, before).tolist() == [-1.0]
    assert not figures.is_lost("b", now, before)  # one seed has no error
    twice = {(w, s + k): run for (w, s), run in now.items() for k in (0, 10)}
    stored = {(w, s + k): run for (w, s), run in before.items() for k in (0, 10)}
    assert figures.is_lost("b", twice, stored)


def test_coverage_is_pooled_and_its_error_is_over_worlds():
    share, error = figures.over_worlds([np.ones(8), np.zeros(8)])
    assert share == 0.5
    assert error == pytest.approx(0.5)  # two worlds, however many runs they have
    assert figures.over_worlds([np.array([1, 0])] * 4) == (0.5, 0.0)
    share, error = figures.over_worlds([np.array([1, 1, nan]), np.array([nan] * 3)])
    assert (share, isnan(error)) == (1.0, True)
    assert isnan(figures.over_worlds([np.array([nan])])[0])


def test_figures_of_another_world_of_the_name_are_refused():
    other = made_up()._replace(high=6.1)
    figures.check_worlds(of(made_up()), of(made_up(seed=3)))
    with pytest.raises(ValueError, match=r"a: random policy and optimum earn 2 and 6, 2 and 6\.1"):
        figures.check_worlds(of(made_up()), of(other))


# -- tables


def test_the_page_says_what_is_lost_and_by_how_much():
    bounds = (Bounds(4.0, 3.0, 7.0, 3.0, 5.0), *(Bounds(4.0, 4.5, 6.0, 4.0, 5.0),) * 2)
    seeds = range(3)
    now = of(
        *(made_up("a", s, (4.0,), bounds, (4.0,) * 4) for s in seeds), made_up("b", bounds=bounds)
    )
    before = of(*(made_up("a", s, (4.5 + s / 10,), bounds, (2.0,) * 4) for s in seeds))
    told = pages.page(now, before)
    lines = {line.split("  ")[0]: line.split() for line in told.splitlines() if line}
    first = told.splitlines()[2].split()
    assert first == ["a", "0.650", "0.500", "-0.150", "0.014", "3", "LOST"]
    assert "ahead on 0 of 1" in told
    assert lines["mean of 3 and 10"][-2:] == ["+0.500", "(nan)"]
    assert "0.33 (0.00)" in told  # one of three looks holds, in both worlds alike
    assert lines["sum"][-3:] == ["1.50", "1.50", "1.00"]


def test_seeds_of_which_nothing_is_stored_are_left_out_and_counted():
    before = of(made_up(returns=(4.0000001,)))
    now = of(made_up(returns=(4.0,)), made_up(seed=1, returns=(6.0,)))
    told = pages.page(now, before).splitlines()[2].split()
    assert told == ["a", "0.500", "0.500", "+0.000", "nan", "1", "of", "2"]


def test_the_page_does_without_stored_figures():
    told = pages.page(of(made_up()), {})
    assert told.splitlines()[2].split() == ["a", "-", "0.750", "0", "of", "1"]
    assert "sum" not in told


# -- files


def test_a_run_comes_back_from_its_file(tmp_path):
    bounds = (Bounds(4.0, -np.inf, 1 / 3, nan, nan),)
    run = made_up(bounds=bounds)
    store.keep(tmp_path / "deep", run)
    (back,) = store.kept(tmp_path / "deep", ["a", "b"], [0, 1]).values()
    assert back.bounds[0].lower == -np.inf
    assert back.bounds[0].upper == 0.3333333
    assert isnan(back.bounds[0].least)
    assert back._replace(bounds=()) == run._replace(bounds=())


def test_runs_are_stored_beside_those_of_other_seeds(tmp_path):
    file = tmp_path / "runs.json"
    store.store(file, of(made_up(), made_up(seed=1)), {"agent": "x"})
    store.store(file, of(made_up(seed=1, returns=(9.0,)), made_up("b")), {"agent": "y"})
    found = store.stored(file)
    assert list(found) == [("a", 0), ("a", 1), ("b", 0)]
    assert found["a", 1].returns == (9.0,)
    assert json.loads(file.read_text())["about"] == {"agent": "y"}


def test_the_stored_figures_are_those_of_the_panel():
    found = store.stored(store.TODAY)
    seeds = [command.FIRST + block * command.APART + k for block in (0, 1) for k in range(8)]
    for name in worlds.SETS["all"]:
        for seed in seeds:
            assert len(found[name, seed].returns) == 100
    low, high = (x := worlds.PANEL["revenue"]()).random_return(), x.optimal_return()
    run = found["revenue", command.FIRST]
    assert (run.low, run.high) == pytest.approx((low, high), rel=1e-6)


# -- playing


def test_looks_change_no_bit_of_a_run():
    found = play("unrelated", "analogist", seed=3, episodes=12)
    mdp = worlds.ALL["unrelated"]()
    run = gim.run("analogist", mdp, 12, 3)
    assert found.returns == tuple(run.returns)
    early = gim.run("analogist", mdp, 10, 3)
    assert found.deployed[1] == mdp.policy_return(early.best_policy())
    assert found.bounds == (bounds_of(early, mdp),)
    certificate = gim.certify(early, 0.9)
    assert found.bounds[0][1:] == (certificate.lower, certificate.upper, *certificate.earns)
    assert (found.low, found.high) == (mdp.random_return(), mdp.optimal_return())


def test_an_agent_that_counts_nothing_has_no_certificates():
    found = play("unrelated", "q_learning", seed=3, episodes=12)
    assert found.bounds == ()
    assert np.isnan(figures.certified(found).held).all()


def test_a_run_stops_where_an_episode_ends():
    run = begun("random", worlds.ALL["lake"](), 20, 5)
    play_until(run, 7)
    assert run.returns.size == 7
    play_until(run, 20)
    assert run.finished
    assert (run.returns == gim.run("random", worlds.ALL["lake"](), 20, 5).returns).all()


def test_what_is_kept_is_not_played_again(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(store, "KEPT", tmp_path / "kept")
    given = ["--worlds", "unrelated", "--seeds", "1", "--agent", "random", "--jobs", "1"]
    given += ["--store", str(tmp_path / "runs.json")]
    assert command.main(given) == 0
    told = capsys.readouterr()
    assert "[1/1," in told.err
    (run,) = store.stored(tmp_path / "runs.json").values()
    about = json.loads((tmp_path / "runs.json").read_text())["about"]
    assert about["agent"] == "random"
    assert set(about) == {"agent", "commit", "machine"}
    direct = play("unrelated", "random", command.FIRST)
    assert run.returns == pytest.approx(direct.returns, rel=1e-6)
    monkeypatch.setattr(session, "ProcessPoolExecutor", None)
    assert command.main([*given, "--against", str(tmp_path / "runs.json")]) == 0
    again = capsys.readouterr()
    assert "+0.000" in again.out
    assert not again.err
    with pytest.raises(TypeError):  # another agent is another run
        command.main([*given, "--agent", "q_learning"])


@pytest.mark.parametrize(
    ("given", "because"),
    [
        (["--tree", "nowhere"], "nowhere has no folder gim"),
        (["--against", "nowhere.json"], "there is no such file"),
        (["--seeds", "0"], "give 1 to 1000 seeds"),
        (["--worlds", "lkae"], "no world 'lkae': choose from"),
    ],
)
def test_what_cannot_be_is_said(given, because, capsys):
    with pytest.raises(SystemExit) as stop:
        command.main(given)
    assert because in capsys.readouterr().err + str(stop.value)


def test_a_tree_is_used_only_where_no_other_is_loaded(tmp_path):
    tree.use(tree.ROOT)
    with pytest.raises(RuntimeError, match="is loaded, not that of"):
        tree.use(tmp_path)


def test_what_plays_uses_public_names_alone():
    """Modules of other trees are elsewhere."""
    benchmarks = tree.ROOT / "benchmarks"
    files = [*(benchmarks / "written").glob("*.py"), benchmarks / "panel" / "tree.py"]
    for file in [*files, *(benchmarks / name for name in store.PLAYS)]:
        for line in file.read_text("utf-8").splitlines():
            assert not line.startswith(("from gim", "import gim.")), file
            assert not line.startswith("from benchmarks.common"), file


# -- worlds


@pytest.mark.parametrize("name", worlds.SETS["all"] | worlds.OTHERS)
def test_a_world_can_be_played_and_has_something_to_learn(name):
    mdp = worlds.ALL[name]()
    assert mdp.optimal_return() > mdp.random_return() + 0.1
    assert mdp.S <= 450


def test_cases_have_their_reference_values():
    assert cases.revenue().optimal_return() == pytest.approx(80.4257781)
    assert cases.shop(3.0).optimal_return() == pytest.approx(175.9775939)
    assert cases.shop(3.0, lost=0.2).optimal_return() == pytest.approx(116.2826522)
    assert cases.shop(3.0, lumpy=True).optimal_return() == pytest.approx(157.5403981)
    drawn = cases.drawn_queue(np.random.default_rng(0))
    assert drawn.optimal_return() == pytest.approx(-148.3727661)
    assert cases.dark_room(57).optimal_return() == 89.0


def test_a_machine_that_is_replaced_is_new():
    mdp = cases.wearing(5)
    assert (np.asarray(mdp.transitions)[:, 1, 0] == 1).all()
    assert np.asarray(mdp.transitions)[2, 0].tolist() == [0, 0, 0.5, 0.5, 0]
    assert np.asarray(mdp.transitions)[4, 0].tolist() == [0, 0, 0, 0, 1]
    assert np.asarray(mdp.rewards).tolist() == [[0, -5], [-1, -5], [-2, -5], [-3, -5], [-4, -5]]
