"""The study of analogy: its words, its analysis on results known beforehand, and a run of it."""

import importlib.util
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gim
from gim.cli import main
from gim.envs.worlds import world_of
from gim.mdp.tabular import TabularMDP
from gim.runs.agent import agents
from gim_lab.experiments.analogy import certificate, classics, hostile, ranks, settings, unrelated
from gim_lab.experiments.analogy.gains import (
    gain,
    gain_figure,
    gain_table,
    gain_verdict,
    horizons_of,
    share_figure,
    share_table,
)
from gim_lab.experiments.analogy.settings import AGENTS, ANALOGIST, PLAIN, POOLED
from gim_lab.experiments.analogy.verdicts import (
    Line,
    counted,
    judged,
    line_of,
    marks_of,
)
from gim_lab.experiments.artefact import Artefact, Table
from gim_lab.experiments.catalogue import chosen, groups, shortest
from gim_lab.experiments.cells import pick
from gim_lab.experiments.experiment import cells_of, experiments
from gim_lab.experiments.gymnasium_ids import newest
from gim_lab.experiments.plain_learners import BONUSES, SWEEP
from gim_lab.experiments.reproduction import Manifest, stored, trials_of
from gim_lab.experiments.scale import SCALES
from gim_lab.experiments.statistics import Estimate, mean_interval
from gim_lab.experiments.tables import shares
from gim_lab.testing.made_up import made_up_result, made_up_results
from gim_lab.trials.measures import points
from gim_lab.trials.seeds import CHOICE, seeds
from gim_lab.trials.store import Store

SMOKE = SCALES["smoke"]
MANY = replace(SMOKE, runs=6)  # enough for intervals
FIRST = seeds(SMOKE)[0]
PARTS = (*certificate.PARTS, "hostile")
PLACES = [*ranks.PLACES, *unrelated.PLACES, *classics.PLACES, *hostile.PLACES]
NAMES = {str(agents.make(word)): name for name, word in (SWEEP | AGENTS).items()}
NAMES |= {str(agents.make(AGENTS[PLAIN])): PLAIN}


def agent_of(trial):
    return NAMES[trial.agent]


# -- the generator of matrices that share nothing


@pytest.mark.parametrize("shared", ["state", "action"])
@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_every_matrix_has_rank_j_whatever_the_blocks(shared, blocks):
    P = gim.make("shared_factors", S=30, A=20, J=2, K=4, shared=shared, blocks=blocks).transitions
    assert np.linalg.matrix_rank(P.transpose(2, 0, 1), tol=1e-10).max() == 2
    sizes = [len(part) for part in np.array_split(np.arange(30), blocks)]
    into = np.add.reduceat(P, np.cumsum([0, *sizes[:-1]]), axis=2)
    assert into == pytest.approx(np.full((30, 20, blocks), 1 / blocks))
    by_state = np.linalg.matrix_rank(P.reshape(30, -1), tol=1e-10)
    by_action = np.linalg.matrix_rank(P.transpose(1, 0, 2).reshape(20, -1), tol=1e-10)
    # alpha's rows sum to 1 in every block: the blocks have the constant in common, no more.
    assert (by_state if shared == "state" else by_action) == 1 + blocks * (2 - 1)


def test_blocks_of_unequal_size_and_of_one_state():
    P = gim.make("shared_factors", S=7, A=3, blocks=3).transitions
    assert P[..., :3].sum(axis=2) == pytest.approx(np.full((7, 3), 1 / 3))
    assert gim.make("shared_factors", S=4, A=3, blocks=4).transitions == pytest.approx(0.25)
    with pytest.raises(ValueError, match="blocks = 5 of S = 4 next states: give S at the most"):
        gim.make("shared_factors", S=4, A=3, blocks=5)


def test_one_block_is_the_generator_of_before():
    rng = np.random.default_rng(3)
    alpha = rng.dirichlet(np.full(2, 0.3), 6)
    beta = rng.dirichlet(np.full(3, 0.3), (4, 2))
    q = rng.dirichlet(np.full(6, 0.1), 3)
    P = np.einsum("xj,yjk,kt->xyt", alpha, beta, q, optimize=True)
    made = gim.make("shared_factors", S=6, A=4, J=2, K=3, seed=3)
    assert (made.transitions == TabularMDP(P, made.rewards, horizon=10).transitions).all()


# -- words


