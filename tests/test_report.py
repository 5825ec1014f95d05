import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from gim.analogy.structure import Rule
from gim.cli import main
from gim_lab.experiments.artefact import Artefact, Figure, Panel, Series, Table
from gim_lab.experiments.catalogue import chosen
from gim_lab.experiments.demo.drawings import GUESS, what_actions_do
from gim_lab.experiments.demo.rules import DemoWords
from gim_lab.experiments.demo.settings import GRID, INVENTORY, after_a_little
from gim_lab.experiments.experiment import cells_of
from gim_lab.experiments.reproduction import (
    MANIFEST,
    Findings,
    Manifest,
    findings,
    stored,
    trials_of,
)
from gim_lab.experiments.scale import SCALES
from gim_lab.report.page import page
from gim_lab.report.static import draw, save_figures
from gim_lab.report.study import study_findings
from gim_lab.report.style import AGENTS, looks
from gim_lab.testing.made_up import made_up_results
from gim_lab.trials.store import Store
from tests import chromium
from tests.faults import wait_for

SMOKE = SCALES["smoke"]
KEYS = ["table1", "fig1", "table2", "fig3", "fig5", "demo_idea", "demo_fig1"]


@pytest.fixture(scope="module")
def found():
    made = made_up_results(chosen(KEYS), SMOKE)
    return findings(Manifest(KEYS, "smoke", "gim reproduce ...", 12.0), made.table)


def without_scripts(html):
    return re.sub(r"<script.*?</script>", "", html, flags=re.S)


def test_the_page_has_the_ledger_first_and_every_artefact_beside_its_statement(found):
    html = without_scripts(page(found))
    places = [html.index(f'id="{name}"') for name in ("ledger", *KEYS)]
    assert places == sorted(places)
    for artefact in found.artefacts:
        section = html.split(f'id="{artefact.key}"')[1]
        assert artefact.statement.split(".")[0][:40].replace("'", "&#x27;") in section
        assert f"gim reproduce {artefact.key} --scale smoke" in section
    assert html.count('class="plot"') == sum(
        len(f.panels) for a in found.artefacts for f in a.figures
    )
    assert "seeds</dt><dd>0 to 1" in html
    assert "rehearsal" in html


def test_the_page_says_what_is_of_other_code(found):
    text = "12 of 40 results are of other code: gim/agents/rmax.py has changed"
    assert text not in page(found)
    assert f"<strong>{text}.</strong>" in page(replace(found, remarks=[text]))


def test_the_page_refers_to_nothing_outside(found):
    html = without_scripts(page(found))
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", html)
    assert "default-src 'none'" in html
    assert "@import" not in html
    assert "url(" not in html


def test_the_data_in_the_page_is_json_that_ends_no_script():
    tricky = Series("</script><b>", [0.0, 1.0], [0.123456789, None], text=["<i>", "</script>"])
    figure = Figure("f", "<title>", [Panel("</script>", "x", "y", [tricky])])
    table = Table("t", ["<a>"], [["<b>"], [1234.5678]])
    artefact = Artefact("k", "<h1>", "a & b", [figure], [table])
    made = Findings("<x>", "paper", "gim <y>", 1.0, {}, [artefact], {}, [])
    html = page(made)
    data = json.loads(html.split('id="data">')[1].split("</script>")[0])
    assert data["figures"]["f"]["panels"][0]["series"][0]["y"] == [0.123457, None]
    body = without_scripts(html)
    assert "<b>" not in body
    assert "gim &lt;y&gt;" in body
    assert "1,234.57" in body


def test_an_agent_has_one_colour_everywhere():
    given = looks(["GIM", "something else", "RMax"])
    assert given["GIM"] == AGENTS["GIM"]
    assert given["something else"] not in (AGENTS["GIM"], AGENTS["RMax"])
    assert len(set(AGENTS.values())) == len(AGENTS) - 1  # GIM, and GIM as in the paper
    many = looks([*AGENTS, *map(str, range(12))])
    assert len(set(many.values())) == len(many) - 1


