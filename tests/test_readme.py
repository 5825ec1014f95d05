"""What the README shows runs as it is written."""

import re
from pathlib import Path

import numpy as np
import pytest

README = (Path(__file__).resolve().parent.parent / "README.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.S)
LINKS = re.findall(r"\]\((?!http)([^)#]+)\)", README)


def write_orders(path):
    rng, stock, lines = np.random.default_rng(0), 5, ["stock,order,profit,stock_next"]
    for _ in range(400):
        order = int(rng.integers(0, 6))
        left = max(min(stock + order, 10) - int(rng.poisson(2)), 0)
        lines.append(f"{stock},{order},{min(stock + order, 10) - left - 0.5 * order},{left}")
        stock = left
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_examples_run(example, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_orders(tmp_path / "orders.csv")
    exec(compile("import gim\n" + example, "README.md", "exec"), {})
    if "analogies" in example:
        shown = capsys.readouterr().out
        assert "up: row - 1 (." in shown
        assert "with probability" in shown


def test_there_are_examples_and_links():
    assert len(EXAMPLES) >= 2
    assert len(LINKS) >= 20


@pytest.mark.parametrize("link", sorted(set(LINKS)))
def test_links_lead_somewhere(link):
    assert (Path(__file__).resolve().parent.parent / link).exists()