def test_the_study_is_a_group_of_its_own():
    keys = [each.key for each in chosen(["analogy"])]
    assert {"ranks", "unrelated", "classics", "certificate"} <= set(keys)
    assert keys == groups()["analogy"]
    for word in ("all", "paper"):
        assert not {each.key for each in chosen([word])} & set(keys)
    for key in keys:
        assert [each.key for each in chosen([key])] == [key]


def test_the_shortest_words_name_the_same():
    for words in (["all"], ["analogy"], ["paper", "ranks"], ["fig1", "certificate"]):
        keys = [each.key for each in chosen(words)]
        assert chosen(shortest(keys)) == chosen(words)
        assert len(shortest(keys)) == len(words)


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
def test_every_agent_meets_the_same_instances_from_fresh_seeds(scale):
    for part in PARTS:
        found = cells_of(part, scale)
        assert found
        for cell in found:
            same = pick(found, panel=cell.panel, agent=ANALOGIST)[0].trials
            if cell.agent == hostile.ANOTHER:  # the same instances from other seeds
                assert [(t.task, t.episodes) for t in cell.trials] == [
                    (t.task, t.episodes) for t in same
                ]
                assert not {t.seed for t in cell.trials} & {t.seed for t in same}
            else:
                assert [(t.task, t.episodes, t.seed) for t in cell.trials] == [
                    (t.task, t.episodes, t.seed) for t in same
                ]
                runs = 10 if cell.panel == "Taxi" else 20
                assert [t.seed for t in cell.trials] == [*seeds(scale)][:runs]
            agents.make(cell.trials[0].agent)


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
def test_every_horizon_is_a_stored_point(scale):
    for cell in (c for part in PARTS for c in cells_of(part, scale)):
        assert {*horizons_of(cell), *marks_of(cell)} <= set(points(cell.trials[0].episodes))


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.title)
def test_every_world_can_be_built_and_has_something_to_gain(place):
    mdp = world_of(settings.cells([place], SCALES["full"])[0].trials[0].task)
    assert isinstance(mdp, TabularMDP)
    assert mdp.optimal_return() > mdp.random_return()
    assert mdp.optimal_return() > 0 or place.title.endswith("-1 to 0")


def test_full_is_the_paper_for_the_papers_artefacts():
    for each in chosen(["all"]):
        assert each.trials(SCALES["full"]) == each.trials(SCALES["paper"])
    assert {t.episodes for t in experiments.make("ranks").trials(SCALES["full"])} == {20_000}


def test_what_counts_is_not_played_on_seeds_that_were_rehearsed():
    def played(whole):
        return [
            {*seeds(scale, CHOICE)} | {*seeds(scale)}
            for scale in SCALES.values()
            if scale.whole == whole
        ]

    assert not set.union(*played(False)) & set.union(*played(True))
    assert min(set.union(*played(True))) == 6000
    assert set(seeds(SCALES["paper"])) == set(range(7200, 7220))


def test_an_environment_that_gymnasium_lacks_is_named():
    with pytest.raises(ValueError, match="gymnasium has no Rickshaw"):
        newest("Rickshaw")


# -- analysis


def scores(trial):
    """Six runs; over the plain twin +.1 and +.3, over the pooled marginal -.02 and +.01."""
    first = (trial.seed - FIRST) % 2 == 0
    own = 0.8 if first else 0.7
    less = {ANALOGIST: 0.0, PLAIN: 0.1 if first else 0.3, POOLED: -0.02 if first else 0.01}
    swept = {"0.003": 0.05, "0.01": 0.02 if first else 0.03, "0.03": 0.04, "0.1": 0.5}
    return {"score": own - (less | swept)[agent_of(trial)]}


@pytest.fixture(scope="module")
def found():
    return made_up_results(chosen(PARTS), MANY, scores)


def test_a_paired_gain_by_hand(found):
    cells = settings.cells(unrelated.PLACES, MANY)
    plain = gain(found, cells, "full rank", PLAIN)
    assert plain == pytest.approx(mean_interval([0.1, 0.3] * 3))
    pooled = gain(found, cells, "full rank", POOLED)
    assert pooled == pytest.approx(mean_interval([-0.02, 0.01] * 3))
    row = gain_table(found, cells).rows[1]
    assert row[:4] == ["full rank", "50", f"+0.200 ({plain.low:+.3f}..{plain.high:+.3f})", "pays"]
    assert row[4] == f"-0.005 ({pooled.low:+.3f}..{pooled.high:+.3f})"
    assert plain.low > 0 > pooled.low