def test_all_figures_of_a_page_give_an_agent_the_same_colour(found):
    data = json.loads(page(found).split('id="data">')[1].split("</script>")[0])
    seen = {}
    for figure in data["figures"].values():
        for name, look in figure["looks"].items():
            assert seen.setdefault(name, look) == look
    del seen["GIM (paper)"]  # the same as GIM
    assert len({tuple(look.values()) for look in seen.values()}) == len(seen)


def test_the_demonstration_begins_with_the_idea_in_a_picture_and_three_sentences(found):
    idea = next(each for each in found.artefacts if each.key == chosen(["demo"])[0].key)
    html = without_scripts(page(replace(found, entries=[], artefacts=[idea, *found.artefacts])))
    assert html.index("<svg") < html.index("<table")
    statement = idea.statement
    assert statement.count(". ") == 2
    run = after_a_little(GRID)
    visits = run.memory.belief.counts.n
    pairs, rules, policy = (each.svg for each in idea.pictures[0].drawings)
    assert pairs.count("fill-opacity") - run.mdp.S == (visits > 0).sum()  # frames have one, too
    for rule in run.analogies():
        for _, chance in rule.outcomes:
            assert f">{chance:.2f}<".replace("0.", ".") in rules
    met = visits[np.arange(run.mdp.S), np.asarray(run.best_policy())[0]] > 0
    assert policy.count('<polygon points="') == run.mdp.S
    assert policy.count(f'fill="{GUESS}"') == (~met).sum() > 0


def test_no_label_of_a_drawing_is_cut(found):
    """ ".66" at the edge was read as "66"."""
    names = ["up", "w" * 30, "x"]
    outcomes = tuple(
        ({"row": dy, "col": dx}, 0.66) for dy, dx in ((-1, 0), (0, -1), (2, 0), (0, 3))
    )
    rules = [Rule(name, outcomes, 10, 1.0, ()) for name in names]
    idea = next(each for each in found.artefacts if each.key == "demo_idea")
    for svg in [what_actions_do(rules), *(each.svg for each in idea.pictures[0].drawings)]:
        box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
        wide, high = map(float, box.groups())
        texts = re.findall(
            r'<text x="([-\d.]+)" y="([-\d.]+)" font-size="(\d+)" text-anchor="(\w+)"[^>]*>([^<]*)',
            svg,
        )
        assert len(texts) == svg.count("<text")
        for x, y, size, anchor, words in texts:
            room = 0.62 * float(size) * len(words)  # of this many letters in a common face
            left = float(x) - (room / 2 if anchor == "middle" else 0)
            assert 0 <= left <= left + room <= wide
            assert float(size) * 0.75 <= float(y) <= high
    assert what_actions_do(rules).count(">.66<") == 12


def test_what_has_no_values_between_is_drawn_in_steps():
    (figure,) = DemoWords().analyse(None).figures
    run = after_a_little(INVENTORY)
    orders = np.asarray(run.best_policy())[0]
    mine, best = figure.panels[0].series
    assert {series.kind for series in (mine, best)} == {"step"}
    assert mine.x == list(range(run.mdp.S))
    assert mine.y == orders.tolist()
    assert best.y == run.mdp.plan().policy[0].tolist()
    drawn = draw(figure).axes[0].lines
    assert [line.get_drawstyle() for line in drawn[:2]] == ["steps-mid"] * 2
    assert drawn[0].get_ydata().tolist() == orders.tolist()


def test_figures_are_written_twice_alike(found, tmp_path):
    artefacts = [a for a in found.artefacts if a.key in ("fig3", "fig5")]
    first = save_figures(artefacts, tmp_path / "a")
    second = save_figures(artefacts, tmp_path / "b")
    names = {path.name for path in first}
    assert names == {
        f"{name}.{ending}"
        for name in ("figure3-authors", "figure3-fair")
        for ending in ("png", "pdf")
    } | {"figure5-1.svg"}
    for a, b in zip(first, second, strict=True):
        assert a.read_bytes() == b.read_bytes()
        assert a.read_bytes()[:4] in (b"\x89PNG", b"%PDF", b"<svg")


def test_a_picture_says_how_many_runs_and_episodes_it_is_of(found):
    artefact = next(a for a in found.artefacts if a.key == "fig3")
    below = draw(artefact.figures[0]).legends[0].get_title().get_text().replace("\n", " ")
    assert below == artefact.figures[0].note
    assert "runs of 4,000 episodes" in below


