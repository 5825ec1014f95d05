"""numba's internals stand in one module, and there is a way without them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import gim
from tests.processes import python

ROOT = Path(__file__).parent.parent
LEARNERS = ["q_learning", "ucbvi", "analogist"]
PLAYED = """
import json, logging, warnings
warnings.simplefilter("ignore")
logging.basicConfig(format="%(message)s")
{before}
import gim
from gim._compile.backend import Entry
found = [gim.run(name, "riverswim", episodes=12, seed=3).returns.tolist() for name in {names}]
print(json.dumps([Entry.__module__, found]))
"""


def test_internals_stand_in_one_module():
    users = {
        path.name
        for path in (ROOT / "gim").rglob("*.py")
        if re.search(
            r"^\s*(from|import) (numba\.(core|np|extending)|llvmlite)", path.read_text(), re.M
        )
    }
    assert users == {"internals.py"}


def played(before, names, **environment):
    done = python("-c", PLAYED.format(before=before, names=names), **environment)
    assert done.returncode == 0, done.stderr
    module, returns = json.loads(done.stdout)
    return module, returns, done.stderr


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_three_learners_run_on_the_public_interface_bit_for_bit():
    module, found, said = played("", LEARNERS, GIM_NUMBA="public")
    assert module == "gim._compile.interface"
    assert "not known" not in said
    for name, returns in zip(LEARNERS, found, strict=True):
        assert returns == gim.run(name, "riverswim", episodes=12, seed=3).returns.tolist(), name


def test_the_doctor_says_so():
    done = python("-m", "gim", "doctor", GIM_NUMBA="public")
    assert "its internals are not those that gim knows" in done.stdout
    assert done.returncode == 0


def test_a_numba_that_has_changed_is_met_with_a_word():
    gone = "import numba.core.codegen as codegen; del codegen.JITCodeLibrary"
    module, found, said = played(gone, ["random"], NUMBA_DISABLE_JIT="1")
    assert module == "gim._compile.interface"
    assert "this numba is not known (ImportError: cannot import name 'JITCodeLibrary'" in said
    assert len(found[0]) == 12
