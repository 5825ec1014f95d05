"""How plans change with one parameter: by hand, on a page, and what cannot be asked."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

import gim


def machine(breaks):
    """Wear 0, 1 or 2: to run at wear 2 costs 3, to renew costs 1."""
    P = np.zeros((3, 2, 3))
    for s in range(3):
        P[s, 0, min(s + 1, 2)] += breaks
        P[s, 0, s] += 1 - breaks
        P[s, 1, 0] = 1
    return gim.TabularMDP(P, [[0, -1], [0, -1], [-3, -1]], horizon=10)


def test_worth_and_loss_are_those_of_the_policies():
    values = [0.9, 0.1, 0.5]
    found = gim.sensitivity(machine, values, name="chance", average=True)
    assert found.values.tolist() == [0.1, 0.5, 0.9]
    for i, policy in enumerate(found.policies):
        for j, x in enumerate(found.values):
            mdp = machine(x)
            assert found.held[i, j] == pytest.approx(mdp.value(policy, average=True)[0])
            best = mdp.plan(average=True).gain[0]
            assert found.worth[j] == pytest.approx(best)
            assert found.loss[i, j] == pytest.approx(best - found.held[i, j], abs=1e-9)
    assert (found.loss.diagonal() == 0).all()


def test_a_price_turns_the_policy_where_it_must():
    """To move on pays 1 less the price; to stay pays nothing: the policy turns at 1."""
    P = np.ones((1, 2, 1))
    mdp = gim.TabularMDP(P, [[0.0, 1.0]], horizon=5)
    found = gim.sensitivity(mdp, [0, 0.75, 1.25, 2], name="price", price=lambda s, a: a)
    assert found.breaks == [(0.75, 1.25)]
    assert found.changed.tolist() == [0, 0, 5, 0]
    assert found.worth.tolist() == [5.0, 1.25, 0.0, 0.0]
    assert found.loss[0].tolist() == [0, 0, 1.25, 5]
    text = found.table(0)
    assert "loses with the policy of 0" in text
    assert found.at(1.9) == 3


def test_the_page_is_whole_and_escaped():
    found = gim.sensitivity(machine, [0.1, 0.4, 0.8], name="<b>chance", discount=0.9)
    page = found.page()
    assert "<b>chance" not in page
    assert "&lt;b&gt;chance" in page
    assert page.count("<svg") == 1
    assert page.count("<td") == 9
    for part in page.split("<svg")[1:]:
        ElementTree.fromstring("<svg" + part.partition("</svg>")[0] + "</svg>")
    assert "<script" not in page
    assert found._repr_html_() in page


def test_it_is_saved(tmp_path):
    found = gim.sensitivity(machine, [0.1, 0.4])
    found.save(tmp_path / "page.html", value=0.4)
    assert "policy of 0.4" in (tmp_path / "page.html").read_text()


def test_a_registered_world_has_options():
    found = gim.sensitivity("gridworld", [0.0, 0.3], name="slip")
    assert found.worth[0] > found.worth[1]


def test_what_cannot_be_asked_is_said():
    with pytest.raises(ValueError, match="has no parameter: give a function"):
        gim.sensitivity(machine(0.5), [1, 2])
    with pytest.raises(ValueError, match="holds 1 different numbers"):
        gim.sensitivity(machine, [0.5, 0.5])
    with pytest.raises(ValueError, match="no TabularMDP"):
        gim.sensitivity(lambda x: x, [0.5, 0.6])
    with pytest.raises(ValueError, match="a policy of one must fit"):
        gim.sensitivity(
            lambda n: gim.TabularMDP(np.eye(int(n))[:, None], np.zeros((int(n), 1))), [2, 3]
        )