def test_a_panel_without_anything_says_so():
    gap = Series("RMax", [1.0, 2.0], [None, None], marks=True, hollow=[True, True])
    drawn = draw(Figure("f", "t", [Panel("p", "m", "PostAvgReward", [gap])]))
    assert "no run finished exploring" in [text.get_text() for text in drawn.axes[0].texts]


# -- the commands


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    out = tmp_path_factory.mktemp("ran") / "results"
    words = ["reproduce", "fig3", "--scale", "smoke", "--engine", "serial", "--out", str(out)]
    assert main(words) == 0
    return out, words


def test_reproduce_runs_judges_and_reports(ran):
    out, _ = ran
    assert {path.name for path in out.iterdir()} >= {
        "trials", "figures", "report.html", "ledger.md", "ledger.json", MANIFEST
    }  # fmt: skip
    entries = json.loads((out / "ledger.json").read_text())
    assert {entry["key"] for entry in entries} == {"more_reward", "sooner"}


def test_a_second_start_runs_nothing_and_takes_more_artefacts_in(ran, capsys):
    out, words = ran
    before = {path: path.stat().st_mtime_ns for path in (out / "trials").iterdir()}
    words = [*words]
    words[1:2] = ["table1"]
    assert main(words) == 0
    assert "Table 1" in capsys.readouterr().out
    assert Manifest.load(out).keys == ["fig3", "table1"]
    assert {path: path.stat().st_mtime_ns for path in (out / "trials").iterdir()} == before


def test_report_makes_the_page_again_from_what_is_stored(ran):
    out, _ = ran
    page_before = (out / "report.html").read_text()
    (out / "report.html").unlink()
    assert main(["report", str(out)]) == 0
    again = (out / "report.html").read_text()
    assert 'id="figure3-fair"' in again
    assert len(again) > 0.9 * len(page_before)
    assert stored(out).scale == "smoke"


def test_report_of_a_folder_that_lacks_trials_says_how_to_run_them(ran, tmp_path, capsys):
    out, _ = ran
    (tmp_path / MANIFEST).write_bytes((out / MANIFEST).read_bytes())
    assert main(["report", str(tmp_path)]) == 2
    assert "lacks 24 of 24 trials: run gim reproduce fig3" in capsys.readouterr().err


def test_what_was_stopped_has_as_many_runs_of_everything():
    trials = trials_of(chosen(["fig3"]), SMOKE)
    place = {trial: i for i, trial in enumerate(trials)}
    cells = cells_of("fig3", SMOKE)
    ends = [max(place[cell.trials[k]] for cell in cells) for k in range(SMOKE.runs)]
    starts = [min(place[cell.trials[k]] for cell in cells) for k in range(SMOKE.runs)]
    assert ends[0] < starts[1] <= ends[1] == len(trials) - 1


def test_a_study_that_was_stopped_can_be_looked_at(ran, tmp_path, monkeypatch):
    out, words = ran
    monkeypatch.setattr("gim_lab.cli.reproduce.play", lambda *_: 75)  # Ctrl-C at once
    mine = tmp_path / "mine"
    assert main([*words[:-1], str(mine)]) == 75
    (mine / "trials").mkdir(exist_ok=True)
    for trial in trials_of(chosen(["fig3"]), SMOKE)[:12]:
        Store(mine).put(trial, Store(out).get(trial))
    seen = stored(mine, partial=True)
    assert seen.remarks == ["12 of 24 trials have not ended and are left out"]
    assert [artefact.key for artefact in seen.artefacts] == ["fig3"]


def test_report_of_any_other_study(tmp_path):
    words = "compare riverswim --agents q_learning,random --runs 2 --episodes 30 --engine serial"
    assert main([*words.split(), "--out", str(tmp_path / "mine")]) == 0
    assert main(["report", str(tmp_path / "mine")]) == 0
    html = without_scripts((tmp_path / "mine" / "report.html").read_text())
    assert "riverswim, 30 episodes" in html
    assert "q_learning" in html
    assert "Credible certificate" not in html
    assert "Study: mine" in html


