"""Control characters end before terminal, CSV and HTML, formulas before CSV."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gim
from gim._base import escapes, html
from gim._base.terminal import table
from gim.cli import main
from gim.logs.page import page
from gim.mdp.policy import Policy
from gim_lab.trials.result import Result
from gim_lab.trials.results import Results

BAD = "bell\x07\x1b]0;title\x07\x1b[31m\x9b2J\u202eabc\r\n=x"
RAW = escapes.BUT_LINES
HOSTILE = ["=1+1", "+1", "-1", "@x", "＝1", "'q", '"q"', '"', "[1]", "", "12", "true", "nan", " =1",
           BAD, "\t=1", "\n", "\ud800", "a,b", "<b>", "1e5", "é"]  # fmt: skip


@given(st.text(alphabet=st.characters(), max_size=8) | st.sampled_from(HOSTILE))
def test_a_cell_comes_back_and_does_nothing(text):
    written = escapes.cell(text)
    assert escapes.uncell(written) == text
    assert not escapes.CONTROL.search(written)
    assert not written.startswith(escapes.FORMULA)


@given(st.text(max_size=20))
def test_what_is_shown(text):
    assert not escapes.CONTROL.search(escapes.shown(text))
    assert not RAW.search(escapes.escape(text))
    assert len(escapes.shown(text)) == len(text)


def test_a_label_of_any_length_is_cut():
    assert len(escapes.shown("a" * 10**6)) == escapes.LONGEST + 1


@pytest.mark.parametrize("variables", [False, True])
def test_labels_come_back_from_a_policy_in_csv(tmp_path, variables):
    labels = [(each, i) for i, each in enumerate(HOSTILE)] if variables else HOSTILE
    states = gim.mdp.names.Names(
        "state", len(labels), labels, names=(BAD, "=k") if variables else None
    )
    policy = Policy(np.arange(len(labels)), states, HOSTILE)
    policy.to_csv(tmp_path / "p.csv")
    text = (tmp_path / "p.csv").read_bytes().decode()
    assert not RAW.search(text.replace("\r\n", "\n"))
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    assert not [cell for cell in cells if cell.startswith(escapes.FORMULA)]
    back = gim.load(tmp_path / "p.csv")
    assert (back.states, back.actions.labels) == (states, tuple(HOSTILE))
    assert [back(label) for label in labels] == HOSTILE


def test_results_as_csv(tmp_path):
    columns = {"task": "=cmd|' /C calc'!A0", "notes": BAD, "seed": -3, "agent": "random"}
    Results.of([Result(columns, {})]).to_csv(tmp_path / "r.csv")
    text = (tmp_path / "r.csv").read_bytes().decode()
    assert not RAW.search(text.replace("\r\n", "\n"))
    head, row = csv.reader(io.StringIO(text, newline=""))
    found = dict(zip(head, row, strict=True))
    assert found["task"] == "'" + columns["task"]
    assert escapes.uncell(found["notes"]) == BAD
    assert (found["seed"], found["agent"]) == ("-3", "random")


def log_of(labels):
    rows = [(labels[i % 3], labels[3 + i % 2], 1.0 + i % 2, labels[(i + 1) % 3]) for i in range(60)]
    return gim.from_log(rows)


def test_the_page_of_a_log_and_what_is_printed_of_it():
    learned = gim.learn(log_of([BAD, BAD + "2", "=1", BAD, "\x1b[31mgo"]), horizon=4)
    shown = [page(learned, BAD), html.text(BAD, BAD), html.facts(BAD, [[BAD, 3]])]
    shown += [learned.log.describe(), learned.describe(), learned.policy.table()]
    shown += [table([[BAD]], [BAD]), repr(learned.log.variables)]
    assert not [text for text in shown if RAW.search(text)]
    assert "title" in learned.policy.table()
    assert "title" in shown[0]


def test_the_command_lets_nothing_through(tmp_path, monkeypatch, capsys):
    """Whatever a command prints, of its own or of others, goes through one guard."""

    def printing(args):
        print(f"{BAD}\tfine")
        return 0

    monkeypatch.setattr("gim.cli.agents.run", printing)
    assert main(["agents"]) == 0
    out = capsys.readouterr().out
    assert not RAW.search(out)
    assert out.count("\n") == 2
    assert "fine" in out


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_and_colours_still_reach_a_terminal():
    stream = Terminal()
    guarded = escapes.Guarded(stream, drawn=True)
    print("\r\x1b[31mred\x1b[0m\x1b[2J\x1b]0;x\x07", file=guarded)
    assert guarded.isatty()
    assert stream.getvalue() == "\r\x1b[31mred\x1b[0m\ufffd[2J\ufffd]0;x\ufffd\n"