@pytest.mark.parametrize(
    ("estimate", "said"),
    [
        ((0.01, 0.001, 0.02), "pays"),
        ((0.01, 0.0, 0.02), "neutral"),
        ((-0.0049, -0.01, 0.001), "neutral"),
        ((-0.0049, -0.006, -0.004), "neutral"),
        ((-0.0051, -0.1, 0.1), "harms"),
        ((0.3, math.nan, math.nan), "neutral"),
        ((-0.3, math.nan, math.nan), "harms"),
        ((math.nan, math.nan, math.nan), "-"),
    ],
)
def test_a_verdict_by_hand(estimate, said):
    assert gain_verdict(Estimate(*estimate, 20)) == said


def test_shares_are_over_the_first_episodes(found):
    cell = pick(cells_of("unrelated", MANY), panel="full rank", agent=ANALOGIST)[0]
    assert shares(found, cell, [10, 50]) == pytest.approx(np.array([[0.8, 0.8], [0.7, 0.7]] * 3))


def test_an_optimum_below_zero_is_shared_from_the_random_policy():
    given = {"score": -2.0, "optimal_return": -10.0, "random_return": -110.0}
    made = made_up_results(chosen(["unrelated"]), SMOKE, lambda trial: given)
    cell = cells_of("unrelated", SMOKE)[0]
    assert shares(made, cell, [50]) == pytest.approx(0.9)  # a mean of -20: 90 of 100


def test_the_table_of_shares_has_a_column_per_horizon_and_gaps_where_it_was_not_played():
    scale = SCALES["quick"]
    made = made_up_results(chosen(["classics"]), scale)
    table = share_table(made, settings.cells(classics.PLACES, scale, settings.RIVALS))
    taxi = next(place for place in classics.PLACES if place.title == "Taxi").episodes["quick"]
    assert table.columns == ["task", "agent", f"{taxi:,}", "100", "300", "1,000"]
    rows = {(row[0], row[1]): row[2:] for row in table.rows}
    assert rows["Taxi", ANALOGIST] == ["0.900 ± 0.000", "-", "-", "-"]
    assert rows["GridWorld", PLAIN] == ["-", *3 * ["0.900 ± 0.000"]]


def test_figures_show_every_task_and_every_line(found):
    cells = ranks.compared_cells(MANY)
    figure = share_figure(found, cells, "f", "t")
    assert [panel.title for panel in figure.panels] == [
        f"{line}, J=2" for line in ("shared state", "shared action", "none shared")
    ]
    line = figure.panels[0].series[0]
    assert figure.panels[0].log_x
    assert (line.name, line.x[0], line.x[-1]) == (ANALOGIST, 5, 10)
    assert line.y == pytest.approx([0.75] * len(line.y))
    _, low, high, _ = mean_interval([0.8, 0.7] * 3)
    assert (line.low[-1], line.high[-1]) == pytest.approx((low, high))
    gains = gain_figure(found, cells, "f", "t")
    assert [s.name for s in gains.panels[0].series] == [
        "shared state", "shared action", "none shared"
    ]  # fmt: skip
    assert gains.panels[0].series[1].x == [2.0]
    assert gains.panels[0].series[1].y == pytest.approx([0.2])
    pooled = gains.panels[1].series
    assert [s.name for s in pooled] == ["shared state"]  # elsewhere it is not played
    assert pooled[0].low == pytest.approx([mean_interval([-0.02, 0.01] * 3).low])


def test_a_task_whose_plain_learners_are_not_swept_has_no_best_of_them():
    scale = SCALES["quick"]
    assert not pick(settings.best_plain(classics.PLACES, scale), panel="Taxi")
    made = made_up_results(chosen(["classics"]), scale)
    table = judged(made, classics.PLACES)[0]
    rows = {row[0]: row[-3:] for row in table.rows}
    assert rows["Taxi"] == ["-", "-", "-"]
    assert "-" not in rows["GridWorld"]


# -- bounds


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (Line(-0.012, 0.001, -0.01, 20), "kept"),  # reaches it with two standard errors
        (Line(-0.0121, 0.001, -0.01, 20), "missed"),
        (Line(0.0103, 0.0101, -0.01, 20), "clear"),  # few runs, but all that they leave is above
        (Line(0.0101, 0.0101, -0.01, 20), "open"),
        (Line(0.3, math.nan, -0.01, 1), "open"),
        (Line(math.nan, math.nan, -0.01, 0), "-"),
    ],
)
def test_a_bound_by_hand(line, said):
    assert line.verdict == said