def test_a_study_shows_its_description_the_optimum_and_the_best_agent_first(tmp_path):
    study = tmp_path / "rivers.toml"
    study.write_text(
        'title = "Rivers"\ndescription = "Who swims & far?"\nepisodes = 40\nruns = 2\n'
        'tasks = ["synthetic"]\nagents = ["random", "optimal"]\n'
    )
    assert main(["run", str(study), "--engine", "serial", "--out", str(tmp_path / "mine")]) == 0
    made = study_findings(Store(tmp_path / "mine").results(), "gim", tmp_path / "mine")
    assert made.title == "Rivers"
    assert made.remarks == ["Who swims & far?"]
    html = page(made)
    assert "<strong>Who swims &amp; far?</strong>" in html  # and no full stop behind it
    assert 'class="artefact alone"' in html  # nothing stands beside the figures
    assert "<aside" not in html
    (artefact,) = made.artefacts
    assert [row[0] for row in artefact.tables[0].rows] == ["optimal", "random"]
    returns, regret = artefact.figures[0].panels
    lines = {each.name: each for each in returns.series}
    assert set(lines) == {"optimal", "random", "Optimal", "Random"}
    best = lines["Optimal"].y[0]
    means = {each.name: np.mean(each.y) for each in returns.series}
    assert abs(means["optimal"] - best) < abs(means["random"] - best)
    lost = {each.name: each.y[-1] for each in regret.series}
    assert lost["random"] > abs(lost["optimal"])
    (tmp_path / "mine" / "study.toml").write_text("[[")  # its results are shown all the same
    assert (
        study_findings(Store(tmp_path / "mine").results(), "gim", tmp_path / "mine").remarks == []
    )


