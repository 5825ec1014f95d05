"""Labels are shown as they are, in every page and picture: nothing in them is ever obeyed."""

import numpy as np
import pytest

import gim
from gim import plot
from gim.cli import main
from gim.logs.page import page as log_page
from gim_lab.experiments.artefact import Artefact, Figure, Panel, Series, Table
from gim_lab.experiments.reproduction import Findings, Made
from gim_lab.report.page import page
from gim_lab.report.static import draw
from tests import chromium

HOSTILE = (
    "<!--<script>",
    "</script><script>window.hit = 1</script>",
    "<img src=x onerror='window.hit = 1'>",
    '" onmouseover="window.hit = 1" x="',
    "<a href='javascript:window.hit = 1'>here</a>",
    "%{x} $\\frac{$ &lt; \u2028",
)
needs_chromium = pytest.mark.skipif(
    chromium.find() is None, reason="no Chromium on this machine: labels were not tried in a page"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium.browser(tmp_path_factory.mktemp("chromium")) as running:
        yield running


def artefact(number, label):
    """One that carries a label wherever there is room for it."""
    lines = Series(label, [0.0, 1.0], [0.0, 1.0], marks=True, text=[label, label])
    figure = Figure(f"f{number}", label, [Panel(label, label, label, [lines])], label)
    table = Table(label, [label, "other"], [[label, 1.5]], label)
    return Artefact(f"k{number}", label, label, [figure], [table], [label])


def opened(browser, path):
    tab = chromium.Tab(browser)
    tab.look(1280, 900)
    tab.open(path)
    return tab


def is_inert(tab):
    """Nothing ran, nothing was asked for, nothing leads out."""
    assert tab.run("window.hit") is None
    assert tab.complaints() == []
    assert tab.requests() == []
    assert tab.run("document.querySelectorAll('img, iframe, [onerror], [onmouseover]').length") == 0
    links = "[...document.querySelectorAll('a')].map(a => a.getAttribute('href') "
    assert all(link.startswith("#") for link in tab.run(links + "|| a.href.baseVal)"))


@pytest.mark.processes
@needs_chromium
def test_a_report_shows_labels_as_they_are(browser, tmp_path):
    artefacts = [artefact(i, label) for i, label in enumerate(HOSTILE)]
    made = {each.key: Made(each.title, 1, 1, each.title, 1.0) for each in artefacts}
    told = dict(zip(HOSTILE, HOSTILE, strict=True))
    found = Findings(HOSTILE[1], "paper", HOSTILE[0], 1.0, told, artefacts, made, [], [HOSTILE[2]])
    (tmp_path / "report.html").write_text(page(found), encoding="utf-8")
    tab = opened(browser, tmp_path / "report.html")
    tab.run("drawAll()")
    is_inert(tab)
    for i, label in enumerate(HOSTILE):
        for place in ("h2", ".figure h3", "td", "th button", ".legend button", ".xtitle"):
            text = tab.run(f"document.querySelector('#k{i} {place}').textContent")
            assert "".join(text.split()) == "".join(label.split()), place


@pytest.mark.processes
@needs_chromium
def test_a_study_of_a_world_with_a_hostile_name(browser, tmp_path):
    world = tmp_path / "<!--<script>$x$ <b>.npz"
    gim.make("riverswim").save(world)
    words = ["compare", str(world), "--agents", "random", "--runs", "2", "--episodes", "5"]
    assert main([*words, "--engine", "serial", "--out", str(tmp_path / "out")]) == 0
    assert main(["report", str(tmp_path / "out")]) == 0
    tab = opened(browser, tmp_path / "out" / "report.html")
    tab.run("drawAll()")
    is_inert(tab)
    assert "<!--<script>$x$ <b>.npz" in tab.run("document.querySelector('h2').textContent")


@pytest.mark.processes
@needs_chromium
def test_the_page_of_a_log_with_hostile_labels(browser, tmp_path):
    rng = np.random.default_rng(0)
    names = np.array(HOSTILE)
    s = rng.integers(0, len(names), 200)
    a = rng.integers(0, 2, 200)
    rows = [
        (names[i], names[j], float(i == j), names[k]) for i, j, k in zip(s, a, s[::-1], strict=True)
    ]
    learned = gim.learn(gim.from_log(rows), horizon=5)
    (tmp_path / "report.html").write_text(log_page(learned, HOSTILE[1]), encoding="utf-8")
    tab = opened(browser, tmp_path / "report.html")
    is_inert(tab)
    text = tab.run("document.body.textContent")
    assert all(" ".join(label.split()) in " ".join(text.split()) for label in HOSTILE[:3])


def test_a_dollar_in_a_label_is_no_formula(tmp_path):
    """Half a formula would end the picture with an error."""
    made = draw(artefact(0, "cost in $\\frac{$").figures[0])
    made.savefig(tmp_path / "a.png")
    names = ["$\\frac{$", "b"]
    half, nothing = np.full((2, 2, 2), 0.5), np.zeros((2, 2))
    mdp = gim.TabularMDP(half, nothing, state_labels=names, action_labels=names, name=names[0])
    plot.graph(mdp).savefig(tmp_path / "b.png")