def test_a_line_leaves_out_runs_that_are_missing():
    line = line_of(np.array([0.1, math.nan, 0.3]), 0.01)
    assert line == pytest.approx((0.2, 0.1, 0.01, 2))
    assert str(line) == "+0.200 (0.100) open"
    assert str(line_of(np.array([math.nan]), 0.0)) == "-"


def test_verdicts_are_counted():
    told = ["kept", "-", "missed", "kept", "open", "clear"]
    assert counted(told) == "2 of 5 lines kept, 1 clear, 1 missed, 1 open"


def test_the_best_plain_learner_is_chosen_on_seeds_of_its_own():
    """The bonus that is best where learners are compared is not asked."""
    study, choice = chosen(["best_plain"])[0], {*seeds(SMOKE, CHOICE)}
    trials = [trial for cell in study.cells(SMOKE) for trial in cell.trials]
    assert {trial.seed for trial in trials} == choice
    assert not choice & {*seeds(SMOKE)}

    def lucky(trial):
        return {"score": 0.9 if agent_of(trial) == "0.03" else 0.5}

    (table,) = study.analyse(made_up_results([study], SMOKE, lucky)).tables
    best = {row[0]: row[-2:] for row in table.rows}
    assert best["full rank"] == ["0.03", unrelated.PLACES[1].best]
    assert {told[0] for told in best.values()} == {"0.03"}


def test_the_study_plays_the_best_plain_learner_of_each_task():
    for place in PLACES:
        cells = pick(settings.best_plain([place], SCALES["paper"]), panel=place.title)
        assert [cell.agent for cell in cells] == ([place.best] if place.best else [])
        assert place.best in ("", *BONUSES)
        assert bool(place.best) == (place.title != "Taxi")


def test_the_table_of_bounds_by_hand(found):
    """Over the twin +.1 and +.3; over the others by what `scores` has of them."""
    (table,) = judged(found, unrelated.PLACES)
    best = unrelated.PLACES[1].best
    against = {"0.01": "+0.025 (0.005) kept", "0.03": "+0.040 (0.000) kept"}[best]
    row = dict(zip(table.columns, table.rows[1], strict=True))
    assert row["task"] == "full rank"
    assert row["twin, first 100"] == "-"  # 50 episodes
    assert row["twin, all"] == "+0.200 (0.045) clear"
    assert (row["best plain"], row["best plain, all"]) == (best, against)
    assert row["bound"] == "-0.005"
    assert "2 of 4 lines kept, 2 clear, 0 missed, 0 open" in table.note


def test_shares_that_are_asked_for(found):
    _, table = judged(found, classics.PLACES)
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows == {name: ["50", "+0.750 (0.022) open", bound] for name, bound in
                    {"GridWorld": "0.99", "RiverSwim": "0.998"}.items()}  # fmt: skip
    assert [place.share for place in classics.PLACES[:4]] == [0.997, 0.990, 0.996, 0.998]


def test_what_is_asked_for_over_the_best_plain_learner():
    asked = {place.title: place.bound for place in PLACES}
    assert {asked.pop(f"shared state, J={J}") for J in (2, 5)} == {0.04}
    assert asked.pop("clusters") == 0.08
    assert set(asked.values()) == {-0.005}


def test_worst_runs_are_held_against_two_twins():
    def given(trial):
        seed = trial.seed - seeds(SCALES["quick"])[0]
        table = {ANALOGIST: 0.5 - 0.05 * (seed == 1), PLAIN: 0.5 + (0.03 if seed > 99 else 0)}
        return {"score": table.get(agent_of(trial), 0.5)}

    scale = SCALES["quick"]
    made = made_up_results(chosen(["hostile"]), scale, given)
    tables = experiments.make("hostile").analyse(made).tables
    worst = next(table for table in tables if table.title == "Worst runs")
    assert worst.rows[0] == ["exceptions, p=0.1", "1,000", "-0.050", "-0.030", "missed"]
    assert len(worst.rows) == len(hostile.EXCEPTIONS)


# -- the certificate


def covered(trial):
    first = (trial.seed - FIRST) % 2 == 0
    return {
        "inferred": 30.0 if first else 50.0,
        "coverage": 0.84 if first else 0.94,
        "coverage_unmet": 0.7 if first else math.nan,
        "coverage_l1": 0.8 if first else math.nan,
        "unbounded": 0.25,
        "unmet": 10.0,
        "unbounded_unmet": 0.5 if first else math.nan,
        "tightness": 2.5,
        "loss_bound": 0.5,
        "loss": 0.1 if first else 0.6,
        "loss_kept": 1.0 if first else 0.0,
        "return_kept": 1.0,
    }


