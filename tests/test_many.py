"""The study of many tasks: its worlds, its shares, and trials of it."""

import numpy as np
import pytest

from gim_lab import Trial, execute
from gim_lab.experiments.catalogue import chosen, groups
from gim_lab.experiments.cells import ResultsByCell
from gim_lab.experiments.many import study
from gim_lab.experiments.many.series import Many, logged, share_of
from gim_lab.experiments.many.worlds import FAMILIES, dark_rooms, online_shop, ordering, shop
from gim_lab.experiments.scale import SCALES
from gim_lab.testing import check_experiment
from gim_lab.testing.made_up import made_up_result
from gim_lab.trials.result import Result
from gim_lab.trials.results import Results


def test_the_study_passes_its_kit_and_is_no_part_of_the_paper():
    check_experiment(study.ManyTasks(), play=0)
    assert chosen(["many"]) == [study.ManyTasks()]
    assert "many" not in groups()["all"]


@pytest.mark.parametrize("key", FAMILIES)
def test_families_have_the_same_states_and_a_seed_fixes_them(key):
    family = FAMILIES[key]
    one, two = (family.worlds(np.random.default_rng(3), family.tasks) for _ in range(2))
    assert len(one) == family.tasks
    assert len({(world.S, world.A, world.horizon) for world in one}) == 1
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.transitions, b.transitions)
    assert (
        family.tasks == 1
        or not np.array_equal(one[0].transitions, one[-1].transitions)
        or (not np.array_equal(one[0].rewards, one[-1].rewards))
    )


def test_worlds_are_worth_what_is_known_of_them():
    assert online_shop(2.7).optimal_return() == pytest.approx(55.506, abs=1e-3)
    rooms = dark_rooms(np.random.default_rng(0), 20)
    assert np.mean([room.optimal_return() for room in rooms]) == pytest.approx(92, abs=2)
    # the optimum of a shop by hand: without demand the best is to order nothing and keep stock
    assert shop(1e-12).optimal_return() == pytest.approx(-0.3 * 7.5 * 30, abs=1e-6)


def test_logs_of_shops_pay_by_what_was_sold_and_lose_orders():
    rng = np.random.default_rng(0)
    table = logged([shop(3.0), shop(3.0, lost=1.0)], ordering(), 300, 0.0, rng)
    unit, s, a, r, t = (np.array(table[name]) for name in ("unit", "s", "a", "r", "t"))
    come = np.where(unit == 0, a, 0)
    sold = np.minimum(s + come, 15) - t
    assert (sold >= 0).all()
    np.testing.assert_allclose(r, 5 * sold - 2.5 * a - 0.3 * t - 2 * (a > 0))
    assert (s[1:300] == t[:299]).all()
    assert abs((a[:300] == np.clip(9 - s[:300], 0, 7)).mean() - 0.7 - 0.3 / 8) < 0.08


def test_a_family_is_worth_more_than_each_shop_alone():
    found = {}
    for method in ("alone", "family"):
        subject = Many("shops", method, 0, 40)
        trial = Trial(FAMILIES["shops"].task, str(subject), 6, 2)
        columns, curves, _ = subject.measured(trial)
        found[method] = share_of(curves, "first_1", 0)
        assert columns["score"] == found[method]
    assert found["family"] > max(0.85, found["alone"] + 0.2)


@pytest.mark.parametrize("method", ["pooled", "temple", "carried"])
def test_rivals_play_every_world_and_what_came_of_it_is_kept(method, tmp_path):
    trial = Trial("shared_factors", str(Many("low_rank", method, 3)), 3, 1)
    played = execute([trial], store=tmp_path, engine="serial")
    kept = execute([trial], store=tmp_path, engine="serial")
    assert kept.curves["first_1"][0].shape == (3,)
    np.testing.assert_array_equal(kept.curves["first_1"][0], played.curves["first_1"][0])
    assert np.isfinite(kept.column("score")).all()
    assert (kept.curves["optimum"][0] > kept.curves["base"][0]).all()


def test_shares_are_ratios_of_sums_over_the_tasks_that_count():
    scale = SCALES["paper"]
    cell = next(cell for cell in study.ManyTasks().cells(scale) if cell.panel == "shops online")
    rows = []
    for trial in cell.trials:
        made = made_up_result(trial)
        tasks = np.arange(trial.episodes)
        more = {"base": np.ones(8), "optimum": 3.0 + tasks, "first_5": 1.0 + 0.5 * (2 + tasks)}
        more["first_5"][:2] = -100.0  # of which nothing could be known
        rows.append(Result(made.columns, made.curves | more))
    found = study.shares(ResultsByCell(Results.of(rows), scale), cell, "first_5")
    np.testing.assert_allclose(found, 0.5)
