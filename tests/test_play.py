"""What comes after learning: the report page, playing a policy, going on online from a log."""

from __future__ import annotations

import re
import tracemalloc
from html.parser import HTMLParser

import numpy as np
import pytest

import gim
from gim.cli import main
from gim.logs.page import page
from gim.mdp.naming import named
from tests.test_learn import river_log

NASTY = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def river():
    mdp, rows = river_log(3000)
    return mdp, gim.from_log(rows, episode="e")


class Tags(HTMLParser):
    """Collects tags and texts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def test_the_page_says_all_and_escapes_labels():
    rows = [(NASTY, "a&b", 1.0, "=cmd()"), ("=cmd()", "<b>", 0.5, NASTY)] * 20
    learned = gim.learn(gim.from_log(rows), horizon=4)
    text = page(learned, NASTY)
    found = Tags(text)
    assert "script" not in found.tags
    assert "<b>" not in text
    assert NASTY in found.texts  # as text, in title and heading
    heads = [t for t in found.texts if t.startswith(("Expected", "What", "Where"))]
    assert len(heads) >= 5
    shades = text.partition("<table class=shades>")[2].partition("</table>")[0]
    assert Tags(shades).tags.count("td") == 1 + learned.log.S * learned.log.A
    assert {"a&b", "=cmd()", "<b>"} <= set(Tags(shades).texts)
    assert "http" not in text


def test_the_page_has_the_numbers_of_the_object(river):
    learned = gim.learn(river[1])
    text = page(learned, "river")
    for number in (*learned.value, *learned.against()):
        assert f"{number:.4g}" in text
    assert "doubly robust" in text
    assert "importance sampling" in text
    assert learned.certificate.sentences[0].split(":")[1] in text
    assert "From 3,000 transitions in 6 states with 2 actions" in text
    new = np.asarray(learned.policy)[0]
    row = r"<tr( class=new)?><td>(place \d)</td><td>(left|right)</td><td>(left|right)</td>"
    told = re.findall(row, text)
    assert {state: action for _, state, _, action in told} == {
        f"place {s}": ("left", "right")[a] for s, a in enumerate(new)
    }
    assert all(bool(marked) == (old != new) for marked, _, old, new in told)


def test_rules_in_words_where_variables_allow():
    rows = []
    rng = np.random.default_rng(0)
    for _ in range(600):
        x, a = int(rng.integers(12)), int(rng.integers(2))
        rows.append((x, ("down", "up")[a], float(x == 11), min(max(x + 2 * a - 1, 0), 11)))
    text = page(gim.learn(gim.from_log(rows), horizon=5), "line")
    assert re.search(r"up: .*\+ 1", text)


def test_a_policy_is_played_by_label(river, tmp_path, capsys):
    mdp, log = river
    learned = gim.learn(log)
    learned.policy.to_csv(tmp_path / "p.csv")
    mdp.save(tmp_path / "river.npz")
    words = ["play", str(tmp_path / "p.csv"), str(tmp_path / "river.npz"), "--episodes", "400"]
    assert main(words) == 0
    said = capsys.readouterr().out
    low, high = map(
        float, re.search(r"90 % interval ([\d.]+) to ([\d.]+): each ret", said).groups()
    )
    assert low <= learned.compare(mdp)["return"] <= high
    assert f"return    {gim.evaluate(learned.policy, mdp, 400).mean:.6g} in the mean" in said
    assert "optimal" in said


def test_a_policy_is_played_in_an_environment(tmp_path, capsys):
    lake = gim.run("ucbvi", "FrozenLake-v1", episodes=200).best_policy()
    lake.save(tmp_path / "lake.npz")
    assert main(["play", str(tmp_path / "lake.npz"), "FrozenLake-v1", "--episodes", "5"]) == 0
    assert "episodes  5" in capsys.readouterr().out


def test_a_policy_that_does_not_fit_is_one_line(river, tmp_path, capsys):
    gim.learn(river[1]).policy.to_json(tmp_path / "p.json")
    assert main(["play", str(tmp_path / "p.json"), "riverswim", "--episodes", "3"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_run_goes_on_from_a_log(river):
    """With the log it plays well from the first episode; without it does not."""
    mdp, log = river
    run = gim.run("ucbvi", mdp, episodes=20, prior=log)
    assert (run.model.visits >= 0).all()
    assert run.model.visits.sum() == 3000 + run.steps
    alone = gim.run("ucbvi", mdp, episodes=20)
    assert run.returns.mean() > alone.returns.mean()
    gim.run("analogist", mdp, episodes=3, prior=log)


def test_priors_that_do_not_fit_are_said(river, tmp_path):
    mdp, log = river
    with pytest.raises(ValueError, match="6 of the 6 states of the log are no state of the world"):
        gim.run("ucbvi", "gridworld", episodes=2, prior=log)
    with pytest.raises(ValueError, match="prior= is a dict"):
        gim.run("ucbvi", mdp, episodes=2, prior=[{}])
    assert gim.run("analogist", mdp, episodes=2, prior=[log]).model is not None
    gim.learn(log).model.save(tmp_path / "m.npz")
    run = gim.run("ucbvi", mdp, episodes=2, prior=str(tmp_path / "m.npz"))
    assert run.model.visits.sum() == 3000 + run.steps


def test_a_log_is_no_world_and_it_says_what_to_do(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "orders.csv").write_text("s,a,r,s2\n0,0,1,0\n")
    (tmp_path / "steps.csv").write_text("state,action,reward,next\n0,0,1,0\n")
    for name in ("orders.csv", "steps.csv"):  # the second begins as the file of a policy does
        assert main(["train", name]) == 2
        assert f"{name} is a log, not a world" in capsys.readouterr().err
        assert main(["play", name, "riverswim"]) == 2
        assert f"{name} is no policy: the head is not that of a policy" in capsys.readouterr().err
        with pytest.raises(ValueError, match=f"{name} is no policy: a log is read by gim.from_log"):
            gim.load(name)


def test_a_large_sparse_world_is_played_without_a_dense_table(tmp_path):
    spec = "gridworld:height=46,width=46,slip=0.2,horizon=20"
    world = gim.make(spec)
    named(np.zeros(world.S, int), world).save(tmp_path / "p.npz")
    words = ["play", str(tmp_path / "p.npz"), spec, "--episodes", "4"]
    assert main(words) == 0  # compiles what plans
    tracemalloc.start()
    try:
        assert main(words) == 0
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60e6  # a table by next state would take 143 MB