def test_a_study_reports_what_certificates_say(tmp_path):
    words = "compare riverswim --agents analogist,random --runs 2 --episodes 300 --engine serial"
    assert main([*words.split(), "--out", str(tmp_path / "mine")]) == 0
    assert main(["report", str(tmp_path / "mine")]) == 0
    html = without_scripts((tmp_path / "mine" / "report.html").read_text())
    said = "Credible certificate: with probability 90 % the best policy that analogist has learned"
    assert said in html
    assert "(means over 2 runs)" in html


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reproduce", "fig99"], "unknown artefact 'fig99': did you mean 'fig9'?"),
        (["reproduce", "fig1", "--scale", "papr"], "unknown scale 'papr': did you mean 'paper'?"),
        (["reproduce", "fig1", "--engine", "warp"], "warp"),
        (["report", "nowhere"], "nowhere is no folder"),
        (["report", "."], "holds no trials"),
    ],
)
def test_what_is_wrong_is_said_in_a_line_and_nothing_is_written(
    words, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_foreign_manifest_is_refused(tmp_path, capsys):
    (tmp_path / MANIFEST).write_text('{"keys": ["fig1"], "scale": "huge"}')
    assert main(["report", str(tmp_path)]) == 2
    assert "run gim reproduce again" in capsys.readouterr().err


def test_without_words_the_artefacts_are_listed(capsys):
    assert main(["reproduce"]) == 2
    told = capsys.readouterr()
    assert "fig12to14" in told.out + told.err


# -- in a browser

needs_chromium = pytest.mark.skipif(
    chromium.find() is None,
    reason="no Chromium on this machine: the report page was not tested in a browser",
)


@pytest.fixture(scope="module")
def opened(found, tmp_path_factory):
    """The page on a screen of a width and a colour scheme, opened once for all tests."""
    html = tmp_path_factory.mktemp("report") / "report.html"
    html.write_text(page(found), encoding="utf-8")
    with chromium.browser(tmp_path_factory.mktemp("chromium")) as browser:

        @cache
        def tab(width, dark):
            made = chromium.Tab(browser)
            made.look(width, 900, dark)
            made.open(html)
            made.run("drawAll()")
            return made

        yield lambda width=1280, dark=False: tab(width, dark)


@pytest.mark.processes
@needs_chromium
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_renders_quietly_at_any_width(opened, found, width, dark):
    tab = opened(width, dark)
    panels = sum(len(figure.panels) for each in found.artefacts for figure in each.figures)
    assert tab.run("document.querySelectorAll('.plot .main-svg').length") >= panels
    assert tab.run("document.querySelectorAll('.plot:empty').length") == 0
    assert tab.complaints() == []
    assert tab.requests() == []
    assert tab.run("document.documentElement.scrollWidth <= innerWidth")  # nothing sideways
    assert tab.run(
        "[...document.querySelectorAll('.plot')].every("
        "p => p.querySelector('.main-svg').getBoundingClientRect().right <= innerWidth)"
    )
    assert tab.run("parseFloat(getComputedStyle(document.body).fontSize)") >= 16
    cut = "[...document.querySelectorAll('.scroll')].map(e => e.scrollWidth - e.clientWidth)"
    assert set(tab.run(cut)) == {0}  # every table is seen whole


LUMINANCE = """(text) => {
  const channel = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const [r, g, b] = text.match(/[\\d.]+/g).map(Number).map(channel);
  return .2126 * r + .7152 * g + .0722 * b;
}"""


@pytest.mark.processes
@needs_chromium
@pytest.mark.parametrize("dark", [False, True])
def test_all_text_stands_out_from_its_ground(opened, dark):
    tab = opened(dark=dark)
    contrasts = tab.run(
        f"""(() => {{
        const luminance = {LUMINANCE};
        const ground = (e) => {{
          for (; e; e = e.parentElement) {{
            const colour = getComputedStyle(e).backgroundColor;
            if (colour !== "rgba(0, 0, 0, 0)") return colour;
          }}
          return "rgb(255, 255, 255)";
        }};
        const kinds = "p, td, th, h1, h2, h3, a, .pill, .soft, dt, summary";
        return [...document.querySelectorAll(kinds)].map(e => {{
          const [a, b] = [luminance(getComputedStyle(e).color), luminance(ground(e))];
          return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        }});
        }})()"""
    )
    assert min(contrasts) > 4.5  # WCAG AA
    assert tab.run("getComputedStyle(document.body).backgroundColor") == (
        "rgb(20, 23, 27)" if dark else "rgb(255, 255, 255)"
    )


@pytest.mark.processes
@needs_chromium
def test_a_legend_switches_an_agent_off_in_all_panels(opened):
    tab = opened()
    shown = """[...document.querySelectorAll('#figure1-fair .plot')].map(
        p => p.data.filter(t => t.name === 'RMax' && t.visible === true).length)"""
    assert min(tab.run(shown)) > 0
    tab.run("""document.querySelector('#figure1-fair [data-name="RMax"]').click()""")
    assert set(tab.run(shown)) == {0}
    assert tab.run(
        """document.querySelector('#figure1-fair [data-name="RMax"]').ariaPressed"""
    ) == ("false")
    tab.run("""document.querySelector('#figure1-fair [data-name="RMax"]').click()""")
    assert min(tab.run(shown)) > 0


@pytest.mark.processes
@needs_chromium
def test_a_click_sorts_a_table_and_a_second_turns_it_round(opened):
    tab = opened()
    column = """[...document.querySelector('#table1 table').tBodies[0].rows].map(
        r => parseFloat(r.cells[1].textContent))"""
    head = "document.querySelectorAll('#table1 table th button')[1].click()"
    tab.run(head)
    assert tab.run(column) == sorted(tab.run(column))
    tab.run(head)
    assert tab.run(column) == sorted(tab.run(column), reverse=True)


@pytest.mark.processes
@needs_chromium
def test_no_button_of_a_figure_leads_to_a_network(opened):
    tab = opened()
    titles = tab.run("[...document.querySelectorAll('.modebar-btn')].map(b => b.dataset.title)")
    assert titles
    assert not [title for title in titles if title and "loud" in title]


@pytest.mark.processes
@needs_chromium
def test_a_change_of_colour_scheme_is_followed(opened):
    tab = opened()
    tab.call("Page.bringToFront")  # what lies behind others is told of no change
    ground = "document.querySelector('.plot').layout.paper_bgcolor"
    for dark, colour in ((False, "#ffffff"), (True, "#14171b"), (False, "#ffffff")):
        tab.look(1280, 900, dark)
        wait_for(lambda colour=colour: tab.run(ground) == colour)
