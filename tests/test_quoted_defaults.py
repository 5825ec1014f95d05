"""The defaults that the pages of agents quote are those of the agents."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gim._base.params import describe
from gim.runs.agent import agents

PAGES = sorted((Path(__file__).parent.parent / "docs" / "agents").glob("*.md"))
ROW = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \| ([^|]*) \|", re.M)
TRUTHS = {"no": False, "false": False, "off": False, "yes": True, "true": True, "on": True}


def rows():
    for path in PAGES:
        _, _, table = path.read_text("utf-8").partition("| name | default | meaning |\n")
        for names, text in ROW.findall(table.split("\n\n")[0]):
            for name in re.findall(r"\w+", names):
                yield path.stem, name, text.strip().strip("`").replace(",", "")


ROWS = list(rows())


def test_there_are_many():
    assert len({agent for agent, *_ in ROWS}) > 20
    assert len(ROWS) > 80


@pytest.mark.parametrize(("agent", "name", "said"), ROWS)
def test_a_page_quotes_the_default_of_the_agent(agent, name, said):
    found = {each.name: each.default for each in describe(type(agents.make(agent)))}
    assert name in found, f"{agent} has no parameter {name}"
    default = found[name]
    if isinstance(default, bool):
        assert TRUTHS[said] is default
    elif isinstance(default, int | float):
        assert float(said) == default
    elif default is None:
        assert not re.fullmatch(r"[\d.]+", said)
    else:
        assert said == str(default)