def test_coverage_by_hand():
    """Mean .89; the standard error of .84 and .94 is .05: at least .9 - .1."""
    made = made_up_results(chosen(["certificate"]), SMOKE, covered)
    first, second, third, _, loss, _ = experiments.make("certificate").analyse(made).tables
    assert first.rows[0] == [
        "shared state, J=2", "2 of 2", "40", "0.250", "0.890 ± 0.050", "holds",
        "10", "0.500", "0.700", "fails", "2.50",
    ]  # fmt: skip
    assert second.rows[0][1:6] == ["1 of 2", "40", "0.250", "0.800", "fails"]
    assert len(second.columns) == len(second.rows[0]) == len(first.columns) - 1
    assert third.rows[0][1:6] == ["0 of 2", "40", "-", "-", "-"]
    assert loss.rows[0] == [
        "shared state, J=2", "0.500", "0.350", "0.500 ± 0.500", "holds", "1.000 ± 0.000", "holds"
    ]  # fmt: skip
    assert len(first.rows) == len(
        {cell.panel for part in certificate.PARTS for cell in cells_of(part, SMOKE)}
    )


def test_a_certificate_fails_below_two_standard_errors():
    assert certificate.coverage_verdict(np.array([0.80, 0.82]), 0.9) == "fails"  # .81 + .02 < .9
    assert certificate.coverage_verdict(np.array([0.88, 0.90]), 0.9) == "holds"
    assert certificate.coverage_verdict(np.array([0.9]), 0.9) == "holds"
    assert certificate.coverage_verdict(np.array([0.9]), 0.95) == "fails"


def test_without_anything_inferred_nothing_is_said():
    made = made_up_results(chosen(["certificate"]), SMOKE)
    tables = experiments.make("certificate").analyse(made).tables
    assert tables[0].rows[0][1:] == ["0 of 2", *9 * ["-"]]
    assert tables[4].rows[0][1:] == 6 * ["-"]


# -- from the command to the docs


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    out = tmp_path_factory.mktemp("study") / "results"
    for trial in trials_of(chosen(["unrelated"]), SMOKE):
        Store(out).put(trial, made_up_result(trial, **scores(trial)))
    Manifest(["unrelated"], "smoke", "gim reproduce unrelated", 1.0).save(out)
    assert main(["report", str(out)]) == 0
    return out


def test_the_study_is_reported(ran):
    html = (ran / "report.html").read_text()
    assert "Analogy, put to the test" in html
    assert "<h3>The question</h3>" in html
    assert "Paired gain of the Analogist" in html
    assert "Bounds on the paired difference" in html
    assert (ran / "figures" / "analogy-unrelated.png").stat().st_size > 10_000
    assert not (ran / "ledger.md").exists()


@pytest.fixture(scope="module")
def refresh():
    path = Path(__file__).parent.parent / "docs" / "refresh.py"
    spec = importlib.util.spec_from_file_location("refresh", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_docs_are_filled_from_a_folder(ran, refresh, tmp_path):
    text = refresh.study(stored(ran))
    assert "### Paired gain of the Analogist" in text
    assert "| full rank | 50 |" in text
    assert "--scale smoke" in text
    page = tmp_path / "study.md"
    page.write_text("before\n<!-- results -->\nold\n<!-- /results -->\nafter\n")
    refresh.between(page, "results", text)
    assert "old" not in page.read_text()
    assert page.read_text().startswith("before\n<!-- results -->\nMade at")
    assert page.read_text().endswith("<!-- /results -->\nafter\n")


def test_tables_of_one_kind_become_one(refresh):
    one = Artefact("a", "Study: a", "", tables=[Table("t", ["task", "10"], [["x", 1]])])
    two = Artefact("b", "Study: b", "", tables=[Table("t", ["task", "2", "10"], [["y", 2, 3]])])
    ((table, sources),) = refresh.merged([one, two])
    assert table.columns == ["task", "2", "10"]
    assert table.rows == [["x", "-", 1], ["y", 2, 3]]
    assert sources == ["a", "b"]


def test_the_page_of_the_docs_has_its_place():
    text = (Path(__file__).parent.parent / "docs" / "study.md").read_text()
    assert text.count("<!-- results -->") == text.count("<!-- /results -->") == 1
