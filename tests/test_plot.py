"""Pictures: each is drawn, shows what it should, and says what it cannot draw."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from scipy import stats

import gim
from gim.belief.family.family import learned
from gim.model.counts import Known
from gim.runs.agent import agents
from gim.runs.callbacks import tensorboard, weights_and_biases
from gim.runs.run import prepare
from gim_lab import execute, grid
from tests.family_worlds import counted, shop_rows, shop_space

plot = pytest.importorskip("gim.plot")
look = pytest.importorskip("gim.plot.look")
pytest.importorskip("matplotlib")
backend_agg = pytest.importorskip("matplotlib.backends.backend_agg")
image = pytest.importorskip("PIL.Image")


def texts(figure):
    return " ".join(t.get_text() for t in figure.findobj(lambda o: hasattr(o, "get_text")))


def drawn(figure, tmp_path):
    figure.savefig(tmp_path / "picture.png")
    return (tmp_path / "picture.png").stat().st_size > 2000


def test_knownness_shows_the_mask_fill_up(tmp_path):
    figure = plot.knownness(gim.GIM(m=5), gim.make("synthetic", S=6, A=4), frames=3)
    assert drawn(figure, tmp_path)
    shares = [axis.images[0].get_array().mean() for axis in figure.axes[:3]]
    assert shares == sorted(shares)
    with pytest.raises(ValueError, match="keeps no known-ness mask"):
        plot.knownness(gim.QLearning(), gim.make("riverswim"))


def test_any_agent_says_whether_it_keeps_a_known_ness_mask():
    mdp = gim.make("gridworld", height=2, width=2)
    keeps = set()
    for name in agents.names():
        run = prepare(agents.make(name), mdp, 1)
        known, own = run.agent.known(run.memory), getattr(run.memory, "known", None)
        assert known is (own if isinstance(own, Known) else None), name
        keeps |= {name} if known is not None else set()
    assert keeps >= {"gim", "two_phase", "rmax", "e3"}
    assert not keeps & {"ucbvi", "relocatable_rmax", "random"}


def test_a_walk_is_a_film_of_what_is_known_and_learned(tmp_path):
    mdp = gim.make("gridworld", seed=0)
    path = tmp_path / "walk.gif"
    figure = plot.walk(gim.UCBVI(), mdp, path, s=5, episodes=10, frames=5, seconds=1.0)
    with image.open(path) as film:
        assert film.n_frames == 5
        lasts = []
        for k in range(5):
            film.seek(k)
            lasts.append(film.info["duration"])
        assert lasts == [200] * 4 + [1700]
    assert path.stat().st_size < 200_000
    known, learned, error = (axis.images[0].get_array() for axis in figure.axes[:3])
    run = gim.run(gim.UCBVI(), mdp, episodes=10)
    assert np.array_equal(known, np.minimum(run.agent.belief(run.memory).counts.n, 1))
    assert np.allclose(learned, run.model.transitions[:, :, 5])
    assert np.allclose(error, abs(run.model.transitions[:, :, 5] - mdp.transitions[:, :, 5]))
    assert f"step {run.steps:,}" in texts(figure)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"path": "walk.mp4"}, "must end in .gif"),
        ({"s": 16}, "has the states 0 to 15"),
        ({"frames": 1}, "a film has at least 2"),
        ({"agent": gim.QLearning()}, "counts no transitions"),
    ],
)
def test_what_no_walk_can_show(given, message):
    with pytest.raises(ValueError, match=message):
        plot.walk(**({"agent": gim.UCBVI(), "mdp": gim.make("gridworld"), "episodes": 2} | given))


def test_a_walk_shows_what_was_met_by_an_agent_whose_mask_is_of_predictions():
    mdp = gim.make("gridworld", seed=0)
    agent = agents.make("relocatable_rmax")
    figure = plot.walk(agent, mdp, episodes=3, frames=2)
    run = gim.run(agent, mdp, episodes=3)
    known = figure.axes[0].images[0].get_array()
    assert np.array_equal(known, np.minimum(run.agent.belief(run.memory).counts.n, 1))
    assert "met: " in texts(figure)
    with pytest.raises(ValueError, match="keeps no known-ness mask"):
        plot.knownness(agent, mdp)


def test_completion_shows_true_known_learned_and_error(tmp_path):
    mdp = gim.make("synthetic", S=6, A=4, seed=2)
    model = gim.run(gim.GIM(m=10), mdp, episodes=2000).model
    figure = plot.completion(model, mdp, 1)
    assert drawn(figure, tmp_path)
    true, known, learned, error = (axis.images[0].get_array() for axis in figure.axes[:4])
    assert np.allclose(true, mdp.transitions[:, :, 1])
    assert np.allclose(error, np.abs(learned - true))
    assert np.ma.getmaskarray(np.ma.masked_invalid(known)).sum() == (~model.known).sum()


def test_grid_has_an_arrow_for_each_cell(tmp_path):
    mdp = gim.make("gridworld", height=3, width=3, start=0)
    figure = plot.grid(mdp)
    assert drawn(figure, tmp_path)
    lake = gim.from_gymnasium("FrozenLake-v1")
    arrows = [text for text in plot.grid(lake).axes[0].texts if not text.get_text()]
    assert len(arrows) == lake.S - lake.terminal.sum()
    with pytest.raises(ValueError, match="is no grid"):
        plot.grid(gim.make("riverswim"))


def test_graph_names_states_actions_probabilities_and_rewards(tmp_path):
    figure = plot.graph(gim.make("riverswim"))
    assert drawn(figure, tmp_path)
    shown = texts(figure)
    arrows = [text for text in figure.axes[0].texts if getattr(text, "arrow_patch", None)]
    assert len(arrows) == np.count_nonzero(gim.make("riverswim").transitions)
    for word in ("right", "left", "0.7", "0.3", "r=5", "r=3,000"):
        assert word in shown
    assert drawn(plot.graph(gim.make("mixtures", S=4, A=3)), tmp_path)


def test_singular_values(tmp_path):
    assert drawn(plot.singular_values(gim.make("mixtures", S=6, A=4)), tmp_path)


def test_rates_are_drawn_beside_the_bound(tmp_path):
    figure = plot.rates((10, 40, 160), {"als": [0.02, 0.01, 0.005]}, "rates")
    assert drawn(figure, tmp_path)
    assert "1/√m" in texts(figure)


def test_curves_show_returns_and_regret_with_intervals() -> None:
    runs = {name: gim.run(name, "riverswim", 40, seeds=range(3)) for name in ("psrl", "random")}
    returns, regret = plot.curves(runs).axes
    (psrl, random) = (line for line in regret.lines if line.get_label() in runs)
    best = runs["psrl"][0].mdp.optimal_return()
    expected = (40 * best - runs["psrl"].returns.sum(axis=1)).mean()
    assert psrl.get_ydata()[-1] == pytest.approx(expected)
    assert random.get_ydata()[-1] > psrl.get_ydata()[-1]
    shown = ["psrl", "random", "optimum", "random policy"]
    assert [text.get_text() for text in plot.curves(runs).legends[0].texts] == shown
    assert not returns.collections  # three runs have no interval
    assert not plot.curves(runs).legends[0].get_title().get_text()


def test_bands_of_five_runs_are_named() -> None:
    runs = gim.run("psrl", "riverswim", 40, seeds=range(5))
    figure = plot.curves(runs, share=0.9)
    (band,) = figure.axes[0].collections
    named = figure.legends[0].get_title().get_text()
    assert named == "bands: 90 % interval of the mean (Student's t)"
    low, high = stats.t.interval(0.9, 4, runs.returns[:, 0].mean(), stats.sem(runs.returns[:, 0]))
    edges = band.get_paths()[0].vertices
    at_first = edges[edges[:, 0] == 1, 1]
    assert (at_first.min(), at_first.max()) == pytest.approx((low, high))


def test_curves_of_a_world_without_a_table_show_returns_only() -> None:
    env = gymnasium.make("Blackjack-v1")
    run = gim.run("q_learning", env, episodes=20, horizon=20)
    assert len(plot.curves(run).axes) == 1


def test_rules_are_drawn_with_their_chances() -> None:
    rule = gim.Rule("up", (({"row": -1}, 0.6), ({"col": 1}, 0.4)), 10, 1.0, ())
    (axis,) = plot.analogies([rule]).axes
    assert [bar.get_width() for bar in axis.patches] == [0.6, 0.4]
    assert [text.get_text() for text in axis.get_yticklabels()] == ["row - 1", "col + 1"]
    with pytest.raises(ValueError, match="play more episodes"):
        plot.analogies([])


def light(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return float(np.dot((0.2126, 0.7152, 0.0722), linear))


@pytest.mark.parametrize("page", ["#ffffff", "#131416", "#14171b"])
def test_all_colours_are_legible_on_light_and_dark_pages(page) -> None:
    def contrast(colour: str) -> float:
        low, high = sorted((light(colour), light(page)))
        return (high + 0.05) / (low + 0.05)

    assert min(map(contrast, (*plot.COLOURS, look.FAINT))) >= 3
    assert contrast(look.INK) >= 4


PICTURES = {
    "curves": lambda: plot.curves(gim.run("random", "riverswim", 20)),
    "grid": lambda: plot.grid(gim.make("gridworld", map="S..#/..G./#...", horizon=20)),
    "graph": lambda: plot.graph(gim.make("riverswim")),
    "analogies": lambda: plot.analogies([gim.Rule("up", (({"row": -1}, 1.0),), 10, 1.0, ())]),
    "singular_values": lambda: plot.singular_values(gim.make("riverswim")),
    "rates": lambda: plot.rates((10, 40), {"als": [0.02, 0.01]}, "rates"),
    "visits": lambda: plot.visits(LOG),
    "family": lambda: plot.family(CHAIN),
    "walk": lambda: plot.walk(gim.UCBVI(), gim.make("riverswim"), episodes=2, frames=2),
    "completion": lambda: plot.completion(
        gim.run("psrl", "riverswim", 20).model, gim.make("riverswim")
    ),
    "knownness": lambda: plot.knownness(gim.GIM(m=2), gim.make("riverswim"), frames=2),
}
LONG = "a name that is far longer than any picture would have room for on one line"
CHAIN = learned(shop_space(), counted(shop_rows([2.0, 3.0, 5.0], 30)), ["a", "b", "c"])
LOG = gim.from_log([(LONG, "go", 1.0, "b"), ("b", f"to {LONG}", 0.0, LONG), (LONG, "no", 0.0, "b")])


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_have_no_ground_and_nothing_is_cut(name) -> None:
    made = PICTURES[name]()
    canvas = backend_agg.FigureCanvasAgg(made)
    canvas.draw()
    assert np.asarray(canvas.buffer_rgba())[0, 0, 3] == 0
    for axis in (made, *made.axes):
        assert axis.patch.get_facecolor()[3] < 0.5
    shown, room = made.get_tightbbox(), made.bbox_inches
    assert room.x0 - 0.02 <= shown.x0 <= shown.x1 <= room.x1 + 0.02
    assert room.y0 - 0.02 <= shown.y0 <= shown.y1 <= room.y1 + 0.02


def test_every_function_that_draws_is_looked_at() -> None:
    drawing = {name for name in plot.__all__ if name.islower() and name not in
               ("figure", "looks", "name_of")}  # fmt: skip
    assert drawing == {*PICTURES}


def test_units_are_drawn_in_order_with_their_intervals() -> None:
    (axis,) = plot.family(CHAIN).axes
    (points,) = axis.lines
    value, at = points.get_data()
    (lines,) = axis.collections
    for x, y, line in zip(value, at, lines.get_segments(), strict=True):
        assert line[0, 0] < x < line[1, 0]
        assert line[:, 1].tolist() == [y, y]
    assert [t.get_text() for t in axis.get_yticklabels()] == ["a", "b", "c"]
    assert sorted(value) == value.tolist()


def test_labels_are_folded_and_never_cut() -> None:
    figure = plot.visits(LOG)
    shown = [t.get_text().replace("\n", " ") for t in figure.axes[0].get_xticklabels()]
    assert shown == [*map(str, LOG.actions)]
    names = ("up", "down", "left", "right", "extraordinary")
    cell = {"layout": {"cells": [(0, 0)]}}
    mdp = gim.TabularMDP(np.ones((1, 5, 1)), np.zeros((1, 5)), action_labels=names, info=cell)
    words = {t.get_text().replace("\n", "") for t in plot.grid(mdp, np.array([4])).axes[0].texts}
    assert "extraordinary" in words


def test_visits_of_a_log_count_in_whole_numbers() -> None:
    image = plot.visits(LOG).axes[0].images[0]
    assert (image.norm.vmin, image.norm.vmax) == (1, 2)
    shown = np.ma.masked_invalid(image.get_array()).filled(0)
    assert np.array_equal(shown, LOG.counts.n)


def test_a_grid_shows_start_goals_and_holes() -> None:
    lake = gim.from_gymnasium("FrozenLake-v1")
    words = [text.get_text() for text in plot.grid(lake).axes[0].texts if text.get_text()]
    assert sorted(words) == ["G", "H", "H", "H", "H", "S"]
    button = gim.make("button")
    words = {text.get_text() for text in plot.grid(button).axes[0].texts if text.get_text()}
    assert "press" in words  # an action that is no move is named


def test_a_graph_that_nobody_could_read_is_refused_or_pruned() -> None:
    mdp = gim.make("synthetic", S=12, A=6, seed=0)
    with pytest.raises(ValueError, match="cannot be read: leave unlikely ones out with least="):
        plot.graph(mdp)
    P = mdp.transitions
    few = plot.graph(mdp, least=0.3).axes[0]
    assert len(few.texts) >= (P >= 0.3).sum()
    with pytest.raises(ValueError, match="900 states"):
        plot.graph(gim.make("gridworld", height=30, width=30), least=0.9)


def test_notebooks_show_worlds_runs_policies_certificates_and_results() -> None:
    run = gim.run("psrl", "riverswim", episodes=60, seed=0)
    results = execute(grid(["riverswim"], ["random"], 5, [0]), engine="serial")
    shown = {
        "steps of an episode": run.mdp,
        "<polyline": run,
        "action": run.best_policy(),
        "Certificate (credible)": gim.certify(run),
        "mean score": results,
        "2 of 4 seen": (log := gim.from_log([("x", "go", 1.0, "y"), ("y", "wait", 0.0, "x")] * 5)),
        "never tried": gim.learn(log, horizon=2),
    }
    for text, thing in shown.items():
        assert text in thing._repr_html_()
    odd = gim.TabularMDP(np.ones((1, 1, 1)), np.zeros((1, 1)), horizon=1, name="<script>")
    assert "<script>" not in odd._repr_html_()


class Told(dict):
    """Stands for a writer of TensorBoard and for a run of Weights & Biases."""

    def add_scalar(self, name: str, value: float, step: int) -> None:
        self[name, step] = value

    def log(self, numbers: dict[str, float], step: int) -> None:
        self.update({(name, step): value for name, value in numbers.items()})


@pytest.mark.parametrize("make", [tensorboard, weights_and_biases])
def test_callbacks_tell_other_tools_and_do_not_pause(make) -> None:
    told = Told()
    run = gim.run("q_learning", "riverswim", episodes=300, callback=make(told, "mine"))
    assert run.finished
    assert told["mine/mean_return", 300] == pytest.approx(run.returns[-30:].mean())
    assert told["mine/steps", 300] == run.steps
