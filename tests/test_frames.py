"""Frames: compiled code reads from a block of words what Python has put there."""

from typing import NamedTuple

import numpy as np
import pytest

from gim._compile.frames import Frame, opened
from gim._compile.jit import checked, entry, hot, plain


class Part(NamedTuple):
    table: np.ndarray
    on: bool
    rate: float


class Whole(NamedTuple):
    part: Part
    size: int
    last: np.ndarray


@hot
def weigh(whole, i):
    part = whole.part
    whole.last[0] += 1
    total = whole.size + part.rate if part.on else -part.rate
    for j in range(part.table.shape[1]):
        total += part.table[i, j]
    return total


@entry
def read(frame, i):
    return weigh(opened(frame), i)


def count_on(frame, stop):
    while stop[0] >= 0:
        whole = opened(frame)
        whole.last[0] += stop[0]
        yield whole.last[0]


TABLE = np.arange(12.0).reshape(3, 4)
TABLES = {
    "rows": TABLE,
    "columns": np.asfortranarray(TABLE),
    "strided": np.arange(48.0).reshape(6, 8)[::2, ::2],
    "backwards": TABLE[::-1],
    "whole numbers": TABLE.astype(np.int8),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("on", [True, False])
def test_compiled_code_reads_what_was_framed(table, on):
    last = np.zeros(1, np.int64)
    whole = Whole(Part(table, on, 0.25), -7, last)
    want = plain(weigh)(whole, 2)
    assert read(Frame(whole), 2) == want == plain(read)(Frame(whole), 2)
    assert last[0] == 3, "it is not the array itself that was written to"
    assert opened(Frame(whole)) is whole


def test_a_generator_resumes_from_its_frame():
    stop, last = np.array([2]), np.zeros(1, np.int64)
    frame = Frame(Whole(Part(TABLE, True, 1.0), 1, last))
    steps = entry(count_on)(frame, stop)
    assert [next(steps), next(steps)] == [2, 4]
    last[0] = 10  # what others write is seen
    assert next(steps) == 12
    stop[0] = -1
    assert list(steps) == []


def test_frames_of_one_form_have_one_type_and_others_another():
    def kind(table, size=1):
        return Frame(Whole(Part(table, True, 1.0), size, np.zeros(1)))._numba_type_

    assert kind(TABLE) is kind(TABLE + 1)
    assert kind(TABLE) != kind(TABLE.astype(np.float32))
    assert kind(TABLE) != kind(TABLES["columns"])
    read_only = TABLE.copy()
    read_only.flags.writeable = False
    assert kind(TABLE) != kind(read_only)


def test_indices_of_what_was_framed_are_checked_where_asked_for():
    frame = Frame(Whole(Part(TABLE, True, 1.0), 1, np.zeros(1, np.int64)))
    with pytest.raises(IndexError):
        checked(read)(frame, 3)


def test_what_a_frame_cannot_hold_is_refused():
    with pytest.raises(Exception, match=r"a frame cannot hold|invalid literal|int"):
        read(Frame((TABLE, "a word")), 0)
