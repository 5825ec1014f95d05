"""A few of the interruptions that `make interruptions` makes by the hundred."""

import sys

import pytest

from tools.robustness.interruptions import WAYS, commands, interruptions

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(sys.platform != "linux", reason="forks, and reads what its child has kept"),
]


def test_nothing_that_was_kept_is_lost():
    quick = [each for each in commands(1) if each.name in ("train --save-every", "compare, serial")]
    found = list(interruptions(len(WAYS) * len(quick), seed=3, size=1, only=quick))
    assert [each.end for each in found] == ["same bits"] * len(found)
    assert {each.way for each in found} == WAYS.keys()
