"""Tables, curves and the progress bar, as a reader sees them."""

from __future__ import annotations

import contextlib
import io
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gim._base import terminal
from gim._base.terminal import count, duration, sparkline, table, width_of
from gim.cli import progress
from gim.cli.colour import paint
from gim.cli.progress import Progress


@pytest.fixture(autouse=True)
def plain(monkeypatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


def test_table_by_hand() -> None:
    rows = [["riverswim", 6, 0.98765, None], ["日本", 10, 12345.6, "x"], ["é", -1, float("nan"), 3]]
    assert table(rows, ["task", "S", "score", "note"]).splitlines() == [
        "task        S   score  note",
        "─────────  ──  ──────  ────",
        "riverswim   6  0.9877",
        "日本       10  12,346  x",
        "é          -1     nan  3",
    ]


def test_numbers_stand_right_words_left() -> None:
    lines = table([["a", "1.5 s", "12%"], ["bbb", "10.25 s", "5%"]], ["name", "t", "p"]).split("\n")
    assert lines[2:] == ["a       1.5 s  12%", "bbb   10.25 s   5%"]
    assert table([["1", "a"], ["22", "b"]], align="<>") == "1   a\n22  b"


def test_tables_without_header_rows_or_anything() -> None:
    assert table([["a", 1], ["b", 22]]) == "a   1\nb  22"
    assert table([], ["a", "bc"]) == "a  bc\n─  ──"
    assert table([]) == ""
    assert table([["a"], ["b", 2]]) == "a\nb  2"  # short rows are filled up
    with pytest.raises(ValueError, match="2 marks for 1"):
        table([["a"]], align="<>")


@given(st.lists(st.lists(st.text("ab日é́ 1.", max_size=6), min_size=3, max_size=3), min_size=1))
def test_columns_begin_at_one_place(rows: list[list[str]]) -> None:
    lines = table(rows, ["x", "y", "z"], align="<<<").split("\n")
    rules = lines[1].split("  ")
    for row, line in zip([["x", "y", "z"], *rows], [lines[0], *lines[2:]], strict=True):
        cells = [
            cell + " " * (width_of(rule) - width_of(cell))
            for cell, rule in zip(row, rules, strict=True)
        ]
        assert line == "  ".join(cells).rstrip()


def test_width() -> None:
    assert [width_of(text) for text in ("", "abc", "日本", "é", "é", "​x")] == [0, 3, 4, 1, 1, 1]


def test_sparkline() -> None:
    assert sparkline(range(8)) == "▁▂▃▄▅▆▇█"
    assert sparkline(np.arange(800), width=8) == "▁▂▃▄▅▆▇█"
    assert sparkline([5, 5, 5]) == "▁▁▁"
    assert sparkline([]) == ""
    assert sparkline([0, np.nan, 1, np.inf]) == "▁ █ "
    assert sparkline([np.nan]) == " "
    assert sparkline([-1, 0, 0.5, 2], low=0, high=1) == "▁▁▅█"
    assert len(sparkline(np.arange(1001), width=33)) == 33
    with pytest.raises(ValueError, match="width = 0"):
        sparkline([1], width=0)


def test_durations_and_counts() -> None:
    assert [duration(s) for s in (0, 7.4, 59.6, 754, 3723)] == [
        "0:00",
        "0:07",
        "1:00",
        "12:34",
        "1:02:03",
    ]
    assert [count(n) for n in (0, 0.5, 999, 1000, 23_456_789, 5e9)] == [
        "0",
        "0.5",
        "999",
        "1k",
        "23.5M",
        "5G",
    ]


# -- the bar, on a terminal that is a sheet of paper


class Paper(io.StringIO):
    encoding = "utf-8"

    def __init__(self, tty: bool = True) -> None:
        super().__init__()
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty

    def screen(self) -> str:
        """What a terminal shows of a line that is written over and over."""
        shown: list[str] = []
        for part in self.getvalue().split("\r"):
            shown[: len(part)] = part
        return "".join(shown).rstrip()


class Clock:
    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def width(monkeypatch):
    def set_width(columns: int) -> None:
        monkeypatch.setattr(terminal, "columns", lambda stream: columns)

    set_width(80)
    return set_width


def test_bar_shows_share_rate_and_time_left(width) -> None:
    paper, clock = Paper(), Clock()
    with Progress(1000, "training", paper, clock) as bar:
        bar.update(0)
        clock.time += 10
        bar.update(250, "mean 3.5")
        line = paper.screen()
        assert line.startswith("training █████")
        assert " 25%  0:30 left  elapsed 0:10  25/s  mean 3.5" in line
        assert len(line) <= 77
        full = line.count("█")
        empty = line.index("25%") - line.index("█") - full
        assert full / (full + empty) == pytest.approx(0.25, abs=0.06)
    assert paper.screen() == ""  # wiped


def test_bar_goes_only_forward(width) -> None:
    paper, clock = Paper(), Clock()
    with Progress(100, "x", paper, clock) as bar:
        seen = []
        for done in (10, 88, 24, 30, 90):
            clock.time += 1
            bar.update(done)
            seen.append(int(paper.screen().split("%")[0].split()[-1]))
    assert seen == [10, 88, 88, 88, 90]


def test_bar_is_drawn_at_most_ten_times_a_second(width) -> None:
    paper, clock = Paper(), Clock()
    with Progress(10_000, "x", paper, clock) as bar:
        for i in range(1000):
            clock.time += 0.01
            bar.update(i)
        drawn = paper.getvalue().count("\r")
    assert 90 <= drawn <= 101


def test_rate_follows_the_last_seconds_and_not_the_start(width) -> None:
    paper, clock = Paper(), Clock()
    with Progress(100_000, "x", paper, clock) as bar:
        for i in range(100):  # 100 s at 1/s ...
            clock.time += 1
            bar.update(i)
        for i in range(200):  # ... then 20 s at 1000/s
            clock.time += 0.1
            bar.update(100 + i * 100)
        assert " 1k/s" in paper.screen()


def test_no_time_left_is_told_before_there_are_data(width) -> None:
    paper, clock = Paper(), Clock()
    with Progress(1000, "x", paper, clock) as bar:
        bar.wait(0, "compiling")
        assert "left" not in paper.screen()
        assert "compiling" in paper.screen()
        clock.time += 27  # which says nothing of the rest
        bar.update(1)
        clock.time += 0.5
        bar.update(100)
        assert "left" not in paper.screen()
        clock.time += 0.5
        bar.update(101)
        assert "0:09 left  elapsed 0:28  100/s" in paper.screen()


def test_a_long_wait_is_told_at_once_where_there_is_no_terminal() -> None:
    paper, clock = Paper(tty=False), Clock()
    with Progress(1000, "x", paper, clock) as bar:
        bar.wait(0, "loading")
        assert paper.getvalue() == ""
        bar.wait(0, "compiling", long=True)
        assert paper.getvalue() == "x   0%  elapsed 0:00  compiling\n"
        bar.update(1)
    assert paper.getvalue().count("\n") == 1


def test_the_line_moves_while_nothing_is_done(monkeypatch) -> None:
    monkeypatch.setattr(progress, "TICK", 0.001)
    monkeypatch.setattr(progress, "REFRESH", 0.0)
    paper = Paper()
    with Progress(10, "x", paper) as bar:
        bar.update(0)
        drawn = paper.getvalue().count("\r")
        while paper.getvalue().count("\r") < drawn + 2:  # by another thread
            pass
    assert paper.screen() == ""


def test_a_table_is_folded_to_the_width_of_the_screen() -> None:
    rows = [["up", "one two three four five six seven", 1], ["down", "eight", 22]]
    made = table(rows, ["action", "rule", "n"], width=30).splitlines()
    assert max(map(len, made)) <= 30
    assert made[1].split() == ["─" * 6, "─" * 18, "──"]
    assert " ".join(line[8:26].strip() for line in made[2:-1]).strip() == rows[0][1]
    assert made[2].endswith(" 1")
    assert table(rows, ["action", "rule", "n"], width=300) == table(rows, ["action", "rule", "n"])


def test_colours_are_shown_by_a_terminal_only_and_take_no_room(monkeypatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert paint("x", "red", Paper(tty=False)) == "x"
    shown = paint("x", "red", Paper())
    assert shown == "\x1b[31mx\x1b[0m"
    assert width_of(shown) == 1
    monkeypatch.setenv("NO_COLOR", "1")
    assert paint("x", "red", Paper()) == "x"


def test_a_resumed_bar_does_not_count_what_was_done_before(width) -> None:
    paper, clock = Paper(), Clock()
    with Progress(1000, "x", paper, clock) as bar:
        bar.update(900)
        clock.time += 10
        bar.update(950)
        assert "0:10 left" in paper.screen()
        assert "5/s" in paper.screen()


@pytest.mark.parametrize("columns", [1, 2, 5, 10, 15, 20, 30, 40, 60, 100, 300])
def test_narrow_terminals(width, columns: int) -> None:
    width(columns)
    paper, clock = Paper(), Clock()
    with Progress(10, "a label", paper, clock) as bar:
        for i in range(11):
            bar.update(i, "extra " * 3)
            clock.time += 1
            line = paper.screen()
            assert len(line) <= max(columns - 3, 0)
            assert "%" in line or columns < 8


def test_odd_totals_and_counts(width) -> None:
    for total, done in ((0, 0), (5, 9), (5, -1)):
        paper = Paper()
        with Progress(total, "x", paper, Clock()) as bar:
            bar.update(done)
            assert "%" in paper.screen()


def test_without_a_terminal_short_work_is_silent_and_long_work_sparse() -> None:
    paper, clock = Paper(tty=False), Clock()
    with Progress(100, "training", paper, clock) as bar:
        for i in range(91):
            bar.update(i // 3)
            clock.time += 0.1
    assert paper.getvalue() == ""
    with Progress(100, "training", paper, clock) as bar:
        for i in range(31):
            bar.update(i)
            clock.time += 1
    lines = paper.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[0] == "training  10%  1:30 left  elapsed 0:10  1/s"
    assert "\r" not in paper.getvalue()


def test_a_terminal_without_unicode_gets_plain_letters(width) -> None:
    paper = Paper()
    paper.encoding = "ascii"
    with Progress(2, "x", paper, Clock()) as bar:
        bar.update(1)
    assert "#" in paper.getvalue()
    paper.getvalue().encode("ascii")


def test_a_real_terminal() -> None:
    """Through a pseudo-terminal: its width is asked for, and the line is wiped on an error."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    with open(theirs, "w", encoding="utf-8") as stream:

        def fail() -> None:
            with Progress(2, "work", stream) as bar:
                bar.update(1)
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail()
    read = b""
    with contextlib.suppress(OSError):  # the other side is closed, and all of it was read
        while part := os.read(ours, 10_000):
            read += part
    os.close(ours)
    text = read.decode()
    assert text.startswith("\rwork █")
    assert text.endswith("   \r")  # also over the ^C that a terminal may show
