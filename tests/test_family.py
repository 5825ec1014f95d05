"""Units of one family: the fit against slow twins, rules that are found, what units are worth."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import digamma, gammaln

import gim
from gim.analogy.base import Frame
from gim.belief.family import kinds, rewards
from gim.belief.family.by_family import by_family
from gim.belief.family.cells import cells_of
from gim.belief.family.family import learned
from gim.belief.family.outlook import blindly, placed
from gim.belief.family.rules import Rule, Table, lands
from gim.belief.family.units import Rows, Space, rows_of
from gim.belief.family.words import belonging, kinds_of, measures
from gim.cli.command import main
from gim.logs.believing import counts_from
from tests.family_worlds import counted, shop_mdp, shop_rows, shop_space

MEANS = 3.0 * np.exp(np.random.default_rng(3).normal(0, 0.45, 10))


@pytest.fixture(scope="module")
def shops():
    rows = counted(shop_rows(MEANS, 40))
    return learned(shop_space(), rows, [f"shop {k}" for k in range(10)])


def one(rows, unit):
    part = rows.of(rows.unit == unit)
    return part._replace(unit=np.zeros_like(part.unit))


def cells_for(rule, rows, units):
    table = Table(rule, shop_space(), rows)
    return table, cells_of(table, rows, lands(table, rows), units)


def test_rows_that_are_alike_are_counted():
    rows = rows_of([0, 0, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0], [2.0, 2.0, 2.0, 3.0], [0] * 4, A=2)
    assert rows.pair.tolist() == [2, 2, 2]
    assert sorted(zip(rows.unit.tolist(), rows.r, rows.n, strict=True)) == [
        (0, 2.0, 2.0), (0, 3.0, 1.0), (1, 2.0, 1.0)
    ]  # fmt: skip


def test_latent_counts_are_those_of_a_slow_twin():
    rows = counted(shop_rows(MEANS[:4], 12))
    for rule in (
        Rule(shift=(0, 0, 1)),
        Rule(shift=(0, 0, 1), fails=True),
        Rule(features=(0, 1), values=True),
    ):
        _, cells = cells_for(rule, rows, 4)
        layout, rng = cells.layout, np.random.default_rng(0)
        w = rng.random((4, 2, len(layout.group))) + 0.1
        L, chance = kinds.shared_out(layout, cells.X, w, 0.02)
        twin = np.zeros_like(w)
        explains = np.asarray(layout.explains)
        for u, j in np.ndindex(4, 2):
            for m in range(len(explains)):
                which = np.flatnonzero(explains[m])
                each = [
                    np.prod([w[u, j, layout.of[f][q]] for f in range(len(layout.of))])
                    for q in which
                ]
                total = 0.98 * sum(each) + 0.02 / 16
                assert chance[u, j, m] == pytest.approx(total)
                for q, share in zip(which, each, strict=True):
                    for f in range(len(layout.of)):
                        twin[u, j, layout.of[f][q]] += cells.X[u, m] * 0.98 * share / total
        np.testing.assert_allclose(L, twin, atol=1e-9)


def test_the_evidence_is_exact_where_nothing_is_latent():
    rows = counted(shop_rows(MEANS[:3], 20))
    _, cells = cells_for(Rule(features=(0, 1), values=True), rows, 3)
    layout = cells.layout
    family = kinds.vague(layout, 4.0, eps=1e-12)
    found = kinds.posterior(layout, cells.X, family)
    a = kinds.prior_of(layout, family)[0]
    n = cells.X @ np.asarray(layout.explains)  # every cell has one outcome
    counts = np.zeros((3, len(a)))
    counts[:, layout.of[0]] = n
    exact = (
        gammaln(layout.sums(a)).sum() - gammaln(layout.sums(a + counts)).sum(axis=-1)
        + (gammaln(a + counts) - gammaln(a)).sum(axis=-1)
    )  # fmt: skip
    np.testing.assert_allclose(found.evidence, exact, rtol=1e-6)
    np.testing.assert_allclose(found.alpha[:, 0], a + counts, rtol=1e-6)


def test_the_bound_on_censored_rows_is_below_the_truth_and_close():
    rows = rows_of([0, 0, 0], [1, 1, 0], [0, 0, 2], [0.0] * 3, [0, 1, 0], A=8)
    _, cells = cells_for(Rule(shift=(0, 0, 1)), rows, 1)
    family = kinds.vague(cells.layout, 3.0, eps=1e-9)
    bound = kinds.posterior(cells.layout, cells.X, family, steps=60).evidence[0]
    draws = np.random.default_rng(0).dirichlet(np.full(3, 1.0), 200_000)  # demand 0, 1, 2
    exact = np.log(((draws[:, 1] + draws[:, 2]) * draws[:, 0] * draws[:, 2]).mean())
    assert exact - 0.35 < bound < exact + 0.02


def test_a_curve_holds_poisson_demand():
    rows = counted(shop_rows(np.linspace(0.8, 6, 30), 60))
    _, cells = cells_for(Rule(shift=(0, 0, 1)), rows, 30)
    ends = [
        kinds.posterior(cells.layout, cells.X, kinds.fitted(cells, (form,), 100.0)).evidence.sum()
        for form in (kinds.Form(1), kinds.Form(2), kinds.Form(1, 1))
    ]
    assert ends[0] < ends[1] < ends[2]


def test_the_rule_is_found_with_the_order_and_the_edge(shops):
    assert shops.rule == Rule(shift=(0, 0, 1))
    assert not shops.alone
    assert "stock + order" in str(shops)
    slow, fast = int(MEANS.argmin()), int(MEANS.argmax())
    assert f"in shop {slow} to" in str(shops)
    assert str(shops).startswith("all 10: stock + order - what goes, stopped at edges; what goes: ")
    assert shops.differences()[0].visits == 40
    assert {each.unit for each in shops.differences()[:3]} & {f"shop {fast}", f"shop {slow}"}


def test_what_is_said_of_units_holds():
    held, n = 0, 0
    for seed in (31, 32, 33):
        means = 3.0 * np.exp(np.random.default_rng(seed).normal(0, 0.45, 20))
        family = learned(shop_space(), counted(shop_rows(means, 30, seed)), range(20))
        low, high = measures(family)[0].ends
        held, n = held + int(((low <= means) & (means <= high)).sum()), n + 20
        assert 1 / 3 < (high - low).mean() / means.std() < 2
    assert held / n >= 0.84  # by what the family alone says of them it would be .75


def test_who_does_not_do_as_the_others_fits_least():
    rows = counted(shop_rows(MEANS[:6], 60))
    odd = rows.unit == 4
    rows = rows._replace(next=np.where(odd, 15 - rows.next, rows.next))
    family = learned(shop_space(), rows, range(6))
    if not family.outside:
        assert int(belonging(family).argmin()) == 4
    assert belonging(learned(shop_space(), counted(shop_rows(MEANS, 40)), range(10))).min() > 0


def test_policies_of_units_are_near_their_optima(shops):
    lost = 0.0
    for unit, mean in enumerate(MEANS):
        found, truth = shops.of(one(shops.rows, unit)), shop_mdp(mean)
        np.testing.assert_allclose(found.p.sum(axis=1), 1.0)
        r = (found.p * found.r).sum(axis=1)
        plan = (
            truth.with_(transitions=found.p.reshape(16, 8, 16), rewards=r.reshape(16, 8))
            .plan()
            .policy
        )
        lost += 1 - truth.policy_return(plan) / truth.optimal_return()
    assert lost / len(MEANS) < 0.02


def test_a_unit_never_seen_is_what_the_family_is(shops):
    nothing = shops.of(shops.rows.of(np.zeros(0, np.int64)))
    some = shops.of(one(shops.rows, 0))
    np.testing.assert_allclose(nothing.p.sum(axis=1), 1.0)
    assert (nothing.behind < some.behind).all()
    draws = [shops.of(one(shops.rows, 0), seed) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(draws[0].p, draws[1].p)
    assert not np.array_equal(draws[0].p, draws[2].p)


def test_a_family_grows_by_a_unit_and_comes_back_from_a_file(shops, tmp_path):
    more = counted(shop_rows([2.0], 40, seed=9))
    grown = shops.grown(more, "the new one")
    assert grown.units[-1] == "the new one"
    assert len(grown) == 11
    assert grown.of(more).evidence > shops.of(more).evidence - 0.5
    grown.save(tmp_path / "shops.gim")
    again = gim.load(tmp_path / "shops.gim", "family")
    assert str(again) == str(grown)
    np.testing.assert_array_equal(again.of(more).p, grown.of(more).p)
    np.testing.assert_array_equal(again.of(more).r, grown.of(more).r)


def test_shops_that_lose_orders_are_found_by_what_rows_pay():
    lost = np.where(np.arange(8) % 2, 0.3, 0.0)
    rows = counted(shop_rows(np.full(8, 3.0), 80, lost=lost))
    family = learned(shop_space(), rows, range(8))
    assert family.rule.fails
    cells, found = family.posterior(rows, 8)
    comes = placed(family.kinds, cells.layout)
    kind = np.stack([found.share[:, comes.node[0] == j].sum(axis=1) for j in range(2)], axis=1)
    often = family.kinds.m[0][:, 0, 1]
    assert (kind.argmax(axis=1) == np.where(lost > 0, often.argmax(), often.argmin())).all()
    assert "4 of 8 (1, 3, 5, ...) lose " in str(family)
    first, second = measures(family)
    assert (first.what, second.what) == ("share of order lost", "what goes")
    low, high = first.ends
    assert ((low <= lost) & (lost <= high)).sum() >= 7
    assert kinds_of(family, 0)[0].tolist() == kind.argmax(axis=1).tolist()


@pytest.mark.parametrize("lossy", [True, False])
def test_a_few_shops_show_by_what_they_pay_whether_orders_fail(lossy):
    lost = np.where(np.arange(6) % 2, 0.2, 0.0) * lossy
    means = np.clip(3.0 * np.exp(np.random.default_rng(1).normal(0, 0.45, 6)), 0.5, 9)
    family = learned(shop_space(), counted(shop_rows(means, 60, 1, lost)), range(6))
    assert family.rule.fails == lossy  # next states alone are level on that
    assert ("3 of 6 (1, 3, 5) lose" in str(family)) == lossy


def test_pay_follows_the_after_state_where_no_row_was_cut_off():
    rows = counted(shop_rows(MEANS[:2], 60))
    s, a = np.divmod(rows.pair, 8)
    rows = rows.of(s + a <= 15)
    table = Table(Rule(shift=(0, 0, 1)), shop_space(), rows)
    line, columns = rewards.line_of(table, rows, blindly(table, rows).came)
    paid = rewards.Paid(rewards.Shape(1, ()), line, columns, (), (), (), 0.0, (0.0, 1.0))
    full = rows.of(np.array([0]))._replace(pair=np.array([8 * 14 + 7]), next=np.array([10]))
    said = rewards.along(table, paid, full.pair, blindly(table, full))
    assert said[0] == pytest.approx(5 * (15 - 10) - 2.5 * 7 - 0.3 * 10 - 2)


def test_unrelated_worlds_are_no_family():
    rng, rows = np.random.default_rng(1), []
    for unit in range(5):
        P = rng.dirichlet(np.full(6, 0.15), (6, 3))
        s, a = rng.integers(6, size=150), rng.integers(3, size=150)
        t = np.array([rng.choice(6, p=P[i, j]) for i, j in zip(s, a, strict=True)])
        rows.append(rows_of(np.full(150, unit), s, a, rng.normal(size=150), t, 3))
    family = learned(
        Space(np.ones((6, 3), bool)), Rows(*map(np.concatenate, zip(*rows, strict=True))), range(5)
    )
    assert family.alone
    assert "no family" in str(family)


def test_what_rests_on_one_row_is_no_coefficient():
    rows = counted(shop_rows(MEANS[:1], 60))
    few = rows.of(rows.pair % 8 != 5)
    odd = rows_of([0], [0], [5], [-40.0], [0], A=8)
    both = Rows(*map(np.concatenate, zip(few, odd, strict=True)))
    table = Table(Rule(shift=(0, 0, 1)), shop_space(), both)
    ahead = blindly(table, both)
    line, columns = rewards.line_of(table, both, ahead.came)
    assert 5 not in columns
    paid = rewards.Paid(rewards.Shape(1, ()), line, columns, (), (), (), 0.0, (0.0, 1.0))
    asked = both.of(np.array([0]))._replace(pair=np.array([8 * 4 + 5]), next=np.array([3]))
    said = rewards.along(table, paid, asked.pair, blindly(table, asked))
    assert abs(said[0] - (5 * (9 - 3) - 2.5 * 5 - 0.3 * 3 - 2)) < 3


HEADS = ("shop", "day", "stock", "order", "paid", "next")
COLUMNS = {"state": "stock", "action": "order", "reward": "paid", "next_state": "next"}


def chain(shops=6):
    found = shop_rows(MEANS[:shops], 50)
    rows = [(f"shop {int(k)}", i, *map(float, rest)) for i, (k, *rest) in enumerate(found)]
    return dict(zip(HEADS, map(list, zip(*rows, strict=True)), strict=True))


@pytest.mark.parametrize("keep", ["rows", "counts"])
def test_units_of_a_log_are_a_mapping(keep):
    names = [f"shop {k}" for k in range(6)]
    log = gim.from_log(chain(), **COLUMNS, unit="shop", step="day", keep=keep)
    units = gim.learn(log, horizon=30)
    assert units.units == tuple(names)
    slow, fast = names[int(MEANS[:6].argmin())], names[int(MEANS[:6].argmax())]
    assert units[fast].policy(2) > units[slow].policy(2)
    assert units[fast] is units[fast]
    truth = shop_mdp(3.0)
    assert units.new.compare(truth)["return"] > 0.6 * truth.optimal_return()
    assert units.table().splitlines()[0].split()[:3] == ["unit", "rows", "value"]
    assert units.differences()[0].unit in names
    assert "what goes" in units.table().splitlines()[0]
    few, many = units.more("shop 0", 10, draws=30), units.more("shop 0", 400, draws=30)
    assert many.most == pytest.approx(few.most)
    assert few.gain - 2 * few.error < many.gain < many.most
    assert many.gain > 0.6 * many.most  # 450 rows say nearly all
    assert [each.rows for each in units.wanted] == [50] * 6
    with pytest.raises(KeyError, match="no unit 'shop 99'"):
        units["shop 99"]


def test_a_log_of_one_more_unit_is_learned_by_its_family():
    log = gim.from_log(chain(), **COLUMNS, unit="shop", step="day")
    units = gim.learn(log, horizon=30)
    part = log.by_unit()["shop 2"]
    alone = gim.learn(part, horizon=30, prior=units.family)
    np.testing.assert_array_equal(np.asarray(alone.policy), np.asarray(units["shop 2"].policy))
    assert alone.value == units["shop 2"].value
    few = gim.from_log(
        {name: column[:9] for name, column in chain().items()}, **COLUMNS, step="day"
    )
    with pytest.raises(ValueError, match="declare what there can be"):
        gim.learn(few, horizon=30, prior=units.family)


def test_the_command_writes_a_folder_for_each_unit(tmp_path, capsys):
    pd.DataFrame(chain(3)).to_csv(tmp_path / "chain.csv", index=False)
    flags = ["--state", "stock", "--action", "order", "--reward", "paid", "--next", "next"]
    flags += ["--unit", "shop", "--step", "day", "--horizon", "20", "--out", str(tmp_path / "out")]
    assert main(["learn", str(tmp_path / "chain.csv"), *flags]) == 0
    assert "all 3: stock + order" in capsys.readouterr().out
    out = tmp_path / "out"
    assert {path.name for path in out.iterdir()} == {
        "shop_0", "shop_1", "shop_2", "new.csv", "family.npz", "report.html"
    }  # fmt: skip
    html = (out / "report.html").read_text()
    assert "stock + order" in html
    assert html.count("<circle") == 3
    assert "Which unit to look at" in html
    assert gim.load(out / "shop_1" / "policy.json")(3) in range(8)
    assert len(gim.load(out / "family.npz", "family")) == 3


def test_digamma_weights_are_those_of_the_posterior():
    rows = counted(shop_rows(MEANS[:2], 10))
    _, cells = cells_for(Rule(shift=(0, 0, 1)), rows, 2)
    alpha = np.random.default_rng(0).random((2, len(cells.layout.group))) + 0.5
    want = np.exp(digamma(alpha) - digamma(alpha.sum(axis=1, keepdims=True)))
    np.testing.assert_allclose(kinds.w_of(cells.layout, alpha), want)


def test_bounds_of_units_hold_and_say_something():
    means, held, wide, told = np.linspace(1.2, 5.5, 8), [], [], []
    for rows, seed in ((20, 3), (60, 4)):
        found = shop_rows(means, rows, seed)
        days = [(f"shop {int(k)}", i, *map(float, rest)) for i, (k, *rest) in enumerate(found)]
        table = dict(zip(HEADS, map(list, zip(*days, strict=True)), strict=True))
        every = {name: list(map(float, range(16))) for name in ("states", "start")}
        every |= {"reward_range": (-25.0, 75.0)}
        log = gim.from_log(table, **COLUMNS, unit="shop", step="day", **every)
        units = gim.learn(log, horizon=30)
        for k, mean in enumerate(means):
            found, truth = units[f"shop {k}"], shop_mdp(mean)
            earns = found.compare(truth)
            told.append(found.value.bounded)
            held.append(found.value.lower <= earns["return"] <= found.value.upper)
            wide.append((found.value.upper - found.value.lower) / earns["optimal"])
    assert all(told)
    assert sum(held) >= 13  # of 16
    assert np.median(wide[8:]) < np.median(wide[:8])
    assert np.median(wide[8:]) < 0.4


def test_certificates_of_units_know_how_much_their_family_may_be_off(shops):
    few = one(shops.rows, 0)
    few = few.of(np.arange(len(few.n)) < 2)
    infer = by_family(shops, rows=few)
    visits, paid = np.zeros((128, 16)), np.zeros(128)
    np.add.at(visits, (few.pair, few.next), few.n)
    np.add.at(paid, few.pair, few.n * few.r)
    counts = counts_from((visits.reshape(16, 8, 16), paid.reshape(16, 8)))
    frame = Frame(np.ones((16, 8), bool), np.zeros(16, bool), (0.0, 1.0))
    said = infer.posterior(counts, frame, np.random.default_rng(0))
    pairs, rng = np.arange(16 * 8), np.random.default_rng(1)
    draws = np.stack([said.fitted.drawn(pairs, rng).toarray() for _ in range(60)])
    np.testing.assert_allclose(draws.sum(axis=2), 1.0)
    mean = said.fitted.rows(pairs).toarray()
    assert np.abs(draws.mean(axis=0) - mean).max() < 0.2
    add = shops.table.outcomes.add[:, 0]
    means = [
        float(kinds.weight @ (kinds.m[0][:, 0] @ add)[kinds.node[0]]) for kinds in shops.resampled
    ]
    usual = -np.minimum(MEANS, 6)
    assert abs(np.mean(means) - usual.mean()) < 0.6
    assert (
        0.4 < np.std(means) / (usual.std() / np.sqrt(10)) < 2.0
    )  # as the mean of ten shops is off
    assert said.shown.sum() == shops.rows.n.sum()
