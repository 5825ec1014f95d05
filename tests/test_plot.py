"""Pictures: each is drawn, shows what it should, and says what it cannot draw."""

from __future__ import annotations

import numpy as np
import pytest

import gim

plot = pytest.importorskip("gim.plot")
pytest.importorskip("matplotlib")


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
    for word in ("right", "left", "0.7", "0.3", "r=5", "r=3,000"):
        assert word in shown
    assert drawn(plot.graph(gim.make("mixtures", S=4, A=3)), tmp_path)


def test_singular_values(tmp_path):
    assert drawn(plot.singular_values(gim.make("mixtures", S=6, A=4)), tmp_path)


def test_rates_are_drawn_beside_the_bound(tmp_path):
    figure = plot.rates((10, 40, 160), {"als": [0.02, 0.01, 0.005]}, "rates")
    assert drawn(figure, tmp_path)
    assert "1/√m" in texts(figure)
